//! What the core decides is carried out: the journal first, then the sessions, then the drop copy.

use super::sessions::Faults;
use super::{Incident, Path, Quotes, Totals};
use crate::config::ClientConfig;
use crate::edge::{Link, Output};
use crate::order_session::OrderSession;
use crate::records::{self, Order, Record};
use crate::statistics::BankCounts;
use crate::variant::Variant;
use std::collections::VecDeque;
use touchline_fx::event::{Alarm, Event, Message, OrderEvent, OrderLine};
use touchline_fx::input::{Desk, Input, ParentRequest, Session};
use touchline_fx::lines::{LineKind, body, each_line, fields, msg_type};
use touchline_fx::orders::Terms;
use touchline_fx::risk::Refusal;
use touchline_fx::setup::{Bank, Setup};
use touchline_fx::stages::Stage;
use touchline_fx::{Batch, Engine};
use touchline_journal::Refused;
use touchline_types::{Id, ReceiveTime, Side};
use touchline_wire::fix::{Encoder, Precision};

/// TransactTime.
const TRANSACT_TIME: u32 = 60;
/// Incidents that wait for the log at most.
const INCIDENTS_MAX: usize = 1_024;
/// Largest record of lines; more lines become another record.
const LINES_BYTES_MAX: usize = 48 << 10;
/// Most paths that a round keeps.
pub(super) const PATHS_MAX: usize = 4_096;

/// What a run finds of its host.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Boot {
    /// Its id.
    pub id: [u8; 16],
    /// That of the run before, if the journal has it.
    pub before: Option<[u8; 16]>,
    /// The journal may lack orders.
    pub lacks: bool,
    /// The shared memory of the run before is not there.
    pub is_tail_lost: bool,
}

/// The core, and what it acts on.
pub(super) struct Core<O, L> {
    pub engine: Engine,
    pub batch: Batch,
    pub out: O,
    pub is_disk: bool,
    pub sync_wait_ns: u64,
    /// A round that lasts longer was stopped.
    pub pause_max_ns: u64,
    /// The journal cannot be written: no new orders are sent.
    pub is_journal_dead: bool,
    /// The run before was killed, and its journal could not record it.
    pub is_kill_unrecorded: bool,
    /// Why the journal refused a record, the first one.
    pub refused: Option<Refused>,
    /// The last alarm of the journal.
    pub alarm: u64,
    pub sessions: Vec<OrderSession<L>>,
    pub incidents: VecDeque<Incident>,
    pub totals: Totals,
    /// Everybody who may send commands.
    pub clients: Vec<ClientConfig>,
    /// What the run before could not tell, until this one begins.
    pub untold: Vec<Batch>,
    /// The boot of the host, until this run begins.
    pub boot: Boot,
    /// Number of the next line.
    pub next_line: u64,
    /// Counts of each bank.
    pub banks: Vec<BankCounts>,
    /// Faults of each bank's order session.
    pub faults: Vec<Faults>,
    /// Banks whose sessions have messages of the present batch.
    pub is_filled: Vec<bool>,
    /// The wall clock less the engine's clock, nanoseconds.
    pub wall_ahead_ns: i64,
    /// Paths of this round that sent something.
    pub paths: Vec<Path>,
    /// When the last cancel was handed to the kernel, in ticks.
    pub last_canceled: u64,
    /// The first bank that may make a step of its connection in the next round.
    pub connects_next: Bank,
    /// Orders of the present batch, by bank.
    pub ahead: Vec<u64>,
    pub body: Vec<u8>,
    pub text: String,
    pub lines: Vec<u8>,
    pub line: String,
}

