//! What libFuzzer said, in one line.

use std::fmt;

/// How many lines of the log say why a run failed.
const LAST_WORDS: usize = 30;

/// The outcome of one search.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Inputs tried.
    pub runs: u64,
    /// Inputs tried in a second, on average.
    pub runs_per_second: u64,
    /// Edges of the program that some input took.
    pub edges: u64,
    /// Most resident memory, MiB.
    pub resident_mib_max: u64,
    /// The file with the input that failed.
    pub failing_input: Option<String>,
    /// The end of the log.
    pub last_words: String,
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
            last_words: lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n"),
        }
    }
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
        let log = "thread panicked\nartifact_prefix='/t/'; Test unit written to /t/crash-da39\nBase64: AA==\n";
        let report = Report::parse(log);
        assert_eq!(report.failing_input.as_deref(), Some("/t/crash-da39"));
        assert!(report.last_words.contains("thread panicked"));
    }
}
