//! TCP replay against correct and faulty servers: lost packets are requested, and for every answer the path continues
//! within its limits.
//!
//! Goal: a complete answer fills the gap; a rejected, truncated, wrong, late or missing answer leads to the next host
//! and then to snapshots; a dead server receives few connections. Method: real sockets over the loopback interface, a
//! server of the test, and a clock that the test moves.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use touchline_feed::cme::replay::Credentials;
use touchline_feed::cme::{FeedType, Line, Replay, Settings};
use touchline_feed::{ReceiveTime, Request};
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_gateway::venues::cme::{Failure, Recovery, RecoveryCounters};
use touchline_gateway::{Limits, Now, Retransmission};
use touchline_lab::cme::encode::packet;
use touchline_testing::{free_address, until};
use touchline_transport::Local;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;
const PASSWORD: &str = "sentinel-827ccb0e";

/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(30);

/// Behaviour of a server for one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    /// Answers correctly.
    Right,
    /// Rejects the logon.
    Refuses,
    /// Sends the first half, then a logout.
    Half,
    /// Sends the first half, then closes in the middle of a packet.
    Cut,
    /// Sends bytes that are not a packet.
    Garbage,
    /// Sends packets with these numbers of another week.
    Old,
    /// Accepts the connection and never answers.
    Silent,
    /// Closes at once.
    Closes,
}

/// A server that takes one connection for each behaviour, and reports each request.
fn serve(moods: &'static [Mood]) -> (SocketAddrV4, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let Ok(SocketAddr::V4(address)) = listener.local_addr() else {
        panic!("no address");
    };
    let (told, requests) = channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for &mood in moods {
            let (mut stream, _) = listener.accept().expect("a connection");
            // A client that disconnects early is not an error of the server.
            let _ = converse(mood, &mut stream, &told);
            if mood == Mood::Silent {
                open.push(stream);
            }
        }
        // A silent server stays silent as long as the client waits.
        let _ = open
            .iter_mut()
            .try_for_each(|stream| stream.read_to_end(&mut Vec::new()).map(drop));
    });
    (address, requests)
}

fn converse(mood: Mood, stream: &mut TcpStream, told: &Sender<String>) -> io::Result<()> {
    if mood == Mood::Closes {
        return Ok(());
    }
    let logon = read_fix(stream)?;
    let _ = told.send(logon);
    match mood {
        Mood::Silent => return Ok(()),
        Mood::Refuses => return send(stream, &admin(1, 16, &refusal())),
        _ => send(stream, &admin(1, 15, &[30]))?,
    }
    let request = read_fix(stream)?;
    let field = |tag: &str| {
        let value = request.split('|').find_map(|field| field.strip_prefix(tag));
        value
            .and_then(|value| value.parse::<u32>().ok())
            .expect("a number")
    };
    let (first, last) = (field("1182="), field("1183="));
    let _ = told.send(request.clone());
    let half = first + (last - first) / 2;
    match mood {
        Mood::Garbage => return stream.write_all(&[0xff; 64]),
        Mood::Old => (first..=last).try_for_each(|n| send(stream, &heartbeat(n, 1)))?,
        Mood::Right => (first..=last).try_for_each(|n| send(stream, &heartbeat(n, sent_ns(n))))?,
        _ => (first..=half).try_for_each(|n| send(stream, &heartbeat(n, sent_ns(n))))?,
    }
    match mood {
        Mood::Cut => stream.write_all(&[24, 0, 1, 2, 3]),
        _ => send(stream, &admin(2, 16, &[0; 180])),
    }
}

/// Reads a message up to its checksum, with bars as separators.
fn read_fix(stream: &mut TcpStream) -> io::Result<String> {
    let (mut text, mut byte) = (String::new(), [0]);
    loop {
        stream.read_exact(&mut byte)?;
        text.push(if byte[0] == 1 { '|' } else { byte[0].into() });
        let trailer = text.rfind("|10=");
        if trailer.is_some_and(|at| text.len() == at + 8 && text.ends_with('|')) {
            return Ok(text);
        }
    }
}

