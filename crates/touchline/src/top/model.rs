//! What is seen of a bus. Instruments are followed by the client, as a strategy follows them; the rest is computed from two
//! looks at what the publisher and the readers count.
//!
//! Nothing here is waited for by a publisher or a reader, and nothing is written to their memory.

mod list;
mod market;
mod readers;
mod sample;
#[cfg(test)]
mod tests;

pub use list::{InstrumentRow, List, Quoted, ShownList, Sort};
pub use market::Ladder;
#[cfg(test)]
pub use market::LadderLevel;
pub use readers::{Condition, Reader};
pub use sample::{Points, Sample};

use crate::missing;
use market::Market;
use readers::Before;
use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_client::State as BookState;
use touchline_client::monitor::{CountersView, Monitor, Overview};

/// Looks at one bus again and again, and keeps what it needs to say how things change.
pub struct Model {
    monitor: Monitor,
    bus: String,
    market: Option<Market>,
    counters_file: Option<CountersView>,
    /// What the totals are counted from; `None` is the start of the publisher.
    base: Option<Sample>,
    last: Option<Sample>,
    readers: Before,
    list: List,
    rates: Vec<Rate>,
    /// The last look.
    picture: Picture,
}

/// A bus as it is shown.
#[derive(Debug, Default)]
pub struct Picture {
    /// Its name.
    pub bus: String,
    /// Why nothing, or not everything, can be said of it.
    pub last_error: Option<String>,
    /// Publisher, sizes, how far it is.
    pub overview: Option<Overview>,
    /// How it is, in a word or two.
    pub state: State,
    /// How long its publisher has been at work, or its last one was until now, nanoseconds.
    pub uptime_ns: u64,
    /// Whether totals and latencies are since a person asked for it, not since the start.
    pub is_since_reset: bool,
    /// What flows, each with its past.
    pub rates: Vec<Rate>,
    /// What the lines brought and what was lost.
    pub lines: Vec<Count>,
    /// Number of books that are in each state, in the order of [`STATES`]; the last is of instruments without a book.
    pub books: [usize; STATES.len() + 1],
    /// The publisher's histograms, in the order of its table: that of the path.
    pub latencies: Vec<Latency>,
    /// The readers that gave a name, the slowest first.
    pub readers: Vec<Reader>,
    /// Readers without a name that a lossless publisher waits for.
    pub unnamed_readers: usize,
    /// The instruments, as a person wants to see them.
    pub list: ShownList,
    /// The book of the chosen instrument.
    pub ladder: Option<Ladder>,
}

/// How a bus is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It cannot be read, or is not there.
    #[default]
    Unseen,
    /// Nobody publishes; books are as the last one left them.
    Gone,
    /// Somebody has the bus and gives no sign of life; books are as it left them.
    Stalled,
    /// Somebody publishes, and there is no book yet.
    Starting,
    /// Books are being recovered.
    Recovering,
    /// Somebody publishes, and no book is known to miss anything.
    Ready,
}

/// Something that flows.
#[derive(Clone, Debug)]
pub struct Rate {
    /// What.
    pub name: &'static str,
    /// So many a second, over the last interval.
    pub per_second: f64,
    /// So many in all.
    pub total: u64,
    /// The rates of the last intervals, the latest last.
    pub past: VecDeque<u64>,
    /// The counters whose sum it is.
    pub counters: &'static [&'static str],
}

/// Something that is counted.
#[derive(Clone, Debug)]
pub struct Count {
    /// What.
    pub name: String,
    /// So many in all.
    pub total: u64,
    /// So many in the last interval.
    pub recent: u64,
    /// Whether any of it is bad news.
    pub is_bad: bool,
}

/// A histogram, over the last interval and in all.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub unit: String,
    /// Of the last interval.
    pub recent: Points,
    /// In all.
    pub total: Points,
}

/// The states of books that are counted.
pub const STATES: [BookState; 6] = [
    BookState::Live,
    BookState::Recovering,
    BookState::Gapped,
    BookState::NaturalRefresh,
    BookState::Stale,
    BookState::Closed,
];

/// What flows, and the counters whose sum it is. What a board does not have is not shown.
const RATES: [(&str, &[&str]); 7] = [
    ("packets, line A", &["packets_a"]),
    ("packets, line B", &["packets_b"]),
    ("venue messages", &["messages"]),
    ("venue events", &["events"]),
    (
        "updates",
        &[
            "book_updates",
            "book_snapshots",
            "order_updates",
            "order_snapshots",
            "trades",
            "statistics",
        ],
    ),
    ("published", &["messages_published"]),
    ("bytes", &["bytes_published"]),
];

/// What is said of lines and gaps, and whether any of it is bad news.
const LINES: [(&str, &str, bool); 9] = [
    ("packets_first_a", "first on A", false),
    ("packets_first_b", "first on B", false),
    ("packets_duplicate", "duplicates", false),
    ("packets_buffered", "buffered", false),
    ("packets_late", "late", false),
    ("gaps", "gaps", true),
    ("packets_lost", "lost", true),
    ("instrument_gaps", "books emptied", true),
    ("packets_invalid", "invalid", true),
];

