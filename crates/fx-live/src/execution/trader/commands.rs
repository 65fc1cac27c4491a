//! Commands of clients: permission, execution, and the answer.

use super::Incident;
use super::carry::Core;
use super::cause::{Cause, Commanded};
use crate::execution::config::{ClientConfig, CommandKind};
use crate::execution::desk::{AHEAD_MAX_NS, Notify, Received, Unadmitted, Unfit};
use crate::execution::edge::{Link, Output};
use std::fmt;
use touchline_fx::commands;
use touchline_fx::input::Input;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::desk::BookState;
use touchline_fx_events::desk::{Desk, ParentRequest};
use touchline_fx_events::encoding::NoCommand;
use touchline_fx_events::event::Answer;
use touchline_fx_events::risk::Refusal;
use touchline_fx_events::setup::Bank;
use touchline_types::{Id, ReceiveTime};

/// The reason in the answer for a ring that is not read.
pub(crate) const RING_REFUSED: &str = "ring_refused";

/// Why a command is refused.
#[derive(Debug)]
struct Refused {
    /// For programs.
    reason: &'static str,
    /// Detail for people that the reason omits: the mistake, or the limit and the value beyond it.
    cause: Option<String>,
}

impl From<&'static str> for Refused {
    fn from(reason: &'static str) -> Refused {
        Refused {
            reason,
            cause: None,
        }
    }
}

/// The reason and the cause, for the log.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(f, "{}: {cause}", self.reason),
            None => f.write_str(self.reason),
        }
    }
}

impl<O: Output, L: Link> Core<O, L> {
    /// Executes a command or refuses it. The command is in the journal as received, also one that was seen before, and so is
    /// the answer. Of a flood of refused ones the rest is answered only.
    pub fn command(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        received: &Received,
        admitted: Result<(), Unadmitted>,
    ) {
        self.totals.commands += 1;
        if let Err(Unadmitted { why, notify }) = admitted
            && notify != Notify::All
        {
            self.totals.refused += 1;
            self.answer_unrecorded(time, client, received.request, (why, notify));
            return;
        }
        self.wake(time);
        // A number from the future must not refuse all others until then, also those behind a kill, and the journal knows the last one.
        // mutant: execution: a kill from the future refuses later commands
        let latest = time.mono_ns.saturating_add(AHEAD_MAX_NS);
        let request = Some(received.request).filter(|request| *request <= latest);
        self.batch.clear();
        let done = match admitted {
            Ok(()) => self.execute(time, client, received),
            Err(Unadmitted { why, .. }) => Err(refused_as(why, client)),
        };
        if let Err(refused) = &done {
            self.totals.refused += 1;
            self.incident(Incident::Refused {
                client: client.name.clone(),
                reason: refused.to_string(),
            });
        }
        let (answer, decision, refused) = match &done {
            Ok((answer, decision)) => (*answer, decision.as_ref(), None),
            Err(refused) => ("refused", None, Some(refused)),
        };
        let commanded = Commanded {
            person: client.person(),
            received: evidence(received),
            request: request.unwrap_or(0),
            decision,
            answer: Answer {
                client: &client.name,
                request: received.request,
                answer,
                reason: refused.map(|refused| refused.reason),
                cause: refused.and_then(|refused| refused.cause.as_deref()),
            },
            needs_record: needs_record(received.kind()),
        };
        self.carry_out(time, Cause::Command(commanded));
    }

    /// Refuses a command from before the start that no engine has handled. Its client may still wait for the answer;
    /// the log reports all of them as one incident, because no person has to act.
    pub fn missed_command(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        received: &Received,
    ) {
        let answer = ("refused", Some(Unfit::TooOld.reason()));
        self.note(time, client, received, answer);
    }

    /// Answers a command of a flood that is neither in the journal nor in the log: its client still waits.
    pub fn answer_unrecorded(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        request: u64,
        (why, notify): (Unfit, Notify),
    ) {
        if notify == Notify::None {
            return;
        }
        let Refused { reason, cause } = refused_as(why, client);
        let answer = Answer {
            client: &client.name,
            request,
            answer: "refused",
            reason: Some(reason),
            cause: cause.as_deref(),
        };
        self.recorder.publish_answer(time.wall_ns, &answer);
    }

