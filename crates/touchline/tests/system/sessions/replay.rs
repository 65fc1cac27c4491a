//! TCP replay: replayed packets have the effect of packets that were not lost, and missing ones that of a loss.
//!
//! A server of the test has every sent packet, and several behaviours. Its answers go as bytes, in pieces, through the
//! session that a gateway uses.

use crate::sessions::lines::long;
use crate::sessions::path::{
    Path, channel, mirror_agrees, path, picture, run, settings, subscriber,
};
use crate::sessions::recovery::{every_book, everything_at_once, is_right};
use crate::sessions::watch::History;
use crate::sessions::{same, seeds};
use touchline_feed::Request;
use touchline_feed::cme::replay::{Credentials, Step};
use touchline_feed::cme::{FeedType, Join, Line, Replay, replay};
use touchline_lab::capture::{self, Arrival};
use touchline_lab::cme::encode::packet;
use touchline_lab::cme::{Options, SentPacket, Session, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_lab::random::Random;
use touchline_transport::{Envelope, Subscribe};
use touchline_types::{Update, Validity};

const MILLISECOND: u64 = 1_000_000;
/// Shorter than the cycles at the end of a session, in which all books recover: a gap that is given up after the last
/// of them stays a gap.
const REPLAY: Replay = Replay {
    wait_ns: 30 * MILLISECOND,
    packets_max: 2_000,
};

/// Behaviour of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Right,
    Refuses,
    /// Half of the packets, then a logout.
    Half,
    /// All of them, after the wait is over.
    Slow,
    /// Bytes that are not a packet.
    Garbage,
    /// Other packets with these numbers, sent a day ago.
    Old,
}

const MOODS: [Mood; 6] = [
    Mood::Right,
    Mood::Refuses,
    Mood::Half,
    Mood::Slow,
    Mood::Garbage,
    Mood::Old,
];

/// Timers of this test: requests from the server the packets that the path awaits.
struct Desk<'s> {
    session: &'s Session,
    moods: &'s [Mood],
    random: Random,
    client: replay::Session,
    asked: Option<Request>,
    /// Time of the answer, and its content.
    answer: Option<(u64, Vec<u8>)>,
}

impl<'s> Desk<'s> {
    fn new(session: &'s Session, moods: &'s [Mood], seed: u64) -> Desk<'s> {
        let credentials = Credentials::new("user", "password").expect("both can be sent");
        Desk {
            session,
            moods,
            random: Random::from_seed(seed ^ 0x7E91A7),
            client: replay::Session::new(credentials, 310, 2_048),
            asked: None,
            answer: None,
        }
    }

    /// Sends a request, or delivers received packets.
    fn look<S: Subscribe>(&mut self, path: &mut Path<S>, now_ns: u64) {
        let wanted = path.request();
        if wanted != self.asked {
            self.asked = wanted;
            self.answer = wanted.map(|Request::Retransmit { first, last }| {
                let (first, last) = (first as u32, last as u32);
                self.client.begin(first, last);
                self.answer_to(first, last, now_ns)
            });
        }
        if let Some((_, bytes)) = self.answer.take_if(|(at, _)| *at <= now_ns)
            && !self.hand_over(&bytes, path, now_ns)
        {
            path.request_failed(now_ns);
            self.asked = None;
        }
    }

    /// Whether the answer contained all awaited packets.
    fn hand_over<S: Subscribe>(&mut self, bytes: &[u8], path: &mut Path<S>, now_ns: u64) -> bool {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.client.room();
            let piece = 1 + self.random.index(3_000);
            let (now, later) = rest.split_at(piece.min(rest.len()).min(room.len()));
            room[..now.len()].copy_from_slice(now);
            self.client.received(now.len());
            rest = later;
            while let Some(step) = self.client.step() {
                let Step::Packet(packet) = step else { break };
                path.packet((FeedType::Replay, Line::A), packet, now_ns, 0);
                if path.request() != self.asked {
                    return true;
                }
            }
        }
        false
    }

    fn answer_to(&mut self, first: u32, last: u32, now_ns: u64) -> (u64, Vec<u8>) {
        let mood = *self.random.pick(self.moods);
        let delay_ns = match mood {
            Mood::Slow => REPLAY.wait_ns + MILLISECOND,
            _ => self.random.below(4) * MILLISECOND,
        };
        let half = first + (last - first) / 2;
        let asked = match mood {
            Mood::Refuses | Mood::Garbage => first..first,
            Mood::Half => first..half,
            _ => first..last + 1,
        };
        let mut bytes = Vec::new();
        if mood != Mood::Refuses {
            push(&mut bytes, &admin(15, &[30]));
        }
        for sequence in asked {
            let shift = u32::from(mood == Mood::Old);
            let Some(sent) = self.sent(sequence + shift, now_ns) else {
                continue;
            };
            let mut payload = sent.payload.clone();
            if mood == Mood::Old {
                payload[..4].copy_from_slice(&sequence.to_le_bytes());
                let day_ago = sent.time_ns - 86_400_000 * MILLISECOND;
                payload[4..12].copy_from_slice(&day_ago.to_le_bytes());
            }
            push(&mut bytes, &payload);
        }
        match mood {
            Mood::Garbage => bytes.extend((0..200).map(|_| self.random.next_u64() as u8)),
            _ => push(&mut bytes, &admin(16, &[0; 180])),
        }
        (now_ns + delay_ns, bytes)
    }

    /// The packet last sent with this number.
    fn sent(&self, sequence: u32, now_ns: u64) -> Option<&'s SentPacket> {
        let mut packets = self.session.packets.iter().rev();
        packets.find(|packet| {
            packet.feed == capture::Feed::Incremental
                && packet.sequence == sequence
                && packet.time_ns <= now_ns
        })
    }
}

