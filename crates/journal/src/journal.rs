//! A journal that a process writes: lock, tail, hot side and journal thread.

use crate::appender::{Appended, Appender, Record, Refused, StartingPoint};
use crate::chain::Chaining;
use crate::core::{Core, Now, Random, Sync};
use crate::error::Error;
use crate::failure::FailureFile;
use crate::folder::{FileId, Folder, MadeSegments, SegmentFile};
use crate::format::{Alignment, HEADER_BYTES, NAME_BYTES, kind};
use crate::lock::Lock;
use crate::start::{Form, StartReport, start};
use crate::tail::{self, Identity, RING_BYTES_MIN, State, Tail};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use touchline_shm::segment::{Access, GroupAccess, Mapping, Options as MappingOptions, WriterLock};

/// File of the tail in the directory of the bus.
const TAIL: &str = "tail";
/// Interval of looks at a thread that ends.
const PAUSE: Duration = Duration::from_millis(1);
/// Smallest segment, in bytes.
const SEGMENT_BYTES_MIN: u64 = 64 << 10;

/// Condition under which a record may be acted upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The record is committed in the tail: it survives the process, and not a crash of the host. A segment is synced when
    /// it is complete, so that the durable position may be a segment behind.
    Process,
    /// The record is committed in the tail, as in `Process`. Every record is synced as soon as the disk allows; the
    /// durable position shows which records survive a crash of the host.
    #[default]
    Host,
    /// The record is on the disk.
    Disk,
}

/// Settings of a journal.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name in the headers: ASCII, at most 32 bytes.
    pub name: String,
    /// Condition under which a record may be acted upon.
    pub mode: Mode,
    /// Alignment of frames; `None` takes the physical block of the device.
    pub alignment: Option<Alignment>,
    /// Bytes of a segment: 64 KiB to 4 GiB, a multiple of 4096.
    pub segment_bytes: u64,
    /// Bytes of the ring in shared memory: at least 64 KiB, a multiple of 4096.
    pub ring_bytes: u64,
    /// Whether the journal thread writes zeros to a segment ahead of its records, so that a sync has no blocks of the file to
    /// initialize.
    pub write_zeros: bool,
    /// Sleep of the journal thread when there is nothing to write.
    pub idle: Duration,
    /// Whether a failure is also in a file of the directory, for a start after a restart of the host.
    pub failure_file: bool,
    /// Whether the journal has a hash [`chain`](crate::chain()) over its closed segments.
    pub chain: bool,
}

impl Options {
    /// Settings of an order journal.
    pub fn orders(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            mode: Mode::Host,
            alignment: None,
            segment_bytes: 64 << 20,
            ring_bytes: 64 << 20,
            write_zeros: true,
            idle: Duration::from_micros(20),
            failure_file: false,
            chain: false,
        }
    }

    /// Settings of a recording: frames are packed, so that a power failure may cost the frame before the one that was being written, and
    /// no zeros are written ahead.
    pub fn recording(name: &str) -> Self {
        Self {
            alignment: Some(Alignment::PACKED),
            segment_bytes: 256 << 20,
            write_zeros: false,
            ..Self::orders(name)
        }
    }

    fn form(&self, directory: &Path) -> Result<Form, Error> {
        let setting = |setting, what: String| Err(Error::Setting { setting, what });
        if self.name.len() > NAME_BYTES || !self.name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return setting(
                "name",
                format!("at most 32 ASCII characters, not {:?}", self.name),
            );
        }
        let page = HEADER_BYTES as u64;
        let is_whole = self.segment_bytes.is_multiple_of(page);
        let range = SEGMENT_BYTES_MIN..=crate::disk::SEGMENT_BYTES_MAX;
        if !is_whole || !range.contains(&self.segment_bytes) {
            let given = self.segment_bytes;
            let what = format!("64 KiB to 4 GiB and a multiple of 4096, not {given} bytes");
            return setting("segment_bytes", what);
        }
        if !self.ring_bytes.is_multiple_of(page) || self.ring_bytes < RING_BYTES_MIN {
            let given = self.ring_bytes;
            let what = format!("at least 64 KiB and a multiple of 4096, not {given} bytes");
            return setting("ring_bytes", what);
        }
        let mut name = [0; NAME_BYTES];
        name[..self.name.len()].copy_from_slice(self.name.as_bytes());
        Ok(Form {
            name,
            alignment: self.alignment.unwrap_or_else(|| block_of_device(directory)),
            file_bytes: self.segment_bytes,
        })
    }
}

