//! The state of a session, without the bytes that come in.

use super::logon::Terms;
use super::output::Output;
use super::resend::Resend;
use super::{Counters, DisconnectReason, Settings, Store};
use touchline_types::ReceiveTime;
use touchline_wire::fix::LastSecond;

/// Everything that judging a message may change.
pub struct Core<S> {
    pub settings: Settings,
    pub store: S,
    pub output: Output,
    /// Where a message is written before it is stored.
    pub scratch: Box<[u8]>,
    pub counters: Counters,
    pub state: State,
    pub disconnect_reason: Option<DisconnectReason>,
    pub clock: Clock,
    /// Of the counterparty's times.
    pub last_second: LastSecond,
    /// Seconds; 0: none.
    pub heartbeat_s: u32,
    /// When the last message came, and the last one went, by the steady clock.
    pub received_ns: u64,
    pub sent_ns: u64,
    /// A TestRequest was sent, and nothing came since.
    pub test_request_sent: bool,
    /// When the present state ends.
    pub until_ns: u64,
    /// What we asked for again.
    pub awaited_resend: Option<AwaitedResend>,
    /// What the counterparty asked for again.
    pub resend: Option<Resend>,
    /// The first number that was never sent; those from here on are in the store alone.
    pub unsent: u64,
    /// We sent a Logon with ResetSeqNumFlag, and it was not answered yet.
    pub is_resetting: bool,
    /// The message of this number was delivered to the application, which has not come back yet.
    pub delivered: Option<u64>,
    /// Number of the counterparty's Logon.
    pub logon_number: u64,
    /// What the Logon says that the application is asked about.
    pub asking: Option<Terms>,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Down,
    /// An acceptor waits for the Logon.
    Awaiting,
    /// The application is asked whether it knows the counterparty.
    Asking,
    /// An initiator waits for the answer to its Logon.
    LoggingOn,
    /// Both are logged on.
    Up,
    /// We sent a Logout and wait for the answer.
    LoggingOut,
    /// It is to be closed.
    Over,
}

/// A resend that was requested and has not come yet.
#[derive(Clone, Copy, Debug)]
pub struct AwaitedResend {
    /// The last number that is known to be missing.
    pub last: u64,
    pub at_ns: u64,
    pub times: u32,
    /// The number that was expected then.
    pub expected: u64,
}

/// The time of day that a connection goes by.
///
/// It follows the host's clock as long as that moves as the steady one does. When the host's clock is set,
/// it goes on as before: the counterparty's has not been set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// Both clocks at one moment.
    anchor: ReceiveTime,
    now: ReceiveTime,
    is_off: bool,
}

/// The most by which the host's clock is followed at once.
const STEP_NS: u64 = 10_000_000_000;

impl Clock {
    /// A connection begins: the host's clock is believed.
    pub fn begin(&mut self, time: ReceiveTime) {
        *self = Clock {
            anchor: time,
            now: time,
            is_off: false,
        };
    }

    /// Time has passed. `true`: the host's clock was set since the last look.
    pub fn tick(&mut self, time: ReceiveTime) -> bool {
        let now_ns = time.mono_ns.max(self.now.mono_ns);
        let passed = now_ns.saturating_sub(self.anchor.mono_ns);
        let steady = self.anchor.wall_ns.saturating_add(passed);
        let is_off = time.wall_ns.abs_diff(steady) > STEP_NS;
        // mutant: fix session: the host's clock is followed wherever it goes
        let wall = if is_off { steady } else { time.wall_ns };
        let was_set = is_off && !self.is_off;
        self.is_off = is_off;
        self.now = ReceiveTime {
            wall_ns: wall,
            mono_ns: now_ns,
        };
        self.anchor = self.now;
        was_set
    }

    /// Nanoseconds since the Unix epoch.
    pub fn wall_ns(&self) -> u64 {
        self.now.wall_ns
    }

    /// The steady clock.
    pub fn now_ns(&self) -> u64 {
        self.now.mono_ns
    }
}

impl<S: Store> Core<S> {
    pub fn new(settings: Settings, store: S) -> Core<S> {
        let limits = settings.limits;
        Core {
            output: Output::new(limits.output_bytes.max(2 * limits.message_bytes_max)),
            scratch: vec![0; limits.message_bytes_max].into(),
            heartbeat_s: settings.heartbeat_s,
            unsent: store.next_out(),
            settings,
            store,
            counters: Counters::default(),
            state: State::Down,
            disconnect_reason: None,
            clock: Clock::default(),
            last_second: LastSecond::default(),
            received_ns: 0,
            sent_ns: 0,
            test_request_sent: false,
            until_ns: 0,
            awaited_resend: None,
            resend: None,
            is_resetting: false,
            delivered: None,
            logon_number: 0,
            asking: None,
        }
    }

    pub fn tick(&mut self, time: ReceiveTime) {
        self.counters.clock_steps += u64::from(self.clock.tick(time));
    }

    /// A connection stands: nothing of an earlier one is left.
    pub fn begin(&mut self, time: ReceiveTime) {
        self.clock.begin(time);
        self.output.clear();
        self.disconnect_reason = None;
        self.heartbeat_s = self.settings.heartbeat_s;
        (self.received_ns, self.sent_ns) = (time.mono_ns, time.mono_ns);
        self.test_request_sent = false;
        self.is_resetting = false;
        (self.awaited_resend, self.resend, self.asking) = (None, None, None);
        self.unsent = self.store.next_out();
        self.until_ns = time.mono_ns + self.settings.limits.logon_wait_ns;
    }

    /// The connection is to be closed, once what waits to be sent is gone.
    pub fn close(&mut self, why: DisconnectReason) {
        if self.state != State::Over {
            self.counters.disconnects += 1;
            self.state = State::Over;
            self.disconnect_reason = Some(why);
        }
    }

    pub fn is_logged_on(&self) -> bool {
        matches!(self.state, State::Up | State::LoggingOut)
    }

    /// The next message that we expect has this number.
    pub fn expect(&mut self, number: u64) {
        if let Err(error) = self.store.expect(number) {
            self.close(DisconnectReason::Store(error));
        }
        if self
            .awaited_resend
            .is_some_and(|awaited_resend| awaited_resend.last < number)
        {
            self.awaited_resend = None;
        }
    }

    /// The application has come back: what it was shown is processed.
    pub fn acknowledge(&mut self) {
        if let Some(number) = self.delivered.take()
            && number == self.store.next_in()
        {
            self.expect(number + 1);
        }
    }

    /// Both numbers begin at 1.
    pub fn reset(&mut self) {
        match self.store.reset() {
            Ok(()) => {
                self.counters.resets += 1;
                self.unsent = 1;
                (self.awaited_resend, self.resend, self.delivered) = (None, None, None);
            }
            Err(error) => self.close(DisconnectReason::Store(error)),
        }
    }
}
