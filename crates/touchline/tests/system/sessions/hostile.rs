//! R5 and R6 with forged packets: forged numbers and times, packets of a previous session, wrong or stepped clocks, a
//! restarted exchange. No wrong book is live, and after the faults all books recover within two snapshot cycles.

use crate::sessions::path::{
    Path, channel, mirror_agrees, path, picture, run, settings, subscriber,
};
use crate::sessions::recovery::every_book;
use crate::sessions::watch::{History, Tops, hash_of};
use crate::sessions::{same, seeds};
use std::collections::{BTreeMap, HashMap, HashSet};
use touchline_feed::ReceiveTime;
use touchline_feed::cme::Join;
use touchline_lab::capture::{Arrival, Feed};
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{Delivery, Fault, FaultPlan, Forged, Forgery, deliver};
use touchline_lab::random::Random;
use touchline_lab::reference::cme as slow;
use touchline_types::Validity;
use touchline_wire::mdp3::PacketHeader;

const SECOND_NS: u64 = 1_000_000_000;

/// Time for which the books of an ended exchange may stay live after the first packet of the next one: until no packet
/// was processed for `wait_ns`, plus the delays of packets.
const DOUBT_NS: u64 = 100_000_000;

#[test]
fn under_forged_packets_no_wrong_book_is_live_and_two_cycles_recover_all() {
    let (mut checked, mut standing) = (0, 0);
    let mut done: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seeds(64) {
        let scene = Scene::of(seed);
        let seen = scene.run();
        for (name, times) in &scene.delivery.report.struck {
            *done.entry(name).or_default() += times;
        }
        checked += seen.claims;
        standing += seen.standing;
    }
    // A single seed may have few books to check.
    assert!(
        seeds(64).count() == 1 || checked > 1_000 && standing > 1_000,
        "{checked} claims, {standing} looks at live books: no test"
    );
    println!("{checked} claims and {standing} live books checked; {done:?}");
}

/// A session with its faults and its expected books.
struct Scene {
    /// Seed and faults, for the message of a failure.
    what: String,
    session: Session,
    delivery: Delivery,
    /// Time of the restart, if any, and of the first packet after it.
    begins_anew_ns: u64,
    heard_anew_ns: u64,
    before: ExpectedBooks,
    after: ExpectedBooks,
    /// Wait times use the stepped clock, as in a capture.
    as_capture: bool,
}

/// Number of checks.
#[derive(Default)]
struct Seen {
    claims: usize,
    standing: usize,
}

/// Books of one exchange.
pub struct ExpectedBooks {
    /// At the ends of events, by venue id and sending time within its second: wrong clocks differ by whole seconds.
    by_packet: HashMap<(i64, u64), HashSet<u64>>,
    /// At any time.
    between: HashMap<i64, HashSet<u64>>,
}

impl ExpectedBooks {
    /// Expected books of a whole session.
    pub fn of(session: &Session) -> ExpectedBooks {
        let clean = deliver(session, &FaultPlan::default(), 0);
        let (lossless, between) = every_book(&clean.arrivals);
        let mut by_packet: HashMap<_, HashSet<u64>> = HashMap::new();
        for ((security_id, sending_ns), states) in &subscriber(&lossless).by_packet {
            let at = (*security_id, sending_ns % SECOND_NS);
            by_packet.entry(at).or_default().extend(states);
        }
        ExpectedBooks { by_packet, between }
    }

    /// Whether a book that is called live is one of them.
    pub fn has(&self, &(security_id, event_end, state): &(i64, Option<u64>, u64)) -> bool {
        let known = match event_end {
            Some(sending_ns) => self.by_packet.get(&(security_id, sending_ns % SECOND_NS)),
            None => self.between.get(&security_id),
        };
        known.is_some_and(|states| states.contains(&state))
    }
}

