//! Counts the instructions of a benchmark; counts are repeatable, times are not.
//!
//! Runs `touchline bench event` under valgrind's callgrind, which collects inside the measured function only, and
//! divides by the number of messages and of packets: those of CME, or with `--venue deribit` of FIX. Once for the path
//! without a bus, once for the path that publishes on one, and for CME once for that path without order books and tops.
//! The table below each has the crates, with the lines that a simulated first cache of 32 KiB does not have. `--lines`
//! prints the lines that a packet touches instead.

use crate::command::{self, cargo, must};
use crate::lines;
use anyhow::{Context, Result};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::HashMap;
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
    /// Arguments of the benchmark.
    arguments: &'static [&'static str],
}

const CME: [Measured; 3] = [
    Measured {
        name: "without a bus",
        function: "*one_packet*",
        messages: &["touchline-cme", "touchline-cme-no-marks"],
        packets: &["touchline-cme-packet", "touchline-cme-packet-no-marks"],
        arguments: &[],
    },
    Measured {
        name: "on a bus",
        function: "*on_the_bus*",
        messages: &["touchline-cme-bus"],
        packets: &["touchline-cme-packet-bus"],
        arguments: &[],
    },
    Measured {
        name: "on a bus, without order books and tops",
        function: "*on_the_bus*",
        messages: &["touchline-cme-bus"],
        packets: &["touchline-cme-packet-bus"],
        arguments: &["--no-order-books", "--no-tops"],
    },
];

const DERIBIT: [Measured; 2] = [
    Measured {
        name: "without a bus",
        function: "*one_message*",
        messages: &["touchline-deribit", "touchline-deribit-no-marks"],
        packets: &[],
        arguments: &[],
    },
    Measured {
        name: "on a bus",
        function: "*on_the_bus*",
        messages: &["touchline-deribit-bus"],
        packets: &[],
        arguments: &[],
    },
];

/// Builds, counts and prints. `arguments` are passed to `bench event`, but a first `--lines`.
pub fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let target = crate::target_folder(root);
    let build = ["build", "--profile", "dist", "--package", "touchline"];
    command::run(cargo(root).args(build), "the command does not build")?;
    if let ["--lines", arguments @ ..] = arguments {
        return lines::print(&target.join("dist/touchline"), arguments);
    }
    let measured = match arguments.contains(&"deribit") {
        true => &DERIBIT[..],
        false => &CME,
    };
    for (measured, file) in measured.iter().zip(["alone", "bus", "without-order-books"]) {
        let output = target.join(format!("instructions-{file}.callgrind"));
        let printed = count(&target.join("dist/touchline"), arguments, measured, &output)?;
        let text = fs::read_to_string(&output).context("callgrind wrote no result")?;
        println!("{}", summary(measured, collected(&text)?, &printed)?);
        let divisor = match measured.packets {
            [] => counted(&printed, measured.messages)?,
            packets => counted(&printed, packets)?,
        };
        print!("{}", table(&by_crate(&text), divisor.max(1)));
        println!("by function: callgrind_annotate {}", output.display());
    }
    Ok(())
}

/// Runs the benchmark under callgrind and returns its output.
fn count(program: &Path, arguments: &[&str], measured: &Measured, output: &Path) -> Result<String> {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--cache-sim=yes"])
        .args(["--I1=32768,8,64", "--D1=32768,8,64"])
        .arg(format!("--toggle-collect={}", measured.function))
        .arg(format!("--callgrind-out-file={}", output.display()))
        .arg(program)
        .args(["bench", "event", "--json", "--rounds", ROUNDS])
        .args(measured.arguments)
        .args(arguments);
    must(&mut valgrind).context("valgrind (Debian: apt-get install valgrind) counts them")
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

/// Instructions of a callgrind file, its first event.
fn collected(text: &str) -> Result<u64> {
    let totals = text.lines().find_map(|line| {
        line.strip_prefix("totals:")
            .or(line.strip_prefix("summary:"))
    });
    totals
        .and_then(|total| total.split_whitespace().next()?.parse().ok())
        .context("callgrind's result has no total")
}

/// Functions of no crate of ours.
const LIBRARIES: &str = "libraries";

/// Instructions, and lines missed in the first cache, of the code of a crate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cost {
    instructions: u64,
    missed: u64,
}