impl<O: Output, L: Link> Core<O, L> {
    /// A quote of a bank, or its session. Quotes are not in the journal.
    pub fn quotes(&mut self, time: ReceiveTime, bank: Bank, session: Quotes<'_>) {
        self.watch_round(time, 0);
        let receive_ns = match &session {
            Session::Quotes(quotes) => quotes.receive_ns,
            _ => time.wall_ns,
        };
        let orders = self.totals.orders;
        self.batch.stages.begin();
        self.handle(time, &Input::Pricing(bank, session));
        let orders = self.totals.orders - orders;
        if orders > 0 {
            self.engine.warm();
        }
        if orders > 0 && self.paths.len() < PATHS_MAX {
            let stages = &self.batch.stages;
            let (began, ended) = stages.span();
            self.paths.push(Path {
                receive_ns,
                began,
                ended,
                spent: *stages.spent(),
                orders,
            });
        }
    }

    /// Executes due timers.
    pub fn wake(&mut self, time: ReceiveTime) {
        if self.engine.next_timeout_ns() <= time.wall_ns {
            self.batch.clear();
            self.engine.handle_timeout(time.wall_ns, &mut self.batch);
            self.carry_out(time, None);
        }
    }

    /// Passes an input to the core, and carries out the result. Timers that are due before it are carried out before it,
    /// so that the journal has everything in the order of its times.
    pub fn handle(&mut self, time: ReceiveTime, input: &Input<'_>) {
        self.wake(time);
        self.batch.clear();
        self.engine.handle(time.wall_ns, input, &mut self.batch);
        self.carry_out(time, None);
    }

    /// [`Core::handle`] of a requested parent; `text` is its command, which the journal has if it is accepted.
    ///
    /// # Errors
    /// The parent is refused.
    pub fn accept(
        &mut self,
        time: ReceiveTime,
        request: &ParentRequest,
        text: &str,
    ) -> Result<usize, Refusal> {
        self.wake(time);
        self.batch.clear();
        let accepted = self.engine.accept(time.wall_ns, request, &mut self.batch);
        self.carry_out(time, accepted.is_ok().then_some(text));
        accepted
    }

    /// Sets the kill switch by itself.
    pub fn kill(&mut self, by: &str, time: ReceiveTime) {
        let by = Id::new(by.as_bytes());
        self.handle(time, &Input::Desk(Desk::Kill { by }));
    }

    /// Adds an incident for the log.
    pub fn incident(&mut self, incident: Incident) {
        self.totals.alarms += u64::from(incident.is_alarm_of_its_own());
        match self.incidents.len() < INCIDENTS_MAX {
            true => self.incidents.push_back(incident),
            false => self.totals.incidents_dropped += 1,
        }
    }

    /// Carries out a batch; `parent` is the command of the parent that was accepted in it.
    fn carry_out(&mut self, time: ReceiveTime, parent: Option<&str>) {
        if self.batch.events.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let cancels = self.totals.cancels;
        if Variant::SentBeforeJournaled.is_on() {
            self.send_decisions(&batch, None, time);
        }
        let failed = self.journal_decisions(&batch, parent);
        batch.stages.lap(Stage::Journal);
        if !Variant::SentBeforeJournaled.is_on() {
            self.send_decisions(&batch, failed.as_ref().map(|(count, _)| *count), time);
        }
        batch.stages.lap(Stage::Sent);
        if self.totals.cancels > cancels {
            (_, self.last_canceled) = batch.stages.span();
        }
        self.tell(&batch, parent, time.wall_ns);
        batch.clear();
        self.batch = batch;
        if let Some((_, why)) = failed {
            self.journal_failed(&why, time);
        }
        #[cfg(test)]
        self.reject_unknown(time);
    }

    /// Sends the messages of a batch; of its orders only the first `journaled`, if not all are in the journal.
    fn send_decisions(&mut self, batch: &Batch, journaled: Option<usize>, time: ReceiveTime) {
        let mut orders = 0;
        for (_, event) in &batch.events {
            let Event::Order(line) = event else { continue };
            let Some(message) = sent(line) else { continue };
            let is_in_doubt = line.status.is_some_and(|status| status.state.is_doubtful());
            if Variant::DoubtfulNotCanceled.is_on()
                && is_in_doubt
                && matches!(message, Message::Cancel { .. })
            {
                continue;
            }
            self.is_filled[line.bank] = true;
            match message {
                Message::Order(terms) => {
                    let is_journaled = journaled.is_none_or(|count| orders < count);
                    orders += 1;
                    self.send_order(terms, message, is_journaled, time);
                }
                _ => self.send_other(line.bank, message, time),
            }
        }
        self.flush_filled(time);
    }

