//! Statistics of named readers: each keeps a counters file.
//!
//! ```text
//!  <root>/<bus>/boards/<name>/lock       lock of the reader, released when it dies
//!                            /counters   its position and latencies
//!              guests/<uid>.<name>        the same of a reader of another user, in one file
//! ```
//!
//! Only the reader writes it; the publisher does not wait for it. A reader that leaves removes its
//! counters file; that of a reader that died stays for an hour, or until the next reader of that name.

use super::counters_file::{CountersFile, CountersView};
use crate::bus::{Error, Holder, Root};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_shm::segment::{self, Guest, GuestFile, Guests, WriterLock};
use touchline_types::native::Message;
use touchline_types::{CounterInfo, Timestamps};

/// Maximum number of named readers of a bus.
pub const READERS_MAX: usize = 64;

/// Named readers of one other user that are shown, so that none hides those of the others.
const GUESTS_MAX: usize = 32;

/// Time that the counters file of a dead reader is kept.
const DEAD_KEPT: Duration = Duration::from_secs(3600);

/// Tries of a starting reader to take its name, and the time between them.
const TRIES: usize = 50;
const NAP: Duration = Duration::from_millis(2);

/// A receive timestamp further away than this belongs to a recording, and is not a latency.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// Validity of a reading of the system's clock, after which the fine clock has drifted by 10 ns.
const ANCHOR_NS: f64 = 1e6;

const FOLDER: &str = "boards";

touchline_types::counters! {
    /// Counters of a named reader.
    pub struct ReaderCounters {
        position: "bytes" = "Position in the stream up to which the reader has read.",
        messages: "messages" = "Messages read from the ring, including those that a filter dropped.",
        batches: "batches" = "Batches read: all messages caused by one packet.",
        written_unix_ns: "ns" = "Time of the last write of these counters, since 1970-01-01 UTC.",
        overruns: "times" = "The publisher overran this reader.",
        overrun_messages: "messages" = "Messages lost to overruns.",
        overrun_bytes: "bytes" = "Bytes of the stream lost to overruns.",
        corrupt: "times" = "Shared memory contained invalid data.",
        restarts: "times" = "Another publisher started.",
        receive_timestamps_far: "batches" = "The receive timestamp differed by more than a minute from the clock, as in a replay of a recording: no latency measured.",
        place: "place" = "Slot among a lossless publisher's registered readers, from 1; 0: none.",
    }
}

/// Histograms of a named reader, one value per batch: of its last message.
pub const READER_HISTOGRAMS: &[CounterInfo] = &[
    CounterInfo {
        name: "published_to_consumed_ns",
        unit: "ns",
        help: "From an update given to the publisher to its delivery to the reader, by the time stamp counter.",
    },
    CounterInfo {
        name: "received_to_consumed_ns",
        unit: "ns",
        help: "From the packet's receive timestamp to the delivery to the reader, by the system's clock.",
    },
];
const PUBLISHED: usize = 0;
const RECEIVED: usize = 1;

/// The host's fine clock, which the timestamps in messages use.
#[derive(Clone, Copy, Debug)]
pub struct FineClock {
    /// Reads the clock.
    pub ticks: fn() -> u64,
    /// Length of a tick in nanoseconds, finite and above 0.
    pub ns_per_tick: f64,
}

/// Writing side: statistics of a reader. A subscriber that
/// [joins](crate::market::Join::reader_stats) with it keeps it up to date, with a few stores per
/// batch.
#[derive(Debug)]
pub struct ReaderStats {
    root: Root,
    bus: String,
    name: String,
    clock: FineClock,
    counters: ReaderCounters,
    counters_file: CountersFile,
    /// Both clocks at one moment.
    anchor: Anchor,
    /// Lock of the name, held until this is dropped or its process dies; `None` if the counters file is a guest.
    lock: Option<WriterLock>,
    /// Counters file beside a bus of another user.
    guest: Option<GuestFile>,
}

/// Times of the last message of a batch, taken just before it is handed out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Consumed {
    ticks: u64,
    published: u64,
    receive_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    ticks: u64,
    unix_ns: u64,
}

