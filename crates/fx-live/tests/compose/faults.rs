//! Gateways, banks and the composer are killed, frozen and disconnected at random, and any subset of the banks goes silent: no void
//! quote is published as live.

mod gateway;

use gateway::{End, Gateway, Issues};
use std::time::{Duration, Instant};
use touchline_fx_live::compose::{Composer, Config};
use touchline_lab::bank::bus::SPOT;
use touchline_lab::bank::composite::Reader;
use touchline_lab::random::{Random, at_once, seeds};
use touchline_testing::Folder;
use touchline_transport::boot_ns;
use touchline_transport::shm::{Images, Publisher, Root};
use touchline_types::{Instrument, Validity};

const BANKS: usize = 3;
const STEPS: usize = 40;
/// Feed timeout of a bank's gateway.
const SILENCE_NS: u64 = 50_000_000;
/// Longest time without activity of a bank's gateway.
const GATEWAY_NS: u64 = 60_000_000;
/// Longest time without activity of the composer: the minimum of the setting.
const COMPOSER_NS: u64 = 100_000_000;
/// Interval of the composer's liveness check.
const LOOK_NS: u64 = 10_000_000;
/// Longest time until all quotes have recovered on a loaded host.
const PATIENCE: Duration = Duration::from_secs(60);

/// When processes are killed, frozen, disconnected or paused, a reader never sees a void quote as live. Once all parts
/// work again, the quotes of every bank return.
#[test]
fn a_void_quote_is_never_shown_as_live() {
    let runs = at_once(4, seeds(20), |seed| {
        let mut world = World::open(seed);
        for step in 0..STEPS {
            let what = world.act();
            if let Err(void) = world.look() {
                panic!("SEED={seed} step {step}: {what}: {void}");
            }
        }
        world.heal(seed);
        world.seen
    });
    let mut seen = Seen::default();
    for run in runs {
        seen.live += run.live;
        seen.doubted += run.doubted;
        seen.faults += run.faults;
        seen.silent += run.silent;
    }
    println!("{seen:?}");
    // A run without quotes or without faults tests nothing.
    assert!(seen.live > 0 && seen.doubted > 0 && seen.faults > 0 && seen.silent > 0);
}

/// Statistics of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Number of live and of other composites that were read.
    live: usize,
    doubted: usize,
    faults: usize,
    /// Number of live composites that were read behind the bound of a bank's silence.
    silent: usize,
}

struct World {
    _folder: Folder,
    root: Root,
    config: Config,
    random: Random,
    issues: Issues,
    gateways: Vec<Gateway>,
    composer: Option<Composer<Publisher>>,
    is_composer_frozen: bool,
    /// Everything that gateways published before this time is in the composite.
    drained_ns: u64,
    reader: Reader,
    seen: Seen,
}

impl World {
    fn open(seed: u64) -> World {
        let folder = Folder::new("faults");
        let root = Root::at(&folder);
        let mut text = format!(
            "bus = \"fx\"\ndirectory = {:?}\nring_bytes = 65536\nlevels = 20\nheartbeat_ms = 10\n\
             [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nlot = 1\nspot_date = \"{SPOT}\"\n",
            folder.display().to_string()
        );
        for bank in 0..BANKS {
            text += &format!("[[banks]]\nname = \"LP{bank}\"\nstale_ms = 0\nsilence_ms = 0\n");
        }
        let config = Config::parse(&text).expect("a configuration");
        let composer = Composer::open(&config, None).expect("a composer");
        let mut random = Random::from_seed(seed);
        let mut issues = Issues::default();
        let gateways = (0..BANKS).map(|bank| Gateway::start(&root, bank, &mut issues, &mut random));
        World {
            gateways: gateways.collect(),
            reader: Reader::join(&root),
            root,
            config,
            random,
            issues,
            composer: Some(composer),
            is_composer_frozen: false,
            drained_ns: 0,
            _folder: folder,
            seen: Seen::default(),
        }
    }

