//! The readers of a bus, the slowest first.

use super::sample::{Histogram, Points, Sample, since};
use std::collections::HashMap;
use touchline_client::monitor::{Overview, READER_HISTOGRAMS, ReaderView};

/// A reader that gave a name.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Its name.
    pub name: String,
    /// How it is.
    pub condition: Condition,
    /// Its process; 0 if that is gone or has not said.
    pub pid: u32,
    /// What it had not read.
    pub lag_bytes: u64,
    /// The same as a part of the ring: at 1 it is overtaken.
    pub lag_share: f64,
    /// Messages a second, over the last interval.
    pub per_second: f64,
    /// How often it was overtaken.
    pub overruns: u64,
    /// Messages that were lost by it.
    pub lost: u64,
    /// From published to consumed, over the last interval; in all, if there was nothing in that.
    pub consumed: Points,
    /// From the packet's receive stamp to consumed, likewise.
    pub received: Points,
}

/// How a reader is, the worst last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// It has died and left its board.
    Dead,
    /// It keeps up.
    Well,
    /// It has lost something, some time ago.
    HasLost,
    /// It is far behind, or loses messages.
    Slow,
    /// Its board cannot be read, and why.
    Unreadable(String),
}

/// Behind by more than this part of the ring, a reader is slow.
const SLOW_SHARE: f64 = 0.25;

/// What was seen of readers before.
#[derive(Debug, Default)]
pub struct Before {
    /// By name.
    last: HashMap<String, Seen>,
}

/// A reader at an earlier look, and when totals began.
#[derive(Debug)]
struct Seen {
    /// Begun so, it is the same reader.
    start_unix_ns: u64,
    last: Sample,
    base: Option<Sample>,
}

impl Before {
    /// Totals begin now.
    pub fn reset(&mut self) {
        for seen in self.last.values_mut() {
            seen.base = Some(seen.last.clone());
        }
    }

    /// What is shown of these, with what was seen of them before.
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
                reader.condition = Condition::Unreadable(error.to_string());
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

/// One of a reader's histograms: of the last interval, or in all if that has nothing.
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

/// Readers that a lossless publisher waits for and that gave no name.
pub fn unnamed(overview: &Overview, named: &[ReaderView]) -> usize {
    let waited_for = overview.readers.iter().flatten();
    let is_unnamed = |place: u32| {
        let place = u64::from(place) + 1;
        !named.iter().any(|reader| reader.counters.place == place)
    };
    waited_for
        .filter(|reader| reader.is_alive && is_unnamed(reader.place))
        .count()
}
