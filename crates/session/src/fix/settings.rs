//! Settings of a session.

use super::Applications;
use super::dictionary::Tables;
use std::sync::Arc;
use touchline_wire::fix::{Options, Precision};

/// Side of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Connects and sends its Logon first.
    Initiator,
    /// Accepts connections and answers.
    Acceptor,
}

/// Validation of received messages.
#[derive(Clone, Debug, Default)]
pub enum Checks {
    /// None: fields are accepted as they are.
    #[default]
    Nothing,
    /// FIX 4.4, which is compiled in.
    Standard,
    /// A dictionary read at run time.
    Venue(Arc<Tables>),
}

/// Settings of one session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Our side.
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
    /// HeartBtInt, seconds; 0 for none. An acceptor uses the initiator's value, and this one if the Logon has none.
    pub heartbeat_s: u32,
    /// Both numbers restart at 1 with each Logon. An initiator sends ResetSeqNumFlag (141).
    pub reset_on_logon: bool,
    /// Maximum difference of a SendingTime (52) from our clock, seconds; 0 disables the check.
    pub sending_time_s: u32,
    /// Digits of the second in written times.
    pub precision: Precision,
    /// Whether messages may be sent while there is no connection: they are stored, and sent when the counterparty
    /// requests the gap. Waiting orders may be too old then.
    pub queue_while_down: bool,
    /// An acceptor returns each Logon as [`super::Event::Logon`] and waits for [`super::Session::accept_logon`] or
    /// [`super::Session::reject_logon`]. If `false`, matching CompIDs suffice.
    pub ask: bool,
    /// Validation of received messages; an invalid one is answered with a Reject.
    pub checks: Checks,
    /// Tolerances of the validation.
    pub check_options: Options,
    /// Applications of the session. Without any, the owner routes messages itself, and all requested messages are
    /// resent.
    pub applications: Applications,
    /// Sizes and times.
    pub limits: Limits,
}

/// Limits of sizes and times.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum size of a message, bytes.
    pub message_bytes_max: usize,
    /// Maximum size of the first message, before the other side is identified, bytes.
    pub logon_bytes_max: usize,
    /// Size of the output buffer, bytes; at least two messages.
    pub output_bytes: usize,
    /// Size of the out-of-order queue, bytes.
    pub out_of_order_bytes: usize,
    /// Maximum number of messages in the out-of-order queue.
    pub out_of_order_messages: usize,
    /// Maximum wait for the Logon or its answer.
    pub logon_wait_ns: u64,
    /// Maximum wait for the answer to our Logout.
    pub logout_wait_ns: u64,
    /// A TestRequest is sent after this time without a message, and after 1.2 heartbeat intervals in any case; `u64::MAX`: only then.
    pub test_request_ns: u64,
    /// A ResendRequest without progress is repeated after this time, twice; then the session ends.
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
            test_request_ns: u64::MAX,
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