    /// The ring of a client is refused, so that its commands are not read: an incident, and an answer of number 0 in the journal.
    pub fn refuse_ring(&mut self, time: ReceiveTime, client: &ClientConfig, why: &str) {
        self.incident(Incident::RingRefused {
            client: client.name.clone(),
            why: why.to_owned(),
        });
        let answer = Answer {
            client: &client.name,
            request: 0,
            answer: "refused",
            reason: Some(RING_REFUSED),
            cause: None,
        };
        self.carry_out(time, Cause::Answer(answer));
    }

    /// Journals a command that was executed before there was a journal to write, and its answer.
    pub fn note_command(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        received: &Received,
        answer: &str,
    ) {
        self.note(time, client, received, (answer, None));
    }

    /// Journals a command that the core does not handle, and its answer.
    fn note(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        received: &Received,
        (answer, reason): (&str, Option<&str>),
    ) {
        let commanded = Commanded {
            person: client.person(),
            received: evidence(received),
            request: received.request,
            decision: None,
            answer: Answer {
                client: &client.name,
                request: received.request,
                answer,
                reason,
                cause: None,
            },
            needs_record: false,
        };
        self.carry_out(time, Cause::Command(commanded));
    }

    /// Executes a command in the core. Returns the answer, and the decision that a restart handles again.
    fn execute(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        received: &Received,
    ) -> Result<Done, Refused> {
        let command = received.command.as_ref().map_err(|unread| Refused {
            reason: unread.why.reason(),
            cause: match unread.why {
                NoCommand::Version(_) => Some(unread.why.to_string()),
                NoCommand::Malformed => None,
            },
        })?;
        let kind = CommandKind::of(command);
        if !client.may.contains(&kind) {
            return Err("not_allowed".into());
        }
        let has_journal = !self.recorder.is_dead() && self.recorder.refused().is_none();
        // mutant: simulation: commands are executed and orders sent without a record
        if !has_journal && needs_record(Some(kind)) {
            return Err("kill".into());
        }
        if let Command::Parent(order) = command {
            return self.parent(time, client, order);
        }
        if *command == Command::Lift {
            self.check_lifter(client)?;
        }
        let desk = commands::desk(self.engine.setup(), command);
        let mut desk = desk.ok_or(NoCommand::Malformed.reason())?;
        // The person is that of the ring.
        if let Desk::Kill { by } | Desk::Lift { by } | Desk::Book { by, .. } = &mut desk {
            *by = Some(Id::lossy(client.person().as_bytes()));
        }
        match desk {
            Desk::Kill { .. } => {
                self.apply(time, &desk);
                Ok(("done", None))
            }
            Desk::Book { by, trade, .. } => {
                let state = self
                    .engine
                    .trading()
                    .book_state(by.as_ref(), trade.as_ref());
                self.apply(time, &desk);
                match state {
                    BookState::First => Ok(("proposed", Some(desk))),
                    BookState::Booked => Ok(("booked", Some(desk))),
                    refused => Err(refused.name().into()),
                }
            }
            _ => self.decide(time, desk),
        }
    }

    /// Accepts a parent or refuses it, with the mistake in it, or the limit and the value beyond it.
    fn parent(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        order: &Order,
    ) -> Result<Done, Refused> {
        // mutant: simulation: orders ignore the limit price of their parent
        let terms = commands::terms(self.engine.setup(), order);
        if let Ok(terms) = &terms {
            let ClientConfig {
                name,
                max_order,
                limit_required,
                ..
            } = client;
            if *limit_required && terms.limit.is_none() {
                return Err(Refused {
                    reason: "limit_required",
                    cause: Some(format!("client {name} must give a limit")),
                });
            }
            if terms.quantity > *max_order {
                return Err(Refused {
                    reason: "client_order_qty",
                    cause: Some(format!("max_order of client {name} is {max_order}")),
                });
            }
        }
        let request = ParentRequest {
            id: Some(order.id),
            terms: terms.as_ref().ok().copied(),
        };
        let (engine, batch) = (&mut self.engine, &mut self.batch);
        let Err(refused) = engine.accept(time.wall_ns, &request, batch) else {
            return Ok(("accepted", None));
        };
        let cause = match (refused.reason, terms) {
            (Refusal::BadOrder, Err(mistake)) => Some(mistake.to_string()),
            _ => refused.bound,
        };
        Err(Refused {
            reason: refused.reason.name(),
            cause,
        })
    }