/// Intervals that are remembered.
const PAST_MAX: usize = 60;

impl Model {
    /// Of a bus that may or may not be there yet. Nothing is looked at before [`Model::look`].
    pub fn of(monitor: &Monitor, bus: &str) -> Model {
        Model {
            monitor: monitor.clone(),
            bus: bus.to_owned(),
            market: None,
            counters_file: None,
            base: None,
            last: None,
            readers: Before::default(),
            list: List::default(),
            rates: Vec::new(),
            picture: Picture {
                bus: bus.to_owned(),
                ..Picture::default()
            },
        }
    }

    /// As of the last look.
    pub fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Takes what the publisher has written since the last time, so that this reader is not overrun between two looks.
    pub fn read(&mut self) {
        if let Some(market) = &mut self.market {
            market.read();
        }
    }

    /// Looks, and computes the picture. What goes wrong stands in it; the next look tries again.
    pub fn look(&mut self) {
        if let Err(last_error) = self.try_look() {
            self.market = None;
            self.counters_file = None;
            self.last = None;
            self.picture = Picture {
                bus: self.bus.clone(),
                last_error: Some(last_error),
                ..Picture::default()
            };
        }
    }

    /// Totals, and latencies in all, begin now.
    pub fn reset(&mut self) {
        self.base = self.last.clone();
        self.readers.reset();
    }

    /// Chooses an instrument: by its symbol, its id, or a part of its symbol. `false` if there is none.
    pub fn choose(&mut self, wanted: &str) -> bool {
        let is_there = self.list.choose(wanted);
        self.show_list();
        is_there
    }

    /// Changes the list as a person wants it, and shows it so.
    pub fn change_list(&mut self, change: impl FnOnce(&mut List)) {
        change(&mut self.list);
        self.show_list();
    }

    fn show_list(&mut self) {
        let ladder = match (&self.market, self.list.chosen()) {
            (Some(market), Some(id)) => market.ladder(id),
            _ => None,
        };
        let awaited = self.list.awaited().map(|wanted| Ladder {
            symbol: wanted.to_owned(),
            why_none: Some(format!(
                "no instrument is called {wanted}; it is shown once it is defined"
            )),
            ..Ladder::default()
        });
        self.picture.list = self.list.shown().clone();
        self.picture.ladder = ladder.or(awaited);
    }

    fn try_look(&mut self) -> Result<(), String> {
        // mutant: top: buses are not listed for one that does not exist
        let words = |error| missing::words_at(self.monitor.path(), &self.bus, error);
        let (overview, readers) = self.monitor.overview(&self.bus).map_err(words)?;
        let counters_file = self.monitor.counters(&self.bus);
        self.follow_counters(counters_file.map_err(|error| error.to_string())?);
        if self.market.is_none() {
            let market = Market::join(self.monitor.path(), &self.bus);
            self.market = Some(market.map_err(|error| error.to_string())?);
        }
        let rows = self.market.as_mut().map_or_else(Vec::new, |market| {
            market.read();
            market.rows(overview.is_live())
        });
        let mut books = [0; STATES.len() + 1];
        for row in &rows {
            let place = row
                .state
                .and_then(|state| STATES.iter().position(|other| *other == state));
            books[place.unwrap_or(STATES.len())] += 1;
        }
        self.list.set(rows);
        let sample = self.counters_file.as_ref().map(Sample::take);
        let seconds = sample
            .as_ref()
            .map_or(0.0, |sample| self.since_last(sample));
        self.picture = Picture {
            bus: self.bus.clone(),
            last_error: None,
            state: state(&overview, &books),
            uptime_ns: uptime_ns(&overview, sample.as_ref()),
            is_since_reset: self.base.is_some(),
            rates: self.rates(sample.as_ref(), seconds),
            lines: self.lines(sample.as_ref()),
            books,
            latencies: self.latencies(sample.as_ref()),
            unnamed_readers: readers::unnamed(&overview, &readers),
            readers: self.readers.picture(readers, overview.ring_bytes),
            overview: Some(overview),
            ..Picture::default()
        };
        self.last = sample;
        self.show_list();
        Ok(())
    }

    /// Keeps to a counters file until another process has begun one.
    fn follow_counters(&mut self, found: Option<CountersView>) {
        let is_stale = |counters_file: &CountersView| counters_file.is_replaced();
        if self.counters_file.as_ref().is_none_or(is_stale) {
            self.counters_file = found;
            // Another process counts from 0 again.
            self.last = None;
            self.base = None;
            self.rates.clear();
        }
    }

    fn since_last(&self, sample: &Sample) -> f64 {
        self.last
            .as_ref()
            .map_or(0.0, |last| sample.at.duration_since(last.at).as_secs_f64())
    }

