//! The ramp: each rate for all subjects before the next rate, until a subject no longer sustains it; then bisection
//! around its knee.

use crate::Failed;
use crate::knee::differences;
use crate::row::Row;
use std::collections::BTreeSet;

/// Rates of a ramp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// Messages a second, rising.
    pub rates: Vec<u64>,
    /// Number of rates tried between the last sustained and the first unsustained one, each at the logarithmic
    /// midpoint.
    pub halvings: u32,
    /// Rounds of the whole ramp.
    pub rounds: u32,
}

impl Default for Ramp {
    fn default() -> Ramp {
        Ramp {
            rates: vec![
                10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000,
            ],
            halvings: 2,
            rounds: 3,
        }
    }
}

/// Operations that the ramp needs.
pub trait Bench {
    /// Runs a step: subject by number, rate, round.
    fn step(&mut self, subject: usize, rate: u64, round: u32) -> Result<Row, Failed>;
    /// Measures the round trip of a cache line, nanoseconds.
    fn floor(&mut self) -> Result<u64, Failed>;
    /// A measured row, for the screen.
    fn show(&mut self, row: &Row);
    /// The rows of a completed round.
    fn finish(&mut self, rows: &[Row]) -> Result<(), Failed>;
    /// Whether the run must end.
    fn is_stopped(&self) -> bool;
}

/// State of a subject in a round.
#[derive(Clone, Debug, Default)]
struct Progress {
    sustained: Option<u64>,
    failed: Vec<u64>,
    /// Rates of which the step was repeated.
    repeated: BTreeSet<u64>,
    /// Consecutive rates that were not sustained.
    misses: u32,
    /// Rates of the ramp that were tried.
    tried: usize,
    /// The ramp ended before a rate that was repeated without success, or with its last rate.
    has_ended: bool,
}

/// The ramp of a subject ends after this many consecutive rates that were not sustained. One is not enough: curves are
/// not monotonic.
const MISSES_MAX: u32 = 2;

impl Progress {
    fn take(&mut self, row: &Row) {
        if row.verdict.is_met() {
            self.sustained = self.sustained.max(Some(row.rate));
            self.failed.retain(|rate| *rate != row.rate);
            self.misses = 0;
        } else {
            if !self.failed.contains(&row.rate) {
                self.failed.push(row.rate);
            }
            self.misses += 1;
        }
    }

    fn is_over(&self) -> bool {
        self.has_ended || self.misses >= MISSES_MAX
    }

    /// The midpoint of the last sustained rate and the first unsustained one above it.
    fn middle(&self) -> Option<u64> {
        let sustained = self.sustained?;
        let above = self.failed.iter().filter(|rate| **rate > sustained).min()?;
        let middle = round((sustained as f64 * *above as f64).sqrt());
        (sustained < middle && middle < *above).then_some(middle)
    }
}

/// Two significant digits.
fn round(rate: f64) -> u64 {
    let unit = 10_f64.powf(rate.log10().floor() - 1.0).max(1.0);
    ((rate / unit).round() * unit) as u64
}

/// Runs the ramp and returns all rows.
///
/// # Errors
/// A step cannot be run at all, or rows cannot be written.
pub fn run(ramp: &Ramp, subjects: usize, bench: &mut dyn Bench) -> Result<Vec<Row>, Failed> {
    let mut all = Vec::new();
    for round in 1..=ramp.rounds {
        let mut floor_ns = vec![bench.floor()?];
        let mut rows = Vec::new();
        run_round(ramp, subjects, round, bench, &mut rows)?;
        floor_ns.push(bench.floor()?);
        for row in &mut rows {
            row.floor_ns.clone_from(&floor_ns);
        }
        bench.finish(&rows)?;
        all.extend(rows);
        if bench.is_stopped() {
            break;
        }
    }
    Ok(all)
}

