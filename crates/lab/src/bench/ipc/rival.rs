//! Other transports, each a program with the same measurement (`competitors/README.md`).

use super::Failed;
use hdrhistogram::Histogram;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A built program of another transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Its name in the figures.
    pub subject: String,
    program: PathBuf,
}

impl Rival {
    /// The programs with these names in a folder; all programs for `all`.
    ///
    /// # Errors
    /// A name without a program; the error lists the existing ones.
    pub fn find(folder: &Path, names: &[String]) -> Result<Vec<Rival>, Failed> {
        let there = Rival::list(folder);
        if there.is_empty() {
            let folder = folder.display();
            return Err(Failed(format!(
                "{folder}: no other transport is built there; run competitors/install first"
            )));
        }
        if names.iter().any(|name| name == "all") {
            return Ok(there);
        }
        names
            .iter()
            .map(|name| Rival::named(name, &there))
            .collect()
    }

    fn named(name: &str, there: &[Rival]) -> Result<Rival, Failed> {
        let found = there.iter().find(|rival| rival.subject == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<_> = there.iter().map(|rival| rival.subject.as_str()).collect();
            Failed(format!(
                "no transport {name:?}; give all, {}",
                names.join(", ")
            ))
        })
    }

    fn list(folder: &Path) -> Vec<Rival> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut rivals: Vec<_> = entries
            .filter_map(|entry| {
                Some(Rival {
                    subject: entry.file_name().to_str()?.to_owned(),
                    program: entry.path(),
                })
            })
            // Codecs are there, too: rivals of `bench decode-fix`.
            .filter(|rival| !rival.subject.ends_with("-decode"))
            .collect();
        rivals.sort_by(|a, b| a.subject.cmp(&b.subject));
        rivals
    }

    /// Measures round trips and adds them to a histogram, in nanoseconds.
    pub fn round_trips(
        &self,
        arguments: &[String],
        into: &mut Histogram<u64>,
    ) -> Result<(), Failed> {
        let line = self.run("rtt", arguments)?;
        let values = line["values"]
            .as_array()
            .ok_or_else(|| self.unclear(&line))?;
        for pair in values {
            let (Some(ns), Some(count)) = (pair[0].as_u64(), pair[1].as_u64()) else {
                return Err(self.unclear(&line));
            };
            into.saturating_record_n(ns, count);
        }
        Ok(())
    }

    /// Messages per second of a stream, and the number of lost messages.
    pub fn stream(&self, arguments: &[String]) -> Result<(f64, u64), Failed> {
        let line = self.run("throughput", arguments)?;
        match (line["value"].as_f64(), line["lost"].as_u64()) {
            (Some(value), Some(lost)) => Ok((value, lost)),
            _ => Err(self.unclear(&line)),
        }
    }

    fn run(&self, bench: &str, arguments: &[String]) -> Result<Value, Failed> {
        let program = self.program.display();
        let output = Command::new(&self.program)
            .arg(bench)
            .args(arguments)
            .output()
            .map_err(|error| Failed(format!("{program}: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said
                .trim()
                .lines()
                .last()
                .unwrap_or("no message")
                .to_owned();
            return Err(Failed(format!("{program} failed: {said}")));
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let line = said.trim().lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|error| {
            Failed(format!(
                "{program} did not print a JSON line ({error}): {line}"
            ))
        })
    }

    fn unclear(&self, line: &Value) -> Failed {
        let program = self.program.display();
        Failed(format!(
            "{program} printed a line without its figures: {line}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use touchline_testing::Folder;

    /// A folder with one program, a script that prints this text.
    fn rivals(name: &str, script: &str) -> Folder {
        let folder = Folder::new(name);
        let program = folder.join("script-ipc");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    #[test]
    fn the_output_of_a_competitor_is_parsed_or_refused_in_one_line() {
        let line = r#"{"values":[[100,3],[200,1]],"value":2.5e6,"lost":0}"#;
        let folder = rivals("good", &format!("echo '{line}'"));
        std::fs::copy(folder.join("script-ipc"), folder.join("a-decode")).unwrap();
        let found = Rival::find(&folder, &["all".into()]).unwrap();
        assert_eq!(found.len(), 1, "a codec is no transport");
        let mut histogram = Histogram::new(3).unwrap();
        found[0].round_trips(&[], &mut histogram).unwrap();
        assert_eq!(
            (histogram.len(), histogram.value_at_quantile(0.5)),
            (4, 100)
        );
        assert_eq!(found[0].stream(&[]).unwrap(), (2.5e6, 0));
        let refused = Rival::find(&folder, &["other".into()]).unwrap_err();
        assert!(refused.0.contains("script-ipc"), "{refused:?}");
    }

    #[test]
    fn the_error_of_a_failed_competitor_is_quoted() {
        let folder = rivals("bad", "echo no driver >&2; exit 1");
        let found = Rival::find(&folder, &["script-ipc".into()]).unwrap();
        let failed = found[0].stream(&[]).unwrap_err();
        assert!(failed.0.ends_with("failed: no driver"), "{failed:?}");
        let missing = Rival::find(Path::new("nowhere-at-all"), &["all".into()]).unwrap_err();
        assert!(missing.0.contains("competitors/install"), "{missing:?}");
    }
}
