//! Publishers of three banks, the composer, and the expected state.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_fx_live::compose::{Composer, Config};
use touchline_lab::bank::bus::{self, SPOT, TICK};
use touchline_lab::random::Random;
use touchline_testing::Folder;
use touchline_transport::Publish;
use touchline_transport::shm::{Images, Publisher, Root, Settings};
use touchline_types::{
    ChannelState, Id, Instrument, Level, PacketInfo, Price, Quantity, Quote, QuoteAction,
    QuoteChange, QuoteSnapshot, QuoteUpdate, Side, Timestamps, Update, Validity,
};

pub const BANKS: usize = 3;
/// Longest reaction time of the composer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A bank: its bus, while it has a publisher, and its quotes.
#[derive(Default)]
struct Bank {
    publisher: Option<Publisher>,
    is_up: bool,
    quotes: BTreeMap<u32, Quote>,
    age: u64,
}

/// The expected composite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Price in 1e-9, quantity.
    pub tops: [Option<(i64, i64)>; 2],
    pub validity: Validity,
}

pub struct World {
    folder: Folder,
    root: Root,
    banks: [Bank; BANKS],
    composer: Option<Composer<Publisher>>,
    config: Config,
    /// Last action, for messages.
    pub did: String,
}

impl World {
    pub fn open() -> World {
        let folder = Folder::new("compose");
        let buses = folder.join("buses");
        let mut text = format!(
            "bus = \"fx\"\ndirectory = {:?}\nring_bytes = 1048576\nlevels = 5\n\
             [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nlot = 1\nspot_date = \"{SPOT}\"\n",
            buses.display().to_string()
        );
        for bank in 0..BANKS {
            text += &format!("[[banks]]\nname = \"LP{bank}\"\nstale_ms = 0\nsilence_ms = 0\n");
        }
        let config = Config::parse(&text).expect("a configuration");
        let composer = Composer::open(&config, Some(&folder.join("session")));
        World {
            config,
            root: Root::at(&buses),
            folder,
            banks: Default::default(),
            composer: Some(composer.expect("a composer")),
            did: String::new(),
        }
    }

    /// A random action on a random bank.
    pub fn act(&mut self, random: &mut Random) {
        let bank = random.index(BANKS);
        match random.below(12) {
            0 => self.begin(bank, random),
            1 => self.die(bank),
            2 => self.lose(bank),
            3 => self.up(bank),
            4 => self.burst(bank, random),
            5 => self.restart(),
            _ => self.change(bank, random),
        }
    }

    /// The composer dies, and another one joins the existing buses: their rings contain older messages, too.
    fn restart(&mut self) {
        self.did = "the composer begins again".to_owned();
        self.composer = None;
        let composer = Composer::open(&self.config, Some(&self.folder.join("session")));
        self.composer = Some(composer.expect("a composer"));
    }

    fn composer(&mut self) -> &mut Composer<Publisher> {
        self.composer.as_mut().expect("a composer")
    }

    /// A gateway that replaces a possible predecessor.
    pub fn begin(&mut self, bank: usize, random: &mut Random) {
        self.did = format!("bank {bank} begins");
        let settings = Settings {
            ring_bytes: 65_536,
            instruments_max: 4,
            orders_max: 1,
            ..Settings::default()
        };
        let one = &mut self.banks[bank];
        *one = Bank::default();
        let publisher = Publisher::open(&self.root, &format!("lp{bank}"), &settings);
        one.publisher = Some(publisher.expect("a bus that nobody publishes"));
        one.publish(&Update::Channel(&stale()));
        one.publish(&Update::Definition(&bus::definition()));
        one.commit();
        self.up(bank);
        self.change(bank, random);
    }

    fn die(&mut self, bank: usize) {
        self.did = format!("bank {bank} dies");
        self.banks[bank] = Bank::default();
    }

    /// The session is lost, and returns.
    fn lose(&mut self, bank: usize) {
        self.did = format!("bank {bank} loses its session");
        let one = &mut self.banks[bank];
        one.publish(&Update::Channel(&stale()));
        one.commit();
        one.quotes.clear();
        one.is_up = false;
    }

    fn up(&mut self, bank: usize) {
        self.did += &format!(", bank {bank} is up");
        let one = &mut self.banks[bank];
        if one.publisher.is_none() || one.is_up {
            return;
        }
        one.quotes.clear();
        one.is_up = true;
        one.publish(&Update::Channel(&ChannelState::LIVE));
        one.snapshot();
        one.commit();
    }

    /// More than the ring holds while the composer does not read: it is overrun.
    fn burst(&mut self, bank: usize, random: &mut Random) {
        self.did = format!("bank {bank} bursts");
        for _ in 0..600 {
            self.quote(bank, random);
        }
        let one = &mut self.banks[bank];
        // Like a gateway, every second.
        one.snapshot();
        one.commit();
    }

    fn change(&mut self, bank: usize, random: &mut Random) {
        self.did += &format!(", bank {bank} quotes");
        for _ in 0..1 + random.below(3) {
            self.quote(bank, random);
        }
        self.banks[bank].commit();
    }

