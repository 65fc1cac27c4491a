//! Connections that did not identify themselves do not keep copies out.

#[allow(dead_code)] // this needs some of it
#[path = "../../../../net/tests/net/tls/issuer.rs"]
mod issuer;

use super::*;
use issuer::{Issued, Issuer};
use socket2::{Domain, Socket, Type};
use std::net::TcpStream;
use std::time::Instant;
use touchline_net::tls::{Client, Identity, ServerSettings, Settings};

/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(20);
const HOST: &str = "journal.firm.example";
const START_NS: u64 = 1 << 60;
const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// A port with its clock, the issuer of the certificates of both sides, and a certificate of a copy.
struct Rig<'a> {
    port: Port<'a>,
    now_ns: u64,
    issuer: Issuer,
    ours: Issued,
    said: Vec<String>,
}

impl<'a> Rig<'a> {
    fn new(allow: &'a [Ipv4Addr], is_tls: bool) -> Rig<'a> {
        let issuer = Issuer::new("the firm");
        let (server, roots) = (issuer.issue(HOST), issuer.pem());
        let settings = ServerSettings {
            certificates: server.certificate_pem.as_bytes(),
            key: server.key_pem.as_bytes(),
            client_roots: Some(roots.as_bytes()),
        };
        let tls = Server::new(&settings).expect("a certificate with its key");
        Rig {
            port: Port {
                directory: Path::new("/nowhere/yet"),
                allow,
                tls: is_tls.then_some(tls),
                listener: Listener::bind(SocketAddrV4::new(LOCAL, 0)).expect("a port"),
                copies: Vec::new(),
                log_lines: LogLines::default(),
            },
            now_ns: START_NS,
            ours: issuer.issue("copy"),
            issuer,
            said: Vec::new(),
        }
    }

    fn round(&mut self) {
        self.port.round(self.now_ns).expect("no journal yet");
        while let Some(line) = self.port.log_lines.next(self.now_ns) {
            self.said.push(line);
        }
        std::thread::sleep(Duration::from_micros(200));
    }

    #[track_caller]
    fn until(&mut self, what: &str, mut is_done: impl FnMut(&mut Self) -> bool) {
        let start = Instant::now();
        while !is_done(self) {
            assert!(start.elapsed() < HANGS, "no {what}: {:?}", self.said);
            self.round();
        }
    }

    /// A connection from `from` that says nothing.
    fn silent(&self, from: Ipv4Addr) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let from = SocketAddrV4::new(from, 0);
        socket.bind(&from.into()).expect("loopback");
        let to = self.port.listener.address();
        socket.connect(&to.into()).expect("it listens");
        socket.into()
    }

    /// Connects as a copy of this host does.
    fn copy(&self) -> Connection {
        let roots = self.issuer.pem();
        let settings = Settings {
            server_name: HOST,
            roots: Some(roots.as_bytes()),
            pins: &[],
            identity: Some(Identity {
                certificates: self.ours.certificate_pem.as_bytes(),
                key: self.ours.key_pem.as_bytes(),
            }),
        };
        let client = Client::new(&settings).expect("valid settings");
        let tls = self.port.tls.as_ref().map(|_| &client);
        Connection::connect(self.port.listener.address(), tls, u64::MAX).expect("it begins")
    }

    /// Sends a hello and waits for the first bytes of an answer: whether they come.
    fn is_served(&mut self, copy: &mut Connection) -> bool {
        let (hello, mut sent, mut is_served) = (message::hello(None), 0, None);
        self.until("answer", |_| {
            is_served = match copy.is_ready(0) {
                Ok(false) => None,
                Err(_) => Some(false),
                Ok(true) => {
                    sent += copy.send(&hello[sent..]).unwrap_or(0);
                    match copy.receive(&mut [0; 64]) {
                        Ok(0) => None,
                        Ok(_) => Some(true),
                        Err(_) => Some(false),
                    }
                }
            };
            is_served.is_some()
        });
        is_served.expect("an answer")
    }

    fn pending(&self) -> usize {
        let copies = self.port.copies.iter();
        copies.filter(|copy| copy.is_pending()).count()
    }
}

