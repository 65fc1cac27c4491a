//! Log of a running gateway, made from its counters and from incidents of the path, on a thread that the path never
//! waits for.

use crate::log::events::{self as event, Event};
use crate::log::{Field, Lines, Value};
use std::collections::BTreeMap;
use touchline_gateway::venues::{Opening, StartEvent};
use touchline_gateway::{ConnectionError, GapReport, Incident};
use touchline_transport::shm::CountersView;

/// Counters whose every increase is an event, with the field that has the number.
const COUNTED: &[(&str, &Event, &str)] = &[
    ("packets_replayed", &event::GAP_FILLED, "packets"),
    ("stalls", &event::STALL, "count"),
    ("feed_timeouts", &event::FEED_TIMEOUT, "count"),
    ("numbering_restarts", &event::SEQUENCE_RESET, "count"),
    ("channel_resets", &event::CHANNEL_RESET, "count"),
    ("replay_rejected", &event::REPLAY_REJECTED, "count"),
    ("replay_unreachable", &event::REPLAY_UNREACHABLE, "count"),
    ("replay_over_budget", &event::REPLAY_BUDGET, "count"),
    ("logons", &event::LOGON, "count"),
    ("resends_requested", &event::SEQUENCE_GAP, "count"),
    ("requests_rejected", &event::REQUEST_REJECTED, "count"),
    ("requests_refused", &event::REQUEST_REFUSED, "count"),
    ("books_inconsistent", &event::BOOK_INCONSISTENT, "count"),
    ("instruments_changed", &event::INSTRUMENT_CHANGED, "count"),
    (
        "instruments_refused",
        &event::INSTRUMENT_REFUSED,
        "instruments",
    ),
    ("packets_dropped_kernel", &event::KERNEL_DROP, "packets"),
    ("packets_foreign", &event::FOREIGN_SOURCE, "packets"),
    ("groups_rejoined", &event::GROUP_REJOINED, "groups"),
    ("receive_errors", &event::RECEIVE_ERROR, "count"),
    ("packets_invalid", &event::INVALID_PACKET, "packets"),
    ("packets_truncated", &event::TRUNCATED_PACKET, "packets"),
    ("packets_out_of_window", &event::OUT_OF_WINDOW, "packets"),
    ("packets_implausible", &event::IMPLAUSIBLE_PACKET, "packets"),
    ("queue_full", &event::QUEUE_FULL, "count"),
    ("instruments_full", &event::INSTRUMENTS_FULL, "count"),
    ("orders_overflowed", &event::ORDERS_FULL, "count"),
    ("images_refused", &event::IMAGE_REFUSED, "count"),
    ("cursors_renewed", &event::CURSORS_RENEWED, "count"),
];

/// Counters at the last log pass, and readiness then.
#[derive(Debug, Default)]
pub struct Reporter {
    logged: BTreeMap<&'static str, u64>,
    ready: Option<bool>,
    lines: [Line; 2],
    silences: u64,
    is_channel_silent: bool,
    groups_lost: u64,
    is_detached: bool,
    gap_fields: &'static [(&'static str, &'static str)],
}

/// State of a line: how long it was silent while the other was active.
#[derive(Debug, Default)]
struct Line {
    packets: u64,
    silent_looks: u64,
    is_silent: bool,
}

/// Passes after which a line counts as silent; one pass a second.
const SILENT_LOOKS: u64 = 5;

impl Reporter {
    /// A reporter that has logged nothing. Gap lines also have these fields.
    pub fn new(gap_fields: &'static [(&'static str, &'static str)]) -> Reporter {
        Reporter {
            gap_fields,
            ..Reporter::default()
        }
    }