/// A named reader at one moment.
#[derive(Debug)]
pub struct ReaderView {
    /// Its name.
    pub name: String,
    /// User of a reader of another user than the publisher's.
    pub user: Option<u32>,
    /// Process; `None` if it died and left the counters file.
    pub process: Option<Holder>,
    /// Counters; zeros if its counters file cannot be read.
    pub counters: ReaderCounters,
    /// Unread bytes.
    pub lag_bytes: u64,
    /// Counters file, or the reason why it cannot be read.
    pub counters_file: Result<CountersView, Error>,
}

impl ReaderStats {
    /// Takes a name on an existing bus (letters, digits, `-`, `_`, `.`, at most 64 of them) and creates a counters
    /// file. The clock must be the publisher's: the host's fine clock.
    ///
    /// # Errors
    /// Another reader has this name (it is in the error), or the maximum number is reached. A bus of another user must be shared
    /// with a group of this process's user.
    pub fn create(
        root: &Root,
        bus: &str,
        name: &str,
        clock: FineClock,
    ) -> Result<ReaderStats, Error> {
        ReaderStats::create_within(root, bus, name, clock, TRIES)
    }

    fn create_within(
        root: &Root,
        bus: &str,
        name: &str,
        clock: FineClock,
        tries: usize,
    ) -> Result<ReaderStats, Error> {
        if !root.is_own()? {
            return ReaderStats::create_guest(root, bus, name, clock);
        }
        let stats = stats_of(root, bus)?;
        sweep(&stats);
        let lock = take_name(&stats, bus, name, tries)?;
        let living = living(&stats)?;
        if living > READERS_MAX {
            let _ = lock.remove_directory();
            return Err(Error::TooManyReaders {
                bus: bus.to_owned(),
                readers_max: READERS_MAX,
            });
        }
        let histograms = READER_HISTOGRAMS;
        let counters_file =
            CountersFile::create(&lock, clock.ns_per_tick, ReaderCounters::TABLE, histograms)?;
        let mut reader = ReaderStats::new((root, bus, name), clock, counters_file);
        reader.lock = Some(lock);
        Ok(reader)
    }

    /// A name on a bus of another user, in the folder for its group.
    fn create_guest(
        root: &Root,
        bus: &str,
        name: &str,
        clock: FineClock,
    ) -> Result<ReaderStats, Error> {
        let directory = root.open(bus)?;
        let guests = Guests::of(&directory)?.ok_or_else(|| Error::NoNames {
            bus: bus.to_owned(),
            owner: root.owner(),
        })?;
        guests.sweep();
        if guests.of_this_user()? >= GUESTS_MAX {
            return Err(Error::TooManyReaders {
                bus: bus.to_owned(),
                readers_max: GUESTS_MAX,
            });
        }
        let (counters, histograms) = (ReaderCounters::TABLE, READER_HISTOGRAMS);
        let ns_per_tick = clock.ns_per_tick;
        match CountersFile::create_guest(guests, name, ns_per_tick, counters, histograms) {
            Ok((guest, counters_file)) => {
                let mut reader = ReaderStats::new((root, bus, name), clock, counters_file);
                reader.guest = Some(guest);
                Ok(reader)
            }
            Err(Error::Segment(segment::Error::InUse { process, .. })) => Err(Error::NameTaken {
                bus: bus.to_owned(),
                name: name.to_owned(),
                holder: Holder {
                    pid: process.unwrap_or_default(),
                    ..Holder::default()
                },
            }),
            Err(error) => Err(error),
        }
    }