fn run_round(
    ramp: &Ramp,
    subjects: usize,
    round: u32,
    bench: &mut dyn Bench,
    rows: &mut Vec<Row>,
) -> Result<(), Failed> {
    let mut progress = vec![Progress::default(); subjects];
    let mut step = |subject: usize, rate: u64, is_repeated: bool, progress: &mut [Progress]| {
        if bench.is_stopped() {
            return Ok(());
        }
        let mut row = bench.step(subject, rate, round)?;
        row.is_repeated = is_repeated;
        bench.show(&row);
        progress[subject].take(&row);
        rows.push(row);
        Ok::<(), Failed>(())
    };
    loop {
        for (at, rate) in ramp.rates.iter().enumerate() {
            for subject in 0..subjects {
                if progress[subject].tried == at && !progress[subject].is_over() {
                    progress[subject].tried += 1;
                    step(subject, *rate, false, &mut progress)?;
                }
            }
        }
        // At the end and not at once: a short disturbance by other processes is over by then.
        for subject in 0..subjects {
            for rate in progress[subject].failed.clone() {
                if progress[subject].repeated.insert(rate) {
                    step(subject, rate, true, &mut progress)?;
                }
            }
        }
        // A subject that sustains its highest rate after all goes on with the ramp.
        let goes_on =
            |progress: &Progress| progress.misses == 0 && progress.tried < ramp.rates.len();
        for progress in &mut progress {
            progress.has_ended |= !goes_on(progress);
        }
        if progress.iter().all(|progress| progress.has_ended) {
            break;
        }
    }
    for _ in 0..ramp.halvings {
        for subject in 0..subjects {
            if let Some(rate) = progress[subject].middle() {
                step(subject, rate, false, &mut progress)?;
            }
        }
    }
    Ok(())
}

/// Warnings about the validity of the figures, one sentence each.
pub fn warnings(rows: &[Row]) -> Vec<String> {
    let mut warnings = Vec::new();
    let disturbed = rows.iter().filter(|row| row.is_disturbed).count();
    if disturbed > 0 {
        let total = rows.len();
        warnings.push(format!(
            "other processes took processor time in {disturbed} of {total} steps; measure again on a quiet host"
        ));
    }
    let mut rounds: Vec<(u32, u64)> = rows.iter().map(|row| (row.round, row.rate)).collect();
    rounds.sort_unstable();
    rounds.dedup();
    for (round, rate) in rounds {
        let first = |row: &&Row| row.round == round && row.rate == rate && !row.is_repeated;
        let (sustained, failed): (Vec<&Row>, Vec<&Row>) = rows
            .iter()
            .filter(first)
            .partition(|row| row.verdict.is_met());
        let again = |row: &&&Row| {
            rows.iter().any(|other| {
                other.is_repeated
                    && (&other.subject, other.round, other.rate) == (&row.subject, round, rate)
                    && other.verdict.is_met()
            })
        };
        let recovered = failed.iter().filter(again).count();
        if recovered >= 2 && recovered > sustained.len() {
            warnings.push(format!(
                "round {round}: {recovered} subjects did not sustain {rate} messages/s and sustained it when it was repeated; suspect the host"
            ));
        }
    }
    let floors: Vec<u64> = rows
        .iter()
        .flat_map(|row| row.floor_ns.iter().copied())
        .collect();
    if let (Some(least), Some(most)) = (floors.iter().min(), floors.iter().max())
        && *most as f64 > *least as f64 * 1.25
    {
        warnings.push(format!(
            "the cache-line round trip changed from {least} to {most} ns between rounds"
        ));
    }
    warnings.extend(differences(rows));
    warnings
}

