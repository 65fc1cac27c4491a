//! Client of an engine: it writes commands into its ring, or a kill into a file, and reads their answers from the drop copy.

use crate::bus_names::ring_name;
use crate::error::{ANSWER_S, Error, Refused};
use crate::follower::PublishedEntry;
use crate::kill_file::{untaken, write_kill};
use crate::ring::DeskClient;
use crate::tail::Tail;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};
use touchline_fx_events::command::Command;
use touchline_fx_events::encoding::Entry;
use touchline_transport::boot_ns;
use touchline_transport::bus::{self, Root, SegmentError};
use touchline_transport::clock::wall_ns;
use touchline_types::Id;

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(ANSWER_S);
/// Longest wait for the ring: another process of the client has it while it writes a command.
const RING: Duration = Duration::from_secs(2);
/// Longest wait of a kill for the ring.
const KILL_RING: Duration = Duration::from_millis(50);
/// Longest wait for the answer to a kill in the ring. An engine that runs answers within milliseconds; without an answer the ring was
/// overrun or is not read, and the file follows.
const KILL_ANSWER: Duration = Duration::from_millis(100);
/// Longest wait for the answer to a kill in a file.
const FILE_ANSWER: Duration = Duration::from_secs(1);
/// Pause of a reader that finds nothing.
const PAUSE: Duration = Duration::from_micros(200);
/// Messages that are passed over before a command; more arrive without end. The caller is asked after each part of them.
const SKIPPED_MAX: usize = 1 << 20;
const SKIPPED_PART: usize = 1 << 10;
/// The caller ended the wait before the command was sent.
const UNSENT: Error = Error::Interrupted {
    is_sent: false,
    parent: None,
};

/// Address of a client's ring and of its engine.
#[derive(Debug, Clone)]
pub struct Address {
    /// Directory of the engine's bus.
    pub root: Root,
    /// The engine's bus.
    pub bus: String,
    /// Directory of the client's ring.
    pub ring_root: Root,
    /// The client, as the engine's configuration names it.
    pub client: String,
}

/// Client of an engine.
pub struct Client {
    address: Address,
    answers: Tail,
}

/// Asks whether a caller still waits. It is called before each message of the drop copy and each pause of 200 µs, and
/// not again after it returned false.
pub type Waits<'w> = &'w mut dyn FnMut() -> bool;

/// Wait of a caller.
struct Wait<'w> {
    waits: Waits<'w>,
    is_over: bool,
}

impl Wait<'_> {
    fn new(waits: Waits<'_>) -> Wait<'_> {
        let is_over = false;
        Wait { waits, is_over }
    }

    /// Asks the caller.
    fn goes_on(&mut self) -> bool {
        self.is_over = self.is_over || !(self.waits)();
        !self.is_over
    }
}

/// Result of a command: the word of the engine.
pub type Answered = Result<String, Error>;

impl Client {
    /// Joins the drop copy before anything is sent, so that no answer is missed.
    ///
    /// # Errors
    /// No engine publishes on the bus.
    pub fn join(address: Address) -> Result<Client, Error> {
        let answers = Tail::join(&address.root, &address.bus);
        let answers = answers.map_err(|error| Error::NoEngine {
            bus: address.bus.clone(),
            error,
        })?;
        if !answers.has_engine()? {
            return Err(Error::Ended { bus: address.bus });
        }
        Ok(Client { address, answers })
    }

    /// Address of the client's ring, to which commands are sent.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Entries that the engine publishes from the join, or from the last command, on.
    pub fn published(&mut self) -> &mut Tail {
        &mut self.answers
    }

