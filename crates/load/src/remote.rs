//! Readers on another host: an agent there (`load --serve`) runs them for the controller here.
//!
//! Each TCP connection has one request, a line of JSON. After [`Request::Clock`] the agent sends its clock, and its time
//! for each line that follows. For a process it connects the process's standard input and output with the connection; the
//! end of the connection is the end of the process.
//!
//! The agent runs readers and receiving relays of this program and nothing else, but for anybody who connects: it is for
//! test networks.

use crate::Failed;
use crate::clock::Timebase;
use crate::part::{Part, Role};
use crate::subject::{Kind, Place, between};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, remove_dir_all};
use std::io::{BufRead, BufReader, ErrorKind, Lines, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Requests to an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Its clock.
    Clock,
    /// A reader. Its folder is one of the agent.
    Read(Box<Role>),
    /// The process before the readers of this subject.
    Between {
        /// Name of the subject.
        subject: String,
        /// Addresses of the step.
        place: Place,
    },
}

/// Round trips of a comparison of two clocks; the shortest one counts.
const ROUND_TRIPS: usize = 200;
/// Longest time for a connection or an answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Time for a process to end by itself.
const END_MAX: Duration = Duration::from_secs(5);

/// The other host, as seen by the controller.
#[derive(Clone, Debug)]
pub struct Peer {
    agent: SocketAddrV4,
    /// Address of this host towards it.
    here: Ipv4Addr,
}

/// A clock of the other host that shows the time of this host.
#[derive(Clone, Copy, Debug)]
pub struct PeerClock {
    /// The clock, for processes there.
    pub clock: Timebase,
    /// Time here minus time there, nanoseconds.
    pub offset_ns: i64,
    /// Half of the shortest round trip, nanoseconds: bound of the error of the offset.
    pub error_ns: u64,
}

impl PeerClock {
    /// Bound of the error from this comparison to a later one: clocks drift.
    pub fn error_until(&self, later: &PeerClock) -> u64 {
        let drift_ns = later.offset_ns.abs_diff(self.offset_ns);
        self.error_ns.max(later.error_ns) + drift_ns
    }
}

impl Peer {
    /// The host of this agent.
    ///
    /// # Errors
    /// The agent does not answer.
    pub fn find(agent: SocketAddrV4) -> Result<Peer, Failed> {
        let here = match connect(agent)?.local_addr()? {
            SocketAddr::V4(address) => *address.ip(),
            SocketAddr::V6(address) => {
                return Err(Failed(format!("{address}: not an address of IPv4")));
            }
        };
        Ok(Peer { agent, here })
    }

    /// Addresses of the publisher's and of the readers' host.
    pub fn hosts(&self) -> [Ipv4Addr; 2] {
        [self.here, *self.agent.ip()]
    }

