//! Log of a long-running process: one line per event, on standard error.
//!
//! A line has level, event and fields. One [table](events::EVENTS) lists the events with the operator's action for each.
//! Repeated lines of an event are written once a second, with the number of lines left out.
//! The message path does not write the log: it hands values over to a [thread](LogThread) that does, or another thread reads its
//! counters.

pub mod events;
mod format;
mod thread;

use crate::version;
use events::{Event, Rate};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use format::Line;
pub use format::{Field, Format, Value};
pub use thread::LogThread;

/// Interval of the lines of a repeated event.
const EVERY: Duration = Duration::from_secs(1);

/// `--log-format`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LogArguments {
    /// Form of the log lines on standard error.
    #[arg(
        long = "log-format",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    format: Format,
}

/// Takes the lines of a log: the log itself, or the thread that writes it.
pub trait Lines {
    /// Takes a line.
    fn write(&mut self, event: &'static Event, fields: impl Into<Vec<Field>>);

    /// Whether a failure is also written as a log line: programs read the log, so each line must have its form.
    fn is_for_programs(&self) -> bool;
}

/// The log.
#[derive(Debug)]
pub struct Log<W = std::io::Stderr> {
    out: W,
    format: Format,
    is_journal: bool,
    context: Vec<Field>,
    repeats: BTreeMap<(&'static str, Vec<Value>), Repeats>,
    /// The first line, which names the build, is written before the next one.
    lacks_build: bool,
}

/// Fields that separate repeated events: a repeated event of one link, recorded bus or line leaves out no line of another.
const APART: &[&str] = &["link", "recorded_bus", "line"];
/// Fields of repeated events that are numbers since the last line. Those of lines left out are added up.
const SUMMED: &[&str] = &[
    "batches",
    "count",
    "gaps",
    "groups",
    "instruments",
    "messages",
    "packets",
];

/// Lines left out of a repeated event.
#[derive(Debug)]
struct Repeats {
    written: Instant,
    /// Lines left out since the last one written.
    left_out: u64,
    /// Fields of the last line left out, with the sums; written when the interval is over.
    last: Option<Vec<Field>>,
}

/// Values by which repeated lines of an event are kept apart; numbers that are added up are those of one reason.
fn apart(fields: &[Field]) -> Vec<Value> {
    let has_sums = fields.iter().any(|(name, _)| SUMMED.contains(name));
    let is_apart = |name: &str| APART.contains(&name) || (has_sums && name == "reason");
    let apart = fields.iter().filter(|(name, _)| is_apart(name));
    apart.map(|(_, value)| value.clone()).collect()
}

/// Adds the numbers of a line left out to those of the next one.
fn add_up(fields: &mut [Field], left_out: &[Field]) {
    for (name, value) in fields.iter_mut().filter(|(name, _)| SUMMED.contains(name)) {
        let before = left_out.iter().find(|(other, _)| other == name);
        if let (Value::Number(sum), Some((_, Value::Number(more)))) = (value, before) {
            *sum = sum.saturating_add(*more);
        }
    }
}

impl Log {
    /// A log on standard error; its first line names the build. Every line has the fields of `context`.
    pub fn to_stderr(arguments: LogArguments, context: Vec<Field>) -> Log {
        Log {
            is_journal: is_journal(),
            lacks_build: true,
            ..Log::to(std::io::stderr(), arguments.format, context)
        }
    }
}

impl<W: Write> Lines for Log<W> {
    fn write(&mut self, event: &'static Event, fields: impl Into<Vec<Field>>) {
        Log::write(self, event, fields);
    }

    fn is_for_programs(&self) -> bool {
        self.is_journal || self.format == Format::Json
    }
}

impl<W: Write> Log<W> {
    fn to(out: W, format: Format, context: Vec<Field>) -> Log<W> {
        Log {
            out,
            format,
            is_journal: false,
            context,
            repeats: BTreeMap::new(),
            lacks_build: false,
        }
    }

    /// Writes a line, unless one of the same event, and of the same link, bus or line, was written within a second.
    pub fn write(&mut self, event: &'static Event, fields: impl Into<Vec<Field>>) {
        self.write_at(Instant::now(), event, fields.into());
    }

    /// Writes the last line of events that stopped repeating. Call it periodically.
    pub fn flush(&mut self) {
        self.flush_at(Instant::now(), false);
    }

    /// Writes every line left out; called when the process ends. The line of its end does that as well.
    pub fn finish(&mut self) {
        self.flush_at(Instant::now(), true);
    }