fn others() -> impl Iterator<Item = Ipv4Addr> {
    (2..).map(|last| Ipv4Addr::new(127, 0, 0, last))
}

/// Three hosts without a certificate hold as many connections as they can, and all places of copies are still free.
#[test]
fn connections_without_a_certificate_take_no_place_of_a_copy() {
    let mut rig = Rig::new(&[], true);
    let mut silent = Vec::new();
    for from in others().take(3) {
        (0..10).for_each(|_| silent.push(rig.silent(from)));
    }
    rig.until("limit", |rig| rig.pending() == 3 * PENDING_PER_ADDRESS_MAX);
    let mut copies = Vec::new();
    for _ in 0..COPIES_MAX {
        let mut copy = rig.copy();
        assert!(rig.is_served(&mut copy), "{:?}", rig.said);
        copies.push(copy);
    }
    rig.now_ns += 1_000_000_000;
    let mut ninth = rig.copy();
    assert!(!rig.is_served(&mut ninth));
    let lines = rig.said.iter();
    let served = lines.filter(|line| line.contains("continues at position 0"));
    assert_eq!(served.count(), COPIES_MAX, "{:?}", rig.said);
    // One second: 18 refused connections of silent hosts were two lines at most.
    let lines = rig.said.iter();
    let refused = lines.filter(|line| line.contains("was refused"));
    assert!((1..=2).contains(&refused.count()), "{:?}", rig.said);
    // The place of a copy that ends is free again.
    copies.pop();
    rig.until("place", |rig| {
        rig.port.copies.len() - rig.pending() < COPIES_MAX
    });
    let mut next = rig.copy();
    assert!(rig.is_served(&mut next), "{:?}", rig.said);
}

/// Many hosts fill the places of pending connections for the time of a hello, and no longer.
#[test]
fn pending_connections_are_limited_in_number_and_time() {
    let mut rig = Rig::new(&[], true);
    let mut silent = Vec::new();
    for from in others().take(PENDING_MAX / PENDING_PER_ADDRESS_MAX + 1) {
        (0..PENDING_PER_ADDRESS_MAX).for_each(|_| silent.push(rig.silent(from)));
    }
    rig.until("limit", |rig| rig.pending() == PENDING_MAX);
    let mut copy = rig.copy();
    assert!(!rig.is_served(&mut copy));
    rig.now_ns += HELLO_NS;
    rig.until("end of those", |rig| rig.pending() == 0);
    let mut copy = rig.copy();
    assert!(rig.is_served(&mut copy), "{:?}", rig.said);
}

/// A connection that sends a byte every second has no longer than a silent one.
#[test]
fn a_slow_hello_ends_in_time() {
    use std::io::Write;
    let mut rig = Rig::new(&[LOCAL], false);
    let mut slow = rig.silent(LOCAL);
    rig.until("connection", |rig| rig.pending() == 1);
    for (before, &byte) in message::hello(None)[..5].iter().enumerate() {
        slow.write_all(&[byte]).expect("it is open");
        rig.until("byte", |rig| rig.port.copies[0].received.len() > before);
        rig.now_ns += 1_000_000_000;
    }
    rig.until("end", |rig| rig.pending() == 0);
    assert!(rig.said[0].contains("no hello in time"), "{:?}", rig.said);
}

/// With TLS, too, `--allow` is a list of the only hosts: others are closed before a handshake.
#[test]
fn other_hosts_than_the_allowed_ones_are_closed_before_a_handshake() {
    let mut rig = Rig::new(&[LOCAL], true);
    let _other = rig.silent(Ipv4Addr::new(127, 0, 0, 2));
    rig.until("refusal", |rig| !rig.said.is_empty());
    assert!(rig.said[0].ends_with("not in --allow"), "{:?}", rig.said);
    assert_eq!(rig.pending(), 0);
    let mut copy = rig.copy();
    assert!(rig.is_served(&mut copy), "{:?}", rig.said);
    let command = <Send as clap::Args>::augment_args(clap::Command::new("send"));
    let line = "send j --listen 127.0.0.1:0 --allow 127.0.0.1 --certificate-file c --key-file k --client-roots-file r";
    let parsed = command.try_get_matches_from(line.split(' '));
    assert!(parsed.is_ok(), "{parsed:?}");
}
