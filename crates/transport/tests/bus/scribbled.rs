//! Tables with any content, as of a process that writes into files of others: no reader ends by them, or takes memory without a bound.

use crate::world::{Buses, Reader, definition, mirror, small};
use std::fs::File;
use std::os::unix::fs::FileExt;
use touchline_lab::random::{Random, seeds};
use touchline_testing::{Folder, with_role};
use touchline_transport::market::Images;
use touchline_transport::shm::{Join, Settings, Subscriber};
use touchline_transport::{Envelope, Subscribe};
use touchline_types::{Instrument, State, Timestamps, Update, Validity};

const TABLES: [&str; 5] = [
    "definitions",
    "images",
    "order_books",
    "orders",
    "last_values",
];
/// Bytes of the head of a table, behind which its slots begin.
const HEAD_BYTES: u64 = 4_096;
/// Words before the content of a slot.
const SLOT_HEAD: usize = 2;

/// Runs itself with little memory.
#[test]
fn tables_with_any_content_end_no_reader() {
    const TEST: &str = "scribbled::tables_with_any_content_end_no_reader";
    if touchline_testing::role().is_some() {
        return seeds(8).for_each(read_scribbled);
    }
    let folder = Folder::new("scribbled");
    let before = ["sh", "-c", "ulimit -v 2000000 && exec \"$0\" \"$@\""];
    let output = with_role(&before, TEST, "small", &folder).output();
    let output = output.expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{output:?}"
    );
}

fn read_scribbled(seed: u64) {
    println!("SEED={seed}");
    let mut random = Random::from_seed(seed);
    let buses = Buses::new();
    let settings = Settings {
        orders_max: 64,
        ..small()
    };
    let mut gateway = buses.gateway_with(&settings, seed, 6);
    gateway.events(random.below(400));
    let join = || Join {
        last_values: true,
        ..Join::default()
    };
    let mut reader = Reader::new(buses.join(join()));
    // Within its join, or behind it.
    reader.take(random.below(40) as usize);
    let mut images = Images::open(&buses.root(), "test").expect("the bus is there");
    for table in TABLES {
        scribble(&buses, table, &mut random);
    }
    let root = buses.root();
    for _ in 0..3 {
        reader.take(5_000);
        if let Ok(subscriber) = Subscriber::try_join(&root, "test", join()) {
            Reader::new(subscriber).take(5_000);
        }
        for instrument in images.instruments() {
            if let Some(definition) = images.definition(instrument) {
                assert_eq!(definition.instrument, instrument);
            }
            let _ = images.book(instrument);
            images.last_values(instrument).for_each(drop);
        }
        if random.chance(0.5) {
            gateway.empty_ring();
        }
    }
    // A second at most, if a table is of no publisher.
    let _ = images.refresh();
}

/// Overwrites a table, or changes some of its bits, in its head as well.
fn scribble(buses: &Buses, table: &str, random: &mut Random) {
    if random.chance(0.3) {
        let is_zero = random.chance(0.2);
        return buses.overwrite(&format!("test/{table}"), random, is_zero);
    }
    let file = write(buses, table);
    let length = file.metadata().expect("our file").len();
    let in_head = random.chance(0.2);
    for _ in 0..random.below(300) {
        let at = match in_head {
            true => random.below(20 * 8),
            false => HEAD_BYTES + random.below(length - HEAD_BYTES),
        };
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("our file");
        byte[0] ^= 1 << random.below(8);
        file.write_all_at(&byte, at).expect("our file");
    }
}

fn write(buses: &Buses, table: &str) -> File {
    let mut options = File::options();
    let file = options.read(true).write(true).open(buses.path(table));
    file.expect("our file")
}

/// A slot of the orders names an instrument of no table: it belongs to no book, and no room is made for it.
#[test]
fn an_order_of_an_instrument_beyond_the_tables_is_left_out() {
    let buses = Buses::new();
    let settings = Settings {
        orders_max: 64,
        ..small()
    };
    let mut gateway = buses.gateway_with(&settings, 1, 4);
    for instrument in (0..4).map(Instrument) {
        gateway
            .market
            .whole_orders(instrument, &mut gateway.publisher);
        gateway.market.order(instrument, &mut gateway.publisher);
    }
    gateway.commit();
    gateway.empty_ring();
    let file = write(&buses, "orders");
    let held = 1_u64 << 33;
    for slot in 0..64 {
        let key = HEAD_BYTES + (8 * slot + SLOT_HEAD as u64) * 8;
        file.write_all_at(&(held | 1 << 30).to_le_bytes(), key)
            .expect("our file");
    }
    let mut reader = Reader::new(buses.join(Join::default()));
    let room = std::fs::read_to_string("/proc/self/statm").expect("a process");
    reader.drain();
    let after = std::fs::read_to_string("/proc/self/statm").expect("a process");
    let pages = |text: &str| -> u64 {
        let pages = text.split(' ').nth(1);
        pages
            .and_then(|pages| pages.parse().ok())
            .expect("a number")
    };
    // 2^30 rows would take far more than everything else in this process.
    assert!(pages(&after) < pages(&room) + (1 << 20), "{room} {after}");
}

/// A slot of the definitions has the definition of another instrument: it is none.
#[test]
fn a_definition_in_the_slot_of_another_instrument_is_none() {
    let buses = Buses::new();
    let _gateway = buses.gateway(1, 4);
    let file = write(&buses, "definitions");
    let word = |at: u64| {
        let mut word = [0; 8];
        file.read_exact_at(&mut word, at * 8).expect("our file");
        u64::from_le_bytes(word) as usize
    };
    let content_words = word(2);
    let slot_bytes = ((SLOT_HEAD + content_words).next_multiple_of(8) * 8) as u64;
    let mut content = vec![0; content_words * 8];
    let content_of = |slot: u64| HEAD_BYTES + slot * slot_bytes + SLOT_HEAD as u64 * 8;
    file.read_exact_at(&mut content, content_of(0))
        .expect("our file");
    file.write_all_at(&content, content_of(2))
        .expect("our file");
    let images = Images::open(&buses.root(), "test").expect("the bus is there");
    let seen: Vec<_> = images
        .instruments()
        .map(|one| images.definition(one))
        .collect();
    let all = [0, 1, 2, 3].map(|one| (one != 2).then(|| definition(one)));
    assert_eq!(seen, all);
    let mut joined = Defined::default();
    let mut subscriber = buses.join(Join::default());
    while subscriber.drain(usize::MAX, &mut joined) > 0 {}
    assert_eq!(
        joined.0.iter().filter(|one| one.0 == 0).count(),
        1,
        "{:?}",
        joined.0
    );
}

/// Instruments of the received definitions.
#[derive(Default)]
struct Defined(Vec<Instrument>);

impl Subscribe for Defined {
    fn update(&mut self, envelope: &Envelope<'_>) {
        if let Update::Definition(definition) = envelope.update {
            self.0.push(definition.instrument);
        }
    }
}

/// A mirror has no room for what no bus has.
#[test]
fn a_mirror_leaves_out_an_instrument_that_no_bus_has() {
    let mut mirror = mirror();
    let state = State {
        instrument: Instrument(u32::MAX - 1),
        validity: Validity::Live,
    };
    mirror.update(&Envelope {
        sequence: 1,
        timestamps: &Timestamps::default(),
        update: &Update::State(state),
    });
    assert_eq!(mirror.inconsistent_updates(), 1);
    assert!(mirror.book(Instrument(0)).is_none());
}
