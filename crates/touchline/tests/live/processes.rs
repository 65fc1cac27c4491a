//! Processes of a session, and their common folder.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
pub use touchline_testing::PATIENCE;
use touchline_testing::{Folder, until};

/// The processes of a session, and their folder, which stays if the session fails.
pub struct Processes {
    folder: Folder,
    number: u32,
    /// Prefix of commands that run elsewhere: of the exchange, of all others.
    places: [Vec<String>; 2],
}

/// A process, with its output in files of the session.
pub struct Process {
    name: String,
    child: touchline_testing::Process,
    folder: PathBuf,
    /// Output of an earlier process of the same name.
    before: [usize; 2],
}

/// Location of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the exchange.
    Exchange,
    /// At the gateway.
    Firm,
}

impl Processes {
    /// A session on this host.
    pub fn new(name: &str) -> Processes {
        Processes::within(name, [Vec::new(), Vec::new()])
    }

    /// A session whose exchange runs in another network namespace than all others.
    pub fn within(name: &str, places: [Vec<String>; 2]) -> Processes {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Processes {
            folder: Folder::new(name).kept_on_failure(),
            number,
            places,
        }
    }

    /// The session's set of multicast groups: the simulator refuses groups of another exchange, and other sessions run
    /// at the same time, in this process and in others.
    pub fn groups(&self) -> u32 {
        1 + (std::process::id() * 16 + self.number) % 16_000
    }

    /// A file of the session.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A file of the session as text.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Starts `touchline`; words are split at spaces, `@` stands for the folder. The output goes to `NAME.out` and
    /// `NAME.err`.
    pub fn start(&self, place: Place, name: &str, line: &str, more: &[&str]) -> Process {
        self.start_command(name, self.command(place, line, more))
    }

    /// [`Processes::start`] of a command that was made before.
    pub fn start_command(&self, name: &str, mut command: Command) -> Process {
        let append = |end: &str| {
            let path = self.path(&format!("{name}.{end}"));
            let opened = fs::OpenOptions::new().create(true).append(true).open(path);
            Stdio::from(opened.expect("a file of the session"))
        };
        let length = |end| {
            let written = fs::metadata(self.path(&format!("{name}.{end}")));
            written.map_or(0, |file| file.len() as usize)
        };
        let before = ["out", "err"].map(length);
        command.stdin(Stdio::piped());
        command.stdout(append("out")).stderr(append("err"));
        let child = touchline_testing::Process::with_streams(&mut command);
        Process {
            name: name.to_owned(),
            child,
            folder: self.folder.to_path_buf(),
            before,
        }
    }

    /// Runs `touchline` to its end.
    pub fn run(&self, line: &str) -> Output {
        let mut command = self.command(Place::Firm, line, &[]);
        command.output().expect("touchline starts")
    }

    /// A command before its start.
    pub fn command(&self, place: Place, line: &str, more: &[&str]) -> Command {
        self.command_within(&self.places[place as usize], line, more)
    }

    /// A command behind a prefix.
    pub fn command_within(&self, prefix: &[String], line: &str, more: &[&str]) -> Command {
        let folder = self.folder.display().to_string();
        let words = line
            .split_whitespace()
            .map(|word| word.replace('@', &folder));
        let program = env!("CARGO_BIN_EXE_touchline");
        let mut all = prefix.iter().cloned().chain([program.to_owned()]);
        let mut command = Command::new(all.next().expect("a program"));
        command.args(all).args(words).args(more);
        command.env("TOUCHLINE_DIR", self.path("buses"));
        command
    }
}

impl Process {
    /// Waits until one of its outputs has a line with `word` in it.
    #[track_caller]
    pub fn wait_for(&mut self, word: &str) {
        until(&format!("{} says {word:?}", self.name), PATIENCE, || {
            let is_running = self.child.is_running();
            if self.has_said(word) {
                return Ok(());
            }
            let said = [self.said("out"), self.said("err")];
            assert!(is_running, "{} ended: {said:?}", self.name);
            Err(said)
        });
    }

    fn has_said(&self, word: &str) -> bool {
        self.said("out").contains(word) || self.said("err").contains(word)
    }

    /// Output of this process on `out` or `err`, without that of an earlier one.
    pub fn said(&self, end: &str) -> String {
        let path = self.folder.join(format!("{}.{end}", self.name));
        let bytes = fs::read(path).unwrap_or_default();
        let before = self.before[usize::from(end == "err")];
        String::from_utf8_lossy(bytes.get(before..).unwrap_or_default()).into_owned()
    }

    /// Writes a line to its standard input.
    pub fn tell(&mut self, line: &str) {
        self.child.tell(line);
    }

    /// Sends a signal by name.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        self.child.signal(name);
    }

    /// Waits for its end, which must be successful.
    #[track_caller]
    pub fn ends_well(mut self) {
        let status = self.child.wait();
        let said = self.said("err");
        assert!(status.success(), "{} ended ({status}): {said}", self.name);
    }

    /// Waits for its end, which must be exit status 1; returns its errors.
    #[track_caller]
    pub fn fails(mut self) -> String {
        let status = self.child.wait();
        assert_eq!(status.code(), Some(1), "{}", self.said("err"));
        self.said("err")
    }

    /// Closes its standard input, which asks it to end.
    #[track_caller]
    pub fn close(mut self) {
        self.child.close();
        self.ends_well();
    }

    /// Kills it, like `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill();
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process is running.
    pub fn runs(&mut self) -> bool {
        self.child.is_running()
    }
}
