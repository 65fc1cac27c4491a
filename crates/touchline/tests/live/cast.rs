//! Processes of a session, and their common folder.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout of every step on a loaded host.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder, removed after the session unless it failed.
pub struct Stage {
    folder: PathBuf,
    number: u32,
    /// Prefix of commands that run elsewhere: of the exchange, of all others.
    places: [Vec<String>; 2],
}

/// A process that is killed when it goes out of scope.
pub struct Actor {
    name: String,
    child: Child,
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

impl Stage {
    /// A session on this host.
    pub fn new(name: &str) -> Stage {
        Stage::within(name, [Vec::new(), Vec::new()])
    }

    /// A session whose exchange runs in another network namespace than all others.
    pub fn within(name: &str, places: [Vec<String>; 2]) -> Stage {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("touchline-live-{name}-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a temporary folder");
        Stage {
            folder,
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
    pub fn start(&self, place: Place, name: &str, line: &str, more: &[&str]) -> Actor {
        self.start_command(name, self.command(place, line, more))
    }

    /// [`Stage::start`] of a command that was made before.
    pub fn start_command(&self, name: &str, mut command: Command) -> Actor {
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
        let child = command
            .stdin(Stdio::piped())
            .stdout(append("out"))
            .stderr(append("err"))
            .spawn()
            .expect("touchline starts");
        Actor {
            name: name.to_owned(),
            child,
            folder: self.folder.clone(),
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

impl Drop for Stage {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the files of the session are in {}", self.folder.display());
        } else {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl Actor {
    /// Waits until one of its outputs has a line with `word` in it.
    #[track_caller]
    pub fn wait_for(&mut self, word: &str) {
        let start = Instant::now();
        while !self.has_said(word) {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("{} ended ({status}): {}", self.name, self.said("err"));
            }
            let said = || [self.said("out"), self.said("err")].concat();
            assert!(
                start.elapsed() < PATIENCE,
                "{} never said {word:?}: {}",
                self.name,
                said()
            );
            thread::sleep(Duration::from_millis(5));
        }
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
        use std::io::Write;
        let input = self.child.stdin.as_mut().expect("its input is a pipe");
        writeln!(input, "{line}").expect("it reads its input");
    }

    /// Sends a signal by name.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let pid = self.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(status.expect("there is a kill").success());
    }

    /// Waits for its end, which must be successful.
    #[track_caller]
    pub fn ends_well(mut self) {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                assert!(
                    status.success(),
                    "{} ended ({status}): {}",
                    self.name,
                    self.said("err")
                );
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{} does not end", self.name);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end, which must be exit status 1; returns its errors.
    #[track_caller]
    pub fn fails(mut self) -> String {
        let start = Instant::now();
        while self.runs() {
            assert!(start.elapsed() < PATIENCE, "{} does not end", self.name);
            thread::sleep(Duration::from_millis(5));
        }
        let status = self.child.wait().expect("our own child");
        assert_eq!(status.code(), Some(1), "{}", self.said("err"));
        self.said("err")
    }

    /// Closes its standard input, which asks it to end.
    #[track_caller]
    pub fn close(mut self) {
        drop(self.child.stdin.take());
        self.ends_well();
    }

    /// Kills it, like `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("our own child");
        self.child.wait().expect("our own child");
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is running.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        if self.runs() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