    fn write_at(&mut self, now: Instant, event: &'static Event, mut fields: Vec<Field>) {
        for (name, _) in &fields {
            assert!(event.fields.contains(name), "{} has no {name}", event.name);
        }
        if event.is_end() {
            self.flush_at(now, true);
        }
        if event.rate == Rate::Each {
            return self.put(event, &fields, 0);
        }
        let mut left_out = 0;
        let key = (event.name, apart(&fields));
        if let Some(repeats) = self.repeats.get_mut(&key) {
            if let Some(before) = &repeats.last {
                add_up(&mut fields, before);
            }
            if now.saturating_duration_since(repeats.written) < EVERY {
                repeats.left_out += 1;
                repeats.last = Some(fields);
                return;
            }
            left_out = std::mem::take(&mut repeats.left_out);
            repeats.last = None;
            repeats.written = now;
        } else {
            let repeats = Repeats {
                written: now,
                left_out: 0,
                last: None,
            };
            self.repeats.insert(key, repeats);
        }
        self.put(event, &fields, left_out);
    }

    fn flush_at(&mut self, now: Instant, all: bool) {
        let mut due = Vec::new();
        for ((name, _), repeats) in &mut self.repeats {
            let is_due = all || now.saturating_duration_since(repeats.written) >= EVERY;
            let Some(fields) = repeats.last.take_if(|_| is_due) else {
                continue;
            };
            repeats.written = now;
            // The written line is one of the repeats.
            due.push((*name, fields, std::mem::take(&mut repeats.left_out) - 1));
        }
        for (name, fields, left_out) in due {
            self.put(events::named(name), &fields, left_out);
        }
    }

    fn put(&mut self, event: &'static Event, fields: &[Field], repeated: u64) {
        if std::mem::take(&mut self.lacks_build) {
            let build = version::fields().map(|(name, value)| (name, value.into()));
            self.put(&events::STARTED, &build, 0);
        }
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let line = Line {
            time_ns: time.map_or(0, |time| time.as_nanos() as u64),
            event,
            context: &self.context,
            fields,
            repeated,
        };
        let line = line.write(self.format, self.is_journal);
        // A closed standard error does not stop the process.
        let _ = self.out.write_all(line.as_bytes());
    }
}

/// Whether standard error is a stream of journald: `JOURNAL_STREAM` names its device and inode (`systemd.exec(5)`).
pub fn is_journal() -> bool {
    let Some(stream) = std::env::var_os("JOURNAL_STREAM") else {
        return false;
    };
    let about = std::io::stderr().as_fd().try_clone_to_owned();
    let about = about.and_then(|file| std::fs::File::from(file).metadata());
    about.is_ok_and(|about| stream.to_str() == Some(&format!("{}:{}", about.dev(), about.ino())))
}

#[cfg(test)]
impl Log<Vec<u8>> {
    /// A log whose lines a test reads.
    pub fn in_memory() -> Log<Vec<u8>> {
        Log::to(Vec::new(), Format::Text, Vec::new())
    }

