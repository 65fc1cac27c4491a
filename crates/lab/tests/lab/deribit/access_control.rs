//! Access control over TCP: accepted addresses and login throttle, on a clock that the test advances.

use super::client::{Customer, proof};
use super::{MS, START_NS, market};
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::Duration;
use touchline_feed::ReceiveTime;
use touchline_lab::deribit::fault::Faults;
use touchline_lab::deribit::{Credentials, Exchange, REFUSAL, Venue};
use touchline_session::access_control::{Addresses, ThrottleLimits};
use touchline_testing::until;

const SECOND: u64 = 1_000 * MS;
const HANGS: Duration = Duration::from_secs(60);

/// Answer of the simulator to a Logon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Logon,
    /// The one Logout, with the same text for every error.
    Refused,
    /// Closed without a message.
    Closed,
}

struct Host {
    exchange: Exchange,
    now_ns: u64,
}

impl Host {
    /// Two failures pass; pauses are of three seconds, and double up to ten. `from` is where the user is.
    fn start(from: &[&str]) -> Host {
        let throttle_limits = ThrottleLimits {
            failures_free: 2,
            pause_ns: 3 * SECOND,
            pause_ns_max: 10 * SECOND,
            ..ThrottleLimits::default()
        };
        let block = |text: &&str| text.parse().expect("a block");
        let addresses = Addresses::of(from.iter().map(block).collect());
        let credentials = Credentials::new("user", "secret".into()).only_from(addresses);
        let venue = Venue::open(market(1), credentials, Faults::new(1, Vec::new()), 0, 0);
        let anywhere = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let listening = Exchange::listen(anywhere, venue, throttle_limits);
        Host {
            exchange: listening.expect("a free port"),
            now_ns: 0,
        }
    }

    fn receive_time(&self) -> ReceiveTime {
        ReceiveTime {
            wall_ns: START_NS + self.now_ns,
            mono_ns: self.now_ns,
        }
    }

    fn work(&mut self) {
        self.now_ns += MS / 10;
        self.exchange.work(self.receive_time());
        std::thread::sleep(Duration::from_micros(50));
    }

    fn connect(&self, last: u8) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let ours = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, last), 0);
        socket.bind(&ours.into()).expect("an address of ours");
        let there = self.exchange.address();
        socket.connect(&there.into()).expect("it listens");
        socket.set_nonblocking(true).expect("a socket");
        socket.into()
    }

    /// Logs on from 127.0.0.`last`, and disconnects.
    fn log_on(&mut self, last: u8, user: &str, secret: &str) -> Answer {
        // Time stamps of logons go up.
        self.now_ns += 2 * MS;
        let mut customer = Customer::new(self.exchange.venue().message_bytes_max());
        customer.connect(
            &proof(user, secret, self.receive_time()),
            self.receive_time(),
        );
        let mut stream = self.connect(last);
        // A waiting client may have been disconnected before its first message.
        let _ = stream.write_all(customer.session.poll_transmit());
        let answer = self.answer(&mut stream);
        drop(stream);
        while self.exchange.clients().next().is_some() {
            self.work();
        }
        answer
    }

    fn answer(&mut self, stream: &mut TcpStream) -> Answer {
        let mut said = Vec::new();
        until("an answer, or the end", HANGS, || {
            self.work();
            let mut room = [0; 4_096];
            match stream.read(&mut room) {
                Ok(bytes @ 1..) => said.extend(&room[..bytes]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => return Some(Answer::of(&said)),
            }
            (Answer::of(&said) == Answer::Logon).then_some(Answer::Logon)
        })
    }

    fn lets_in(&mut self, last: u8) -> bool {
        self.log_on(last, "user", "secret") == Answer::Logon
    }

    fn refuses(&mut self, last: u8, times: u32) {
        for _ in 0..times {
            let answer = self.log_on(last, "user", "another");
            assert_eq!(answer, Answer::Refused);
        }
    }
}

impl Answer {
    fn of(said: &[u8]) -> Answer {
        let said = String::from_utf8_lossy(said);
        match () {
            () if said.contains(REFUSAL) => Answer::Refused,
            () if said.contains("\x0135=A\x01") => Answer::Logon,
            () => {
                assert_eq!(said, "");
                Answer::Closed
            }
        }
    }
}

