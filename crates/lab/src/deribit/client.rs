//! One client: session, subscriptions, and test transport. Input: bytes and time; output: bytes.

use super::fault::Fault;
use super::messages;
use super::request::{MarketData, Request};
use super::test_transport::TestTransport;
use super::venue::{Occurrence, Source, Venue};
use super::{SERVER, credentials, market};

use std::net::Ipv4Addr;
use touchline_session::fix::{Event, Limits, Memory, Role, SendError, Session, Settings};
use touchline_types::ReceiveTime;

/// A client, from its Logon on.
#[derive(Debug)]
pub struct Client {
    session: Session<Memory>,
    from: Ipv4Addr,
    subscriptions: Vec<Subscription>,
    /// Transport to the client.
    pub transport: TestTransport,
    responses: u64,
    /// The client reads too slowly for the buffer, or exceeded a limit: the venue disconnects it.
    is_given_up: bool,
    /// The Logon had wrong credentials.
    is_unknown: bool,
}

/// Subscription of a client to one instrument.
#[derive(Clone, Debug)]
struct Subscription {
    instrument: usize,
    id: Vec<u8>,
    /// Snapshots of this number of levels after each change, instead of incremental updates.
    whole: Option<u64>,
    levels: [bool; 2],
    trades: bool,
    snapshot: Snapshot,
    /// Snapshot only, without updates.
    is_once: bool,
}

/// State of a subscription's snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Snapshot {
    /// Sent when there is room, of a recording when the playback reaches one. It contains earlier changes, which are not sent.
    Due,
    /// Fault: sent at this time, after changes that it contains.
    Late { at_ns: u64 },
    /// Sent, or never sent (a fault).
    Past,
}

/// Largest number of subscriptions of a client.
const SUBSCRIPTIONS_MAX: usize = 10_000;

impl Client {
    /// A client of this name, connected from this address. `message_bytes_max` is the longest message of the venue.
    pub fn new(name: &str, from: Ipv4Addr, message_bytes_max: usize, time: ReceiveTime) -> Client {
        let settings = Settings {
            ask: true,
            reset_on_logon: true,
            // The venue does not check it.
            sending_time_s: 0,
            limits: Limits {
                message_bytes_max,
                output_bytes: 6 * message_bytes_max,
                ..Limits::default()
            },
            ..Settings::new(Role::Acceptor, SERVER, name)
        };
        let mut session = Session::new(settings, Memory::default());
        session.connected(time);
        Client {
            session,
            from,
            subscriptions: Vec::new(),
            transport: TestTransport::default(),
            responses: 0,
            is_given_up: false,
            is_unknown: false,
        }
    }

    /// Session of the client.
    pub fn session(&self) -> &Session<Memory> {
        &self.session
    }