    /// Journals the decisions of a batch, its orders among them. On failure: how many orders are in the journal, and why
    /// the next is not.
    fn journal_decisions(
        &mut self,
        batch: &Batch,
        parent: Option<&str>,
    ) -> Option<(usize, String)> {
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.fill(0);
        let (mut count, mut last) = (0, None);
        let mut failed = self
            .is_journal_dead
            .then(|| (0, "it had failed".to_owned()));
        for (at_ns, event) in &batch.events {
            let appended = match event {
                Event::Accepted { .. } if Variant::ParentNotJournaled.is_on() => continue,
                Event::Kill { .. } if Variant::KillNotJournaled.is_on() => continue,
                Event::Accepted { .. } => {
                    let text = parent.unwrap_or_default();
                    let record = Record::Decided {
                        at_ns: *at_ns,
                        text,
                    };
                    self.append(*at_ns, &record)
                }
                Event::Kill { by } => {
                    let by = by.as_ref().map_or("", Id::as_str);
                    let text = serde_json::json!({"op": "kill", "by": by}).to_string();
                    let text = &text;
                    self.append(
                        *at_ns,
                        &Record::Decided {
                            at_ns: *at_ns,
                            text,
                        },
                    )
                }
                Event::Order(line) => match sent(line) {
                    Some(Message::Order(_)) if failed.is_some() => continue,
                    Some(Message::Order(terms)) => {
                        let sequence = self.sessions[terms.bank].next_out() + ahead[terms.bank];
                        ahead[terms.bank] += 1;
                        let order = self.order_of(terms, sequence);
                        self.append(terms.sent_ns, &Record::Order(order))
                            .inspect(|_| count += 1)
                    }
                    // It leaves before the orders behind it, and is journaled when it does.
                    Some(_) => {
                        ahead[line.bank] += u64::from(!Variant::QuestionsUncounted.is_on());
                        continue;
                    }
                    None => continue,
                },
                _ => continue,
            };
            match appended {
                Ok(appended) => last = Some(appended),
                Err(refused) => {
                    failed.get_or_insert((count, refused.to_string()));
                }
            }
        }
        self.ahead = ahead;
        // mutant: execution: an order does not wait for the disk
        if let Some(last) = last.filter(|_| self.is_disk && count > 0)
            && !self.out.wait_until_safe(&last, self.sync_wait_ns)
        {
            failed = Some((0, "the disk is too slow".to_owned()));
        }
        failed
    }

    fn order_of(&self, terms: &Terms, sequence: u64) -> Order {
        Order {
            sent_ns: terms.sent_ns,
            quantity: terms.quantity,
            price: terms.price,
            mid2: terms.mid2_sent,
            sequence,
            bank: terms.bank as u16,
            pair: terms.pair as u16,
            is_buy: terms.side == Side::Bid,
            is_fok: terms.is_fok,
            value_date: terms.value_date,
            id: terms.id,
            parent: self.engine.parents().get(terms.parent).terms.id,
            quote_id: terms.quote_id,
        }
    }

    /// Sends an order that is in the journal. One that cannot be sent is asked for like any other.
    pub fn send_order(
        &mut self,
        terms: &Terms,
        message: &Message,
        is_journaled: bool,
        time: ReceiveTime,
    ) {
        let disk_ns = if self.is_disk { self.sync_wait_ns } else { 0 };
        // mutant: execution: an order that is not in the journal is sent
        let may_leave =
            is_journaled && !self.is_journal_dead || Variant::ExecutedUnrecorded.is_on();
        // Decided before the process was stopped, and its price is old.
        if !may_leave || self.watch_round(time, disk_ns) {
            self.totals.unsent += 1;
            return;
        }
        let wall = self.wall(time);
        let setup = self.engine.setup();
        let session = &mut self.sessions[terms.bank];
        let sent = session.send("D", wall, |encoder| {
            put_fields(setup, message, (time, wall), encoder);
        });
        match sent {
            Ok(_) => {
                self.totals.orders += 1;
                self.faults[terms.bank].grant(0);
                // The record of the order has its number.
                session.note_journaled(session.numbers());
            }
            Err(_) => self.totals.unsent += 1,
        }
    }

