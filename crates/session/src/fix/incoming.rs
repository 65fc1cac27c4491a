//! Handling of received messages.

use super::applications::is_admin;
use super::checks::{self, faulty, required};
use super::gap::{Due, GapRequest};
use super::link::Link;
use super::logon::{self, Logons, RESET_WITH_ANOTHER_NUMBER, Terms};
use super::out_of_order::OutOfOrderQueue;
use super::outcome::Outcome;
use super::parsed_header::{Fault, ParsedHeader, field};
use super::phase::State;
use super::sequence_fault::TOO_LOW;
use super::{Checks, DisconnectReason, Role, Settings, Store};
use std::ops::Range;
use touchline_wire::fix::{
    Encoder, Frame, Header, LastSecond, Message, SessionRejectReason as Reason, frame, tag,
    unsigned,
};

/// Maximum sequence number.
const NUMBER_MAX: u64 = 1 << 53;

/// Receiving side of a session: gap, out-of-order queue, state of the Logons.
pub struct Incoming {
    gap: GapRequest,
    logons: Logons,
    out_of_order: OutOfOrderQueue,
    /// The first and the last number that were missing, or waited behind a gap, when the numbers restarted.
    lost: Option<(u64, u64)>,
}

impl Incoming {
    /// Initial state.
    pub fn new(settings: &Settings) -> Incoming {
        let limits = settings.limits;
        Incoming {
            gap: GapRequest::default(),
            logons: Logons::default(),
            out_of_order: OutOfOrderQueue::new(
                limits.out_of_order_messages,
                limits.out_of_order_bytes,
            ),
            lost: None,
        }
    }

    /// Starts a connection. An initiator sends its Logon, with the fields of `extra`.
    pub fn begin<S: Store>(&mut self, link: &mut Link<S>, extra: impl FnOnce(&mut Encoder<'_>)) {
        self.out_of_order.clear();
        self.gap.clear();
        self.logons.begin();
        if link.settings().role == Role::Acceptor {
            return;
        }
        if link.settings().reset_on_logon {
            self.restart(link);
            self.logons.reset();
        }
        link.logon(link.heartbeat_s(), self.logons.is_resetting(), extra);
    }

    /// Both numbers restart at 1: earlier gaps are closed, and missing messages are lost.
    fn restart<S: Store>(&mut self, link: &mut Link<S>) {
        let expected = link.sequencer().next_in();
        let last = self.gap.last(expected).max(self.out_of_order.last());
        self.lost = last.map(|last| (expected, last));
        link.reset();
        self.gap.clear();
        self.out_of_order.clear();
    }

    /// The next message of the out-of-order queue, if it is in sequence now.
    #[inline]
    pub fn due<S: Store>(&mut self, link: &Link<S>) -> Option<Range<usize>> {
        match link.phase().is_logged_on() && !self.logons.is_resetting() {
            true => self.out_of_order.take(link.sequencer().next_in()),
            false => None,
        }
    }

    /// Handles a message of the out-of-order queue.
    #[cold]
    pub fn judge_kept<S: Store>(
        &self,
        link: &mut Link<S>,
        range: Range<usize>,
        last_second: &mut LastSecond,
    ) -> Outcome {
        let message = self.kept(range);
        let parsed = ParsedHeader::read(&message, last_second);
        self.process(link, &message, &parsed)
    }

    /// A message of the queue, valid until another one is stored.
    #[cold]
    pub fn kept(&self, range: Range<usize>) -> Message<'_> {
        match frame(self.out_of_order.bytes(range), usize::MAX) {
            Ok(Frame::Whole(message)) => message,
            _ => unreachable!("out-of-order queue: what it keeps are whole messages"),
        }
    }

    /// Handles a complete message.
    #[inline]
    pub fn judge<S: Store>(
        &mut self,
        link: &mut Link<S>,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
    ) -> Outcome {
        link.count().messages_received += 1;
        match link.phase().state() {
            State::Awaiting | State::LoggingOn => self.first(link, message, parsed),
            State::Up | State::LoggingOut => self.later(link, message, parsed),
            State::Down | State::Asking | State::Over(_) => Outcome::Nothing,
        }
    }