    fn new(
        (root, bus, name): (&Root, &str, &str),
        clock: FineClock,
        counters_file: CountersFile,
    ) -> ReaderStats {
        let mut reader = ReaderStats {
            root: root.clone(),
            bus: bus.to_owned(),
            name: name.to_owned(),
            clock,
            counters: ReaderCounters::default(),
            counters_file,
            anchor: Anchor::now(&clock),
            lock: None,
            guest: None,
        };
        reader.show();
        reader
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counters.
    pub fn counters(&self) -> &ReaderCounters {
        &self.counters
    }

    /// A message is about to be handed out: returns its times if it is the last one of its batch, else counts it.
    #[inline]
    pub(crate) fn taken(&mut self, message: &Message<'_>, is_last: bool) -> Option<Consumed> {
        if is_last {
            return Some(self.consumed(&message.timestamps()));
        }
        self.message();
        None
    }

    /// A message with these times is about to be handed out.
    #[inline]
    pub(crate) fn consumed(&self, timestamps: &Timestamps) -> Consumed {
        Consumed {
            published: timestamps.published,
            receive_ns: timestamps.packet.receive_ns,
            ticks: (self.clock.ticks)(),
        }
    }

    /// Counts a message within a batch.
    #[inline]
    pub(crate) fn message(&mut self) {
        self.counters.messages += 1;
    }

    /// Counts the last message of a batch, with the reader at `position`. Not inlined, to keep it
    /// out of the code for readers without statistics.
    #[inline(never)]
    pub(crate) fn batch(&mut self, consumed: Consumed, position: u64) {
        let Consumed {
            ticks,
            published,
            receive_ns,
        } = consumed;
        if published > 0 {
            let waited = ticks.saturating_sub(published);
            let ns = waited as f64 * self.clock.ns_per_tick;
            self.counters_file.record(PUBLISHED, ns as u64);
        }
        let now = self.unix_ns(ticks);
        // The clocks of a network card and of the host may differ slightly in either direction.
        let latency = now.wrapping_sub(receive_ns) as i64;
        match latency.unsigned_abs() {
            _ if receive_ns == 0 => {}
            0..=LATENCY_NS_MAX => self.counters_file.record(RECEIVED, latency.max(0) as u64),
            _ => self.recording(),
        }
        let counters = &mut self.counters;
        counters.position = position;
        counters.messages += 1;
        counters.batches += 1;
        counters.written_unix_ns = now;
        // The first counters of the table; the others are unchanged.
        let changed = [position, counters.messages, counters.batches, now];
        self.counters_file.show_at(now, changed);
    }

    #[cold]
    fn recording(&mut self) {
        self.counters.receive_timestamps_far += 1;
        self.show();
    }

    /// Counts another event of the subscription, and writes it with the position.
    #[cold]
    pub(crate) fn note(&mut self, position: u64, note: impl FnOnce(&mut ReaderCounters)) {
        note(&mut self.counters);
        self.counters.position = position;
        self.counters.written_unix_ns = unix_ns();
        self.show();
    }

    /// The bus was created again; if its directory is another one, the counters file moves there.
    #[cold]
    pub(crate) fn follow(&mut self) {
        if !self.counters_file.is_orphaned() {
            return;
        }
        // Another process may have the name there: then this reader is not listed any more. The call never waits for the name, so messages are not delayed.
        let (root, bus, name) = (&self.root, &self.bus, &self.name);
        if let Ok(mut new) = ReaderStats::create_within(root, bus, name, self.clock, 1) {
            new.counters = self.counters;
            *self = new;
        }
    }

    fn show(&mut self) {
        self.counters_file
            .show(self.counters.values().map(|(_, value)| value));
    }

    /// The system's time at a recent moment of the fine clock.
    #[inline]
    fn unix_ns(&mut self, ticks: u64) -> u64 {
        let since = |anchor: Anchor| {
            let ticks = ticks.wrapping_sub(anchor.ticks) as i64;
            ticks as f64 * self.clock.ns_per_tick
        };
        if since(self.anchor).abs() > ANCHOR_NS {
            self.anchor = Anchor::now(&self.clock);
        }
        self.anchor
            .unix_ns
            .saturating_add_signed(since(self.anchor) as i64)
    }
}

/// Removes the file: a reader that leaves is not shown.
impl Drop for ReaderStats {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            // A file that cannot be removed is shown as dead, and removed by the next reader.
            let _ = lock.remove_directory();
        }
    }
}

