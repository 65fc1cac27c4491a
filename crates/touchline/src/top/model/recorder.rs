//! A recorder of a tape, from the counters of its process.

use super::sample::Sample;
use crate::counted::Freshness;
use std::time::Duration;
use touchline_client::monitor::{Build, Monitor, ProcessView};

/// A recorder.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// State.
    pub state: RecorderState,
    /// Its process; 0 if it has ended.
    pub pid: u32,
    /// Build of the process, if it states that.
    pub build: Option<Build>,
    /// Age of the counters; `None` without counters.
    pub age: Option<Duration>,
    /// Buses, or lines of a raw recording, that are recorded.
    pub buses: u64,
    /// Bytes of the buses that wait to be recorded.
    pub lag_bytes: u64,
    /// Position behind the last record, bytes.
    pub position: u64,
    /// Bytes before it that are not on the disk.
    pub unsynced_bytes: u64,
    /// Time since the last move of the durable position while records wait for the disk.
    pub durable_age_ns: u64,
    /// Segment that is written.
    pub segment: u64,
    /// Free bytes of the file system.
    pub free_bytes: u64,
    /// Error of the system for the next segment, 0: none.
    pub errno: u64,
    /// Bytes of compressed segments, before and after.
    pub compressed: (u64, u64),
}

/// State of a recorder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecorderState {
    /// No process; its counters were left: it failed or was killed.
    #[default]
    Died,
    /// A process that does not write its counters.
    Stalled,
    /// A write or a sync has failed.
    Failed,
    /// The disk has no space for the next segment.
    Full,
    /// The disk takes no records.
    Behind,
    /// No bus is there.
    Waiting,
    /// Records are written.
    Recording,
}

/// A counter that recorders alone have.
const OF_RECORDER: &str = "record_position";

/// Names of the recorders of a host.
pub fn recorders(monitor: &Monitor) -> Vec<String> {
    let processes = monitor.processes().unwrap_or_default();
    let recorders = processes.into_iter().filter(is_recorder);
    recorders.map(|process| process.name).collect()
}

pub(super) fn is_recorder(process: &ProcessView) -> bool {
    let counters_file = process.counters_file.as_ref();
    counters_file.is_ok_and(|file| {
        let file = file.as_ref();
        file.is_some_and(|file| file.counter(OF_RECORDER).is_some())
    })
}

impl Recorder {
    pub(super) fn of(sample: &Sample, freshness: Freshness) -> Recorder {
        let counter = |name| sample.counter(name);
        let position = counter(OF_RECORDER);
        Recorder {
            state: state(sample, freshness),
            buses: counter("record_buses"),
            lag_bytes: counter("record_lag_bytes"),
            position,
            unsynced_bytes: position.saturating_sub(counter("record_durable")),
            durable_age_ns: counter("record_durable_age_ns"),
            segment: counter("record_segment"),
            free_bytes: counter("record_free_bytes"),
            errno: counter("record_disk_errno"),
            compressed: (
                counter("record_compressed_from"),
                counter("record_compressed_to"),
            ),
            ..Recorder::default()
        }
    }
}

/// The first reason for which the tape lacks records.
fn state(sample: &Sample, freshness: Freshness) -> RecorderState {
    match (freshness, sample.counter("record_disk_state")) {
        (Freshness::Gone(_), _) => RecorderState::Died,
        (Freshness::Late(_), _) => RecorderState::Stalled,
        (_, 3) => RecorderState::Failed,
        (_, 2) => RecorderState::Full,
        (_, 1) => RecorderState::Behind,
        _ if sample.counter("record_buses") == 0 => RecorderState::Waiting,
        _ => RecorderState::Recording,
    }
}

impl RecorderState {
    /// Label.
    pub const fn name(self) -> &'static str {
        match self {
            RecorderState::Died => "died",
            RecorderState::Stalled => "stalled",
            RecorderState::Failed => "disk failed",
            RecorderState::Full => "disk full",
            RecorderState::Behind => "disk behind",
            RecorderState::Waiting => "waits for a bus",
            RecorderState::Recording => "recording",
        }
    }
}