    /// Whether a message is the next one in sequence of a logged-on session with a valid header. An application may then
    /// read its body first, because no rule of the session depends on the body.
    #[inline]
    pub fn is_next<S: Store>(
        &self,
        link: &Link<S>,
        message: &Message<'_>,
        header: &Header<'_>,
    ) -> bool {
        let settings = link.settings();
        // mutant: fix session: a message that is not the next one is delivered
        header.msg_seq_num == Some(link.sequencer().next_in())
            && link.phase().state() == State::Up
            && matches!(settings.checks, Checks::Nothing)
            && message.begin_string() == settings.begin_string.as_bytes()
            && checks::missing(header).is_none()
            && checks::time_or_name(settings, link.clock().wall_ns(), header).is_none()
            && !self.logons.is_resetting()
    }

    /// Handles the first message of a connection. No message is sent before the peer is identified.
    fn first<S: Store>(
        &mut self,
        link: &mut Link<S>,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
    ) -> Outcome {
        let (kind, state) = (message.msg_type(), link.phase().state());
        let wall_ns = link.clock().wall_ns();
        if state == State::LoggingOn && matches!(kind, b"5" | b"3") {
            let expected = link.sequencer().next_in();
            let is_next = parsed.header.msg_seq_num == Some(expected)
                && logon::is_of_session(message, parsed, link.settings(), wall_ns);
            // Else the next Logon would show it as a message of the session before that is missing.
            // mutant: fix session: a Logout that refuses a Logon leaves a gap
            if is_next && !self.logons.is_resetting() {
                link.expect(expected + 1);
            }
            link.close(DisconnectReason::LogonRejected);
            return Outcome::LoggedOut;
        }
        if kind != b"A" {
            link.close(DisconnectReason::NotLogon);
            return Outcome::Nothing;
        }
        let Some(terms) = Terms::read(message, parsed, link.settings(), wall_ns) else {
            link.close(DisconnectReason::BadLogon);
            return Outcome::Nothing;
        };
        if link.settings().ask && state == State::Awaiting {
            link.enter(State::Asking, link.settings().limits.logon_wait_ns);
            self.logons.ask(terms);
            return Outcome::Logon;
        }
        if !self.begin_session(link, terms, |_| {}) {
            return Outcome::Nothing;
        }
        if terms.number > link.sequencer().next_in() {
            self.out_of_order.keep(terms.number, message.bytes());
        }
        Outcome::LoggedOn(link.take_restarted())
    }

