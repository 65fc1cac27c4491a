//! Our side: `touchline sim fix-acceptor` or `fix-initiator` as a process.

use crate::command::{self, cargo};
use crate::target_folder;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use touchline_testing::free_port;

/// HeartBtInt of both sides in seconds; Peer.java has it, too.
const HEARTBEAT_S: &str = "3";

/// Our role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Acceptor,
    Initiator,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::Acceptor => "we accept",
            Role::Initiator => "we connect",
        }
    }

    /// The other side's role, as its program names it.
    pub fn of_other(self) -> &'static str {
        match self {
            Role::Acceptor => "initiator",
            Role::Initiator => "acceptor",
        }
    }
}

/// Our command, which echoes each message.
pub struct Ours {
    program: PathBuf,
    role: Role,
    options: &'static [&'static str],
    port: u16,
    child: Child,
    /// Closing it stops the command.
    input: Option<ChildStdin>,
    /// Read no further than the first line, but kept open for the command's last output.
    output: BufReader<ChildStdout>,
}

/// Builds the command with the whole workspace selected, like the tests, so that they share the build.
pub fn build(root: &Path) -> Result<PathBuf> {
    let mut cargo = cargo(root);
    cargo.args(["build", "-q", "--workspace", "--bin", "touchline"]);
    command::run(&mut cargo, "touchline cannot be built")?;
    Ok(target_folder(root).join("debug/touchline"))
}

impl Ours {
    /// Starts the command. An acceptor uses any free port; an initiator gets a port that is free
    /// now.
    pub fn start(program: &Path, role: Role, options: &'static [&'static str]) -> Result<Ours> {
        let port = match role {
            Role::Acceptor => 0,
            Role::Initiator => free_port(),
        };
        Ours::start_at(program, role, options, port)
    }

    fn start_at(
        program: &Path,
        role: Role,
        options: &'static [&'static str],
        port: u16,
    ) -> Result<Ours> {
        let (name, at) = match role {
            Role::Acceptor => ("fix-acceptor", "--listen"),
            Role::Initiator => ("fix-initiator", "--connect"),
        };
        let mut child = Command::new(program)
            .args(["sim", name, at, &format!("127.0.0.1:{port}")])
            .args(["--heartbeat", HEARTBEAT_S, "--until-eof"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("no standard output")?;
        let mut ours = Ours {
            program: program.to_owned(),
            role,
            options,
            port,
            child,
            input,
            output: BufReader::new(output),
        };
        let mut line = String::new();
        ours.output.read_line(&mut line)?;
        // `listening on ADDRESS as ...`, `connecting to ADDRESS as ...`
        let address = line.split(' ').nth(2).unwrap_or_default();
        let (_, port) = address
            .rsplit_once(':')
            .with_context(|| format!("{name} names no address: {line}"))?;
        ours.port = port.parse()?;
        Ok(ours)
    }

    pub fn role(&self) -> Role {
        self.role
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the command, which logs out.
    pub fn stop(&mut self) {
        self.input = None;
    }

    /// Kills the command, and starts it again with the same arguments.
    pub fn kill_and_start_again(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        *self = Ours::start_at(&self.program, self.role, self.options, self.port)?;
        Ok(())
    }

    /// Waits for its successful end.
    pub fn end(&mut self) -> Result<()> {
        self.stop();
        let status = self.child.wait()?;
        ensure!(status.success(), "our side ended with {status}");
        Ok(())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // After its end there is no process to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
