//! Terms of a Logon, and progress of both sides' Logons.

use super::parsed_header::{ParsedHeader, field};
use super::{Role, Settings, checks};
use touchline_wire::fix::{Message, tag, unsigned};

/// Terms of a Logon.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// MsgSeqNum of the Logon, at least 1.
    pub number: u64,
    /// The interval of heartbeats, seconds.
    pub heartbeat_s: u32,
    /// ResetSeqNumFlag (141).
    pub is_reset: bool,
    /// Text of the Logout, if the terms cannot be accepted.
    pub refusal: Option<&'static str>,
}

/// One day: longer heartbeat intervals are refused.
const HEARTBEAT_S_MAX: u64 = 86_400;

/// Text of a Logout. FIX 4.4 volume 2, ResetSeqNumFlag: the Logon that resets the numbers has number 1.
pub const RESET_WITH_ANOTHER_NUMBER: &str =
    "ResetSeqNumFlag (141) with another MsgSeqNum (34) than 1";

/// HeartBtInt (108) of a Logon, seconds; `None` if the field is absent.
///
/// # Errors
/// The field is not a number from 0 to 86,400.
pub fn heartbeat_s(message: &Message<'_>) -> Result<Option<u32>, &'static str> {
    let Some(text) = field(message, tag::HEART_BT_INT) else {
        return Ok(None);
    };
    match unsigned(text) {
        Ok(seconds @ ..=HEARTBEAT_S_MAX) => Ok(Some(seconds as u32)),
        _ => Err("HeartBtInt (108) must be a number of seconds from 0 to 86400"),
    }
}

/// Whether the first message of a connection is of this session, by its version, time and names.
pub fn is_of_session(
    message: &Message<'_>,
    parsed: &ParsedHeader<'_>,
    settings: &Settings,
    wall_ns: u64,
) -> bool {
    message.begin_string() == settings.begin_string.as_bytes()
        && checks::header(parsed).is_none()
        && checks::time_or_name(settings, wall_ns, &parsed.header).is_none()
}

impl Terms {
    /// Terms of a Logon, if it belongs to this session.
    pub fn read(
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        settings: &Settings,
        wall_ns: u64,
    ) -> Option<Terms> {
        let is_good = is_of_session(message, parsed, settings, wall_ns);
        let number = parsed.header.msg_seq_num.filter(|number| *number > 0);
        let number = number.filter(|_| is_good)?;
        let is_reset = field(message, tag::RESET_SEQ_NUM_FLAG) == Some(b"Y");
        let heartbeat_s = heartbeat_s(message);
        let method = field(message, tag::ENCRYPT_METHOD);
        let is_encrypted = method
            .is_some_and(|method| unsigned(method) != Ok(0))
            .then_some("EncryptMethod (98) must be 0: encryption of FIX messages is not supported");
        // mutant: fix session: a reset by a Logon with another number is accepted
        let wrong_number = (is_reset && number != 1).then_some(RESET_WITH_ANOTHER_NUMBER);
        let refusal = heartbeat_s.err().or(is_encrypted).or(wrong_number);
        // A wrong value of a field that was read here is answered, even if the dictionary finds a fault, too.
        let is_readable = refusal.is_some() || checks::dictionary(settings, message).is_none();
        is_readable.then_some(Terms {
            number,
            heartbeat_s: heartbeat_s.ok().flatten().unwrap_or(settings.heartbeat_s),
            is_reset,
            refusal,
        })
    }
}

/// Agreed interval: the initiator's, unless the acceptor's Logon has a shorter one.
pub fn agreed_s(role: Role, ours_s: u32, theirs_s: u32) -> u32 {
    match role {
        Role::Initiator if theirs_s > 0 && ours_s > 0 => ours_s.min(theirs_s),
        Role::Initiator => ours_s,
        Role::Acceptor => theirs_s,
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
    /// Our last Logon of this connection had ResetSeqNumFlag.
    has_reset: bool,
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
        self.has_reset = true;
    }

    /// Records that our Logon answers a reset of the counterparty.
    pub fn answered_reset(&mut self) {
        self.has_reset = true;
    }

    /// Whether our last Logon had ResetSeqNumFlag.
    pub fn has_reset(&self) -> bool {
        self.has_reset
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
            refusal: None,
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
            assert_eq!(super::agreed_s(role, ours_s, theirs_s), agreed_s);
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