/// An open journal. Appends never wait for the disk; a thread of the journal writes the files.
#[derive(Debug)]
pub struct Journal {
    appender: Appender<Mapping>,
    tail: Tail<Mapping>,
    mode: Mode,
    thread: Option<JoinHandle<()>>,
    chaining: Option<Chaining>,
    failure: Option<Arc<FailureFile>>,
    report: StartReport,
    directory: FileId,
    made: MadeSegments,
    /// Positions of the first record of this run, and behind the last one of the runs before.
    begin: (u64, u64),
    _lock: Lock,
}

impl Journal {
    /// Opens a journal for writing, after the recovery of the last run. The tail is in the directory of the bus.
    ///
    /// # Errors
    /// Among others [`Error::Locked`] and [`Error::Damaged`]; the files are unchanged then.
    pub fn open(
        directory: &Path,
        bus: &WriterLock,
        options: &Options,
        now_ns: u64,
    ) -> Result<Self, Error> {
        let name = directory.display().to_string();
        let mut folder =
            Folder::create_directory(directory).map_err(Error::io("create or open", &name))?;
        let directory_id = folder.id().map_err(Error::io("look at", &name))?;
        let made = folder.made();
        let lock = Lock::acquire(directory)?;
        let form = options.form(directory)?;
        let boot = boot_id().map_err(Error::io("read", "/proc/sys/kernel/random/boot_id"))?;
        let mut random = random_numbers().map_err(Error::io("open", "/dev/urandom"))?;
        let old = old_tail(bus)?;
        let (starting, report) = start(&mut folder, old.as_ref(), boot, &form, now_ns, &mut random)
            .map_err(|error| error.within(directory))?;
        let identity = Identity {
            journal: starting.header.journal,
            boot,
            epoch: starting.header.epoch,
        };
        let failure = options.failure_file.then(|| {
            let file = FailureFile::make(&mut folder, report.epoch, report.had_failed);
            file.map_err(|error| error.within(directory))
        });
        let failure = failure.transpose()?;
        // Before the tail of a failed run is gone.
        let tail = make_tail(bus, options.ring_bytes, &identity, &starting, &report)?;
        let mut core = Core::new(
            folder,
            tail.clone(),
            &starting.header,
            starting.begin.base,
            options.write_zeros,
            random,
        );
        core.set_sync(match options.mode {
            Mode::Process => Sync::CompleteSegments,
            Mode::Host | Mode::Disk => Sync::Always,
        });
        core.prepare(Now::at_start(now_ns))?;
        let appender = Appender::start(tail.clone(), &starting, now_ns)
            .expect("an empty ring has room for a Begin");
        let first = starting.header.index;
        let chaining = options
            .chain
            .then(|| Chaining::start(directory, tail.clone(), first));
        let chaining = chaining.transpose()?;
        let thread = spawn(core, options.idle, failure.clone(), &name)?;
        Ok(Self {
            appender,
            tail,
            mode: options.mode,
            thread: Some(thread),
            chaining,
            failure,
            report,
            directory: directory_id,
            made,
            begin: (starting.position(), starting.begin.base),
            _lock: lock,
        })
    }

    /// Result of the start.
    pub fn report(&self) -> &StartReport {
        &self.report
    }

    /// Id of the journal, which its first run has drawn.
    pub fn id(&self) -> [u8; 16] {
        self.tail.identity().journal
    }

    /// Number of the segment that is written now.
    pub fn segment(&self) -> u64 {
        self.appender.segment()
    }

    /// Identity of the opened directory.
    pub fn directory(&self) -> FileId {
        self.directory
    }

    /// The present segment, or one shortly before it, as this run made the file.
    pub fn made(&self, index: u64) -> Option<SegmentFile> {
        self.made.of(index)
    }