    /// Sends a command and waits for its answer, a word. The entries published up to the answer are given to `each`,
    /// the entries of the command among them.
    ///
    /// # Errors
    /// Among others: the command is refused, or not answered.
    pub fn command(
        &mut self,
        command: &Command,
        each: impl FnMut(&PublishedEntry<'_>),
    ) -> Answered {
        self.command_while(command, each, &mut || true)
    }

    /// [`Client::command`], which waits as long as `waits` returns true.
    ///
    /// # Errors
    /// As [`Client::command`]; and [`Error::Interrupted`].
    pub fn command_while(
        &mut self,
        command: &Command,
        each: impl FnMut(&PublishedEntry<'_>),
        waits: Waits<'_>,
    ) -> Answered {
        let mut wait = Wait::new(waits);
        self.skip(&mut wait)?;
        let request = send(&self.address, command, RING, &mut wait)?;
        let answer = self.answer(request, ANSWER, each, &mut wait)?;
        let parent = match command {
            // mutant: execution: an order without an answer has no name
            Command::Parent(order) => Some(order.id),
            _ => None,
        };
        let is_sent = true;
        answer.ok_or_else(|| match wait.is_over {
            true => Error::Interrupted { is_sent, parent },
            false => Error::NoAnswer {
                client: self.address.client.clone(),
                parent,
            },
        })
    }

    /// Skips the entries that were published before the command.
    fn skip(&mut self, wait: &mut Wait<'_>) -> Result<(), Error> {
        for _ in 0..SKIPPED_MAX / SKIPPED_PART {
            if self.answers.skip(SKIPPED_PART) {
                break;
            }
            if !wait.goes_on() {
                return Err(UNSENT);
            }
        }
        Ok(())
    }

    /// Waits for the answer to a command; `None`: none within the time, or the caller's wait is over.
    fn answer(
        &mut self,
        request: u64,
        within: Duration,
        mut each: impl FnMut(&PublishedEntry<'_>),
        wait: &mut Wait<'_>,
    ) -> Result<Option<String>, Refused> {
        let until = Instant::now() + within;
        let client = self.address.client.as_str();
        let mut found = None;
        while found.is_none() && wait.goes_on() && Instant::now() < until {
            let polled = self.answers.poll(|published| match published.entry {
                Entry::Answer(answer) if (answer.client, answer.request) == (client, request) => {
                    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
                    found = Some(match answer.answer {
                        "refused" => Err(Refused {
                            reason: text(answer.reason),
                            cause: text(answer.cause),
                        }),
                        word => Ok(word.to_owned()),
                    });
                }
                _ => each(published),
            });
            // An event of the bus may be returned again by each poll.
            if found.is_none() && !matches!(polled, Ok(true)) {
                sleep(PAUSE);
            }
        }
        found.transpose()
    }
}

/// A name, a price or a date of a command.
///
/// # Errors
/// The text is too long, or has letters that no name has.
pub fn name(text: &str) -> Result<Id, Error> {
    Id::new(text.as_bytes()).ok_or(Error::Name)
}

/// Name of a new parent: the time.
pub fn new_name() -> Id {
    Id::lossy(format!("P{}", wall_ns() / 1_000).as_bytes())
}

/// Sets the kill switch of an engine, also if the engine has no bus: through the ring unless `is_direct`, else in a
/// file, which the engine takes when it continues or starts.
///
/// # Errors
/// Among others: the kill is refused, or written and not executed yet.
pub fn kill(address: &Address, is_direct: bool) -> Answered {
    kill_while(address, is_direct, &mut || true)
}

/// [`kill`], which waits as long as `waits` returns true. After that the kill is written unless it was answered, and
/// [`Error::KillWaits`] reports this: a kill is not withdrawn.
///
/// # Errors
/// As [`kill`].
pub fn kill_while(address: &Address, is_direct: bool, waits: Waits<'_>) -> Answered {
    let mut wait = Wait::new(waits);
    let mut client = Client::join(address.clone()).ok();
    let mut request = None;
    if !is_direct
        && let Some(client) = &mut client
        && let Ok(sent) = send(address, &Command::Kill, KILL_RING, &mut wait)
    {
        match client.answer(sent, KILL_ANSWER, |_| (), &mut wait) {
            Ok(Some(answer)) => return Ok(answer),
            // The file is a number alone, which every release reads.
            Err(refused) if !refused.is_unread() => return Err(refused.into()),
            Ok(None) | Err(_) => request = Some(sent),
        }
    }
    // The same number: whichever of the two the engine takes first answers it, and a kill can be repeated.
    let request = request.unwrap_or_else(boot_ns);
    let root = &address.ring_root;
    root.make_root().map_err(bus::Error::from)?;
    let ring = ring_name(&address.bus, &address.client);
    write_kill(root, &ring, request).map_err(|error| Error::KillNotWritten {
        directory: root.path().to_owned(),
        error,
    })?;
    let Some(mut client) = client else {
        return Err(kill_waits(address, None));
    };
    let answer = client.answer(request, FILE_ANSWER, |_| (), &mut wait)?;
    answer.ok_or_else(|| {
        let is_alive = matches!(client.answers.has_engine(), Ok(true));
        kill_waits(address, untaken(root, &ring).filter(|_| is_alive))
    })
}

fn kill_waits(address: &Address, untaken: Option<PathBuf>) -> Error {
    Error::KillWaits {
        bus: address.bus.clone(),
        client: address.client.clone(),
        untaken,
    }
}

/// Writes a command into the client's ring, for which it waits at most this long, and which is free again for its other processes
/// when this returns. Returns the number.
fn send(
    address: &Address,
    command: &Command,
    within: Duration,
    wait: &mut Wait<'_>,
) -> Result<u64, Error> {
    let until = Instant::now() + within;
    let mut ring = loop {
        match DeskClient::open(&address.ring_root, &address.bus, &address.client) {
            Ok(ring) => break ring,
            Err(bus::Error::Segment(SegmentError::Busy { .. })) if Instant::now() < until => {
                if !wait.goes_on() {
                    return Err(UNSENT);
                }
                sleep(PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    };
    // Numbers ascend in the order of the ring.
    let request = boot_ns();
    ring.send(request, command);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drop_copy::DropCopy;
    use touchline_fx_events::command::Order;
    use touchline_fx_events::event::Answer;
    use touchline_testing::Folder;
    use touchline_types::Side;

    /// A drop copy, and a client of its engine, which answers nothing.
    struct Engine {
        _folder: Folder,
        drop_copy: DropCopy,
        client: Client,
    }

    impl Engine {
        fn open(name: &str) -> Engine {
            let folder = Folder::new(name);
            let root = Root::at(&folder);
            let drop_copy = DropCopy::open(&root, "engine", 1 << 20).expect("a bus");
            let client = Client::join(Address {
                ring_root: root.clone(),
                root,
                bus: "engine".to_owned(),
                client: "desk".to_owned(),
            });
            Engine {
                _folder: folder,
                drop_copy,
                client: client.expect("an engine"),
            }
        }
    }

    /// Publishes the answer to a command of somebody else.
    fn publish(drop_copy: &mut DropCopy) {
        let answer = Answer {
            client: "other",
            request: 1,
            answer: "done",
            reason: None,
            cause: None,
        };
        drop_copy.answer(1, &answer);
    }

    #[test]
    fn a_caller_is_asked_while_messages_arrive_without_end() {
        let mut engine = Engine::open("flood");
        let (mut messages, mut asked) = (0, 0);
        publish(&mut engine.drop_copy);
        let started = Instant::now();
        let answer = engine.client.answer(
            2,
            ANSWER,
            |_| {
                messages += 1;
                publish(&mut engine.drop_copy);
            },
            &mut Wait::new(&mut || {
                asked += 1;
                asked <= 100
            }),
        );
        assert_eq!(answer.expect("no refusal"), None);
        assert!(started.elapsed() < ANSWER, "the caller ends it");
        assert_eq!((messages, asked), (100, 101));
    }

    /// An engine that looks for kills in another place, or may not read this one, never executes it.
    #[test]
    fn a_kill_that_a_living_engine_does_not_take_says_where_it_lies() {
        let engine = Engine::open("untaken");
        let address = engine.client.address().clone();
        let said = kill(&address, true)
            .expect_err("nobody answers")
            .to_string();
        let path = engine._folder.join(".engine-desk.kill");
        for part in ["--config FILE", &path.display().to_string()] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains("or starts"), "{said}");
        drop(engine.drop_copy);
        let said = kill(&address, true)
            .expect_err("nobody answers")
            .to_string();
        assert!(
            said.ends_with("it does when it goes on or starts"),
            "{said}"
        );
    }

    /// A repetition under another name is a second order.
    #[test]
    fn a_command_without_an_answer_names_its_order() {
        let mut engine = Engine::open("unanswered");
        let id = |text: &str| Id::lossy(text.as_bytes());
        let order = Order::new(id("P7"), id("EUR/USD"), Side::Bid, 1_000);
        for (command, end) in [
            (Command::Parent(order), "; the order is P7"),
            (Command::Lift, "is not executed twice"),
        ] {
            let answer = engine.client.command_while(&command, |_| (), &mut || false);
            let said = answer.expect_err("nobody answers").to_string();
            assert!(
                said.starts_with("interrupted after the command was sent"),
                "{said}"
            );
            assert!(said.ends_with(end), "{said}");
        }
    }

    #[test]
    fn a_caller_is_asked_while_messages_are_passed_over() {
        let mut engine = Engine::open("skipped");
        for _ in 0..=SKIPPED_PART {
            publish(&mut engine.drop_copy);
        }
        let answer = engine
            .client
            .command_while(&Command::Kill, |_| (), &mut || false);
        assert!(
            matches!(answer, Err(Error::Interrupted { is_sent: false, .. })),
            "{answer:?}"
        );
    }
}
