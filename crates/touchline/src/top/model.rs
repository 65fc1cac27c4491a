//! Model of a bus for the screen. The client follows the instruments, as in a strategy; other values are computed from
//! two samples of the counters of publisher and readers.
//!
//! Publisher and readers never wait for the model, and it writes nothing to their memory.

mod engine;
mod engine_sample;
mod list;
mod market;
mod readers;
mod recorder;
mod recorder_sample;
mod sample;
mod scores;
#[cfg(test)]
mod tests;

pub use engine::{CopySource, Engine, EngineBank, EngineState, Standby};
pub use engine_sample::engine_of;
pub use list::{InstrumentRow, List, Quoted, ShownList, Sort};
pub use market::Ladder;
#[cfg(test)]
pub use market::LadderLevel;
pub use readers::{Condition, Reader, SlowReceiver};
pub use recorder::{Recorder, RecorderState, recorders};
pub use sample::Count;
pub use sample::{Points, Sample};
pub use scores::BankScore;

use crate::missing;
use market::Market;
use readers::Before;
use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_client::State as BookState;
use touchline_client::monitor::{CountersView, Monitor, Overview};

/// Samples one bus periodically and keeps the state for differences.
pub struct Model {
    monitor: Monitor,
    bus: String,
    market: Option<Market>,
    counters_file: Option<CountersView>,
    /// Baseline of the totals; `None` is the start of the publisher.
    base: Option<Sample>,
    last: Option<Sample>,
    readers: Before,
    list: List,
    rates: Vec<Rate>,
    /// The last sample.
    picture: Picture,
}

/// State of a bus for the screen.
#[derive(Debug, Default)]
pub struct Picture {
    /// Its name.
    pub bus: String,
    /// Error that explains missing values.
    pub last_error: Option<String>,
    /// Publisher, sizes, positions.
    pub overview: Option<Overview>,
    /// State of the bus.
    pub state: State,
    /// Time that the publisher has run, or the last one ran, nanoseconds.
    pub uptime_ns: u64,
    /// Whether totals and latencies count from a reset instead of the start.
    pub is_since_reset: bool,
    /// Rates with their history.
    pub rates: Vec<Rate>,
    /// Packets of the lines and losses.
    pub lines: Vec<Count>,
    /// Number of books in each state, in the order of [`STATES`]; the last counts instruments without a book.
    pub books: [usize; STATES.len() + 1],
    /// Histograms of the publisher, in the order of the path.
    pub latencies: Vec<Latency>,
    /// Named readers, slowest first.
    pub readers: Vec<Reader>,
    /// Slow receivers of the relays that send the bus.
    pub slow_receivers: Vec<SlowReceiver>,
    /// Longest possible age of the books of a bus that a relay writes, nanoseconds; `None` before any is known, and without the relay.
    pub link_lag_ns: Option<u64>,
    /// Unnamed readers that a lossless publisher waits for.
    pub unnamed_readers: usize,
    /// The list of instruments with filter and order applied.
    pub list: ShownList,
    /// Book of the selected instrument.
    pub ladder: Option<Ladder>,
    /// Scores of the banks in the selected instrument, of a composite.
    pub scores: Vec<BankScore>,
    /// A trading engine or its standby: the bus has no market data.
    pub engine: Option<Engine>,
    /// A recorder of a tape, in place of a bus.
    pub recorder: Option<Recorder>,
}

/// State of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Unreadable or missing.
    #[default]
    Unseen,
    /// Without a publisher; books are those of the last one.
    Gone,
    /// A publisher without activity; books are as it left them.
    Stalled,
    /// Published, without books so far.
    Starting,
    /// Published, and the venue is silent or not connected: every book is stale.
    Silent,
    /// Some books are recovering.
    Recovering,
    /// Published, no book in recovery.
    Ready,
}