    /// Whether this client may lift the kill now.
    fn check_lifter(&self, client: &ClientConfig) -> Result<(), Refused> {
        let refused = |reason, cause| Refused {
            reason,
            cause: Some(cause),
        };
        let person = client.person();
        // A request without effect is not recorded: a later start would not know that it had none.
        // mutant: execution: a lift by another person is answered as done
        if !self.engine.trading().may_lift(person) {
            let cause = format!("{person} is not in kill_lifters of [risk]");
            return Err(refused("not_allowed", cause));
        }
        if let Some(other) = self.first_lifter_of_user(client) {
            let allow = "[risk] lift_by_one_user = true would allow it";
            let cause = format!("{other} is of the same Unix user; {allow}");
            return Err(refused("one_user", cause));
        }
        Ok(())
    }

    /// The person who first asked to lift the kill, if this client is of the same Unix user: two names of one user do
    /// not count as two persons, unless the configuration allows it.
    fn first_lifter_of_user(&self, client: &ClientConfig) -> Option<Id> {
        if self.engine.setup().risk.lift_by_one_user {
            return None;
        }
        let first = self.engine.trading().first_lifter()?;
        let is_first = |other: &&ClientConfig| other.person() == first.as_str();
        let others = self.clients.iter().filter(is_first);
        let is_other = first.as_str() != client.person();
        let own = self.clients.iter().find(|own| own.name == client.name);
        let user = own.and_then(|own| own.user);
        let is_same_user = others.into_iter().any(|other| other.user == user);
        (is_other && is_same_user).then_some(first)
    }

    /// Executes a command that a restart handles again. A refused command changes nothing, so a restart treats each
    /// command in its journal as permitted, even if its client has lost the permission since.
    fn decide(&mut self, time: ReceiveTime, desk: Desk) -> Result<Done, Refused> {
        let is_void = match &desk {
            Desk::Cancel { id } => {
                let parents = self.engine.trading().parents();
                let is_any = |id: &Id| parents.to_cancel(id).next().is_some();
                !id.as_ref().is_some_and(is_any)
            }
            Desk::Enable { bank, pair } => bank.is_none() || pair.is_none(),
            Desk::Resolve { id, cum, price } => {
                let (id, price) = (id.as_ref(), price.as_ref());
                let is_possible = self.engine.trading().resolution(id, *cum, price).is_some();
                let found = id.and_then(|id| self.engine.trading().orders().of_id(id));
                let is_void = found
                    .is_none_or(|at| !self.engine.trading().orders().get(at).state().is_doubtful());
                if !is_possible {
                    // The resolution is applied for its alarm alone: it changes nothing.
                    self.apply(time, &desk);
                }
                if !is_possible && !is_void {
                    return Err("not_resolved".into());
                }
                is_void
            }
            Desk::Lift { .. } => !self.engine.trading().is_killed(),
            _ => false,
        };
        if is_void {
            return Err("no_such_thing".into());
        }
        self.apply(time, &desk);
        // The pair is enabled; the command may have been sent before the desk was called for the bank.
        let is_asked = |bank: Bank| self.engine.trading().waits_for_desk(bank);
        let answer = match desk {
            Desk::Enable { bank, .. } if bank.is_some_and(is_asked) => "not_released",
            _ => "done",
        };
        Ok((answer, Some(desk)))
    }

    fn apply(&mut self, time: ReceiveTime, desk: &Desk) {
        let (engine, batch) = (&mut self.engine, &mut self.batch);
        engine.handle(time.wall_ns, &Input::Desk(*desk), batch);
    }
}

/// Contents of a message for the journal.
fn evidence(received: &Received) -> Result<&Command, &[u8]> {
    received.command.as_ref().map_err(|unread| &*unread.bytes)
}

/// Why a command was not admitted.
fn refused_as(why: Unfit, client: &ClientConfig) -> Refused {
    let ClientConfig {
        name,
        max_commands_per_s,
        ..
    } = client;
    let rate = || format!("max_commands_per_s of client {name} is {max_commands_per_s}");
    Refused {
        reason: why.reason(),
        cause: (why == Unfit::Rate).then(rate),
    }
}

/// The answer, and the decision that a restart handles again.
type Done = (&'static str, Option<Desk>);

/// Whether a command is executed only after the journal has stored it. A restart need not know of a kill or a cancel.
fn needs_record(kind: Option<CommandKind>) -> bool {
    !matches!(kind, Some(CommandKind::Kill | CommandKind::Cancel))
}
