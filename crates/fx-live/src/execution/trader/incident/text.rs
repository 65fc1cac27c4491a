//! Texts of incidents: event, object, consequence and cure.

use super::{Incident, text_of};
use std::fmt;
use touchline_fx_events::event::Alarm;
use touchline_session::fix::SequenceFault;
use touchline_types::Id;

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incident::SessionUp { .. }
            | Incident::SessionDown { .. }
            | Incident::SessionClosed { .. }
            | Incident::NotConnected { .. }
            | Incident::Rejected { .. } => self.write_session(f),
            Incident::Gap { .. }
            | Incident::Skipped { .. }
            | Incident::Flood { .. }
            | Incident::Foreign { .. }
            | Incident::Garbled { .. }
            | Incident::TooLong { .. }
            | Incident::Repeated { .. } => self.write_messages(f),
            Incident::JournalFailed { .. }
            | Incident::JournalAlarm { .. }
            | Incident::Rebooted { .. } => self.write_journal(f),
            Incident::Killed { .. }
            | Incident::Refused { .. }
            | Incident::Missed { .. }
            | Incident::RingRefused { .. } => self.write_command(f),
            Incident::Alarm { what, bank, order } => {
                if let Some(order) = order {
                    write!(f, "order {} of ", order.as_str())?;
                }
                write!(f, "{bank}: {}", text_of_alarm(*what))
            }
            Incident::Quotes(refused) => refused.fmt(f),
            Incident::DatePassed { pair, spot_date } => write!(
                f,
                "the spot date {spot_date} of {pair} has passed by New York's date, which turns at 17:00: the pair gets no orders; give \
                 the new spot_date (with simulated banks rehearsal = true), and start the engine again"
            ),
            Incident::CalendarEnds { pair, trade_date } => write!(
                f,
                "{pair} has no spot date on trade date {trade_date}, because a calendar ends before it: the pair gets no orders; give a \
                 later calendar in files of [calendars], and start the engine again"
            ),
            Incident::ClockStepped { ms } => write!(
                f,
                "the wall clock was set by {ms} ms; quotes of each bank count again when they are new; check the time service of this host"
            ),
            Incident::Paused { ms } => {
                write!(
                    f,
                    "the engine was stopped for {ms} ms; it makes no orders until it has read all quotes"
                )
            }
        }
    }
}

/// Texts by subject.
impl Incident {
    /// An order session begins, ends, or rejects a message.
    fn write_session(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incident::SessionUp { bank, is_restarted } => {
                let restarted = if *is_restarted {
                    "; both sequence numbers began again at 1"
                } else {
                    ""
                };
                write!(f, "order session of {bank} is up{restarted}")
            }
            Incident::SessionDown {
                bank,
                why,
                retry_ms: None,
                ..
            } => {
                write!(f, "order session of {bank} has ended: {why}")
            }
            Incident::SessionDown {
                bank, why, numbers, ..
            } => {
                write!(
                    f,
                    "order session of {bank} was lost: {why}; its orders are unknown until it is up{}",
                    numbers_cure(*numbers)
                )
            }
            Incident::SessionClosed { bank, until_ns } => {
                let until = touchline_fx_days::utc(*until_ns);
                write!(
                    f,
                    "order session of {bank} is closed until {until} by its hours"
                )
            }
            Incident::NotConnected {
                bank,
                why,
                retry_ms,
            } => {
                write!(
                    f,
                    "order session of {bank} cannot connect to {why}, the next one in {retry_ms} ms"
                )
            }
            Incident::Rejected {
                bank,
                is_ours,
                text,
            } => match is_ours {
                true => write!(f, "a malformed message of {bank} was rejected: {text}"),
                false => write!(f, "{bank} rejected a message of ours: {text}"),
            },
            _ => unreachable!("it is no incident of a session"),
        }
    }

    /// Messages of a bank are missing, or are not as they should be.
    fn write_messages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incident::Gap {
                bank,
                first,
                last,
                is_reconnect,
            } => match is_reconnect {
                true => write!(
                    f,
                    "sequence gap of {bank}: messages {first} to {last}, of the time without a connection, are requested"
                ),
                false => write!(
                    f,
                    "sequence gap of {bank}: messages {first} to {last} were lost on a connection that is up; they are requested, and \
                     their orders have old states until they arrive; if it repeats, ask the bank, and look for another process with \
                     these CompIDs"
                ),
            },
            Incident::Skipped { bank, first, last } => write!(
                f,
                "messages {first} to {last} of {bank} will not come: it skipped them by a gap fill, or they are too long; reports may be \
                 among them; orders of {bank} without an outcome are unknown and asked for; compare the positions with the bank's"
            ),
            Incident::Flood { bank } => write!(
                f,
                "{bank} sends messages that none of ours explains: its order session was ended, and is connected again after the \
                 longest pause; the reports before are in the journal; call the bank"
            ),
            Incident::Foreign { bank, count } => write!(
                f,
                "{bank} reported orders that are not ours {count} times more, since the last line about it; they are in the journal; \
                 look for another process with these CompIDs, and call the bank"
            ),
            Incident::Garbled { bank, count } => write!(
                f,
                "{bank} sent bytes that are not a FIX message, or a wrong BodyLength or CheckSum: skipped, {count} times since the \
                 last line about it; a lost report is requested when the next message shows the gap; look at the network and ask \
                 the bank"
            ),
            Incident::TooLong { bank, text } => write!(
                f,
                "{bank} sent {text}: it is skipped, and the next message shows the gap; orders of {bank} have old states; ask the bank \
                 for shorter messages, or whether its BodyLength (9) is right"
            ),
            Incident::Repeated {
                bank,
                message,
                count,
            } => write!(
                f,
                "{bank} repeated a report without PossDupFlag (43) or PossResend (97): {message}; ignored, {count} times since the \
                 last line about it; ask the bank"
            ),
            _ => unreachable!("it is no incident of messages"),
        }
    }

    /// The journal lacks entries, or will.
    fn write_journal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incident::JournalFailed { why } => {
                write!(
                    f,
                    "the journal cannot be written: {why}; the kill switch is set, no order is sent, cancels and status requests \
                     still are; repair the disk or make room on it, then start the engine again"
                )
            }
            Incident::JournalAlarm { errno } => {
                write!(
                    f,
                    "the next segment of the journal cannot be made: {}; make room on its disk before the present one is full, or \
                     the kill switch is set",
                    text_of(*errno)
                )
            }
            Incident::Rebooted {
                before,
                now,
                is_tail_lost,
            } => {
                let why = match (*is_tail_lost, *before == Some(*now)) {
                    (true, true) => {
                        "the directory of buses (`--dir`) is not that of the last run, or was emptied"
                    }
                    (true, false) => {
                        "the host was started again, or the journal is that of another host"
                    }
                    (false, _) => "the last run could not write it, or died while it began",
                };
                let before = before.map_or("unknown".to_owned(), |id| hex(&id));
                let now = hex(now);
                write!(
                    f,
                    "the end of the journal may be lost: last run in boot {before}, this one in boot {now}: {why}; each bank is \
                     asked for all its orders, and no order leaves before all have answered"
                )
            }
            _ => unreachable!("it is no incident of the journal"),
        }
    }

    /// A command was executed, or was not.
    fn write_command(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incident::Killed { by } => write!(
                f,
                "the kill switch was set by {}; two people lift it with `touchline fx lift`",
                by.as_ref().map_or("nobody", Id::as_str)
            ),
            Incident::Refused { client, reason } => {
                write!(f, "command of {client} refused: {reason}")
            }
            Incident::Missed { client, count } => write!(
                f,
                "{count} commands of {client} were sent before the start and found no engine: not executed"
            ),
            Incident::RingRefused { client, why } => write!(
                f,
                "commands of {client} are not read: {why}; find out who made these files, or correct user and directory of \
                 [[clients]] and restart"
            ),
            _ => unreachable!("it is no incident of commands"),
        }
    }
}

