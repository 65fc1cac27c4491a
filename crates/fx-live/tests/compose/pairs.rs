//! Effects of a message of one pair, or of the end of one session, on other pairs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use touchline_fx::input::Session;
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx_live::compose::{Composer, Config};
use touchline_testing::Folder;
use touchline_transport::Publish;
use touchline_transport::shm::{Publisher, Root};
use touchline_types::{
    Price, Quantity, Quote, QuoteAction, QuoteChange, Side, Timestamps, Update, Validity,
};

const MS: u64 = 1_000_000;

/// A composer of two pairs and two banks that reads no bus.
struct World {
    folder: Folder,
    composer: Composer<Publisher>,
}

impl World {
    fn open(name: &str, extra: &str, bank: &str) -> World {
        let folder = Folder::new(name);
        let mut text =
            format!("bus = \"fx\"\nring_bytes = 65536\n{extra}\ndirectory = {folder:?}\n");
        for symbol in ["EUR/USD", "GBP/USD"] {
            text += &format!(
                "[[pairs]]\nsymbol = \"{symbol}\"\nprecision = 5\nspot_date = \"20260107\"\n"
            );
        }
        let silence = if bank.contains("silence_ms") {
            ""
        } else {
            "silence_ms = 0"
        };
        let bank = format!("stale_ms = 0\n{silence}\n{bank}");
        text += &format!("[[banks]]\nname = \"LP0\"\n{bank}\n[[banks]]\nname = \"LP1\"\n{bank}\n");
        let config = Config::parse(&text).expect("a configuration");
        let composer = Composer::open(&config, None).expect("a composer");
        World { folder, composer }
    }

    /// A bank's only quote of a pair.
    fn quote(&mut self, at_ms: u64, bank: usize, pair: usize, ticks: i64) {
        let quote = Quote {
            side: Side::Bid,
            price: Price(ticks * 10_000),
            quantity: Quantity(1_000_000),
            ..Quote::NULL
        };
        let quotes = BusQuotes {
            pair,
            receive_ns: at_ms * MS,
            bank_ns: [0; 2],
            is_unquoted: false,
            quoted: Quoted::All(&[quote]),
        };
        self.input(at_ms, bank, Session::Quotes(quotes));
    }

    fn input(&mut self, at_ms: u64, bank: usize, session: Session<'_>) {
        self.composer.input(bank, at_ms * MS, session);
    }

    /// Published state and best bid of a pair, ticks.
    fn shown(&self, pair: usize) -> (Validity, Option<i64>) {
        let output = self.composer.output();
        let best = output.ladder(pair).levels(Side::Bid).first();
        (
            output.validity(pair),
            best.map(|level| level.price.0 / 10_000),
        )
    }
}

/// A bank was silent for the composer alone: any message of it brings every pair back, on the bus too.
#[test]
fn the_end_of_a_silence_is_published_for_every_pair() {
    let mut world = World::open("silence", "", "silence_ms = 100");
    world.input(1_000, 0, Session::Up);
    world.quote(1_000, 0, 0, 110_000);
    world.quote(1_000, 0, 1, 130_000);
    assert_eq!(world.shown(1), (Validity::Live, Some(130_000)));
    // Another bank's message, so that time passes.
    world.input(1_200, 1, Session::Up);
    assert_eq!(world.shown(1), (Validity::Stale, None));
    world.quote(1_300, 0, 0, 110_001);
    assert_eq!(world.shown(0), (Validity::Live, Some(110_001)));
    assert_eq!(world.shown(1), (Validity::Live, Some(130_000)));
}

/// Composites are conflated; the quotes of a lost bank leave all the same.
#[test]
fn a_lost_bank_leaves_a_conflated_composite_at_once() {
    let mut world = World::open("conflated", "conflate_ms = 1000", "");
    for bank in 0..2 {
        world.input(1_100, bank, Session::Up);
        world.quote(1_100, bank, 0, 110_000 + bank as i64);
    }
    world.input(2_000, 0, Session::Heard);
    assert_eq!(world.shown(0), (Validity::Live, Some(110_001)));
    world.quote(2_100, 1, 0, 110_002);
    assert_eq!(world.shown(0), (Validity::Live, Some(110_001)), "conflated");
    world.input(2_300, 1, Session::Down);
    assert_eq!(world.shown(0), (Validity::Live, Some(110_000)));
}

