//! Sequence numbers that do not fit: whose, so that an owner can name the cure.

use super::DisconnectReason;
use touchline_wire::fix::{Message, tag};

/// Begin of the Text (58) with which a session of ours, as most, logs out a counterparty whose number is too low.
pub const TOO_LOW: &str = "MsgSeqNum too low";

/// Sequence numbers that do not fit: each new connection ends in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceFault {
    /// The counterparty's number is lower than ours expects: it began its numbers again, or lost some.
    TheirsTooLow,
    /// The counterparty says that our number is lower than it expects.
    OursTooLow,
    /// The counterparty's Logout names MsgSeqNum (34) for another reason.
    Unclear,
}

impl SequenceFault {
    /// The fault for which a session ended itself.
    pub fn of_reason(reason: DisconnectReason) -> Option<SequenceFault> {
        (reason == DisconnectReason::SequenceTooLow).then_some(SequenceFault::TheirsTooLow)
    }

    /// The fault that a counterparty's Logout names: FIX 4.4 has no field for it but Text (58).
    pub fn of_logout(logout: &Message<'_>) -> Option<SequenceFault> {
        let mut fields = logout.fields().map_while(Result::ok);
        let text = fields.find(|field| field.tag == tag::TEXT)?;
        let text = String::from_utf8_lossy(text.value);
        match text.contains("MsgSeqNum") {
            _ if [TOO_LOW, "MsgSeqNum is too low"]
                .iter()
                .any(|words| text.contains(words)) =>
            {
                Some(SequenceFault::OursTooLow)
            }
            true => Some(SequenceFault::Unclear),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_wire::fix::{Encoder, Frame, frame};

    /// A Logout names our numbers, in the words of either kind of session: the session alone judges those of the counterparty.
    #[test]
    fn a_logout_names_our_numbers() {
        let of = |text: &[u8]| {
            let mut room = [0; 256];
            let mut encoder = Encoder::new(&mut room, b"FIX.4.4", b"5");
            encoder.bytes(tag::TEXT, text);
            let logout = encoder.finish().expect("room");
            match frame(logout, usize::MAX) {
                Ok(Frame::Whole(logout)) => SequenceFault::of_logout(&logout),
                _ => panic!("a message"),
            }
        };
        let ours = Some(SequenceFault::OursTooLow);
        assert_eq!(of(b"MsgSeqNum too low, expecting 5 but received 2"), ours);
        assert_eq!(of(b"logon: MsgSeqNum is too low"), ours);
        let unclear = Some(SequenceFault::Unclear);
        assert_eq!(of(b"MsgSeqNum (34) is missing or no number"), unclear);
        assert_eq!(of(b"end of day"), None);
    }

    /// A session that found the counterparty's number too low has that fault, and no other reason has one.
    #[test]
    fn a_session_finds_the_numbers_of_the_counterparty() {
        let theirs = Some(SequenceFault::TheirsTooLow);
        let of = SequenceFault::of_reason;
        assert_eq!(of(DisconnectReason::SequenceTooLow), theirs);
        assert_eq!(of(DisconnectReason::NoSequence), None);
        assert_eq!(of(DisconnectReason::LoggedOut), None);
    }
}
