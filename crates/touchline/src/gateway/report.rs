//! What a gateway says while it runs: made from its counters, by a thread that the path never waits
//! for.

use crate::format::{count, counted};
use crate::log::Log;
use std::collections::BTreeMap;
use touchline_transport::shm::CountersView;

/// Counters whose every move is told: what each count is, and what to make of it.
const TOLD: &[(&str, &str)] = &[
    (
        "packets_lost",
        "lost on both lines; snapshots heal the books",
    ),
    (
        "packets_replayed",
        "lost on both lines, and had again over TCP",
    ),
    (
        "stalls",
        "the process did not run for a while: books were stale until it had caught up; give its thread a processor of its own",
    ),
    (
        "replay_rejected",
        "TCP replay was refused: look at user and password, and at what the venue grants",
    ),
    (
        "replay_unreachable",
        "a host for TCP replay cannot be reached: look at hosts and the firewall",
    ),
    (
        "replay_over_budget",
        "TCP replay rests until tomorrow: see requests_per_day_max",
    ),
    (
        "connections_failed",
        "to the venue could not be made: tried again, after a rest",
    ),
    (
        "connections_lost",
        "ended by the venue or the network; books are stale until it is made again",
    ),
    (
        "requests_rejected",
        "rejected by the venue (35=Y): look at the symbols, and at what the venue grants",
    ),
    (
        "requests_refused",
        "of ours refused by the venue's session (35=3, 35=j)",
    ),
    (
        "books_inconsistent",
        "a change did not fit its book, which is asked for anew",
    ),
    (
        "instruments_changed",
        "defined as something else: another currency, type or contract; the book is asked for anew",
    ),
    (
        "instruments_refused",
        "chosen and not taken: a name over 32 bytes, or more than instruments_max",
    ),
    (
        "packets_dropped_kernel",
        "dropped by the kernel, a socket's buffer was full: raise receive_buffer_bytes, or give the thread a processor of its own",
    ),
    (
        "packets_foreign",
        "of a source that the venue does not publish, dropped: see who sends to the channel's groups, or sources = \"any\"",
    ),
    (
        "groups_rejoined",
        "multicast joined again: the interface is back",
    ),
    (
        "receive_errors",
        "a receive call failed: look at the interface (ip -s link)",
    ),
    (
        "packets_invalid",
        "broke the packet rules and count as not received",
    ),
    ("packets_truncated", "longer than packet_bytes_max, dropped"),
    (
        "packets_out_of_window",
        "far ahead of the channel, waited for a second one to confirm the jump",
    ),
    (
        "packets_implausible",
        "would be a sequence reset from the future, dropped",
    ),
    (
        "numbering_restarts",
        "sequence reset: packet numbers began again at 1",
    ),
    ("channel_resets", "the venue emptied every book"),
    (
        "queue_full",
        "the recovery queue was full: raise queue_entries_max",
    ),
    ("instruments_full", "beyond instruments_max, dropped"),
    (
        "orders_overflowed",
        "beyond orders_max, an order book was dropped",
    ),
    (
        "images_refused",
        "without room for an image: /dev/shm is full",
    ),
];

/// The counters that were told of last, and whether the gateway was ready then.
#[derive(Debug, Default)]
pub struct Reporter {
    told: BTreeMap<&'static str, u64>,
    ready: Option<bool>,
    lines: [Line; 2],
    groups_lost: u64,
    /// How often it looked.
    looks: u64,
}

/// How long a line has given nothing while the other did.
#[derive(Debug, Default)]
struct Line {
    packets: u64,
    silent_looks: u64,
    is_told: bool,
}

/// Looks after which a line is silent; a look a second.
const SILENT_LOOKS: u64 = 5;

impl Reporter {
    /// Says what has changed since the last look.
    pub fn look(&mut self, counters_file: &CountersView, log: &mut Log) {
        let values: BTreeMap<&str, u64> = counters_file
            .counters()
            .map(|(what, value)| (what.name.as_str(), value))
            .collect();
        let value = |name: &str| values.get(name).copied().unwrap_or(0);
        for &(name, meaning) in TOLD {
            let told = self.told.entry(name).or_default();
            let more = value(name).saturating_sub(*told);
            if more > 0 {
                *told += more;
                let unit = unit(counters_file, name);
                log.say(name, format_args!("{}: {meaning}", counted(more, unit)));
            }
        }
        self.look_at_groups(value("groups_lost"), log);
        self.look_at_lines([value("packets_a"), value("packets_b")], log);
        let (live, known) = (value("books_live"), value("books_known"));
        self.look_at_readiness(value("ready") == 1, live, known, log);
        self.looks += 1;
    }

    fn look_at_groups(&mut self, lost: u64, log: &mut Log) {
        if lost > self.groups_lost {
            let what = counted(lost, "group");
            log.say(
                "groups_lost",
                format_args!("{what} not joined: the interface is gone; joined again when it is back (ip link)"),
            );
        }
        self.groups_lost = lost;
    }

    fn look_at_lines(&mut self, packets: [u64; 2], log: &mut Log) {
        let moved = [0, 1].map(|line| packets[line] != self.lines[line].packets);
        for (line, name) in [(0, "A"), (1, "B")] {
            let other_moved = moved[1 - line];
            let state = &mut self.lines[line];
            state.packets = packets[line];
            if moved[line] {
                if std::mem::take(&mut state.is_told) {
                    log.say("line back", format_args!("line {name} is back"));
                }
                state.silent_looks = 0;
            } else if other_moved {
                state.silent_looks += 1;
            }
            if state.silent_looks >= SILENT_LOOKS && !state.is_told {
                state.is_told = true;
                log.say(
                    "line silent",
                    format_args!(
                        "line {name} is silent while the other is not: a loss on it is a loss now"
                    ),
                );
            }
        }
    }

    fn look_at_readiness(&mut self, ready: bool, live: u64, known: u64, log: &mut Log) {
        // The first round of a gateway that waits for the venue is not worth a line.
        if self.ready == Some(ready) || (self.ready.is_none() && !ready) {
            return;
        }
        self.ready = Some(ready);
        let (live, known) = (count(live), count(known));
        match ready {
            true => log.say("ready", format_args!("ready: all {known} books are live")),
            false => log.say(
                "not ready",
                format_args!("not ready: {live} of {known} books are live"),
            ),
        }
    }

    /// Whether the gateway was ready at the last look.
    pub fn is_ready(&self) -> bool {
        self.ready == Some(true)
    }
}

/// What one count is, in the singular.
fn unit<'a>(counters_file: &'a CountersView, name: &str) -> &'a str {
    let described = counters_file.counters().find(|(what, _)| what.name == name);
    let unit = described.map_or("times", |(what, _)| what.unit.as_str());
    unit.strip_suffix('s').unwrap_or(unit)
}