/// Composites are conflated; quotes that expire or that their bank withdraws leave all the same, and of their pair alone.
#[test]
fn ended_quotes_leave_a_conflated_composite_at_once() {
    let mut world = World::open("ended", "conflate_ms = 1000", "ttl_ms = 700");
    for bank in 0..2 {
        world.input(1_100, bank, Session::Up);
    }
    world.quote(1_500, 0, 0, 110_000);
    world.quote(1_800, 1, 0, 110_001);
    world.quote(1_800, 1, 1, 130_000);
    world.input(2_000, 0, Session::Heard);
    assert_eq!(world.shown(0), (Validity::Live, Some(110_001)));
    world.quote(2_100, 0, 0, 110_000);
    world.quote(2_100, 1, 1, 130_005);
    let withdrawn = BusQuotes {
        pair: 0,
        receive_ns: 2_200 * MS,
        bank_ns: [0; 2],
        is_unquoted: true,
        quoted: Quoted::Changes(&[QuoteChange {
            action: QuoteAction::Clear,
            quote: Quote::NULL,
        }]),
    };
    world.input(2_200, 1, Session::Quotes(withdrawn));
    assert_eq!(world.shown(0), (Validity::Live, Some(110_000)), "withdrawn");
    assert_eq!(world.shown(1), (Validity::Live, Some(130_000)), "conflated");
    world.input(2_799, 1, Session::Heard);
    assert_eq!(world.shown(0), (Validity::Live, Some(110_000)));
    // Any input runs the timers before it.
    world.input(2_800, 1, Session::Heard);
    assert_eq!(world.shown(0), (Validity::Live, None), "expired");
}

/// Composites are conflated; quotes that a quote message removes, alone or with the other side, leave at once. A quote in place of
/// another one does not.
#[test]
fn removed_quotes_leave_a_conflated_composite_at_once() {
    let mut world = World::open("removed", "conflate_ms = 1000", "");
    world.input(1_100, 0, Session::Up);
    let change = |action, entry, ticks: i64| QuoteChange {
        action,
        quote: Quote {
            entry,
            side: Side::Bid,
            price: Price(ticks * 10_000),
            quantity: Quantity(1_000_000),
            ..Quote::NULL
        },
    };
    let set = |entry, ticks| change(QuoteAction::Set, entry, ticks);
    let remove = |entry| change(QuoteAction::Remove, entry, 0);
    let pass = |world: &mut World, at_ms: u64, changes: &[QuoteChange]| {
        let quotes = BusQuotes {
            pair: 0,
            receive_ns: at_ms * MS,
            bank_ns: [0; 2],
            is_unquoted: false,
            quoted: Quoted::Changes(changes),
        };
        world.input(at_ms, 0, Session::Quotes(quotes));
        world.shown(0).1
    };
    world.quote(1_100, 0, 1, 130_000);
    world.quote(1_100, 0, 0, 110_000);
    pass(&mut world, 1_200, &[set(1, 110_001), set(2, 110_002)]);
    world.input(2_000, 0, Session::Heard);
    assert_eq!(world.shown(0).1, Some(110_002));
    for replacing in [
        &[set(2, 109_999)][..],
        &[remove(2), set(2, 109_998)],
        &[set(3, 109_997), remove(2)],
    ] {
        let shown = pass(&mut world, 2_100, replacing);
        assert_eq!(shown, Some(110_002), "conflated: {replacing:?}");
    }
    assert_eq!(pass(&mut world, 2_200, &[remove(3)]), Some(110_001));
    assert_eq!(pass(&mut world, 2_300, &[remove(1)]), Some(110_000));
    let indicative = QuoteChange {
        quote: Quote {
            is_indicative: true,
            ..set(0, 110_000).quote
        },
        ..set(0, 110_000)
    };
    assert_eq!(pass(&mut world, 2_400, &[indicative]), None);
    assert_eq!(world.shown(1).1, Some(130_000), "of another pair");
}

/// Size and price of each quote with a tier that was published last.
#[derive(Default)]
struct Tiers(Vec<(Side, i64, Option<i64>)>);

impl Publish for Tiers {
    fn publish(&mut self, update: &Update<'_>, _: &Timestamps) {
        if let Update::QuoteSnapshot(snapshot) = update {
            let tiers = snapshot.quotes.iter().filter(|quote| quote.tier.is_some());
            let tier = |quote: &Quote| {
                let price = Some(quote.price.0).filter(|_| !quote.price.is_null());
                (quote.side, quote.quantity.0, price)
            };
            self.0 = tiers.map(tier).collect();
        }
    }

