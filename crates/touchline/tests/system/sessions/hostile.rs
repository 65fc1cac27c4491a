//! R5 and R6 where somebody lies: forged numbers and times, packets of a session before, clocks that are wrong or set,
//! an exchange that begins anew. No wrong book is called live, and once the faults are over, two loops heal everything.

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

/// How long the books of an exchange that died may still be called live once something of the next one comes: until
/// nothing was processed for `wait_ns`, with what is late on the way.
const DOUBT_NS: u64 = 100_000_000;

#[test]
fn whoever_lies_no_wrong_book_is_called_live_and_two_loops_heal_everything() {
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
    // One seed alone may have little to check.
    assert!(
        seeds(64).count() == 1 || checked > 1_000 && standing > 1_000,
        "{checked} claims, {standing} looks at live books: no test"
    );
    println!("{checked} claims and {standing} live books checked; {done:?}");
}

/// A session, what is done to it, and what its books were.
struct Scene {
    /// Its seed, and what is done, for whoever reads that it failed.
    what: String,
    session: Session,
    delivery: Delivery,
    /// When the exchange begins anew, if it does, and when something of it comes.
    begins_anew_ns: u64,
    heard_anew_ns: u64,
    before: ExpectedBooks,
    after: ExpectedBooks,
    /// Waiting is measured by the clock that is set, as in a capture.
    as_capture: bool,
}

/// What was checked.
#[derive(Default)]
struct Seen {
    claims: usize,
    standing: usize,
}

/// The books of one exchange.
struct ExpectedBooks {
    /// At the ends of events, by venue id and sending time within its second: clocks are wrong by whole seconds.
    by_packet: HashMap<(i64, u64), HashSet<u64>>,
    /// At any time.
    between: HashMap<i64, HashSet<u64>>,
}

impl ExpectedBooks {
    fn of(session: &Session) -> ExpectedBooks {
        let clean = deliver(session, &FaultPlan::default(), 0);
        let (lossless, between) = every_book(&clean.arrivals);
        let mut by_packet: HashMap<_, HashSet<u64>> = HashMap::new();
        for ((security_id, sending_ns), states) in &subscriber(&lossless).by_packet {
            let at = (*security_id, sending_ns % SECOND_NS);
            by_packet.entry(at).or_default().extend(states);
        }
        ExpectedBooks { by_packet, between }
    }

    fn has(&self, &(security_id, event_end, state): &(i64, Option<u64>, u64)) -> bool {
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

    /// When the first packet of the incremental feed comes that was sent behind so many others, by a clock that nobody
    /// sets. Its clock may be wrong by whole seconds.
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

    /// When an arrival came by a clock that nobody sets.
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

    /// What subscribers were told since the last look.
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

    /// What a subscriber has, whether or not it was just told something.
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

    /// Whose books may be shown at this time.
    fn expected_books(&self, now_ns: u64) -> impl Iterator<Item = &ExpectedBooks> {
        let before = now_ns < self.heard_anew_ns.saturating_add(DOUBT_NS);
        let after = now_ns >= self.begins_anew_ns;
        let before = before.then_some(&self.before);
        before.into_iter().chain(after.then_some(&self.after))
    }
}

/// A place in a session, and not between the first two numbers of a numbering: an exchange whose own first packet is lost
/// goes on there as if none had begun anew.
fn behind_a_second(session: &Session, place: usize) -> usize {
    let last = |place: usize| {
        let before = session.packets[..place].iter();
        before.rev().find(|sent| sent.feed == Feed::Incremental)
    };
    (place..session.packets.len())
        .find(|place| last(*place).is_none_or(|sent| sent.sequence != 1))
        .expect("a numbering has more than one packet")
}

/// Some lies, and the usual faults. An exchange that begins anew with a wrong clock must be told from the one before by
/// what comes, so then nobody forges what the one before would send. Definitions are left alone: without its definition a book is kept to the default
/// depth, by the rules.
fn plan(random: &mut Random, clock: i64) -> FaultPlan {
    let mut lies = lies(random);
    lies.retain(|lie| random.chance(0.35) && (clock == 0 || !may_be_next(lie)));
    // What is forged as the venue's next packet of now is shown until the venue's own comes, so that one is not to be late.
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
        // Two lines that agree are believed, whoever sends.
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

/// No two have one time in common: lies that agree make a stream of their own, which is another exchange.
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
        // Not far ahead: as far as our clock says, the venue's may have come, and so may what is forged at that moment.
        Fault::HostClock {
            seconds: *random.pick(&[-86_400, -3_600, -1, 1, 30]),
        },
    ]
}

/// Whether a forged packet may have the next number, or one that is waited for, and a time of now.
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

/// The slow reference, which shares no code with the path, believes and doubts the same.
#[test]
fn the_reference_believes_the_same() {
    for seed in seeds(64) {
        let mut scene = Scene::of(seed);
        // The reference knows one clock, and that one is not set.
        scene.undo_host_clock();
        let arrivals = &scene.delivery.arrivals;
        // Cut the healing end off: what is half known is compared, too.
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
