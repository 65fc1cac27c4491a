//! Crash model: in each run the process or the host dies several times, at any change of the disk, also during a start.
//!
//! Properties: the records are a prefix of the appended records; no durable record is missing, and after a death of the
//! process alone no committed record; no crash is taken for damage; a flipped bit below a claim is damage. The mutants
//! of the journal whose names begin with `simulation` break one rule each, and with it one of these properties.

use crate::appender::{Appender, Record, Refused};
use crate::core::{Core, Now, Sync};
use crate::error::Error;
use crate::format::{Alignment, HEADER_BYTES, NAME_BYTES, segment_name, u64_at};
use crate::judge::{Judgement, PrefixEnd, SegmentState, Verdict, judge, judge_recent, judge_with};
use crate::simulated_disk::{Random, SimulatedDisk};
use crate::start::{Form, start};
use crate::tail::{Identity, Tail};
use std::sync::Arc;
use touchline_shm::atomic::AtomicU64;
use touchline_shm::zeroed;

type Memory = Arc<[AtomicU64]>;
type Writer = (Core<SimulatedDisk, Memory>, Appender<Memory>);

const RING_BYTES: u64 = 32 << 10;
const FILE_BYTES: u64 = 10 << 10;
const STREAM: u16 = 1;

struct Model {
    random: Random,
    disk: SimulatedDisk,
    alignment: Alignment,
    tail: Option<Tail<Memory>>,
    boot: u64,
    now_ns: u64,
    next_id: u64,
    /// Appended records in their order; the journal must have a prefix of them.
    appended: Vec<u64>,
    /// End positions of the records of this life.
    ends: Vec<u64>,
    /// Number of records that must survive a loss of power.
    durable: usize,
    /// Number of records that must survive the death of the process.
    committed: usize,
    crashes: u64,
}

/// A run of a seed.
///
/// # Errors
/// The violated property.
fn run(seed: u64) -> Result<u64, String> {
    // A device that garbles a sector while rewriting it does not allow packed frames.
    match seed % 3 {
        0 => run_on(seed, Alignment::PACKED, false),
        _ => run_on(seed, Alignment::SECTOR_512, true),
    }
}

fn run_on(seed: u64, alignment: Alignment, garbles: bool) -> Result<u64, String> {
    let mut model = Model::new(seed, alignment, garbles);
    for _ in 0..=model.random.below(4) {
        model.life()?;
    }
    model.disk.arm(None, None);
    let (mut core, _appender) = model.begin()?.ok_or("a start without a crash ends")?;
    core.step(Now::at(model.now_ns))
        .map_err(|error| error.to_string())?;
    model.rot()?;
    Ok(model.crashes)
}

impl Model {
    fn new(seed: u64, alignment: Alignment, garbles: bool) -> Self {
        let mut random = Random(seed);
        Self {
            disk: SimulatedDisk::new(random.next(), garbles),
            alignment,
            tail: None,
            boot: 1,
            now_ns: 1_000,
            next_id: 1,
            appended: Vec::new(),
            ends: Vec::new(),
            durable: 0,
            committed: 0,
            crashes: 0,
            random,
        }
    }

    /// One life of the writer, from its start to its death.
    fn life(&mut self) -> Result<(), String> {
        let crash = 1 + self.random.below(90);
        let failed_sync = self.random.one_in(6).then(|| 1 + self.random.below(12));
        self.disk.arm(Some(crash), failed_sync);
        if let Some((mut core, mut appender)) = self.begin()? {
            let mut has_failed = false;
            for _ in 0..self.random.below(60) {
                self.append(&mut appender);
                has_failed = self.random.one_in(2) && core.step(Now::at(self.now_ns)).is_err();
                if has_failed {
                    break;
                }
            }
            if !has_failed && self.random.one_in(8) && appender.close(self.now_ns).is_ok() {
                // The process may die in this step.
                let _ = core.step(Now::at(self.now_ns));
            }
            self.durable = self.durable.max(self.durable_of(&appender));
        }
        self.crashes += 1;
        if self.random.one_in(3) {
            self.committed = self.committed.max(self.durable);
        } else {
            self.disk.lose_power();
            self.committed = self.durable;
            self.tail = None;
            self.boot += 1;
        }
        Ok(())
    }

