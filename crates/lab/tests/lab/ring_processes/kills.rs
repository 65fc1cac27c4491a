//! Death at random instants, and at chosen ones.

use super::bus::{self, LENGTH_MAX, Writing};
use super::player::Player;
use super::roles::BEFORE_DEATH;
use std::path::Path;
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, amount};
use touchline_shm::broadcast::Reader;
use touchline_shm::segment::Mapping;
use touchline_testing::stream_verifier::StreamVerifier;
use touchline_testing::{Folder, PATIENCE, until};

/// Last line of a reader, in the order of its fields.
struct Said {
    first: u64,
    received: u64,
    lost: u64,
    laps: u64,
    torn: u64,
}

/// Checks the end of a reader: no violation, and received and lost messages add up.
fn hear_out(mut reader: Player, published: u64) -> Said {
    let said = reader.listen();
    let numbers: Vec<u64> = said
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let &[first, received, lost, laps, torn] = &numbers[..] else {
        panic!("the reader says '{said}'");
    };
    assert!(reader.ends_well());
    assert_eq!(first + received + lost, published + 1, "{said}");
    Said {
        first,
        received,
        lost,
        laps,
        torn,
    }
}

/// Starts a writer, and waits until others see its messages. Returns the time that this took.
fn start_writer(place: &Path, seen: Option<&Reader<Mapping>>) -> (Player, Duration) {
    let sequence = |reader: &Reader<Mapping>| reader.join_point().map_or(0, |mark| mark.sequence);
    let before = seen.map_or(1, sequence);
    let begun = Instant::now();
    let mut writer = Player::start("writer", place);
    let attached = bus::attach(place);
    let reader = seen.unwrap_or(&attached);
    until("a message of the new writer", PATIENCE, || {
        writer.assert_alive();
        sequence(reader) > before
    });
    (writer, begun.elapsed())
}

fn start_reader(place: &Path) -> Player {
    let mut reader = Player::start("reader", place);
    assert_eq!(reader.listen(), "attached");
    reader
}

/// Writer and readers are killed and started again; no reader ever sees a torn, repeated, reordered or
/// invented message, and the received and lost messages of each add up over all restarts.
#[test]
fn ring_survives_kills_at_random_times() {
    let (kills, seed) = (amount("KILLS", 200), amount("SEED", 1));
    println!("{kills} kills, SEED={seed}");
    let mut random = Random::from_seed(seed);
    let place = Folder::in_memory("ring");
    let (mut writer, first_start) = start_writer(&place, None);
    let watch = bus::attach(&place);
    let mut readers = vec![
        start_reader(&place),
        start_reader(&place),
        start_reader(&place),
    ];
    let (mut starts, mut killed_writers) = (vec![first_start], 0);
    for _ in 0..kills {
        std::thread::sleep(Duration::from_micros(random.below(8_000)));
        readers.iter_mut().for_each(Player::assert_alive);
        if random.chance(0.5) {
            writer.kill();
            killed_writers += 1;
            let (next, took) = start_writer(&place, Some(&watch));
            (writer, _) = (next, starts.push(took));
        } else {
            // The first reader lives through everything.
            let index = 1 + random.index(2);
            readers.remove(index).kill();
            readers.insert(index, start_reader(&place));
        }
    }
    writer.kill();

    let writing = Writing::begin(&place);
    let published = writing.ring.next().sequence - 1;
    assert_eq!(
        writing.ring.generation(),
        killed_writers + 3,
        "one for each start, two to begin"
    );
    bus::end(&place);
    let said: Vec<Said> = readers
        .into_iter()
        .map(|reader| hear_out(reader, published))
        .collect();
    starts.sort();
    println!(
        "{published} messages, {killed_writers} writers killed; a new one was seen after {:?} (median), {:?} (longest)",
        starts[starts.len() / 2],
        starts[starts.len() - 1]
    );
    for reader in &said {
        println!(
            "from {}: {} received, {} lost in {} laps, {} torn and kept back",
            reader.first, reader.received, reader.lost, reader.laps, reader.torn
        );
    }
    assert!(said[0].received > 0);
    assert!(
        said.iter().any(|reader| reader.laps > 0),
        "no reader was overrun"
    );
}

/// A message that its writer left incomplete is never read; a committed one is.
#[test]
fn ring_survives_kills_at_chosen_points() {
    let place = Folder::in_memory("ring");
    let mut published = 0;
    let mut reader: Option<StreamVerifier<Mapping>> = None;
    for (role, committed) in [
        ("writer that dies after the claim", 0),
        ("writer that dies in the payload", 0),
        ("writer that dies after the payload", 0),
        ("writer that dies after the commit", 1),
    ] {
        for _ in 0..3 {
            let mut writer = Player::start(role, &place);
            writer.wait_for_stop();
            published += BEFORE_DEATH + committed;
            // Both while it hangs there and after it is dead.
            let attached = || StreamVerifier::new(bus::attach(&place), LENGTH_MAX);
            let reader = reader.get_or_insert_with(attached);
            let next = |reader: &mut StreamVerifier<Mapping>| {
                while reader.poll().unwrap() {}
                reader.tally().next()
            };
            assert_eq!(next(reader), published + 1, "{role}");
            writer.kill();
            assert_eq!(next(&mut attached()), published + 1, "{role}");
            let successor = Writing::begin(&place);
            assert_eq!(successor.ring.next().sequence, published + 1, "{role}");
            assert_eq!(next(reader), published + 1, "{role}");
        }
    }
}

/// Checks the tests: a reader that uses messages before the ring has validated them is detected.
#[test]
fn a_reader_without_validation_is_detected() {
    let place = Folder::in_memory("ring");
    let (writer, _) = start_writer(&place, None);
    let mut reader = Player::start("credulous reader", &place);
    assert_eq!(reader.listen(), "attached");
    let said = reader.listen();
    assert!(said.contains("is not what was sent"), "{said}");
    writer.kill();
}
