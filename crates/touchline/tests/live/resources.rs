//! Memory and descriptors of processes over time: unbounded growth is a leak.
//!
//! Samples are taken at comparable moments: all processes run and every book is live. The first third is warm-up.
//! Between the second third and the last one the lowest number of descriptors must not rise (a reader opens one for a
//! moment when it checks the publisher), and the median of the private writable memory must not rise by more than
//! [`NOISE_KIB`] and a hundredth.
//!
//! Resident memory would be no measure: it rises for as long as pages of buffers that were allocated at start are
//! touched for the first time, by minutes later on a slower host.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Allowed rise of the median without a leak, besides a hundredth: a simulator's market grows by 700 KiB between the
/// medians of a run of seconds; a gateway and its readers do not grow at all. In a run of an hour the two medians are
/// twenty minutes apart, so that 3 bytes for each event of a market of 600 a second exceed it.
const NOISE_KIB: u64 = 2_048;

/// Fewer samples of a process are not evaluated.
pub const SAMPLES_MIN: usize = 6;

/// Resources of processes, sample by sample.
#[derive(Default)]
pub struct Watch {
    processes: BTreeMap<(String, u32), Vec<Sample>>,
}

/// Resources of a process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Private writable memory (`VmData`), touched or not, KiB.
    pub data_kib: u64,
    /// Open descriptors.
    pub descriptors: usize,
}

impl Sample {
    /// Sample of a running process of ours.
    #[track_caller]
    pub fn of(pid: u32) -> Sample {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
        let status = status.expect("it runs");
        let data = status.lines().find_map(|line| line.strip_prefix("VmData:"));
        let kib = data.and_then(|text| text.split_whitespace().next()?.parse().ok());
        let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd"));
        Sample {
            data_kib: kib.expect("VmData"),
            descriptors: descriptors.expect("it is ours").count(),
        }
    }
}

impl Watch {
    /// Takes a sample.
    #[track_caller]
    pub fn note(&mut self, name: &str, pid: u32) {
        let series = self.processes.entry((name.to_owned(), pid)).or_default();
        series.push(Sample::of(pid));
    }

    /// Leaks, a line each; processes with less than [`SAMPLES_MIN`] samples are left out.
    pub fn leaks(&self) -> Vec<String> {
        let judged = self.judged();
        let found = judged.filter_map(|(name, series)| Some(format!("{name}: {}", leak(series)?)));
        found.collect()
    }

    /// Resources of each process after warm-up and at the end.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for (name, series) in self.judged() {
            let [before, after] = thirds(series);
            let (from, to) = (median_kib(before), median_kib(after));
            let descriptors = series[series.len() - 1].descriptors;
            let samples = series.len();
            let _ = writeln!(
                text,
                "{name}: memory {from} KiB after warm-up, {to} KiB in the end; {descriptors} descriptors; {samples} samples"
            );
        }
        text
    }

    fn judged(&self) -> impl Iterator<Item = (&str, &[Sample])> {
        let named = self.processes.iter();
        let named = named.map(|((name, _), series)| (name.as_str(), series.as_slice()));
        named.filter(|(_, series)| series.len() >= SAMPLES_MIN)
    }
}

fn leak(series: &[Sample]) -> Option<String> {
    let [before, after] = thirds(series);
    let least = |samples: &[Sample]| samples.iter().map(|sample| sample.descriptors).min();
    let (held, holds) = (least(before)?, least(after)?);
    if holds > held {
        return Some(format!("it holds {holds} descriptors and held {held}"));
    }
    let (from, to) = (median_kib(before), median_kib(after));
    let is_more = to > from + NOISE_KIB + from / 100;
    is_more.then(|| format!("private memory grew from {from} to {to} KiB"))
}

/// The second and the last third.
fn thirds(series: &[Sample]) -> [&[Sample]; 2] {
    let third = series.len() / 3;
    [
        &series[third..series.len() - third],
        &series[series.len() - third..],
    ]
}

fn median_kib(series: &[Sample]) -> u64 {
    let mut all: Vec<u64> = series.iter().map(|sample| sample.data_kib).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write as _};
    use std::process::{Command, Stdio};

    /// Observes a shell that runs the lines that it is given.
    fn watched(what: &str) -> Vec<String> {
        let script = format!("i=3; while read word; do {what}; i=$((i+1)); echo done; done");
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut input = child.stdin.take().expect("piped");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut watch = Watch::default();
        for _ in 0..7 {
            writeln!(input, "go").expect("it listens");
            lines.next().expect("it goes on").expect("text");
            watch.note("child", child.id());
        }
        drop(input);
        assert!(child.wait().expect("our child").success());
        assert!(watch.describe().contains("7 samples"));
        watch.leaks()
    }

    #[test]
    fn a_leak_of_file_descriptors_is_detected() {
        let leaks = watched("eval \"exec $i</dev/null\"");
        let [leak] = leaks.as_slice() else {
            panic!("{leaks:?}");
        };
        assert!(leak.starts_with("child: it holds"), "{leak}");
    }

    #[test]
    fn a_leak_of_memory_is_detected() {
        let leaks = watched("kept=\"$kept$(head -c 2000000 /dev/zero | tr '\\0' a)\"");
        let [leak] = leaks.as_slice() else {
            panic!("{leaks:?}");
        };
        assert!(leak.contains("private memory grew"), "{leak}");
    }

    #[test]
    fn a_process_without_leaks_passes() {
        let opened = "exec 3</dev/null; exec 3<&-; kept=$(head -c 1000000 /dev/zero | tr '\\0' a)";
        assert_eq!(watched(opened), [""; 0]);
    }
}
