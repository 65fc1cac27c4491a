//! Incidents that the engine reports to people.

use crate::compose::KindRefused;
use std::fmt;
use touchline_fx_events::event::{Alarm, RunAlarm};
use touchline_session::fix::SequenceFault;
use touchline_types::Id;

/// An incident for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incident {
    /// An order session is up.
    SessionUp {
        /// Bank.
        bank: String,
        /// Whether both sequence numbers were reset to 1.
        is_restarted: bool,
    },
    /// An order session was lost.
    SessionDown {
        /// Bank.
        bank: String,
        /// Why.
        why: String,
        /// Whose sequence numbers do not fit, if that is why.
        numbers: Option<SequenceFault>,
        /// Milliseconds until the next connection; none if the engine had logged out.
        retry_ms: Option<u64>,
    },
    /// Attempts to connect an order session fail.
    NotConnected {
        /// Bank.
        bank: String,
        /// Where, why, and how many.
        why: String,
        /// Milliseconds until the next one.
        retry_ms: u64,
    },
    /// A message was rejected on the level of the session.
    Rejected {
        /// Bank.
        bank: String,
        /// Whether we rejected it.
        is_ours: bool,
        /// Text.
        text: String,
    },
    /// Messages of a bank are missing, and asked for.
    Gap {
        /// Bank.
        bank: String,
        /// First missing number.
        first: u64,
        /// Last one.
        last: u64,
        /// Whether the messages were sent before the Logon, while there was no connection.
        is_reconnect: bool,
    },
    /// A bank skipped messages: they will not arrive.
    Skipped {
        /// Bank.
        bank: String,
        /// First skipped number.
        first: u64,
        /// Last one.
        last: u64,
    },
    /// A bank sends messages that none of ours explains; its session was ended.
    Flood {
        /// Bank.
        bank: String,
    },
    /// A bank reports orders that are not ours, more than are logged one by one.
    Foreign {
        /// Bank.
        bank: String,
        /// Number of reports since the last incident of this kind and bank.
        count: u64,
    },
    /// Bytes of a bank were not a FIX message, or a message with a wrong length or checksum.
    Garbled {
        /// Bank.
        bank: String,
        /// Number of times since the last incident of this kind and bank.
        count: u64,
    },
    /// A message of a bank is longer than the limit.
    TooLong {
        /// Bank.
        bank: String,
        /// The message: its type, its length and the limit.
        text: String,
    },
    /// A bank repeated a report and did not mark it as a possible repetition.
    Repeated {
        /// Bank.
        bank: String,
        /// Fields that name the message.
        message: String,
        /// Number of times since the last incident of this kind and bank.
        count: u64,
    },
    /// An alarm of the core.
    Alarm {
        /// Kind.
        what: Alarm,
        /// Bank.
        bank: String,
        /// Order of the alarm, if there is one.
        order: Option<Id>,
    },
    /// The kill switch was set.
    Killed {
        /// User, or `auto:` and the automatic cause.
        by: Option<Id>,
    },
    /// The journal cannot be written.
    JournalFailed {
        /// Why.
        why: String,
    },
    /// The next segment of the journal cannot be made.
    JournalAlarm {
        /// Error number of the system.
        errno: u64,
    },
    /// The end of the journal may be lost, with orders that were sent.
    Rebooted {
        /// Boot of the host in which the run before began, if the journal has it.
        before: Option<[u8; 16]>,
        /// Id of this boot.
        now: [u8; 16],
        /// The shared memory of the run before is not there.
        is_tail_lost: bool,
    },
    /// A command was refused.
    Refused {
        /// Client.
        client: String,
        /// Reason.
        reason: String,
    },
    /// Commands from before the start were in the ring of a client, and no engine has handled them.
    Missed {
        /// Client.
        client: String,
        /// Number of commands.
        count: u64,
    },
    /// The files of a client's ring cannot be used, so that its commands are not read.
    RingRefused {
        /// Client.
        client: String,
        /// Why.
        why: String,
    },
    /// The engine was stopped for a while; it makes no orders until it has read all quotes.
    Paused {
        /// Milliseconds.
        ms: u64,
    },
    /// The spot date of a pair has passed: it gets no orders.
    DatePassed {
        /// Symbol.
        pair: String,
        /// The date, `YYYYMMDD`.
        spot_date: String,
    },
    /// The wall clock was set: quotes count again when they are new.
    ClockStepped {
        /// Step, milliseconds; negative: back.
        ms: i64,
    },
    /// Quotes of a bank's bus cannot be used.
    Quotes(KindRefused),
}

impl Incident {
    /// Notes that this incident stands for N incidents of its kind, of which the others are not in the log.
    pub(super) fn stands_for(&mut self, count: u64) {
        if let Incident::Rejected { text, .. } | Incident::TooLong { text, .. } = self
            && count > 1
        {
            text.push_str(&format!(
                " (and {} before it that are not in the log)",
                count - 1
            ));
        }
    }

    /// Whether somebody must look.
    pub fn is_urgent(&self) -> bool {
        match self.alarm() {
            Ok(_) => true,
            Err(word) => Incident::OF_LOG.contains(&word),
        }
    }

    /// Whether this is an alarm that is counted here alone: alarms of the core are counted where they are reported,
    /// also those without a line, and refused commands have their own count.
    pub(super) fn is_alarm_of_its_own(&self) -> bool {
        matches!(self, Incident::Killed { .. }) || self.of_run().is_some()
    }

    /// Alarm of the incident on the drop copy, if the core does not publish it.
    pub(super) fn of_run(&self) -> Option<RunAlarm> {
        match self.alarm() {
            Ok(Alarm::Run(what)) => Some(what),
            _ => None,
        }
    }

