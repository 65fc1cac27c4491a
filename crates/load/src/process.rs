//! A process of a step, as seen by its parent.

use crate::Failed;
use crate::part::START_MAX;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

/// A process. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Process {
    /// Its name in the results.
    pub name: String,
    body: Body,
    lines: Receiver<String>,
}

/// Place of a running process: this host or another.
#[derive(Debug)]
enum Body {
    /// On this host.
    Here(Child, Option<ChildStdin>),
    /// Behind an agent: its standard input and output.
    There(TcpStream),
}

impl Process {
    /// Starts a process with a role.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(name: String, mut command: Command) -> Result<Process, Failed> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy();
            Failed(format!("{program}: {error}"))
        })?;
        let orders = child.stdin.take();
        let stdout = child.stdout.take().expect("it is piped");
        Ok(Process {
            name,
            body: Body::Here(child, orders),
            lines: lines_of(stdout),
        })
    }

    /// A process that an agent has started at the other end of this connection.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn behind(name: String, connection: TcpStream) -> Result<Process, Failed> {
        Ok(Process {
            name,
            lines: lines_of(connection.try_clone()?),
            body: Body::There(connection),
        })
    }

    /// Process id; `None` on another host.
    pub fn pid(&self) -> Option<u32> {
        match &self.body {
            Body::Here(child, _) => Some(child.id()),
            Body::There(_) => None,
        }
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// It failed, or did not become ready in time.
    pub fn wait_until_ready(&self) -> Result<(), Failed> {
        self.wait_for("ready", START_MAX + Duration::from_secs(5))
            .map(|_| ())
    }

    /// Sends the start time.
    ///
    /// # Errors
    /// It has ended.
    pub fn go(&mut self, begin_ns: u64) -> Result<(), Failed> {
        let line = format!("go {begin_ns}\n");
        let sent = match &mut self.body {
            Body::Here(_, orders) => orders
                .as_mut()
                .expect("it was not stopped")
                .write_all(line.as_bytes()),
            Body::There(connection) => connection.write_all(line.as_bytes()),
        };
        sent.map_err(|error| Failed(format!("{}: {error}", self.name)))
    }

    /// Sends the stop command.
    pub fn stop(&mut self) {
        match &mut self.body {
            Body::Here(_, orders) => *orders = None,
            // The agent may have closed it.
            Body::There(connection) => drop(connection.shutdown(Shutdown::Write)),
        }
    }

    /// Waits for its result of this name.
    ///
    /// # Errors
    /// It failed, or sent no result in time.
    pub fn wait_for(&self, what: &str, most: Duration) -> Result<Value, Failed> {
        let begin = Instant::now();
        loop {
            let left = most.saturating_sub(begin.elapsed());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = most.as_secs_f32();
                    return Err(Failed(format!(
                        "{}: no result within {seconds:.1} s",
                        self.name
                    )));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failed(format!("{}: ended without a result", self.name)));
                }
            };
            let mut line: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(why) = line["failed"].as_str() {
                return Err(Failed(format!("{}: {why}", self.name)));
            }
            match line[what].take() {
                Value::Null => {}
                said => return Ok(said),
            }
        }
    }

    /// Waits until it has ended, and kills it after the timeout.
    pub fn end(mut self, most: Duration) {
        self.stop();
        let begin = Instant::now();
        while begin.elapsed() < most && !self.has_ended() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn has_ended(&mut self) -> bool {
        match &mut self.body {
            Body::Here(child, _) => !matches!(child.try_wait(), Ok(None)),
            // Its output ends with it.
            Body::There(_) => loop {
                match self.lines.try_recv() {
                    Ok(_) => {}
                    Err(TryRecvError::Empty) => return false,
                    Err(TryRecvError::Disconnected) => return true,
                }
            },
        }
    }
}

/// Lines of an output as they arrive.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (line, lines) = channel();
    std::thread::spawn(move || {
        let said = BufReader::new(output).lines().map_while(Result::ok);
        // The receiver of the channel is dropped.
        let _ = said.into_iter().try_for_each(|said| line.send(said));
    });
    lines
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        match &mut self.body {
            Body::Here(child, _) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Body::There(connection) => {
                let _ = connection.shutdown(Shutdown::Both);
            }
        }
    }
}
