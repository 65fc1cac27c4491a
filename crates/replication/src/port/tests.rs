//! Connections that did not identify themselves do not keep copies out.

use super::*;
use socket2::{Domain, Socket, Type};
use std::net::TcpStream;
use touchline_net::tls::{Client, Identity, ServerSettings, Settings};
use touchline_testing::PATIENCE;
use touchline_testing::issuer::{Issued, Issuer};

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
            port: Port::new(
                Path::new("/nowhere/yet"),
                allow,
                is_tls.then_some(tls),
                Listener::bind(SocketAddrV4::new(LOCAL, 0)).expect("a port"),
            ),
            now_ns: START_NS,
            ours: issuer.issue("copy"),
            issuer,
            said: Vec::new(),
        }
    }

    fn round(&mut self) {
        let time = ReceiveTime::at(self.now_ns);
        self.port.round(time).expect("no journal yet");
        let events = self.port.take_events().into_iter();
        self.said.extend(events.map(|event| format!("{event:?}")));
    }

    #[track_caller]
    fn until(&mut self, what: &str, mut is_done: impl FnMut(&mut Self) -> bool) {
        touchline_testing::until(what, PATIENCE, || {
            if is_done(self) {
                return Ok(());
            }
            self.round();
            Err(self.said.clone())
        });
    }

    /// A silent connection from `from`.
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
        !self.answer(copy, &message::hello(None)).is_empty()
    }

    /// Sends bytes and waits for the first ones of an answer; empty: the connection ended.
    fn answer(&mut self, copy: &mut Connection, bytes: &[u8]) -> Vec<u8> {
        let (mut sent, mut answer) = (0, None);
        self.until("answer", |_| {
            answer = match copy.is_ready(0) {
                Ok(false) => None,
                Err(_) => Some(Vec::new()),
                Ok(true) => {
                    sent += copy.send(&bytes[sent..]).unwrap_or(0);
                    let mut room = [0; 4_096];
                    match copy.receive(&mut room) {
                        Ok(0) => None,
                        Ok(count) => Some(room[..count].to_vec()),
                        Err(_) => Some(Vec::new()),
                    }
                }
            };
            answer.is_some()
        });
        answer.expect("an answer")
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
    let events = |what: &str| {
        let said = rig.said.iter();
        said.filter(|event| event.starts_with(what)).count()
    };
    let served = events("Connected");
    assert_eq!(served, COPIES_MAX, "{:?}", rig.said);
    // 18 of silent hosts and the ninth copy.
    assert_eq!((events("Refused"), rig.port.refused), (19, 19));
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

/// With TLS, too, the allowed hosts are the only ones: others are closed before a handshake.
#[test]
fn other_hosts_than_the_allowed_ones_are_closed_before_a_handshake() {
    let mut rig = Rig::new(&[LOCAL], true);
    let _other = rig.silent(Ipv4Addr::new(127, 0, 0, 2));
    rig.until("refusal", |rig| !rig.said.is_empty());
    assert!(rig.said[0].starts_with("NotAllowed"), "{:?}", rig.said);
    assert_eq!(rig.pending(), 0);
    let mut copy = rig.copy();
    assert!(rig.is_served(&mut copy), "{:?}", rig.said);
}

/// A copy of another release is refused, and both sides report the reason.
#[test]
fn a_copy_of_another_version_hears_why_it_gets_nothing() {
    let mut rig = Rig::new(&[LOCAL], false);
    let mut copy = rig.copy();
    let mut hello = message::hello(None);
    hello[7] = b'1';
    let answer = rig.answer(&mut copy, &hello);
    let taken = message::take(&answer)
        .expect("a message")
        .expect("a whole one");
    let Message::Refusal(why) = taken.0 else {
        panic!("{taken:?}");
    };
    assert!(why.contains("another version"), "{why}");
    rig.until("end", |rig| rig.port.copies.is_empty());
    assert!(rig.said[0].contains("another version"), "{:?}", rig.said);
    assert_eq!(rig.port.counters(0).journal_copies_refused, 1);
}

/// The lag of a copy is computed from its acknowledgements: a copy that acknowledges more than was sent is
/// disconnected.
#[test]
fn a_copy_cannot_acknowledge_what_was_not_sent() {
    let mut rig = Rig::new(&[LOCAL], false);
    let mut copy = rig.copy();
    assert!(rig.is_served(&mut copy), "{:?}", rig.said);
    assert_eq!(rig.port.counters(0).journal_copies, 1);
    let mut sent = 0;
    rig.until("end", |rig| {
        sent += copy.send(&1_u64.to_le_bytes()[sent..]).unwrap_or(0);
        rig.port.copies.is_empty()
    });
    let last = rig.said.len() - 1;
    assert!(
        rig.said[last].contains("what was not sent"),
        "{:?}",
        rig.said
    );
    let counters = rig.port.counters(0);
    assert_eq!(
        (counters.journal_copies, counters.journal_copies_lost),
        (0, 1)
    );
}