impl Anchor {
    fn now(clock: &FineClock) -> Anchor {
        Anchor {
            ticks: (clock.ticks)(),
            unix_ns: unix_ns(),
        }
    }
}

impl ReaderCounters {
    /// Counters from a counters file; 0 for missing ones.
    fn of(counters_file: &CountersView) -> ReaderCounters {
        let value = |name: &str| counters_file.counter(name).unwrap_or(0);
        ReaderCounters {
            position: value("position"),
            messages: value("messages"),
            batches: value("batches"),
            written_unix_ns: value("written_unix_ns"),
            overruns: value("overruns"),
            overrun_messages: value("overrun_messages"),
            overrun_bytes: value("overrun_bytes"),
            corrupt: value("corrupt"),
            restarts: value("restarts"),
            receive_timestamps_far: value("receive_timestamps_far"),
            place: value("place"),
        }
    }
}

/// Named readers of a bus, by name, without affecting any process. Their lag is still to be
/// [measured](measure), with a position read after this. Only their own user sees those of the bus's user; those of other users see
/// each other.
pub(crate) fn views(root: &Root, bus: &str) -> Result<Vec<ReaderView>, Error> {
    let mut all = match root.is_own()? {
        true => own_views(root, bus)?,
        false => Vec::new(),
    };
    if let Some(guests) = Guests::of(&root.open(bus)?)? {
        let found = guests.all(GUESTS_MAX)?;
        all.extend(found.iter().filter_map(|guest| guest_view(&guests, guest)));
    }
    Ok(all)
}

/// A reader of another user. Its name, its figures and its command are its own statements; its user and its process are the system's.
fn guest_view(guests: &Guests, guest: &Guest) -> Option<ReaderView> {
    let opened = CountersView::of_guest(guests, guest);
    // A reader that leaves meanwhile is left out, and so is a file that only has the name of a reader's file.
    if let Err(Error::Segment(
        segment::Error::Missing { .. }
        | segment::Error::Foreign { .. }
        | segment::Error::Kind { .. },
    )) = opened
    {
        return None;
    }
    let process = |(counters_file, lives): &(CountersView, bool)| {
        lives.then(|| Holder {
            pid: guests.process(guest).unwrap_or_default(),
            command: format!("of user {}", guest.user),
            since_unix_s: counters_file.origin().start_unix_ns / 1_000_000_000,
            build: None,
        })
    };
    let holder = opened.as_ref().ok().and_then(process);
    let counters_file = opened.map(|(counters_file, _)| counters_file);
    Some(ReaderView {
        name: format!("{}@{}", guest.name, guest.user),
        process: holder,
        user: Some(guest.user),
        counters: counters_file
            .as_ref()
            .map(ReaderCounters::of)
            .unwrap_or_default(),
        lag_bytes: 0,
        counters_file,
    })
}

fn own_views(root: &Root, bus: &str) -> Result<Vec<ReaderView>, Error> {
    let stats = stats_of(root, bus)?;
    let view = |name: String| {
        // One that leaves meanwhile is left out.
        let process = holder(&stats, &name).ok()?;
        let counters_file = CountersView::open(&stats, &name).transpose()?;
        Some(ReaderView {
            counters: counters_file
                .as_ref()
                .map(ReaderCounters::of)
                .unwrap_or_default(),
            lag_bytes: 0,
            name,
            user: None,
            process,
            counters_file,
        })
    };
    Ok(stats.buses()?.into_iter().filter_map(view).collect())
}

/// Sets the lag of each reader behind a publisher at `position`.
pub(crate) fn measure(readers: &mut [ReaderView], position: u64) {
    for reader in readers
        .iter_mut()
        .filter(|reader| reader.counters_file.is_ok())
    {
        let lag = position.wrapping_sub(reader.counters.position) as i64;
        reader.lag_bytes = lag.max(0) as u64;
    }
}