    /// The lines so far, without their times.
    pub fn lines(&self) -> Vec<&str> {
        let text = std::str::from_utf8(&self.out).expect("text");
        let lines = text.lines().map(|line| line.split_once(' '));
        lines.map(|line| line.expect("a time").1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(first: u64) -> Vec<Field> {
        [("first", first), ("packets", 2), ("gaps", 1)]
            .map(|(name, number)| (name, Value::from(number)))
            .to_vec()
    }

    #[test]
    fn the_first_line_names_the_build() {
        let mut log = Log {
            lacks_build: true,
            ..Log::in_memory()
        };
        log.write(&events::STOPPED, []);
        log.write(&events::STOPPED, []);
        let [(_, version), (_, commit), (_, profile)] = version::fields();
        let build = format!("INFO started version={version} commit={commit} profile={profile}");
        assert_eq!(
            log.lines(),
            [build.as_str(), "INFO stopped", "INFO stopped"]
        );
        assert!(!profile.is_empty() && profile != "unknown", "{profile}");
    }

    /// The numbers of a line are those since the last one: over all lines, none is missing.
    #[test]
    fn repeats_are_added_up_and_written_once_a_second() {
        let mut log = Log::in_memory();
        let start = Instant::now();
        for ms in 0..2_500 {
            let now = start + Duration::from_millis(ms);
            log.write_at(now, &events::GAP, gap(ms));
            log.flush_at(now, false);
        }
        log.write_at(start, &events::LINE_BACK, vec![("line", "A".into())]);
        let said = [
            "WARN gap first=0 packets=2 gaps=1",
            "WARN gap first=1000 packets=2000 gaps=1000 repeated=999",
            "WARN gap first=2000 packets=2000 gaps=1000 repeated=999",
            "INFO line_back line=A",
        ];
        assert_eq!(log.lines(), said);
        // The repetition stopped: the last line is written when its second is over, or at the end.
        log.flush_at(start + Duration::from_millis(2_999), false);
        assert_eq!(log.lines().len(), 4);
        log.flush_at(start + Duration::from_millis(3_000), false);
        assert_eq!(
            log.lines()[4],
            "WARN gap first=2499 packets=998 gaps=499 repeated=498"
        );
        let late = start + Duration::from_millis(3_001);
        log.write_at(late, &events::GAP, gap(7));
        log.flush_at(late, true);
        log.flush_at(late, true);
        assert_eq!(log.lines()[5..], ["WARN gap first=7 packets=2 gaps=1"]);
    }

    #[test]
    fn a_change_of_state_is_always_logged() {
        let mut log = Log::in_memory();
        let now = Instant::now();
        for line in ["A", "B"] {
            log.write_at(now, &events::LINE_SILENT, vec![("line", line.into())]);
        }
        assert_eq!(log.lines().len(), 2);
    }

    /// A link that is full again and again has a line a second, and hides no other link.
    #[test]
    fn back_pressure_repeats_once_a_second_for_each_link() {
        let mut log = Log::in_memory();
        let start = Instant::now();
        let full = |link: &str| vec![("link", link.into()), ("lag_bytes", 7.into())];
        for ms in (0..=2_000).step_by(100) {
            let now = start + Duration::from_millis(ms);
            log.write_at(now, &events::RELAY_BACK_PRESSURE, full("a>x"));
            if ms == 300 {
                log.write_at(now, &events::RELAY_BACK_PRESSURE, full("a>y"));
            }
        }
        let said = [
            r#"WARN relay_back_pressure link="a>x" lag_bytes=7"#,
            r#"WARN relay_back_pressure link="a>y" lag_bytes=7"#,
            r#"WARN relay_back_pressure link="a>x" lag_bytes=7 repeated=9"#,
            r#"WARN relay_back_pressure link="a>x" lag_bytes=7 repeated=9"#,
        ];
        assert_eq!(log.lines(), said);
    }

    /// Neither the loss of one bus or line, nor its number, is hidden by that of another.
    #[test]
    fn losses_of_buses_and_lines_are_lines_of_their_own() {
        let mut log = Log::in_memory();
        let lost = |of: &'static str, which: &str, count: &'static str, number: u64| {
            vec![(of, which.into()), (count, number.into())]
        };
        for (which, number) in [("a", 1), ("a", 2), ("b", 40), ("a", 3), ("b", 50)] {
            let fields = lost("recorded_bus", which, "messages", number);
            log.write(&events::RECORD_OVERRUN, fields);
            let fields = lost("line", which, "packets", number);
            log.write(&events::RECORD_PACKETS_LOST, fields);
        }
        log.write(&events::RECORD_STOPPED, []);
        let said = [
            "WARN record_overrun recorded_bus=a messages=1",
            "WARN record_packets_lost line=a packets=1",
            "WARN record_overrun recorded_bus=b messages=40",
            "WARN record_packets_lost line=b packets=40",
            "WARN record_overrun recorded_bus=a messages=5 repeated=1",
            "WARN record_overrun recorded_bus=b messages=50",
            "WARN record_packets_lost line=a packets=5 repeated=1",
            "WARN record_packets_lost line=b packets=50",
            "INFO record_stopped",
        ];
        assert_eq!(log.lines(), said);
    }

    /// Numbers of one reason are not added to those of another.
    #[test]
    fn sums_are_those_of_one_reason() {
        let mut log = Log::in_memory();
        let refused = |batches: u64, reason: &'static str| {
            let link = ("link", "a>x".into());
            vec![link, ("batches", batches.into()), ("reason", reason.into())]
        };
        for (batches, reason) in [(10, "source"), (90, "malformed"), (1, "hops"), (2, "hops")] {
            log.write(&events::RELAY_REFUSED, refused(batches, reason));
        }
        log.finish();
        let said = [
            r#"WARN relay_refused link="a>x" batches=10 reason=source"#,
            r#"WARN relay_refused link="a>x" batches=90 reason=malformed"#,
            r#"WARN relay_refused link="a>x" batches=1 reason=hops"#,
            r#"WARN relay_refused link="a>x" batches=2 reason=hops"#,
        ];
        assert_eq!(log.lines(), said);
    }

    #[test]
    fn every_line_has_the_context() {
        let context = vec![("bus", "cme-998".into()), ("channel", 998.into())];
        let mut log = Log::to(Vec::new(), Format::Text, context);
        log.write(&events::GAP, gap(1));
        let line = "WARN gap bus=cme-998 channel=998 first=1 packets=2 gaps=1";
        assert_eq!(log.lines(), [line]);
    }

    #[test]
    #[should_panic(expected = "gap has no banana")]
    fn a_field_that_is_not_in_the_table_panics() {
        Log::in_memory().write(&events::GAP, [("banana", Value::from(1))]);
    }
}