    fn send_other(&mut self, bank: Bank, message: &Message, time: ReceiveTime) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        body(self.engine.setup(), message, &mut text);
        let (at_ns, sequence) = (time.wall_ns, self.sessions[bank].next_out());
        let record = Record::Message {
            at_ns,
            bank: bank as u16,
            sequence,
            body: &text,
        };
        // Cancels and questions make no position: they leave even if the journal cannot be written.
        let appended = self.append(at_ns, &record);
        self.text = text;
        let wall = self.wall(time);
        let setup = self.engine.setup();
        let session = &mut self.sessions[bank];
        let sent = session.send(msg_type(message), wall, |encoder| {
            put_fields(setup, message, (time, wall), encoder);
        });
        let is_cancel = matches!(message, Message::Cancel { .. });
        match message {
            Message::DontKnow(_) => {}
            // The answer names each order of the day.
            Message::MassStatus { .. } => {
                let orders = self.engine.orders().iter().count() as u64 + 1_000;
                self.faults[bank].grant(orders);
            }
            _ => self.faults[bank].grant(0),
        }
        self.totals.cancels += u64::from(is_cancel && sent.is_ok());
        if sent.is_ok() && appended.is_ok() {
            session.note_journaled(session.numbers());
        }
    }

    /// Hands the messages of a batch to the kernel, with one call for each bank: a kill cancels a thousand orders.
    fn flush_filled(&mut self, time: ReceiveTime) {
        for bank in 0..self.is_filled.len() {
            if std::mem::take(&mut self.is_filled[bank]) {
                self.flush(bank, time);
            }
        }
    }

    /// Hands the bytes of a session to the kernel, its numbers first to the journal.
    pub fn flush(&mut self, bank: Bank, time: ReceiveTime) {
        let unjournaled = self.sessions[bank].unjournaled();
        if let Some(numbers) = unjournaled.filter(|_| !Variant::NumbersNotJournaled.is_on()) {
            let (next_out, next_in) = numbers;
            let record = Record::Numbers {
                bank: bank as u16,
                next_out,
                next_in,
            };
            if self.append(time.wall_ns, &record).is_ok() {
                self.sessions[bank].note_journaled(numbers);
            }
        }
        self.sessions[bank].flush();
    }

    /// Journals the lines of a batch, then publishes them; alarms become incidents.
    pub fn tell(&mut self, batch: &Batch, parent: Option<&str>, at_ns: u64) {
        let mut lines = std::mem::take(&mut self.lines);
        let mut line = std::mem::take(&mut self.line);
        lines.clear();
        let mut events = batch.events.iter();
        let mut first = self.next_line;
        let (drop_copy, totals, setup) = (&mut self.out, &mut self.totals, self.engine.setup());
        let next_line = &mut self.next_line;
        let faults = &mut self.faults;
        let mut incidents = Vec::new();
        let mut full = Vec::new();
        each_line(setup, batch, &mut line, |kind, text| {
            let event = events.next().map(|(_, event)| event);
            if kind == LineKind::Composite {
                totals.composites += 1;
                drop_copy.publish(0, 0, text);
                return;
            }
            let mut put = |kind: u8, text: &str| {
                *next_line += 1;
                if lines.len() + text.len() > LINES_BYTES_MAX {
                    full.push((first, std::mem::take(&mut lines)));
                    first = *next_line - 1;
                }
                records::put_line(&mut lines, kind, text);
            };
            match event {
                Some(Event::Alarm { what, bank, order }) => {
                    totals.alarms += 1;
                    let told = match (bank, what) {
                        (Some(bank), Alarm::DontKnow('D') | Alarm::UnknownExec) => {
                            faults[*bank].foreign(at_ns).map_err(|count| (*bank, count))
                        }
                        _ => Ok(()),
                    };
                    if let Err((bank, count)) = told {
                        let bank = setup.banks[bank].config.name.clone();
                        let foreign = count.map(|count| Incident::Foreign { bank, count });
                        incidents.extend(foreign);
                        put(number_of(kind), text);
                        return;
                    }
                    incidents.push(Incident::Alarm {
                        what: *what,
                        bank: bank
                            .map_or_else(String::new, |bank| setup.banks[bank].config.name.clone()),
                        order: *order,
                    });
                }
                Some(Event::Kill { by }) => {
                    totals.kills += 1;
                    incidents.push(Incident::Killed { by: *by });
                }
                Some(Event::Fill(_)) => totals.fills += 1,
                Some(Event::Accepted { .. }) => {
                    if let Some(parent) = parent {
                        put(records::PARENTS, parent);
                    }
                }
                _ => {}
            }
            put(number_of(kind), text);
        });
        let all = full.iter().map(|(first, lines)| (*first, lines));
        for (first, lines) in all.chain([(first, &lines)]) {
            if lines.is_empty() {
                continue;
            }
            let record = Record::Lines {
                at_ns,
                first,
                lines,
            };
            if Variant::PublishedBeforeJournaled.is_on() {
                self.publish(first, lines, true);
            }
            // A journal that refuses it is noticed in the next round.
            let appended = self.append(at_ns, &record);
            self.publish(first, lines, appended.is_ok());
        }
        self.lines = lines;
        self.line = line;
        for incident in incidents {
            self.incident(incident);
        }
    }

    /// Publishes lines, after the journal has them: the numbers of lines that it does not have are used again by the next
    /// run, so that those lines have none.
    fn publish(&mut self, first: u64, lines: &[u8], is_journaled: bool) {
        for (number, (kind, text)) in (first..).zip(records::lines(lines)) {
            let number = if is_journaled { number } else { 0 };
            self.out.publish(kind, number, text);
        }
    }

    /// Journals and publishes the answer to a command.
    pub fn answer(&mut self, at_ns: u64, text: &str) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        records::put_line(&mut lines, records::ANSWERS, text);
        let first = self.next_line;
        self.next_line += 1;
        let record = Record::Lines {
            at_ns,
            first,
            lines: &lines,
        };
        // An answer that is lost with the journal is still published.
        let appended = self.append(at_ns, &record);
        self.publish(first, &lines, appended.is_ok());
        self.lines = lines;
    }

    /// Journals and publishes positions and the scorecard.
    pub fn tell_scores(&mut self, at_ns: u64) {
        let mut batch = Batch::default();
        self.engine.finish(&mut batch);
        self.tell(&batch, None, at_ns);
    }
}

/// Fields of a message, with the wall clock in TransactTime (60): a counterparty compares it with its own.
fn put_fields(
    setup: &Setup,
    message: &Message,
    (time, wall): (ReceiveTime, ReceiveTime),
    encoder: &mut Encoder<'_>,
) {
    let is_other = time.wall_ns != wall.wall_ns;
    fields(setup, message, &mut |tag, value| {
        match tag {
            TRANSACT_TIME if is_other => {
                encoder.timestamp(tag, wall.wall_ns, Precision::Milliseconds)
            }
            _ => encoder.bytes(tag, value.as_bytes()),
        };
    });
}

/// The message of a line that is sent.
fn sent(line: &OrderLine) -> Option<&Message> {
    let message = line.message.as_ref();
    message.filter(|_| line.what == OrderEvent::Sent)
}

fn number_of(kind: LineKind) -> u8 {
    match kind {
        LineKind::Composite => 0,
        LineKind::Decision => 1,
        LineKind::Order => 2,
        LineKind::Fill => 3,
        LineKind::Position => 4,
        LineKind::Score => 5,
    }
}
