//! Outputs and failures: a file appears complete or not at all.

use crate::log::{Lines, Log, LogThread, events, is_journal};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use touchline_client::words::Visible;
use touchline_gateway::config::ConfigError;
use touchline_net::udp;
use touchline_settings::Mistakes;

/// Failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments or configuration: exit status 2.
    Usage(String),
    /// The run failed: exit status 1.
    Run(String),
    /// Already written to a log: only the exit status is left.
    Logged(u8),
}

/// The path that stands for standard output.
pub const STDOUT: &str = "-";

/// Output file that gets its name only when it is complete. If dropped earlier, no partial file is
/// left and an older file stays unchanged.
///
/// Standard output, pipes and devices are written in place; a closed reader is not an error.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    /// Path of the growing file; `None` if written in place.
    partial: Option<PathBuf>,
    /// `None` once complete, or once the reader has closed it.
    writer: Option<BufWriter<File>>,
}

impl Failure {
    /// A failed run.
    pub fn run(what: impl std::fmt::Display) -> Failure {
        Failure::Run(one_line(what))
    }

    /// Wrong arguments or configuration.
    pub fn usage(what: impl std::fmt::Display) -> Failure {
        Failure::Usage(one_line(what))
    }

    /// Several mistakes of arguments or of a configuration, a line each.
    pub fn mistakes(what: impl IntoIterator<Item = impl std::fmt::Display>) -> Failure {
        let lines: Vec<String> = what.into_iter().map(one_line).collect();
        Failure::Usage(lines.join("\ntouchline: "))
    }

    /// All mistakes of a configuration file, a line each.
    pub fn file(mistakes: Mistakes) -> Failure {
        Failure::mistakes(mistakes.to_string().lines())
    }

    /// A wrong configuration.
    pub fn configuration(error: &ConfigError) -> Failure {
        Failure::usage(error)
    }

    /// A socket that cannot be opened; a missing interface is a wrong setting.
    pub fn socket(error: &udp::Error) -> Failure {
        match error.is_of_a_setting() {
            true => Failure::usage(error),
            false => Failure::run(error),
        }
    }

    /// Sockets of a gateway's source that cannot be opened. A missing interface may come up later: exit status 1 lets
    /// the service manager retry, exit status 2 does not.
    pub fn source(error: &touchline_net::Error) -> Failure {
        match error {
            touchline_net::Error::Udp(error) if error.may_come_up() => Failure::run(error),
            touchline_net::Error::Udp(error) => Failure::socket(error),
            touchline_net::Error::Xdp(error) if error.is_of_a_setting() => Failure::usage(error),
            other => Failure::run(other),
        }
    }

    /// Writes the failure as a log event if programs read the log, so that every line has the log's
    /// form.
    pub fn logged(self, log: &mut impl Lines) -> Failure {
        let (reason, status) = match self {
            Failure::Usage(what) => (what, 2_u8),
            Failure::Run(what) => (what, 1),
            logged @ Failure::Logged(_) => return logged,
        };
        if !log.is_for_programs() {
            return match status {
                2 => Failure::Usage(reason),
                _ => Failure::Run(reason),
            };
        }
        let fields = [
            ("status", u64::from(status).into()),
            ("reason", reason.into()),
        ];
        log.write(&events::FAILED, fields);
        Failure::Logged(status)
    }

    /// Writes the failure as one line and returns the exit status.
    pub fn report(&self) -> ExitCode {
        let (what, status) = match self {
            Failure::Usage(what) => (what, 2),
            Failure::Run(what) => (what, 1),
            Failure::Logged(status) => return ExitCode::from(*status),
        };
        let priority = if is_journal() { "<3>" } else { "" };
        // Without a line the exit status still reports the failure.
        last_line(format!("{priority}touchline: {what}\n"));
        ExitCode::from(status)
    }
}

/// Letters of a line of an error: a key of a file may have any length.
const LETTERS_MAX: usize = 4_000;

/// Text of an error on one line: it may repeat an argument, or a part of a file.
pub fn one_line(what: impl std::fmt::Display) -> String {
    let mut text = what.to_string();
    if let Some((end, _)) = text.char_indices().nth(LETTERS_MAX) {
        text.truncate(end);
        text.push('…');
    }
    Visible(&text).to_string()
}

/// Writes a notice of a command that goes on, as one line of standard error.
pub fn notice(what: impl std::fmt::Display) {
    say_aside(&format!("touchline: {}\n", one_line(what)));
}

/// Writes to standard error. If that is closed or full, the command goes on.
pub fn say_aside(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Longest wait for the last lines of a process: standard output and standard error may be full pipes without a reader.
const END_MAX: Duration = Duration::from_secs(2);

/// Writes the last lines of a process; `None` if they are not written within [`END_MAX`].
fn within_limit<T: Send + 'static>(
    write: impl FnOnce() -> T + Clone + Send + 'static,
) -> Option<T> {
    let (done, is_done) = sync_channel(1);
    let writer = write.clone();
    let started = thread::Builder::new().spawn(move || done.send(writer()));
    match started {
        Ok(_) => is_done.recv_timeout(END_MAX).ok(),
        // The system has no more threads.
        Err(_) => Some(write()),
    }
}

