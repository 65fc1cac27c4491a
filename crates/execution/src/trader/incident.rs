//! What the engine reports to people, and its totals.

use std::fmt;

/// An incident for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incident {
    /// An order session is up.
    SessionUp {
        /// Bank.
        bank: String,
        /// Both sequence numbers began again at 1.
        is_restarted: bool,
    },
    /// An order session was lost.
    SessionDown {
        /// Bank.
        bank: String,
        /// Why.
        why: String,
        /// The engine had logged out.
        is_asked: bool,
    },
    /// Attempts to connect an order session fail.
    NotConnected {
        /// Bank.
        bank: String,
        /// Where, why, how many, and when the next one follows.
        why: String,
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
    },
    /// An alarm of the core.
    Alarm {
        /// The decision's line.
        line: String,
    },
    /// The kill switch was set.
    Killed {
        /// The decision's line.
        line: String,
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
        /// This boot.
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
    /// The engine was stopped for a while; it makes no orders until it has read all quotes.
    Paused {
        /// Milliseconds.
        ms: u64,
    },
    /// Quotes of a bank's bus cannot be used.
    Quotes {
        /// What, and what to change.
        why: String,
    },
}

impl Incident {
    /// Whether somebody must look.
    pub fn is_urgent(&self) -> bool {
        let is_expected = matches!(
            self,
            Incident::SessionUp {
                is_restarted: false,
                ..
            } | Incident::SessionDown { is_asked: true, .. }
                | Incident::Gap { .. }
        );
        !is_expected
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
            Incident::SessionDown { bank, why, .. } => {
                write!(
                    f,
                    "order session of {bank} was lost: {why}; its orders are unknown until it is up"
                )
            }
            Incident::NotConnected { bank, why } => {
                write!(f, "order session of {bank} cannot connect to {why}")
            }
            Incident::Rejected {
                bank,
                is_ours,
                text,
            } => match is_ours {
                true => write!(f, "a malformed message of {bank} was rejected: {text}"),
                false => write!(f, "{bank} rejected a message of ours: {text}"),
            },
            Incident::Gap { bank, first, last } => {
                write!(
                    f,
                    "sequence gap of {bank}: messages {first} to {last} are asked for"
                )
            }
            Incident::Alarm { line } => write!(f, "alarm {line}"),
            Incident::Killed { line } => write!(
                f,
                "killed {line}; two people lift it with `touchline fx lift`"
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
            Incident::Quotes { why } => f.write_str(why),
            Incident::Paused { ms } => {
                write!(
                    f,
                    "the engine was stopped for {ms} ms; it makes no orders until it has read all quotes"
                )
            }
        }
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

/// Totals of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Orders handed to the kernel.
    pub orders: u64,
    /// Cancels handed to the kernel.
    pub cancels: u64,
    /// Orders that were in the journal and could not be sent.
    pub unsent: u64,
    /// Messages of banks about orders.
    pub reports: u64,
    /// Fills, busts and corrections.
    pub fills: u64,
    /// Commands.
    pub commands: u64,
    /// Refused commands.
    pub refused: u64,
    /// Composites that changed and were published.
    pub composites: u64,
    /// Alarms.
    pub alarms: u64,
    /// Times that the kill switch was set.
    pub kills: u64,
    /// Order sessions that were lost.
    pub sessions_lost: u64,
    /// Rounds that began late, after which no orders were made until all quotes were read.
    pub rounds_late: u64,
    /// Incidents that found no room in the queue for the log.
    pub incidents_dropped: u64,
}
