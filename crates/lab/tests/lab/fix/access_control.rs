//! Accepted logons: by name and address together, and not while the address is paused.

use super::{Host, is_gone, settings};
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;
use touchline_lab::fix::Connection;
use touchline_lab::fix::scenario::{Heard, filled};
use touchline_session::access_control::{Addresses, Rules, ThrottleLimits};

const SECOND_NS: u64 = 1_000_000_000;

fn here(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, last)
}

fn connection(target: &str, blocks: &[&str]) -> Connection {
    let block = |text: &&str| text.parse().expect("a block");
    let addresses = Addresses::of(blocks.iter().map(block).collect());
    Connection::new(settings(target)).only_from(addresses)
}

/// Two failures pass, and the pauses are of three seconds, six, and so on up to ten.
fn hasty() -> Rules {
    Rules {
        throttle_limits: ThrottleLimits {
            failures_free: 2,
            pause_ns: 3 * SECOND_NS,
            pause_ns_max: 10 * SECOND_NS,
            ..ThrottleLimits::default()
        },
        ..Rules::default()
    }
}

impl Host {
    fn say_logon(&self, stream: &mut TcpStream, sender: &str, target: &str) {
        let logon = format!("8=FIX.4.4|35=A|34=1|49={sender}|52=<TIME>|56={target}|98=0|108=30|");
        let bytes = filled(logon.replace('|', "\x01").as_bytes(), self.pacer.wall_ns());
        // A waiting client may have been disconnected before its first message.
        let _ = stream.write_all(&bytes);
    }

    /// Response to a Logon from this address: every byte until the end, or the first message.
    fn answer(&mut self, from: u8, sender: &str, target: &str) -> (Heard, Vec<u8>) {
        let mut stream = self.connect_from(here(from));
        self.say_logon(&mut stream, sender, target);
        let mut rest = Vec::new();
        let heard = self.hear(&mut stream, &mut rest, Duration::from_secs(20));
        drop(stream);
        while self.acceptor.connections().iter().any(Connection::is_taken) {
            self.work();
        }
        (heard, rest)
    }

    fn lets_in(&mut self, from: u8) -> bool {
        let (heard, rest) = self.answer(from, "TW44", "ISLD");
        assert!(rest.is_empty(), "{rest:?}");
        match heard {
            Heard::Message(_) => true,
            Heard::End => false,
            Heard::Nothing => panic!("it neither answers nor closes"),
        }
    }

    fn fail(&mut self, from: u8, times: u32) {
        for _ in 0..times {
            let (heard, _) = self.answer(from, "NOBODY", "ISLD");
            assert_eq!(heard, Heard::End);
        }
    }

    fn works(&mut self, turns: u32) {
        for _ in 0..turns {
            self.work();
        }
    }
}

/// A correct Logon from another address is answered like one of an unknown identity: not by a byte.
#[test]
fn a_logon_from_an_unlisted_address_gets_no_information() {
    let connections = vec![connection("TW44", &["127.0.0.2"]), connection("OTHER", &[])];
    let mut host = Host::of(connections, Rules::default());
    let nothing = (Heard::End, Vec::new());
    for (from, sender, target) in [
        (2, "NOBODY", "ISLD"),
        (2, "TW44", "WHO"),
        (3, "TW44", "ISLD"),
        (1, "TW44", "ISLD"),
        (3, "NOBODY", "WHO"),
    ] {
        let answer = host.answer(from, sender, target);
        assert_eq!(answer, nothing, "{sender} to {target} from {from}");
    }
    assert_eq!(host.acceptor.totals().turned_away, 5);
    assert!(host.lets_in(2));
}

/// Each session has a list of addresses of its own; without one it accepts every address.
#[test]
fn a_session_has_the_addresses_of_its_list() {
    let blocks = ["127.0.0.2", "127.0.0.16/28"];
    let connections = vec![connection("TW44", &blocks), connection("OTHER", &[])];
    let mut host = Host::of(connections, Rules::default());
    for (from, is_listed) in [(2, true), (1, false), (16, true), (31, true), (32, false)] {
        assert_eq!(host.lets_in(from), is_listed, "from {from}");
        let (other, _) = host.answer(from, "OTHER", "ISLD");
        assert!(matches!(other, Heard::Message(_)), "from {from}: {other:?}");
    }
}

