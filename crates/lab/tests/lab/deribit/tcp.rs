//! The same over TCP: several clients at once, and connections that are not clients.

use super::client::{Customer, proof};
use std::time::{Duration, Instant};
use touchline_feed::ReceiveTime;
use touchline_lab::cme::expected_books::Checker;
use touchline_lab::deribit::fault::Faults;
use touchline_lab::deribit::market::{Market, Settings};
use touchline_lab::deribit::{Credentials, Exchange, Source, Venue, expected_books};
use touchline_lab::pacing::Pacer;
use touchline_net::Stream;
use touchline_session::access_control::ThrottleLimits;
use touchline_testing::until;

const HANGS: Duration = Duration::from_secs(60);

struct Connected {
    customer: Customer,
    stream: Stream,
    checker: Checker,
    bytes: Vec<u8>,
}

impl Connected {
    fn turn(&mut self, time: ReceiveTime) {
        self.customer.advance(time);
        let mut room = [0; 65_536];
        let outgoing = self.customer.session.poll_transmit();
        let sent = self.stream.send(outgoing).expect("open");
        self.customer.session.transmitted(sent);
        while let read @ 1.. = self.stream.receive(&mut room).expect("open") {
            self.bytes.extend(&room[..read]);
        }
        while !self.bytes.is_empty() {
            let taken = self.customer.take(&self.bytes, time, &mut self.checker);
            self.bytes.drain(..taken);
        }
    }
}

fn exchange(pacer: &Pacer) -> Exchange {
    let source = Source::Market(Market::open(&Settings {
        seed: 7,
        instruments: 6,
        levels: 300,
    }));
    let mut venue = Venue::open(
        source,
        Credentials::new("user", "secret".into()),
        Faults::new(7, Vec::new()),
        2_000,
        pacer.elapsed_ns(),
    );
    venue.keep_states();
    let listening = Exchange::listen(
        "127.0.0.1:0".parse().expect("an address"),
        venue,
        ThrottleLimits::default(),
    );
    listening.expect("a free port")
}

#[test]
fn several_clients_have_the_exchanges_books() {
    let pacer = Pacer::start();
    let receive_time = || ReceiveTime {
        wall_ns: pacer.wall_ns(),
        mono_ns: pacer.elapsed_ns(),
    };
    let mut exchange = exchange(&pacer);
    let most = exchange.venue().message_bytes_max();
    let mut clients: Vec<Connected> = Vec::new();
    for _ in 0..3 {
        // Time stamps of logons go up.
        std::thread::sleep(Duration::from_millis(2));
        let mut customer = Customer::new(most);
        customer.connect(&proof("user", "secret", receive_time()), receive_time());
        clients.push(Connected {
            customer,
            stream: Stream::connect(exchange.address(), u64::MAX).expect("it begins"),
            checker: Checker::new(1_000_000),
            bytes: Vec::new(),
        });
    }
    for client in &mut clients {
        while !client.stream.is_connected(0).expect("it is taken") {}
    }
    let start = Instant::now();
    let mut has_asked = [0; 3];
    let mut turn = |exchange: &mut Exchange, clients: &mut Vec<Connected>| {
        exchange.work(receive_time());
        let states = exchange.take_states();
        for (client, stage) in clients.iter_mut().zip(&mut has_asked) {
            states
                .iter()
                .for_each(|state| client.checker.expected(*state));
            client.turn(receive_time());
            if *stage == 0 && client.customer.is_up() {
                client.customer.ask_for_list(receive_time());
                *stage = 1;
            }
            if *stage == 1 && !client.customer.symbols.is_empty() {
                let symbols = client.customer.symbols.clone();
                let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
                client.customer.subscribe("all", &symbols, receive_time());
                *stage = 2;
            }
        }
        assert!(start.elapsed() < HANGS, "it hangs");
    };
    while clients
        .iter()
        .any(|client| client.customer.snapshots < 6 || client.customer.trades < 50)
    {
        turn(&mut exchange, &mut clients);
    }
    exchange.venue_mut().close();
    let (quiet, mut turns) = (Instant::now(), 0);
    while quiet.elapsed() < Duration::from_millis(300) || turns < 50 {
        turn(&mut exchange, &mut clients);
        turns += 1;
    }
    let Source::Market(market) = &exchange.venue().source else {
        panic!("a market");
    };
    let expected_books: Vec<_> = expected_books::states(market)
        .zip(market.instruments())
        .collect();
    for client in clients {
        for (state, instrument) in &expected_books {
            assert_eq!(client.customer.hash(&instrument.symbol), Some(state.hash));
        }
        let verdict = client.checker.finish();
        assert_eq!((verdict.wrong, verdict.waiting), (0, 0), "{verdict:?}");
    }
    assert_eq!(exchange.totals().logons, 3);
}

#[test]
fn unauthenticated_connections_are_closed_and_closed_ones_removed() {
    let pacer = Pacer::start();
    let mut exchange = exchange(&pacer);
    let connect = |exchange: &mut Exchange, words: &[u8]| {
        let mut stream = Stream::connect(exchange.address(), u64::MAX).expect("it begins");
        while !stream.is_connected(0).expect("it is taken") {}
        assert_eq!(stream.send(words), Ok(words.len()));
        for _ in 0..50 {
            let time = ReceiveTime {
                wall_ns: pacer.wall_ns(),
                mono_ns: pacer.elapsed_ns(),
            };
            exchange.work(time);
            std::thread::sleep(Duration::from_micros(100));
        }
        stream
    };
    let mut http = connect(&mut exchange, b"GET / HTTP/1.1\r\n\r\n");
    assert!(http.receive(&mut [0; 8]).is_err(), "it was closed");
    assert_eq!(exchange.served().turned_away, 1);
    let silent = connect(&mut exchange, b"8=FIX.4.4\x01");
    assert_eq!(exchange.served().turned_away, 1, "it may still log on");
    drop(silent);
    let _other = connect(&mut exchange, b"x");
    assert_eq!(exchange.served().turned_away, 3);
    assert_eq!(exchange.clients().count(), 0);
}

/// Without connections the simulator sleeps through due events and takes them together; with one, each event is work, so
/// that the loop does not sleep.
#[test]
fn events_count_as_work_with_connections_and_behind_a_backlog() {
    let pacer = Pacer::start();
    let mut exchange = exchange(&pacer);
    let work_after = |exchange: &mut Exchange, ms: u64| {
        let ns = ms * 1_000_000;
        let time = ReceiveTime {
            wall_ns: pacer.wall_ns() + ns,
            mono_ns: pacer.elapsed_ns() + ns,
        };
        let before = exchange.totals().events;
        let is_busy = exchange.work(time);
        (is_busy, exchange.totals().events - before)
    };
    let (is_busy, events) = work_after(&mut exchange, 20);
    assert!(!is_busy && events > 1, "{events} events at once");
    let mut rounds = 0;
    while work_after(&mut exchange, 2_000).0 {
        rounds += 1;
    }
    assert!(
        rounds > 5,
        "some 4,000 events, of which each round takes 256"
    );
    let mut stream = Stream::connect(exchange.address(), u64::MAX).expect("it begins");
    while !stream.is_connected(0).expect("it is taken") {}
    until("a connection", HANGS, || {
        work_after(&mut exchange, 2_000);
        exchange.is_connected()
    });
    let (is_busy, events) = work_after(&mut exchange, 2_100);
    assert!(is_busy && events > 1);
}
