//! Commands of the desk: a ring in shared memory for each client, whose files identify the client by their owner.
//!
//! A client publishes on a bus of its own, `<engine's bus>-<client>`. The engine reads it only if the files belong to
//! the configured user. A message is a number (u64, little-endian) and a [`Command`]. The number is the time of the command by the
//! host's boot clock, which is never set, and ascends: a command that is old, from before the engine's start, or was seen before, is refused.
//! A message without room for the number counts as a malformed command of number 0.
//!
//! A kill is never refused for its age, number or rate, nor is the cancel of a parent. A kill has a second way that
//! needs no ring and that no other process can block: a file beside the rings, which the engine checks each millisecond
//! and at its start.

mod received;

pub(crate) use received::Received;

use crate::execution::config::{ClientConfig, CommandKind};
use std::collections::VecDeque;
use touchline_fx_desk::{KillFile, ring_name};
use touchline_fx_events::command::Command;
use touchline_transport::bus::{Error, Polled, Root, SegmentError, Subscription};

/// Oldest command that is executed: one that was sent to an engine that did not run is not executed later.
const AGE_MAX_NS: u64 = touchline_fx::COMMAND_AGE_MAX_NS;
/// A command may be this much ahead of the engine's clock.
pub(crate) const AHEAD_MAX_NS: u64 = SECOND_NS;
/// Interval of attempts to join a missing bus, nanoseconds.
const RETRY_NS: u64 = 20_000_000;
/// Most answers in a second that the journal does not have, of a client: each costs readers of the drop copy a place in its ring.
const ANSWERS_MAX: u32 = 10_000;
/// Most commands of a client in a round.
const ROUND_MAX: usize = 16;
const SECOND_NS: u64 = 1_000_000_000;

/// Reading side: the ring of a client.
pub(crate) struct Ring {
    pub(crate) client: ClientConfig,
    root: Root,
    bus: String,
    subscription: Option<Subscription<0>>,
    retry_ns: u64,
    /// Last reported reason for which the files were refused.
    logged: Option<String>,
    kill_file: KillFile,
    gate: Gate,
    /// Whether commands that were in the ring when the engine started are still being read.
    is_behind: bool,
    /// Commands in the ring that no engine has handled.
    missed: u64,
}

/// A command that was in the ring before the engine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Old {
    /// An earlier engine has the command in its journal, executed or refused, or the message is not a command.
    Recorded,
    /// No engine has handled the command.
    Missed,
    /// Likewise, beyond the rate of logged ones.
    Flood(Notify),
}

/// Admission of a client's commands: each number once, in its time, and not too many. All times are of the boot clock.
pub(crate) struct Gate {
    last_request: u64,
    /// Numbers of commands that were executed or refused by the runs before.
    known: Known,
    /// Start of the engine: an earlier command was refused, or found no engine.
    began_ns: u64,
    per_second: usize,
    /// Times of the admitted commands of the last second.
    recent: VecDeque<u64>,
    /// Times of the refused ones.
    refused: VecDeque<u64>,
    /// Start of the present second, and the number of answers in it that the journal lacks.
    answered: (u64, u32),
}

/// Last numbers of a client that the journal has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Last number of all commands.
    pub last: u64,
    /// Last number of the kills: a kill in a file may be older than later commands in the ring.
    pub kill: u64,
}

impl Known {
    /// Adds a command of a journal.
    pub(crate) fn add(&mut self, request: u64, bytes: &[u8]) {
        self.last = self.last.max(request);
        if Command::decode(bytes) == Ok(Command::Kill) {
            self.kill = self.kill.max(request);
        }
    }
}

/// Why a command is refused before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The command has no number.
    Malformed,
    /// The command is more than two seconds old, or older than the engine's start.
    TooOld,
    FromTheFuture,
    Replayed,
    Rate,
}

/// Destinations of the refusal of a command that is not admitted: a client must not fill the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notify {
    /// Journal, log and client.
    All,
    /// The client alone: the limit of refused commands in the journal and log for the last second is reached.
    Client,
    /// Neither: the number of refused commands shows that the sender does not wait for its answers.
    None,
}

/// A command that is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unadmitted {
    pub why: Unfit,
    pub notify: Notify,
}

impl Unfit {
    /// The reason in an answer.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Unfit::Malformed => "malformed",
            Unfit::TooOld => "too_old",
            Unfit::FromTheFuture => "from_the_future",
            Unfit::Replayed => "replayed",
            Unfit::Rate => "rate",
        }
    }
}

