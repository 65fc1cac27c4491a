//! Incidents that the engine reports to people.

mod text;

use crate::compose::KindRefused;
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
    /// An order session is closed by its hours.
    SessionClosed {
        /// Bank.
        bank: String,
        /// Start of its next session, nanoseconds since 1970.
        until_ns: u64,
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
        /// Boot of the host in which the last run began, if the journal states it.
        before: Option<[u8; 16]>,
        /// Id of this boot.
        now: [u8; 16],
        /// The shared memory of the last run is not there.
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
    /// A pair has no spot date, because a calendar ends before it: it gets no orders.
    CalendarEnds {
        /// Symbol.
        pair: String,
        /// Trade date, `YYYYMMDD`.
        trade_date: u32,
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
            // mutant: execution: a closed session is an alarm
            Incident::SessionClosed { .. } => return Err("session_closed"),
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
            Incident::CalendarEnds { .. } => RunAlarm::CalendarEnds,
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
            | Incident::SessionClosed { bank, .. }
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

/// An error number of the system in words.
pub(super) fn text_of(errno: u64) -> String {
    let errno = i32::try_from(errno).unwrap_or(i32::MAX);
    std::io::Error::from_raw_os_error(errno).to_string()
}
