//! Commands of clients: who may, what it is, and the answer.

use super::Incident;
use super::carry::Core;
use crate::config::{ClientConfig, CommandKind};
use crate::desk::{AHEAD_MAX_NS, COMMAND_BYTES_MAX, Command, Unfit};
use crate::edge::{Link, Output};
use crate::records::Record;
use crate::variant::Variant;
use serde_json::{Map, Value, json};
use touchline_fx::desk_trades::BookState;
use touchline_fx::input::{Desk, Input};
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
        let at_ns = time.wall_ns;
        // A number from the future must not refuse all others until then, also those behind a kill, and the journal knows the last one.
        // mutant: execution: a kill from the future refuses later commands
        let latest = time.mono_ns.saturating_add(AHEAD_MAX_NS);
        let request = Some(command.request).filter(|request| *request <= latest);
        let request = request.unwrap_or(0);
        // A kill is recorded first: the process may die between the two records, and a start executes no command that the journal has.
        // mutant: execution: a kill is recorded behind its command
        let is_kill = admitted.is_ok() && command.kind() == Some(CommandKind::Kill);
        let killed = is_kill.then(|| self.execute(time, client, &command.text, true));
        // mutant: execution: a replayed command is not in the journal
        let is_journaled = self.journal_command(time, client, command, request);
        let done = match (admitted, killed) {
            (Ok(()), Some(killed)) => killed,
            (Ok(()), None) => self.execute(time, client, &command.text, is_journaled),
            (Err(unfit), _) => Err(unfit.reason().to_owned()),
        };
        let (answer, reason) = match &done {
            Ok(answer) => (*answer, None),
            Err(reason) => ("refused", Some(reason)),
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
                    None => reason.clone(),
                },
            });
        }
        let (reason, cause) = (reason.map(String::as_str), cause.as_deref());
        let line = answer_line(at_ns, &client.name, command.request, answer, reason, cause);
        self.answer(at_ns, &line);
    }

    /// Refuses a command of before the start that no engine has seen. Its client may still wait for the answer; for the log all of them
    /// are one incident, as no person does anything about them.
    pub fn missed_command(&mut self, time: ReceiveTime, client: &ClientConfig, command: &Command) {
        let (at_ns, request) = (time.wall_ns, command.request);
        self.journal_command(time, client, command, request);
        let reason = Some(Unfit::TooOld.reason());
        let line = answer_line(at_ns, &client.name, request, "refused", reason, None);
        self.answer(at_ns, &line);
    }

    /// The ring of a client is refused, so that its commands are not read: an incident, and an answer of number 0 in the journal.
    pub fn refuse_ring(&mut self, at_ns: u64, client: &ClientConfig, why: &str) {
        self.incident(Incident::RingRefused {
            client: client.name.clone(),
            why: why.to_owned(),
        });
        let line = answer_line(at_ns, &client.name, 0, "refused", Some(RING_REFUSED), None);
        self.answer(at_ns, &line);
    }

    /// Journals a command that was executed before there was a journal to write, and its answer.
    pub fn note_command(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        command: &Command,
        answer: &str,
    ) {
        let at_ns = time.wall_ns;
        self.journal_command(time, client, command, command.request);
        let line = answer_line(at_ns, &client.name, command.request, answer, None, None);
        self.answer(at_ns, &line);
    }

    /// The command as received, with this number. False: the journal has it not.
    fn journal_command(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        command: &Command,
        request: u64,
    ) -> bool {
        let record = Record::Command {
            at_ns: time.wall_ns,
            request,
            client: &client.name,
            person: client.person(),
            text: &command.text,
        };
        let appended = self.append(time.wall_ns, &record);
        let is_journaled =
            appended.is_ok() && !self.is_journal_dead || Variant::ExecutedUnrecorded.is_on();
        self.check(appended, time);
        is_journaled
    }

    fn execute(
        &mut self,
        time: ReceiveTime,
        client: &ClientConfig,
        text: &str,
        is_journaled: bool,
    ) -> Result<&'static str, String> {
        let malformed = || "malformed".to_owned();
        if text.len() > COMMAND_BYTES_MAX {
            return Err(malformed());
        }
        let mut fields: Map<String, Value> = serde_json::from_str(text).map_err(|_| malformed())?;
        let op = fields.get("op").and_then(Value::as_str).unwrap_or_default();
        let kind = CommandKind::of_op(op).ok_or_else(malformed)?;
        if !client.may.contains(&kind) {
            return Err("not_allowed".to_owned());
        }
        // A kill and a cancel leave nothing that a restart would have to know: they are executed without a journal, too.
        if !is_journaled && !matches!(kind, CommandKind::Kill | CommandKind::Cancel) {
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
        // The person is that of the ring, whatever the command says.
        if matches!(
            kind,
            CommandKind::Kill | CommandKind::Lift | CommandKind::Book
        ) {
            fields.insert("by".to_owned(), client.person().into());
        }
        if Variant::LimitPriceIgnored.is_on() {
            fields.remove("limit");
        }
        let text = Value::Object(fields).to_string();
        let desk = read_desk(self.engine.setup(), &text).map_err(|_| malformed())?;
        match &desk {
            Desk::Parent(request) => {
                let quantity = request.terms.map_or(0, |terms| terms.quantity);
                if quantity > client.max_order {
                    return Err(CLIENT_ORDER_QTY.to_owned());
                }
                let accepted = self.accept(time, request, &text);
                accepted.map_err(|refusal| refusal.name().to_owned())?;
                Ok("accepted")
            }
            Desk::Kill { .. } => {
                // Decided is written with the decision itself; one that is killed already changes nothing.
                self.handle(time, &Input::Desk(desk));
                Ok("done")
            }
            Desk::Book { by, trade, .. } => {
                let state = self.engine.book_state(by.as_ref(), trade.as_ref());
                self.book(time, &desk, &text, state)
            }
            _ => self.decide(time, &desk, &text),
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
        let bound = || self.engine.refused_bound().map(str::to_owned);
        names.find(|name| *name == reason).and_then(|_| bound())
    }

    /// The person who has asked to lift the kill, if this client is of the same Unix user: two names of one user are no two persons,
    /// unless the configuration says so.
    fn first_lifter_of_user(&self, client: &ClientConfig) -> Option<Id> {
        if self.engine.setup().risk.lift_by_one_user {
            return None;
        }
        let first = self.engine.first_lifter()?;
        let is_first = |other: &&ClientConfig| other.person() == first.as_str();
        let others = self.clients.iter().filter(is_first);
        let is_other = first.as_str() != client.person();
        let own = self.clients.iter().find(|own| own.name == client.name);
        let user = own.and_then(|own| own.user);
        let is_same_user = others.into_iter().any(|other| other.user == user);
        (is_other && is_same_user).then_some(first)
    }

    /// A booking without an order. What is refused changes nothing, so that a restart takes each one in its journal for permitted,
    /// whoever may book then.
    fn book(
        &mut self,
        time: ReceiveTime,
        desk: &Desk,
        text: &str,
        state: BookState,
    ) -> Result<&'static str, String> {
        let answer = match state {
            BookState::First => "proposed",
            BookState::Booked => "booked",
            refused => {
                self.handle(time, &Input::Desk(*desk));
                return Err(refused.name().to_owned());
            }
        };
        self.decide(time, desk, text).map(|_| answer)
    }

    /// A command that a restart handles again.
    fn decide(
        &mut self,
        time: ReceiveTime,
        desk: &Desk,
        text: &str,
    ) -> Result<&'static str, String> {
        let is_void = match desk {
            Desk::Cancel { id } => {
                let parents = self.engine.parents();
                let is_any = |id: &Id| parents.to_cancel(id).next().is_some();
                !id.as_ref().is_some_and(is_any)
            }
            Desk::Enable { bank, pair } => bank.is_none() || pair.is_none(),
            Desk::Resolve { id, cum, price } => {
                let (id, price) = (id.as_ref(), price.as_ref());
                let is_possible = self.engine.resolution(id, *cum, price).is_some();
                let found = id.and_then(|id| self.engine.orders().of_id(id));
                let is_void =
                    found.is_none_or(|at| !self.engine.orders().get(at).state().is_doubtful());
                if !is_possible {
                    // It changes nothing: its alarm says so.
                    self.handle(time, &Input::Desk(*desk));
                }
                if !is_possible && !is_void {
                    return Err("not_resolved".to_owned());
                }
                is_void
            }
            Desk::Lift { .. } => !self.engine.is_killed(),
            _ => false,
        };
        if is_void {
            return Err("no_such_thing".to_owned());
        }
        let at_ns = time.wall_ns;
        if matches!(desk, Desk::Book { .. }) && Variant::BookingNotJournaled.is_on() {
            self.handle(time, &Input::Desk(*desk));
            return Ok("done");
        }
        let appended = self.append(at_ns, &Record::Decided { at_ns, text });
        if appended.is_err() {
            self.check(appended, time);
            return Err("journal".to_owned());
        }
        self.handle(time, &Input::Desk(*desk));
        // The pair is enabled; the command may have been sent before the desk was called for the bank.
        let still_asked = |bank: Bank| self.engine.waits_for_desk(bank);
        match desk {
            Desk::Enable { bank, .. } if bank.is_some_and(still_asked) => Ok("not_released"),
            _ => Ok("done"),
        }
    }
}

/// The line of an answer; a refusal has a reason for programs, and may have a cause for people.
pub(crate) fn answer_line(
    at_ns: u64,
    client: &str,
    request: u64,
    answer: &str,
    reason: Option<&str>,
    cause: Option<&str>,
) -> String {
    let mut line = json!({
        "t": at_ns, "client": client, "request": request, "answer": answer, "reason": reason,
    });
    if let Some(cause) = cause {
        line["cause"] = cause.into();
    }
    line.to_string()
}
