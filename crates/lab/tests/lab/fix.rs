//! FIX counterparties on real sockets: many connections at once, and unauthenticated ones.

mod access_control;
mod stores;

use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};
use touchline_feed::ReceiveTime;
use touchline_lab::fix::scenario::{Heard, Scenario, TestTransport, filled};
use touchline_lab::fix::{Acceptor, Connection};
use touchline_lab::pacing::Pacer;
use touchline_lab::random::amount;
use touchline_session::access_control::Rules;
use touchline_session::fix::{Checks, Role, Settings};

/// An acceptor in this thread, and the clock it goes by.
struct Host {
    acceptor: Acceptor,
    pacer: Pacer,
    /// Time that a test let pass at once.
    skipped_ns: u64,
}

impl Host {
    fn start(sessions: Vec<Settings>, rules: Rules) -> Host {
        Host::of(sessions.into_iter().map(Connection::new).collect(), rules)
    }

    fn of(connections: Vec<Connection>, rules: Rules) -> Host {
        let anywhere = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        Host {
            acceptor: Acceptor::listen(anywhere, connections, rules).expect("a free port"),
            pacer: Pacer::start(),
            skipped_ns: 0,
        }
    }

    fn connect(&self) -> TcpStream {
        self.connect_from(Ipv4Addr::LOCALHOST)
    }

    fn connect_from(&self, from: Ipv4Addr) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let ours = SocketAddrV4::new(from, 0);
        socket.bind(&ours.into()).expect("an address of ours");
        socket
            .connect(&self.acceptor.address().into())
            .expect("it listens");
        socket.set_nonblocking(true).expect("a socket");
        socket.into()
    }

    fn work(&mut self) {
        let time = ReceiveTime {
            wall_ns: self.pacer.wall_ns(),
            mono_ns: self.pacer.elapsed_ns() + self.skipped_ns,
        };
        if !self.acceptor.work(time) {
            std::thread::sleep(Duration::from_micros(300));
        }
    }

    /// Works until something has come, or the end.
    fn hear(&mut self, stream: &mut TcpStream, buffer: &mut Vec<u8>, patience: Duration) -> Heard {
        let start = Instant::now();
        let mut room = [0; 4_096];
        loop {
            if let Some(place) = buffer.windows(4).position(|window| window == b"\x0110=")
                && buffer.len() >= place + 8
            {
                return Heard::Message(buffer.drain(..place + 8).collect());
            }
            match stream.read(&mut room) {
                Ok(0) => return Heard::End,
                Ok(bytes) => buffer.extend(&room[..bytes]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.work(),
                Err(_) => return Heard::End,
            }
            if start.elapsed() > patience {
                return Heard::Nothing;
            }
        }
    }
}

/// Testers on connections of their own.
struct Testers {
    host: Host,
    streams: Vec<Option<(TcpStream, Vec<u8>)>>,
}

impl TestTransport for Testers {
    fn connect(&mut self, line: u8) {
        let line = usize::from(line);
        if self.streams.len() <= line {
            self.streams.resize_with(line + 1, || None);
        }
        self.streams[line] = Some((self.host.connect(), Vec::new()));
    }

    fn drop(&mut self, line: u8) {
        self.streams[usize::from(line)] = None;
        for _ in 0..20 {
            self.host.work();
        }
    }

    fn say(&mut self, line: u8, bytes: &[u8]) {
        if let Some((stream, _)) = &mut self.streams[usize::from(line)] {
            // A disconnected client sends the rest to a closed connection.
            let _ = stream.write_all(bytes);
        }
    }

    fn hear(&mut self, line: u8) -> Heard {
        match &mut self.streams[usize::from(line)] {
            Some((stream, buffer)) => self.host.hear(stream, buffer, Duration::from_secs(20)),
            None => Heard::End,
        }
    }

    fn wait(&mut self, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < until {
            self.host.work();
        }
    }

    fn wall_ns(&self) -> u64 {
        self.host.pacer.wall_ns()
    }
}

