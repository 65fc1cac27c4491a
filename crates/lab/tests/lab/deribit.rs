//! The simulated Deribit, with the session of gateways as its client: without sockets, where the same seed is the
//! same bytes, and over TCP. Every fault is proved to have happened.

mod access_control;
mod client;
mod faults;
mod recorded;
mod tcp;

use client::{Customer, proof};
use std::net::Ipv4Addr;
use touchline_feed::ReceiveTime;
use touchline_lab::cme::expected_books::Checker;
use touchline_lab::deribit::fault::{Faults, Setting};
use touchline_lab::deribit::market::{Market, Settings};
use touchline_lab::deribit::{Client, Credentials, REFUSAL, Source, Venue, expected_books};
use touchline_session::access_control::Addresses;

const MS: u64 = 1_000_000;
const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// 2023-11-14, some time of the day.
const START_NS: u64 = 1_700_000_000_000 * MS;

/// A venue and one client of it, with nothing in between.
struct Stage {
    venue: Venue,
    client: Client,
    customer: Customer,
    checker: Checker,
    time: ReceiveTime,
    /// Everything that the venue sent.
    sent: Vec<u8>,
    /// Bytes that the client reads in a millisecond.
    bytes_per_ms: usize,
}

fn market(seed: u64) -> Source {
    market_of(seed, 5, 60)
}

fn market_of(seed: u64, instruments: usize, levels: usize) -> Source {
    Source::Market(Market::open(&Settings {
        seed,
        instruments,
        levels,
    }))
}

impl Stage {
    fn new(seed: u64, faults: &[&str]) -> Stage {
        Stage::of(market(seed), seed, faults)
    }

    fn of(source: Source, seed: u64, faults: &[&str]) -> Stage {
        let time = ReceiveTime::at(START_NS);
        let settings: Vec<Setting> = faults
            .iter()
            .map(|text| text.parse().expect("a fault"))
            .collect();
        let mut venue = Venue::open(
            source,
            Credentials::new("user", "secret".into()),
            Faults::new(seed, settings),
            1_000,
            time.mono_ns,
        );
        venue.keep_states();
        let client = Client::new("TOUCHLINE", HERE, venue.message_bytes_max(), time);
        Stage {
            client,
            customer: Customer::new(venue.message_bytes_max()),
            venue,
            checker: Checker::new(1_000_000),
            time,
            sent: Vec::new(),
            bytes_per_ms: usize::MAX,
        }
    }

    /// A millisecond of everything.
    fn step(&mut self) {
        self.time.wall_ns += MS;
        self.time.mono_ns += MS;
        let time = self.time;
        while let Some(occurrence) = self.venue.next(time.mono_ns) {
            self.client.hear(&occurrence, &mut self.venue, time);
        }
        for state in self.venue.take_states() {
            self.checker.expected(state);
        }
        self.customer.advance(time);
        while self.client.transport.is_listening(time.mono_ns) && self.customer.gives() {
            let bytes = self.customer.give(self.client.room());
            self.client.received(bytes, &mut self.venue, time);
        }
        self.client.advance(&mut self.venue, time);
        let mut rest = self.bytes_per_ms;
        loop {
            let due = self.client.transport.due(time.mono_ns);
            let due = &due[..due.len().min(rest)];
            if due.is_empty() {
                break;
            }
            let taken = self.customer.take(due, time, &mut self.checker);
            rest -= taken;
            self.sent.extend(&due[..taken]);
            self.client.transport.sent(taken, time.mono_ns);
        }
    }

    fn steps(&mut self, milliseconds: usize) {
        for _ in 0..milliseconds {
            self.step();
        }
    }

    /// Logs on and asks for everything.
    fn download(&mut self) {
        self.customer
            .connect(&proof("user", "secret", self.time), self.time);
        self.steps(5);
        assert!(self.customer.is_up(), "{:?}", self.customer);
        self.customer.ask_for_list(self.time);
        self.steps(2);
        let symbols = self.customer.symbols.clone();
        let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
        self.customer.subscribe("all", &symbols, self.time);
        self.steps(2);
    }