    /// Compares the clock there with this one.
    ///
    /// # Errors
    /// The agent does not answer.
    pub fn clock(&self, ours: &Timebase) -> Result<PeerClock, Failed> {
        let mut stream = self.open(&Request::Clock)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let theirs: Timebase = serde_json::from_str(&answer(&mut lines)?)?;
        let mut best = (u64::MAX, 0);
        for _ in 0..ROUND_TRIPS {
            let begin_ns = ours.now_ns();
            writeln!(stream)?;
            let there_ns: i64 = answer(&mut lines)?.parse()?;
            let took_ns = ours.now_ns() - begin_ns;
            if took_ns < best.0 {
                best = (took_ns, (begin_ns + took_ns / 2) as i64 - there_ns);
            }
        }
        let (took_ns, offset_ns) = best;
        Ok(PeerClock {
            clock: theirs.ahead(offset_ns),
            offset_ns,
            error_ns: took_ns.div_ceil(2),
        })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// The agent does not answer.
    pub fn open(&self, request: &Request) -> Result<TcpStream, Failed> {
        let mut stream = connect(self.agent)?;
        writeln!(stream, "{}", serde_json::to_string(request)?)?;
        Ok(stream)
    }
}

fn connect(agent: SocketAddrV4) -> Result<TcpStream, Failed> {
    let stream = TcpStream::connect_timeout(&agent.into(), ANSWER_MAX).map_err(|error| {
        Failed(format!(
            "{agent}: {error}; start `touchline load --serve ADDRESS:PORT` there"
        ))
    })?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn answer(lines: &mut Lines<BufReader<TcpStream>>) -> Result<String, Failed> {
    let line = lines.next().transpose()?;
    line.ok_or_else(|| Failed("the agent closed the connection".to_owned()))
}

/// The agent: serves controllers until it is stopped. Its folder is removed at the end.
#[derive(Debug)]
pub struct Agent {
    listener: TcpListener,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    program: PathBuf,
    /// Arguments before a role.
    arguments: Vec<String>,
    clock: Timebase,
    folder: PathBuf,
    /// Stream of the latest step, whose folder is there.
    stream: Mutex<Option<i32>>,
}

impl Agent {
    /// Listens. Roles are run by `program`, behind `arguments`.
    ///
    /// # Errors
    /// The address is not of this host, or is in use; there is no folder.
    pub fn listen(
        address: SocketAddrV4,
        program: PathBuf,
        arguments: &[&str],
    ) -> Result<Agent, Failed> {
        let listener = TcpListener::bind(address)
            .map_err(|error| Failed(format!("cannot listen on {address}: {error}")))?;
        listener.set_nonblocking(true)?;
        // The port tells agents of one process apart.
        let (id, port) = (std::process::id(), listener.local_addr()?.port());
        let folder = PathBuf::from(format!("/dev/shm/touchline-load-agent-{id}-{port}"));
        let _ = remove_dir_all(&folder);
        make(&folder)?;
        Ok(Agent {
            listener,
            shared: Arc::new(Shared {
                program,
                arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
                clock: Timebase::new(),
                folder,
                stream: Mutex::default(),
            }),
        })
    }

    /// Listening address.
    ///
    /// # Errors
    /// The system does not know it.
    pub fn address(&self) -> Result<SocketAddr, Failed> {
        Ok(self.listener.local_addr()?)
    }

    /// Serves until it is stopped; a failed request is reported.
    pub fn run(&self, is_stopped: impl Fn() -> bool, report: fn(&str)) {
        while !is_stopped() {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let shared = Arc::clone(&self.shared);
                    std::thread::spawn(move || {
                        if let Err(Failed(why)) = shared.serve(&stream) {
                            report(&why);
                        }
                        // The controller may have closed it already.
                        let _ = stream.shutdown(Shutdown::Both);
                    });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                // A connection that is gone again, or too many open files.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = remove_dir_all(&self.shared.folder);
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) -> Result<(), Failed> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let Some(line) = lines.next().transpose()? else {
            return Ok(());
        };
        let request = serde_json::from_str(&line)
            .map_err(|error| Failed(format!("not a request: {error}")))?;
        match request {
            Request::Clock => {
                let mut stream = stream;
                writeln!(stream, "{}", serde_json::to_string(&self.clock)?)?;
                for line in lines {
                    line?;
                    writeln!(stream, "{}", self.clock.now_ns())?;
                }
                Ok(())
            }
            Request::Read(mut role) => {
                if role.part != Part::Read {
                    return Err(Failed("only readers run here".to_owned()));
                }
                role.place.folder = self.folder_of(&role.place)?;
                let mut command = Command::new(&self.program);
                command.args(&self.arguments);
                command.arg(serde_json::to_string(&role)?);
                run(command, stream, lines)
            }
            Request::Between { subject, mut place } => {
                place.folder = self.folder_of(&place)?;
                let kind = Kind::named(&subject)?;
                let mut far = between(kind, &place).into_iter().filter(|one| one.is_far);
                let process = far
                    .next()
                    .ok_or_else(|| Failed(format!("{subject}: no process before the readers")))?;
                let mut command = Command::new(&self.program);
                command.args(process.arguments).stderr(Stdio::null());
                run(command, stream, lines)
            }
        }
    }

    /// Folder of a step; that of the step before is removed.
    fn folder_of(&self, place: &Place) -> Result<PathBuf, Failed> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = |stream: i32| self.folder.join(stream.to_string());
        if *stream != Some(place.stream) {
            if let Some(before) = stream.take() {
                let _ = remove_dir_all(folder(before));
            }
            // Left by an earlier controller.
            let _ = remove_dir_all(folder(place.stream));
            make(&folder(place.stream))?;
            *stream = Some(place.stream);
        }
        Ok(folder(place.stream))
    }
}

/// A private folder: the bus trusts no other.
fn make(path: &Path) -> Result<(), Failed> {
    let made = DirBuilder::new().mode(0o700).create(path);
    made.map_err(|error| Failed(format!("{}: {error}", path.display())))
}

/// Runs a process with its standard input and output at the other end of the connection.
fn run(
    mut command: Command,
    stream: &TcpStream,
    lines: Lines<BufReader<TcpStream>>,
) -> Result<(), Failed> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut orders, said) = (child.stdin.take(), child.stdout.take());
    let mut out = stream.try_clone()?;
    std::thread::spawn(move || {
        if let Some(mut said) = said {
            let _ = std::io::copy(&mut said, &mut out);
        }
        // The process has ended: its controller is notified.
        let _ = out.shutdown(Shutdown::Both);
    });
    for line in lines.map_while(Result::ok) {
        if let Some(orders) = &mut orders
            && writeln!(orders, "{line}").is_err()
        {
            break;
        }
    }
    drop(orders);
    end(&mut child);
    Ok(())
}