fn push(bytes: &mut Vec<u8>, packet: &[u8]) {
    bytes.extend((packet.len() as u16).to_le_bytes());
    bytes.extend(packet);
}

/// A packet of the server itself.
fn admin(template: u16, block: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    for field in [10 + block.len() as u16, block.len() as u16, template, 1, 9] {
        message.extend(field.to_le_bytes());
    }
    message.extend(block);
    packet(u32::MAX, 1, &[message])
}

/// Runs arrivals through a path with replay; while it awaits packets, time advances in
/// milliseconds.
fn run_asking<S: Subscribe>(arrivals: &[Arrival], mut desk: Desk<'_>, watcher: S) -> Path<S> {
    let settings = touchline_feed::cme::Settings {
        replay: Some(REPLAY),
        ..settings(Join::Snapshot)
    };
    let mut path = path(settings, watcher);
    let mut now_ns = 0;
    for arrival in arrivals {
        while path.request().is_some() && now_ns + MILLISECOND < arrival.time_ns {
            now_ns += MILLISECOND;
            path.advance(now_ns);
            desk.look(&mut path, now_ns);
        }
        now_ns = arrival.time_ns;
        path.packet(channel(arrival), &arrival.payload, now_ns, 0);
        nothing_is_fresh(&path);
        desk.look(&mut path, now_ns);
    }
    for _ in 0..1_000 {
        now_ns += MILLISECOND;
        path.advance(now_ns);
        desk.look(&mut path, now_ns);
    }
    path.finish();
    path
}

/// While packets are awaited, a subscriber has no live book.
#[track_caller]
fn nothing_is_fresh<S: Subscribe>(path: &Path<S>) {
    let Some(action) = path.request() else { return };
    let mirror = &path.publisher().inner().subscriber.0;
    for instrument in path.instruments().iter() {
        let (price, orders) = (
            mirror.validity(instrument),
            mirror.orders_validity(instrument),
        );
        assert_ne!(price, Validity::Live, "{instrument:?} awaits {action:?}");
        assert!(
            orders != Validity::Live || !path.feed().orders_seen(),
            "orders of {instrument:?} await {action:?}"
        );
    }
}

/// Updates of the venue's events: all except changes of state without a change of the book.
#[derive(Debug, Default)]
struct Events(Vec<String>);

impl Subscribe for Events {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let unchanged = match envelope.update {
            Update::State(_) | Update::Channel(_) => true,
            Update::Orders(update) => update.changes.is_empty(),
            _ => false,
        };
        if !unchanged {
            let (sequence, exchange_ns) = (
                envelope.timestamps.packet.sequence,
                envelope.timestamps.exchange_ns,
            );
            self.0
                .push(format!("{sequence} {exchange_ns} {:?}", envelope.update));
        }
    }
}

