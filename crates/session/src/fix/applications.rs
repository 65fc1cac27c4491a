//! Applications of a session, selected by message type.

/// Maximum length of a MsgType (35), bytes.
const TYPE_BYTES_MAX: usize = 4;

/// Id of an application, set by the owner at registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplicationId(pub u8);

/// Resend policy: handling of an application's message when the counterparty requests it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResendPolicy {
    /// Resent, marked as a possible duplicate.
    #[default]
    SendAgain,
    /// Replaced by a gap fill: too old to be acted on.
    GapFill,
}

/// Application: its message types and resend policy.
#[derive(Clone, Copy, Debug)]
pub struct Application<'a> {
    /// Id in events.
    pub id: ApplicationId,
    /// Types of received messages.
    pub receives: &'a [&'a [u8]],
    /// Types of sent messages, to which `resend` applies.
    pub sends: &'a [&'a [u8]],
    /// Resend policy of the sent messages.
    pub resend: ResendPolicy,
}

/// Applications of one session.
///
/// Invariant: each type is received by at most one application, and sent by at most one.
#[derive(Clone, Debug, Default)]
pub struct Applications {
    receives: Vec<Received>,
    sends: Vec<(MsgType, ResendPolicy)>,
}

/// A type, padded with zeros.
type MsgType = [u8; TYPE_BYTES_MAX];

/// A message type received by an application.
#[derive(Clone, Copy, Debug)]
struct Received {
    msg_type: MsgType,
    id: ApplicationId,
    /// Whether the application checks the body itself.
    is_body_verified: bool,
}

impl Applications {
    /// Adds an application.
    ///
    /// # Panics
    /// A type has an application already, belongs to the session itself, or is longer than four bytes.
    #[must_use]
    pub fn with(mut self, application: &Application<'_>) -> Applications {
        for msg_type in application.receives {
            assert!(
                self.receiver(msg_type).is_none(),
                "applications: a message type comes to one application"
            );
            self.receives.push(Received {
                msg_type: own(msg_type),
                id: application.id,
                is_body_verified: false,
            });
        }
        for msg_type in application.sends {
            let padded = own(msg_type);
            assert!(
                self.sends.iter().all(|(other, _)| *other != padded),
                "applications: a message type is sent by one application"
            );
            self.sends.push((padded, application.resend));
        }
        self
    }

    /// Leaves the check of these bodies to their application, so that they are parsed once: it finds the same faults as
    /// the session, and reports by [`super::Session::body_is_read`] or [`super::Session::judge_body`].
    ///
    /// # Panics
    /// A type has no application.
    #[must_use]
    pub fn with_bodies_verified(mut self, types: &[&[u8]]) -> Applications {
        for msg_type in types {
            let padded = own(msg_type);
            let row = self.receives.iter_mut().find(|row| row.msg_type == padded);
            let row = row.expect("applications: a type with verified bodies is received");
            row.is_body_verified = true;
        }
        self
    }

    /// The application for messages of this type.
    #[inline]
    pub fn receiver(&self, msg_type: &[u8]) -> Option<ApplicationId> {
        self.row(msg_type).map(|row| row.id)
    }

    /// The application for messages of this type, if it checks their bodies.
    #[inline]
    pub fn verifier(&self, msg_type: &[u8]) -> Option<ApplicationId> {
        let row = self.row(msg_type).filter(|row| row.is_body_verified);
        row.map(|row| row.id)
    }

    #[inline]
    fn row(&self, msg_type: &[u8]) -> Option<&Received> {
        let padded = padded(msg_type)?;
        self.receives.iter().find(|row| row.msg_type == padded)
    }

    /// Whether a requested message of this type is resent. Messages of the session itself never are.
    pub fn is_sent_again(&self, msg_type: &[u8]) -> bool {
        let is_of = |(other, _): &&(MsgType, _)| padded(msg_type) == Some(*other);
        let policy = self.sends.iter().find(is_of);
        let policy = policy.map_or(ResendPolicy::default(), |(_, policy)| *policy);
        !is_admin(msg_type) && policy == ResendPolicy::SendAgain
    }
}

#[inline]
fn padded(msg_type: &[u8]) -> Option<MsgType> {
    match *msg_type {
        [one] => Some([one, 0, 0, 0]),
        [one, two] => Some([one, two, 0, 0]),
        _ => long(msg_type),
    }
}

#[cold]
fn long(msg_type: &[u8]) -> Option<MsgType> {
    let mut padded = [0; TYPE_BYTES_MAX];
    padded.get_mut(..msg_type.len())?.copy_from_slice(msg_type);
    Some(padded)
}

/// An application message type, padded.
fn own(msg_type: &[u8]) -> MsgType {
    assert!(
        !is_admin(msg_type) && !msg_type.is_empty(),
        "applications: messages of the session are its own"
    );
    padded(msg_type).expect("applications: a message type has at most four bytes")
}

/// Whether messages of this type belong to the session, and are never resent.
pub fn is_admin(msg_type: &[u8]) -> bool {
    matches!(msg_type, b"0" | b"1" | b"2" | b"3" | b"4" | b"5" | b"A")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: Application<'static> = Application {
        id: ApplicationId(1),
        receives: &[b"D", b"F"],
        sends: &[b"8"],
        resend: ResendPolicy::GapFill,
    };
    const QUOTES: Application<'static> = Application {
        id: ApplicationId(2),
        receives: &[b"i", b"AI"],
        sends: &[b"R"],
        resend: ResendPolicy::SendAgain,
    };

    #[test]
    fn a_message_is_delivered_to_the_application_of_its_type() {
        let both = Applications::default().with(&ORDERS).with(&QUOTES);
        for (msg_type, id) in [
            (&b"D"[..], Some(1)),
            (b"F", Some(1)),
            (b"i", Some(2)),
            (b"AI", Some(2)),
            (b"A", None),
            (b"8", None),
            (b"AIAIA", None),
            (b"", None),
        ] {
            assert_eq!(both.receiver(msg_type), id.map(ApplicationId));
        }
    }

    #[test]
    fn the_resend_policy_is_that_of_the_application() {
        let both = Applications::default().with(&ORDERS).with(&QUOTES);
        assert!(!both.is_sent_again(b"8"));
        assert!(both.is_sent_again(b"R") && both.is_sent_again(b"V"));
        assert!(!both.is_sent_again(b"0") && !both.is_sent_again(b"A"));
    }

    #[test]
    #[should_panic(expected = "comes to one application")]
    fn registering_a_message_type_twice_panics() {
        let _ = Applications::default().with(&ORDERS).with(&ORDERS);
    }

    #[test]
    #[should_panic(expected = "messages of the session are its own")]
    fn registering_a_session_message_panics() {
        let heartbeats = Application {
            receives: &[b"0"],
            ..QUOTES
        };
        let _ = Applications::default().with(&heartbeats);
    }
}