fn settings(target: &str) -> Settings {
    Settings {
        reset_on_logon: true,
        checks: Checks::Standard,
        ..Settings::new(Role::Acceptor, "ISLD", target)
    }
}

/// A second connection of an identity that is logged on is closed without an answer, and the first continues;
/// another identity is accepted beside it.
#[test]
fn one_connection_for_each_identity() {
    let text = "\
i1,CONNECT
I1,8=FIX.4.4|35=A|34=1|49=TW44|52=<TIME>|56=ISLD|98=0|108=30|
E1,8=FIX.4.4|35=A|34=1|49=ISLD|52=<TIME>|56=TW44|98=0|108=30|
i2,CONNECT
I2,8=FIX.4.4|35=A|34=1|49=TW44|52=<TIME>|56=ISLD|98=0|108=30|
e2,DISCONNECT
i3,CONNECT
I3,8=FIX.4.4|35=A|34=1|49=OTHER|52=<TIME>|56=ISLD|98=0|108=30|
E3,8=FIX.4.4|35=A|34=1|49=ISLD|52=<TIME>|56=OTHER|98=0|108=30|
I1,8=FIX.4.4|35=1|34=2|49=TW44|52=<TIME>|56=ISLD|112=still here|
E1,8=FIX.4.4|35=0|34=2|49=ISLD|52=<TIME>|56=TW44|112=still here|
i1,DISCONNECT
i2,CONNECT
I2,8=FIX.4.4|35=A|34=1|49=TW44|52=<TIME>|56=ISLD|98=0|108=30|
E2,8=FIX.4.4|35=A|34=1|49=ISLD|52=<TIME>|56=TW44|98=0|108=30|
I3,8=FIX.4.4|35=5|34=2|49=OTHER|52=<TIME>|56=ISLD|
E3,8=FIX.4.4|35=5|34=2|49=ISLD|52=<TIME>|56=OTHER|
e3,DISCONNECT
";
    let scenario = Scenario::parse(text.as_bytes()).expect("a scenario");
    let host = Host::start(vec![settings("TW44"), settings("OTHER")], Rules::default());
    let mut testers = Testers {
        host,
        streams: Vec::new(),
    };
    assert_eq!(scenario.run(Role::Acceptor, &mut testers), Ok(()));
}

/// Unauthenticated connections send no byte, a byte now and then, or the header of a long message. Logged-on clients
/// get their heartbeats on time, and the other connections are closed after their timeout. `UNAUTHENTICATED` is their number.
#[test]
fn unauthenticated_connections_do_not_slow_other_sessions() {
    let count = amount("UNAUTHENTICATED", 200) as usize;
    let rules = Rules {
        logon_wait_ns: 4_000_000_000,
        unauthenticated_per_address: count,
        ..Rules::default()
    };
    let mut host = Host::start(vec![settings("TW44")], rules);
    let mut client = host.connect();
    let logon = "8=FIX.4.4|35=A|34=1|49=TW44|52=<TIME>|56=ISLD|98=0|108=1|".replace('|', "\x01");
    client
        .write_all(&filled(logon.as_bytes(), host.pacer.wall_ns()))
        .expect("it listens");
    let mut buffer = Vec::new();
    let answer = host.hear(&mut client, &mut buffer, Duration::from_secs(5));
    assert!(matches!(answer, Heard::Message(_)), "{answer:?}");
    let before_kib = resident_kib();
    let mut login_queue: Vec<TcpStream> = (0..count).map(|_| host.connect()).collect();
    let (start, mut last, mut beats) = (Instant::now(), Instant::now(), 1_u32);
    let (mut intervals, mut most, mut second) = (Vec::new(), 0, 0);
    while start.elapsed() < Duration::from_secs(6) {
        if start.elapsed().as_secs() >= second {
            second += 1;
            trickle(&mut login_queue, second);
        }
        most = most.max(host.acceptor.unauthenticated());
        let heard = host.hear(&mut client, &mut buffer, Duration::from_millis(20));
        match heard {
            Heard::Message(_) => {
                intervals.push(last.elapsed());
                last = Instant::now();
                beats += 1;
                // Ours are due, too.
                let beat = format!("8=FIX.4.4|35=0|34={beats}|49=TW44|52=<TIME>|56=ISLD|")
                    .replace('|', "\x01");
                client
                    .write_all(&filled(beat.as_bytes(), host.pacer.wall_ns()))
                    .expect("it is up");
            }
            Heard::Nothing => {}
            Heard::End => panic!("the client was sent away"),
        }
    }
    assert!(
        most > count * 3 / 5,
        "only {most} unauthenticated connections at once"
    );
    assert!(beats >= 5, "{beats} heartbeats in six seconds");
    // The host may stop this process once; slow work delays each of them.
    intervals.sort();
    let latest = intervals[intervals.len() - 2];
    assert!(
        latest < Duration::from_millis(1_500),
        "heartbeats after {intervals:?}"
    );
    assert_eq!(host.acceptor.unauthenticated(), 0, "they are still there");
    let gone = login_queue
        .iter_mut()
        .map(is_gone)
        .filter(|gone| *gone)
        .count();
    assert_eq!(gone, count, "their sockets are open");
    assert_eq!(host.acceptor.totals().turned_away, count as u64);
    let grown_kib = resident_kib().saturating_sub(before_kib);
    println!(
        "{count} unauthenticated connections, {most} at once: a heartbeat after {latest:?}, {grown_kib} KiB more"
    );
    assert!(grown_kib < 64 * 1_024, "{grown_kib} KiB more");
}