#[test]
fn logons_are_accepted_from_listed_addresses() {
    let mut host = Host::start(&["127.0.0.2", "127.0.0.8/30"]);
    for last in [2, 8, 11] {
        assert!(host.lets_in(last), "{last}");
    }
    for last in [1, 3, 12] {
        assert_eq!(host.log_on(last, "user", "secret"), Answer::Closed);
    }
}

/// A connection from an unlisted address is closed before it sends a byte, and blocks no other however often it comes.
#[test]
fn connections_from_unlisted_addresses_take_no_slot() {
    let mut host = Host::start(&["127.0.0.2"]);
    let mut silent: Vec<TcpStream> = (0..64).map(|_| host.connect(9)).collect();
    for _ in 0..20 {
        host.work();
    }
    assert_eq!(host.exchange.served().turned_away, 64);
    for stream in &mut silent {
        assert_eq!(host.answer(stream), Answer::Closed);
    }
    assert!(host.lets_in(2));
}

/// An address has a few places, and others find theirs; nor does it keep the exchange busy by coming often.
#[test]
fn unauthenticated_connections_of_one_address_have_a_limit() {
    let mut host = Host::start(&[]);
    let mut silent: Vec<TcpStream> = (0..100).map(|_| host.connect(9)).collect();
    host.work();
    let connections = host.exchange.served().connections;
    assert!(connections <= 64, "{connections} in one turn");
    while host.exchange.served().connections < 100 {
        host.work();
    }
    assert_eq!(host.exchange.served().turned_away, 84);
    assert!(host.lets_in(2));
    let is_open = |stream: &mut TcpStream| {
        let read = stream.read(&mut [0; 8]);
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    assert_eq!(
        silent.iter_mut().map(is_open).filter(|open| *open).count(),
        16
    );
}

#[test]
fn an_address_whose_logons_fail_waits() {
    let mut host = Host::start(&[]);
    host.refuses(2, 2);
    assert!(host.lets_in(2), "two failures are free");
    assert_eq!(host.log_on(2, "nobody", "secret"), Answer::Refused);
    assert_eq!(host.log_on(2, "user", "secret"), Answer::Closed, "it waits");
    assert!(host.lets_in(3), "it is not this one that failed");
    host.now_ns += 3 * SECOND;
    host.refuses(2, 1);
    host.now_ns += 4 * SECOND;
    assert!(!host.lets_in(2), "it waits longer");
    host.now_ns += 2 * SECOND;
    assert!(host.lets_in(2), "the pause is over");
    host.refuses(2, 1);
    host.now_ns += 9 * SECOND;
    assert!(!host.lets_in(2), "the longest pause");
    host.now_ns += 100 * SECOND;
    host.refuses(2, 2);
    assert!(host.lets_in(2), "the throttle starts again");
}

/// His own Logons between them make the wrong ones no fewer, or he could try secrets for ever.
#[test]
fn a_valid_user_has_the_same_limit_of_failed_logons() {
    let mut host = Host::start(&[]);
    for _ in 0..3 {
        assert!(host.lets_in(2));
        host.refuses(2, 1);
    }
    assert!(!host.lets_in(2), "it waits");
}

/// A connection that was made before the pause does not go round it.
#[test]
fn a_throttle_also_applies_to_open_connections() {
    let mut host = Host::start(&[]);
    let mut early = host.connect(2);
    host.refuses(2, 3);
    let mut customer = Customer::new(host.exchange.venue().message_bytes_max());
    customer.connect(
        &proof("user", "secret", host.receive_time()),
        host.receive_time(),
    );
    let logon = customer.session.poll_transmit();
    early.write_all(logon).expect("it is not closed yet");
    assert_eq!(host.answer(&mut early), Answer::Closed);
}

/// A fault that rejects correct logons is not a failed logon: a gateway may log on again.
#[test]
fn a_refusal_by_an_injected_fault_is_not_a_failed_logon() {
    let mut host = Host::start(&[]);
    let fault = "refuse-logon 1".parse().expect("a fault");
    host.exchange.venue_mut().faults.add(fault);
    for _ in 0..10 {
        assert_eq!(host.log_on(2, "user", "secret"), Answer::Refused);
    }
    host.exchange.venue_mut().faults.clear();
    assert!(host.lets_in(2));
}
