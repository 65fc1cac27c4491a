//! Counts the instructions of a benchmark; counts are repeatable, times are not.
//!
//! Runs `touchline bench event` under valgrind's callgrind, which collects inside the measured function only, and
//! divides by the number of messages: those of CME, or with `--venue deribit` of FIX.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Rounds under callgrind: enough to make the cost per round small.
const ROUNDS: &str = "2";

/// Counted lines of the benchmark, with and without timestamps.
const MEASURED: [&str; 4] = [
    "touchline-cme",
    "touchline-cme-no-marks",
    "touchline-deribit",
    "touchline-deribit-no-marks",
];

/// Builds, counts and prints. `arguments` are passed to `bench event`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let target = crate::target_folder(root);
    let build = ["build", "--profile", "dist", "--package", "touchline"];
    let built = Command::new(env!("CARGO"))
        .args(build)
        .current_dir(root)
        .status();
    if !built.context("cannot run cargo")?.success() {
        bail!("the command does not build; see above");
    }
    let output = target.join("instructions.callgrind");
    let is_fix = arguments.contains(&"deribit");
    let measured = if is_fix {
        "*one_message*"
    } else {
        "*one_packet*"
    };
    let run = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={measured}"))
        .arg(format!("--callgrind-out-file={}", output.display()))
        .arg(target.join("dist/touchline"))
        .args(["bench", "event", "--json", "--rounds", ROUNDS])
        .args(arguments)
        .output()
        .context("cannot run valgrind; install it (Debian: apt-get install valgrind)")?;
    if !run.status.success() {
        bail!(
            "the benchmark failed under valgrind:\n{}",
            String::from_utf8_lossy(&run.stderr)
        );
    }
    let collected = collected(&fs::read_to_string(&output).context("callgrind wrote no result")?)?;
    let messages = messages(&String::from_utf8_lossy(&run.stdout))?;
    println!(
        "{collected} instructions for {messages} messages: {} a message",
        collected / messages.max(1)
    );
    println!("by function: callgrind_annotate {}", output.display());
    Ok(())
}

/// Total of a callgrind file.
fn collected(text: &str) -> Result<u64> {
    let totals = text.lines().find_map(|line| {
        line.strip_prefix("totals:")
            .or(line.strip_prefix("summary:"))
    });
    totals
        .and_then(|total| total.trim().parse().ok())
        .context("callgrind's result has no total")
}

/// Messages of all rounds.
fn messages(json: &str) -> Result<u64> {
    let mut messages = 0;
    for line in json.lines() {
        let line: Value = serde_json::from_str(line).context("the benchmark printed no JSON")?;
        let subject = line["subject"].as_str().unwrap_or_default();
        if MEASURED.contains(&subject) {
            messages += line["count"].as_u64().unwrap_or(0);
        }
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_and_messages_are_read() {
        assert_eq!(
            collected("events: Ir\nsummary: 7\ntotals: 12\n").unwrap(),
            7
        );
        assert!(collected("events: Ir\n").is_err());
        let json = "{\"subject\":\"touchline-cme\",\"count\":3}\n{\"subject\":\"touchline-cme-copy\",\"count\":9}\n";
        assert_eq!(messages(json).unwrap(), 3);
        let json = "{\"subject\":\"touchline-deribit-no-marks\",\"count\":5}\n{\"subject\":\"touchline-deribit-bus\",\"count\":9}\n";
        assert_eq!(messages(json).unwrap(), 5);
        assert!(messages("no JSON").is_err());
    }
}
