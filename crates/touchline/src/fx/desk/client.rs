//! A client of the engine: it writes commands into its ring, and reads their answers and what follows from the drop copy.

use super::super::blotter::Live;
use super::super::lines::{Fields, field, trade, whole};
use super::super::numbers::units;
use super::Place;
use crate::missing;
use crate::output::{Failure, say};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use touchline_fx::command::Command;
use touchline_fx::encoding::{Decoder, NoCommand};
use touchline_fx::lines::{LineKind, lines_of};
use touchline_fx_desk::DeskClient;
use touchline_fx_desk::joined;
use touchline_transport::boot_ns;
use touchline_transport::bus::{self, Polled, Root, SegmentError, Subscription};

/// Longest wait for the engine's answer; a promotion waits for order sessions up to 5 s.
const ANSWER: Duration = Duration::from_secs(8);
/// Longest wait for the ring: another process of the client has it while it writes a command.
const RING: Duration = Duration::from_secs(2);
/// Pause of a reader that finds nothing.
const PAUSE: Duration = Duration::from_micros(200);
/// Messages of the drop copy that are not lines, in one look for a line.
const SKIPPED_MAX: usize = 4_096;

/// A client of the engine.
pub struct Desk<'a> {
    /// Directory and name of the engine's bus.
    root: Root,
    bus: String,
    /// Directory of the client's ring.
    ring_root: Root,
    client: &'a str,
    answers: Subscription<0>,
    decoder: Decoder,
    /// Lines of the last message.
    lines: VecDeque<Line>,
    /// Lines that came before the answer to the command: they may be about it.
    pub before: VecDeque<Line>,
}

/// A line of the drop copy, with its kind.
type Line = (LineKind, Fields);

/// Why a command is refused.
pub struct Refused {
    /// For programs.
    reason: String,
    /// For people; empty if the reason says it.
    cause: String,
}

impl Refused {
    /// Whether the engine is of another release, and did not read the command.
    pub fn is_unread(&self) -> bool {
        let unread = [NoCommand::Malformed, NoCommand::Version(0)].map(NoCommand::reason);
        unread.contains(&self.reason.as_str())
    }

    /// The end of the command.
    pub fn failure(self) -> Failure {
        let Refused { reason, cause } = self;
        Failure::run(match cause.as_str() {
            "" => format!("refused: {reason}"),
            cause => format!("refused: {reason}: {cause}"),
        })
    }
}

