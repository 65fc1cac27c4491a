//! Commands that use only the client: a feature that they lack is missing in the client.

use super::{Finding, Repository};

/// Files and folders of such commands, below `crates/touchline/src/`. Add a command here after porting it.
const COMMANDS: &[&str] = &["book", "follow", "metrics", "stat", "tail", "top"];

/// The only crate of ours that they may use.
const CLIENT: &str = "touchline_client";

/// Crates that a user's program has are allowed in these commands, too.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in repository.rust_lines() {
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        if !is_of_a_command(path) || is_test {
            continue;
        }
        for (at, line) in lines.iter().enumerate() {
            // Tests come last in a file, and may use other crates to publish.
            if line.code.contains("#[cfg(test)]") {
                break;
            }
            let words = line.code.split(|c: char| !c.is_alphanumeric() && c != '_');
            let mut others = words.filter(|word| word.starts_with("touchline_") && *word != CLIENT);
            if let Some(other) = others.next() {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("`{other}` in a command that may use only the client"),
                    "add it to touchline-client, because users' programs need it too",
                ));
            }
        }
    }
    findings
}

fn is_of_a_command(path: &str) -> bool {
    let Some(path) = path.strip_prefix("crates/touchline/src/") else {
        return false;
    };
    COMMANDS.iter().any(|command| {
        let rest = path.strip_prefix(command);
        rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_the_client_names_no_other_crate_of_ours() {
        let other = "use touchline_client::Bus;\nuse touchline_transport::shm::Root;\n";
        let tested =
            "use touchline_client::Bus;\n#[cfg(test)]\nmod tests { use touchline_lab::random; }\n";
        let found = |path: &str, text: &str| {
            let findings = check(&Repository::of(&[(path, text)]));
            findings
                .iter()
                .map(|finding| finding.line)
                .collect::<Vec<_>>()
        };
        assert_eq!(found("crates/touchline/src/tail.rs", other), [2]);
        assert_eq!(found("crates/touchline/src/tail/text.rs", other), [2]);
        assert_eq!(
            found("crates/touchline/src/tail/text.rs", tested),
            [0_usize; 0]
        );
        assert_eq!(
            found("crates/touchline/src/tail/json/tests.rs", other),
            [0_usize; 0]
        );
        assert_eq!(
            found("crates/touchline/src/tail/json/tests/names.rs", other),
            [0_usize; 0]
        );
        assert_eq!(found("crates/touchline/src/tailor.rs", other), [0_usize; 0]);
        assert_eq!(found("crates/touchline/src/replay.rs", other), [0_usize; 0]);
    }
}
