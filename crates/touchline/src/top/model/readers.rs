//! Readers of a bus, slowest first.

use super::sample::{Histogram, Points, Sample, since};
use crate::counted;
use std::collections::HashMap;
use touchline_client::monitor::{CountersView, Monitor, Overview, READER_HISTOGRAMS, ReaderView};

/// A named reader.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Its name.
    pub name: String,
    /// Condition.
    pub condition: Condition,
    /// Process id; 0 if it has ended or is unknown.
    pub pid: u32,
    /// Unread bytes.
    pub lag_bytes: u64,
    /// Lag as a share of the ring: at 1 the reader is overrun.
    pub lag_share: f64,
    /// Messages a second, over the last interval.
    pub per_second: f64,
    /// Number of overruns.
    pub overruns: u64,
    /// Messages lost in overruns.
    pub lost: u64,
    /// Time from published to consumed, over the last interval, or in total if that is empty.
    pub consumed: Points,
    /// Time from the packet's receive timestamp to consumed, likewise.
    pub received: Points,
}

/// Condition of a reader, worst last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// Its process has ended without removing its statistics.
    Dead,
    /// Keeps up.
    Well,
    /// Lost messages some time ago.
    HasLost,
    /// Far behind, or losing messages.
    Slow,
    /// Its statistics cannot be read, with the reason.
    Unreadable(String),
}

/// Lag above which a reader is slow, as a share of the ring.
const SLOW_SHARE: f64 = 0.25;

/// Earlier samples of readers.
#[derive(Debug, Default)]
pub struct Before {
    /// By name.
    last: HashMap<String, Seen>,
}

/// Earlier sample of a reader, and the baseline of totals.
#[derive(Debug)]
struct Seen {
    /// Start time, which identifies the reader.
    start_unix_ns: u64,
    last: Sample,
    base: Option<Sample>,
}

/// A receiver of a relay that most bytes wait for, or that was disconnected for being slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowReceiver {
    /// Counters of the relay: `relay-BUS-PORT`.
    pub relay: String,
    /// Its address.
    pub address: String,
    /// Bytes that wait for it.
    pub queued_bytes: u64,
    /// How often receivers of this relay were slow.
    pub times: u64,
}

/// Slow receivers of the relays that send this bus; none where their counters cannot be read.
pub fn slow_receivers(monitor: &Monitor, bus: &str) -> Vec<SlowReceiver> {
    let mut slow = Vec::new();
    for process in monitor.processes().unwrap_or_default() {
        let is_alive = process.process.is_some() && counted::is_relay_of(bus, &process.name);
        let Ok(Some(counters_file)) = &process.counters_file else {
            continue;
        };
        slow.extend(slow_receiver(&process.name, counters_file).filter(|_| is_alive));
    }
    slow
}

/// A receiver is slow if its bytes wait, or if one was slow before.
fn slow_receiver(relay: &str, counters_file: &CountersView) -> Option<SlowReceiver> {
    let counter = |name| counters_file.counter(name).unwrap_or(0);
    let address = counted::address(counter("relay_slow_receiver"))?;
    let queued_bytes = counter("relay_queued_bytes");
    let times = counter("relay_receivers_slow") + counter("relay_receivers_held");
    (queued_bytes > 0 || times > 0).then(|| SlowReceiver {
        relay: relay.to_owned(),
        address: address.to_string(),
        queued_bytes,
        times,
    })
}

impl Before {
    /// Starts totals now.
    pub fn reset(&mut self) {
        for seen in self.last.values_mut() {
            seen.base = Some(seen.last.clone());
        }
    }

    /// Readers for the screen, from these views and the earlier samples.
    pub fn picture(&mut self, views: Vec<ReaderView>, ring_bytes: u64) -> Vec<Reader> {
        let mut before = std::mem::take(&mut self.last);
        let mut readers = Vec::with_capacity(views.len());
        for view in views {
            let seen = before.remove(&view.name);
            readers.push(self.reader(view, seen, ring_bytes));
        }
        readers.sort_by(|one, other| {
            let badness = other.condition.cmp(&one.condition);
            badness.then(other.lag_bytes.cmp(&one.lag_bytes))
        });
        readers
    }