    /// Since the last look; nothing if this is the first.
    fn recent(&self, sample: &Sample, counter: &str) -> u64 {
        let now = sample.counter(counter);
        let then = self.last.as_ref().map_or(now, |last| last.counter(counter));
        now.saturating_sub(then)
    }

    /// Since the start, or since that was asked for.
    fn total(&self, sample: &Sample, counter: &str) -> u64 {
        let base = self.base.as_ref().map_or(0, |base| base.counter(counter));
        sample.counter(counter).saturating_sub(base)
    }

    fn rates(&mut self, sample: Option<&Sample>, seconds: f64) -> Vec<Rate> {
        let Some(sample) = sample else {
            return Vec::new();
        };
        if self.rates.is_empty() {
            let known = |(_, counters): &(_, &[&str])| counters.iter().any(|name| sample.has(name));
            self.rates = RATES.into_iter().filter(known).map(Rate::new).collect();
        }
        let mut rates = std::mem::take(&mut self.rates);
        for rate in &mut rates {
            let sum = |of: &dyn Fn(&str) -> u64| rate.counters.iter().map(|name| of(name)).sum();
            let recent: u64 = sum(&|name| self.recent(sample, name));
            rate.total = sum(&|name| self.total(sample, name));
            if seconds > 0.0 {
                rate.per_second = recent as f64 / seconds;
                if rate.past.len() == PAST_MAX {
                    rate.past.pop_front();
                }
                rate.past.push_back(rate.per_second as u64);
            }
        }
        self.rates = rates.clone();
        rates
    }

    fn lines(&self, sample: Option<&Sample>) -> Vec<Count> {
        let Some(sample) = sample else {
            return Vec::new();
        };
        let count = |counter: &str, name: &str, is_bad: bool| Count {
            name: name.to_owned(),
            total: self.total(sample, counter),
            recent: self.recent(sample, counter),
            is_bad,
        };
        let known = LINES.into_iter().filter(|line| sample.has(line.0));
        let known = known.map(|(counter, name, is_bad)| count(counter, name, is_bad));
        // Whatever a receiver calls what the kernel or the network card has dropped.
        let dropped = sample.names().filter(|name| name.contains("drop"));
        let dropped = dropped.map(|name| count(name, &name.replace('_', " "), true));
        known.chain(dropped).collect()
    }

    fn latencies(&self, sample: Option<&Sample>) -> Vec<Latency> {
        let Some(sample) = sample else {
            return Vec::new();
        };
        let latency = |(number, (what, view)): (usize, &sample::Histogram)| Latency {
            name: what.name.clone(),
            unit: what.unit.clone(),
            recent: sample::since(view, self.last.as_ref(), number, Points::default()),
            total: sample::since(view, self.base.as_ref(), number, Points::of(view)),
        };
        sample.histograms.iter().enumerate().map(latency).collect()
    }
}

impl Rate {
    fn new((name, counters): (&'static str, &'static [&'static str])) -> Rate {
        Rate {
            name,
            per_second: 0.0,
            total: 0,
            past: VecDeque::with_capacity(PAST_MAX),
            counters,
        }
    }
}

impl Latency {
    /// Quantiles of the last interval, and of all where that has no value.
    pub fn latest(&self) -> [Option<u64>; 4] {
        match self.recent.count {
            0 => self.total.at,
            _ => self.recent.at,
        }
    }
}

impl State {
    /// The word that is shown.
    pub const fn name(self) -> &'static str {
        match self {
            State::Unseen => "not there",
            State::Gone => "publisher gone",
            State::Stalled => "publisher stalled",
            State::Starting => "starting",
            State::Recovering => "recovering",
            State::Ready => "ready",
        }
    }
}

fn state(overview: &Overview, books: &[usize; STATES.len() + 1]) -> State {
    let of = |state| {
        let place = STATES.iter().position(|other| *other == state);
        place.map_or(0, |place| books[place])
    };
    match overview.publisher {
        None => State::Gone,
        Some(_) if overview.is_stalled() => State::Stalled,
        Some(_) if of(BookState::Recovering) + of(BookState::Gapped) > 0 => State::Recovering,
        Some(_)
            if of(BookState::Live) + of(BookState::NaturalRefresh) + of(BookState::Closed) == 0 =>
        {
            State::Starting
        }
        Some(_) => State::Ready,
    }
}

/// Of the publisher that is at work; of one that is gone, 0.
fn uptime_ns(overview: &Overview, sample: Option<&Sample>) -> u64 {
    let Some(holder) = &overview.publisher else {
        return 0;
    };
    let taken = Duration::from_secs(holder.since_unix_s).as_nanos() as u64;
    let began = sample.map_or(taken, |sample| sample.start_unix_ns.max(taken));
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| (now.as_nanos() as u64).saturating_sub(began))
}