    /// Number of subscribed instruments.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.len()
    }

    /// Buffer for received bytes.
    pub fn room(&mut self) -> &mut [u8] {
        self.session.room()
    }

    /// Processes this number of received bytes.
    pub fn received(&mut self, bytes: usize, venue: &mut Venue, time: ReceiveTime) {
        self.session.filled(bytes, time);
        while let Some(event) = self.session.poll() {
            let request = match event {
                Event::Logon(message) => Request::logon(&message),
                Event::Application(message, ..) => Request::read(&message),
                Event::LoggedOn { .. }
                | Event::Rejected(_)
                | Event::LoggedOut(_)
                | Event::Invalid(_)
                | Event::TooLong(_)
                | Event::Gap { .. }
                | Event::Skipped { .. }
                | Event::Restarted { .. } => continue,
            };
            self.answer(request, venue, time);
        }
    }

    /// Advances time: sends waiting messages, with faults.
    pub fn advance(&mut self, venue: &mut Venue, time: ReceiveTime) {
        self.session.handle_timeout(time);
        self.snapshots(venue, time);
        self.transport
            .pull(&mut self.session, &mut venue.faults, time.mono_ns);
    }

    /// Whether the connection must be closed now.
    pub fn is_over(&self) -> bool {
        let is_said = self.session.disconnect_reason().is_some()
            && self.session.poll_transmit().is_empty()
            && self.transport.is_empty();
        is_said || self.is_given_up || self.transport.has_ended()
    }

    /// Whether the venue disconnected the client because it was too slow.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// Whether the Logon had wrong credentials. A correct Logon that a fault rejects is not one.
    pub fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// Starts the logout.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.session.log_out("the exchange closes", time);
    }

    fn answer(&mut self, request: Request, venue: &mut Venue, time: ReceiveTime) {
        match request {
            Request::Logon(proof) => {
                let now_ms = time.wall_ns / 1_000_000;
                let checked = venue.credentials.check(&proof, self.from, now_ms);
                self.is_unknown = checked.is_err();
                let is_refused = checked.is_ok()
                    && venue
                        .faults
                        .strike(|fault| *fault == Fault::RefuseLogon)
                        .is_some();
                match checked {
                    Ok(()) if !is_refused => {
                        venue.totals.logons += 1;
                        self.session.accept_logon(|_| {});
                    }
                    _ => {
                        venue.totals.logons_refused += 1;
                        self.session.reject_logon(credentials::REFUSAL);
                    }
                }
            }
            Request::SecurityList(id) => {
                self.responses += 1;
                let response = self.responses;
                let sent = self.session.send(b"y", time, |body| match &venue.source {
                    Source::Market(market) => {
                        let listed = market.instruments().iter().map(messages::Listed::Known);
                        messages::security_list(body, &id, response, listed);
                    }
                    Source::Recording(recording) => {
                        let symbols = recording.symbols().iter();
                        let listed = symbols.map(|symbol| messages::Listed::Name(symbol));
                        messages::security_list(body, &id, response, listed);
                    }
                });
                self.check(sent);
            }
            Request::MarketData(request) => self.market_data(&request, venue, time),
            Request::Other(msg_type) => {
                let sent = self
                    .session
                    .send(b"j", time, |body| messages::unsupported(body, &msg_type));
                self.check(sent);
            }
        }
    }

    fn market_data(&mut self, request: &MarketData, venue: &mut Venue, time: ReceiveTime) {
        if request.kind == b'2' {
            self.unsubscribe(request, venue);
            return;
        }
        let refusal = self.refusal(request, venue).or_else(|| {
            let struck = venue.faults.strike(|fault| *fault == Fault::RefuseRequest);
            struck.map(|_| (b'3', "not now"))
        });
        if let Some((reason, text)) = refusal {
            venue.totals.requests_refused += 1;
            let sent = self.session.send(b"Y", time, |body| {
                messages::refusal(body, &request.id, reason, text);
            });
            self.check(sent);
            return;
        }
        venue.totals.requests += 1;
        let is_whole = request.update == Some(b'0') || request.kind == b'0';
        for symbol in &request.symbols {
            let Some(instrument) = venue.instrument(symbol) else {
                continue;
            };
            let fault = venue.faults.strike(Fault::is_of_snapshots);
            self.subscriptions.push(Subscription {
                instrument,
                id: request.id.clone(),
                whole: is_whole.then_some(request.depth),
                levels: [b'0', b'1'].map(|kind| request.entries.contains(&kind)),
                trades: request.entries.contains(&b'2'),
                snapshot: match fault {
                    None if venue.has_book(instrument) => Snapshot::Due,
                    None => Snapshot::Past,
                    Some(Fault::SnapshotLate(ms)) => Snapshot::Late {
                        at_ns: time.mono_ns + ms * 1_000_000,
                    },
                    Some(_) => Snapshot::Past,
                },
                is_once: request.kind == b'0',
            });
        }
        self.snapshots(venue, time);
    }

    /// Sends due snapshots of a market, as many as the client reads, so that a client that subscribes to everything at once is not
    /// disconnected as slow. Snapshots take at most half of the buffer, so that changes have room, too.
    fn snapshots(&mut self, venue: &mut Venue, time: ReceiveTime) {
        let limits = self.session.settings().limits;
        let is_market = matches!(venue.source, Source::Market(_));
        for place in 0..self.subscriptions.len() {
            let is_due = match self.subscriptions[place].snapshot {
                Snapshot::Due => true,
                Snapshot::Late { at_ns } => at_ns <= time.mono_ns,
                Snapshot::Past => false,
            };
            if !is_due || !is_market {
                continue;
            }
            // The session reserves room for two messages.
            let waiting_max = limits.output_bytes - 2 * limits.message_bytes_max;
            if self.session.poll_transmit().len() > waiting_max / 2 {
                break;
            }
            self.subscriptions[place].snapshot = Snapshot::Past;
            self.snapshot(place, venue, time);
        }
        self.subscriptions
            .retain(|kept| !kept.is_once || kept.snapshot != Snapshot::Past);
    }

    /// Reason of a reject: MDReqRejReason (281) and a text.
    fn refusal(&self, request: &MarketData, venue: &Venue) -> Option<(u8, &'static str)> {
        let is_known = |symbol: &Vec<u8>| venue.instrument(symbol).is_some();
        let has_id = |kept: &Subscription| kept.id == request.id;
        let is_whole = request.kind == b'1' && request.update == Some(b'0');
        let is_full = self.subscriptions.len() + request.symbols.len() > SUBSCRIPTIONS_MAX;
        if request.id.is_empty() || self.subscriptions.iter().any(has_id) {
            Some((b'1', "MDReqID (262) is missing, or in use"))
        } else if request.symbols.is_empty() || !request.symbols.iter().all(is_known) {
            Some((b'0', "unknown symbol"))
        } else if !matches!(request.kind, b'0' | b'1') {
            Some((b'4', "SubscriptionRequestType (263) is not 0, 1 or 2"))
        } else if request.kind == b'1' && !matches!(request.update, Some(b'0' | b'1')) {
            Some((b'6', "MDUpdateType (265) is not 0 or 1"))
        } else if is_whole && !matches!(request.depth, 1 | 10 | 20) {
            Some((b'5', "MarketDepth (264) is not 1, 10 or 20"))
        } else if request.entries.is_empty()
            || !request
                .entries
                .iter()
                .all(|kind| (b'0'..=b'2').contains(kind))
        {
            Some((b'8', "MDEntryType (269) is not 0, 1 or 2"))
        } else if is_full {
            Some((b'2', "too many subscriptions"))
        } else {
            None
        }
    }

    /// Removes the subscriptions to the instruments of a request, or all with its id if it names none.
    fn unsubscribe(&mut self, request: &MarketData, venue: &Venue) {
        let named: Vec<usize> = request
            .symbols
            .iter()
            .filter_map(|symbol| venue.instrument(symbol))
            .collect();
        self.subscriptions.retain(|kept| match named.is_empty() {
            true => kept.id != request.id,
            false => !named.contains(&kept.instrument),
        });
    }

    fn snapshot(&mut self, place: usize, venue: &mut Venue, time: ReceiveTime) {
        let Subscription {
            instrument,
            ref id,
            whole,
            ..
        } = self.subscriptions[place];
        let Source::Market(market) = &venue.source else {
            return;
        };
        venue.totals.snapshots += 1;
        let sent = self.session.send(b"W", time, |body| {
            let levels = whole.unwrap_or(0);
            messages::snapshot(body, market, instrument, id, levels, time.wall_ns);
        });
        self.check(sent);
    }

    /// Sends an occurrence to the client, if it has a subscription.
    pub fn hear(&mut self, occurrence: &Occurrence, venue: &mut Venue, time: ReceiveTime) {
        match occurrence {
            Occurrence::Happening(happening) => self.tell(happening, venue, time),
            Occurrence::Played {
                instrument,
                message,
            } => self.play(*instrument, *message, venue, time),
        }
    }

    fn tell(&mut self, happening: &market::Happening, venue: &mut Venue, time: ReceiveTime) {
        let Source::Market(market) = &venue.source else {
            return;
        };
        let instrument = &market.instruments()[happening.instrument];
        for place in 0..self.subscriptions.len() {
            let subscription = &self.subscriptions[place];
            let is_told = subscription.instrument == happening.instrument
                && subscription.snapshot != Snapshot::Due
                && self.session.is_up();
            if !is_told {
                continue;
            }
            let now_ns = time.wall_ns;
            if subscription.trades && !happening.trades.is_empty() {
                let sent = self.session.send(b"X", time, |body| {
                    messages::trades(body, instrument, &happening.trades, now_ns);
                });
                venue.totals.trades += 1;
                self.is_given_up |= is_stuck(sent);
            }
            let wanted = |change: &&market::Change| match change.side {
                market::Side::Bid => subscription.levels[0],
                market::Side::Offer => subscription.levels[1],
            };
            let changes: Vec<&market::Change> = happening.changes.iter().filter(wanted).collect();
            if changes.is_empty() {
                continue;
            }
            let sent = match subscription.whole {
                Some(depth) => self.session.send(b"W", time, |body| {
                    messages::snapshot(
                        body,
                        market,
                        happening.instrument,
                        &subscription.id,
                        depth,
                        now_ns,
                    );
                }),
                None => self.session.send(b"X", time, |body| {
                    messages::changes(
                        body,
                        market,
                        happening.instrument,
                        &subscription.id,
                        &changes,
                        now_ns,
                    );
                }),
            };
            venue.totals.increments += 1;
            self.is_given_up |= is_stuck(sent);
        }
    }

    /// Sends a message of a recording. A book begins with a snapshot that the playback reaches: an earlier one lacks the changes since.
    fn play(&mut self, instrument: usize, place: usize, venue: &mut Venue, time: ReceiveTime) {
        let Source::Recording(recording) = &venue.source else {
            return;
        };
        let is_snapshot = recording.msg_type(place) == b"W";
        // Changes before the first snapshot, in a further round, belong to no book.
        let is_early = recording
            .snapshot(instrument)
            .is_some_and(|first| place < first);
        if is_early || !self.session.is_up() {
            return;
        }
        for subscription in &mut self.subscriptions {
            let is_sent = match subscription.snapshot {
                Snapshot::Due => is_snapshot,
                Snapshot::Late { at_ns } => !is_snapshot || at_ns <= time.mono_ns,
                Snapshot::Past => true,
            };
            if subscription.instrument != instrument || !is_sent {
                continue;
            }
            let sent = self.session.send(recording.msg_type(place), time, |body| {
                recording.write(place, &subscription.id, body);
            });
            if is_snapshot {
                subscription.snapshot = Snapshot::Past;
                venue.totals.snapshots += 1;
            } else {
                venue.totals.increments += 1;
            }
            self.is_given_up |= is_stuck(sent);
        }
    }

    fn check(&mut self, sent: Result<u64, SendError>) {
        self.is_given_up |= is_stuck(sent);
    }
}

/// Whether the client has stopped reading.
fn is_stuck(sent: Result<u64, SendError>) -> bool {
    sent == Err(SendError::Full)
}
