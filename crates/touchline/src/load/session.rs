//! A run of the ramp: steps, the table on the terminal, rows as JSON lines.

use super::metrics::Metrics;
use crate::bench::ipc::start;
use crate::format::utc;
use crate::interrupt::Interrupt;
use crate::output::{Failure, Output};
use crate::print::print_line;
use crate::version;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::path::Path;
use std::time::SystemTime;
use touchline_lab::bench::Host;
use touchline_lab::bench::ipc::{Folder, Part, Role, lower_bound};
use touchline_load::Failed;
use touchline_load::found::highest;
use touchline_load::knee::{Knee, knees};
use touchline_load::ramp::{self, Bench};
use touchline_load::report::{Facts, si, time};
use touchline_load::row::Row;
use touchline_load::step::{self, Settings, Subject};

/// Longest file of rows that is read.
const ROWS_BYTES_MAX: u64 = 1 << 30;
/// Round trips of a cache line, before and after a round.
const ROUND_TRIPS: u64 = 10_000;

pub struct Session {
    entries: Vec<(Subject, Settings)>,
    is_json: bool,
    output: Option<Output>,
    metrics: Option<Metrics>,
    /// Fields that every line of JSON has besides its row.
    common: Value,
    interrupt: Interrupt,
    /// Whether several numbers of readers are measured; subject names then contain the number.
    has_readers: bool,
}

impl Session {
    pub fn begin(
        entries: Vec<(Subject, Settings)>,
        is_json: bool,
        output: Option<&Path>,
        metrics: Option<Metrics>,
        facts: &Facts,
    ) -> Result<Session, Failure> {
        let interrupt = Interrupt::catch()?;
        let has_readers = entries
            .iter()
            .any(|(_, settings)| settings.readers != entries[0].1.readers);
        let begun = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let session = Session {
            is_json,
            output: output.map(Output::open).transpose()?,
            metrics,
            common: json!({
                "time": utc(begun.map_or(0, |time| time.as_nanos() as u64)),
                "version": version::VERSION,
                "commit": version::COMMIT,
                "optimised": version::IS_OPTIMISED,
                "machine": Host::here().to_json(),
                "facts": facts.rows,
                "subjects": facts.subjects,
            }),
            interrupt,
            has_readers,
            entries,
        };
        if !is_json {
            for (name, value) in &facts.rows {
                print_line!("{name}: {value}");
            }
            print_line!("{HEAD}");
        }
        Ok(session)
    }

    pub fn subjects(&self) -> usize {
        self.entries.len()
    }

    /// Closes the file of rows, and prints the result of the run.
    pub fn end(self, rows: &[Row]) -> Result<(), Failure> {
        if let Some(output) = self.output {
            output.finish()?;
        }
        if self.is_json {
            return Ok(());
        }
        print_line!(
            "\n{} in each round, messages/s",
            highest(rows).to_lowercase()
        );
        let mut names: Vec<&str> = rows.iter().map(|row| row.subject.as_str()).collect();
        names.dedup();
        names.sort_unstable();
        names.dedup();
        for name in &names {
            let knees = knees(rows, name);
            let knees: Vec<String> = knees.iter().map(Knee::to_string).collect();
            print_line!("{name:<24} {}", knees.join(", "));
        }
        for name in names
            .iter()
            .filter(|name| name.starts_with("touchline-relay-"))
        {
            let base = match name.ends_with("-tcp") {
                true => "tcp",
                false => "udp",
            };
            let ratios = ramp::ratios(rows, name, base);
            let texts: Vec<String> = ratios
                .iter()
                .map(|(rate, ratio)| format!("{ratio:.2} at {}/s", si(*rate as f64)))
                .collect();
            if !texts.is_empty() {
                print_line!(
                    "median of {name} as multiple of {base}: {}",
                    texts.join(", ")
                );
            }
        }
        for warning in ramp::warnings(rows) {
            print_line!("DISTURBED: {warning}");
        }
        if !version::IS_OPTIMISED {
            print_line!("{}", version::NOT_OPTIMISED);
        }
        Ok(())
    }

    fn json(&self, row: &Row) -> Value {
        let mut line = serde_json::to_value(row).unwrap_or_default();
        if let (Some(line), Some(common)) = (line.as_object_mut(), self.common.as_object()) {
            line.extend(common.clone());
        }
        line
    }
}