/// Cost of each crate, the most expensive first: inlined code of ours where it was written, of libraries where it is used.
/// Format:
/// <https://valgrind.org/docs/manual/cl-format.html>.
fn by_crate(text: &str) -> Vec<(&str, Cost)> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut costs: HashMap<&str, Cost> = HashMap::new();
    let mut missed = Vec::new();
    let (mut function, mut place, mut is_of_callee) = (LIBRARIES, LIBRARIES, false);
    for line in text.lines() {
        if let Some(events) = line.strip_prefix("events:") {
            let is_missed = |(_, name): &(usize, &str)| ["D1mr", "D1mw"].contains(name);
            let events = events.split_whitespace().enumerate();
            missed = events.filter(is_missed).map(|(index, _)| index).collect();
        } else if let Some((kind @ ("fl" | "fi" | "fe" | "cfl" | "cfi"), name)) =
            line.split_once('=')
        {
            // A name is written once, with its number, and then the number alone.
            let (number, name) = name.split_once(' ').unwrap_or((name, ""));
            if !name.is_empty() {
                names.insert(number, name);
            }
            let own = own(names.get(number).unwrap_or(&"?"));
            match kind {
                "fl" => {
                    function = own.unwrap_or(LIBRARIES);
                    place = function;
                }
                "fe" => place = own.unwrap_or(function),
                "fi" => place = own.unwrap_or(place),
                // The file of a callee, whose name may be written here.
                _ => {}
            }
        } else if line.starts_with("calls=") {
            is_of_callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = |index: usize| -> u64 {
                let word = line.split_whitespace().nth(1 + index);
                word.and_then(|word| word.parse().ok()).unwrap_or(0)
            };
            if !std::mem::take(&mut is_of_callee) {
                let of_place = costs.entry(place).or_default();
                of_place.instructions += cost(0);
                of_place.missed += missed.iter().map(|index| cost(*index)).sum::<u64>();
            }
        }
    }
    let mut costs: Vec<(&str, Cost)> = costs.into_iter().collect();
    costs.sort_by_key(|(name, cost)| (Reverse(cost.instructions), *name));
    costs
}

/// The crate, if a file is ours.
fn own(path: &str) -> Option<&str> {
    own_file(path).map(|(name, _)| name)
}

/// Crate of a file of ours, and the file's path from the crates on.
pub(crate) fn own_file(path: &str) -> Option<(&str, &str)> {
    let (before, own) = path.rsplit_once("/crates/")?;
    let is_foreign = before.contains("/registry/") || before.contains("/library/");
    own.split('/')
        .next()
        .filter(|_| !is_foreign)
        .map(|name| (name, own))
}

/// Costs of each packet or message.
fn table(costs: &[(&str, Cost)], divisor: u64) -> String {
    let mut text = format!(
        "{:<16}{:>13}{:>14}\n",
        "crate", "instructions", "lines missed"
    );
    for (name, cost) in costs {
        text += &format!(
            "{name:<16}{:>13}{:>14.1}\n",
            cost.instructions / divisor,
            cost.missed as f64 / divisor as f64
        );
    }
    text
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

    #[test]
    fn costs_are_those_of_our_crates() {
        let text = "events: Ir Dr Dw I1mr D1mr D1mw\n\
            fl=(1) /r/crates/feed/src/cme.rs\nfn=(1) a\n12 10 1 1 0 2 1\n\
            fi=(2) /rustc/1/library/core/src/mem.rs\n+3 4\nfe=(1)\n-1 5\n\
            cfi=(9) /r/crates/wire/src/sbe.rs\ncfn=(2)\ncalls=7 20\n* 1000 9 9 9 9 9\n* 1\n\
            fi=(9)\n+1 7\n\
            fl=(3) /r/registry/src/x/crates/src/y.rs\n1 2\n";
        let cost = |instructions, missed| Cost {
            instructions,
            missed,
        };
        assert_eq!(
            by_crate(text),
            [
                ("feed", cost(20, 3)),
                ("wire", cost(7, 0)),
                (LIBRARIES, cost(2, 0))
            ]
        );
        let printed = table(&[("feed", cost(20, 3))], 2);
        assert!(
            printed.ends_with("feed                       10           1.5\n"),
            "{printed}"
        );
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
        let [alone, bus, _] = CME;
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
