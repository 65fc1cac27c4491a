//! Terms of a Logon, and progress of both sides' Logons.

use super::parsed_header::{ParsedHeader, field};
use super::{Role, Settings, checks};
use touchline_wire::fix::{Message, tag, unsigned};

/// Terms of a Logon.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Its number, at least 1.
    pub number: u64,
    /// The interval of heartbeats, seconds.
    pub heartbeat_s: u32,
    /// ResetSeqNumFlag (141).
    pub is_reset: bool,
}

/// One day: longer heartbeat intervals are refused.
const HEARTBEAT_S_MAX: u64 = 86_400;

impl Terms {
    /// Terms of a Logon, if it belongs to this session.
    pub fn read(
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        settings: &Settings,
        wall_ns: u64,
    ) -> Option<Terms> {
        let is_good = message.begin_string() == settings.begin_string.as_bytes()
            && checks::header(parsed).is_none()
            && checks::time_or_name(settings, wall_ns, parsed).is_none()
            && checks::dictionary(settings, message).is_none()
            && field(message, tag::ENCRYPT_METHOD).is_none_or(|method| method == b"0");
        let heartbeat_s = match field(message, tag::HEART_BT_INT) {
            None => u64::from(settings.heartbeat_s),
            Some(seconds) => unsigned(seconds).ok()?,
        };
        if !is_good || heartbeat_s > HEARTBEAT_S_MAX {
            return None;
        }
        Some(Terms {
            number: parsed.header.msg_seq_num.filter(|number| *number > 0)?,
            heartbeat_s: heartbeat_s as u32,
            is_reset: field(message, tag::RESET_SEQ_NUM_FLAG) == Some(b"Y"),
        })
    }

    /// Agreed interval: the initiator's, unless the answer to its Logon has a shorter one.
    pub fn agreed_s(&self, role: Role, ours_s: u32) -> u32 {
        match role {
            Role::Initiator if self.heartbeat_s > 0 && ours_s > 0 => ours_s.min(self.heartbeat_s),
            Role::Initiator => ours_s,
            Role::Acceptor => self.heartbeat_s,
        }
    }
}

/// Logons of a connection.
///
/// Invariant: the application decides about one Logon, before the session starts.
#[derive(Debug, Default)]
pub struct Logons {
    /// Terms of the Logon that the application decides about.
    asking: Option<Terms>,
    /// Number of the counterparty's Logon; 0: none received.
    number: u64,
    /// We sent a Logon with ResetSeqNumFlag that is not answered.
    is_resetting: bool,
}

impl Logons {
    /// Starts a connection.
    pub fn begin(&mut self) {
        *self = Logons::default();
    }

    /// Asks the application about a Logon.
    pub fn ask(&mut self, terms: Terms) {
        assert!(
            self.asking.is_none() && self.number == 0,
            "logon: the application is asked about one, before the session begins"
        );
        self.asking = Some(terms);
    }

    /// Terms of the Logon that the application decided about; once.
    pub fn answer(&mut self) -> Option<Terms> {
        self.asking.take()
    }

    /// Records the number of the counterparty's Logon.
    pub fn logged_on(&mut self, number: u64) {
        self.number = number;
    }

    /// Whether a number is that of the counterparty's Logon.
    pub fn is_of_logon(&self, number: u64) -> bool {
        self.number == number
    }

    /// Whether the counterparty's Logon or earlier messages are not processed yet while this number is expected.
    pub fn is_ahead_of(&self, next_in: u64) -> bool {
        self.number >= next_in
    }

    /// Records our request of a reset.
    pub fn reset(&mut self) {
        self.is_resetting = true;
    }

    /// Whether our reset is unanswered.
    pub fn is_resetting(&self) -> bool {
        self.is_resetting
    }

    /// Records a Logon that answers our reset, if one is open; returns whether it was.
    pub fn take_resetting(&mut self) -> bool {
        std::mem::take(&mut self.is_resetting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(heartbeat_s: u32) -> Terms {
        Terms {
            number: 1,
            heartbeat_s,
            is_reset: false,
        }
    }

    #[test]
    fn the_heartbeat_interval_is_at_most_that_of_the_initiator() {
        for (role, ours_s, theirs_s, agreed_s) in [
            (Role::Acceptor, 30, 7, 7),
            (Role::Acceptor, 30, 0, 0),
            (Role::Initiator, 30, 10, 10),
            (Role::Initiator, 30, 60, 30),
            (Role::Initiator, 30, 0, 30),
            (Role::Initiator, 0, 10, 0),
        ] {
            assert_eq!(terms(theirs_s).agreed_s(role, ours_s), agreed_s);
        }
    }

    #[test]
    fn a_reset_is_answered_once_and_ends_with_the_connection() {
        let mut logons = Logons::default();
        logons.reset();
        assert!(logons.take_resetting() && !logons.take_resetting());
        logons.reset();
        logons.begin();
        assert!(!logons.is_resetting());
    }

    #[test]
    #[should_panic(expected = "the application is asked about one")]
    fn asking_about_a_second_logon_panics() {
        let mut logons = Logons::default();
        logons.ask(terms(1));
        logons.ask(terms(2));
    }
}