/// Writes the line of a failure to standard error, within [`END_MAX`].
fn last_line(line: String) {
    within_limit(move || say_aside(&line));
}

/// [`notice`] of a command that ends with a status of its own.
pub fn last_notice(what: impl std::fmt::Display) {
    last_line(format!("touchline: {}\n", one_line(what)));
}

/// Starts the thread that writes a log.
pub fn log_thread(log: Log) -> Result<LogThread, Failure> {
    LogThread::start(log).map_err(no_thread)
}

/// A thread that does not start.
pub fn no_thread(error: std::io::Error) -> Failure {
    Failure::run(format!("cannot start a thread: {error}"))
}

/// Ends a run whose log a thread writes: it waits for the lines, and prints the summary. A log without a reader does not keep the process.
pub fn ended(outcome: Result<String, Failure>, mut log: LogThread) -> Result<(), Failure> {
    let outcome = outcome.map_err(|failure| failure.logged(&mut log));
    let is_written = log.finish(END_MAX).is_some();
    match outcome? {
        summary if summary.is_empty() => Ok(()),
        summary if is_written => say(&summary),
        // Standard output may be the same pipe.
        summary => within_limit(move || say(&summary)).unwrap_or(Ok(())),
    }
}

impl Output {
    /// Opens an output, so that an unwritable path is reported before the work begins.
    pub fn open(path: &Path) -> Result<Output, Failure> {
        Output::with_mode(path, 0o666)
    }

    /// [`Output::open`] of a file that its owner alone may read.
    pub fn private(path: &Path) -> Result<Output, Failure> {
        Output::with_mode(path, 0o600)
    }

    /// The process's umask takes further bits from the mode of a new file.
    fn with_mode(path: &Path, mode: u32) -> Result<Output, Failure> {
        if path == Path::new(STDOUT) {
            return Output::stdout();
        }
        // The target of a symbolic link is written; the link stays.
        let resolved = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match std::fs::metadata(&resolved) {
            Ok(found) if found.is_dir() => Err(Failure::run(format!(
                "{}: is a folder; give a file in it",
                path.display()
            ))),
            Ok(found) if !found.is_file() => Output::in_place(path),
            _ => Output::beside(path, resolved, mode),
        }
    }

    /// Standard output.
    pub fn stdout() -> Result<Output, Failure> {
        let path = Path::new("standard output");
        let file = std::io::stdout().as_fd().try_clone_to_owned();
        let file = file.map_err(|error| unwritable(path, &error))?;
        Ok(Output::of(path.to_owned(), None, file.into()))
    }

    /// Writes text unchanged.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.write(|writer| writer.write_all(text.as_bytes()))
    }

    /// Writes a line.
    pub fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.write(|writer| {
            writer.write_all(line.as_bytes())?;
            writer.write_all(b"\n")
        })
    }

    /// Flushes the text written so far.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.write(BufWriter::flush)
    }

    /// Whether the reader is still open.
    pub fn has_reader(&self) -> bool {
        self.writer.is_some()
    }

    /// Completes the output: the file appears under its name and replaces an older one.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        let (Some(writer), Some(partial)) = (self.writer.take(), &self.partial) else {
            return Ok(());
        };
        let file = writer.get_ref();
        let done = file
            .sync_all()
            .and_then(|()| std::fs::rename(partial, &self.path));
        done.map_err(|error| unwritable(&self.path, &error))
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        match write(writer) {
            Err(error) if self.partial.is_none() && error.kind() == ErrorKind::BrokenPipe => {
                self.writer = None;
                Ok(())
            }
            written => written.map_err(|error| unwritable(&self.path, &error)),
        }
    }

    fn in_place(path: &Path) -> Result<Output, Failure> {
        let file = File::options().write(true).open(path);
        let file = file.map_err(|error| unwritable(path, &error))?;
        Ok(Output::of(path.to_owned(), None, file))
    }

    /// Opens a partial file beside the path, with this process's id in its name.
    fn beside(path: &Path, resolved: PathBuf, mode: u32) -> Result<Output, Failure> {
        let Some(name) = resolved.file_name().map(ToOwned::to_owned) else {
            return Err(Failure::run(format!(
                "{}: not a file name; give a path to a file",
                path.display()
            )));
        };
        remove_abandoned(&resolved, &name.to_string_lossy());
        let mut partial = name;
        partial.push(format!(".{}{PARTIAL}", std::process::id()));
        let partial = resolved.with_file_name(partial);
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&partial);
        let file = file.map_err(|error| unwritable(path, &error))?;
        Ok(Output::of(resolved, Some(partial), file))
    }

    fn of(path: PathBuf, partial: Option<PathBuf>, file: File) -> Output {
        Output {
            path,
            partial,
            writer: Some(BufWriter::with_capacity(1 << 16, file)),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // After `finish` the partial file does not exist.
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// Writes to standard output. A closed reader is not an error.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut output = Output::stdout()?;
    output.text(text)?;
    output.finish()
}

/// Lines of standard output that a thread writes, for a process that never waits for them: the pipe may be full and have no reader, or the
/// disk may be full.
pub struct StateLines(SyncSender<String>);

impl StateLines {
    /// Starts the thread, which ends behind its last line when this is dropped.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start() -> Result<StateLines, Failure> {
        let (lines, received) = sync_channel::<String>(1);
        let body = move || {
            for line in received {
                // A later one may be written again.
                let _ = say(&line);
            }
        };
        let started = thread::Builder::new().spawn(body);
        started.map_err(no_thread)?;
        Ok(StateLines(lines))
    }

    /// Hands a line over; it is left out while an earlier one waits.
    pub fn write(&self, line: String) {
        let _ = self.0.try_send(line);
    }
}

