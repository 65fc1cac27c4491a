//! Licence expressions in the syntax of SPDX 2.3, annex D.

/// `A OR B AND (C WITH D)`; AND binds tighter than OR.
#[derive(Debug, PartialEq, Eq)]
pub enum Expression {
    Licence(String),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    /// Parses an expression; `None` if malformed. A slash is the old syntax of OR.
    pub fn parse(text: &str) -> Option<Self> {
        let spaced = text
            .replace('/', " OR ")
            .replace('(', " ( ")
            .replace(')', " ) ");
        let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
        let expression = any(&mut words)?;
        words.is_empty().then_some(expression)
    }

    /// Whether the licences that `allows` accepts satisfy the expression.
    pub fn holds(&self, allows: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Licence(name) => allows(name),
            Self::All(parts) => parts.iter().all(|part| part.holds(allows)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(allows)),
        }
    }
}

fn any(words: &mut Vec<&str>) -> Option<Expression> {
    let mut parts = vec![all(words)?];
    while words.pop_if(|word| *word == "OR").is_some() {
        parts.push(all(words)?);
    }
    Some(single_or(parts, Expression::Any))
}

fn all(words: &mut Vec<&str>) -> Option<Expression> {
    let mut parts = vec![licence(words)?];
    while words.pop_if(|word| *word == "AND").is_some() {
        parts.push(licence(words)?);
    }
    Some(single_or(parts, Expression::All))
}

fn licence(words: &mut Vec<&str>) -> Option<Expression> {
    match words.pop()? {
        "(" => {
            let inner = any(words)?;
            words.pop_if(|word| *word == ")").map(|_| inner)
        }
        ")" | "OR" | "AND" | "WITH" => None,
        name if words.pop_if(|word| *word == "WITH").is_some() => {
            Some(Expression::Licence(format!("{name} WITH {}", words.pop()?)))
        }
        name => Some(Expression::Licence(name.to_owned())),
    }
}

fn single_or(mut parts: Vec<Expression>, several: fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() == 1 {
        parts.remove(0)
    } else {
        several(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, allowed: &[&str]) -> bool {
        Expression::parse(text)
            .is_some_and(|expression| expression.holds(&|name| allowed.contains(&name)))
    }

    #[test]
    fn or_needs_one_allowed_licence_and_and_needs_all() {
        assert!(holds("MIT OR GPL-3.0", &["MIT"]));
        assert!(holds("GPL-3.0/MIT", &["MIT"]));
        assert!(!holds("MIT AND GPL-3.0", &["MIT"]));
        assert!(holds("(MIT OR GPL-3.0) AND NCSA", &["MIT", "NCSA"]));
        assert!(!holds("(MIT OR GPL-3.0) AND NCSA", &["NCSA"]));
        // AND binds tighter.
        assert!(holds("MIT OR GPL-3.0 AND NCSA", &["MIT"]));
        assert!(!holds("MIT AND NCSA OR GPL-3.0", &["MIT"]));
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        assert!(holds(
            "Apache-2.0 WITH LLVM-exception",
            &["Apache-2.0 WITH LLVM-exception"]
        ));
        assert!(!holds("Apache-2.0 WITH LLVM-exception", &["Apache-2.0"]));
    }

    #[test]
    fn what_is_not_an_expression_is_refused() {
        for text in [
            "",
            "OR",
            "MIT OR",
            "(MIT",
            "MIT)",
            "MIT MIT",
            "MIT WITH",
            "none stated",
        ] {
            assert_eq!(Expression::parse(text), None, "{text}");
        }
    }
}