    /// Urgent incidents that are in the log alone: the drop copy has each of these reports, the kill, and the answer to
    /// the command.
    pub const OF_LOG: [&str; 3] = ["foreign_reports", "kill", "refused"];

    /// The incident's alarm, or else the name of an incident that is in the log alone.
    fn alarm(&self) -> Result<Alarm, &'static str> {
        Ok(Alarm::Run(match self {
            Incident::SessionUp { is_restarted, .. } => match is_restarted {
                true => RunAlarm::SessionReset,
                false => return Err("session_up"),
            },
            Incident::SessionDown { retry_ms, .. } => match retry_ms {
                Some(_) => RunAlarm::SessionLost,
                None => return Err("logout"),
            },
            Incident::NotConnected { .. } => RunAlarm::NotConnected,
            Incident::Rejected { is_ours, .. } => match is_ours {
                true => RunAlarm::Malformed,
                false => RunAlarm::Rejected,
            },
            Incident::Gap { is_reconnect, .. } => match is_reconnect {
                true => return Err(RunAlarm::SequenceGap.name()),
                false => RunAlarm::SequenceGap,
            },
            Incident::Skipped { .. } => RunAlarm::ReportsSkipped,
            Incident::Flood { .. } => RunAlarm::ReportFlood,
            Incident::Foreign { .. } => return Err("foreign_reports"),
            Incident::Garbled { .. } => RunAlarm::Garbled,
            Incident::TooLong { .. } => RunAlarm::MessageTooLong,
            Incident::Repeated { .. } => RunAlarm::ReportRepeated,
            Incident::Alarm { what, .. } => return Ok(*what),
            Incident::Killed { .. } => return Err("kill"),
            Incident::JournalFailed { .. } => RunAlarm::JournalFailed,
            Incident::JournalAlarm { .. } => RunAlarm::JournalSegment,
            Incident::Rebooted { .. } => RunAlarm::JournalEndLost,
            Incident::Refused { .. } => return Err("refused"),
            Incident::Missed { .. } => return Err("commands_missed"),
            Incident::RingRefused { .. } => RunAlarm::RingRefused,
            Incident::Paused { .. } => RunAlarm::Paused,
            Incident::DatePassed { .. } => RunAlarm::ValueDatePassed,
            Incident::ClockStepped { .. } => RunAlarm::ClockStep,
            Incident::Quotes(_) => RunAlarm::QuotesRefused,
        }))
    }

    /// The word by which a program selects it.
    pub fn reason(&self) -> String {
        match self.alarm() {
            Ok(alarm) => alarm.to_string(),
            Err(word) => word.to_owned(),
        }
    }

    /// Bank of the incident.
    pub fn bank(&self) -> Option<&str> {
        match self {
            Incident::SessionUp { bank, .. }
            | Incident::SessionDown { bank, .. }
            | Incident::NotConnected { bank, .. }
            | Incident::Rejected { bank, .. }
            | Incident::Gap { bank, .. }
            | Incident::Skipped { bank, .. }
            | Incident::Flood { bank }
            | Incident::Foreign { bank, .. }
            | Incident::Garbled { bank, .. }
            | Incident::TooLong { bank, .. }
            | Incident::Repeated { bank, .. }
            | Incident::Alarm { bank, .. }
            | Incident::Quotes(KindRefused { bank, .. }) => Some(bank),
            _ => None,
        }
    }

    /// ClOrdID of its order.
    pub fn order(&self) -> Option<&str> {
        match self {
            Incident::Alarm { order, .. } => order.as_ref().map(Id::as_str),
            _ => None,
        }
    }

    /// The user of a kill, or the client of a refused command or ring.
    pub fn by(&self) -> Option<&str> {
        match self {
            Incident::Killed { by } => by.as_ref().map(Id::as_str),
            Incident::Refused { client, .. } | Incident::RingRefused { client, .. } => Some(client),
            _ => None,
        }
    }

    /// Time until the next attempt, milliseconds, if one is planned.
    pub fn retry_ms(&self) -> Option<u64> {
        match self {
            Incident::SessionDown { retry_ms, .. } => *retry_ms,
            Incident::NotConnected { retry_ms, .. } => Some(*retry_ms),
            _ => None,
        }
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

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
                "{bank} skipped its messages {first} to {last} by a gap fill: reports may be among them; orders of {bank} without an \
                 outcome are unknown and asked for; compare the positions with the bank's"
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
            Incident::Alarm { what, bank, order } => {
                if let Some(order) = order {
                    write!(f, "order {} of ", order.as_str())?;
                }
                write!(f, "{bank}: {}", text_of_alarm(*what))
            }
            Incident::Killed { by } => write!(
                f,
                "the kill switch was set by {}; two people lift it with `touchline fx lift`",
                by.as_ref().map_or("nobody", Id::as_str)
            ),
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
            Incident::Quotes(refused) => refused.fmt(f),
            Incident::DatePassed { pair, spot_date } => write!(
                f,
                "the spot date {spot_date} of {pair} has passed by New York's date, which turns at 17:00: the pair gets no orders; give \
                 the new spot_date (with simulated banks rehearsal = true), and start the engine again"
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

/// An error number of the system in words.
pub(super) fn text_of(errno: u64) -> String {
    let errno = i32::try_from(errno).unwrap_or(i32::MAX);
    std::io::Error::from_raw_os_error(errno).to_string()
}

/// An id of a boot, as the system writes it without its hyphens.
fn hex(id: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*id))
}