    /// Starts a writer; `None` if the process dies in the start, or a sync fails.
    fn begin(&mut self) -> Result<Option<Writer>, String> {
        self.now_ns += 1;
        let form = Form {
            name: [0; NAME_BYTES],
            alignment: self.alignment,
            file_bytes: FILE_BYTES,
        };
        self.compare_judgements()?;
        let boot = u128::from(self.boot).to_le_bytes();
        let mut salts = Random(self.random.next());
        let mut random = move || salts.next();
        let old = self.tail.take();
        let started = start(
            &mut self.disk,
            old.as_ref(),
            boot,
            &form,
            self.now_ns,
            &mut random,
        );
        let (starting, _) = match started {
            Ok(started) => started,
            Err(Error::Io { .. }) => {
                self.tail = old;
                return Ok(None);
            }
            Err(other) => return Err(format!("a crash is taken for damage: {other}")),
        };
        self.check()?;
        let identity = Identity {
            journal: starting.header.journal,
            boot,
            epoch: starting.header.epoch,
        };
        let memory = zeroed(Tail::<Memory>::memory_bytes(RING_BYTES) / 8);
        let tail = Tail::create(memory, &identity, self.alignment, starting.position());
        self.tail = Some(tail.clone());
        let (header, base) = (&starting.header, starting.begin.base);
        let mut core = Core::new(
            self.disk.clone(),
            tail.clone(),
            header,
            base,
            self.random.one_in(2),
            Box::new(random),
        );
        if self.random.one_in(4) {
            core.set_sync(Sync::CompleteSegments);
        }
        if core.prepare(Now::at(self.now_ns)).is_err() {
            return Ok(None);
        }
        let appender = Appender::start(tail, &starting, self.now_ns).map_err(|e| e.to_string())?;
        Ok(Some((core, appender)))
    }

    /// Checks that a start, which reads parts of the segments, finds the same end as a walk over all frames.
    fn compare_judgements(&mut self) -> Result<(), String> {
        let judged = |judged: Result<Judgement, Error>| {
            let judgement = judged?;
            let next = judgement.end.as_ref().map(PrefixEnd::next_sequence);
            let states: Vec<_> = (judgement.segments.iter())
                .map(|segment| (segment.state, segment.base, segment.frames))
                .collect();
            let position = judgement.position();
            Ok::<_, Error>((judgement.verdict, position, next, judgement.epoch, states))
        };
        let whole = judged(judge(&mut self.disk)).map_err(|error| error.to_string())?;
        let recent = judged(judge_recent(&mut self.disk)).map_err(|error| error.to_string())?;
        match whole == recent {
            true => Ok(()),
            false => Err(format!(
                "a start finds {recent:?}, all frames say {whole:?}"
            )),
        }
    }

    /// Checks that the records are a prefix that contains every record which must survive.
    fn check(&mut self) -> Result<(), String> {
        let found = self.records()?;
        if found.len() > self.appended.len() || found != self.appended[..found.len()] {
            return Err(format!("not a prefix: {} records", found.len()));
        }
        if found.len() < self.committed {
            return Err(format!(
                "{} of {} records are lost",
                self.committed - found.len(),
                self.committed
            ));
        }
        self.appended = found;
        self.durable = self.appended.len();
        self.committed = self.appended.len();
        self.ends.clear();
        Ok(())
    }

    fn records(&mut self) -> Result<Vec<u64>, String> {
        let mut found = Vec::new();
        let judged = judge_with(&mut self.disk, |_, frame| {
            if frame.head.stream == STREAM {
                let id = if frame.body.len() < 8 {
                    0
                } else {
                    u64_at(frame.body, 0)
                };
                // The bytes of a body show that it is complete.
                let whole = frame.body[8.min(frame.body.len())..]
                    .iter()
                    .all(|byte| *byte == id as u8);
                found.push(if whole { id } else { 0 });
            }
        });
        let judgement = judged.map_err(|error| error.to_string())?;
        match judgement.verdict {
            Verdict::Clean => Ok(found),
            // mutant: simulation: a start continues the last segment
            other => Err(format!("{other:?} after a start: {:?}", judgement.findings)),
        }
    }

    fn append(&mut self, appender: &mut Appender<Memory>) {
        for _ in 0..self.random.below(6) {
            let id = self.next_id;
            let mut body = id.to_le_bytes().to_vec();
            body.resize(8 + self.random.below(900), id as u8);
            let record = Record {
                stream: STREAM,
                kind: 48,
                time_ns: self.now_ns,
                body: &body,
            };
            if let Ok(at) = appender.append(&record) {
                self.next_id += 1;
                self.appended.push(id);
                self.ends.push(at.end);
                self.committed = self.appended.len();
            }
        }
    }