/// A third of the connections sends no byte, a third one byte of a Logon each second, a third announces a billion bytes:
/// the last are closed at once.
fn trickle(login_queue: &mut [TcpStream], second: u64) {
    for (at, unauthenticated) in login_queue.iter_mut().enumerate() {
        let bytes: &[u8] = match at % 3 {
            0 => b"",
            1 => &b"8=FIX.4.4\x019=100\x01"[second as usize - 1..second as usize],
            _ if second == 1 => b"8=FIX.4.4\x019=999999999\x0135=A\x01",
            _ => b"more",
        };
        // Disconnected clients are not waited for.
        let _ = unauthenticated.write(bytes);
    }
}

fn is_gone(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 16]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let words = line.and_then(|line| line.split_whitespace().nth(1));
    words.and_then(|kib| kib.parse().ok()).expect("a number")
}

/// Unauthenticated connections of one address beyond the limit are closed at once, and others are not.
#[test]
fn unauthenticated_connections_of_one_address_have_a_limit() {
    let rules = Rules {
        unauthenticated_per_address: 3,
        ..Rules::default()
    };
    let mut host = Host::start(vec![settings("TW44")], rules);
    let mut streams: Vec<TcpStream> = (0..5).map(|_| host.connect()).collect();
    for _ in 0..50 {
        host.work();
    }
    assert_eq!(host.acceptor.unauthenticated(), 3);
    assert_eq!(
        streams.iter_mut().map(is_gone).filter(|gone| *gone).count(),
        2
    );
}

/// The answer to a Logon of an unknown identity is the same as with a wrong name of ours: none, and at once.
#[test]
fn an_unknown_counterparty_gets_no_information() {
    let mut host = Host::start(vec![settings("TW44")], Rules::default());
    for (sender, target) in [("NOBODY", "ISLD"), ("TW44", "WHO"), ("NOBODY", "WHO")] {
        let mut stream = host.connect();
        let logon = format!("8=FIX.4.4|35=A|34=1|49={sender}|52=<TIME>|56={target}|98=0|108=30|");
        let bytes = filled(logon.replace('|', "\x01").as_bytes(), host.pacer.wall_ns());
        stream.write_all(&bytes).expect("it listens");
        let heard = host.hear(&mut stream, &mut Vec::new(), Duration::from_secs(5));
        assert_eq!(heard, Heard::End, "{sender} to {target}");
    }
}