fn end(child: &mut Child) {
    let begin = Instant::now();
    while begin.elapsed() < END_MAX && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(2));
    }
    // The process may have ended already.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// An agent of this process: both clocks tick alike, so the true offset is known.
    fn with_agent(test: impl FnOnce(&Agent, Peer)) {
        let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let agent = Agent::listen(any_port, PathBuf::from("/bin/cat"), &[]).expect("a free port");
        let SocketAddr::V4(address) = agent.address().expect("it listens") else {
            panic!("an address of IPv4")
        };
        let is_stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| agent.run(|| is_stopped.load(Ordering::Relaxed), |_| {}));
            let peer = Peer::find(address).expect("the agent answers");
            test(&agent, peer);
            is_stopped.store(true, Ordering::Relaxed);
        });
        let folder = agent.shared.folder.clone();
        drop(agent);
        assert!(!folder.exists());
    }

    #[test]
    fn a_clock_of_the_other_host_shows_the_time_of_this_one() {
        with_agent(|_, peer| {
            let ours = Timebase::new();
            let theirs = peer.clock(&ours).expect("the agent answers");
            let (before, there, after) = (ours.now_ns(), theirs.clock.now_ns(), ours.now_ns());
            // The clocks of one host, calibrated twice, differ by a thousandth at most within the moment since.
            let slack = theirs.error_ns + 1_000_000;
            assert!(there + slack >= before && there <= after + slack);
            assert!(theirs.error_ns > 0);
        });
    }

    #[test]
    fn an_agent_runs_nothing_but_readers() {
        with_agent(|agent, peer| {
            for line in ["", "x", "{\"between\":{}}"] {
                let mut stream = connect(peer.agent).expect("it listens");
                writeln!(stream, "{line}").expect("it reads");
                let mut lines = BufReader::new(stream).lines();
                assert!(lines.next().transpose().is_ok_and(|line| line.is_none()));
            }
            let place = Place {
                folder: PathBuf::from("/tmp"),
                port: 1,
                stream: 7,
                readers: 1,
                hosts: [Ipv4Addr::LOCALHOST; 2],
            };
            let request = Request::Between {
                subject: "tcp".to_owned(),
                place: place.clone(),
            };
            let stream = peer.open(&request).expect("it listens");
            assert!(BufReader::new(stream).lines().next().is_none());
            // The folder is the agent's, not the one of the request.
            assert!(agent.shared.folder.join("7").exists());
        });
    }
}