/// After a few failures no bytes from the address are read for a while, and for longer each time, whether or not
/// more connections come meanwhile; other addresses are accepted. A long quiet period ends it.
#[test]
fn an_address_whose_logons_fail_waits() {
    let mut host = Host::start(vec![settings("TW44")], hasty());
    host.fail(2, 2);
    assert!(host.lets_in(2), "two failures are free");
    host.fail(2, 1);
    assert!(!host.lets_in(2), "it waits");
    assert!(host.lets_in(3), "it is not this one that failed");
    host.fail(2, 20);
    host.skipped_ns += 3 * SECOND_NS;
    host.fail(2, 1);
    host.skipped_ns += 4 * SECOND_NS;
    assert!(!host.lets_in(2), "it waits longer");
    host.skipped_ns += 2 * SECOND_NS;
    assert!(host.lets_in(2), "the pause is over");
    host.fail(2, 1);
    host.skipped_ns += 8 * SECOND_NS;
    assert!(!host.lets_in(2), "the longest pause");
    host.skipped_ns += 100 * SECOND_NS;
    host.fail(2, 2);
    assert!(host.lets_in(2), "the throttle starts again");
}

/// His own Logons between them make the wrong ones no fewer, or he could try names for ever.
#[test]
fn a_logged_on_address_has_the_same_limit_of_failed_logons() {
    let mut host = Host::start(vec![settings("TW44")], hasty());
    for _ in 0..3 {
        assert!(host.lets_in(2));
        host.fail(2, 1);
    }
    assert!(!host.lets_in(2), "it waits");
    host.skipped_ns += 3 * SECOND_NS;
    assert!(host.lets_in(2));
    host.fail(2, 1);
    host.skipped_ns += 4 * SECOND_NS;
    assert!(!host.lets_in(2), "it waits longer");
}

/// A connection from an unlisted address is closed before it sends a byte, and blocks no other however often it comes.
#[test]
fn connections_from_unlisted_addresses_take_no_slot() {
    let rules = Rules {
        unauthenticated_max: 64,
        unauthenticated_per_address: 64,
        ..Rules::default()
    };
    let connections = vec![
        connection("TW44", &["127.0.0.2"]),
        connection("OTHER", &["127.0.0.3"]),
    ];
    let mut host = Host::of(connections, rules);
    let mut silent: Vec<TcpStream> = (0..64).map(|_| host.connect_from(here(9))).collect();
    host.works(20);
    assert_eq!(host.acceptor.unauthenticated(), 0);
    assert_eq!(host.acceptor.totals().turned_away, 64);
    assert!(silent.iter_mut().all(is_gone));
    assert!(host.lets_in(2));
}

/// A right name from the address of another session is a failure, too.
#[test]
fn logons_from_unlisted_addresses_are_throttled() {
    let connections = vec![
        connection("TW44", &["127.0.0.2"]),
        connection("OTHER", &["127.0.0.3"]),
    ];
    let mut host = Host::of(connections, hasty());
    for _ in 0..3 {
        assert!(!host.lets_in(3));
    }
    let mut stream = host.connect_from(here(3));
    host.works(20);
    assert!(is_gone(&mut stream), "it is closed before it speaks");
    assert!(host.lets_in(2));
}

/// Connections that were made before the pause do not go round it.
#[test]
fn a_throttle_also_applies_to_open_connections() {
    let mut host = Host::start(vec![settings("TW44")], hasty());
    let mut early: Vec<TcpStream> = (0..4).map(|_| host.connect_from(here(2))).collect();
    host.works(20);
    assert_eq!(host.acceptor.unauthenticated(), 4);
    host.fail(2, 3);
    let mut stream = early.pop().expect("four");
    host.say_logon(&mut stream, "TW44", "ISLD");
    let heard = host.hear(&mut stream, &mut Vec::new(), Duration::from_secs(20));
    assert_eq!(heard, Heard::End);
    assert_eq!(
        host.acceptor.unauthenticated(),
        3,
        "connections without a Logon may wait"
    );
    host.skipped_ns += 4 * SECOND_NS;
    let mut stream = early.pop().expect("three");
    host.say_logon(&mut stream, "TW44", "ISLD");
    let heard = host.hear(&mut stream, &mut Vec::new(), Duration::from_secs(20));
    assert!(matches!(heard, Heard::Message(_)), "{heard:?}");
}

/// A connection that sends no byte, or no Logon, is not a failed Logon.
#[test]
fn silent_and_invalid_connections_are_not_failed_logons() {
    let rules = Rules {
        logon_wait_ns: 60 * SECOND_NS,
        ..hasty()
    };
    let mut host = Host::start(vec![settings("TW44")], rules);
    let mut streams: Vec<TcpStream> = (0..10).map(|_| host.connect_from(here(2))).collect();
    for stream in &mut streams[..5] {
        stream
            .write_all(b"GET / HTTP/1.1\r\n\r\n")
            .expect("it listens");
    }
    host.works(20);
    assert_eq!(host.acceptor.unauthenticated(), 5);
    host.skipped_ns += 120 * SECOND_NS;
    host.works(20);
    assert_eq!(host.acceptor.totals().turned_away, 10);
    assert!(streams.iter_mut().all(is_gone));
    assert!(host.lets_in(2));
}
