//! Latency at 2,000 packets/s: from the publisher's clock before a packet to the reader's clock with its top.

use crate::other::Other;
use crate::{BUS, packets};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_client::{Bus, Event, Events, Idle};
use touchline_transport::shm::Publisher;

const PACKETS: i64 = 6_000;
const EVERY: Duration = Duration::from_micros(500);

/// Prints the latency of each reader, alone.
pub fn measure(folder: &Path, publisher: &mut Publisher) {
    println!(
        "{:<46} {:>8} {:>8} {:>8}   µs",
        "latency, yielding reader, 2,000 packets/s", "50 %", "90 %", "99 %"
    );
    let rust = thread::scope(|scope| {
        let reader = scope.spawn(|| read(folder));
        thread::sleep(Duration::from_millis(300));
        publish(publisher);
        reader.join().expect("the reader")
    });
    row("Rust", rust);
    for (name, way) in [
        ("C", "c"),
        ("Python, iterator", "iterate"),
        ("Python, read()", "read"),
    ] {
        let Some(mut other) = Other::start(name, way, folder) else {
            continue;
        };
        other.drain();
        other.say(&format!("latency {PACKETS}"));
        thread::sleep(Duration::from_millis(300));
        publish(publisher);
        let line = other.line();
        let times = line.split(' ').map(|time| time.parse().expect("a number"));
        row(name, times.collect());
    }
}

fn row(name: &str, mut times: Vec<u64>) {
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize] as f64 / 1e3;
    println!(
        "{name:<46} {:>8.2} {:>8.2} {:>8.2}",
        at(0.5),
        at(0.9),
        at(0.99)
    );
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("the clock is right").as_nanos() as u64
}

fn publish(publisher: &mut Publisher) {
    let start = Instant::now();
    for packet in 0..PACKETS {
        while start.elapsed() < EVERY * packet as u32 {
            std::hint::spin_loop();
        }
        packets::one(publisher, packet, now_ns());
    }
}

fn read(folder: &Path) -> Vec<u64> {
    let options = Bus::options().directory(folder).events(Events::TOPS);
    let mut bus = options
        .idle(Idle::Yield)
        .live_only(true)
        .join(BUS)
        .expect("it is there");
    let mut times = Vec::new();
    while times.len() < PACKETS as usize {
        if let Some(Event::Top(top)) = bus.next() {
            times.push(now_ns().saturating_sub(top.times.receive_ns));
        }
    }
    times
}