fn send(stream: &mut TcpStream, packet: &[u8]) -> io::Result<()> {
    let mut framed = (packet.len() as u16).to_le_bytes().to_vec();
    framed.extend(packet);
    // In two writes, so that packets arrive in pieces.
    let (head, rest) = framed.split_at(9);
    stream.write_all(head)?;
    stream.write_all(rest)
}

fn admin(sequence: u32, template: u16, block: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    for field in [10 + block.len() as u16, block.len() as u16, template, 1, 9] {
        message.extend(field.to_le_bytes());
    }
    message.extend(block);
    packet(sequence, SECOND, &[message])
}

fn refusal() -> [u8; 180] {
    let mut text = [0; 180];
    text[..12].copy_from_slice(b"no such user");
    text
}

/// Heartbeats take numbers like every packet: the smallest session.
fn heartbeat(sequence: u32, sent_ns: u64) -> Vec<u8> {
    let mut message = Vec::new();
    for field in [10_u16, 0, 12, 1, 9] {
        message.extend(field.to_le_bytes());
    }
    packet(sequence, sent_ns, &[message])
}

fn sent_ns(sequence: u32) -> u64 {
    SECOND + u64::from(sequence) * MILLISECOND
}

/// A path with a client, and a clock that moves only on request.
struct Bench {
    path: CmePipeline<Local<()>>,
    recovery: Recovery,
    now_ns: u64,
    next: u32,
}

impl Bench {
    fn new(hosts: &[SocketAddrV4]) -> Bench {
        let reach = Replay {
            wait_ns: 900 * MILLISECOND,
            packets_max: 100,
        };
        let settings = Settings {
            hold_packets_max: 256,
            packet_bytes_max: 1_500,
            instruments_max: 4,
            queue_entries_max: 16,
            snapshot_orders_max: 16,
            replay: Some(reach),
            ..Settings::default()
        };
        let limits = Limits {
            instruments_max: 4,
            orders_max: 16,
            event_changes_max: 64,
            default_depth: settings.default_depth,
            levels_max: 0,
        };
        let credentials = Credentials::new("firm", PASSWORD).expect("they can be sent");
        let mut bench = Bench {
            path: build(settings, limits, Symbols::default(), Local::new(())),
            recovery: Recovery::new(reach, credentials, 310, hosts.to_vec(), 1_500),
            now_ns: 10 * SECOND,
            next: 1,
        };
        bench.packet();
        bench
    }

    /// Next packet of a line.
    fn packet(&mut self) {
        let bytes = heartbeat(self.next, sent_ns(self.next));
        // The first packet of a channel needs confirmation: each is sent on both lines.
        for line in [Line::A, Line::B] {
            self.path
                .packet((FeedType::Incremental, line), &bytes, self.now_ns, 0);
        }
        self.next += 1;
    }

    /// Both lines lose this number of packets, and the wait for a late copy is over.
    fn lose(&mut self, packets: u32) -> Option<Request> {
        self.next += packets;
        self.packet();
        self.advance(30 * MILLISECOND);
        self.path.request()
    }

    fn advance(&mut self, ns: u64) {
        self.now_ns += ns;
        self.path.advance(self.now_ns);
    }

    fn poll(&mut self) {
        let now = Now {
            steady_ns: self.now_ns,
            time: ReceiveTime::at(self.now_ns),
        };
        self.recovery.poll(&mut self.path, now);
    }

    /// Polls, without moving the clock, until no packet is awaited.
    fn poll_to_the_end(&mut self) {
        until("the last awaited packet", HANGS, || {
            if self.path.request().is_none() {
                return Ok(());
            }
            self.poll();
            Err(format!("{:?}", self.recovery.counters()))
        });
        self.poll();
    }

