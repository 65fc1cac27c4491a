//! Counts the instructions of a benchmark; counts are repeatable, times are not.
//!
//! Runs `touchline bench event` under valgrind's callgrind, which collects inside the measured function only, and
//! divides by the number of messages and of packets: those of CME, or with `--venue deribit` of FIX. Once for the path
//! without a bus, and once for the path that publishes on one.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Rounds under callgrind: enough to make the cost per round small.
const ROUNDS: &str = "2";

/// A measured function, and the lines of the benchmark that count its messages and packets.
#[derive(Debug)]
struct Measured {
    name: &'static str,
    function: &'static str,
    messages: &'static [&'static str],
    /// None for FIX, which has no packets.
    packets: &'static [&'static str],
}

const CME: [Measured; 2] = [
    Measured {
        name: "without a bus",
        function: "*one_packet*",
        messages: &["touchline-cme", "touchline-cme-no-marks"],
        packets: &["touchline-cme-packet", "touchline-cme-packet-no-marks"],
    },
    Measured {
        name: "on a bus",
        function: "*on_the_bus*",
        messages: &["touchline-cme-bus"],
        packets: &["touchline-cme-packet-bus"],
    },
];

const DERIBIT: [Measured; 2] = [
    Measured {
        name: "without a bus",
        function: "*one_message*",
        messages: &["touchline-deribit", "touchline-deribit-no-marks"],
        packets: &[],
    },
    Measured {
        name: "on a bus",
        function: "*on_the_bus*",
        messages: &["touchline-deribit-bus"],
        packets: &[],
    },
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
    let measured = match arguments.contains(&"deribit") {
        true => DERIBIT,
        false => CME,
    };
    for (measured, file) in measured.iter().zip(["alone", "bus"]) {
        let output = target.join(format!("instructions-{file}.callgrind"));
        let printed = count(&target.join("dist/touchline"), arguments, measured, &output)?;
        let text = fs::read_to_string(&output).context("callgrind wrote no result")?;
        println!("{}", summary(measured, collected(&text)?, &printed)?);
        println!("by function: callgrind_annotate {}", output.display());
    }
    Ok(())
}

/// Runs the benchmark under callgrind and returns what it prints.
fn count(program: &Path, arguments: &[&str], measured: &Measured, output: &Path) -> Result<String> {
    let run = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={}", measured.function))
        .arg(format!("--callgrind-out-file={}", output.display()))
        .arg(program)
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
    Ok(String::from_utf8_lossy(&run.stdout).into_owned())
}

/// The result of a measured function, as a line.
fn summary(measured: &Measured, collected: u64, json: &str) -> Result<String> {
    let messages = counted(json, measured.messages)?;
    let each = collected / messages.max(1);
    let Measured { name, packets, .. } = measured;
    let mut line =
        format!("{name}: {collected} instructions for {messages} messages: {each} a message");
    let packets = counted(json, packets)?;
    if let Some(each) = collected.checked_div(packets) {
        line += &format!(", {each} a packet ({packets})");
    }
    Ok(line)
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

/// Samples of all rounds in the lines of these subjects.
fn counted(json: &str, subjects: &[&str]) -> Result<u64> {
    let mut samples = 0;
    for line in json.lines() {
        let line: Value = serde_json::from_str(line).context("the benchmark printed no JSON")?;
        let subject = line["subject"].as_str().unwrap_or_default();
        if subjects.contains(&subject) {
            samples += line["count"].as_u64().unwrap_or(0);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read() {
        assert_eq!(
            collected("events: Ir\nsummary: 7\ntotals: 12\n").unwrap(),
            7
        );
        assert!(collected("events: Ir\n").is_err());
    }

    /// Each path is divided by its own messages and packets.
    #[test]
    fn paths_are_told_apart() {
        let line = |subject: &str, count: u64| {
            format!("{{\"subject\":\"{subject}\",\"count\":{count}}}\n")
        };
        let json = [
            line("touchline-cme", 2),
            line("touchline-cme-no-marks", 2),
            line("touchline-cme-copy", 9),
            line("touchline-cme-packet", 1),
            line("touchline-cme-packet-no-marks", 1),
            line("touchline-cme-bus", 5),
            line("touchline-cme-packet-bus", 3),
        ]
        .concat();
        let [alone, bus] = CME;
        assert_eq!(
            summary(&alone, 100, &json).unwrap(),
            "without a bus: 100 instructions for 4 messages: 25 a message, 50 a packet (2)"
        );
        assert_eq!(
            summary(&bus, 300, &json).unwrap(),
            "on a bus: 300 instructions for 5 messages: 60 a message, 100 a packet (3)"
        );
        let json = line("touchline-deribit-no-marks", 5) + &line("touchline-deribit-bus", 9);
        let [alone, bus] = DERIBIT;
        assert!(
            summary(&alone, 10, &json)
                .unwrap()
                .ends_with("5 messages: 2 a message")
        );
        assert!(
            summary(&bus, 9, &json)
                .unwrap()
                .ends_with("9 messages: 1 a message")
        );
        assert!(summary(&bus, 9, "no JSON").is_err());
    }
}
