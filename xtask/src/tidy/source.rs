//! Splits Rust source into code and comments.
//!
//! The rules look for words. A word in a string or in a comment is not code, so each line is stored twice, with the
//! columns unchanged: once with comments and string contents replaced by blanks, once with only the comments.

/// One line of Rust.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Line {
    /// Code; comments and the contents of strings and characters are blanks.
    pub code: String,
    /// The text of comments, with their slashes; everything else is blanks.
    pub comment: String,
}

impl Line {
    /// Whether the code contains `word` as a whole word.
    pub fn has_word(&self, word: &str) -> bool {
        find_word(&self.code, word).is_some()
    }
}

/// Byte position of `word` in `text` as a whole word.
pub fn find_word(text: &str, word: &str) -> Option<usize> {
    let touches = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        !touches(text[..at].chars().next_back()) && !touches(text[at + word.len()..].chars().next())
    })
}

/// Splits `text` into lines.
pub fn lines(text: &str) -> Vec<Line> {
    let mut splitter = Splitter {
        rest: text,
        lines: vec![Line::default()],
    };
    while let Some(c) = splitter.rest.chars().next() {
        splitter.token(c);
    }
    splitter.lines
}

struct Splitter<'a> {
    rest: &'a str,
    lines: Vec<Line>,
}

enum Kind {
    Code,
    Comment,
    Literal,
}

impl Splitter<'_> {
    fn token(&mut self, first: char) {
        let rest = self.rest;
        if rest.starts_with("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()), Kind::Comment);
        } else if rest.starts_with("/*") {
            self.take(block_comment(rest), Kind::Comment);
        } else if let Some(length) = string(rest) {
            self.take(length, Kind::Literal);
        } else if first.is_alphanumeric() || first == '_' {
            let length = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            self.take(length, Kind::Code);
        } else {
            self.take(first.len_utf8(), Kind::Code);
        }
    }

    fn take(&mut self, length: usize, kind: Kind) {
        let (taken, rest) = self.rest.split_at(length);
        for c in taken.chars() {
            if c == '\n' {
                self.lines.push(Line::default());
                continue;
            }
            let line = self.lines.last_mut().expect("there is always a line");
            line.code
                .push(if matches!(kind, Kind::Code) { c } else { ' ' });
            line.comment.push(if matches!(kind, Kind::Comment) {
                c
            } else {
                ' '
            });
        }
        self.rest = rest;
    }
}

/// Length of the block comment at the head of `text`; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Length of the string, byte string, raw string or character at the head of `text`.
fn string(text: &str) -> Option<usize> {
    let prefix = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
    let body = &text[prefix..];
    let raw = prefix <= 2 && text[..prefix].ends_with('r');
    let hashes = body.len() - body.trim_start_matches('#').len();
    if raw && body[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let start = prefix + hashes + 1;
        return Some(
            text[start..]
                .find(&end)
                .map_or(text.len(), |at| start + at + end.len()),
        );
    }
    if prefix <= 1 && !raw && body.starts_with('"') {
        return Some(prefix + quoted(body, b'"'));
    }
    if prefix <= 1 && !raw && body.starts_with('\'') && is_character(body) {
        return Some(prefix + quoted(body, b'\''));
    }
    None
}

/// A quote starts a character, not a lifetime, when a backslash follows it or a quote follows the next character.
fn is_character(text: &str) -> bool {
    let mut characters = text.chars().skip(1);
    characters.next() == Some('\\') || characters.next() == Some('\'')
}

fn quoted(text: &str, quote: u8) -> usize {
    let mut escaped = false;
    for (at, &byte) in text.as_bytes().iter().enumerate().skip(1) {
        if !escaped && byte == quote {
            return at + 1;
        }
        escaped = !escaped && byte == b'\\';
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        lines(text)
            .iter()
            .map(|l| l.code.trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn comments_and_strings_are_removed_from_code() {
        for (text, expected) in [
            ("let a = 1; // unsafe", "let a = 1;"),
            ("a /* unsafe /* nested */ */ b", "a b"),
            ("x(\"unsafe \\\" {\", y)", "x(, y)"),
            ("r#\"unsafe \" still\"# b", "b"),
            ("br\"unsafe\\\" b", "b"),
            ("b'\\'' 'x' &'a str", "&'a str"),
            ("let b\"\\\\\";\nb", "let ;\nb"),
            ("'\"' unsafe", "unsafe"),
        ] {
            let words = |text: &str| text.replace(' ', "");
            assert_eq!(words(&code(text)), words(expected), "{text}");
        }
    }

    #[test]
    fn a_string_over_several_lines_keeps_the_line_numbers() {
        let lines = lines("\"one\ntwo\"\nunsafe");
        assert_eq!(lines.len(), 3);
        assert!(lines[2].has_word("unsafe"));
    }

    #[test]
    fn words_match_completely() {
        assert_eq!(find_word("unsafe_code unsafe", "unsafe"), Some(12));
        assert_eq!(find_word("is_unsafe", "unsafe"), None);
    }
}