    fn lost(&self) -> u64 {
        self.path.feed().counters().packets_lost
    }

    fn counters(&self) -> RecoveryCounters {
        *self.recovery.counters()
    }
}

#[test]
fn a_complete_answer_fills_the_gap() {
    let (server, requests) = serve(&[Mood::Right, Mood::Right]);
    let mut bench = Bench::new(&[server]);
    let wanted = bench.lose(40);
    assert_eq!(wanted, Some(Request::Retransmit { first: 2, last: 41 }));
    bench.poll_to_the_end();
    assert_eq!(bench.lost(), 0);
    let feed = *bench.path.feed().counters();
    assert_eq!((feed.packets_replayed, feed.packets_delivered), (40, 42));
    let logon = requests.recv_timeout(HANGS).expect("a logon");
    assert!(
        logon.contains(&format!("|35=A|553=firm|554={PASSWORD}|10=")),
        "{logon}"
    );
    let request = requests.recv_timeout(HANGS).expect("a request");
    assert!(
        request.contains("|35=V|1180=310|262=310-1|1182=2|1183=41|10="),
        "{request}"
    );
    // The next request needs a new connection.
    bench.lose(1);
    bench.poll_to_the_end();
    assert_eq!(bench.lost(), 0);
    let counters = bench.counters();
    assert_eq!((counters.replay_requests, counters.replay_served), (2, 2));
    assert_eq!(
        (counters.replay_packets, counters.replay_fell_back),
        (41, 0)
    );
    assert_eq!(bench.recovery.failure(), None);
}