impl<'a> Desk<'a> {
    /// [`Desk::join`], past the lines that were published before.
    pub fn open(client: &'a str, place: Place) -> Result<Desk<'a>, Failure> {
        let mut desk = Desk::join(client, place)?;
        // Lines may arrive without end.
        let until = Instant::now() + RING;
        while desk.line().is_some() && Instant::now() < until {}
        Ok(desk)
    }

    /// Joins the drop copy before anything is sent, so that no answer is missed.
    pub fn join(client: &'a str, place: Place) -> Result<Desk<'a>, Failure> {
        let (Place { root, bus, .. }, (what, start)) = (&place, place.program());
        let answers = Subscription::join(root, bus, [], false).map_err(|error| {
            let why = missing::words(root, bus, error);
            Failure::run(format!("no {what} on bus {bus}: {why}; start {start}"))
        })?;
        let has_engine = answers.publisher().map_err(Failure::run)?.is_some();
        if !has_engine {
            return Err(Failure::run(format!(
                "the {what} on bus {bus} has ended; start {start}",
            )));
        }
        let decoder = joined(root, bus);
        Ok(Desk {
            root: place.root,
            bus: place.bus,
            ring_root: place.ring_root,
            client,
            answers,
            decoder,
            lines: VecDeque::new(),
            before: VecDeque::new(),
        })
    }

    /// Sends a command, and waits for its answer.
    pub fn command(&mut self, command: &Command) -> Result<String, Failure> {
        let request = self.send(command, RING)?;
        let answer = self.answer(request, ANSWER).map_err(Refused::failure)?;
        answer.ok_or_else(|| {
            Failure::run(format!(
                "no answer within {} s: the engine is stopped, or does not know client {} of this user; whether the command was \
                 executed is in the journal",
                ANSWER.as_secs(),
                self.client
            ))
        })
    }

    /// Writes a command into the client's ring, for which it waits at most this long, and which is free again for its other processes
    /// when this returns. Returns the number.
    pub fn send(&self, command: &Command, within: Duration) -> Result<u64, Failure> {
        let until = Instant::now() + within;
        let mut ring = loop {
            match DeskClient::open(&self.ring_root, &self.bus, self.client) {
                Ok(ring) => break ring,
                Err(bus::Error::Segment(SegmentError::Busy { .. })) if Instant::now() < until => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(Failure::run(error)),
            }
        };
        // Numbers ascend in the order of the ring.
        let request = boot_ns();
        ring.send(request, command);
        Ok(request)
    }

    /// Waits for the answer to a command; none within the time.
    ///
    /// # Errors
    /// The command is refused.
    pub fn answer(&mut self, request: u64, within: Duration) -> Result<Option<String>, Refused> {
        let until = Instant::now() + within;
        while Instant::now() < until {
            let Some((kind, line)) = self.line() else {
                std::thread::sleep(PAUSE);
                continue;
            };
            let is_mine = kind == LineKind::Answer
                && line.get("client").and_then(Value::as_str) == Some(self.client)
                && line.get("request").and_then(Value::as_u64) == Some(request);
            if !is_mine {
                self.before.push_back((kind, line));
                continue;
            }
            let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
            return match text("answer") {
                "refused" => Err(Refused {
                    reason: text("reason").to_owned(),
                    cause: text("cause").to_owned(),
                }),
                answer => Ok(Some(answer.to_owned())),
            };
        }
        Ok(None)
    }

    /// Prints what becomes of an order of this quantity, until nothing of it is out.
    ///
    /// # Errors
    /// Among others: nothing of it was filled.
    pub fn follow(&mut self, id: &str, quantity: i64) -> Result<(), Failure> {
        let (mut waited, mut why) = (None, "-".to_owned());
        loop {
            let next = self.before.pop_front();
            let Some((kind, line)) = next.or_else(|| self.line()) else {
                let has_ended = self.answers.publisher().map_err(Failure::run)?.is_none();
                if has_ended {
                    return Err(Failure::run(
                        "the engine has ended; the journal has what became of the order",
                    ));
                }
                std::thread::sleep(PAUSE);
                continue;
            };
            if line.get("parent").and_then(Value::as_str) != Some(id) {
                continue;
            }
            match kind {
                LineKind::Fill => say(&fill_text(&line))?,
                LineKind::Decision => {
                    let event = line.get("event").and_then(Value::as_str);
                    let out = line.get("out").and_then(Value::as_i64);
                    match event {
                        Some("waits") => {
                            let reason = field(&line, "reason");
                            say(&format!("waits: {reason}\n"))?;
                            waited = Some(reason);
                        }
                        Some("ended") => why = field(&line, "reason"),
                        _ => {}
                    }
                    let is_over =
                        event == Some("settled") || (event == Some("ended") && out == Some(0));
                    if is_over {
                        say(&end_text(id, quantity, &why, &line))?;
                        return match whole(&line, "filled") {
                            0 => Err(self.nothing_filled(id, &why, waited.as_deref())),
                            _ => Ok(()),
                        };
                    }
                }
                _ => {}
            }
        }
    }

    /// The failure of an order of which nothing was filled, with what may be the cause.
    fn nothing_filled(&self, id: &str, why: &str, waited: Option<&str>) -> Failure {
        let mut text = format!("nothing of {id} was filled: {why}");
        if let Some(reason) = waited {
            text += &format!("; it waited last: {reason}");
        }
        if let Some(down) = Live::read(&self.root, &self.bus).down() {
            text += &format!("; {down}");
        }
        Failure::run(text)
    }

    /// The next line of the drop copy, with its kind; `None` also after [`SKIPPED_MAX`] messages that are not lines.
    fn line(&mut self) -> Option<Line> {
        let (decoder, lines) = (&mut self.decoder, &mut self.lines);
        for _ in 0..SKIPPED_MAX {
            if let Some(line) = lines.pop_front() {
                return Some(line);
            }
            let polled = self.answers.poll(|message| {
                let mut text = String::new();
                // What is no batch of this version is left out.
                let _ = decoder.read(message.bytes, |labels, at_ns, entry, batch| {
                    lines_of((labels, batch), at_ns, &entry, &mut text, |kind, text| {
                        lines.extend(serde_json::from_str(text).ok().map(|line| (kind, line)));
                    });
                });
            });
            if matches!(polled, Ok(Polled::Nothing)) {
                return None;
            }
        }
        None
    }
}

fn fill_text(line: &Fields) -> String {
    let what = trade(line, &field(line, "qty"));
    let (kind, id) = (field(line, "kind"), field(line, "exec_id"));
    format!("{what} ({kind} {id})\n")
}

fn end_text(id: &str, quantity: i64, why: &str, line: &Fields) -> String {
    let average = match field(line, "avg").as_str() {
        "-" => String::new(),
        average => format!(" at {average}"),
    };
    let filled = whole(line, "filled");
    let rest = match quantity - filled {
        0 => String::new(),
        rest => format!(", {} not filled: {why}", units(rest)),
    };
    format!("{id}: {filled} filled{average}{rest}\n")
}
