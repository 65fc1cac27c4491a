//! Names of trading statuses.

use crate::event::Status;
use std::fmt;

/// Code for "not stated".
const UNSTATED: u8 = u8::MAX;

/// Name of a trading status: SecurityTradingStatus (FIX tag 326), with CME's additional codes; `None` if not stated or
/// unknown.
pub(crate) fn status_name(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "opening delayed",
        2 => "trading halt",
        3 => "resume",
        4 => "closed",
        15 => "new price indication",
        17 => "ready to trade",
        18 => "not available for trading",
        20 => "unknown or invalid",
        21 => "pre-open",
        22 => "opening rotation",
        24 => "pre-cross",
        25 => "cross",
        26 => "post-close",
        103 => "no change",
        201 => "private workup",
        202 => "public workup",
        _ => return None,
    })
}

impl Status {
    /// Name of the status; `None` if not stated or unknown.
    pub fn status_name(&self) -> Option<&'static str> {
        status_name(self.status)
    }

    /// Name of the reason, in CME's numbering of HaltReason (FIX tag 327); `None` if not stated or unknown.
    pub fn reason_name(&self) -> Option<&'static str> {
        Some(match self.reason {
            0 => "group schedule",
            1 => "surveillance intervention",
            2 => "market event",
            3 => "instrument activation",
            4 => "instrument expiration",
            5 => "unknown",
            6 => "recovery in process",
            7 => "trade date roll",
            _ => return None,
        })
    }

    /// Name of the event, in CME's numbering of SecurityTradingEvent (FIX tag 1174); `None` if not stated or unknown.
    pub fn event_name(&self) -> Option<&'static str> {
        Some(match self.event {
            0 => "no event",
            1 => "no cancel",
            4 => "reset statistics",
            5 => "implied matching on",
            6 => "implied matching off",
            7 => "end of workup",
            _ => return None,
        })
    }
}

/// `ready to trade, reason group schedule, event reset statistics`: absent parts are left out, and a code without a
/// name is printed as a number.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status_name(), self.status) {
            (Some(name), _) => f.write_str(name)?,
            (None, UNSTATED) => f.write_str("no status")?,
            (None, code) => write!(f, "status {code}")?,
        }
        let parts = [
            ("reason", self.reason_name(), self.reason),
            ("event", self.event_name(), self.event),
        ];
        for (what, name, code) in parts {
            match (name, code) {
                (_, UNSTATED) => {}
                (Some("no event"), _) => {}
                (Some(name), _) => write!(f, ", {what} {name}")?,
                (None, code) => write!(f, ", {what} {code}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Times;
    use touchline_types::Code;

    #[test]
    fn a_status_is_written_in_words_and_codes_without_a_name_as_they_are() {
        let text = |status, reason, event| {
            let status = Status {
                instrument: None,
                group: Code::EMPTY,
                status,
                reason,
                event,
                times: Times::default(),
                sequence: 1,
                end_of_batch: false,
            };
            status.to_string()
        };
        assert_eq!(text(17, 0, 0), "ready to trade, reason group schedule");
        assert_eq!(
            text(2, 99, 4),
            "trading halt, reason 99, event reset statistics"
        );
        assert_eq!(text(99, 255, 255), "status 99");
        assert_eq!(text(255, 255, 9), "no status, event 9");
    }
}