/// A rate.
#[derive(Clone, Debug)]
pub struct Rate {
    /// Name.
    pub name: &'static str,
    /// Rate per second over the last interval.
    pub per_second: f64,
    /// Total.
    pub total: u64,
    /// Rates of the last intervals, latest last, per 1,000 seconds.
    pub past: VecDeque<u64>,
    /// Counters whose sum is shown.
    pub counters: &'static [&'static str],
}

/// A histogram of the last interval and in total.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Its name.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
    /// Last interval.
    pub recent: Points,
    /// Total.
    pub total: Points,
}

/// The states in which books are counted.
pub const STATES: [BookState; 6] = [
    BookState::Live,
    BookState::Recovering,
    BookState::Gapped,
    BookState::NaturalRefresh,
    BookState::Stale,
    BookState::Closed,
];

/// Rates and the counters whose sum they are. Missing counters are not shown.
const RATES: [(&str, &[&str]); 9] = [
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
    ("quotes of banks", &["bank_updates"]),
    ("composites", &["composites_published"]),
    ("published", &["messages_published"]),
    ("bytes", &["bytes_published"]),
];

/// Counters of lines and gaps, their labels, and whether an increase is a fault.
const LINES: [(&str, &str, bool); 10] = [
    ("packets_first_a", "first on A", false),
    ("packets_first_b", "first on B", false),
    ("packets_duplicate", "duplicates", false),
    ("packets_buffered", "buffered", false),
    ("packets_late", "late", false),
    ("gaps", "gaps", true),
    ("packets_lost", "lost", true),
    ("instrument_gaps", "books emptied", true),
    ("packets_invalid", "invalid", true),
    ("banks_lost", "banks lost", true),
];

/// Intervals of history.
const PAST_MAX: usize = 60;

impl Model {
    /// Model of a bus that may not exist yet. Reads nothing before [`Model::look`].
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

    /// The last picture.
    pub fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Reads what the publisher has written, so that this reader is not overrun between samples.
    pub fn read(&mut self) {
        if let Some(market) = &mut self.market {
            market.read();
        }
    }

    /// Takes a sample and computes the picture. Errors are part of it; the next sample retries.
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

    /// Starts totals and latency totals now.
    pub fn reset(&mut self) {
        self.base = self.last.clone();
        self.readers.reset();
    }

    /// Selects an instrument by symbol, id, or part of a symbol. `false` if there is none.
    pub fn choose(&mut self, wanted: &str) -> bool {
        let is_there = self.list.choose(wanted);
        self.show_list();
        is_there
    }