    fn quote(&mut self, bank: usize, random: &mut Random) {
        let one = &mut self.banks[bank];
        if !one.is_up {
            return;
        }
        one.age += 1;
        let side = *random.pick(&[Side::Bid, Side::Ask]);
        let price = match side {
            Side::Bid => 110_000 - random.between(0, 6),
            Side::Ask => 110_000 + random.between(0, 6),
        };
        let quote = Quote {
            entry: 2 * random.below(3) as u32 + side.index() as u32,
            side,
            price: Price(price * TICK),
            quantity: Quantity(1_000 * random.between(1, 5)),
            priority: one.age,
            is_indicative: random.chance(0.1),
            quote_id: Id::new(format!("q{}", one.age % 7).as_bytes()).expect("an id"),
            ..Quote::NULL
        };
        let action = match random.below(10) {
            0 => QuoteAction::Clear,
            1 | 2 => QuoteAction::Remove,
            _ => QuoteAction::Set,
        };
        match action {
            QuoteAction::Set => drop(one.quotes.insert(quote.entry, quote)),
            QuoteAction::Remove => drop(one.quotes.remove(&quote.entry)),
            QuoteAction::Clear => one.quotes.clear(),
        }
        let changes = [QuoteChange { action, quote }];
        one.publish(&Update::Quotes(QuoteUpdate {
            stream: bus::stream(),
            changes: &changes,
        }));
    }

    /// The expected composite, by plain search.
    pub fn expected(&self) -> Expected {
        let up = || self.banks.iter().filter(|bank| bank.is_up);
        let tops = Side::BOTH.map(|side| {
            let quotes = up().flat_map(|bank| {
                let firm = bank.quotes.values().filter(|quote| !quote.is_indicative);
                firm.filter(|quote| quote.side == side)
            });
            let prices = quotes.clone().map(|quote| quote.price.0);
            let best = match side {
                Side::Bid => prices.max(),
                Side::Ask => prices.min(),
            }?;
            let sizes = quotes.filter(|quote| quote.price.0 == best);
            Some((best, sizes.map(|quote| quote.quantity.0).sum()))
        });
        Expected {
            tops,
            validity: match up().count() {
                0 => Validity::Stale,
                _ => Validity::Live,
            },
        }
    }

    /// Runs until the composite is as expected, or for a long time; returns it. Snapshots are repeated as gateways do.
    pub fn settle(&mut self, expected: &Expected) -> Expected {
        let start = Instant::now();
        let mut next = start + Duration::from_millis(20);
        loop {
            self.composer().work().expect("a round");
            let found = self.found();
            if found == *expected || start.elapsed() > PATIENCE {
                return found;
            }
            if Instant::now() > next {
                next += Duration::from_millis(20);
                for bank in &mut self.banks {
                    bank.repeat();
                }
            }
        }
    }

    fn found(&self) -> Expected {
        let output = self.composer.as_ref().expect("a composer").output();
        let top = |side| {
            let level = output.ladder(0).levels(side).first();
            level.map(|level| (level.price.0, level.quantity.0))
        };
        Expected {
            tops: [top(Side::Bid), top(Side::Ask)],
            validity: output.validity(0),
        }
    }

    /// Levels of a side.
    pub fn ladder(&self, side: Side) -> usize {
        let composer = self.composer.as_ref().expect("a composer");
        composer.output().ladder(0).levels(side).len()
    }

    /// Best prices and validity for a reader of the bus.
    pub fn read(&self) -> (Option<i64>, Option<i64>, Validity) {
        let mut images = Images::open(&self.root, "fx").expect("the composite's bus");
        let image = images.book(Instrument(0)).expect("a book");
        let book = image.snapshot(Instrument(0));
        let price = |levels: &[Level]| levels.first().map(|level| level.price.0);
        (price(book.bids), price(book.asks), book.validity)
    }

    /// Ends the run; returns the folder of the recording.
    pub fn finish(&mut self) -> PathBuf {
        self.composer().finish().expect("a recording");
        self.folder.join("session")
    }
}

impl Bank {
    fn publish(&mut self, update: &Update<'_>) {
        if let Some(publisher) = &mut self.publisher {
            publisher.publish(update, &stamped());
        }
    }

    fn commit(&mut self) {
        if let Some(publisher) = &mut self.publisher {
            publisher.commit();
        }
    }

    fn snapshot(&mut self) {
        let mut quotes: Vec<Quote> = self.quotes.values().copied().collect();
        quotes.sort_unstable_by_key(|quote| quote.priority);
        self.publish(&Update::QuoteSnapshot(QuoteSnapshot {
            stream: bus::stream(),
            quotes: &quotes,
        }));
    }

    fn repeat(&mut self) {
        if self.is_up {
            self.snapshot();
            self.commit();
        }
    }
}

/// Received now.
pub fn stamped() -> Timestamps {
    Timestamps {
        packet: PacketInfo {
            receive_ns: wall_ns(),
            ..PacketInfo::default()
        },
        ..Timestamps::default()
    }
}

pub fn stale() -> ChannelState {
    ChannelState {
        price: Validity::Stale,
        orders: Validity::Stale,
        sequence: 0,
    }
}

fn wall_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
