//! The log of a process that runs for days: a line for each thing that happened, on standard error.
//!
//! A line is one line whatever is in it, and what happens ten thousand times a second is said once a
//! second, with its number. Nothing of the message path logs: who logs reads the counters.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_wire::sbe::UtcTime;

/// How often one cause may be told of.
const EVERY: Duration = Duration::from_secs(1);

/// The log.
#[derive(Debug)]
pub struct Log<W = std::io::Stderr> {
    out: W,
    name: String,
    causes: BTreeMap<&'static str, Cause>,
}

/// When a cause was told of last, and how often it was not told of since.
#[derive(Debug)]
struct Cause {
    told: Instant,
    left_out: u64,
}

impl Log {
    /// A log whose lines say whose they are.
    pub fn to_stderr(name: &str) -> Log {
        Log::to(std::io::stderr(), name)
    }
}

impl<W: Write> Log<W> {
    fn to(out: W, name: &str) -> Log<W> {
        Log {
            out,
            name: name.to_owned(),
            causes: BTreeMap::new(),
        }
    }

    /// Says what happened. `cause` is what it is counted under.
    pub fn say(&mut self, cause: &'static str, what: impl std::fmt::Display) {
        self.say_at(Instant::now(), cause, what);
    }

    fn say_at(&mut self, now: Instant, cause: &'static str, what: impl std::fmt::Display) {
        let mut left_out = 0;
        if let Some(known) = self.causes.get_mut(cause) {
            if now.saturating_duration_since(known.told) < EVERY {
                known.left_out += 1;
                return;
            }
            left_out = std::mem::take(&mut known.left_out);
            known.told = now;
        } else {
            self.causes.insert(
                cause,
                Cause {
                    told: now,
                    left_out: 0,
                },
            );
        }
        let more = match left_out {
            0 => String::new(),
            number => format!(" (and {number} more like it before)"),
        };
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let time = UtcTime(time.map_or(0, |time| time.as_nanos() as u64));
        let line = format!(
            "{time} {} {}{more}\n",
            self.name,
            one_line(&what.to_string())
        );
        // Where nobody reads it, the gateway works all the same.
        let _ = self.out.write_all(line.as_bytes());
    }
}

/// What others wrote may hold line ends and the sequences that steer a terminal.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        match char.is_control() || matches!(char, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}')
        {
            true => line.extend(char.escape_default()),
            false => line.push(char),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(log: Log<Vec<u8>>) -> Vec<String> {
        let text = String::from_utf8(log.out).expect("text");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_line_is_one_line_whatever_is_in_it() {
        let mut log = Log::to(Vec::new(), "gateway x");
        log.say(
            "reason",
            "no\n2026-01-01T00:00:00Z gateway x ready\u{1b}[2J\r\u{202e}\0",
        );
        let said = lines(log);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].ends_with(
                r"gateway x no\n2026-01-01T00:00:00Z gateway x ready\u{1b}[2J\r\u{202e}\u{0}"
            ),
            "{said:?}"
        );
    }

    #[test]
    fn a_cause_is_told_once_a_second_with_its_number() {
        let mut log = Log::to(Vec::new(), "gateway");
        let start = Instant::now();
        for ms in 0..2_500_u64 {
            log.say_at(
                start + Duration::from_millis(ms),
                "gap",
                format!("gap {ms}"),
            );
        }
        log.say_at(start, "other", "something else");
        let said = lines(log);
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said[0].ends_with("gap 0"), "{said:?}");
        assert!(
            said[1].ends_with("gap 1000 (and 999 more like it before)"),
            "{said:?}"
        );
        assert!(
            said[2].ends_with("gap 2000 (and 999 more like it before)"),
            "{said:?}"
        );
        assert!(said[3].ends_with("something else"), "{said:?}");
    }
}