    fn commit(&mut self) {}
}

/// A size that is not available has a quote without a price, also if a side has no quote at all.
#[test]
fn a_side_without_quotes_has_its_sizes() {
    let text = "bus = \"fx\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n\
                sizes = [1000000, 3000000]\n[[banks]]\nname = \"LP0\"\nstale_ms = 0\nsilence_ms = 0\n";
    let config = Config::parse(text).expect("a configuration");
    let composer = Composer::new(&config, Root::at("/nowhere"), Tiers::default());
    let mut composer = composer.expect("a composer");
    composer.input(0, MS, Session::Up);
    let bid = Quote {
        side: Side::Bid,
        price: Price(110_000 * 10_000),
        quantity: Quantity(1_000_000),
        ..Quote::NULL
    };
    let quotes = BusQuotes {
        pair: 0,
        receive_ns: MS,
        bank_ns: [0; 2],
        is_unquoted: false,
        quoted: Quoted::All(&[bid]),
    };
    composer.input(0, MS, Session::Quotes(quotes));
    assert_eq!(
        composer.output().publisher().0,
        [
            (Side::Bid, 1_000_000, Some(1_100_000_000)),
            (Side::Bid, 3_000_000, None),
            (Side::Ask, 1_000_000, None),
            (Side::Ask, 3_000_000, None),
        ]
    );
}

/// A bank whose session is up and whose quotes have ended is not counted.
#[test]
fn banks_with_usable_quotes_are_counted() {
    let mut world = World::open("usable", "", "ttl_ms = 700");
    let usable = |world: &World| world.composer.pricing().banks_usable();
    for bank in 0..2 {
        world.input(1_000, bank, Session::Up);
    }
    assert_eq!(usable(&world), 0);
    world.quote(1_000, 0, 0, 110_000);
    world.quote(1_100, 1, 1, 130_000);
    world.quote(1_100, 1, 0, 110_000);
    assert_eq!(usable(&world), 2);
    world.input(1_750, 0, Session::Heard);
    assert_eq!(usable(&world), 1);
}

/// A pair whose quotes are not known, or whose request the bank refused, is stale; one whose bank withdrew its quotes is live and empty.
#[test]
fn a_pair_whose_quotes_are_not_known_is_stale() {
    let mut world = World::open("unknown", "", "");
    world.input(1_000, 0, Session::Up);
    world.quote(1_000, 0, 0, 110_000);
    world.quote(1_000, 0, 1, 130_000);
    let clear = [QuoteChange {
        action: QuoteAction::Clear,
        quote: Quote::NULL,
    }];
    for (at_ms, quoted, validity) in [
        (1_100, Quoted::Changes(&clear), Validity::Live),
        (1_200, Quoted::All(&[]), Validity::Stale),
    ] {
        let quotes = BusQuotes {
            pair: 0,
            receive_ns: at_ms * MS,
            bank_ns: [0; 2],
            is_unquoted: true,
            quoted,
        };
        world.input(at_ms, 0, Session::Quotes(quotes));
        assert_eq!(world.shown(0), (validity, None));
        assert_eq!(world.shown(1), (Validity::Live, Some(130_000)));
    }
    world.quote(1_300, 0, 0, 110_001);
    assert_eq!(world.shown(0), (Validity::Live, Some(110_001)));
}

/// Only the user and the group of the configuration may read the composite.
#[test]
fn the_bus_is_shared_with_the_configured_group() {
    let mode = |path: PathBuf| fs::metadata(path).expect("it is there").mode() & 0o777;
    let group = fs::metadata("/proc/self").expect("this process").gid();
    let shared = World::open("shared", &format!("group = \"{group}\""), "");
    let private = World::open("private", "", "");
    for (world, directory, file) in [(&shared, 0o750, 0o640), (&private, 0o700, 0o600)] {
        let bus = world.folder.join("fx");
        assert_eq!(mode(world.folder.to_path_buf()), directory);
        assert_eq!(mode(bus.clone()), directory);
        for name in ["ring", "images", "counters", "lock"] {
            assert_eq!(mode(bus.join(name)), file, "{name}");
        }
    }
}
