//! Venues are known by name in few places.

use super::{Finding, Repository, source::Line};

/// Crates between the wire and the screen that serve any venue.
const GENERIC: &[&str] = &["crates/gateway/src/", "crates/touchline/src/"];

/// Places in them where a venue's name may occur in the code, each with its purpose.
const PLACES: &[&str] = &[
    // The venues themselves, and the table.
    "crates/gateway/src/venues",
    // The simulators, and the commands that use them.
    "crates/touchline/src/sim",
    "crates/touchline/src/demo",
    "crates/touchline/src/bench",
    // Captures are of CME alone so far, and so are the books that are written of them.
    "crates/touchline/src/replay",
    "crates/touchline/src/export/captures.rs",
    "crates/touchline/src/books.rs",
    // Expected books come from the simulator.
    "crates/touchline/src/states.rs",
    // The list of the commands.
    "crates/touchline/src/main.rs",
];

/// Parts of an identifier that are a venue's or its protocol's.
const NAMES: &[&str] = &["cme", "mdp3", "deribit"];

/// Code for all venues names none: a new venue adds its files and a line of the table.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        let is_generic = GENERIC.iter().any(|start| path.starts_with(start));
        let is_place = PLACES.iter().any(|start| path.starts_with(start));
        if !is_generic || is_place || path.ends_with("tests.rs") {
            continue;
        }
        for (at, line) in lines.iter().enumerate() {
            // Tests come last in a file, and take the venues that there are.
            if line.code.contains("#[cfg(test)]") {
                break;
            }
            if let Some(name) = identifiers(line).find(|name| is_of_a_venue(name)) {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("`{name}` knows a venue by name"),
                    "let the venue say it in crates/gateway/src/venues",
                ));
            }
        }
    }
    findings
}

fn identifiers(line: &Line) -> impl Iterator<Item = &str> {
    let words = line.code.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty())
}

/// `CmeFeed`, `of_cme_channel`, `mdp3`; of FIX only names that are not the verb.
fn is_of_a_venue(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_part = |part: &str| NAMES.contains(&part);
    let is_camel = |venue: &str| {
        let rest = lower.strip_prefix(venue).map(|_| &name[venue.len()..]);
        let is_begun = name.starts_with(|c: char| c.is_ascii_uppercase());
        is_begun && rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    lower.split('_').any(is_part)
        || NAMES.iter().any(|venue| is_camel(venue))
        || (is_camel("fix") && name.len() > 3)
        || lower.starts_with("fix_md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_venue_named_in_general_code_is_found() {
        for text in [
            "use touchline_feed::cme::Join;",
            "fn f(feed: &CmeFeed) {}",
            "type A = FixVenue;",
            "use a::fix_md;",
            "let a = of_deribit_kind();",
            "match a { Kind::Deribit => 1 }",
        ] {
            for path in ["crates/gateway/src/live.rs", "crates/touchline/src/top.rs"] {
                assert_eq!(check(&Repository::of(&[(path, text)])).len(), 1, "{text}");
            }
            for path in [
                "crates/gateway/src/venues/a.rs",
                "crates/touchline/src/sim/a.rs",
                "crates/feed/src/a.rs",
                "crates/gateway/src/live/tests.rs",
            ] {
                assert_eq!(check(&Repository::of(&[(path, text)])), [], "{path}");
            }
        }
    }

    #[test]
    fn words_that_are_not_venues_have_no_finding() {
        for text in [
            "let fix = ConfigError { fix: \"fix it\" };",
            "fn fixed(prefix: Fixed) -> Fix {}",
            "// As CME has it.",
            "let text = \"touchline sim cme\";",
            "#[cfg(test)]\nmod tests {\nuse a::cme;\n}",
        ] {
            let repository = Repository::of(&[("crates/gateway/src/live.rs", text)]);
            assert_eq!(check(&repository), [], "{text}");
        }
    }
}