impl Scene {
    fn of(seed: u64) -> Scene {
        let mut random = Random::from_seed(seed ^ 0x686f_7374_696c_6521);
        let options = Options::varied(seed);
        let course = |course| Options {
            course: Some(course),
            ..options.clone()
        };
        let first = generate(&options, seed);
        let mut session = first.clone();
        let (mut cut, mut clock, mut news) = (0, 0, "one exchange".to_owned());
        if random.chance(0.5) {
            cut = behind_a_second(&first, random.index(first.packets.len() * 9 / 10));
            let next = generate(&course(1), seed);
            let pause_ns = random.below(300_000_000);
            clock = *random.pick(&[
                0, 0, -1, -2, -5, -30, -3_600, -86_400, 2, 30, 3_600, 31_536_000,
            ]);
            news = format!(
                "another exchange behind packet {cut}, {pause_ns} ns later, its clock {clock} s off,"
            );
            session = first.begun_anew(cut, &next, pause_ns, clock);
        }
        let mut plan = plan(&mut random, clock);
        plan.earlier = generate(&course(2), seed).packets;
        let (before, after) = session.packets.split_at(cut);
        let part = |packets: &[_]| {
            ExpectedBooks::of(&Session {
                packets: packets.to_vec(),
                expected: session.expected.clone(),
            })
        };
        let rules: Vec<_> = plan.rules.iter().map(|rule| &rule.fault).collect();
        let mut scene = Scene {
            what: format!("seed {seed}, {news} of {options:?}, {rules:?}"),
            begins_anew_ns: after[0].time_ns,
            heard_anew_ns: u64::MAX,
            before: part(before),
            after: part(after),
            delivery: deliver(&session, &plan, seed),
            as_capture: random.chance(0.5),
            session,
        };
        scene.heard_anew_ns = scene.first_of(cut);
        scene
    }

    /// Arrival, by a clock without steps, of the first packet of the incremental feed that was sent after this number
    /// of others. Its sending time may be wrong by whole seconds.
    fn first_of(&self, cut: usize) -> u64 {
        let of = |feed: Feed, payload: &[u8]| {
            let header = PacketHeader::peek(payload).filter(|_| feed == Feed::Incremental);
            header.map(|header| (header.sequence, header.sending_time_ns % SECOND_NS))
        };
        let sent = self.session.packets[cut..].iter();
        let sent: HashSet<_> = sent
            .filter_map(|sent| of(sent.feed, &sent.payload))
            .collect();
        let arrivals = self.delivery.arrivals.iter().enumerate();
        arrivals
            .filter(|(_, arrival)| {
                of(arrival.feed, &arrival.payload).is_some_and(|header| sent.contains(&header))
            })
            .map(|(index, arrival)| self.true_ns(index, arrival))
            .next()
            .unwrap_or(u64::MAX)
    }

    fn run(&self) -> Seen {
        let what = |what: &str| format!("{what}, {}", self.what);
        let mut path = path(settings(Join::Snapshot), History::default());
        let mut seen = Seen::default();
        for (index, arrival) in self.delivery.arrivals.iter().enumerate() {
            let now_ns = self.true_ns(index, arrival);
            let time = match self.as_capture {
                true => ReceiveTime::at(arrival.time_ns),
                false => ReceiveTime {
                    wall_ns: arrival.time_ns,
                    mono_ns: now_ns,
                },
            };
            path.packet_at(channel(arrival), &arrival.payload, time, 0);
            self.check_claims(&path, &mut seen, now_ns);
            if index % 8 == 0 {
                self.check_standing(&path, &mut seen, now_ns);
            }
        }
        path.finish();
        let expected_books = &self.session.expected;
        let picture = picture(&path, Vec::new());
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
        mirror_agrees(&path, &what("mirror"));
        seen
    }

    fn undo_host_clock(&mut self) {
        let times = self.delivery.arrivals.iter().enumerate();
        let times: Vec<_> = times
            .map(|(index, arrival)| self.true_ns(index, arrival))
            .collect();
        for (arrival, time_ns) in self.delivery.arrivals.iter_mut().zip(times) {
            arrival.time_ns = time_ns;
        }
    }

    /// Time of an arrival by a clock without steps.
    fn true_ns(&self, index: usize, arrival: &Arrival) -> u64 {
        let set = self.delivery.report.clock_set.iter();
        let seconds: i64 = set
            .filter(|(behind, _)| *behind <= index)
            .map(|(_, seconds)| seconds)
            .sum();
        arrival
            .time_ns
            .wrapping_add_signed(-seconds * SECOND_NS as i64)
    }

