//! Allocations and time of TLS on an order session: each record takes memory for a moment, and none stays.
//!
//! Goal: the cost that a session with TLS adds to the engine's thread is known, and bounded. Method: two ends over loopback in one
//! thread; one message of the length of an order is sent and one of the length of a report is read, each call on its own.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use touchline_lab::frozen::{Count, Frozen};
use touchline_net::Connection;
use touchline_net::stream::Listener;
use touchline_net::tls::{Client, Server, ServerSettings, Settings};
use touchline_testing::issuer::Issuer;
use touchline_testing::until;

const HANGS: Duration = Duration::from_secs(20);
const HOST: &str = "orders.bank.example";
const ORDER: [u8; 200] = [b'D'; 200];
const REPORT: [u8; 300] = [b'8'; 300];
const WARM: usize = 200;
const MESSAGES: usize = 2_000;

/// Calls of one kind.
#[derive(Default)]
struct Calls {
    ns: Vec<u64>,
    count: Count,
}

impl Calls {
    fn run<T>(&mut self, call: impl FnOnce() -> T) -> T {
        Frozen::freeze();
        let start = Instant::now();
        let done = call();
        let ns = start.elapsed().as_nanos() as u64;
        let took = Frozen::thaw();
        self.ns.push(ns);
        self.count.allocations += took.allocations;
        self.count.bytes += took.bytes;
        self.count.frees += took.frees;
        done
    }

    /// Median and longest, nanoseconds.
    fn times(&mut self) -> (u64, u64) {
        self.ns.sort_unstable();
        (self.ns[self.ns.len() / 2], self.ns[self.ns.len() - 1])
    }

    /// Allocations for each call, rounded up.
    fn each(&self) -> u64 {
        self.count.allocations.div_ceil(self.ns.len() as u64)
    }
}

/// The engine's end and the bank's, after the handshake, and the engine's calls in it.
fn connect(tls: Option<(&Client, &Server)>) -> (Connection, Connection, Calls) {
    let mut listener = Listener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let near = Connection::connect(listener.address(), tls.map(|(client, _)| client), u64::MAX);
    let mut near = near.expect("it begins");
    let (stream, _) = until("a connection", HANGS, || {
        listener.accept().expect("it listens")
    });
    let far = Connection::accept(stream, tls.map(|(_, server)| server), u64::MAX);
    let (mut far, mut calls) = (far.expect("it begins"), Calls::default());
    until("the end of the handshake", HANGS, || {
        let is_near = calls.run(|| near.is_ready(0)).expect("it is right");
        let is_far = far.is_ready(0).expect("it is right");
        is_near && is_far
    });
    (near, far, calls)
}

fn read(connection: &mut Connection, bytes: usize) -> usize {
    let (mut room, mut read, start) = ([0; 16_384], 0, Instant::now());
    while read < bytes {
        assert!(start.elapsed() < HANGS, "it hangs");
        read += connection.receive(&mut room).expect("it is open");
    }
    read
}

/// Orders sent, and reports read, by the engine's end.
fn exchange(near: &mut Connection, far: &mut Connection, count: usize) -> [Calls; 2] {
    let [mut sends, mut reads] = [Calls::default(), Calls::default()];
    for _ in 0..count {
        let sent = sends.run(|| near.send(&ORDER));
        assert_eq!(sent, Ok(ORDER.len()));
        assert_eq!(read(far, ORDER.len()), ORDER.len());
        assert_eq!(far.send(&REPORT), Ok(REPORT.len()));
        // On loopback the bytes are there when the call that sends them returns.
        let mut room = [0; 16_384];
        let got = reads.run(|| near.receive(&mut room));
        assert_eq!(got, Ok(REPORT.len()));
    }
    [sends, reads]
}

#[test]
fn a_record_of_tls_takes_memory_for_a_moment() {
    let issuer = Issuer::new("the banks");
    let (issued, roots) = (issuer.issue(HOST), issuer.pem());
    let server = Server::new(&ServerSettings {
        certificates: issued.certificate_pem.as_bytes(),
        key: issued.key_pem.as_bytes(),
        client_roots: None,
    });
    let client = Client::new(&Settings {
        server_name: HOST,
        roots: Some(roots.as_bytes()),
        ..Settings::default()
    });
    let (server, client) = (server.expect("a server"), client.expect("a client"));
    for tls in [None, Some((&client, &server))] {
        let (mut near, mut far, mut handshake) = connect(tls);
        exchange(&mut near, &mut far, WARM);
        let [mut sends, mut reads] = exchange(&mut near, &mut far, MESSAGES);
        let name = if tls.is_some() { "TLS" } else { "TCP" };
        eprintln!(
            "{name}: median, longest ns: send {:?}, receive {:?}, longest call of the connect {}; allocations of a send {}, of a \
             receive {}",
            sends.times(),
            reads.times(),
            handshake.times().1,
            sends.each(),
            reads.each(),
        );
        for calls in [&sends, &reads] {
            let kept = calls.count.allocations.abs_diff(calls.count.frees);
            assert!(
                kept <= 8,
                "{name}: memory of {kept} records was not given back"
            );
            let most = if tls.is_some() { 8 } else { 0 };
            assert!(calls.each() <= most, "{name}: {} allocations", calls.each());
        }
    }
}
