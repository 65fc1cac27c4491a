//! Lines about connections for standard error. Those about connections that did not identify themselves are limited: any host
//! that reaches the port can cause them.

use std::collections::VecDeque;

/// Shortest time between two lines about connections that did not identify themselves.
const INTERVAL_NS: u64 = 1_000_000_000;

/// Lines that wait to be printed.
#[derive(Debug, Default)]
pub struct LogLines {
    of_copies: VecDeque<String>,
    of_pending: Option<String>,
    /// Number of lines that were left out since the last one.
    left_out: u64,
    /// No line about a pending connection before this time.
    next_ns: u64,
}

impl LogLines {
    /// A line about a copy.
    pub fn of_copy(&mut self, line: String) {
        self.of_copies.push_back(line);
    }

    /// A line about a connection that did not identify itself as a copy.
    pub fn of_pending(&mut self, line: String) {
        match self.of_pending {
            None => self.of_pending = Some(line),
            Some(_) => self.left_out += 1,
        }
    }

    /// The next line to print.
    pub fn next(&mut self, now_ns: u64) -> Option<String> {
        if let Some(line) = self.of_copies.pop_front() {
            return Some(line);
        }
        // mutant: journal send: lines about refused connections are not limited
        if now_ns < self.next_ns {
            return None;
        }
        let line = self.of_pending.take()?;
        self.next_ns = now_ns + INTERVAL_NS;
        Some(match std::mem::take(&mut self.left_out) {
            0 => line,
            count => format!("{line}; {count} more such lines were left out"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_with_the_number_of_those_left_out() {
        let mut log_lines = LogLines::default();
        let line = |number: u64| format!("line {number}");
        log_lines.of_pending(line(0));
        assert_eq!(log_lines.next(5), Some(line(0)));
        (1..=1_000).for_each(|number| log_lines.of_pending(line(number)));
        assert_eq!(log_lines.next(4 + INTERVAL_NS), None);
        let limited = "line 1; 999 more such lines were left out".to_owned();
        assert_eq!(log_lines.next(5 + INTERVAL_NS), Some(limited));
        assert_eq!(log_lines.next(9 * INTERVAL_NS), None);
        log_lines.of_pending(line(7));
        assert_eq!(log_lines.next(9 * INTERVAL_NS), Some(line(7)));
    }

    #[test]
    fn every_line_about_a_copy_is_printed() {
        let mut log_lines = LogLines::default();
        log_lines.of_pending("refused".to_owned());
        assert!(log_lines.next(1).is_some());
        for number in 0..3 {
            log_lines.of_copy(number.to_string());
        }
        let printed: Vec<String> = std::iter::from_fn(|| log_lines.next(1)).collect();
        assert_eq!(printed, ["0", "1", "2"]);
    }
}
