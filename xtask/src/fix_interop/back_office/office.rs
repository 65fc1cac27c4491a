//! The back office: QuickFIX/J in a process of its own.

use super::judge::Received;
use crate::fix_interop::engine::Engine;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(20);
/// Time between two readings of its files.
const PAUSE: Duration = Duration::from_millis(10);

/// A running one. Its store and its file of reports remain when it ends.
pub struct Office {
    child: Child,
    folder: PathBuf,
}

impl Drop for Office {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Office {
    /// Starts it on the state of the folder.
    pub fn start(engine: &Engine, port: u16, folder: &Path) -> Result<Office> {
        fs::create_dir_all(folder)?;
        let output = File::create(folder.join("output"))?;
        let errors = OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("errors"))?;
        let mut java = engine.java("BackOffice");
        java.arg(port.to_string()).arg(folder);
        java.stdin(Stdio::piped()).stdout(output).stderr(errors);
        Ok(Office {
            child: java.spawn().context("cannot run java")?,
            folder: folder.to_owned(),
        })
    }

    /// Sends a command.
    pub fn tell(&mut self, command: &str) -> Result<()> {
        let input = self.child.stdin.as_mut().context("no standard input")?;
        Ok(writeln!(input, "{command}")?)
    }

    /// Waits until the reports of all its lives are enough, and returns them.
    pub fn wait(
        &mut self,
        what: &str,
        is_enough: impl Fn(&[Received]) -> bool,
    ) -> Result<Vec<Received>> {
        let mut received = Vec::new();
        self.until(what, |office| {
            received = Received::all(&office.read("reports"))?;
            Ok(is_enough(&received))
        })?;
        Ok(received)
    }

    /// Waits for `count` reports behind those that came before.
    pub fn wait_after(
        &mut self,
        before: &[Received],
        what: &str,
        count: usize,
    ) -> Result<Vec<Received>> {
        let most = before.len() + count;
        let mut received = self.wait(what, |received| received.len() >= most)?;
        Ok(received.split_off(before.len()))
    }

    /// Waits for its Logon of this number.
    pub fn logged_on(&mut self, count: usize) -> Result<()> {
        self.until(&format!("Logon {count}"), |office| {
            let said = office.read("output");
            Ok(said.lines().filter(|line| *line == "logged on").count() >= count)
        })
    }

    /// Waits for a line that begins like this.
    pub fn said(&mut self, start: &str) -> Result<()> {
        self.until(start, |office| {
            let said = office.read("output");
            Ok(said.lines().any(|line| line.starts_with(start)))
        })
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) -> Result<()> {
        self.alive()?;
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Logs out and ends.
    pub fn end(mut self) -> Result<()> {
        self.tell("end")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "{}", self.diary());
        Ok(())
    }

    fn until(
        &mut self,
        what: &str,
        mut holds: impl FnMut(&mut Office) -> Result<bool>,
    ) -> Result<()> {
        let start = Instant::now();
        while !holds(self)? {
            self.alive()?;
            if start.elapsed() > HANGS {
                bail!("did not come: {what}\n{}", self.diary());
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("QuickFIX/J ended, {status}:\n{}", self.diary()),
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// Its output and its last lines on the wire.
    fn diary(&self) -> String {
        let (wire, mut text) = (self.read("wire"), self.read("output"));
        text += &self.read("errors");
        let lines: Vec<&str> = wire.lines().collect();
        for line in &lines[lines.len().saturating_sub(12)..] {
            text += &format!("  {line}\n");
        }
        text
    }
}