const PARTIAL: &str = ".partial";

/// Removes partial files that killed runs left beside this file.
fn remove_abandoned(path: &Path, name: &str) {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(folder.unwrap_or(Path::new("."))) else {
        return;
    };
    // Without a process table, abandoned files cannot be distinguished from those in use.
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in entries.flatten() {
        let entry_name = entry.file_name();
        let process = entry_name
            .to_str()
            .and_then(|entry| entry.strip_prefix(name)?.strip_prefix('.'))
            .and_then(|rest| rest.strip_suffix(PARTIAL)?.parse::<u32>().ok());
        if process.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists()) {
            // A file that cannot be removed stays; it does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Failure of an output that cannot be written, with what to do.
pub fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let fix = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room or choose another place",
        _ => "choose a folder that exists and that you may write to",
    };
    Failure::run(format!(
        "{}: cannot be written ({error}); {fix}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_testing::Folder;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).expect("our folder").flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// An argument, a path and a key of a file reach the terminal as they are written, never as what they would do there.
    #[test]
    fn a_failure_is_one_visible_line() {
        let from_outside = "a\n\u{202e}b\x1b[31m\u{9b}\u{2028}\r".to_owned() + &"x".repeat(10_000);
        for failure in [
            Failure::run(&from_outside),
            Failure::usage(&from_outside),
            Failure::mistakes([&from_outside]),
        ] {
            let (Failure::Run(what) | Failure::Usage(what)) = failure else {
                panic!("it is not logged");
            };
            assert!(
                what.starts_with("a\\n\\u{202e}b\\u{1b}[31m\\u{9b}\\u{2028}\\rxxx"),
                "{what}"
            );
            assert!(what.len() < 5_000, "{}", what.len());
        }
        let Failure::Usage(two) = Failure::mistakes(["a", "b"]) else {
            panic!("it is not logged");
        };
        assert_eq!(two, "a\ntouchline: b");
    }

    #[test]
    fn an_output_file_is_written_atomically() {
        let folder = Folder::new("output");
        let path = folder.join("books");
        std::fs::write(&path, "old").expect("our folder");
        let mut output = Output::open(&path).expect("a writable place");
        output.line("new").expect("room for a line");
        output.flush().expect("room for a line");
        assert_eq!(std::fs::read_to_string(&path).expect("the old file"), "old");
        drop(output);
        assert_eq!(names(&folder), ["books"], "nothing is left of it");
        let mut output = Output::open(&path).expect("a writable place");
        output.line("new").expect("room for a line");
        output.finish().expect("room for a line");
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), "new\n");
        assert_eq!(names(&folder), ["books"]);
    }

    #[test]
    fn temporary_files_of_killed_runs_are_removed_and_those_of_others_kept() {
        let folder = Folder::new("output");
        // Beyond the maximum process id; process 1 lives.
        let (dead, living) = ("books.4294967294.partial", "books.1.partial");
        for name in [dead, living, "books.x.partial", "tops.4294967294.partial"] {
            std::fs::write(folder.join(name), "").expect("our folder");
        }
        drop(Output::open(&folder.join("books")).expect("a writable place"));
        assert_eq!(
            names(&folder),
            [living, "books.x.partial", "tops.4294967294.partial"]
        );
    }

    #[test]
    fn devices_are_written_in_place() {
        let mut output = Output::open(Path::new("/dev/null")).expect("it takes everything");
        output.line("gone").expect("it takes everything");
        output.finish().expect("it takes everything");
        assert!(
            !std::fs::metadata("/dev/null")
                .expect("it is still there")
                .is_file()
        );
    }

    #[test]
    fn an_unwritable_path_is_reported_with_the_fix() {
        for path in ["/nowhere/books", "/tmp", "/dev/null/books", ".."] {
            let failure = Output::open(Path::new(path)).expect_err(path);
            let Failure::Run(what) = failure else {
                panic!("{path}: exit status 1")
            };
            assert!(what.starts_with(path) && what.contains("; "), "{what}");
        }
    }
}
