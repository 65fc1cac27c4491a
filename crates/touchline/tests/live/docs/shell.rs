//! Folder in which the blocks of one page run, with the built command in place of cargo.

use super::journal;
use super::markdown::{Block, Journal, Mode};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use touchline_testing::Folder;

/// A line of a `together` block counts as started after this time.
const STANDS: Duration = Duration::from_secs(2);
/// A failing line is restarted for this long: a user would wait until the lines before it are up.
const PATIENCE: Duration = Duration::from_secs(60);

/// `cargo run --release -- ARGUMENTS` runs the built command; other cargo commands take too long for a test.
const CARGO: &str = "#!/bin/sh
[ \"$1 $2 $3\" = 'run --release --' ] || { echo \"not run here: cargo $*\" >&2; exit 97; }
shift 3
exec touchline \"$@\"
";

/// Without a terminal `top` draws one frame.
const TOUCHLINE: &str = "#!/bin/sh
[ \"$1\" = top ] && set -- \"$@\" --once
exec \"$TOUCHLINE\" \"$@\"
";

/// Folder of a page.
pub struct Shell {
    page: String,
    folder: Folder,
}

impl Shell {
    pub fn new(page: &Path) -> Self {
        let page = page.display().to_string();
        let name = page.replace(['/', '.'], "-");
        let folder = Folder::new(&name);
        let shell = Self { page, folder };
        fs::create_dir_all(shell.folder.join("bin")).expect("a temporary folder");
        for (name, text) in [
            ("bin/cargo", CARGO),
            ("bin/touchline", TOUCHLINE),
            ("bin/less", "#!/bin/sh\nexec cat\n"),
        ] {
            shell.write(name, text);
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(shell.folder.join(name), mode).expect("our file");
        }
        shell
    }

    /// Sets the page that failures name: its blocks run in the folder of an earlier page.
    pub fn turn_to(&mut self, page: &Path) {
        self.page = page.display().to_string();
    }

    /// Writes a file of the page.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("our folder");
        fs::write(path, text).expect("our folder");
    }

    /// Writes a journal, unless an earlier block of the page has written it.
    pub fn write_journal(&self, journal: &Journal) {
        let directory = self.folder.join(&journal.name);
        if !directory.exists() {
            journal::write(&directory, &self.folder.join("bus"));
        }
        if journal.is_damaged {
            journal::damage(&directory);
        }
    }

    /// Runs a block.
    ///
    /// # Panics
    /// A command fails.
    pub fn run(&mut self, block: &Block) {
        if block.mode == Mode::Together {
            return self.run_together(block);
        }
        let script = format!("set -e\n{}", block.text);
        let output = self.bash(&script).output().expect("bash");
        let ended = output.status.success() || block.mode == Mode::AnyStatus;
        assert!(
            ended && output.status.code().is_some(),
            "{}:{}: {}\n{}\n{}{}",
            self.page,
            block.line,
            output.status,
            block.text,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }

    /// Checks the arguments of each command of a block, also of those in a loop or behind another command; returns the
    /// number of commands.
    ///
    /// # Panics
    /// A command has an option that does not exist, or a value that its option does not accept.
    pub fn check(&self, block: &Block) -> usize {
        let mut checked = 0;
        for (line, command) in block.commands() {
            let mut variables = String::new();
            for part in &parts(&command) {
                if let Some((name, values)) = loop_of(part) {
                    let first = values.split_whitespace().next().expect("a value");
                    variables += &format!("{name}={first}\n");
                }
                let Some(arguments) = arguments(part) else {
                    continue;
                };
                let script = format!("{variables}touchline {arguments} --help");
                let mut result = self.accepts(&script);
                // A command built without the feature `aeron` refuses this value; its other arguments are checked with `tcp`.
                if part.contains("--features aeron")
                    && matches!(&result, Err(errors) if errors.contains("invalid value 'aeron'"))
                {
                    result = self.accepts(&script.replace(" aeron ", " tcp "));
                }
                if let Err(errors) = result {
                    panic!("{}:{line}: {command}\n{errors}", self.page);
                }
                checked += 1;
            }
        }
        checked
    }

    /// Runs a script. Returns its error output if the script fails.
    fn accepts(&self, script: &str) -> Result<(), String> {
        let output = self.bash(script).output().expect("bash");
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Starts each line as a separate terminal, in order; when all are up or have ended with success, each gets Ctrl-C,
    /// the last one first, and must end with success.
    fn run_together(&self, block: &Block) {
        let mut terminals: Vec<Terminal> = Vec::new();
        for (line, command) in block.commands() {
            terminals.push(Terminal::open(self, line, &command));
            sleep(Duration::from_millis(300));
        }
        let until = Instant::now() + PATIENCE;
        loop {
            // Each line is checked, since the check restarts a failed line.
            let stand = terminals
                .iter_mut()
                .map(|terminal| terminal.stands(self, until));
            if stand.filter(|stands| !stands).count() == 0 {
                break;
            }
            sleep(Duration::from_millis(100));
        }
        while let Some(terminal) = terminals.pop() {
            terminal.close(self);
        }
    }

    fn bash(&self, script: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-c", script])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .env(
                "PATH",
                format!("{}:{path}", self.folder.join("bin").display()),
            )
            .env("TOUCHLINE", env!("CARGO_BIN_EXE_touchline"))
            .env("TOUCHLINE_DIR", self.folder.join("buses"))
            .env("NO_COLOR", "1");
        bash
    }
}

/// Simple commands of a line. A separator without spaces around it counts as text, as in quotes.
fn parts(command: &str) -> Vec<String> {
    let mut parts = format!("{command} ");
    for separator in ["; ", " && ", " | ", " & "] {
        parts = parts.replace(separator, "\n");
    }
    let parts = parts
        .lines()
        .map(|part| part.trim().trim_start_matches("do "));
    parts.map(|part| part.trim().to_owned()).collect()
}

/// Variable and values of a loop.
fn loop_of(part: &str) -> Option<(&str, &str)> {
    part.strip_prefix("for ")?.split_once(" in ")
}

/// Arguments of a command of ours, without redirections.
fn arguments(part: &str) -> Option<&str> {
    let arguments = match part.strip_prefix("cargo run ") {
        Some(options) => options.split_once("-- ").expect("cargo run … -- …").1,
        None => part.strip_prefix("touchline ")?,
    };
    let end = [" >", " 2>"]
        .iter()
        .filter_map(|end| arguments.find(end))
        .min();
    Some(&arguments[..end.unwrap_or(arguments.len())])
}

/// A running line, with its output in files.
struct Terminal {
    line: usize,
    command: String,
    child: Option<Child>,
    started: Instant,
}

impl Terminal {
    fn open(shell: &Shell, line: usize, command: &str) -> Self {
        let mut terminal = Self {
            line,
            command: command.trim_end_matches('&').trim().to_owned(),
            child: None,
            started: Instant::now(),
        };
        terminal.start(shell);
        terminal
    }

    fn start(&mut self, shell: &Shell) {
        let output = fs::File::create(self.output(shell)).expect("our folder");
        let errors = output.try_clone().expect("a descriptor");
        // The command replaces the shell, so that it receives the signal.
        let child = shell
            .bash(&format!("exec {}", self.command))
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn();
        self.child = Some(child.expect("bash"));
        self.started = Instant::now();
    }

    fn output(&self, shell: &Shell) -> PathBuf {
        shell.folder.join(format!("terminal-{}", self.line))
    }

    /// Whether the line has ended with success, or has run for long enough. Restarts a failed line.
    fn stands(&mut self, shell: &Shell, until: Instant) -> bool {
        let Some(child) = &mut self.child else {
            return true;
        };
        match child.try_wait().expect("our child") {
            None => self.started.elapsed() > STANDS,
            Some(status) if status.success() => {
                self.child = None;
                true
            }
            Some(status) => {
                assert!(
                    Instant::now() < until,
                    "{}",
                    self.failure(shell, &status.to_string())
                );
                sleep(Duration::from_millis(200));
                self.start(shell);
                false
            }
        }
    }

    fn close(mut self, shell: &Shell) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        if child.try_wait().expect("our child").is_none() {
            signal("INT", &child);
        }
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().expect("our child") {
                break status;
            }
            if Instant::now() > until {
                signal("KILL", &child);
                panic!("{}", self.failure(shell, "does not end with Ctrl-C"));
            }
            sleep(Duration::from_millis(50));
        };
        // A command without a handler, such as `replay`, ends by the signal.
        assert!(
            status.success() || status.signal() == Some(2),
            "{}",
            self.failure(shell, &status.to_string())
        );
    }

    fn failure(&self, shell: &Shell, what: &str) -> String {
        let output = fs::read_to_string(self.output(shell)).unwrap_or_default();
        format!(
            "{}:{}: {what}\n{}\n{output}",
            shell.page, self.line, self.command
        )
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            signal("KILL", child);
            let _ = child.wait();
        }
    }
}

