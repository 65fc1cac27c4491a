//! Alarms: the list that the log, the drop copy with its desks and `top` have in common.

use std::fmt;

/// Kind of alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// A bank does not report the outcome of an order.
    Manual,
    /// A trade was refused, with DKReason.
    DontKnow(char),
    /// A report contradicts itself or the booked quantities.
    Contradiction,
    /// A trade of another account was booked.
    Account,
    /// The desk resolved an order with more than its quantity.
    Overfill,
    /// The desk's information does not resolve an order.
    NotResolved,
    /// A fill of an order that had ended.
    FillAfterEnd,
    /// A trade was booked whose price is better than the order's by more than the collar: its bank will reverse it.
    OffPrice,
    /// A trade was reversed.
    Bust,
    /// A trade was corrected.
    Correct,
    /// A trade was corrected to another value date than its order's.
    CorrectDate,
    /// An unknown trade was reversed or corrected.
    UnknownExec,
    /// An order that the journal lost was taken over.
    Adopted,
    /// A report of an order that the journal lost lacks fields that describe the order: nothing is booked.
    NotAdopted,
    /// A bank did not list its orders: no order is sent until it does, or until the desk enables a pair of the bank.
    NoMassStatus,
    /// An alarm of the run, which does not come from an input of the core.
    Run(RunAlarm),
}

impl Alarm {
    /// All alarms of the core, in the order of their codes, with one entry for refused trades. [`RunAlarm::ALL`] has the others.
    pub const OF_CORE: [Alarm; 15] = [
        Alarm::Manual,
        Alarm::DontKnow('A'),
        Alarm::Contradiction,
        Alarm::Account,
        Alarm::Overfill,
        Alarm::NotResolved,
        Alarm::FillAfterEnd,
        Alarm::Bust,
        Alarm::Correct,
        Alarm::UnknownExec,
        Alarm::Adopted,
        Alarm::NotAdopted,
        Alarm::NoMassStatus,
        Alarm::OffPrice,
        Alarm::CorrectDate,
    ];

    /// Reasons (DKReason, 127) of a refused trade.
    pub const REASONS: [char; 6] = ['A', 'B', 'C', 'D', 'E', 'Z'];

    /// Every alarm that has a name of its own: those of the core, then those of the run.
    pub fn all() -> impl Iterator<Item = Alarm> {
        let of_core = Alarm::OF_CORE.into_iter().flat_map(|what| match what {
            Alarm::DontKnow(_) => Alarm::REASONS.map(Alarm::DontKnow).to_vec(),
            what => vec![what],
        });
        of_core.chain(RunAlarm::ALL.iter().copied().map(Alarm::Run))
    }
}

/// Writes the name, as in a line.
impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Alarm::Manual => "manual",
            Alarm::DontKnow(reason) => return write!(f, "dk_{reason}"),
            Alarm::Contradiction => "contradiction",
            Alarm::Account => "account",
            Alarm::Overfill => "overfill",
            Alarm::NotResolved => "not_resolved",
            Alarm::FillAfterEnd => "fill_after_end",
            Alarm::OffPrice => "off_price",
            Alarm::Bust => "bust",
            Alarm::Correct => "correct",
            Alarm::CorrectDate => "correct_date",
            Alarm::UnknownExec => "unknown_exec",
            Alarm::Adopted => "adopted",
            Alarm::NotAdopted => "not_adopted",
            Alarm::NoMassStatus => "no_mass_status",
            Alarm::Run(what) => what.name(),
        })
    }
}

macro_rules! run_alarms {
    ($($(#[$doc:meta])+ $word:ident $name:literal,)+) => {
        /// Kind of alarm of a run: of its sessions, its journal, its clients and its host. It is published and in no journal, as a
        /// start needs none of it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum RunAlarm {
            $($(#[$doc])+ $word,)+
        }

        impl RunAlarm {
            /// All of them, in the order of their codes.
            pub const ALL: &[RunAlarm] = &[$(RunAlarm::$word),+];

            /// Name of the alarm, as in the log.
            pub fn name(self) -> &'static str {
                match self {
                    $(RunAlarm::$word => $name,)+
                }
            }
        }
    };
}

run_alarms! {
    /// An order session was lost.
    SessionLost "session_lost",
    /// An order session is up, and both sequence numbers began again at 1.
    SessionReset "session_reset",
    /// An order session cannot connect.
    NotConnected "not_connected",
    /// Messages of a bank were lost on a connection that is up.
    SequenceGap "sequence_gap",
    /// Bytes of a bank are not a message.
    Garbled "garbled",
    /// A message of a bank is longer than the limit.
    MessageTooLong "message_too_long",
    /// A bank sends messages that none of ours explains; its session was ended.
    ReportFlood "report_flood",
    /// A bank skipped messages by a gap fill, or they are too long.
    ReportsSkipped "reports_skipped",
    /// A bank repeated a report without a mark.
    ReportRepeated "report_repeated",
    /// A bank rejected a message of its session.
    Rejected "rejected",
    /// A message of a bank is not FIX 4.4.
    Malformed "malformed",
    /// The ring of a client is not read.
    RingRefused "ring_refused",
    /// The wall clock of the host was set.
    ClockStep "clock_step",
    /// The engine was stopped for a while.
    Paused "paused",
    /// The spot date of a pair has passed.
    ValueDatePassed "value_date_passed",
    /// Quotes of a bank's bus cannot be used.
    QuotesRefused "quotes_refused",
    /// The journal cannot be written.
    JournalFailed "journal_failed",
    /// The next segment of the journal cannot be made.
    JournalSegment "journal_segment",
    /// The end of the journal may be lost, with orders that were sent.
    JournalEndLost "journal_end_lost",
    /// A pair has no spot date, because a calendar ends before it.
    CalendarEnds "calendar_ends",
}