    /// Logs an incident of the path.
    pub fn incident(&self, incident: Incident, log: &mut impl Lines) {
        let error = |error: ConnectionError, has_retry: bool| {
            let mut fields: Vec<Field> =
                vec![("host", error.host.into()), ("reason", error.reason.into())];
            fields.extend(has_retry.then(|| ("retry_ms", error.retry_ms.into())));
            fields
        };
        match incident {
            Incident::Joined { missed } => {
                let mut fields: Vec<Field> = vec![("missed", missed.into())];
                fields.extend(self.named("action"));
                log.write(&event::JOINED, fields);
            }
            Incident::Gap(gap) => log.write(&event::GAP, self.gap(gap)),
            Incident::CopiesDiffer(copies) => {
                let mut fields: Vec<Field> = vec![
                    ("line", copies.line.into()),
                    ("source", copies.source.to_string().into()),
                    ("number", copies.number.into()),
                    ("packets", copies.packets.into()),
                ];
                fields.extend(self.named("action"));
                log.write(&event::COPIES_DIFFER, fields);
            }
            Incident::ClockStepped { step_ns } => {
                let step_ms = (step_ns / 1_000_000).to_string();
                log.write(&event::CLOCK_STEP, [("step_ms", Value::from(step_ms))]);
            }
            Incident::Connected { host } => {
                log.write(&event::CONNECTED, [("host", Value::from(host))]);
            }
            Incident::SessionClosed { until_ns } => {
                let until = crate::format::until(until_ns);
                log.write(&event::SESSION_CLOSED, [("until", Value::from(until))]);
            }
            Incident::ConnectionFailed(failed) => {
                log.write(&event::CONNECTION_FAILED, error(failed, true));
            }
            Incident::ConnectionLost(lost) => {
                log.write(&event::CONNECTION_LOST, error(lost, true));
            }
            Incident::ConnectionClosed(closed) => {
                log.write(&event::CONNECTION_CLOSED, error(closed, true));
            }
            Incident::FailureRepeated(failure) => {
                let mut fields: Vec<Field> = vec![
                    ("host", failure.host.into()),
                    ("reason", failure.reason.into()),
                    ("count", u64::from(failure.count).into()),
                ];
                let has_message = !failure.message.is_empty();
                fields.extend(has_message.then(|| ("message", failure.message.into())));
                log.write(&event::FAILURE_REPEATED, fields);
            }
            Incident::Rejected { message } => {
                log.write(&event::REJECTION, [("message", Value::from(message))]);
            }
        }
    }

    fn gap(&self, gap: GapReport) -> Vec<Field> {
        let mut fields: Vec<Field> = self.named("line").into_iter().collect();
        fields.extend([
            ("first", gap.first.into()),
            ("last", gap.last.into()),
            ("packets", gap.packets.into()),
            ("gaps", gap.gaps.into()),
        ]);
        fields.extend(self.named("action"));
        fields
    }

    /// A field of the venue's gap lines.
    fn named(&self, wanted: &str) -> Option<Field> {
        let mut fields = self.gap_fields.iter();
        let found = fields.find(|(name, _)| *name == wanted);
        found.map(|&(name, value)| (name, Value::from(value)))
    }

    /// Logs the changes since the last pass.
    /// `name_of` finds the name of the reader in a slot.
    pub fn look(
        &mut self,
        counters_file: &CountersView,
        name_of: &dyn Fn(u64) -> Option<String>,
        log: &mut impl Lines,
    ) {
        let values: BTreeMap<&str, u64> = counters_file
            .counters()
            .map(|(what, value)| (what.name.as_str(), value))
            .collect();
        self.look_at(&values, log);
        self.look_at_places(&values, name_of, log);
    }

    /// Readers of a lossless bus that are waited for no more.
    fn look_at_places(
        &mut self,
        values: &BTreeMap<&str, u64>,
        name_of: &dyn Fn(u64) -> Option<String>,
        log: &mut impl Lines,
    ) {
        let value = |name: &str| values.get(name).copied().unwrap_or(0);
        for (name, place, reason) in [
            ("readers_dead", "dead_place", "died"),
            ("readers_left_behind", "left_behind_place", "too_slow"),
        ] {
            let logged = self.logged.entry(name).or_default();
            let more = value(name).saturating_sub(*logged);
            if more == 0 {
                continue;
            }
            *logged += more;
            let place = value(place);
            let name = name_of(place).unwrap_or_else(|| "-".to_owned());
            let fields = [
                ("name", name.into()),
                ("place", place.into()),
                ("reason", reason.into()),
                ("count", more.into()),
            ];
            log.write(&event::READER_LOST, fields);
        }
    }

