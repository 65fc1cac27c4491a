//! Settings of a session.

use super::Applications;
use super::dictionary::Tables;
use std::sync::Arc;
use touchline_wire::fix::{Options, Precision};

/// Which side of a session this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Connects, and sends its Logon first.
    Initiator,
    /// Is connected to, and answers.
    Acceptor,
}

/// What a received message is held against before it is believed.
#[derive(Clone, Debug, Default)]
pub enum Checks {
    /// Nothing: fields are what they say.
    #[default]
    Nothing,
    /// FIX 4.4, which is compiled in.
    Standard,
    /// A dictionary that was read.
    Venue(Arc<Tables>),
}

/// One session: who talks to whom, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which side this is.
    pub role: Role,
    /// The version, `FIX.4.4` or `FIX.4.2`.
    pub begin_string: String,
    /// Our CompID.
    pub sender: String,
    /// The counterparty's CompID.
    pub target: String,
    /// Our sub id (50), written into each message.
    pub sender_sub: Option<String>,
    /// The counterparty's sub id (57), written into each message.
    pub target_sub: Option<String>,
    /// HeartBtInt, seconds; 0 for none. An acceptor uses the initiator's value, and this one if there is none.
    pub heartbeat_s: u32,
    /// Both numbers begin at 1 with each Logon. An initiator says so with ResetSeqNumFlag (141).
    pub reset_on_logon: bool,
    /// How far a SendingTime (52) may be from our clock, seconds; 0: it is not looked at.
    pub sending_time_s: u32,
    /// Digits of the second in what we write.
    pub precision: Precision,
    /// Whether messages may be sent while there is no connection: they are stored, and sent when the counterparty
    /// requests the gap. Waiting orders may be too old then.
    pub queue_while_down: bool,
    /// An acceptor shows each Logon as [`super::Event::Logon`] and waits for
    /// [`super::Session::accept_logon`] or [`super::Session::reject_logon`]. Else the CompIDs suffice.
    pub ask: bool,
    /// What a received message is held against; what does not fit is answered with a Reject.
    pub checks: Checks,
    /// What may differ from it.
    pub check_options: Options,
    /// The applications of the session. Without any, the owner of the session routes messages itself, and all
    /// requested messages are resent.
    pub applications: Applications,
    /// Sizes and times.
    pub limits: Limits,
}

/// Sizes and times that a session never exceeds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one message.
    pub message_bytes_max: usize,
    /// Bytes of the first message, before anything is known of the other side.
    pub logon_bytes_max: usize,
    /// Bytes that wait for the connection to take them; at least two messages.
    pub output_bytes: usize,
    /// Bytes of messages that are kept behind a gap.
    pub out_of_order_bytes: usize,
    /// Number of messages that are kept behind a gap.
    pub out_of_order_messages: usize,
    /// The Logon, or its answer, must have come by then.
    pub logon_wait_ns: u64,
    /// The answer to our Logout must have come by then.
    pub logout_wait_ns: u64,
    /// A ResendRequest that brought nothing is repeated after this time, twice; then the session ends.
    pub resend_wait_ns: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            message_bytes_max: 64 * 1024,
            logon_bytes_max: 4 * 1024,
            output_bytes: 256 * 1024,
            out_of_order_bytes: 256 * 1024,
            out_of_order_messages: 1_024,
            logon_wait_ns: 10_000_000_000,
            logout_wait_ns: 2_000_000_000,
            resend_wait_ns: 30_000_000_000,
        }
    }
}

impl Settings {
    /// A FIX 4.4 session with everything else at its default.
    pub fn new(role: Role, sender: &str, target: &str) -> Settings {
        Settings {
            role,
            begin_string: "FIX.4.4".to_owned(),
            sender: sender.to_owned(),
            target: target.to_owned(),
            sender_sub: None,
            target_sub: None,
            heartbeat_s: 30,
            reset_on_logon: false,
            sending_time_s: 120,
            precision: Precision::Milliseconds,
            queue_while_down: false,
            ask: false,
            checks: Checks::Nothing,
            check_options: Options::default(),
            applications: Applications::default(),
            limits: Limits::default(),
        }
    }
}
