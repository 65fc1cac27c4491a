//! The command as users see it: files, output and exit status.
//!
//! Each test runs the built command in a separate folder, on captures that the lab generates.

mod bench;
mod best_prices;
mod bus;
mod captures;
mod completions;
mod config;
mod definitions;
mod demo;
mod deribit;
mod display;
mod doctor;
mod examples;
mod export;
mod exposition;
mod fix;
mod fix_kills;
mod fix_store;
mod folds;
mod fx;
mod gateway;
mod journal;
mod load;
mod metrics;
mod names;
mod ops;
mod output;
mod python;
mod refusal;
mod relay;
mod rm;
mod secrets;
mod series;
mod sim;
mod stat;
mod summary;
mod tailed;
mod tape;
mod tape_places;
mod watch;

use std::io::{PipeReader, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use touchline_lab::capture::{Arrival, write_pcap};
use touchline_lab::cme::config::config_xml;
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_testing::{Folder, PATIENCE, Process};

/// A folder with a session: `session.pcap`, `config.xml` and `cme.toml`, which names both channel
/// and config.xml.
struct Desk {
    folder: Folder,
    session: Session,
    arrivals: Vec<Arrival>,
}

/// The program that is tested: where `TOUCHLINE_DEPLOYED` names the one that is deployed, it runs every command that it has. Without a
/// command here, the test says later which one.
pub fn program(command: &str) -> PathBuf {
    let is_of_both = !["", "--help", "demo", "sim", "bench", "load", "help"].contains(&command);
    match std::env::var_os("TOUCHLINE_DEPLOYED") {
        Some(deployed) if is_of_both => deployed.into(),
        _ => env!("CARGO_BIN_EXE_touchline").into(),
    }
}

/// Result of a run of the command.
#[derive(Debug)]
struct Run {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Desk {
    /// A session with losses on one line at a time.
    fn new(name: &str) -> Desk {
        let options = Options {
            events: 150,
            unknown_share: 0.2,
            ..Options::default()
        };
        let session = generate(&options, 5);
        let plan = FaultPlan::incremental([Fault::Duplicate { share: 0.1 }]);
        let arrivals = deliver(&session, &plan, 5).arrivals;
        Desk::with(name, session, arrivals)
    }

    /// A folder without a session.
    fn bare(name: &str) -> Desk {
        let options = Options {
            events: 1,
            ..Options::default()
        };
        Desk::with(name, generate(&options, 5), Vec::new())
    }

    fn with(name: &str, session: Session, arrivals: Vec<Arrival>) -> Desk {
        let desk = Desk {
            folder: Folder::new(name),
            session,
            arrivals,
        };
        write_pcap(&desk.arrivals, &desk.path("session.pcap")).expect("our folder");
        desk.write("config.xml", config_xml());
        let toml =
            "bus = \"lab\"\n[venue]\nkind = \"cme\"\nchannel = 998\nconfig_xml = \"config.xml\"\n";
        desk.write("cme.toml", toml);
        // Small, and independent of the permission to lock memory.
        let publication = "[limits]\ninstruments_max = 64\n[publication]\nring_bytes = 4194304\nlock_memory = \"no\"\n";
        desk.write("bus.toml", format!("{toml}{publication}"));
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).expect("our folder");
    }

    #[track_caller]
    fn read(&self, name: &str) -> String {
        let read = std::fs::read_to_string(self.path(name));
        read.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of all files, sorted.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder)
            .expect("our folder")
            .flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn command(&self, arguments: &str) -> Command {
        let words = || arguments.split_whitespace();
        let mut command = Command::new(program(words().next().unwrap_or_default()));
        command
            .args(words())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .env("TOUCHLINE_DIR", self.path("buses"))
            .env_remove("NO_COLOR");
        command
    }

    /// Runs the command with arguments that have no spaces in them, in this folder.
    fn run(&self, arguments: &str) -> Run {
        let output = self
            .command(arguments)
            .output()
            .expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("it prints text");
        Run {
            status: output.status.code().expect("it ends by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// `replay --config cme.toml --pcap session.pcap` and more.
    fn replay(&self, arguments: &str) -> Run {
        self.run(&format!(
            "replay --config cme.toml --pcap session.pcap {arguments}"
        ))
    }

    /// `replay --publish` of the session on the bus `lab`, and more.
    fn publish(&self, arguments: &str) -> Run {
        self.run(&format!(
            "replay --config bus.toml --pcap session.pcap --quiet --publish {arguments}"
        ))
    }

    /// Starts the command.
    #[track_caller]
    fn start(&self, arguments: &str) -> Process {
        Process::start(&mut self.command(arguments))
    }

    /// [`Desk::start`] with a standard input that the test writes and closes.
    #[track_caller]
    fn start_with_input(&self, arguments: &str) -> Process {
        Process::start(self.command(arguments).stdin(Stdio::piped()))
    }
}

impl Run {
    /// Asserts that the run succeeded, with expected messages only on standard error.
    #[track_caller]
    fn done(self) -> Run {
        let is_info = |line: &str| line.split(' ').nth(1) == Some("INFO");
        let is_quiet = self.stderr.lines().all(is_info);
        assert!((self.status, is_quiet) == (0, true), "{self:?}");
        self
    }

    /// Asserts that the run was refused with this status, in one line with these words.
    #[track_caller]
    fn refused(self, status: i32, words: &[&str]) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("touchline: "), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word}: {self:?}");
        }
    }
}

/// Times that a process waits in 4 s: unlike its processor time, the number does not depend on other load.
fn waits_in_4_s(process: u32) -> u64 {
    let (start, before) = (std::time::Instant::now(), waits(process));
    std::thread::sleep(std::time::Duration::from_secs(4));
    let waits = (waits(process) - before) as f64;
    (waits * 4.0 / start.elapsed().as_secs_f64()).round() as u64
}

/// Times that a process has waited so far.
fn waits(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.expect("a count").trim().parse().expect("a number")
}

/// A full pipe without a reader; the first end keeps it open.
pub fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(&[b'x'; PIPE_BYTES]).expect("its capacity");
    (reader, writer)
}

/// Capacity of a pipe.
pub const PIPE_BYTES: usize = 64 << 10;

/// Looks until a condition holds.
#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    touchline_testing::until(what, PATIENCE, is_so);
}

/// A path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().expect("a temporary folder has a plain name")
}
