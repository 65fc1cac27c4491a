//! What readers cost the writer: nothing, also when they are stopped.

use super::bus::{Place, Writing};
use super::number;
use super::player::Player;
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use std::time::Instant;

/// Who reads meanwhile.
const COMPANIES: [(&str, usize, bool); 4] = [
    ("0 readers", 0, false),
    ("1 reader", 1, false),
    ("3 readers", 3, false),
    ("1 stopped reader", 1, true),
];

/// Measures by turns, in one run, and prints: how much it is depends on the machine, and is no test.
/// `ROUNDS` says how often each company has its turn.
#[test]
fn publishing_takes_as_long_with_any_readers() {
    let all = sched_getaffinity(None).unwrap();
    let mut but_first = all;
    but_first.unset(0);
    if but_first.count() == 0 {
        println!("skipped: there is one processor, and the readers would take it from the writer");
        return;
    }
    sched_setaffinity(None, &but_first).unwrap();
    let place = Place::new();
    let mut writing = Writing::begin(place.folder());
    let mut bytes = Vec::new();
    let mut took_ns = [const { Vec::new() }; COMPANIES.len()];
    for _ in 0..number("ROUNDS", 5) {
        for ((_, readers, stopped), took_ns) in COMPANIES.iter().zip(&mut took_ns) {
            let mut company: Vec<Player> = (0..*readers).map(|_| start(&place)).collect();
            if *stopped {
                company.iter_mut().for_each(Player::stop);
            }
            measure(&mut writing, &mut bytes, took_ns);
        }
    }
    let [alone, ..] = took_ns.each_mut().map(|took_ns| quantile(took_ns, 0.999));
    for ((name, ..), took_ns) in COMPANIES.iter().zip(&mut took_ns) {
        let (median, tail) = (quantile(took_ns, 0.5), quantile(took_ns, 0.999));
        let ratio = f64::from(tail) / f64::from(alone);
        println!(
            "{name}: publish takes {median} ns (median), {tail} ns (p99.9), {ratio:.2} of alone"
        );
    }
    writing.publish(&mut bytes);
}

fn start(place: &Place) -> Player {
    let mut reader = Player::start("reader beside", place.folder());
    assert_eq!(reader.listen(), "attached");
    reader
}

/// Times each of many publications of 100 bytes.
fn measure(writing: &mut Writing, bytes: &mut Vec<u8>, took_ns: &mut Vec<u32>) {
    bytes.resize(100, 7);
    for _ in 0..20_000 {
        let begun = Instant::now();
        writing.ring.publish(bytes, Default::default()).unwrap();
        took_ns.push(u32::try_from(begun.elapsed().as_nanos()).unwrap_or(u32::MAX));
        // A feed leaves time between its messages, and readers need it to be there again.
        while begun.elapsed().as_nanos() < 500 {}
    }
}

fn quantile(took_ns: &mut [u32], quantile: f64) -> u32 {
    let index = (took_ns.len() as f64 * quantile) as usize;
    *took_ns.select_nth_unstable(index.min(took_ns.len() - 1)).1
}