/// Text of an alarm about its order or bank, with the cure.
fn text_of_alarm(what: Alarm) -> &'static str {
    match what {
        Alarm::Manual => {
            "no outcome after all status requests; call the bank, then `touchline fx resolve`"
        }
        Alarm::DontKnow('D') => {
            "a trade of an order that it does not have was refused; call the bank"
        }
        Alarm::DontKnow(_) => {
            "a trade that is not as ordered was refused; call the bank, then `touchline fx resolve`"
        }
        Alarm::Contradiction => {
            "a report contradicts itself or what is booked; nothing of the order is traded again; call the bank, then `touchline fx \
             resolve`, or `touchline fx book` if it has ended"
        }
        Alarm::Account => "a trade of another account was booked; call the bank",
        Alarm::Overfill => {
            "resolved with more than its quantity: its parent has more than was asked"
        }
        Alarm::NotResolved => {
            "not resolved: it is neither unknown nor disputed, or the total is below what is booked, or a price is needed"
        }
        Alarm::FillAfterEnd => {
            "a fill after its end was booked; its parent may have more than its quantity"
        }
        Alarm::OffPrice => {
            "a trade at a price better than its order's by more than collar_ticks was booked; the bank will bust it: do not hedge on it, call \
             the bank"
        }
        Alarm::Bust => "a trade was reversed; its quantity is not traded again",
        Alarm::Correct => "a trade was corrected",
        Alarm::CorrectDate => {
            "a trade was corrected to another value date, and is in the position of its order's date; call the bank, then `touchline fx \
             book` it out of the one date and into the other"
        }
        Alarm::UnknownExec => "an unknown trade was reversed or corrected; call the bank",
        Alarm::Adopted => {
            "adopted with its fills: the journal had lost it; see which parent it was of before you send the rest"
        }
        Alarm::NotAdopted => {
            "not adopted: the journal had lost it, and the report lacks pair, side, quantity or price; call the bank"
        }
        Alarm::NoMassStatus => {
            "it does not say which orders it has, and no order leaves; call it, `touchline fx cancel` each parent of which it has an \
             order, then `touchline fx enable` one of its pairs"
        }
        // Each of these alarms has an incident of its own.
        Alarm::Run(what) => what.name(),
    }
}

/// Cure for sequence numbers that do not fit: without it each attempt fails in the same way.
fn numbers_cure(numbers: Option<SequenceFault>) -> &'static str {
    match numbers {
        Some(SequenceFault::TheirsTooLow) => {
            "; the bank has begun its numbers again and the journal continues its own: agree on a reset (141=Y) with the bank, or \
             start a new journal. A `touchline sim bank` without --store begins again at each start: remove the journal too"
        }
        Some(SequenceFault::OursTooLow) => {
            "; the bank continues its numbers and the journal is new or lost some: agree on a reset (141=Y) with the bank. A \
             `touchline sim bank` begins again when it is started again, with --store in an empty folder"
        }
        Some(SequenceFault::Unclear) | None => "",
    }
}

/// An id of a boot, as the system writes it without its hyphens.
fn hex(id: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*id))
}
