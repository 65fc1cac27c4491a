//! The feed: a session, and market data as its application.

use super::cause::Cause;
use super::counters::Counters;
use super::logon;
use super::market_data::{APPLICATION, APPLICATION_THAT_GOES_ON, MarketData, VERIFIED};
use super::messages::Step;
use super::settings::{Dialect, Settings};
use crate::{Batch, BookRules, Feed, Feedback, ReceiveTime, SessionFeed, Warning};
use touchline_instruments::Instruments;
use touchline_session::fix::{self, Memory, Session, Store};
use touchline_types::{CounterInfo, Instrument, Validity};

/// Market data of one session: owner of the session and its application.
#[derive(Debug)]
pub struct FixFeed<S: Store = Memory> {
    session: Session<S>,
    market_data: MarketData,
    time: ReceiveTime,
    /// Number of connections.
    connections: u64,
}

impl FixFeed {
    /// Allocates all memory, without a connection. Sequence numbers are lost with the process.
    pub fn new(settings: Settings) -> FixFeed {
        FixFeed::with_store(settings, Memory::default())
    }
}

impl<S: Store> FixFeed<S> {
    /// A feed whose session continues from its store.
    pub fn with_store(settings: Settings, store: S) -> FixFeed<S> {
        let mut session = settings.session.clone();
        let application = match session.reset_on_logon {
            true => &APPLICATION,
            false => &APPLICATION_THAT_GOES_ON,
        };
        let applications = session.applications.with(application);
        session.applications = applications.with_bodies_verified(VERIFIED);
        FixFeed {
            market_data: MarketData::new(settings, store.next_out() - 1),
            session: Session::new(session, store),
            time: ReceiveTime::default(),
            connections: 0,
        }
    }

    /// Counters of the feed.
    pub fn counters(&self) -> &Counters {
        self.market_data.counters()
    }

    /// Whether the venue is connected, and no message is missing.
    pub fn is_fresh(&self) -> bool {
        self.market_data.is_fresh()
    }

    /// Current validity of an instrument's book; subscribers may be notified of it later.
    pub fn validity(&self, instrument: Instrument) -> Validity {
        self.market_data.validity(instrument)
    }

    /// The session.
    pub fn session(&self) -> &Session<S> {
        &self.session
    }
}

impl<S: Store> Feed for FixFeed<S> {
    type Source = ();

    const TABLES: &'static [&'static [CounterInfo]] = &[Counters::TABLE, fix::Counters::TABLE];

    fn counted(&self) -> impl Iterator<Item = u64> {
        self.counters()
            .counts()
            .chain(self.session.counters().counts())
    }

    fn instruments(&mut self) -> Instruments {
        self.market_data.take_instruments()
    }

    fn batch(&self) -> Batch {
        Batch::new(self.market_data.events_max())
    }

    fn book_rules(&self) -> BookRules {
        BookRules {
            missing: Validity::Recovering,
            inconsistent: match self.market_data.settings().dialect {
                Dialect::Deribit => Validity::Recovering,
                // All books are requested again.
                Dialect::Standard => Validity::Gapped,
            },
        }
    }

    #[inline]
    fn handle(
        &mut self,
        (): (),
        bytes: &[u8],
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize {
        self.time = time;
        let taken = self.session.handle(bytes, time);
        self.poll(instruments, batch);
        taken
    }

    #[inline]
    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool {
        batch.events.clear();
        let FixFeed {
            session,
            market_data,
            time,
            ..
        } = self;
        loop {
            market_data.end_silence(session);
            if market_data.poll(*time, batch) {
                return true;
            }
            let step = match session.poll() {
                Some(said) => market_data.hear(said, *time, instruments, batch),
                None => Step::Idle,
            };
            let step = match session.is_body_unverified() {
                true => verified(step, session, batch),
                false => step,
            };
            if market_data.carry_out(step, session, *time, batch) {
                return true;
            }
            if matches!(step, Step::Idle) && !market_data.has_pending() {
                market_data.ask(session, *time);
                if !market_data.has_pending() {
                    return false;
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: ReceiveTime) {
        self.time = now;
        self.session.handle_timeout(now);
        self.market_data.handle_timeout(&self.session, now);
    }

    fn wall_stepped(&mut self, step_ns: i64) {
        self.session.wall_stepped(step_ns);
    }

    fn next_timeout(&self) -> Option<u64> {
        let FixFeed {
            session,
            market_data,
            ..
        } = self;
        let next_ns = [session.next_timeout(), market_data.next_timeout(session)];
        next_ns.into_iter().flatten().min()
    }

    fn finish(&mut self) {}

    fn feedback(&mut self, feedback: &Feedback) {
        for instrument in &feedback.inconsistent {
            self.market_data
                .book_inconsistent(*instrument, &self.session, self.time);
        }
    }

    fn is_defined(&self) -> bool {
        self.market_data.is_downloaded()
    }
}

/// Market data's own pass over a message body, for the types that it handles: an accepted message was read to its end.
/// The session verifies all others before they have an effect.
#[inline]
fn verified<S: Store>(step: Step, session: &mut Session<S>, batch: &mut Batch) -> Step {
    // mutant: fix market data: a body that was not read is not judged
    if matches!(step, Step::Events) {
        session.body_is_read();
        return step;
    }
    match session.judge_body() {
        true => {
            batch.events.clear();
            Step::Missed(Cause::Invalid)
        }
        false => step,
    }
}

impl<S: Store> SessionFeed for FixFeed<S> {
    fn connected(&mut self, time: ReceiveTime) {
        self.time = time;
        self.connections += 1;
        self.market_data.connected();
        let (settings, number) = (self.market_data.settings(), self.connections);
        self.session.connected_with(time, |fields| {
            logon::write(settings, number, time, fields);
        });
    }

    fn disconnected(&mut self, time: ReceiveTime) {
        self.time = time;
        self.session.disconnected(time);
        self.market_data.disconnected();
    }

    fn outgoing(&self) -> &[u8] {
        self.session.poll_transmit()
    }

    fn sent(&mut self, bytes: usize, _: ReceiveTime) {
        self.session.transmitted(bytes);
    }

    fn is_over(&self) -> bool {
        self.market_data.is_over() || self.session.disconnect_reason().is_some()
    }

    fn reason(&self) -> String {
        let of_session = self.session.disconnect_reason();
        self.market_data
            .reason(of_session.map(|why| why.to_string()))
    }

    fn evidence(&self) -> String {
        self.market_data.evidence(self.session.evidence())
    }

    fn has_secret(&self, bytes: &[u8]) -> bool {
        self.market_data.has_secret(bytes)
    }

    fn take_warning(&mut self) -> Option<Warning> {
        self.market_data.take_warning()
    }

    fn log_out(&mut self, time: ReceiveTime) {
        self.session.log_out("", time);
    }
}
