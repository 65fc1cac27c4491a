//! The process that writes a bus.

use super::build::{Build, printable};
use std::fmt;
use std::time::SystemTime;

/// Length of a signature, which is filled up with spaces.
pub(super) const SIGNATURE_BYTES_MAX: usize = 512;

/// Process that writes a bus, as stated by its signature. Zeros and empty without a signature: it
/// started just now, or the bus is on `hugetlbfs`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its process id, in its own namespace.
    pub pid: u32,
    /// Program and subcommand; no further arguments, which may contain secrets.
    pub command: String,
    /// When it took the bus, seconds since 1970-01-01 UTC.
    pub since_unix_s: u64,
    /// Build of the program, if it states that. Boxed, because errors have a holder.
    pub build: Option<Box<Build>>,
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            return out.write_str("a process without a signature");
        }
        let (days, second) = (self.since_unix_s / 86_400, self.since_unix_s % 86_400);
        let (year, month, day) = civil_date(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(
            out,
            "process {} ({}), since {year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC",
            self.pid, self.command
        )?;
        match self.build.as_deref().and_then(Build::unusual_profile) {
            Some(profile) => write!(out, ", profile {profile}"),
            None => Ok(()),
        }
    }
}

impl Holder {
    pub(super) fn this_process() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            pid: std::process::id(),
            command: command_of(std::env::args_os().map(|a| a.to_string_lossy().into_owned())),
            since_unix_s: since.map_or(0, |d| d.as_secs()),
            build: Build::stated().map(Box::new),
        }
    }

    pub(super) fn signature(&self) -> String {
        let build = self.build.as_deref().map(Build::signature);
        format!(
            "pid {}\nsince_unix_s {}\ncommand {}\n{}\n",
            self.pid,
            self.since_unix_s,
            self.command,
            build.map_or(String::new(), |build| format!("build {build}"))
        )
    }

    pub(super) fn parse(signature: &str) -> Option<Self> {
        let mut lines = signature.lines();
        Some(Self {
            pid: lines.next()?.strip_prefix("pid ")?.parse().ok()?,
            since_unix_s: lines.next()?.strip_prefix("since_unix_s ")?.parse().ok()?,
            command: printable(lines.next()?.strip_prefix("command ")?),
            // The signature of an earlier release has no build.
            build: (lines.next())
                .and_then(|line| line.strip_prefix("build "))
                .and_then(Build::parse)
                .map(Box::new),
        })
    }
}

/// Name of the program, and its subcommand if there is one.
fn command_of(arguments: impl Iterator<Item = String>) -> String {
    let mut arguments = arguments;
    let program = arguments.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let word = |a: &String| {
        a.starts_with(|c: char| c.is_ascii_lowercase())
            && a.bytes().all(|c| c.is_ascii_lowercase() || c == b'-')
    };
    match arguments.next().filter(word) {
        Some(subcommand) => printable(&format!("{program} {subcommand}")),
        None => printable(program),
    }
}

/// Year, month and day of a number of days since 1970-01-01, Gregorian.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut rest = days.min(365 * 8_000); // a file may claim any time; the loop must end soon
    let mut year = 1970;
    while rest >= 365 + u64::from(leap(year)) {
        rest -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < days {
            break;
        }
        rest -= days;
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(arguments: &[&str]) -> String {
        command_of(arguments.iter().map(|a| a.to_string()))
    }

    #[test]
    fn the_command_of_a_holder_has_no_arguments() {
        assert_eq!(
            command(&["/opt/touchline", "gateway", "--key", "s3cret"]),
            "touchline gateway"
        );
        assert_eq!(
            command(&["touchline", "--key=s3cret", "gateway"]),
            "touchline"
        );
        assert_eq!(command(&["touchline", "s3cret"]), "touchline");
        assert_eq!(command(&["touch\x1b[2Jline"]), "touch?[2Jline");
        assert_eq!(command(&[]), "");
    }

    #[test]
    fn a_holder_is_read_back_and_one_with_a_damaged_signature_is_not() {
        let holder = Holder {
            pid: u32::MAX,
            command: "touchline gateway".to_owned(),
            since_unix_s: u64::MAX,
            build: None,
        };
        assert_eq!(Holder::parse(&holder.signature()), Some(holder.clone()));
        let build = Build::parse("0.1.0 3c27d24ab1 dev").map(Box::new);
        let built = Holder { build, ..holder };
        let signed = format!("{:<SIGNATURE_BYTES_MAX$}", built.signature());
        assert_eq!(Holder::parse(&signed), Some(built));
        for spoilt in [
            "",
            "pid",
            "pid x\n",
            "pid 1\nsince_unix_s -1\ncommand a\n",
            "pid 1\n",
        ] {
            assert_eq!(Holder::parse(spoilt), None, "{spoilt:?}");
        }
    }

    #[test]
    fn a_holder_is_printed_with_its_date() {
        let told = |since_unix_s| {
            let command = "touchline gateway".to_owned();
            let holder = Holder {
                pid: 4711,
                command,
                since_unix_s,
                build: None,
            };
            holder.to_string()
        };
        assert_eq!(
            told(1_709_208_184),
            "process 4711 (touchline gateway), since 2024-02-29 12:03:04 UTC"
        );
        assert!(told(0).ends_with("since 1970-01-01 00:00:00 UTC"));
        assert!(told(951_868_799).ends_with("since 2000-02-29 23:59:59 UTC"));
        assert!(told(4_107_542_400).ends_with("since 2100-03-01 00:00:00 UTC"));
        assert!(told(1_798_761_599).ends_with("since 2026-12-31 23:59:59 UTC"));
        told(u64::MAX);
        let of = |profile| Holder {
            pid: 4711,
            build: Build::parse(&format!("0.1.0 3c27d24ab1 {profile}")).map(Box::new),
            ..Holder::default()
        };
        assert!(of("release").to_string().ends_with(" UTC"));
        assert!(of("dev").to_string().ends_with(" UTC, profile dev"));
    }
}