    /// Updates of subscribers since the last check.
    fn check_claims(&self, path: &Path<History>, seen: &mut Seen, now_ns: u64) {
        let told = &subscriber(path).claims;
        for claim in &told[seen.claims..] {
            assert!(
                self.expected_books(now_ns)
                    .any(|expected_books| expected_books.has(claim)),
                "{}: a wrong book is called live: {claim:?}",
                self.what
            );
        }
        seen.claims = told.len();
    }

    /// State of a subscriber, whether or not it has new updates.
    fn check_standing(&self, path: &Path<History>, seen: &mut Seen, now_ns: u64) {
        let mirror = &path.publisher().inner().subscriber.0;
        for instrument in path.instruments().iter() {
            let definition = path.instruments().definition(instrument);
            if mirror.validity(instrument) != Validity::Live || definition.symbol.is_empty() {
                continue;
            }
            let claim = (
                definition.security_id,
                None,
                hash_of(mirror.book(instrument)),
            );
            assert!(
                self.expected_books(now_ns)
                    .any(|expected_books| expected_books.has(&claim)),
                "{}: a wrong book stands as live: {claim:?}, {} ns behind the new beginning",
                self.what,
                now_ns as i64 - self.begins_anew_ns as i64,
            );
            seen.standing += 1;
        }
    }

    /// Exchanges whose books may be shown at this time.
    fn expected_books(&self, now_ns: u64) -> impl Iterator<Item = &ExpectedBooks> {
        let before = now_ns < self.heard_anew_ns.saturating_add(DOUBT_NS);
        let after = now_ns >= self.begins_anew_ns;
        let before = before.then_some(&self.before);
        before.into_iter().chain(after.then_some(&self.after))
    }
}

/// A position in a session, but not between the first two numbers of an epoch: an exchange whose first packet is lost
/// continues there without a visible reset.
fn behind_a_second(session: &Session, place: usize) -> usize {
    let last = |place: usize| {
        let before = session.packets[..place].iter();
        before.rev().find(|sent| sent.feed == Feed::Incremental)
    };
    (place..session.packets.len())
        .find(|place| last(*place).is_none_or(|sent| sent.sequence != 1))
        .expect("a numbering has more than one packet")
}

/// Some forgeries, and the usual faults. A restarted exchange with a wrong clock must be distinguished from the
/// previous one by its packets, so in that case no packet of the previous one is forged. Definitions are not affected:
/// without its definition a book has the default depth, by the rules.
fn plan(random: &mut Random, clock: i64) -> FaultPlan {
    let mut lies = lies(random);
    lies.retain(|lie| random.chance(0.35) && (clock == 0 || !may_be_next(lie)));
    // A forged copy of the venue's next packet is used until the venue's own arrives, so that one must not be late.
    let faults = match lies.iter().any(may_be_next) {
        true => vec![],
        false => [usual(random), rarer(random)].concat(),
    };
    let late = random.chance(0.3).then(|| Fault::JoinLate {
        share: random.below(300) as f64 / 1_000.0,
    });
    let mut plan = FaultPlan::all_feeds(late)
        .then(FaultPlan::all_feeds(faults))
        .then(FaultPlan::all_feeds(lies));
    for rule in &mut plan.rules {
        match rule.fault {
            Fault::ForgeFirst { .. } => rule.feeds = vec![Feed::Incremental],
            Fault::ForgeSnapshot { .. } => rule.feeds = vec![Feed::Snapshot, Feed::OrderSnapshot],
            _ => rule.feeds.retain(|feed| *feed != Feed::Definitions),
        }
        // Two lines that agree are confirmed, with any sender.
        if let Fault::Earlier { .. } | Fault::ForgeFirst { .. } = rule.fault {
            rule.lines.truncate(1);
        }
    }
    plan
}

fn usual(random: &mut Random) -> Vec<Fault> {
    let share = random.below(11) as f64 / 100.0;
    vec![
        Fault::Drop { share },
        Fault::Duplicate { share: 0.1 },
        Fault::Reorder {
            share: 0.05,
            by_max: 4,
        },
        Fault::Delay {
            share: 0.02,
            min_ns: 1_000,
            max_ns: 15_000_000,
        },
    ]
}