    /// Records that the writer knew to be durable.
    fn durable_of(&self, appender: &Appender<Memory>) -> usize {
        let durable = appender.durable();
        let before = self.appended.len() - self.ends.len();
        before + self.ends.iter().filter(|end| **end <= durable).count()
    }

    /// Checks that a flipped bit below the claims is damage, and yields no wrong record.
    fn rot(&mut self) -> Result<(), String> {
        let judgement = judge(&mut self.disk).map_err(|error| error.to_string())?;
        let closed: Vec<_> = judgement
            .segments
            .iter()
            .filter(|segment| segment.state == SegmentState::Closed)
            .collect();
        if closed.is_empty() {
            return Ok(());
        }
        let segment = closed[self.random.below(closed.len())];
        let used = segment.used_bytes as usize - HEADER_BYTES;
        let offset = HEADER_BYTES + self.random.below(used);
        self.disk.rot(&segment_name(segment.index), offset);
        let mut found = Vec::new();
        let judged = judge_with(&mut self.disk, |_, frame| {
            if frame.head.stream == STREAM {
                found.push(u64_at(frame.body, 0));
            }
        })
        .map_err(|error| error.to_string())?;
        if judged.verdict != Verdict::Damaged {
            let index = segment.index;
            return Err(format!(
                "rot in segment {index} at {offset} is {:?}",
                judged.verdict
            ));
        }
        match self.appended.starts_with(&found) {
            true => Ok(()),
            false => Err("a wrong record behind rot".to_owned()),
        }
    }
}

/// Number of runs of this test: `SEEDS`, or the default.
fn seeds(usual: u64) -> u64 {
    let given = std::env::var("SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    given.unwrap_or(usual)
}

#[test]
fn no_crash_loses_a_durable_record_or_is_taken_for_damage() {
    let mut crashes = 0;
    for seed in 0..seeds(400) {
        match run(seed) {
            Ok(count) => crashes += count,
            Err(what) => panic!("seed {seed}: {what}"),
        }
    }
    println!("{crashes} crashes");
}

#[test]
fn frames_that_share_a_sector_are_lost_on_a_disk_that_garbles_it() {
    let found = (0..4_000).find_map(|seed| run_on(seed, Alignment::PACKED, true).err());
    assert!(found.is_some(), "the model does not garble");
}

/// The next append returns the failure to the writer, which must not act on the record.
#[test]
fn a_failed_write_or_sync_refuses_the_next_record() {
    for (crash, failed_sync, expected) in [(Some(1), None, 1), (None, Some(1), 5)] {
        let mut model = Model::new(1, Alignment::SECTOR_512, false);
        let (mut core, mut appender) = model.begin().expect("no damage").expect("a start");
        let record = Record {
            stream: STREAM,
            kind: 48,
            time_ns: 1,
            body: &[7; 100],
        };
        appender.append(&record).expect("an empty ring");
        model.disk.arm(crash, failed_sync);
        core.step(Now::at(1)).expect_err("the disk fails");
        let refused = appender.append(&record).expect_err("it has failed");
        assert_eq!(refused, Refused::Failed { errno: expected });
        assert_eq!(appender.close(2), Err(refused));
        assert!(appender.durable() < appender.position());
    }
}

/// The disk has room again and the clock was set back meanwhile: the next attempt is a second after the last one all the same.
#[test]
fn a_clock_that_is_set_back_does_not_stop_the_preparation_of_segments() {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut model = Model::new(1, Alignment::SECTOR_512, false);
    let (mut core, mut appender) = model.begin().expect("no damage").expect("a start");
    appender.begin_segment(1).expect("it is prepared");
    let at = |wall_s, steady_ns| Now {
        wall_ns: wall_s * SECOND_NS,
        steady_ns,
    };
    model.disk.set_full(true);
    core.step(at(7_200, 0)).expect("an alarm");
    let used = core.tail().segment().0;
    assert_eq!((core.tail().prepared().0, core.tail().alarm()), (used, 28));
    model.disk.set_full(false);
    core.step(at(3_600, SECOND_NS - 1)).expect("a disk");
    assert_eq!(core.tail().prepared().0, used);
    core.step(at(3_600, SECOND_NS)).expect("a disk");
    assert_eq!(
        (core.tail().prepared().0, core.tail().alarm()),
        (used + 1, 0)
    );
}
