//! Child processes with their output.

use crate::folder::Folder;
use crate::until::{PATIENCE, until};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::process::{Child, ChildStdout, Command, ExitStatus};

/// A child process with its output so far; killed and reaped when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Standard output and standard error, if captured.
    captured: Option<[File; 2]>,
    /// Lines of standard output before position `read` that [`Process::next_line`] still has to return.
    lines: VecDeque<String>,
    read: u64,
}

impl Process {
    /// Starts a command and captures its output. The command states its standard input.
    ///
    /// The output goes to files without a name: the process never waits until the test reads it.
    ///
    /// # Panics
    /// The command does not start.
    #[track_caller]
    pub fn start(command: &mut Command) -> Process {
        let folder = Folder::new("output");
        let file = |name| {
            let mut options = File::options();
            let opened = options
                .create(true)
                .read(true)
                .append(true)
                .open(folder.join(name));
            opened.expect("our folder")
        };
        let captured = ["out", "err"].map(file);
        let [out, err] = [0, 1].map(|at: usize| captured[at].try_clone().expect("an open file"));
        let mut process = Process::with_streams(command.stdout(out).stderr(err));
        process.captured = Some(captured);
        process
    }

    /// Starts a command with the standard streams that the command states.
    ///
    /// # Panics
    /// The command does not start.
    #[track_caller]
    pub fn with_streams(command: &mut Command) -> Process {
        let child = command.spawn();
        Process {
            child: child.unwrap_or_else(|error| panic!("{command:?}: {error}")),
            captured: None,
            lines: VecDeque::new(),
            read: 0,
        }
    }

    /// The pipe that is standard output of a process with its own streams.
    ///
    /// # Panics
    /// Standard output is not a pipe, or was taken before.
    pub fn pipe(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("a pipe")
    }

    /// Standard output so far.
    #[must_use]
    pub fn out(&self) -> String {
        self.text(0)
    }

    /// Standard error so far.
    #[must_use]
    pub fn err(&self) -> String {
        self.text(1)
    }

    fn text(&self, stream: usize) -> String {
        String::from_utf8_lossy(&self.bytes(stream, 0)).into_owned()
    }

    fn bytes(&self, stream: usize, from: u64) -> Vec<u8> {
        let file = &self.captured.as_ref().expect("the output is captured")[stream];
        let length = file.metadata().expect("an open file").len();
        let mut bytes = vec![0; (length - from) as usize];
        file.read_exact_at(&mut bytes, from).expect("it only grows");
        bytes
    }

    /// Waits for a whole line of standard output or standard error that contains `text`, and returns the first one.
    ///
    /// # Panics
    /// No such line is printed within [`PATIENCE`], or before the process ends.
    #[track_caller]
    pub fn wait_for_line(&mut self, text: &str) -> String {
        self.wait_for(&format!("a line with {text:?}"), |process| {
            let all = [process.out(), process.err()];
            let mut lines = all.iter().flat_map(|text| whole_lines(text));
            lines.find(|line| line.contains(text)).map(str::to_owned)
        })
    }

    /// Waits for the next line of standard output, and returns it.
    ///
    /// # Panics
    /// As [`Process::wait_for_line`].
    #[track_caller]
    pub fn next_line(&mut self) -> String {
        self.wait_for("a line", |process| {
            if process.lines.is_empty() {
                process.read_lines();
            }
            process.lines.pop_front()
        })
    }

    /// Lines of standard output so far that [`Process::next_line`] still has to return.
    pub fn other_lines(&mut self) -> Vec<String> {
        self.read_lines();
        self.lines.drain(..).collect()
    }

    fn read_lines(&mut self) {
        let bytes = self.bytes(0, self.read);
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |last| last + 1);
        self.read += whole as u64;
        let text = String::from_utf8_lossy(&bytes[..whole]);
        self.lines.extend(text.lines().map(str::to_owned));
    }

    /// Waits until `find` returns a value from the output.
    ///
    /// # Panics
    /// `find` returns none within the limit of [`Process::wait`], or before the process ends.
    #[track_caller]
    pub fn wait_for<T>(
        &mut self,
        what: &str,
        mut find: impl FnMut(&mut Process) -> Option<T>,
    ) -> T {
        let found = until(what, PATIENCE, || {
            let has_ended = !self.is_running();
            match find(self) {
                None if has_ended => Ok(None),
                None => Err((self.out(), self.err())),
                found => Ok(found),
            }
        });
        found.unwrap_or_else(|| panic!("ended before {what}: {} {}", self.out(), self.err()))
    }

    /// Writes a line to standard input, which is a pipe.
    ///
    /// # Panics
    /// The process has closed it.
    #[track_caller]
    pub fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        writeln!(input, "{line}").expect("it reads its input");
    }

    /// Closes standard input.
    pub fn close(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Sends a signal by its name without `SIG`.
    ///
    /// # Panics
    /// The signal cannot be sent.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.id().to_string()])
            .status();
        assert!(sent.expect("there is a kill").success(), "{name}");
    }

    /// Kills it with SIGKILL, and reaps it.
    ///
    /// # Panics
    /// The process has been reaped.
    #[track_caller]
    pub fn kill(&mut self) {
        self.child.kill().expect("our child");
        self.child.wait().expect("our child");
    }

    /// Waits for the end of the process.
    ///
    /// # Panics
    /// The process does not end within [`PATIENCE`].
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        until("the end of the process", PATIENCE, || {
            self.child.try_wait().expect("our child")
        })
    }

    /// Sends a signal, waits for the end, and returns the exit status if no signal ended it.
    ///
    /// # Panics
    /// As [`Process::signal`] and [`Process::wait`].
    #[track_caller]
    pub fn end(&mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.wait().code()
    }

    /// Process number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process is running; a stopped process counts as running.
    ///
    /// # Panics
    /// The state of the process is unknown to the system.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("our child").is_none()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls fail only if the process has been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines that have an end.
fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Stdio;

    fn shell(script: &str) -> Process {
        Process::start(
            Command::new("sh")
                .args(["-c", script])
                .stdin(Stdio::piped()),
        )
    }

    #[test]
    fn lines_are_found_in_either_stream_and_answers_come_in_order() {
        let mut process =
            shell("echo to standard error >&2; while read line; do echo got $line; done; exit 3");
        assert_eq!(process.wait_for_line("standard"), "to standard error");
        process.tell("one");
        process.tell("two");
        assert_eq!(
            [process.next_line(), process.next_line()],
            ["got one", "got two"]
        );
        process.tell("three");
        process.close();
        assert_eq!(process.wait().code(), Some(3));
        assert_eq!(process.out(), "got one\ngot two\ngot three\n");
        assert_eq!(process.other_lines(), ["got three"]);
        assert_eq!(process.err(), "to standard error\n");
    }

    #[test]
    #[should_panic(expected = "ended before a line with \"more\": only this\n all of it")]
    fn a_wait_ends_with_the_process_and_its_output() {
        shell("echo only this; printf 'all of it'>&2").wait_for_line("more");
    }

    #[test]
    fn a_dropped_process_is_reaped() {
        let process = shell("sleep 600");
        let entry = format!("/proc/{}", process.id());
        assert!(Path::new(&entry).exists());
        drop(process);
        assert!(!Path::new(&entry).exists());
    }
}