impl Ring {
    /// A ring that is not joined yet, of an engine that started at `began_ns`; `known` are the numbers that the journal has.
    pub(crate) fn new(
        client: &ClientConfig,
        root: &Root,
        engine: &str,
        known: Known,
        began_ns: u64,
    ) -> Ring {
        let root = match &client.directory {
            Some(directory) => Root::at(directory),
            None => root.clone(),
        };
        // The owner is the user of the configuration, else the user of this process, not the name of a directory or the
        // environment.
        let own = || Root::of_this_user().owner();
        let root = root.owned_by(client.user.unwrap_or_else(own));
        let bus = ring_name(engine, &client.name);
        Ring {
            kill_file: KillFile::of(&root, &bus),
            root,
            bus,
            client: client.clone(),
            subscription: None,
            retry_ns: 0,
            logged: None,
            gate: Gate::new(client.max_commands_per_s, known, began_ns),
            is_behind: false,
            missed: 0,
        }
    }

    /// Whether a command was in the ring when the engine started: it is not executed, as each start finds it
    /// again. A kill that no engine has seen is executed.
    pub(crate) fn old(&mut self, command: &Received, now_ns: u64) -> Option<Old> {
        let old = self.gate.old(command, now_ns).filter(|_| self.is_behind)?;
        self.missed += u64::from(old != Old::Recorded);
        Some(old)
    }

    /// Number of commands from before the start that no engine has handled; returned once, when all of them were read.
    pub(crate) fn take_missed(&mut self) -> Option<u64> {
        let is_over = !self.is_behind && self.missed > 0;
        is_over.then(|| std::mem::take(&mut self.missed))
    }

    /// Joins the ring if it exists; tries at intervals. Returns the reason why its files are refused, such as another
    /// owner, once for each reason.
    pub(crate) fn join(&mut self, now_ns: u64) -> Option<&str> {
        if self.subscription.is_some() || now_ns < self.retry_ns {
            return None;
        }
        let is_first = self.retry_ns == 0;
        self.retry_ns = now_ns + RETRY_NS;
        let why = match Subscription::join(&self.root, &self.bus, [], false) {
            Ok(subscription) => {
                self.subscription = Some(subscription);
                self.is_behind = is_first;
                self.logged = None;
                return None;
            }
            Err(error) if is_absent(&error) => {
                self.logged = None;
                return None;
            }
            Err(error) => refusal(&error),
        };
        if self.logged.as_ref() == Some(&why) {
            return None;
        }
        Some(self.logged.insert(why))
    }

    /// Passes waiting commands on; lost commands cannot have been executed. Commands passed on before were already
    /// checked.
    pub(crate) fn poll(&mut self, into: &mut Vec<Received>) {
        let Some(subscription) = &mut self.subscription else {
            return;
        };
        for _ in 0..ROUND_MAX {
            match subscription.poll(|message| Received::read(message.bytes)) {
                Ok(Polled::Given(command)) => into.push(command),
                Ok(Polled::Passed(_)) | Err(_) => {}
                Ok(Polled::Nothing) => {
                    // Commands of this call are checked afterwards.
                    self.is_behind &= !into.is_empty();
                    return;
                }
            }
        }
    }

    /// A kill that came without the ring, unless an engine before has recorded it and could not remove the file. An error is reported once.
    pub(crate) fn take_kill(&mut self) -> Option<Result<Received, String>> {
        let request = match self.kill_file.take()? {
            Ok(request) => request,
            Err(why) => return Some(Err(why)),
        };
        let command = Received {
            request,
            command: Ok(Command::Kill),
        };
        // A kill is either recorded, or executed.
        let is_recorded = self.gate.old(&command, command.request).is_some();
        (!is_recorded).then_some(Ok(command))
    }

    /// Checks number, age and rate of a command.
    pub(crate) fn admit(&mut self, command: &Received, now_ns: u64) -> Result<(), Unadmitted> {
        self.gate.admit(command, now_ns)
    }
}

/// Whether there is no ring yet, or its client is about to make it.
fn is_absent(error: &Error) -> bool {
    matches!(
        error,
        Error::Segment(SegmentError::Missing { .. } | SegmentError::NoParent { .. })
            | Error::HalfStarted { .. }
    )
}

/// Reason why files are refused. For another owner the reason has no advice, since the advice is for a person who may
/// run as that user.
fn refusal(error: &Error) -> String {
    match error {
        Error::Segment(SegmentError::Foreign {
            path,
            owner,
            expected,
        }) => format!(
            "{} belongs to user {owner}, not to user {expected}",
            path.display()
        ),
        other => other.to_string(),
    }
}

