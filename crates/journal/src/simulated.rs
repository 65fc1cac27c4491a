//! A journal on a simulated disk, without a thread and files, for simulations of programs that write journals. Start,
//! appends, copies, syncs and judgement are those of a real one; the simulation decides when the journal thread works, and
//! when process or host die.

use crate::appender::{Appended, Appender, Record, Refused};
use crate::core::{Core, Now};
use crate::error::Error;
use crate::format::{Alignment, NAME_BYTES};
use crate::journal::Mode;
use crate::judge::Verdict;
use crate::reader::{Entry, give_records};
use crate::simulated_disk::{Random, SimulatedDisk};
use crate::start::{Form, StartReport, start};
use crate::tail::{Identity, State, Tail};
use std::sync::Arc;
use touchline_shm::atomic::AtomicU64;
use touchline_shm::zeroed;

type Memory = Arc<[AtomicU64]>;

/// The run of a process.
struct Run {
    core: Core<SimulatedDisk, Memory>,
    appender: Appender<Memory>,
    tail: Tail<Memory>,
}

/// A journal, over any number of runs.
pub struct SimulatedJournal {
    disk: SimulatedDisk,
    random: Random,
    form: Form,
    ring_bytes: u64,
    mode: Mode,
    boot: u64,
    /// The tail of the last run, unless the host died since.
    tail: Option<Tail<Memory>>,
    run: Option<Run>,
}

impl SimulatedJournal {
    /// An empty disk. A seed repeats its losses. Half of the seeds pack frames, the others align them to sectors, which the
    /// disk may then garble.
    pub fn new(seed: u64, mode: Mode, segment_bytes: u64, ring_bytes: u64) -> SimulatedJournal {
        let mut random = Random(seed);
        let is_packed = random.one_in(2);
        SimulatedJournal {
            disk: SimulatedDisk::new(random.next(), !is_packed),
            form: Form {
                name: [0; NAME_BYTES],
                alignment: match is_packed {
                    true => Alignment::PACKED,
                    false => Alignment::SECTOR_512,
                },
                file_bytes: segment_bytes,
            },
            ring_bytes,
            mode,
            boot: 1,
            tail: None,
            run: None,
            random,
        }
    }

    /// Starts a run.
    ///
    /// # Errors
    /// As [`crate::Journal::open`]; also if the process dies in it, see [`SimulatedJournal::is_dead`].
    pub fn start(&mut self, now_ns: u64) -> Result<StartReport, Error> {
        assert!(self.run.is_none(), "one run at a time");
        let boot = u128::from(self.boot).to_le_bytes();
        let mut salts = Random(self.random.next());
        let mut random = move || salts.next();
        let (starting, report) = start(
            &mut self.disk,
            self.tail.as_ref(),
            boot,
            &self.form,
            now_ns,
            &mut random,
        )?;
        let identity = Identity {
            journal: starting.header.journal,
            boot,
            epoch: starting.header.epoch,
        };
        let memory = zeroed(Tail::<Memory>::memory_bytes(self.ring_bytes) / 8);
        let alignment = self.form.alignment;
        let tail = Tail::create(memory, &identity, alignment, starting.position());
        tail.set_failure_open(report.had_failed);
        self.tail = Some(tail.clone());
        let mut core = Core::new(
            self.disk.clone(),
            tail.clone(),
            &starting.header,
            starting.begin.base,
            false,
            Box::new(random),
        );
        core.prepare(Now::at(now_ns))?;
        let appender = Appender::start(tail.clone(), &starting, now_ns)
            .expect("an empty ring has room for a Begin");
        self.run = Some(Run {
            core,
            appender,
            tail,
        });
        Ok(report)
    }

    /// Appends a record.
    ///
    /// # Errors
    /// As [`crate::Journal::append`].
    pub fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        match &mut self.run {
            Some(run) => run.appender.append(record),
            None => Err(Refused::Closed),
        }
    }

    /// Whether a record may be acted upon, by the mode of the journal.
    pub fn is_safe(&self, record: &Appended) -> bool {
        let is_durable = |run: &Run| run.tail.durable() >= record.end;
        self.mode != Mode::Disk || self.run.as_ref().is_some_and(is_durable)
    }

    /// State of the journal thread, with the error number of a failure.
    pub fn state(&self) -> (State, u64) {
        let state = self.run.as_ref().map(|run| run.tail.state());
        state.unwrap_or((State::Closed, 0))
    }

    /// As [`crate::Journal::give_up`].
    pub fn give_up(&mut self) {
        if let Some(run) = &mut self.run
            && run.tail.state().0 == State::Running
        {
            run.tail.set_state(State::Failed, 1);
        }
    }

    /// As [`crate::Journal::failure_recorded`].
    pub fn failure_recorded(&mut self) {
        if let Some(run) = &mut self.run {
            run.tail.set_failure_open(false);
        }
    }

    /// One round of the journal thread: copies, syncs, prepares.
    pub fn step(&mut self, now_ns: u64) {
        if let Some(run) = &mut self.run
            && run.tail.state().0 == State::Running
        {
            // The tail has the failure.
            let _ = run.core.step(Now::at(now_ns));
        }
    }

    /// The process dies at that change of the disk from here on, and a sync fails at that sync; `None`: never.
    pub fn arm(&mut self, death: Option<usize>, failed_sync: Option<usize>) {
        self.disk.arm(death, failed_sync);
    }

    /// Whether the process has died at a change of the disk.
    pub fn is_dead(&self) -> bool {
        self.disk.is_dead()
    }

    /// The process dies: its tail stays in memory.
    pub fn kill(&mut self) {
        self.run = None;
        self.disk.arm(None, None);
    }

    /// The host loses power: memory is lost, and unsynced bytes on the disk may be lost, torn or garbled.
    pub fn lose_power(&mut self) {
        self.kill();
        self.tail = None;
        self.boot += 1;
        self.disk.lose_power();
    }

    /// Gives every record of the journal to `each`, in order.
    ///
    /// # Errors
    /// The journal is damaged.
    pub fn read(&mut self, mut each: impl FnMut(&Entry<'_>)) -> Result<(), Error> {
        let judgement = give_records(&mut self.disk, 0, &mut each)?;
        match judgement.verdict {
            Verdict::Damaged => Err(Error::Damaged {
                name: "simulated journal".to_owned(),
                what: judgement.damage(),
            }),
            Verdict::Clean | Verdict::Cut => Ok(()),
        }
    }
}
