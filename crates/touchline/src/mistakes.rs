//! Several mistakes of one configuration file: a parser reports the first, and the others are those that it reports when
//! the line of that one is left out. A check of values reports all of them, one a line.

use crate::output::Failure;
use std::fmt::Display;
use std::path::Path;

/// Mistakes shown at once.
const SHOWN_MAX: usize = 10;

/// The failure of a configuration whose first error is `first`: one line for each mistake.
fn failure<E: Display>(
    text: &str,
    first: E,
    parse: impl Fn(&str) -> Result<(), E>,
    line_of: impl Fn(&E) -> Option<usize>,
) -> Failure {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut said = Vec::new();
    let mut left_out: Vec<&str> = Vec::new();
    let mut error = first;
    while said.len() < SHOWN_MAX {
        let line = line_of(&error).and_then(|line| line.checked_sub(1));
        let key = line.and_then(|line| setting(lines.get(line)?));
        let Some((line, key)) = line.zip(key) else {
            // An error of a table or of a value may be caused by a line that is left out now.
            if line.is_none() || left_out.is_empty() {
                let text = error.to_string();
                let is_own = |what: &&str| !left_out.iter().any(|key| names(what, key));
                said.extend(
                    text.lines()
                        .filter(is_own)
                        .map(|what| (line, what.to_owned())),
                );
            }
            break;
        };
        said.push((Some(line), error.to_string()));
        left_out.push(key);
        lines[line] = "";
        // An empty file is another mistake.
        let is_nothing = |line: &str| line.is_empty() || line.starts_with('#');
        if lines.iter().all(|line| is_nothing(line.trim())) {
            break;
        }
        error = match parse(&lines.join("\n")) {
            Ok(()) => break,
            Err(error) => error,
        };
    }
    // Errors of values, which have no line, are behind the others.
    said.sort_by_key(|(line, _)| line.unwrap_or(usize::MAX));
    let rest = said.len().saturating_sub(SHOWN_MAX);
    let mut said: Vec<String> = said
        .into_iter()
        .map(|(_, text)| text)
        .take(SHOWN_MAX)
        .collect();
    if rest > 0 {
        said.push(format!("and {rest} more"));
    }
    Failure::mistakes(said)
}

/// [`failure`] of an error whose text begins with its line, if it is of one, and has a line for each wrong value: behind the name of the
/// file, and with its key.
pub fn failure_of_lines<E: Display>(
    path: &Path,
    text: &str,
    first: &E,
    parse: impl Fn(&str) -> Result<(), E>,
) -> Failure {
    let named = |error: &E| {
        let error = error.to_string();
        let lines = error
            .lines()
            .map(|what| format!("{}: {}", path.display(), with_key(text, what)));
        lines.collect::<Vec<_>>().join("\n")
    };
    let line_of = |error: &String| {
        let (_, behind) = error.split_once(": line ")?;
        behind.split(':').next()?.parse().ok()
    };
    let parse = |text: &str| parse(text).map_err(|error| named(&error));
    failure(text, named(first), parse, line_of)
}

/// A mistake of a line with the key of that line, or its table, unless it names them already.
fn with_key<'a>(text: &'a str, what: &str) -> String {
    let place = || {
        let (line, problem) = what.strip_prefix("line ")?.split_once(": ")?;
        let number = line.parse::<usize>().ok()?;
        let before = text.lines().take(number).collect::<Vec<_>>();
        let heading = |line: &&'a str| line.trim_start().starts_with('[').then(|| line.trim());
        let key = match problem.starts_with("missing field") {
            // Error of a table, or of the file.
            true => before.last().and_then(heading)?,
            // A value may have several lines.
            false => before
                .iter()
                .rev()
                .find_map(|line| key_of(line).or_else(|| heading(line)))?,
        };
        (!names(problem, key)).then(|| format!("line {number}: {key}: {problem}"))
    };
    place().unwrap_or_else(|| what.to_owned())
}

/// Whether a text names a key, as a word of its own.
fn names(text: &str, key: &str) -> bool {
    let is_of_key = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    text.split(|letter| !is_of_key(letter))
        .any(|word| word == key)
}

/// The key of a line that begins with one.
fn key_of(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (!key.is_empty() && key.bytes().all(is_key)).then_some(key)
}

/// The key of a line that is a setting by itself; a table or a part of a longer value is not.
fn setting<'a>(line: &&'a str) -> Option<&'a str> {
    let value = line.split_once('=')?.1;
    let is_whole = value.matches('[').count() == value.matches(']').count()
        && value.matches('{').count() == value.matches('}').count()
        && !value.contains("\"\"\"");
    key_of(line).filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of a configuration of banks' prices, without the name of the file.
    fn said_of_setup(text: &str) -> Vec<String> {
        let parse = |text: &str| touchline_fx::Setup::parse(text).map(drop);
        let first = parse(text).expect_err("a mistake");
        let Failure::Usage(text) = failure_of_lines(Path::new("c.toml"), text, &first, parse)
        else {
            panic!("another failure");
        };
        let lines = text
            .lines()
            .map(|line| line.trim_start_matches("touchline: "));
        lines
            .map(|line| line.strip_prefix("c.toml: ").expect("the file").to_owned())
            .collect()
    }

    #[test]
    fn mistakes_of_lines_and_of_values_are_shown_together_each_with_its_key() {
        let good = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\n\
                    spot_date = \"20260107\"\n[[banks]]\nname = \"A\"\npairs = [\n  \"EUR/USD\",\n]\n";
        let bad = good
            .replace("precision = 5", "precision = 5\nlot = \"1m\"\nmax_net = -1")
            .replace("prefix = \"T\"", "prefix = \"\"\nprefx = 1");
        let lines = said_of_setup(&bad);
        let starts = [
            "line 3: unknown field `prefx`",
            "line 8: lot: invalid type: string \"1m\"",
            "prefix: ",
            "pair EUR/USD: max_net: ",
        ];
        assert_eq!(lines.len(), starts.len(), "{lines:?}");
        for (line, start) in lines.iter().zip(starts) {
            assert!(line.starts_with(start), "{start}: {lines:?}");
        }
        // A value of several lines, and what a table and the file lack.
        for (right, wrong, start) in [
            (
                "  \"EUR/USD\",",
                "  1,",
                "line 11: pairs: invalid type: integer `1`",
            ),
            (
                "symbol = \"EUR/USD\"\n",
                "",
                "line 4: [[pairs]]: missing field `symbol`",
            ),
            ("prefix = \"T\"\n", "", "line 1: missing field `prefix`"),
        ] {
            let lines = said_of_setup(&good.replace(right, wrong));
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(lines[0].starts_with(start), "{start}: {lines:?}");
        }
    }
}
