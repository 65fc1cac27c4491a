//! Result of libFuzzer in one line.

use std::fmt;

/// Number of log lines shown for a failure.
const LINES_MAX: usize = 30;

/// Result of one search.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of inputs.
    pub runs: u64,
    /// Inputs a second, on average.
    pub runs_per_second: u64,
    /// Covered edges of the program.
    pub edges: u64,
    /// Most resident memory, MiB.
    pub resident_mib_max: u64,
    /// File with the failing input.
    pub failing_input: Option<String>,
    /// Reason of the failure: the log from the first panic on, or its end.
    pub cause: String,
}

impl Report {
    /// Reads libFuzzer's log.
    pub fn parse(log: &str) -> Self {
        let last = |mark: &str| {
            log.lines().rev().find_map(|line| {
                let rest = line.split_once(mark)?.1;
                rest.split_whitespace().next()?.parse().ok()
            })
        };
        let lines: Vec<&str> = log.lines().collect();
        Self {
            runs: last("stat::number_of_executed_units:").unwrap_or(0),
            runs_per_second: last("stat::average_exec_per_sec:").unwrap_or(0),
            edges: last(" cov: ").unwrap_or(0),
            resident_mib_max: last("stat::peak_rss_mb:").unwrap_or(0),
            failing_input: lines.iter().find_map(|line| {
                line.split_once("Test unit written to ")
                    .map(|(_, path)| path.trim().to_owned())
            }),
            cause: cause(&lines).join("\n"),
        }
    }
}

fn cause<'a, 'b>(lines: &'a [&'b str]) -> &'a [&'b str] {
    let panic = lines.iter().position(|line| line.contains("panicked at"));
    let first = panic.unwrap_or(lines.len().saturating_sub(LINES_MAX));
    &lines[first..lines.len().min(first + LINES_MAX)]
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} runs, {} runs/s, {} edges, {} MiB at most",
            self.runs, self.runs_per_second, self.edges, self.resident_mib_max
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_run_is_read() {
        let log = "#2\tINITED cov: 34 ft: 35 corp: 1/1b exec/s: 0 rss: 41Mb\n\
                   #99\tDONE   cov: 57 ft: 80 corp: 9/90b lim: 48 exec/s: 33 rss: 42Mb\n\
                   stat::number_of_executed_units: 99\nstat::average_exec_per_sec:     33\n\
                   stat::peak_rss_mb:              42\n";
        let report = Report::parse(log);
        assert_eq!(
            report.to_string(),
            "99 runs, 33 runs/s, 57 edges, 42 MiB at most"
        );
        assert_eq!(report.failing_input, None);
    }

    #[test]
    fn a_failing_run_names_its_input() {
        let log = "artifact_prefix='/t/'; Test unit written to /t/crash-da39\nBase64: AA==\n";
        let report = Report::parse(log);
        assert_eq!(report.failing_input.as_deref(), Some("/t/crash-da39"));
        assert_eq!(report.cause, log.trim_end());
    }

    /// A backtrace is longer than the shown part, and the panic is before it.
    #[test]
    fn a_panic_is_shown_from_its_first_line() {
        let frames = "   4: a_function\n".repeat(100);
        let log = format!("#99 NEW\nthread 'x' panicked at a.rs:1:2:\noverflow\n{frames}");
        let report = Report::parse(&log);
        let shown: Vec<&str> = report.cause.lines().collect();
        assert_eq!(shown[..2], ["thread 'x' panicked at a.rs:1:2:", "overflow"]);
        assert_eq!(shown.len(), LINES_MAX);
    }
}