/// Both lines lose the same packets, a server has them, and the output shows no loss.
#[test]
fn replayed_packets_leave_no_loss() {
    let (mut filled, mut replayed, mut tried) = (0, 0, 0);
    for seed in seeds(32) {
        let options = Options {
            events: 2_500,
            ..long(seed)
        };
        let session = generate(&options, seed);
        let plan = FaultPlan::incremental([
            Fault::DropOnAllLines {
                share: 0.005,
                packets_max: 30,
            },
            Fault::Drop { share: 0.05 },
            Fault::Duplicate { share: 0.05 },
        ]);
        let faulty = deliver(&session, &plan, seed);
        let clean = deliver(&session, &FaultPlan::default(), seed);
        // A receiver without the first packet has joined late, and requests no packet before its
        // own first.
        if faulty.report.lost_on_both.first() == Some(&1) {
            continue;
        }
        tried += 1;
        let desk = Desk::new(&session, &[Mood::Right], seed);
        let actual = run_asking(&faulty.arrivals, desk, Events::default());
        let expected = run(&clean.arrivals, Join::Snapshot, Events::default());
        let counters = *actual.feed().counters();
        assert_eq!(counters.packets_lost, 0, "seed {seed}: {counters:?}");
        assert_eq!(
            counters.replays_requested, counters.replays_filled,
            "seed {seed}"
        );
        let delivered =
            counters.packets_first_a + counters.packets_first_b + counters.packets_replayed;
        assert_eq!(
            counters.packets_delivered, delivered,
            "seed {seed}: {counters:?}"
        );
        (filled, replayed) = (
            filled + counters.replays_filled,
            replayed + counters.packets_replayed,
        );
        let what = format!("updates, seed {seed}");
        same(
            &subscriber(&actual).0.join("\n"),
            &subscriber(&expected).0.join("\n"),
            &what,
        );
        mirror_agrees(&actual, &what);
    }
    assert!(
        filled > 100 && replayed > 500,
        "{filled} holes and {replayed} packets: no test"
    );
    assert!(tried > 0, "every session was joined late");
    println!("{filled} holes filled with {replayed} packets");
}

/// Every fault on the lines, every behaviour of the server: books recover, and no wrong book is ever live.
#[test]
fn books_recover_whatever_the_replay_server_answers_and_none_is_wrong() {
    let (mut asked, mut filled, mut unused, mut lost, mut checked) = (0, 0, 0, 0, 0);
    for seed in seeds(48) {
        let session = generate(&Options::varied(seed), seed);
        let clean = deliver(&session, &FaultPlan::default(), seed);
        let (lossless, between) = every_book(&clean.arrivals);
        let arrivals = everything_at_once(&session, seed).arrivals;
        let moods = match seed % 7 {
            6 => &MOODS[..],
            one => &MOODS[one as usize..][..1],
        };
        let desk = Desk::new(&session, moods, seed);
        let healed = run_asking(&arrivals, desk, History::default());
        let counters = healed.feed().counters();
        asked += counters.replays_requested;
        filled += counters.replays_filled;
        unused += counters.packets_replay_unused;
        lost += counters.packets_lost;
        let picture = picture(&healed, Vec::new());
        let expected_books = &session.expected;
        let what = |what| format!("{what}, seed {seed}, {moods:?}");
        same(
            &picture.books_jsonl(),
            &expected_books.books_jsonl(),
            &what("books"),
        );
        same(
            &picture.orders_jsonl(),
            &expected_books.orders_jsonl(),
            &what("orders"),
        );
        mirror_agrees(&healed, &what("mirror"));
        let seen = subscriber(&healed);
        checked += seen.live;
        for claim in &seen.claims {
            assert!(
                is_right(claim, subscriber(&lossless), &between),
                "seed {seed}, {moods:?}: a wrong book is called live: {claim:?}"
            );
        }
    }
    let happened = [asked, filled, unused, lost, checked];
    assert!(
        happened.iter().all(|times| *times > 100),
        "{happened:?}: no test"
    );
    println!(
        "{filled} of {asked} holes filled, {unused} packets refused, {lost} lost, {checked} claims"
    );
}