fn rarer(random: &mut Random) -> Vec<Fault> {
    let mut faults = vec![
        Fault::DropOnAllLines {
            share: random.below(4) as f64 / 100.0,
            packets_max: random.below(8) + 1,
        },
        Fault::Outage {
            packets: random.below(300) + 1,
        },
        Fault::Corrupt { share: 0.01 },
    ];
    faults.retain(|_| random.chance(0.3));
    faults
}

/// Forgeries have no common time: consistent forgeries form a stream, which is another exchange.
fn lies(random: &mut Random) -> Vec<Fault> {
    let [first, some, many] = [(); 3].map(|()| forgery(random));
    vec![
        Fault::ForgeFirst { forgery: first },
        Fault::ForgeHeartbeat {
            share: 0.002,
            forgery: some,
        },
        Fault::ForgeHeartbeat {
            share: 0.02,
            forgery: many,
        },
        Fault::Earlier {
            share: 0.05,
            seconds_ago: *random.pick(&[150, 7_200, 172_800]),
        },
        Fault::ForgeSnapshot {
            share: 0.03,
            ahead: *random.pick(&[100_000, 1 << 31, u32::MAX - 5_000]),
        },
        Fault::Misroute { share: 0.02 },
        Fault::WrongClock {
            packets: random.below(100) + 1,
            seconds: *random.pick(&[
                -90_000, -5_400, -130, -50, -5, -2, 2, 5, 50, 130, 5_400, 40_000_000,
            ]),
        },
        // Not far ahead: up to our clock's time the venue's packet, and so a forged one, may have arrived.
        Fault::HostClock {
            seconds: *random.pick(&[-86_400, -3_600, -1, 1, 30]),
        },
    ]
}

/// Whether a forged packet may have the next or an awaited number, and a current time.
fn may_be_next(lie: &Fault) -> bool {
    let (Fault::ForgeFirst { forgery } | Fault::ForgeHeartbeat { forgery, .. }) = lie else {
        return matches!(lie, Fault::Misroute { .. });
    };
    let is_near = match forgery.number {
        Forged::At(number) => number < 10_000,
        Forged::By(by) => by.unsigned_abs() < 10_000,
    };
    is_near && (-1..=60).contains(&forgery.seconds)
}

fn forgery(random: &mut Random) -> Forgery {
    let any = random.next_u64() as u32;
    let numbers = [
        Forged::At(1),
        Forged::At(random.below(300) as u32),
        Forged::At(u32::MAX),
        Forged::At(any.max(100_000)),
        Forged::By(0),
        Forged::By(-1),
        Forged::By(-100),
        Forged::By(5_000),
        Forged::By(i32::MAX),
    ];
    Forgery {
        number: *random.pick(&numbers),
        seconds: *random.pick(&[0, -86_400, -120, -1, 1, 30, 31_536_000]),
    }
}

/// The slow reference, which shares no code with the path, gives the same result.
#[test]
fn the_reference_accepts_the_same_packets() {
    for seed in seeds(64) {
        let mut scene = Scene::of(seed);
        // The reference has one clock, without steps.
        scene.undo_host_clock();
        let arrivals = &scene.delivery.arrivals;
        // Without the recovering end of the session, so that partly known books are compared, too.
        let arrivals = &arrivals[..arrivals.len() * 4 / 5];
        for join in [Join::Snapshot, Join::Natural] {
            let natural = join == Join::Natural;
            let settings = slow::Settings {
                natural,
                ..slow::Settings::default()
            };
            let reference = slow::run(arrivals, settings);
            let path = run(arrivals, join, Tops::default());
            let actual = picture(&path, subscriber(&path).0.clone());
            let what = |what| format!("{what}, {join:?}, {}", scene.what);
            same(
                &actual.books_jsonl(),
                &reference.books_jsonl(),
                &what("books"),
            );
            if !reference.orders.is_empty() {
                same(
                    &actual.orders_jsonl(),
                    &reference.orders_jsonl(),
                    &what("orders"),
                );
            }
            same(&actual.tops_jsonl(), &reference.tops_jsonl(), &what("tops"));
        }
    }
}