    /// Accepts the counterparty's Logon. `false`: its number is invalid.
    pub fn accept<S: Store>(
        &mut self,
        link: &mut Link<S>,
        extra: impl FnOnce(&mut Encoder<'_>),
    ) -> bool {
        let terms = self.logons.answer();
        terms.is_some_and(|terms| self.begin_session(link, terms, extra))
    }

    /// Completes the logon, unless the counterparty's number is invalid.
    fn begin_session<S: Store>(
        &mut self,
        link: &mut Link<S>,
        terms: Terms,
        extra: impl FnOnce(&mut Encoder<'_>),
    ) -> bool {
        let role = link.settings().role;
        let is_acceptor = role == Role::Acceptor;
        // Before a number begins again, and only to an identified counterparty.
        if let Some(why) = terms.refusal {
            refuse_logon(link, why);
            return false;
        }
        // The side that requested the reset has restarted its numbers already.
        let is_reset = !self.logons.take_resetting() && terms.is_reset;
        if is_reset || (is_acceptor && link.settings().reset_on_logon) {
            self.restart(link);
        }
        link.agree(logon::agreed_s(role, link.heartbeat_s(), terms.heartbeat_s));
        let expected = link.sequencer().next_in();
        if terms.number < expected {
            end_sequence_too_low(link, terms.number);
            return false;
        }
        if !link.phase().is_over() {
            link.enter(State::Up, 0);
        }
        if is_acceptor || is_reset {
            link.logon(terms.heartbeat_s, terms.is_reset, extra);
            if terms.is_reset {
                self.logons.answered_reset();
            }
        }
        self.logons.logged_on(terms.number);
        link.received();
        link.count().logons += 1;
        if terms.number > expected {
            self.request(link, terms.number - 1, 1);
        } else {
            link.expect(expected + 1);
        }
        link.phase().state() == State::Up
    }

    /// Requests everything from the expected number on; `last` is known to be missing.
    fn request<S: Store>(&mut self, link: &mut Link<S>, last: u64, times: u32) {
        let expected = link.sequencer().next_in();
        self.gap
            .requested(expected, last, times, link.clock().now_ns());
        link.resend_request();
    }

    #[inline]
    fn later<S: Store>(
        &mut self,
        link: &mut Link<S>,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
    ) -> Outcome {
        let number = parsed.header.msg_seq_num;
        let Some(number) = number.filter(|number| *number < NUMBER_MAX) else {
            link.send_logout(b"MsgSeqNum (34) is missing or no number");
            link.close(DisconnectReason::NoSequence);
            return Outcome::Nothing;
        };
        let is_logout = message.msg_type() == b"5";
        if message.begin_string() != link.settings().begin_string.as_bytes() && !is_logout {
            link.log_out(b"another BeginString (8) than that of the Logon");
            if number == link.sequencer().next_in() {
                link.expect(number + 1);
            }
            return Outcome::Invalid;
        }
        if let Some(fault) = checks::header(parsed) {
            return reject(link, message, parsed, fault);
        }
        let wall_ns = link.clock().wall_ns();
        if let Some(fault) = checks::time_or_name(link.settings(), wall_ns, &parsed.header) {
            link.reject(message, parsed, fault);
            link.log_out(b"");
            return Outcome::Invalid;
        }
        link.received();
        self.in_order(link, message, parsed, number)
    }

    /// Compares the number of a message with the expected one. Logout, ResendRequest and both kinds of reset are
    /// handled under any number.
    #[inline]
    fn in_order<S: Store>(
        &mut self,
        link: &mut Link<S>,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        number: u64,
    ) -> Outcome {
        let expected = link.sequencer().next_in();
        // Read only in messages that may have the field: a search visits all fields.
        let says = |tag| field(message, tag) == Some(b"Y");
        let is_reset = message.msg_type() == b"A" && says(tag::RESET_SEQ_NUM_FLAG);
        let goes_anyway = match message.msg_type() {
            b"5" | b"2" => true,
            b"A" => is_reset,
            b"4" => !says(tag::GAP_FILL_FLAG),
            _ => false,
        };
        if goes_anyway && let Some(fault) = checks::dictionary(link.settings(), message) {
            return reject(link, message, parsed, fault);
        }
        match message.msg_type() {
            b"5" => return logout(link, number),
            b"A" if is_reset => return self.reset_by_logon(link, message, number),
            // While our reset request is unanswered, only its answer and a Logout are handled.
            _ if self.logons.is_resetting() => return Outcome::Nothing,
            b"2" => return self.resend_request(link, message, parsed, number),
            b"4" if goes_anyway => {
                return sequence_reset(link, message, parsed, (expected, expected));
            }
            _ => {}
        }
        if number > expected {
            return self.sequence_too_high(link, message, number);
        }
        // mutant: fix session: a resent message that was processed is executed again
        if number < expected {
            return sequence_too_low(link, message, parsed, number);
        }
        self.process(link, message, parsed)
    }

    fn sequence_too_high<S: Store>(
        &mut self,
        link: &mut Link<S>,
        message: &Message<'_>,
        number: u64,
    ) -> Outcome {
        let expected = link.sequencer().next_in();
        link.count().messages_out_of_order += 1;
        if !self.out_of_order.keep(number, message.bytes()) {
            link.count().messages_out_of_order_dropped += 1;
        }
        // The requested messages are too long again. Messages that are sent for the first time have higher numbers.
        // mutant: fix session: a message that is always too long ends each connection
        if self.gap.is_open(expected) && number == expected + link.too_long_before() {
            link.expect(number);
            return Outcome::Skipped(expected, number - 1);
        }
        if !self.gap.is_open(expected) {
            self.request(link, number - 1, 1);
        }
        Outcome::Gap(expected, number - 1)
    }

    /// Serves a resend request with any number: otherwise two sides that both have a gap would wait for each other.
    fn resend_request<S: Store>(
        &mut self,
        link: &mut Link<S>,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
        number: u64,
    ) -> Outcome {
        let expected = link.sequencer().next_in();
        // Only sent messages are resent. Unsent messages of the store follow as new ones.
        let last_sent = link.sequencer().unsent() - 1;
        let number_of = |tag| field(message, tag).map(unsigned);
        let first = match number_of(tag::BEGIN_SEQ_NO) {
            Some(Ok(first)) if (1..=last_sent).contains(&first) => first,
            wrong => {
                let fault = faulty(wrong.is_none(), tag::BEGIN_SEQ_NO);
                return reject(link, message, parsed, fault);
            }
        };
        let last = match number_of(tag::END_SEQ_NO) {
            Some(Ok(0)) => last_sent,
            Some(Ok(last)) if last >= first => last.min(last_sent),
            wrong => {
                let fault = faulty(wrong.is_none(), tag::END_SEQ_NO);
                return reject(link, message, parsed, fault);
            }
        };
        if number == expected {
            link.expect(number + 1);
        }
        link.serve(first, last);
        if number > expected && !self.gap.is_open(expected) {
            self.request(link, number, 1);
        }
        Outcome::Nothing
    }

    /// A Logon with ResetSeqNumFlag during a session: a request, or the answer to ours. If both sides request at the
    /// same time, each takes the other's request as its answer. If no side has sent another message since our Logon with the
    /// flag, it is that Logon's answer, perhaps a repeated one: an answer to it would be answered, too, without end.
    fn reset_by_logon<S: Store>(
        &mut self,
        link: &mut Link<S>,
        message: &Message<'_>,
        number: u64,
    ) -> Outcome {
        let theirs_s = match logon::heartbeat_s(message) {
            Ok(theirs_s) if number == 1 => theirs_s.unwrap_or(link.heartbeat_s()),
            refused => {
                refuse_logon(link, refused.err().unwrap_or(RESET_WITH_ANOTHER_NUMBER));
                return Outcome::Nothing;
            }
        };
        // mutant: fix session: a repeated answer to a reset is answered
        let is_answered = self.logons.has_reset() && link.sequencer().is_behind_logons();
        if is_answered && !self.logons.is_resetting() {
            link.count().messages_duplicate += 1;
            return Outcome::Nothing;
        }
        if !self.logons.take_resetting() {
            self.restart(link);
            let role = link.settings().role;
            link.agree(logon::agreed_s(role, link.heartbeat_s(), theirs_s));
            link.logon(theirs_s, true, |_| {});
            self.logons.answered_reset();
        }
        // mutant: fix session: a session that has restarted waits for messages of before
        self.logons.logged_on(number);
        link.expect_behind_logon();
        Outcome::Restarted(self.lost.take())
    }

    /// Requests a restart of both numbers at 1.
    pub fn ask_for_reset<S: Store>(&mut self, link: &mut Link<S>) {
        if link.phase().state() == State::Up {
            self.restart(link);
            self.logons.reset();
            link.logon(link.heartbeat_s(), true, |_| {});
        }
    }

    /// Whether messages from before this connection are missing and requested.
    pub fn is_catching_up<S: Store>(&self, link: &Link<S>) -> bool {
        let next_in = link.sequencer().next_in();
        link.phase().state() == State::Up && self.logons.is_ahead_of(next_in)
    }

    /// Runs due timers: logon and logout timeouts, heartbeats, gaps.
    pub fn handle_timeout<S: Store>(&mut self, link: &mut Link<S>) {
        let now_ns = link.clock().now_ns();
        if let Some(why) = link.phase().overdue(now_ns) {
            return link.close(why);
        }
        if link.phase().state() != State::Up {
            return;
        }
        link.signs_of_life();
        let wait_ns = link.settings().limits.resend_wait_ns;
        match self.gap.due(link.sequencer().next_in(), now_ns, wait_ns) {
            Due::Nothing => {}
            Due::Request { last, times } => self.request(link, last, times),
            Due::GiveUp => {
                link.send_logout(b"the requested messages were not resent");
                link.close(DisconnectReason::NoResend);
            }
        }
    }

    /// Time of the next timer, by the monotonic clock.
    pub fn next_timeout<S: Store>(&self, link: &Link<S>) -> Option<u64> {
        let wait_ns = link.settings().limits.resend_wait_ns;
        let gap_ns = match link.phase().state() {
            State::Up => self.gap.next_timeout(link.sequencer().next_in(), wait_ns),
            _ => None,
        };
        [gap_ns, link.next_timeout()].into_iter().flatten().min()
    }

    /// Handles a message in sequence.
    #[inline]
    fn process<S: Store>(
        &self,
        link: &mut Link<S>,
        message: &Message<'_>,
        parsed: &ParsedHeader<'_>,
    ) -> Outcome {
        let number = link.sequencer().next_in();
        if let Some(fault) = checks::dictionary(link.settings(), message) {
            return reject(link, message, parsed, fault);
        }
        match message.msg_type() {
            b"1" => match field(message, tag::TEST_REQ_ID) {
                Some(id) => link.heartbeat(Some(id)),
                None => return reject(link, message, parsed, required(tag::TEST_REQ_ID)),
            },
            b"4" => {
                // An answer to our request stands for the message of its own number, too.
                // mutant: fix session: a gap fill of one number skips nothing
                let is_answer = parsed.header.poss_dup || self.gap.is_open(number);
                let first = if is_answer { number } else { number + 1 };
                return sequence_reset(link, message, parsed, (first, number + 1));
            }
            b"3" => {
                link.expect(number + 1);
                return Outcome::Rejected;
            }
            b"0" => link.tested_by(field(message, tag::TEST_REQ_ID)),
            kind if !is_admin(kind) => {
                // mutant: fix session: a message is counted before the application processed it
                link.deliver(number);
                return Outcome::Application;
            }
            b"A" if !self.logons.is_of_logon(number) => link.log_out(b"both are logged on already"),
            // The Logon, which waited behind the gap that it revealed.
            _ => {}
        }
        link.expect(number + 1);
        Outcome::Nothing
    }
}

fn reject<S: Store>(
    link: &mut Link<S>,
    message: &Message<'_>,
    parsed: &ParsedHeader<'_>,
    fault: Fault,
) -> Outcome {
    link.reject(message, parsed, fault);
    Outcome::Invalid
}

fn sequence_too_low<S: Store>(
    link: &mut Link<S>,
    message: &Message<'_>,
    parsed: &ParsedHeader<'_>,
    number: u64,
) -> Outcome {
    if !parsed.header.poss_dup {
        end_sequence_too_low(link, number);
        return Outcome::Nothing;
    }
    link.count().messages_duplicate += 1;
    if message.msg_type() == b"4" {
        return Outcome::Nothing;
    }
    let Some(original_ns) = parsed.header.orig_sending_time_ns else {
        return reject(link, message, parsed, required(tag::ORIG_SENDING_TIME));
    };
    if parsed.header.sending_time_ns < Some(original_ns) {
        let fault = Fault::whole(Reason::SendingTimeAccuracyProblem);
        link.reject(message, parsed, fault);
        link.log_out(b"");
        return Outcome::Invalid;
    }
    Outcome::Nothing
}

/// A Logon of this session cannot be agreed to: it is answered with the reason, and no number is reset.
fn refuse_logon<S: Store>(link: &mut Link<S>, why: &'static str) {
    link.send_logout(why.as_bytes());
    link.close(DisconnectReason::LogonRefused(why));
}

/// The counterparty's number is too low: one side has lost its numbers, and an operator must
/// decide.
fn end_sequence_too_low<S: Store>(link: &mut Link<S>, number: u64) {
    let expected = link.sequencer().next_in();
    let text = format!("{TOO_LOW}, expecting {expected} but received {number}");
    link.send_logout(text.as_bytes());
    link.close(DisconnectReason::SequenceTooLow);
}

fn logout<S: Store>(link: &mut Link<S>, number: u64) -> Outcome {
    // A Logout behind a gap is answered; the gap is requested after the next Logon.
    if number == link.sequencer().next_in() {
        link.expect(number + 1);
    }
    if link.phase().state() == State::Up {
        link.send_logout(b"");
    }
    link.close(DisconnectReason::LoggedOut);
    Outcome::LoggedOut
}

/// The counterparty continues with another number, which must not be below `least`; no messages will arrive for those from `first` on.
fn sequence_reset<S: Store>(
    link: &mut Link<S>,
    message: &Message<'_>,
    parsed: &ParsedHeader<'_>,
    (first, least): (u64, u64),
) -> Outcome {
    match field(message, tag::NEW_SEQ_NO).map(unsigned) {
        Some(Ok(next)) if (least..NUMBER_MAX).contains(&next) => {
            link.expect(next);
            if next == first {
                return Outcome::Nothing;
            }
            link.count().sequence_resets += 1;
            Outcome::Skipped(first, next - 1)
        }
        wrong => {
            let fault = faulty(wrong.is_none(), tag::NEW_SEQ_NO);
            reject(link, message, parsed, fault)
        }
    }
}
