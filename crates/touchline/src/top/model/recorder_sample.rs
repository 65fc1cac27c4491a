//! A sample of a recorder: what `top` reads of its process, and the picture of it.

use super::engine_sample::{running, since};
use super::recorder::{Recorder, is_recorder};
use super::sample::Sample;
use super::{Model, Picture};
use crate::counted::Freshness;
use touchline_client::monitor::CountersView;

/// Rates, and the counters whose sum they are.
const RATES: [(&str, &[&str]); 2] = [
    ("messages", &["record_messages"]),
    ("bytes", &["record_bytes"]),
];

/// Counters of what an operator must know of, their labels, and whether an increase is a fault.
const EVENTS: [(&str, &str, bool); 5] = [
    ("record_gaps", "gaps", true),
    ("record_lost", "messages lost", true),
    ("record_failures", "disk failures", true),
    ("record_segments_compressed", "segments compressed", false),
    ("record_segments_removed", "segments removed", false),
];

impl Model {
    /// Takes a sample of a recorder and computes the picture; `false`: the name is not one of a recorder.
    pub(super) fn look_at_recorder(&mut self) -> Result<bool, String> {
        let processes = self.monitor.processes().unwrap_or_default();
        let mut named = processes.into_iter().filter(|other| other.name == self.bus);
        let Some(process) = named.next() else {
            return Ok(false);
        };
        if let Err(why) = &process.counters_file {
            return Err(why.to_string());
        }
        if !is_recorder(&process) {
            return Ok(false);
        }
        let (is_alive, pid) = running(Some(&process));
        let holder = process.process.as_ref();
        let build = holder.and_then(|holder| holder.build.as_deref().cloned());
        self.follow_counters(process.counters_file.map_err(|error| error.to_string())?);
        let sample = self.counters_file.as_ref().map(Sample::take);
        let seconds = sample
            .as_ref()
            .map_or(0.0, |sample| self.since_last(sample));
        let age = self.counters_file.as_ref().and_then(CountersView::age);
        let of_sample = |sample| Recorder::of(sample, Freshness::of(age, is_alive));
        let recorder = Recorder {
            pid,
            build,
            age,
            ..sample.as_ref().map_or_else(Recorder::default, of_sample)
        };
        self.picture = Picture {
            bus: self.bus.clone(),
            uptime_ns: sample
                .as_ref()
                .map_or(0, |sample| since(sample.start_unix_ns)),
            is_since_reset: self.base.is_some(),
            rates: self.rates(sample.as_ref(), seconds, &RATES),
            lines: self.lines(sample.as_ref(), &EVENTS),
            recorder: Some(recorder),
            ..Picture::default()
        };
        self.last = sample;
        Ok(true)
    }
}