impl Gate {
    /// Admits at most that many commands a second, behind the numbers that the journal has.
    pub(crate) fn new(per_second: usize, known: Known, began_ns: u64) -> Gate {
        Gate {
            last_request: known.last,
            known,
            began_ns,
            per_second,
            recent: VecDeque::new(),
            refused: VecDeque::new(),
            answered: (0, 0),
        }
    }

    /// Checks number, age and rate of a command.
    pub(crate) fn admit(&mut self, command: &Received, now_ns: u64) -> Result<(), Unadmitted> {
        let checked = match command.kind() {
            // mutant: execution: a kill in a file is refused behind a later command
            Some(CommandKind::Kill) => check_new(command.request, self.known.kill),
            Some(CommandKind::Cancel) => self.check_cancel(command.request),
            _ => self.check(command.request, now_ns),
        };
        checked.map_err(|why| Unadmitted {
            why,
            notify: self.notify(now_ns),
        })
    }

    /// Destinations of a refusal.
    fn notify(&mut self, now_ns: u64) -> Notify {
        if has_room(&mut self.refused, self.per_second, now_ns) {
            return Notify::All;
        }
        let (began_ns, count) = &mut self.answered;
        if now_ns.saturating_sub(*began_ns) >= SECOND_NS {
            (*began_ns, *count) = (now_ns, 0);
        }
        *count = count.saturating_add(1);
        // mutant: execution: a command beyond the rate is not answered
        match *count <= ANSWERS_MAX {
            true => Notify::Client,
            false => Notify::None,
        }
    }

    /// Class of a command from before the engine's start, unless it is a kill that this engine must execute.
    fn old(&mut self, command: &Received, now_ns: u64) -> Option<Old> {
        if command.request >= self.began_ns {
            return None;
        }
        let is_kill = command.kind() == Some(CommandKind::Kill);
        let known = match is_kill {
            true => self.known.kill,
            false => self.known.last,
        };
        if command.request <= known {
            return Some(Old::Recorded);
        }
        if is_kill {
            return None;
        }
        Some(match self.notify(now_ns) {
            Notify::All => Old::Missed,
            notify => Old::Flood(notify),
        })
    }

    /// Checks a cancel, which is executed at any number, age and rate if it was sent in this run: repeating it does no
    /// harm.
    fn check_cancel(&self, request: u64) -> Result<(), Unfit> {
        check_new(request, self.known.last)?;
        match request < self.began_ns {
            true => Err(Unfit::TooOld),
            false => Ok(()),
        }
    }

    fn check(&mut self, request: u64, now_ns: u64) -> Result<(), Unfit> {
        if request == 0 {
            return Err(Unfit::Malformed);
        }
        // mutant: execution: a command is accepted twice
        if request <= self.last_request {
            return Err(Unfit::Replayed);
        }
        // mutant: simulation: a start executes commands of before
        if request < self.began_ns || request.saturating_add(AGE_MAX_NS) < now_ns {
            return Err(Unfit::TooOld);
        }
        if request > now_ns.saturating_add(AHEAD_MAX_NS) {
            return Err(Unfit::FromTheFuture);
        }
        self.last_request = request;
        match has_room(&mut self.recent, self.per_second, now_ns) {
            true => Ok(()),
            false => Err(Unfit::Rate),
        }
    }
}

/// Checks a kill, which is executed at any number, age and rate, unless an earlier run executed it: it may have been
/// lifted since.
fn check_new(request: u64, known: u64) -> Result<(), Unfit> {
    match request {
        0 => Err(Unfit::Malformed),
        _ if request <= known => Err(Unfit::Replayed),
        _ => Ok(()),
    }
}