fn signal(name: &str, child: &Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill")
        .args([&format!("-{name}"), "--", &group])
        .status();
}

/// Runs this test again in a separate network namespace, without other processes. Returns false in that namespace, and
/// where the host does not allow one.
///
/// # Panics
/// The test fails in the namespace.
pub fn ran_in_a_network_of_its_own() -> bool {
    const INSIDE: &str = "TOUCHLINE_DOCS_INSIDE";
    const UP: &str = "ip link set lo up && ip route add 224.0.0.0/4 dev lo";
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let program = std::env::current_exe().expect("this program");
    for how in [&["--net"][..], &["--user", "--map-root-user", "--net"]] {
        let inside = |script: &str| {
            let mut unshare = Command::new("unshare");
            unshare
                .args(how)
                .args(["sh", "-c", script])
                .arg(&program)
                .env(INSIDE, "1");
            unshare
        };
        let may = inside(UP).stderr(Stdio::null()).status();
        if may.is_ok_and(|status| status.success()) {
            let test = "docs::the_commands_of_the_documents_succeed";
            let script = format!("{UP} && exec \"$0\" --exact {test} --nocapture");
            let status = inside(&script).status().expect("unshare");
            assert!(status.success(), "the commands of the documents: {status}");
            return true;
        }
    }
    println!("no network namespace: the commands run in that of the host");
    false
}