    /// Every book that was shown is one of the venue's, and in the end they are the same.
    fn settle(mut self) {
        self.venue.close();
        self.steps(100);
        let Source::Market(market) = &self.venue.source else {
            panic!("a market");
        };
        for (state, instrument) in expected_books::states(market).zip(market.instruments()) {
            let shown = self.customer.hash(&instrument.symbol);
            assert_eq!(shown, Some(state.hash), "{}", instrument.symbol);
        }
        let verdict = self.checker.finish();
        assert_eq!((verdict.wrong, verdict.waiting), (0, 0), "{verdict:?}");
        assert!(verdict.right > 100, "{verdict:?}");
    }
}

#[test]
fn a_client_that_follows_has_the_exchanges_books() {
    for seed in touchline_lab::random::seeds(3) {
        let mut stage = Stage::new(seed, &[]);
        stage.download();
        assert_eq!(stage.customer.symbols.len(), 5, "seed {seed}");
        assert_eq!(stage.customer.ticks[0], "0.5000");
        assert_eq!(stage.venue.totals.snapshots, 5);
        stage.steps(2_000);
        assert!(
            stage.customer.trades > 50,
            "{} trades",
            stage.customer.trades
        );
        stage.settle();
    }
}

#[test]
fn the_same_seed_is_the_same_bytes() {
    let run = |seed, faults: &[&str]| {
        let mut stage = Stage::new(seed, faults);
        stage.download();
        stage.steps(300);
        (stage.sent, stage.venue.faults.happened)
    };
    assert!(run(1, &[]) == run(1, &[]));
    assert!(run(1, &[]) != run(2, &[]));
    let faults = ["skip 0.02", "malform checksum 0.02"];
    let (one, other) = (run(1, &faults), run(1, &faults));
    assert!(one.1.skipped > 0 && one.1.malformed > 0, "{:?}", one.1);
    assert!(one == other);
}

/// The snapshots are ten times the output that may wait for a client. They arrive at the client's speed, each before the changes
/// behind it, and no client is disconnected; a client that reads slowly gets all of them, too.
#[test]
fn hundreds_of_books_requested_at_once_are_all_sent() {
    for bytes_per_ms in [usize::MAX, 50_000] {
        let mut stage = Stage::of(market_of(1, 400, 300), 1, &[]);
        stage.bytes_per_ms = bytes_per_ms;
        stage.download();
        let mut milliseconds = 0;
        while stage.customer.snapshots < 400 {
            stage.step();
            milliseconds += 1;
            assert!(!stage.client.is_given_up(), "after {milliseconds} ms");
            assert!(milliseconds < 10_000, "{:?}", stage.customer.snapshots);
        }
        let most = stage.venue.message_bytes_max();
        assert!(stage.sent.len() > 10 * most, "{} bytes", stage.sent.len());
        assert_eq!(stage.customer.early, 0, "changes before their snapshot");
        stage.steps(500);
        assert_eq!(stage.customer.snapshots, 400, "each once");
        stage.settle();
    }
}

#[test]
fn every_failed_logon_gets_the_same_text() {
    let refused_at = |from: &str, user: &str, secret: &str| {
        let mut stage = Stage::new(1, &[]);
        let addresses = Addresses::of(vec![from.parse().expect("a block")]);
        stage.venue.credentials = Credentials::new("user", "secret".into()).only_from(addresses);
        let proof = proof(user, secret, stage.time);
        stage.customer.connect(&proof, stage.time);
        stage.steps(5);
        assert!(!stage.customer.is_up() && stage.client.is_over());
        assert_eq!(stage.venue.totals.logons_refused, 1);
        stage.sent
    };
    let refused = |user: &str, secret: &str| refused_at("127.0.0.1", user, secret);
    let wrong_password = refused("user", "another");
    assert!(String::from_utf8_lossy(&wrong_password).contains(REFUSAL));
    assert_eq!(wrong_password, refused("nobody", "secret"));
    assert_eq!(wrong_password, refused("user", "secretly"));
    let wrong_address = refused_at("127.0.0.2", "user", "secret");
    assert_eq!(wrong_password, wrong_address);
    assert_eq!(wrong_address, refused_at("127.0.0.2", "nobody", "another"));
}

