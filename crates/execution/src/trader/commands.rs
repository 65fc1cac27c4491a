//! Commands of clients: who may, what it is, and the answer.

use super::Incident;
use super::carry::{Cause, Commanded, Core};
use crate::config::{ClientConfig, CommandKind};
use crate::desk::{AHEAD_MAX_NS, COMMAND_BYTES_MAX, Command, Unfit};
use crate::edge::{Link, Output};
use crate::variant::Variant;
use touchline_fx::desk_trades::BookState;
use touchline_fx::event::Answer;
use touchline_fx::input::{Desk, Input, ParentRequest};
use touchline_fx::risk::Refusal;
use touchline_fx::session_file::{bad_order, read_desk};
use touchline_fx::setup::Bank;
use touchline_types::{Id, ReceiveTime};

/// The reason of a parent larger than its client may send.
const CLIENT_ORDER_QTY: &str = "client_order_qty";
/// The reason in the answer for a ring that is not read.
pub(crate) const RING_REFUSED: &str = "ring_refused";

impl<O: Output, L: Link> Core<O, L> {
    /// Executes a command or refuses it. The command is in the journal as received, also one that was seen before, and so is
    /// the answer. Of a flood of refused ones the rest is counted only.
    pub fn command(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        command: &Command,
        admitted: Result<(), Unfit>,
    ) {
        self.totals.commands += 1;
        if admitted == Err(Unfit::Flood) {
            self.totals.refused += 1;
            return;
        }
        self.wake(time);
        // A number from the future must not refuse all others until then, also those behind a kill, and the journal knows the last one.
        // mutant: execution: a kill from the future refuses later commands
        let latest = time.mono_ns.saturating_add(AHEAD_MAX_NS);
        let request = Some(command.request).filter(|request| *request <= latest);
        let kind = command.kind();
        self.batch.clear();
        let done = match admitted {
            Ok(()) => self.execute(time, client, kind, &command.text),
            Err(unfit) => Err(unfit.reason().to_owned()),
        };
        let (answer, reason) = match &done {
            Ok((answer, _)) => (*answer, None),
            Err(reason) => ("refused", Some(reason.as_str())),
        };
        // The answer and the log also have the cause.
        let cause = reason.and_then(|reason| match admitted {
            Ok(()) => self.cause_of(client, &command.text, reason),
            Err(Unfit::Rate) => Some(format!(
                "max_commands_per_s of client {} is {}",
                client.name, client.max_commands_per_s
            )),
            Err(_) => None,
        });
        if let Some(reason) = reason {
            self.totals.refused += 1;
            self.incident(Incident::Refused {
                client: client.name.clone(),
                reason: match &cause {
                    Some(cause) => format!("{reason}: {cause}"),
                    None => reason.to_owned(),
                },
            });
        }
        let commanded = Commanded {
            person: client.person(),
            text: &command.text,
            request: request.unwrap_or(0),
            decision: done
                .as_ref()
                .ok()
                .and_then(|(_, decision)| decision.as_ref()),
            answer: Answer {
                client: &client.name,
                request: command.request,
                answer,
                reason,
                cause: cause.as_deref(),
            },
            needs_record: needs_record(kind),
        };
        self.carry_out(time, Cause::Command(commanded));
    }

    /// Refuses a command of before the start that no engine has seen. Its client may still wait for the answer; for the log all of them
    /// are one incident, as no person does anything about them.
    pub fn missed_command(&mut self, time: ReceiveTime, client: &ClientConfig, command: &Command) {
        self.note(
            time,
            client,
            command,
            ("refused", Some(Unfit::TooOld.reason())),
        );
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
        command: &Command,
        answer: &str,
    ) {
        self.note(time, client, command, (answer, None));
    }

    /// Journals a command that the core does not handle, and its answer.
    fn note(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        command: &Command,
        (answer, reason): (&str, Option<&str>),
    ) {
        let commanded = Commanded {
            person: client.person(),
            text: &command.text,
            request: command.request,
            decision: None,
            answer: Answer {
                client: &client.name,
                request: command.request,
                answer,
                reason,
                cause: None,
            },
            needs_record: false,
        };
        self.carry_out(time, Cause::Command(commanded));
    }