    /// Appends a record: no system call, no allocation.
    ///
    /// # Errors
    /// The journal cannot be written: the caller must not act on the record.
    #[inline]
    pub fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        if self.chaining.as_ref().is_some_and(Chaining::is_due) {
            self.note_chain(record.time_ns);
        }
        self.appender.append(record)
    }

    /// Appends the head of the chain. A note that the journal refuses follows from the next head, or from the next start.
    #[cold]
    fn note_chain(&mut self, time_ns: u64) {
        let Some(note) = self.chaining.as_ref().and_then(Chaining::take) else {
            return;
        };
        let _ = self.appender.append(&Record {
            stream: 0,
            kind: kind::NOTE,
            time_ns,
            body: note.as_bytes(),
        });
    }

    /// Largest body of a record, bytes.
    pub fn body_bytes_max(&self) -> usize {
        self.appender.body_bytes_max()
    }

    /// Whether a record with a body of this many bytes fits the present segment.
    pub fn segment_has_room(&self, bytes: usize) -> bool {
        self.appender.segment_has_room(bytes)
    }

    /// Ends the present segment and begins the next one: the next record is its first one.
    ///
    /// # Errors
    /// As [`Journal::append`]; the present segment goes on then.
    pub fn begin_segment(&mut self, time_ns: u64) -> Result<(), Refused> {
        self.appender.begin_segment(time_ns)
    }

    /// Whether a record may be acted upon, by the mode of the journal.
    #[inline]
    pub fn is_safe(&self, record: &Appended) -> bool {
        match self.mode {
            Mode::Process | Mode::Host => true,
            Mode::Disk => self.tail.durable() >= record.end,
        }
    }

    /// All records that end at or below this position are on the disk.
    pub fn durable(&self) -> u64 {
        let durable = self.tail.durable();
        // The run has no durable record: its journal may end before the header of its first segment.
        match durable == self.begin.0 {
            true => self.begin.1,
            false => durable,
        }
    }

    /// Position behind the last record.
    pub fn position(&self) -> u64 {
        self.appender.position()
    }

    /// Error number of the last failed preparation of a segment, 0 if the next segment is there.
    pub fn alarm(&self) -> u64 {
        self.tail.alarm()
    }

    /// State of the journal thread, with the error number of a failure.
    pub fn state(&self) -> (State, u64) {
        self.tail.state()
    }

    /// Notes that the records of this run contain the consequence of an earlier run's failure: later starts do not
    /// report it again.
    pub fn failure_recorded(&mut self) {
        self.tail.set_failure_open(false);
        if let Some(failure) = &self.failure {
            failure.recorded(self.position());
        }
    }

    /// Marks the journal as failed, also if its thread still works, because the writer acts from now on without
    /// records: the journal gets no `End`, and the next start finds the failure. After a restart of the host only its
    /// [file](Options::failure_file) has it.
    pub fn give_up(&mut self) {
        if let Some(failure) = &self.failure {
            failure.note();
        }
        if self.tail.state().0 == State::Running {
            self.tail.set_state(State::Failed, self.tail.alarm().max(1));
        }
    }

    /// Ends the journal: `End` is on the disk when this returns.
    ///
    /// # Errors
    /// The journal had failed, or fails at this.
    pub fn close(mut self, now_ns: u64) -> Result<(), Refused> {
        let closed = self.appender.close(now_ns);
        self.ended(closed)
    }

    /// [`Journal::close`], with a limit for a disk that stands still.
    ///
    /// # Errors
    /// As [`Journal::close`], and [`Refused::Stopped`]: the thread of the journal still waits for the disk. It keeps the lock until it or the
    /// process ends, so that no other writer starts before. The next start finds the records that the tail has.
    pub fn close_within(mut self, now_ns: u64, wait: Duration) -> Result<(), Refused> {
        let closed = self.appender.close(now_ns);
        self.tail.ask_to_stop();
        let started = Instant::now();
        let works = |thread: &JoinHandle<()>| !thread.is_finished();
        while self.thread.as_ref().is_some_and(works) && started.elapsed() < wait {
            std::thread::sleep(PAUSE);
        }
        if self.thread.as_ref().is_some_and(works) {
            let behind = self.position().saturating_sub(self.durable());
            self.thread = None;
            if let Some(chaining) = &self.chaining {
                chaining.ask_to_stop();
            }
            std::mem::forget(self);
            return Err(Refused::Stopped { behind });
        }
        self.ended(closed)
    }

    /// The result, when the thread has ended or will.
    fn ended(mut self, closed: Result<(), Refused>) -> Result<(), Refused> {
        self.stop();
        closed?;
        match self.tail.state() {
            (State::Failed, errno) => Err(Refused::Failed { errno }),
            _ => Ok(()),
        }
    }

    fn stop(&mut self) {
        if let Some(chaining) = &mut self.chaining {
            chaining.stop();
        }
        self.tail.ask_to_stop();
        if let Some(thread) = self.thread.take() {
            // A panic of that thread is a failure; the tail shows that it did not close.
            if thread.join().is_err() {
                self.tail.set_state(State::Failed, 1);
            }
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Makes the tail of a run in the directory of the bus.
fn make_tail(
    bus: &WriterLock,
    ring_bytes: u64,
    identity: &Identity,
    starting: &StartingPoint,
    report: &StartReport,
) -> Result<Tail<Mapping>, Error> {
    let bytes = Tail::<Mapping>::memory_bytes(ring_bytes);
    let draft = Mapping::create(bus, TAIL, bytes, &tail_options())?;
    let alignment = starting.header.alignment;
    let tail = Tail::create(draft.mapping(), identity, alignment, starting.position());
    tail.set_failure_open(report.had_failed);
    draft.publish()?;
    Ok(tail)
}

fn spawn(
    core: Core<Folder, Mapping>,
    idle: Duration,
    failure: Option<Arc<FailureFile>>,
    name: &str,
) -> Result<JoinHandle<()>, Error> {
    let thread = std::thread::Builder::new().name("journal".to_owned());
    let thread = thread.spawn(move || run(core, idle, failure.as_deref()));
    thread.map_err(Error::io("start the thread of", name))
}

/// The journal thread.
fn run(mut core: Core<Folder, Mapping>, idle: Duration, failure: Option<&FailureFile>) {
    let began = Instant::now();
    loop {
        let is_last = core.tail().is_asked_to_stop();
        if is_last {
            core.set_sync(Sync::Always);
        }
        let now = Now {
            wall_ns: unix_ns(),
            steady_ns: began.elapsed().as_nanos() as u64,
        };
        // The tail has the failure: the hot side refuses every record from then on.
        let Ok(wrote) = core.step(now) else {
            return;
        };
        if let Some(failure) = failure {
            failure.forget(core.tail().durable());
        }
        if is_last && !wrote {
            if core.tail().state().0 == State::Running {
                core.tail().set_state(State::Closed, 0);
            }
            return;
        }
        if !wrote {
            std::thread::sleep(idle);
        }
    }
}

/// The wall clock, ns since 1970.
pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// The tail is its owner's alone, as the files are, also on a bus that is shared with a group.
fn tail_options() -> MappingOptions {
    MappingOptions {
        group_access: GroupAccess::None,
        ..MappingOptions::default()
    }
}

fn old_tail(bus: &WriterLock) -> Result<Option<Tail<Mapping>>, Error> {
    let directory = bus.directory();
    if !directory.files()?.iter().any(|file| file == TAIL) {
        return Ok(None);
    }
    let options = MappingOptions {
        prefault: false,
        lock: touchline_shm::segment::Lock::No,
        ..tail_options()
    };
    let mapping = match Mapping::open(directory, TAIL, Access::Read, &options) {
        Err(touchline_shm::segment::Error::Size { path, bytes: 0, .. }) => {
            return Err(Error::EmptyTail {
                name: path.display().to_string(),
            });
        }
        opened => opened?,
    };
    if let Some(version) = tail::unknown_version(&mapping) {
        // The tail may have records that the files lack.
        let what = format!(
            "version {version} of the tail, this program reads {}",
            tail::VERSION
        );
        let name = directory.path().join(TAIL).display().to_string();
        return Err(Error::Foreign { name, what });
    }
    Ok(Tail::open(mapping))
}

fn boot_id() -> std::io::Result<[u8; 16]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let id = u128::from_str_radix(&digits, 16);
    id.map(u128::to_be_bytes)
        .map_err(|_| std::io::Error::other("not an id of a boot"))
}

fn random_numbers() -> std::io::Result<Random> {
    let mut file = std::fs::File::open("/dev/urandom")?;
    Ok(Box::new(move || {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes)
            .expect("/dev/urandom gives as many bytes as are asked for");
        u64::from_le_bytes(bytes)
    }))
}

/// Physical block of the device that a directory is on; 512 bytes if the system does not state it.
fn block_of_device(directory: &Path) -> Alignment {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(directory).map_or(0, |metadata| metadata.dev());
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let block = ["queue", "../queue"].iter().find_map(|queue| {
        let path = format!("/sys/dev/block/{major}:{minor}/{queue}/physical_block_size");
        std::fs::read_to_string(path)
            .ok()?
            .trim()
            .parse::<u32>()
            .ok()
    });
    block
        .and_then(Alignment::new)
        .filter(|alignment| *alignment != Alignment::PACKED)
        .unwrap_or(Alignment::SECTOR_512)
}
