//! Packets that were changed on the way of one line and are still valid: with `compare_copies` no wrong book is live once the
//! other copy has come, whichever of both was first, and all books recover.

use crate::sessions::hostile::ExpectedBooks;
use crate::sessions::path::{Path, channel, mirror_agrees, path, picture, settings, subscriber};
use crate::sessions::watch::{History, hash_of};
use crate::sessions::{same_books, seeds};
use std::collections::{HashMap, HashSet};
use touchline_feed::arbitration::CopyHash;
use touchline_feed::cme::{Join, Settings};
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{Fault, FaultPlan, Rule, deliver};
use touchline_lab::random::Random;
use touchline_types::Validity;
use touchline_wire::mdp3::PacketHeader;

#[test]
fn a_changed_copy_leaves_no_wrong_book_live_once_the_other_came() {
    let mut total = Seen::default();
    let mut without = 0;
    for seed in seeds(64) {
        let scene = Scene::of(seed);
        let seen = scene.run(Some(CopyHash::new(seed)));
        assert_eq!(
            seen.wrong, 0,
            "seed {seed}: books that the exchange never had are live: {:?}",
            seen.first
        );
        total.add(&seen);
        without += scene.run(None).wrong;
    }
    println!("{total:?}; without the setting {without} wrong");
    assert!(
        seeds(64).count() == 1 || total.different > 100 && total.checked > 1_000 && without > 100,
        "{total:?}, {without} wrong books without the setting: no test"
    );
}

/// A session of which one line has changed packets.
struct Scene {
    /// For the message of a failure.
    what: String,
    session: Session,
    arrivals: Vec<Arrival>,
    /// Packets that the exchange sent.
    sent: HashMap<u32, Vec<u8>>,
    books: ExpectedBooks,
}

/// Number of checks and findings.
#[derive(Debug, Default)]
struct Seen {
    checked: usize,
    /// Live books that the exchange never had, while every changed packet had its true copy.
    wrong: usize,
    /// Live books that the exchange never had, while the true copy of a changed packet was missing: no receiver can recognize
    /// such a packet.
    unknowable: usize,
    /// Packets that the feed found different.
    different: u64,
    first: Option<String>,
}

impl Seen {
    fn add(&mut self, other: &Seen) {
        self.checked += other.checked;
        self.wrong += other.wrong;
        self.unknowable += other.unknowable;
        self.different += other.different;
    }
}

impl Scene {
    fn of(seed: u64) -> Scene {
        let mut random = Random::from_seed(seed ^ 0x636f_7069_6573);
        let session = generate(&Options::varied(seed), seed);
        let usual = FaultPlan::incremental([
            Fault::Duplicate { share: 0.05 },
            Fault::Reorder {
                share: 0.05,
                by_max: 4,
            },
            Fault::Delay {
                share: 0.02,
                min_ns: 1_000,
                max_ns: 5_000_000,
            },
        ]);
        let plan = FaultPlan {
            rules: vec![Rule {
                fault: Fault::Tamper { share: 0.01 },
                feeds: vec![Feed::Incremental],
                lines: vec![*random.pick(&Line::BOTH)],
            }],
            earlier: Vec::new(),
        };
        let sent = session.packets.iter();
        let sent = sent.filter(|sent| sent.feed == Feed::Incremental);
        Scene {
            what: format!("seed {seed}"),
            sent: sent
                .map(|sent| (sent.sequence, sent.payload.clone()))
                .collect(),
            books: ExpectedBooks::of(&session),
            arrivals: deliver(&session, &plan.then(usual), seed).arrivals,
            session,
        }
    }

    fn run(&self, compare_copies: Option<CopyHash>) -> Seen {
        let settings = Settings {
            compare_copies,
            ..settings(Join::Snapshot)
        };
        let mut path = path(settings, History::default());
        let mut seen = Seen::default();
        let (mut came, mut awaited) = (HashSet::new(), HashSet::new());
        for arrival in &self.arrivals {
            path.packet(channel(arrival), &arrival.payload, arrival.time_ns, 0);
            if arrival.feed == Feed::Incremental {
                let number = PacketHeader::peek(&arrival.payload)
                    .expect("a header")
                    .sequence;
                if arrival.payload == self.sent[&number] {
                    awaited.remove(&number);
                    came.insert(number);
                } else if !came.contains(&number) {
                    awaited.insert(number);
                }
            }
            self.check(&path, awaited.is_empty(), &mut seen);
        }
        path.finish();
        seen.different = path.feed().counters().packets_different;
        if compare_copies.is_some() {
            let expected = &self.session.expected;
            let known: HashSet<_> = expected.books.iter().map(|row| row.security_id).collect();
            let mut picture = picture(&path, Vec::new());
            // A changed packet may name an instrument that the exchange does not have.
            picture.books.retain(|row| known.contains(&row.security_id));
            picture
                .orders
                .retain(|row| known.contains(&row.security_id));
            same_books(&picture, expected, &self.what);
            mirror_agrees(&path, &self.what);
        }
        seen
    }

    /// Checks the live books of a subscriber.
    fn check(&self, path: &Path<History>, is_known: bool, seen: &mut Seen) {
        let mirror = &path.publisher().inner().subscriber.0;
        for instrument in path.instruments().iter() {
            let definition = path.instruments().definition(instrument);
            if mirror.validity(instrument) != Validity::Live || definition.symbol.is_empty() {
                continue;
            }
            seen.checked += 1;
            let claim = (
                definition.security_id,
                None,
                hash_of(mirror.book(instrument)),
            );
            if self.books.has(&claim) {
                continue;
            }
            match is_known {
                true => seen.wrong += 1,
                false => seen.unknowable += 1,
            }
            if is_known && seen.first.is_none() {
                let newest = subscriber(path).claims.len();
                seen.first = Some(format!("{claim:?}, behind {newest} claims"));
            }
        }
    }
}