    /// Executes a command in the core. Returns the answer, and what a restart handles again.
    fn execute(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        kind: Option<CommandKind>,
        text: &str,
    ) -> Result<Done, String> {
        let malformed = || "malformed".to_owned();
        if text.len() > COMMAND_BYTES_MAX {
            return Err(malformed());
        }
        let kind = kind.ok_or_else(malformed)?;
        if !client.may.contains(&kind) {
            return Err("not_allowed".to_owned());
        }
        let has_journal = !self.is_journal_dead && self.refused.is_none();
        if !has_journal && needs_record(Some(kind)) && !Variant::ExecutedUnrecorded.is_on() {
            return Err("kill".to_owned());
        }
        if kind == CommandKind::Lift
            && let Some(other) = self.first_lifter_of_user(client)
        {
            let allow = "[risk] lift_by_one_user = true would allow it";
            return Err(format!(
                "one_user: {other} is of the same Unix user; {allow}"
            ));
        }
        let mut desk = read_desk(self.engine.setup(), text).map_err(|_| malformed())?;
        // The person is that of the ring, whatever the command says.
        if let Desk::Kill { by } | Desk::Lift { by } | Desk::Book { by, .. } = &mut desk {
            *by = Some(Id::lossy(client.person().as_bytes()));
        }
        match desk {
            Desk::Parent(request) => self.parent(time, client, request),
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
                    refused => Err(refused.name().to_owned()),
                }
            }
            _ => self.decide(time, desk),
        }
    }

    /// Why a command that was admitted was just refused for this reason, where the reason does not say it: the mistake in a parent, or the limit and the value
    /// beyond it.
    fn cause_of(&self, client: &ClientConfig, text: &str, reason: &str) -> Option<String> {
        let setup = self.engine.setup();
        if reason == Refusal::BadOrder.name() {
            return bad_order(setup, text).map(|cause| cause.to_string());
        }
        if reason == CLIENT_ORDER_QTY {
            let ClientConfig {
                name, max_order, ..
            } = client;
            return Some(format!("max_order of client {name} is {max_order}"));
        }
        let is_of_parent = [
            Refusal::Duplicate,
            Refusal::OrderQty,
            Refusal::Rate,
            Refusal::Collar,
            Refusal::Net,
            Refusal::Gross,
        ];
        let mut names = is_of_parent.iter().map(|refusal| refusal.name());
        let bound = || self.engine.trading().refused_bound().map(str::to_owned);
        names.find(|name| *name == reason).and_then(|_| bound())
    }

    fn parent(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        mut request: ParentRequest,
    ) -> Result<Done, String> {
        if let Some(terms) = &mut request.terms
            && Variant::LimitPriceIgnored.is_on()
        {
            terms.limit = None;
        }
        let quantity = request.terms.map_or(0, |terms| terms.quantity);
        if quantity > client.max_order {
            return Err(CLIENT_ORDER_QTY.to_owned());
        }
        let (engine, batch) = (&mut self.engine, &mut self.batch);
        let accepted = engine.accept(time.wall_ns, &request, batch);
        accepted.map_err(|refusal| refusal.name().to_owned())?;
        Ok(("accepted", None))
    }

    /// The person who has asked to lift the kill, if this client is of the same Unix user: two names of one user are not two persons,
    /// unless the configuration says so.
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

    /// A command that a restart handles again. What is refused changes nothing, so that a restart takes each one in its journal for
    /// permitted, even if its client has lost the permission since.
    fn decide(&mut self, time: ReceiveTime, desk: Desk) -> Result<Done, String> {
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
                    // It changes nothing: its alarm says so.
                    self.apply(time, &desk);
                }
                if !is_possible && !is_void {
                    return Err("not_resolved".to_owned());
                }
                is_void
            }
            Desk::Lift { .. } => !self.engine.trading().is_killed(),
            _ => false,
        };
        if is_void {
            return Err("no_such_thing".to_owned());
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

/// The answer, and what a restart handles again.
type Done = (&'static str, Option<Desk>);

/// Whether a command is executed only if the journal has it. A kill and a cancel leave nothing that a restart would have to know.
fn needs_record(kind: Option<CommandKind>) -> bool {
    !matches!(kind, Some(CommandKind::Kill | CommandKind::Cancel))
}