    fn reader(&mut self, view: ReaderView, seen: Option<Seen>, ring_bytes: u64) -> Reader {
        let mut reader = Reader {
            condition: Condition::Dead,
            pid: view.process.as_ref().map_or(0, |process| process.pid),
            lag_bytes: view.lag_bytes,
            lag_share: view.lag_bytes as f64 / ring_bytes.max(1) as f64,
            per_second: 0.0,
            overruns: view.counters.overruns,
            lost: view.counters.overrun_messages,
            consumed: Points::default(),
            received: Points::default(),
            name: view.name,
        };
        let counters_file = match &view.counters_file {
            Ok(counters_file) => counters_file,
            Err(error) => {
                if view.process.is_some() {
                    reader.condition = Condition::Unreadable(error.to_string());
                }
                return reader;
            }
        };
        let now = Sample::take(counters_file);
        let is_same = |seen: &Seen| seen.start_unix_ns == now.start_unix_ns;
        let (last, base) = match seen.filter(is_same) {
            Some(seen) => (Some(seen.last), seen.base),
            None => (None, None),
        };
        let recent = |counter| {
            last.as_ref().map_or(0, |last| {
                now.counter(counter).saturating_sub(last.counter(counter))
            })
        };
        if let Some(last) = &last {
            let seconds = now.at.duration_since(last.at).as_secs_f64().max(1e-9);
            reader.per_second = recent("messages") as f64 / seconds;
        }
        if let Some(base) = &base {
            reader.overruns = reader.overruns.saturating_sub(base.counter("overruns"));
            reader.lost = reader.lost.saturating_sub(base.counter("overrun_messages"));
        }
        reader.consumed = points(&now, last.as_ref(), base.as_ref(), 0);
        reader.received = points(&now, last.as_ref(), base.as_ref(), 1);
        reader.condition = match () {
            () if view.process.is_none() => Condition::Dead,
            () if recent("overruns") > 0 || reader.lag_share > SLOW_SHARE => Condition::Slow,
            () if reader.overruns > 0 => Condition::HasLost,
            () => Condition::Well,
        };
        let start_unix_ns = now.start_unix_ns;
        let seen = Seen {
            start_unix_ns,
            last: now,
            base,
        };
        self.last.insert(reader.name.clone(), seen);
        reader
    }
}

/// One histogram of a reader: of the last interval, or in total if that is empty.
fn points(now: &Sample, last: Option<&Sample>, base: Option<&Sample>, which: usize) -> Points {
    let is_it = |(what, _): &Histogram| what.name == READER_HISTOGRAMS[which].name;
    let Some(number) = now.histograms.iter().position(is_it) else {
        return Points::default();
    };
    let view = &now.histograms[number].1;
    match since(view, last, number, Points::default()) {
        Points { count: 0, .. } => since(view, base, number, Points::of(view)),
        recent => recent,
    }
}

/// Unnamed readers that a lossless publisher waits for.
pub fn unnamed(overview: &Overview, named: &[ReaderView]) -> usize {
    let waited_for = overview.readers.iter().flatten();
    let is_unnamed = |place: u32| {
        let place = u64::from(place) + 1;
        // A reader that died may have left its place to another one.
        let has_place =
            |reader: &ReaderView| reader.process.is_some() && reader.counters.place == place;
        !named.iter().any(has_place)
    };
    waited_for
        .filter(|reader| reader.is_alive && is_unnamed(reader.place))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_client::monitor::{Monitor, ReaderCounters, RegisteredReader};
    use touchline_testing::Folder;
    use touchline_transport::shm::{Publisher, Root, Settings};

    /// The place of a reader that died, whose statistics are kept, may be that of a reader without a name.
    #[test]
    fn a_reader_that_died_gives_its_name_to_no_other() {
        let folder = Folder::new("readers");
        let settings = Settings {
            ring_bytes: 16 * 1024,
            instruments_max: 16,
            ..Settings::default()
        };
        let publisher = Publisher::open(&Root::at(&folder), "test", &settings);
        let _publisher = publisher.expect("a free bus");
        let monitor = Monitor::new(Some(&folder));
        let (mut overview, _) = monitor.overview("test").expect("the bus is there");
        let view = |process| ReaderView {
            name: "reader".to_owned(),
            user: None,
            process,
            counters: ReaderCounters {
                place: 1,
                ..ReaderCounters::default()
            },
            lag_bytes: 0,
            counters_file: Err(touchline_transport::shm::Error::HalfStarted { bus: String::new() }),
        };
        overview.readers = Some(vec![RegisteredReader {
            place: 0,
            is_alive: true,
            lag_bytes: 0,
        }]);
        let living = view(overview.publisher.clone());
        assert_eq!(unnamed(&overview, &[living]), 0);
        assert_eq!(unnamed(&overview, &[view(None)]), 1);
    }
}
