//! A diary of losses and recoveries, as a subscriber is told of them.

use crate::figures::{count, counted, duration};
use crate::paint::Paint;
use std::collections::BTreeMap;
use std::fmt::Write;
use touchline_feed::Venue;
use touchline_transport::{Envelope, Subscribe};
use touchline_types::{Gap, Instrument, Update, Validity};

/// What happened when.
#[derive(Debug)]
pub struct Timeline {
    /// The session's time now, nanoseconds since the Unix epoch; the driver moves it.
    pub now_ns: u64,
    start_ns: u64,
    entries: Vec<(u64, Entry)>,
    /// Since when books are being recovered.
    recovering: BTreeMap<Instrument, u64>,
    recovery_ns: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Lost(Gap),
    Recovering(Instrument),
    Live(Instrument, u64),
    Reset,
}

/// Lines shown; a session has hundreds.
const SHOWN: usize = 16;

impl Timeline {
    /// A diary that begins now.
    pub fn new(start_ns: u64) -> Timeline {
        Timeline {
            now_ns: start_ns,
            start_ns,
            entries: Vec::new(),
            recovering: BTreeMap::new(),
            recovery_ns: Vec::new(),
        }
    }

    /// The first entries, and figures about all.
    pub fn describe(&self, venue: &impl Venue, paint: Paint) -> String {
        let mut text = format!(
            "\n{}\n",
            paint.bold("Losses and recoveries, by session time")
        );
        for (time_ns, entry) in self.entries.iter().take(SHOWN) {
            let ms = (time_ns - self.start_ns) as f64 / 1e6;
            let _ = writeln!(text, "{ms:>11.3} ms  {}", describe(entry, venue, paint));
        }
        let rest = self.entries.len().saturating_sub(SHOWN);
        if rest > 0 {
            let more = format!("{:>14}  and {} more", "", count(rest as u64));
            let _ = writeln!(text, "{}", paint.dim(more));
        }
        let mut sorted = self.recovery_ns.clone();
        sorted.sort_unstable();
        if let (Some(median), Some(longest)) = (sorted.get(sorted.len() / 2), sorted.last()) {
            let _ = writeln!(
                text,
                "  {} of a book, half of them within {}, the longest {}",
                match sorted.len() {
                    1 => "1 recovery".to_owned(),
                    number => format!("{} recoveries", count(number as u64)),
                },
                duration(*median),
                duration(*longest)
            );
        }
        text
    }

    fn note(&mut self, entry: Entry) {
        self.entries.push((self.now_ns, entry));
    }

    fn validity(&mut self, instrument: Instrument, validity: Validity) {
        match validity {
            Validity::Recovering if !self.recovering.contains_key(&instrument) => {
                self.recovering.insert(instrument, self.now_ns);
                self.note(Entry::Recovering(instrument));
            }
            Validity::Live => {
                if let Some(since_ns) = self.recovering.remove(&instrument) {
                    let taken_ns = self.now_ns - since_ns;
                    self.recovery_ns.push(taken_ns);
                    self.note(Entry::Live(instrument, taken_ns));
                }
            }
            _ => {}
        }
    }
}

impl Subscribe for Timeline {
    fn update(&mut self, envelope: &Envelope<'_>) {
        match envelope.update {
            Update::Gap(gap) => self.note(Entry::Lost(*gap)),
            Update::Book(update) => self.validity(update.instrument, update.validity),
            Update::BookSnapshot(snapshot) => {
                self.validity(snapshot.instrument, snapshot.validity);
            }
            Update::State(state) => self.validity(state.instrument, state.validity),
            Update::Reset => {
                self.recovering.clear();
                self.note(Entry::Reset);
            }
            _ => {}
        }
    }
}

fn describe(entry: &Entry, venue: &impl Venue, paint: Paint) -> String {
    let symbol = |instrument: &Instrument| venue.definition(*instrument).symbol;
    match entry {
        Entry::Lost(Gap { first, last, .. }) if first == last => {
            paint.red(format!("packet {first} lost on both lines"))
        }
        Entry::Lost(Gap { first, last, .. }) => {
            let packets = counted(u64::from(last - first) + 1, "packet");
            paint.red(format!("{packets} lost on both lines, {first} to {last}"))
        }
        Entry::Recovering(instrument) => {
            paint.yellow(format!("{} misses updates, recovering", symbol(instrument)))
        }
        Entry::Live(instrument, taken_ns) => paint.green(format!(
            "{} is live again, after {}",
            symbol(instrument),
            duration(*taken_ns)
        )),
        Entry::Reset => "a fresh start: every book is empty and live".to_owned(),
    }
}