/// Whether there were fewer than `per_second` in the last second; then this one is added.
fn has_room(times: &mut VecDeque<u64>, per_second: usize, now_ns: u64) -> bool {
    times.retain(|at_ns| now_ns.saturating_sub(*at_ns) < SECOND_NS);
    let has_room = times.len() < per_second;
    if has_room {
        times.push_back(now_ns);
    }
    has_room
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_fx_events::command::Order;
    use touchline_types::{Id, Side};

    fn gate(last: u64, began_ns: u64) -> Gate {
        Gate::new(2, Known { last, kill: last }, began_ns)
    }

    /// Kinds that are refused for their age, number and rate, and those that are not.
    const PARENT: Command = Command::Parent(Order::new(Id::EMPTY, Id::EMPTY, Side::Bid, 0));
    const CANCEL: Command = Command::Cancel { id: Id::EMPTY };

    fn command(request: u64, command: Command) -> Received {
        Received {
            request,
            command: Ok(command),
        }
    }

    impl Gate {
        fn admit_parent(&mut self, request: u64, now_ns: u64) -> Result<(), Unfit> {
            let admitted = self.admit(&command(request, PARENT), now_ns);
            admitted.map_err(|unadmitted| unadmitted.why)
        }
    }

    /// A ring is of the user that the configuration names, or of the engine's; the name of its directory decides nothing.
    #[test]
    fn the_configuration_alone_says_whose_ring_is_read() {
        let own = Root::of_this_user().owner();
        for (user, trusted) in [(None, own), (Some(own + 7), own + 7)] {
            let client = ClientConfig {
                name: "desk".to_owned(),
                person: None,
                user,
                directory: Some(format!("/dev/shm/touchline-{}", own + 8).into()),
                group: None,
                may: Vec::new(),
                limit_required: false,
                max_order: 1,
                max_commands_per_s: 1,
            };
            let engine = Root::at("/dev/shm/touchline-4242");
            let ring = Ring::new(&client, &engine, "fx-run", Known::default(), 0);
            assert_eq!(ring.root.owner(), trusted);
        }
    }

    /// A start finds in a ring: commands that the journal has, and commands that found no engine, of which it refuses
    /// at most one second's limit; a kill that found no engine is executed. Commands sent after the start are checked
    /// as usual.
    #[test]
    fn commands_of_before_the_start_are_told_apart() {
        let known = Known { last: 50, kill: 30 };
        let mut gate = Gate::new(2, known, 100);
        assert_eq!(gate.old(&Received::read(b""), 100), Some(Old::Recorded));
        let mut old = |request, of| gate.old(&command(request, of), 100);
        assert_eq!(old(50, PARENT), Some(Old::Recorded));
        assert_eq!(old(30, Command::Kill), Some(Old::Recorded));
        assert_eq!(old(31, Command::Kill), None, "it is executed");
        assert_eq!(old(51, PARENT), Some(Old::Missed));
        assert_eq!(old(99, CANCEL), Some(Old::Missed));
        assert_eq!(old(99, PARENT), Some(Old::Flood(Notify::Client)));
        assert_eq!(old(100, PARENT), None);
    }

    /// A command is executed once: not again, not after a restart that knows its number, not when it is old, not if it was sent before
    /// the start; one from the future is refused and does not refuse those that follow.
    #[test]
    fn a_command_is_admitted_once_and_in_its_time() {
        let now_ns = 100 * SECOND_NS;
        let mut fresh = gate(0, 0);
        let future = now_ns + AHEAD_MAX_NS + 1;
        assert_eq!(
            fresh.admit_parent(future, now_ns),
            Err(Unfit::FromTheFuture)
        );
        assert_eq!(fresh.admit_parent(now_ns, now_ns), Ok(()));
        assert_eq!(fresh.admit_parent(now_ns, now_ns), Err(Unfit::Replayed));
        let later_ns = now_ns + SECOND_NS;
        assert_eq!(
            fresh.admit_parent(now_ns - 1, later_ns),
            Err(Unfit::Replayed)
        );
        assert_eq!(
            gate(now_ns, 0).admit_parent(now_ns, now_ns),
            Err(Unfit::Replayed)
        );
        let old = now_ns - AGE_MAX_NS - 1;
        assert_eq!(gate(0, 0).admit_parent(old, now_ns), Err(Unfit::TooOld));
        assert_eq!(gate(0, 0).admit_parent(old + 1, now_ns), Ok(()));
        assert_eq!(
            gate(0, now_ns).admit_parent(now_ns - 1, now_ns),
            Err(Unfit::TooOld)
        );
    }

    /// The limit is that of any second; a refused command does not count.
    #[test]
    fn a_client_has_a_rate() {
        let (mut gate, now_ns) = (gate(0, 0), 100 * SECOND_NS);
        assert_eq!(gate.admit_parent(now_ns, now_ns), Ok(()));
        assert_eq!(gate.admit_parent(now_ns + 1, now_ns + 1), Ok(()));
        assert_eq!(gate.admit_parent(now_ns + 2, now_ns + 2), Err(Unfit::Rate));
        let later_ns = now_ns + SECOND_NS;
        assert_eq!(gate.admit_parent(later_ns, later_ns), Ok(()));
        assert_eq!(gate.admit_parent(later_ns + 1, later_ns), Err(Unfit::Rate));
    }

    /// Refusals beyond the rate are reported to the client alone, at once and with their reason, and not at all where no program waits
    /// for them; they do not keep a good one from the engine.
    #[test]
    fn refused_commands_have_the_same_rate_and_leave_that_of_good_ones_alone() {
        let (mut gate, now_ns) = (gate(0, 0), 100 * SECOND_NS);
        let old = now_ns - AGE_MAX_NS - 1;
        let notified = |gate: &mut Gate, request, why| {
            let refused = gate.admit(&command(request, PARENT), now_ns);
            let refused = refused.expect_err("a refusal");
            assert_eq!(refused.why, why);
            refused.notify
        };
        assert_eq!(notified(&mut gate, 0, Unfit::Malformed), Notify::All);
        assert_eq!(notified(&mut gate, old, Unfit::TooOld), Notify::All);
        for (request, why) in [(0, Unfit::Malformed), (old, Unfit::TooOld)] {
            assert_eq!(notified(&mut gate, request, why), Notify::Client);
        }
        for request in [now_ns, now_ns + 1] {
            assert_eq!(gate.admit_parent(request, now_ns), Ok(()));
        }
        for request in 2..u64::from(ANSWERS_MAX) {
            assert_eq!(
                notified(&mut gate, now_ns + request, Unfit::Rate),
                Notify::Client
            );
        }
        let beyond = now_ns + u64::from(ANSWERS_MAX);
        assert_eq!(notified(&mut gate, beyond, Unfit::Rate), Notify::None);
        let later_ns = now_ns + SECOND_NS;
        assert_eq!(gate.admit_parent(later_ns, later_ns), Ok(()));
        let again = gate.admit(&command(later_ns, PARENT), later_ns);
        let again = again.expect_err("a refusal");
        assert_eq!((again.why, again.notify), (Unfit::Replayed, Notify::All));
    }

    /// A kill and a cancel are admitted at any number, age and rate; also a kill sent before the start, unless the
    /// journal has it: then it is not set again.
    #[test]
    fn a_kill_and_a_cancel_are_not_refused_for_age_number_or_rate() {
        let now_ns = 100 * SECOND_NS;
        let began_ns = now_ns - 10 * SECOND_NS;
        let mut gate = gate(began_ns - 5, began_ns);
        for (request, parent) in [
            (now_ns, Ok(())),
            (now_ns + 1, Ok(())),
            (now_ns + 2, Err(Unfit::Rate)),
        ] {
            assert_eq!(gate.admit_parent(request, now_ns), parent);
        }
        // Old, behind a later number, ahead of the clock, and beyond the rate.
        for request in [began_ns + 1, now_ns - 1, now_ns + 7 * SECOND_NS] {
            for of in [Command::Kill, CANCEL] {
                let admitted = gate.admit(&command(request, of), now_ns);
                assert_eq!(admitted, Ok(()), "{of:?}");
            }
        }
        assert_eq!(
            gate.admit(&command(began_ns - 1, Command::Kill), now_ns),
            Ok(())
        );
        let mut why = |command, now_ns| gate.admit(&command, now_ns).map_err(|refused| refused.why);
        let of_before = command(began_ns - 1, CANCEL);
        assert_eq!(why(of_before, now_ns), Err(Unfit::TooOld));
        let (known, later_ns) = (command(began_ns - 5, Command::Kill), now_ns + SECOND_NS);
        assert_eq!(why(known, later_ns), Err(Unfit::Replayed));
    }

    /// A kill in a file is behind later commands of the ring; one that the journal has is not executed again.
    #[test]
    fn a_kill_is_compared_with_kills_only() {
        let mut known = Known::default();
        for (request, of) in [(5, Command::Kill), (9, PARENT)] {
            let mut bytes = Vec::new();
            of.encode(&mut bytes);
            known.add(request, &bytes);
        }
        assert_eq!(known, Known { last: 9, kill: 5 });
        let mut gate = Gate::new(2, known, 20);
        assert_eq!(gate.admit(&command(7, Command::Kill), 30), Ok(()));
        let refused = gate.admit(&command(5, Command::Kill), 30);
        assert_eq!(refused.map_err(|refused| refused.why), Err(Unfit::Replayed));
    }
}