    /// Changes the list and updates the picture.
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
        self.picture.scores = match (&self.last, &self.picture.ladder) {
            (Some(sample), Some(ladder)) => scores::of_pair(sample, &ladder.symbol, |counter| {
                self.total(sample, counter)
            }),
            _ => Vec::new(),
        };
    }

    fn try_look(&mut self) -> Result<(), String> {
        if self.monitor.is_engine(&self.bus) {
            return self.look_at_engine();
        }
        let seen = self.monitor.overview(&self.bus);
        if seen.is_err() && self.look_at_recorder()? {
            return Ok(());
        }
        let words = |error| missing::words_at(self.monitor.path(), &self.bus, error);
        let (overview, readers) = seen.map_err(words)?;
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
            rates: self.rates(sample.as_ref(), seconds, &RATES),
            lines: self.lines(sample.as_ref(), &LINES),
            books,
            latencies: self.latencies(sample.as_ref()),
            unnamed_readers: readers::unnamed(&overview, &readers),
            readers: self.readers.picture(readers, overview.ring_bytes),
            slow_receivers: readers::slow_receivers(&self.monitor, &self.bus),
            link_lag_ns: sample
                .as_ref()
                .filter(|_| overview.is_live())
                .map(|sample| sample.counter("relay_lag_ns"))
                .filter(|lag_ns| *lag_ns > 0),
            overview: Some(overview),
            ..Picture::default()
        };
        self.last = sample;
        self.show_list();
        Ok(())
    }

    /// Keeps one counters file until another process creates a new one.
    fn follow_counters(&mut self, found: Option<CountersView>) {
        let is_stale = |counters_file: &CountersView| counters_file.is_replaced();
        if self.counters_file.as_ref().is_none_or(is_stale) {
            self.counters_file = found;
            // The new process counts from 0.
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

    /// Increase since the last sample; 0 at the first.
    fn recent(&self, sample: &Sample, counter: &str) -> u64 {
        let now = sample.counter(counter);
        let then = self.last.as_ref().map_or(now, |last| last.counter(counter));
        now.saturating_sub(then)
    }

    /// Increase since the start or the reset.
    fn total(&self, sample: &Sample, counter: &str) -> u64 {
        let base = self.base.as_ref().map_or(0, |base| base.counter(counter));
        sample.counter(counter).saturating_sub(base)
    }

    fn rates(
        &mut self,
        sample: Option<&Sample>,
        seconds: f64,
        table: &[(&'static str, &'static [&'static str])],
    ) -> Vec<Rate> {
        let Some(sample) = sample else {
            return Vec::new();
        };
        if self.rates.is_empty() {
            let known = |(_, counters): &(_, &[&str])| counters.iter().any(|name| sample.has(name));
            let known = table.iter().copied().filter(known);
            self.rates = known.map(Rate::new).collect();
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
                rate.past.push_back((1e3 * rate.per_second) as u64);
            }
        }
        self.rates = rates.clone();
        rates
    }

    fn lines(&self, sample: Option<&Sample>, table: &[(&str, &str, bool)]) -> Vec<Count> {
        let Some(sample) = sample else {
            return Vec::new();
        };
        let known = table.iter().filter(|line| sample.has(line.0));
        let known = known.map(|line| self.count(sample, *line));
        // Any counter of drops by the kernel or the network card.
        let is_listed = |name: &str| table.iter().any(|line| line.0 == name);
        let dropped = sample.names().filter(|name| name.contains("drop"));
        let dropped = dropped.filter(|name| !is_listed(name));
        let dropped = dropped.map(|name| self.count(sample, (name, &name.replace('_', " "), true)));
        known.chain(dropped).collect()
    }

    /// A counter with its label, and whether an increase is a fault.
    fn count(&self, sample: &Sample, (counter, name, is_bad): (&str, &str, bool)) -> Count {
        Count {
            name: name.to_owned(),
            total: self.total(sample, counter),
            recent: self.recent(sample, counter),
            is_bad,
        }
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
    /// Quantiles of the last interval, or of the total if that is empty.
    pub fn latest(&self) -> [Option<u64>; 4] {
        match self.recent.count {
            0 => self.total.at,
            _ => self.recent.at,
        }
    }
}

impl State {
    /// Label.
    pub const fn name(self) -> &'static str {
        match self {
            State::Unseen => "cannot be read",
            State::Gone => "publisher gone",
            State::Stalled => "publisher stalled",
            State::Starting => "starting",
            State::Silent => "feed stale",
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
        Some(_) if of(BookState::Stale) > 0 && of(BookState::Live) == 0 => State::Silent,
        Some(_) if of(BookState::Recovering) + of(BookState::Gapped) > 0 => State::Recovering,
        Some(_)
            if of(BookState::Live) + of(BookState::NaturalRefresh) + of(BookState::Closed) == 0 =>
        {
            State::Starting
        }
        Some(_) => State::Ready,
    }
}

/// Uptime of the running publisher; 0 if it has ended.
fn uptime_ns(overview: &Overview, sample: Option<&Sample>) -> u64 {
    let Some(holder) = &overview.publisher else {
        return 0;
    };
    let taken = Duration::from_secs(holder.since_unix_s).as_nanos() as u64;
    let began = sample.map_or(taken, |sample| sample.start_unix_ns.max(taken));
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| (now.as_nanos() as u64).saturating_sub(began))
}