const HEAD: &str = "round subject                   offered   received        p50        p99      p99.9  CPUs foreign  result";

impl Bench for Session {
    fn step(&mut self, subject: usize, rate: u64, round: u32) -> Result<Row, Failed> {
        let (subject, settings) = &self.entries[subject];
        let mut row = step::run(subject, rate, round, settings)?;
        if self.has_readers {
            row.subject = format!("{} x{}", row.subject, settings.readers);
        }
        Ok(row)
    }

    fn floor(&mut self) -> Result<u64, Failed> {
        let Some([measuring, other]) = self.entries.first().and_then(|(_, settings)| settings.cpus)
        else {
            return Ok(0);
        };
        floor(measuring, other)
    }

    fn show(&mut self, row: &Row) {
        if let Some(metrics) = &self.metrics {
            metrics.add(row);
        }
        if self.is_json {
            return;
        }
        let quantile = |name| time(row.quantile_ns(name) as f64);
        print_line!(
            "{:>5} {:<24} {:>8} {:>10} {:>10} {:>10} {:>10} {:>5.2} {:>5.1} %  {}{}",
            row.round,
            row.subject,
            si(row.rate as f64),
            si(row.received_rate),
            quantile("p50"),
            quantile("p99"),
            quantile("p99_9"),
            row.cpus(),
            row.host.foreign * 100.0,
            row.result(),
            match row.clock_error_ns {
                0 => String::new(),
                error_ns => format!(", clocks ± {}", time(error_ns as f64)),
            },
        );
    }

    fn finish(&mut self, rows: &[Row]) -> Result<(), Failed> {
        for row in rows {
            let line = self.json(row).to_string();
            if self.is_json {
                print_line!("{line}");
            }
            if let Some(output) = &mut self.output {
                output
                    .line(&line)
                    .map_err(|_| Failed("the rows cannot be written".to_owned()))?;
            }
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_asked()
    }
}

/// Median round trip of a cache line between the two processors, nanoseconds.
fn floor(measuring: usize, other: usize) -> Result<u64, Failed> {
    let failed = |why: String| Failed(format!("cache-line round trip: {why}"));
    let folder = Folder::new().map_err(|error| failed(error.0))?;
    let lines = lower_bound::Lines::new(folder.path()).map_err(|error| failed(error.0))?;
    let role = Role {
        part: Part::LowerBoundEcho,
        folder: folder.path().to_owned(),
        cpu: other,
        payload_bytes: 8,
        warmup: 0,
        messages: ROUND_TRIPS,
        gather: 0,
        shares_cpu: false,
    };
    let peer = start(&role).map_err(|_| failed("the other process does not start".to_owned()))?;
    // A thread of its own: the one that waits for steps is not to be bound to a processor.
    let measured = std::thread::scope(|scope| {
        let measure = || {
            touchline_lab::bench::ipc::pin(measuring).map_err(|error| failed(error.0))?;
            let mut histogram = Histogram::new(3)?;
            lines.round_trips(0, ROUND_TRIPS, &mut histogram);
            Ok::<u64, Failed>(histogram.value_at_quantile(0.5))
        };
        scope.spawn(measure).join()
    });
    peer.finish().map_err(|error| failed(error.0))?;
    measured.map_err(|_| failed("it was not measured".to_owned()))?
}

/// The rows of a file, and the facts of their run.
pub fn read(path: &Path) -> Result<(Vec<Row>, Facts), Failure> {
    let place = path.display();
    let text = touchline_net::input::read_text(path, ROWS_BYTES_MAX);
    let text = text.map_err(|error| Failure::run(format!("{place}: {error}")))?;
    let mut rows = Vec::new();
    let mut facts = Facts::default();
    for (number, line) in text.lines().enumerate() {
        let wrong = |error| {
            Failure::run(format!(
                "{place}, line {}: not a row of a load test ({error})",
                number + 1
            ))
        };
        let line: Value = serde_json::from_str(line).map_err(wrong)?;
        for (from, to) in [
            ("facts", &mut facts.rows),
            ("subjects", &mut facts.subjects),
        ] {
            let pairs: Vec<(String, String)> =
                serde_json::from_value(line[from].clone()).unwrap_or_default();
            for pair in pairs {
                if !to.contains(&pair) {
                    to.push(pair);
                }
            }
        }
        rows.push(serde_json::from_value(line).map_err(wrong)?);
    }
    Ok((rows, facts))
}