/// Each kind of failure is counted under its counter, the next host is tried, and its answer fills
/// the gap.
#[test]
fn after_a_failed_host_the_next_one_is_tried() {
    let refused = |counters: RecoveryCounters| counters.replay_rejected;
    let short = |counters: RecoveryCounters| counters.replay_short;
    let broken = |counters: RecoveryCounters| counters.replay_broken;
    let unreachable = |counters: RecoveryCounters| counters.replay_unreachable;
    type Count = fn(RecoveryCounters) -> u64;
    let cases: [(&'static [Mood], Count); 6] = [
        (&[Mood::Refuses], refused),
        (&[Mood::Half], short),
        (&[Mood::Old], short),
        (&[Mood::Garbage], broken),
        (&[Mood::Cut], unreachable),
        (&[Mood::Closes], unreachable),
    ];
    for (moods, count) in cases {
        let ((bad, _), (good, _)) = (serve(moods), serve(&[Mood::Right]));
        let mut bench = Bench::new(&[bad, good]);
        bench.lose(10);
        bench.poll_to_the_end();
        let counters = bench.counters();
        assert_eq!(bench.lost(), 0, "{moods:?}: {counters:?}");
        assert_eq!(
            (count(counters), counters.replay_requests),
            (1, 2),
            "{moods:?}: {counters:?}"
        );
        assert_eq!((counters.replay_served, counters.replay_fell_back), (1, 0));
    }
}

/// All hosts fail: received packets are used, the others are lost, and snapshots recover the books.
#[test]
fn when_all_fail_the_gap_is_lost() {
    let (server, _) = serve(&[Mood::Refuses, Mood::Half, Mood::Cut]);
    let mut bench = Bench::new(&[server]);
    bench.lose(10);
    bench.poll_to_the_end();
    let counters = bench.counters();
    assert_eq!(
        (counters.replay_requests, counters.replay_fell_back),
        (3, 1)
    );
    assert_eq!(
        (bench.path.feed().counters().packets_replayed, bench.lost()),
        (5, 5)
    );
    assert_eq!(
        bench.recovery.failure(),
        Some(Failure::Unreachable(touchline_net::stream::Error::Closed))
    );
    bench.packet();
    assert_eq!(
        bench.path.feed().counters().packets_delivered,
        8,
        "the path goes on"
    );
}

#[test]
fn a_refusal_is_reported_with_the_text_of_the_venue() {
    let (server, _) = serve(&[Mood::Refuses, Mood::Refuses, Mood::Refuses]);
    let mut bench = Bench::new(&[server]);
    bench.lose(1);
    bench.poll_to_the_end();
    assert_eq!(bench.recovery.failure(), Some(Failure::Refused));
    assert_eq!(bench.recovery.reason(), b"no such user");
    assert!(!format!("{:?}", bench.recovery).contains(PASSWORD));
}

/// A host without an answer gets its share of the time; the feed's limit ends the request.
#[test]
fn a_server_that_does_not_answer_times_out() {
    let (server, requests) = serve(&[Mood::Silent, Mood::Silent, Mood::Silent]);
    let mut bench = Bench::new(&[server]);
    bench.lose(1);
    for _ in 0..3 {
        until("a logon", HANGS, || {
            bench.poll();
            requests.try_recv().ok()
        });
        bench.advance(300 * MILLISECOND);
        bench.poll();
    }
    assert_eq!((bench.path.request(), bench.lost()), (None, 1));
    bench.poll();
    let counters = bench.counters();
    assert_eq!(
        (counters.replay_requests, counters.replay_fell_back),
        (3, 1)
    );
    assert!(counters.replay_timed_out >= 2, "{counters:?}");
}

/// A late copy on a line fills the gap; the connection is closed, and this is not a failure.
#[test]
fn a_late_copy_of_the_packet_ends_the_replay_session() {
    let (server, requests) = serve(&[Mood::Silent]);
    let mut bench = Bench::new(&[server]);
    bench.lose(1);
    let start = Instant::now();
    while requests.try_recv().is_err() && start.elapsed() < HANGS {
        bench.poll();
    }
    let late = heartbeat(2, sent_ns(2));
    bench
        .path
        .packet((FeedType::Incremental, Line::B), &late, bench.now_ns, 0);
    bench.poll();
    let counters = bench.counters();
    assert_eq!(
        (
            counters.replay_served,
            counters.replay_fell_back,
            bench.lost()
        ),
        (1, 0, 0)
    );
}

/// Ten minutes of a dead server and a gap each tenth of a second.
#[test]
fn connection_attempts_to_a_dead_server_are_limited() {
    let mut bench = Bench::new(&[free_address()]);
    for _ in 0..6_000 {
        bench.lose(1);
        for _ in 0..7 {
            bench.advance(10 * MILLISECOND);
            bench.poll();
        }
    }
    let counters = bench.counters();
    assert!(bench.lost() > 5_900, "only {} gaps", bench.lost());
    // Backoffs of 1, 2, 4, 8, 16, 32 seconds and then of a minute; three attempts each.
    let episodes = counters.replay_fell_back;
    assert!((10..=17).contains(&episodes), "{counters:?}");
    assert!(counters.replay_requests <= 3 * episodes, "{counters:?}");
}

/// The day's budget of connections is enforced, and renewed.
#[test]
fn the_number_of_requests_of_a_day_is_limited() {
    const FOUR: &[Mood] = &[Mood::Right; 4];
    let (server, requests) = serve(FOUR);
    let mut bench = Bench::new(&[server]);
    bench.recovery = bench.recovery.with_limits(3, 2);
    for gap in 1..=5 {
        bench.lose(1);
        bench.poll_to_the_end();
        let counters = bench.counters();
        assert_eq!(counters.replay_requests, gap.min(2), "{counters:?}");
    }
    assert_eq!((bench.lost(), bench.counters().replay_over_budget), (3, 1));
    bench.advance(86_400 * SECOND);
    bench.lose(1);
    bench.poll_to_the_end();
    assert_eq!((bench.lost(), bench.counters().replay_requests), (3, 3));
    assert_eq!(requests.try_iter().count(), 6, "each a logon and a request");
}