#[test]
fn a_logon_with_an_old_timestamp_is_refused() {
    let mut stage = Stage::new(1, &[]);
    let old = ReceiveTime::at(START_NS - 3_600_000 * MS);
    stage
        .customer
        .connect(&proof("user", "secret", old), stage.time);
    stage.steps(5);
    assert!(!stage.customer.is_up() && stage.client.is_over());
}

#[test]
fn requests_that_cannot_be_served_are_refused_with_their_reason() {
    let mut stage = Stage::new(1, &[]);
    stage.download();
    for (fields, reason) in [
        ("262=1|263=1|264=0|265=1|267=1|269=0|146=1|55=NONE", "0"),
        (
            "262=all|263=1|264=0|265=1|267=1|269=0|146=1|55=BTC-PERPETUAL",
            "1",
        ),
        (
            "262=2|263=7|264=0|265=1|267=1|269=0|146=1|55=BTC-PERPETUAL",
            "4",
        ),
        (
            "262=3|263=1|264=7|265=0|267=1|269=0|146=1|55=BTC-PERPETUAL",
            "5",
        ),
        (
            "262=4|263=1|264=0|265=9|267=1|269=0|146=1|55=BTC-PERPETUAL",
            "6",
        ),
        (
            "262=5|263=1|264=0|265=1|267=1|269=x|146=1|55=BTC-PERPETUAL",
            "8",
        ),
    ] {
        stage.customer.send("V", fields, stage.time);
        stage.steps(2);
        assert_eq!(
            stage.customer.refusals.pop().as_deref(),
            Some(reason),
            "{fields}"
        );
    }
    stage
        .customer
        .send("D", "11=1|55=BTC-PERPETUAL", stage.time);
    stage.steps(2);
    assert_eq!(stage.customer.unsupported, 1, "orders are not served");
}

#[test]
fn parts_of_books_are_sent_completely_and_unsubscribed_books_not_at_all() {
    let mut stage = Stage::new(1, &[]);
    stage
        .customer
        .connect(&proof("user", "secret", stage.time), stage.time);
    stage.steps(5);
    let part = "262=part|263=1|264=10|265=0|267=2|269=0|269=1|146=1|55=BTC-PERPETUAL";
    stage.customer.send("V", part, stage.time);
    stage.steps(200);
    assert!(
        stage.customer.snapshots > 20,
        "{}",
        stage.customer.snapshots
    );
    assert_eq!(stage.customer.levels("BTC-PERPETUAL"), (10, 10));
    let stop = "262=part|263=2|264=10|267=1|269=0|146=1|55=BTC-PERPETUAL";
    stage.customer.send("V", stop, stage.time);
    stage.steps(2);
    assert_eq!(stage.client.subscriptions(), 0);
    let until_now = stage.customer.snapshots;
    stage.steps(100);
    assert_eq!(stage.customer.snapshots, until_now);
    // A snapshot alone.
    let once = "262=once|263=0|264=0|267=2|269=0|269=1|55=ETH-PERPETUAL";
    stage.customer.send("V", once, stage.time);
    stage.steps(100);
    assert_eq!(stage.customer.snapshots, until_now + 1);
    let (bids, offers) = stage.customer.levels("ETH-PERPETUAL");
    assert!(bids > 40 && offers > 40, "{bids} {offers}");
}