    fn look_at(&mut self, values: &BTreeMap<&str, u64>, log: &mut impl Lines) {
        let value = |name: &str| values.get(name).copied().unwrap_or(0);
        for &(name, event, field) in COUNTED {
            let logged = self.logged.entry(name).or_default();
            let more = value(name).saturating_sub(*logged);
            if more > 0 {
                *logged += more;
                let mut fields = vec![(field, Value::from(more))];
                if *event == event::GAP_FILLED {
                    fields.push(("source", "replay".into()));
                }
                log.write(event, fields);
            }
        }
        let silences = (value("channel_silences"), value("channel_silent") == 1);
        self.look_at_silences(silences, value("silence_limit_ms"), log);
        self.look_at_groups(value("groups_lost"), log);
        let is_detached = value("xdp_detached") == 1;
        if is_detached && !std::mem::replace(&mut self.is_detached, is_detached) {
            log.write(&event::XDP_DETACHED, []);
        }
        self.is_detached = is_detached;
        self.look_at_lines([value("packets_a"), value("packets_b")], log);
        let (live, known) = (value("books_live"), value("books_known"));
        self.look_at_readiness(value("ready") == 1, live, known, log);
    }

    fn look_at_silences(
        &mut self,
        (count, is_silent): (u64, bool),
        limit_ms: u64,
        log: &mut impl Lines,
    ) {
        let more = count.saturating_sub(self.silences);
        if more > 0 {
            let fields = [("count", more.into()), ("limit_ms", limit_ms.into())];
            log.write(&event::CHANNEL_SILENT, fields);
        }
        // A silence may begin and end between two passes.
        if !is_silent && (more > 0 || self.is_channel_silent) {
            log.write(&event::CHANNEL_BACK, []);
        }
        (self.silences, self.is_channel_silent) = (count, is_silent);
    }

    fn look_at_groups(&mut self, lost: u64, log: &mut impl Lines) {
        if lost > self.groups_lost {
            log.write(&event::GROUP_LOST, [("groups", Value::from(lost))]);
        }
        self.groups_lost = lost;
    }

    fn look_at_lines(&mut self, packets: [u64; 2], log: &mut impl Lines) {
        let moved = [0, 1].map(|line| packets[line] != self.lines[line].packets);
        for (line, name) in [(0, "A"), (1, "B")] {
            let other_moved = moved[1 - line];
            let state = &mut self.lines[line];
            state.packets = packets[line];
            if moved[line] {
                if std::mem::take(&mut state.is_silent) {
                    log.write(&event::LINE_BACK, [("line", name.into())]);
                }
                state.silent_looks = 0;
            } else if other_moved {
                state.silent_looks += 1;
            }
            if state.silent_looks >= SILENT_LOOKS && !state.is_silent {
                state.is_silent = true;
                log.write(&event::LINE_SILENT, [("line", name.into())]);
            }
        }
    }

    fn look_at_readiness(&mut self, ready: bool, live: u64, books: u64, log: &mut impl Lines) {
        // A gateway that has never been ready does not log `not_ready`.
        if self.ready == Some(ready) || (self.ready.is_none() && !ready) {
            return;
        }
        self.ready = Some(ready);
        match ready {
            true => log.write(&event::READY, [("books", books.into())]),
            false => log.write(
                &event::NOT_READY,
                [("live", live.into()), ("books", books.into())],
            ),
        }
    }
}

/// Logs a start event.
pub fn started(started: StartEvent, log: &mut impl Lines) {
    match started {
        StartEvent::SocketWarning(reason) => {
            log.write(&event::SOCKET_WARNING, [("reason", reason.into())]);
        }
        StartEvent::BusWarning(reason) => {
            log.write(&event::BUS_WARNING, [("reason", reason.into())]);
        }
        StartEvent::Open {
            opening:
                Opening::Listening {
                    groups,
                    interface,
                    receive,
                },
            generation,
        } => log.write(
            &event::LISTENING,
            [
                ("groups", (groups as u64).into()),
                ("interface", interface.into()),
                ("receive", receive.into()),
                ("generation", generation.into()),
            ],
        ),
        StartEvent::Open {
            opening: Opening::Connecting { hosts },
            generation,
        } => log.write(
            &event::CONNECTING,
            [
                ("hosts", hosts.join(",").into()),
                ("generation", generation.into()),
            ],
        ),
    }
}

#[cfg(test)]
mod tests;