/// Faults of a subject, one sentence each: torn and duplicate messages, and losses in rows of transports that may not lose any.
pub fn faults(rows: &[Row], may_not_lose: impl Fn(&Row) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let received = &row.received;
        let mut counts = vec![(received.torn, "torn"), (received.duplicates, "doubled")];
        if may_not_lose(row) {
            counts.extend([
                (received.lost, "lost"),
                (received.reordered, "out of order"),
            ]);
        }
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            let (subject, rate) = (&row.subject, row.rate);
            faults.push(format!(
                "{subject} at {rate} messages/s: {count} messages {what}"
            ));
        }
        if received.messages == 0 && row.needs().is_none() {
            let (subject, rate, reason) = (&row.subject, row.rate, &row.reason);
            faults.push(format!(
                "{subject} at {rate} messages/s: nothing arrived: {reason}"
            ));
        }
    }
    faults
}

/// Medians of `subject` as multiples of those of `base`, at each rate that both sustained in the same round: rate, and ratio.
pub fn ratios(rows: &[Row], subject: &str, base: &str) -> Vec<(u64, f64)> {
    let sustained = || {
        rows.iter()
            .filter(|row| row.verdict.is_met() && row.quantile_ns("p50") > 0)
    };
    let mut ratios: Vec<(u64, f64)> = sustained()
        .filter(|row| row.subject == subject)
        .filter_map(|row| {
            let mut beside = sustained().filter(|other| {
                other.subject == base && (other.rate, other.round) == (row.rate, row.round)
            });
            let base_ns = beside.next_back()?.quantile_ns("p50") as f64;
            Some((row.rate, row.quantile_ns("p50") as f64 / base_ns))
        })
        .collect();
    ratios.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    ratios
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knee;
    use crate::row::Verdict;
    use crate::step::made_up_row;

    fn knees(rows: &[Row], subject: &str) -> Vec<u64> {
        let knees = knee::knees(rows, subject);
        knees.iter().map(|knee| knee.rate).collect()
    }

    /// Subjects that sustain every rate up to a limit, except for scripted failures.
    struct Scripted {
        knees: Vec<u64>,
        /// Rates whose first step fails though the rate is low.
        bursts: Vec<u64>,
        steps: Vec<(usize, u64)>,
        finished: usize,
    }

    impl Bench for Scripted {
        fn step(&mut self, subject: usize, rate: u64, round: u32) -> Result<Row, Failed> {
            let is_burst = self.bursts.contains(&rate) && !self.steps.contains(&(subject, rate));
            self.steps.push((subject, rate));
            let is_sustained = rate <= self.knees[subject] && !is_burst;
            let verdict = if is_sustained {
                Verdict::Sustained
            } else {
                Verdict::NotSustained
            };
            Ok(made_up_row(
                &format!("subject-{subject}"),
                rate,
                round,
                verdict,
            ))
        }

        fn floor(&mut self) -> Result<u64, Failed> {
            Ok(350)
        }

        fn show(&mut self, _: &Row) {}

        fn finish(&mut self, rows: &[Row]) -> Result<(), Failed> {
            assert!(rows.iter().all(|row| row.floor_ns == [350, 350]));
            self.finished += 1;
            Ok(())
        }

        fn is_stopped(&self) -> bool {
            false
        }
    }

    fn ran(knees: &[u64], bursts: &[u64], halvings: u32) -> (Vec<Row>, Scripted) {
        let mut bench = Scripted {
            knees: knees.to_vec(),
            bursts: bursts.to_vec(),
            steps: Vec::new(),
            finished: 0,
        };
        let ramp = Ramp {
            halvings,
            rounds: 1,
            ..Ramp::default()
        };
        let rows = run(&ramp, knees.len(), &mut bench).expect("no step fails");
        (rows, bench)
    }

    #[test]
    fn each_rate_is_for_all_subjects_before_the_next() {
        let (_, bench) = ran(&[20_000, 200_000_000], &[], 0);
        let expected = [
            (0, 10_000),
            (1, 10_000),
            (0, 30_000),
            (1, 30_000),
            (0, 100_000),
            (1, 100_000),
            (1, 300_000),
        ];
        assert_eq!(bench.steps[..7], expected);
        assert_eq!(bench.finished, 1);
    }

    #[test]
    fn ratios_are_of_steps_beside_each_other() {
        let row = |subject: &str, rate, round, verdict, p50| {
            let mut row = made_up_row(subject, rate, round, verdict);
            row.latency_ns.insert("p50".to_owned(), p50);
            row
        };
        let rows = [
            row("relay", 10, 1, Verdict::Sustained, 1_300),
            row("udp", 10, 1, Verdict::Sustained, 1_000),
            row("relay", 20, 1, Verdict::Sustained, 9_000),
            row("udp", 20, 1, Verdict::NotSustained, 1_000),
            row("relay", 10, 2, Verdict::Sustained, 1_500),
            row("udp", 10, 2, Verdict::Sustained, 1_500),
        ];
        assert_eq!(ratios(&rows, "relay", "udp"), [(10, 1.0), (10, 1.3)]);
    }

    #[test]
    fn bisection_narrows_the_knee() {
        let (rows, _) = ran(&[1_300_000], &[], 3);
        assert_eq!(knees(&rows, "subject-0"), [1_300_000]);
        let (rows, _) = ran(&[1_250_000], &[], 2);
        assert_eq!(knees(&rows, "subject-0"), [1_000_000]);
        assert_eq!(round(1_732_050.0), 1_700_000);
    }

    #[test]
    fn a_disturbance_by_other_processes_does_not_move_a_knee() {
        let (rows, bench) = ran(&[5_000_000, 5_000_000, 5_000_000], &[300_000], 0);
        for subject in 0..3 {
            assert_eq!(knees(&rows, &format!("subject-{subject}")), [3_000_000]);
            assert!(
                bench.steps.contains(&(subject, 1_000_000)),
                "one miss does not end a ramp"
            );
        }
        assert!(
            warnings(&rows)
                .iter()
                .any(|warning| warning.contains("suspect the host"))
        );
    }

    /// Both rates that ended the ramp were sustained when they were repeated: the rates above them are tried, too.
    #[test]
    fn a_ramp_that_a_disturbance_ended_goes_on() {
        let (rows, bench) = ran(&[5_000_000, 300_000], &[100_000, 300_000], 0);
        assert_eq!(knees(&rows, "subject-0"), [3_000_000]);
        assert_eq!(knees(&rows, "subject-1"), [300_000]);
        let of = |subject: usize| bench.steps.iter().filter(move |step| step.0 == subject);
        // Eight rates, and two repetitions before and two behind the end.
        assert_eq!(of(0).count(), 8 + 2 + 2);
        // Six rates, and two repetitions each time.
        assert_eq!(of(1).count(), 6 + 2 + 2);
    }

    #[test]
    fn a_loss_is_a_fault_of_a_lossless_transport() {
        let mut row = made_up_row("x", 10, 1, Verdict::NotSustained);
        row.received.messages = 10;
        row.received.lost = 3;
        let faults_of = |row: &Row, is_lossless| faults(std::slice::from_ref(row), |_| is_lossless);
        assert_eq!(faults_of(&row, false), [""; 0]);
        assert_eq!(
            faults_of(&row, true),
            ["x at 10 messages/s: 3 messages lost"]
        );
        row.received.torn = 1;
        assert_eq!(faults_of(&row, false).len(), 1);
        row.received = crate::check::Received::default();
        assert_eq!(faults_of(&row, true).len(), 1);
        row.processors_needed = row.processors + 1;
        assert_eq!(faults_of(&row, true), [""; 0], "it had no processor");
    }

    #[test]
    fn a_subject_that_keeps_nothing_has_no_knee() {
        let (rows, bench) = ran(&[0], &[], 2);
        assert_eq!(knees(&rows, "subject-0"), [0]);
        // Two rates, and each of them again.
        assert_eq!(bench.steps.len(), 4);
        assert!(warnings(&rows).is_empty());
    }
}
