//! Cost of a reader in Python to the publisher.

use crate::other::Other;
use crate::packets;
use std::path::Path;
use std::time::Instant;
use touchline_transport::shm::Publisher;

const ROUNDS: i64 = 7;

/// Prints the publisher's time for a message, by what its reader does.
pub fn measure(folder: &Path, publisher: &mut Publisher) {
    println!(
        "{:<46} {:>8} {:>8}   ns a message",
        "publisher, its reader in Python", "best", "median"
    );
    row("no reader", publisher);
    let Some(mut reader) = Other::start("Python, read()", "read", folder) else {
        return;
    };
    reader.drain();
    reader.signal("-STOP");
    row("stopped", publisher);
    reader.signal("-CONT");
    reader.drain();
    reader.say("slow");
    row("1 ms after each batch of one event", publisher);
    reader.say("keep up");
    row("reads without a pause", publisher);
}

fn row(name: &str, publisher: &mut Publisher) {
    let mut costs: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let start = Instant::now();
            let messages = packets::publish(publisher, round);
            start.elapsed().as_nanos() as f64 / messages as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    println!(
        "{name:<46} {:>8.1} {:>8.1}",
        costs[0],
        costs[costs.len() / 2]
    );
}
