//! Several mistakes of one configuration file: a parser reports the first, and the others are those that it reports when
//! the line of that one is left out.

use crate::output::Failure;
use std::fmt::Display;
use std::path::Path;

/// Mistakes shown at once.
const SHOWN_MAX: usize = 10;

/// The failure of a configuration whose first error is `first`: one line for each mistake that stands on a line of its own.
pub fn failure<E: Display>(
    text: &str,
    first: E,
    parse: impl Fn(&str) -> Result<(), E>,
    line_of: impl Fn(&E) -> Option<usize>,
) -> Failure {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut said = Vec::new();
    let mut error = first;
    while said.len() < SHOWN_MAX {
        let line = line_of(&error).and_then(|line| line.checked_sub(1));
        let is_setting = line.is_some_and(|line| lines.get(line).is_some_and(is_setting));
        // What is wrong of a table may be that a line is left out now.
        if !said.is_empty() && !is_setting {
            break;
        }
        said.push((line, error.to_string()));
        let Some(line) = line.filter(|_| is_setting) else {
            break;
        };
        lines[line] = "";
        error = match parse(&lines.join("\n")) {
            Ok(()) => break,
            Err(error) => error,
        };
    }
    said.sort_by_key(|(line, _)| *line);
    let said: Vec<String> = said.into_iter().map(|(_, text)| text).collect();
    Failure::usage(said.join("\ntouchline: "))
}

/// [`failure`] of an error of `read_toml` of the configuration's crate, which begins with its line, behind the name of the file.
pub fn failure_of_lines<E: Display>(
    path: &Path,
    text: &str,
    first: &E,
    parse: impl Fn(&str) -> Result<(), E>,
) -> Failure {
    let named = |error: &E| format!("{}: {error}", path.display());
    let line_of = |error: &String| {
        let (_, behind) = error.split_once(": line ")?;
        behind.split(':').next()?.parse().ok()
    };
    let parse = |text: &str| parse(text).map_err(|error| named(&error));
    failure(text, named(first), parse, line_of)
}

/// Whether a line is a setting by itself; a table or a part of a longer value is not.
fn is_setting(line: &&str) -> bool {
    let Some((key, value)) = line.split_once('=') else {
        return false;
    };
    let key = key.trim();
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_whole = value.matches('[').count() == value.matches(']').count()
        && value.matches('{').count() == value.matches('}').count()
        && !value.contains("\"\"\"");
    !key.is_empty() && key.bytes().all(is_key) && is_whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_gateway::config::ConfigError;
    use touchline_gateway::venues::VENUES;

    fn said(text: &str) -> Vec<String> {
        let parse = |text: &str| VENUES.from_text("g.toml", text).map(drop);
        let first = parse(text).expect_err("a mistake");
        let line_of = |error: &ConfigError| error.line.map(|line| line as usize);
        let Failure::Usage(text) = failure(text, first, parse, line_of) else {
            panic!("another failure");
        };
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_mistake_has_its_line_and_a_repaired_file_has_no_other() {
        let good = "bus = \"b\"\n[venue]\nkind = \"cme\"\nchannel = 310\nconfig_xml = \"c.xml\"\n";
        let bad = format!("{good}wait_sm = 20\nwait_ms = 20000\n[publication]\nring_byte = 1\n");
        let lines = said(&bad);
        assert_eq!(lines.len(), 3, "{lines:?}");
        for (line, start) in
            lines
                .iter()
                .zip(["g.toml:6: ", "touchline: g.toml:", "touchline: g.toml:"])
        {
            assert!(line.starts_with(start), "{lines:?}");
        }
        for key in ["wait_sm", "wait_ms", "ring_byte"] {
            let named = lines
                .iter()
                .filter(|line| line.contains(&format!("`{key}`")));
            assert!(named.count() >= 1, "{key}: {lines:?}");
        }
        // The line that is left out is the one that was needed.
        let one = said(&good.replace("channel = 310", "channel = \"x\""));
        assert_eq!(one.len(), 1, "{one:?}");
    }
}