    /// A fault; then each working part runs, or is delayed.
    fn act(&mut self) -> String {
        let bank = self.random.index(BANKS);
        let what = self.random.below(18);
        let (issues, random) = (&mut self.issues, &mut self.random);
        let gateway = &mut self.gateways[bank];
        let did = match what {
            0 => {
                gateway.kill(issues);
                "its gateway is killed"
            }
            1 => {
                gateway.restart(&self.root, issues, random);
                "a gateway starts"
            }
            2 => {
                gateway.freeze(issues);
                "its gateway freezes"
            }
            3 => {
                gateway.thaw(issues, random);
                "its gateway thaws"
            }
            4 => {
                gateway.disconnect(issues);
                "it disconnects"
            }
            5 => {
                gateway.connect(issues, random);
                "it connects"
            }
            6 => {
                self.composer = None;
                let composer = Composer::open(&self.config, None);
                self.composer = Some(composer.expect("a composer in place of the killed one"));
                (self.is_composer_frozen, self.drained_ns) = (false, 0);
                "the composer is killed, and another starts"
            }
            7 => {
                self.is_composer_frozen = true;
                "the composer freezes"
            }
            8 => {
                self.is_composer_frozen = false;
                "the composer thaws"
            }
            9 => {
                // Some bursts exceed a round, or the ring.
                let count = *random.pick(&[100, 300, 2_000]);
                (0..count).for_each(|_| gateway.quote(issues, random));
                "it bursts"
            }
            10 => {
                (0..300).for_each(|_| gateway.quote(issues, random));
                "it bursts, and the composer comes to a part of it, late"
            }
            16 => {
                // With a chance of its own for each of the others.
                gateway.hush(issues);
                for other in &mut self.gateways {
                    if random.chance(0.5) {
                        other.hush(issues);
                    }
                }
                "it falls silent, and any of the others"
            }
            17 => {
                gateway.speak(issues);
                "it sends again"
            }
            _ => {
                gateway.quote(issues, random);
                "it quotes"
            }
        };
        self.seen.faults += usize::from(what < 9 || what == 16);
        let is_late = what == 10;
        if is_late || self.random.chance(0.1) {
            let ms = if is_late { 110 } else { self.random.below(200) };
            std::thread::sleep(Duration::from_millis(ms));
        }
        for gateway in &mut self.gateways {
            gateway.work(&mut self.issues);
        }
        let rounds = if is_late { 1 } else { self.random.below(4) };
        (0..rounds).for_each(|_| self.compose());
        format!("bank {bank}: {did}, then {rounds} rounds")
    }

    fn compose(&mut self) {
        let Some(composer) = self.composer.as_mut().filter(|_| !self.is_composer_frozen) else {
            return;
        };
        let began_ns = boot_ns();
        if composer.work().expect("a round").is_drained {
            self.drained_ns = began_ns;
        }
    }

    /// Reads all messages. All live prices, with the bank if it is named; `None` if no price may be used.
    fn read(&mut self) -> Option<Vec<(i64, Option<usize>)>> {
        self.reader.read();
        if !self.reader.is_live() {
            return None;
        }
        let pair = self.reader.pair(Instrument(0));
        let best = pair.iter().flat_map(|pair| &pair.best);
        let named = best.map(|(price, bank)| {
            let number = bank.as_str().trim_start_matches("LP").parse();
            (price.0, Some(number.expect("the name of a bank")))
        });
        let mut shown: Vec<_> = named.collect();
        let mut images = Images::open(&self.root, "fx").expect("the composite's bus");
        let image = images.book(Instrument(0)).expect("a book");
        let book = image.snapshot(Instrument(0));
        if pair.is_some_and(|pair| pair.is_book_live) && book.validity == Validity::Live {
            let levels = book.bids.iter().chain(book.asks);
            shown.extend(levels.map(|level| (level.price.0, None)));
        }
        Some(shown)
    }

    /// Quotes that a reader may use now, compared with the void ones.
    fn look(&mut self) -> Result<(), String> {
        // A reader may be slow, too.
        if self.random.chance(0.3) {
            return Ok(());
        }
        let at_ns = boot_ns();
        let Some(shown) = self.read() else {
            self.seen.doubted += 1;
            return Ok(());
        };
        self.seen.live += 1;
        let silent_ns = at_ns - (SILENCE_NS + GATEWAY_NS + LOOK_NS + COMPOSER_NS);
        let mut gateways = self.gateways.iter();
        self.seen.silent += usize::from(gateways.any(|gateway| gateway.is_silent_since(silent_ns)));
        for (price, bank) in shown {
            let issue = self.issues.of(price);
            if bank.is_some_and(|bank| bank != issue.bank) {
                return Err(format!(
                    "the quote of bank {} is shown of bank {bank:?}",
                    issue.bank
                ));
            }
            let Some(void_ns) = issue.void_ns else {
                continue;
            };
            let stopped_ns = GATEWAY_NS + LOOK_NS + COMPOSER_NS;
            let (withdrawn, bound_ns) = match issue.end {
                End::Withdrawn => (void_ns <= self.drained_ns, COMPOSER_NS),
                End::Stopped => (false, stopped_ns),
                End::Silent => (false, SILENCE_NS + stopped_ns),
            };
            if withdrawn || at_ns > void_ns + bound_ns {
                let age_ms = (at_ns - void_ns) / 1_000_000;
                return Err(format!(
                    "{issue:?} is shown as live {age_ms} ms after its end"
                ));
            }
        }
        Ok(())
    }

    /// All parts work: the quotes of every bank return.
    fn heal(&mut self, seed: u64) {
        self.is_composer_frozen = false;
        for gateway in &mut self.gateways {
            gateway.restart(&self.root, &mut self.issues, &mut self.random);
        }
        let start = Instant::now();
        loop {
            for gateway in &mut self.gateways {
                gateway.work(&mut self.issues);
            }
            self.compose();
            self.look()
                .unwrap_or_else(|void| panic!("SEED={seed} at the end: {void}"));
            let shown = self.read().unwrap_or_default();
            let is_back = |bank| {
                shown
                    .iter()
                    .any(|(price, _)| self.issues.of(*price).bank == bank)
            };
            if (0..BANKS).all(is_back) {
                return;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "SEED={seed}: {shown:?} is all that comes back"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