/// Leaves a reader of another user only a place that the publisher holds, or held last, for one of that user: its file states any.
pub(crate) fn check_places(readers: &mut [ReaderView], user_of: impl Fn(usize) -> Option<u32>) {
    for reader in readers.iter_mut().filter(|reader| reader.user.is_some()) {
        let place = &mut reader.counters.place;
        let slot = place
            .checked_sub(1)
            .and_then(|slot| usize::try_from(slot).ok());
        // mutant: places: a reader of another user states any place
        if slot.and_then(&user_of) != reader.user {
            *place = 0;
        }
    }
}

/// Removes the counters files of readers that died long ago. Called by processes that start on the
/// bus.
pub(crate) fn sweep_of(root: &Root, bus: &str) {
    if let Ok(stats) = stats_of(root, bus) {
        sweep(&stats);
    }
    if let Ok(Some(guests)) = root.open(bus).and_then(|bus| Guests::of(&bus)) {
        guests.sweep();
    }
}

/// Root of the counters files, whose "buses" are readers. Private, also if the bus is shared.
fn stats_of(root: &Root, bus: &str) -> Result<Root, Error> {
    Ok(Root::at(root.open(bus)?.path().join(FOLDER)))
}

/// Waits between the tries if another process holds the name.
fn take_name(stats: &Root, bus: &str, name: &str, tries: usize) -> Result<WriterLock, Error> {
    let mut tried = 1;
    loop {
        match stats.create(name).and_then(WriterLock::acquire) {
            // A process that starts on the bus locks each old name for a moment, to remove its file.
            Err(segment::Error::Busy { .. }) if tried < tries => {
                tried += 1;
                thread::sleep(NAP);
            }
            Err(segment::Error::Busy { holder, .. }) => {
                return Err(Error::NameTaken {
                    bus: bus.to_owned(),
                    name: name.to_owned(),
                    holder,
                });
            }
            Err(segment::Error::Name { name, why, .. }) => {
                let what = "reader";
                return Err(segment::Error::Name { what, name, why }.into());
            }
            // The last holder of that name has just removed its directory.
            Err(segment::Error::Missing { .. } | segment::Error::System { .. })
                if tried < tries =>
            {
                tried += 1;
            }
            taken => return Ok(taken?),
        }
    }
}

fn living(stats: &Root) -> Result<usize, Error> {
    let names = stats.buses()?;
    let lives = |name: &&String| matches!(holder(stats, name), Ok(Some(_)));
    Ok(names.iter().filter(lives).count())
}

fn holder(stats: &Root, name: &str) -> Result<Option<Holder>, Error> {
    Ok(WriterLock::holder(&stats.open(name)?)?)
}

/// Removes old files; failures are ignored.
fn sweep(stats: &Root) {
    let names = stats.buses().unwrap_or_default();
    let dead = |name: &&String| matches!(holder(stats, name), Ok(None));
    let mut left: Vec<_> = names
        .iter()
        .filter(dead)
        .map(|name| (last_written(stats, name), name))
        .collect();
    left.sort();
    let too_many = names.len().saturating_sub(READERS_MAX);
    let kept_since = unix_ns().saturating_sub(DEAD_KEPT.as_nanos() as u64);
    for (number, (written, name)) in left.into_iter().enumerate() {
        if number >= too_many && written >= kept_since {
            continue;
        }
        // Only the holder of the name may remove it.
        if let Ok(lock) = stats.open(name).and_then(WriterLock::acquire) {
            let _ = lock.remove_directory();
        }
    }
}

/// Time of the last update. Without a counters file that of its directory: its reader may be about to create the file.
fn last_written(stats: &Root, name: &str) -> u64 {
    match CountersView::open(stats, name) {
        Ok(Some(counters_file)) => {
            let written = counters_file.counter("written_unix_ns").unwrap_or(0);
            written.max(counters_file.origin().start_unix_ns)
        }
        _ => {
            let changed = std::fs::metadata(stats.path().join(name)).and_then(|it| it.modified());
            changed.map_or(0, since_1970_ns)
        }
    }
}

fn unix_ns() -> u64 {
    since_1970_ns(SystemTime::now())
}

fn since_1970_ns(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
