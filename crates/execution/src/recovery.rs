//! State of the engine from its journal.

mod ends;

use crate::desk::Known;
use crate::numbers::Numbers;
use crate::records::{self, Record, Run};
use crate::variant::Variant;
use ends::ends;
use std::collections::HashMap;
use std::path::Path;
use thiserror::Error;
use touchline_fx::event::{Event, Message, OrderEvent, OrderLine, OrderStatus};
use touchline_fx::input::{Desk, Input, Session};
use touchline_fx::orders::{OrderState, Terms};
use touchline_fx::session_file::read_desk;
use touchline_fx::setup::{Bank, Pair, Setup};
use touchline_fx::{Batch, Engine, RestoreError};
use touchline_journal::records::Stream;
use touchline_journal::{Entry, Follow, StartReport};
use touchline_types::{Id, Side};
use touchline_wire::fix::{Frame, frame, tag, unsigned};

/// Numbers of a session that are skipped if some may be lost: a bank ends a session whose number is too low.
const SKIP: u64 = 10_000;

/// Why a journal cannot be continued.
#[derive(Debug, Error)]
pub enum RecoveryError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] touchline_journal::Error),
    /// A record is not one.
    #[error(
        "record {sequence} of the journal is not of its kind {kind}; it was written by another version"
    )]
    Malformed {
        /// Sequence in the journal.
        sequence: u64,
        /// Kind.
        kind: u16,
    },
    /// The rules of its records were others.
    #[error(
        "its records are of version {found}, this program continues version {}: settle its orders with the program that wrote it, begin \
         another journal (run.journal), and enter the positions there with `touchline fx book`",
        records::VERSION
    )]
    Version {
        /// Version of the records.
        found: u16,
    },
    /// The journal is that of another engine.
    #[error(
        "it is the journal of another engine: its first run has {what}; give the directory of this engine's journal (run.journal), or an \
         empty one"
    )]
    Other {
        /// What differs.
        what: String,
    },
    /// A bank or a pair of an order is not configured.
    #[error(
        "order {order} is of {name}, which is not configured; add it to the configuration, or begin another journal"
    )]
    Unknown {
        /// ClOrdID.
        order: String,
        /// Bank or pair.
        name: String,
    },
    /// A record contradicts those before it.
    #[error("record {sequence} of the journal: {error}")]
    Restore {
        /// Sequence in the journal.
        sequence: u64,
        /// Error.
        error: RestoreError,
    },
}

/// What a journal knows.
#[derive(Debug)]
pub struct Recovered {
    /// The state, with the router held.
    pub engine: Engine,
    /// Numbers of each bank's session.
    pub numbers: Vec<Numbers>,
    /// Last numbers of each client's commands.
    pub(crate) requests: HashMap<String, Known>,
    /// Records that were handled.
    pub records: u64,
    /// Orders of all runs.
    pub orders: u64,
    /// Number of the next line.
    pub next_line: u64,
    /// Time of the last record.
    pub last_ns: u64,
    /// Orders and executions at the end of the journal whose lines it has not: the engine died between the two.
    pub untold: Vec<Batch>,
    /// Configured banks that the last run did not have.
    pub banks_added: Vec<String>,
    /// Banks of the last run that are not configured.
    pub banks_removed: Vec<String>,
    /// Epoch of the last run; 0 if there was none.
    pub epoch: u64,
    /// Boot of the host in which the last run began, if the journal has it.
    pub boot: Option<[u8; 16]>,
    /// Epoch of that run; 0 if there was none.
    boot_epoch: u64,
    /// How the journal was found by the run that continues it.
    pub(crate) start: StartReport,
    /// Epoch of the last run that recorded numbers, by bank.
    numbers_epochs: Vec<u64>,
}

impl Recovered {
    /// What the start of the journal found, before the run begins.
    pub(crate) fn note_start(&mut self, start: &StartReport) {
        self.skip_lost_numbers(start);
        self.start = start.clone();
    }

    /// Last numbers of a client's commands, by the boot clock of the present boot: numbers of another boot or host are of another
    /// clock, and its rings are gone.
    pub(crate) fn known(&self, client: &str) -> Known {
        match self.boot == Some(self.start.boot) {
            true => self.requests.get(client).copied().unwrap_or_default(),
            false => Known::default(),
        }
    }

    /// Whether the run before ended with the kill switch set and could not record it: its journal had failed.
    pub(crate) fn had_unrecorded_kill(&self) -> bool {
        self.start.had_failed && !self.engine.is_killed() && !Variant::UnrecordedKillLost.is_on()
    }

    /// Whether orders may have been sent that the journal lacks: after a crash of the host, a journal that failed, or a start
    /// that did not come to its run and may have found either.
    pub(crate) fn may_lack_orders(&self) -> bool {
        let start = &self.start;
        let starts = start.epoch.saturating_sub(self.boot_epoch);
        // mutant: execution: banks are not asked for orders after a reboot
        start.epoch > 1 && (start.is_other_boot || start.had_failed || starts > 1)
    }

    /// Skips numbers of messages that left and that the journal may lack: after a crash of the host, a journal that
    /// failed, or a start that did not come to its run and may have found either.
    fn skip_lost_numbers(&mut self, start: &StartReport) {
        for (numbers, epoch) in self.numbers.iter_mut().zip(&self.numbers_epochs) {
            // Each start since may have skipped as many, and its record may be lost as well.
            let starts = start.epoch.saturating_sub(*epoch);
            if start.is_other_boot || start.had_failed || starts > 1 {
                let (next_out, next_in) = numbers.both();
                *numbers = Numbers::new(next_out + SKIP * starts, next_in);
            }
        }
    }
}

/// Reads a journal.
///
/// # Errors
/// The journal is damaged, or does not fit the configuration.
pub fn recover(directory: &Path, setup: &Setup) -> Result<Recovered, RecoveryError> {
    recover_from(setup, |each| {
        touchline_journal::read(directory, false, |entry| each(entry)).map(|_| ())
    })
}

/// Records of a journal among which its first run stands.
const FIRST_RECORDS: usize = 64;

/// Judges by the first records of a journal whether this engine may continue it, before anything is written. What cannot be read is
/// left to the start of the journal, which judges all of it.
///
/// # Errors
/// The journal is that of another engine, or of another version.
pub(crate) fn judge_owner(directory: &Path, setup: &Setup) -> Result<(), RecoveryError> {
    let mut judged = Ok(());
    let mut is_first = true;
    let mut follow = Follow::new(directory);
    let read = follow.poll(u64::MAX, FIRST_RECORDS, |entry| {
        if judged.is_err() || entry.head.stream != records::STREAM {
            return;
        }
        if entry.head.kind == STREAM_KIND {
            judged = continues(entry.body);
        } else if let Some(Record::Run(run)) = Record::decode(entry.head.kind, entry.body)
            && std::mem::take(&mut is_first)
        {
            judged = is_own(setup, &run);
        }
    });
    match read {
        Ok(_) => judged,
        Err(_) => Ok(()),
    }
}

/// [`recover`] from anything that gives the records of a journal, in order.
pub(crate) fn recover_from(
    setup: &Setup,
    read: impl FnOnce(&mut dyn FnMut(&Entry<'_>)) -> Result<(), touchline_journal::Error>,
) -> Result<Recovered, RecoveryError> {
    let mut reading = Reading::new(setup);
    let mut failed = None;
    read(&mut |entry| {
        if failed.is_none() {
            failed = reading.entry(entry).err();
        }
    })?;
    match failed {
        Some(error) => Err(error),
        None => Ok(reading.recovered),
    }
}

/// Kind of the record that describes the stream.
const STREAM_KIND: u16 = touchline_journal::format::kind::STREAM;

/// Whether the records of a stream can be handled again: by other rules its orders would have other states than the banks were told.
fn continues(description: &[u8]) -> Result<(), RecoveryError> {
    match Stream::decode(description) {
        Some(stream) if stream.version != records::VERSION => Err(RecoveryError::Version {
            found: stream.version,
        }),
        _ => Ok(()),
    }
}

/// The first run of a journal says whose it is: an engine with another account would ask the banks for orders that are not its own,
/// and with another prefix use the names of orders that another engine sent.
fn is_own(setup: &Setup, run: &Run<'_>) -> Result<(), RecoveryError> {
    let other = |what: String| Err(RecoveryError::Other { what });
    let account = setup.account.as_str();
    // mutant: execution: the journal of another engine is continued
    if run.account != account {
        return other(format!(
            "account {:?}, this engine {account:?}",
            run.account
        ));
    }
    let prefix = format!("{}e{}", setup.prefix.as_str(), run.epoch);
    if run.prefix != prefix {
        return other(format!("prefix {:?}, this engine {prefix:?}", run.prefix));
    }
    if run.banks.iter().all(|name| setup.bank(name).is_none()) {
        return other(format!(
            "banks {}, none of which is configured",
            run.banks.join(", ")
        ));
    }
    Ok(())
}

/// A bank or a pair of a run: its name, and its index now.
type Named<T> = Vec<(String, Option<T>)>;

/// The state of a journal up to the records that were given: of all of them, or by a standby as they are written.
pub(crate) struct Reading {
    setup: Setup,
    banks: Named<Bank>,
    pairs: Named<Pair>,
    batch: Batch,
    pub(crate) recovered: Recovered,
}

impl Reading {
    /// The state before the first record.
    pub(crate) fn new(setup: &Setup) -> Reading {
        let mut engine = Engine::new(setup.clone());
        engine.hold(true);
        Reading {
            setup: setup.clone(),
            banks: Vec::new(),
            pairs: Vec::new(),
            batch: Batch::default(),
            recovered: Recovered {
                engine,
                numbers: vec![Numbers::new(1, 1); setup.banks.len()],
                requests: HashMap::new(),
                records: 0,
                orders: 0,
                next_line: 1,
                last_ns: 0,
                untold: Vec::new(),
                banks_added: Vec::new(),
                banks_removed: Vec::new(),
                epoch: 0,
                boot: None,
                boot_epoch: 0,
                start: StartReport::default(),
                numbers_epochs: vec![0; setup.banks.len()],
            },
        }
    }

    /// Handles the next record of a journal.
    ///
    /// # Errors
    /// It does not fit the records before, or the configuration.
    pub(crate) fn entry(&mut self, entry: &Entry<'_>) -> Result<(), RecoveryError> {
        match entry.head.stream {
            records::STREAM if entry.head.kind == STREAM_KIND => continues(entry.body),
            records::STREAM => {
                self.record(entry.sequence.unwrap_or(0), entry.head.kind, entry.body)
            }
            _ => Ok(()),
        }
    }

    fn record(&mut self, sequence: u64, kind: u16, body: &[u8]) -> Result<(), RecoveryError> {
        let Some(record) = Record::decode(kind, body) else {
            // A later version may have more kinds.
            let is_ours = (records::kind::RUN..=records::kind::BOOT).contains(&kind);
            return match is_ours {
                true => Err(RecoveryError::Malformed { sequence, kind }),
                false => Ok(()),
            };
        };
        self.recovered.records += 1;
        self.batch.clear();
        let restore = |error| RecoveryError::Restore { sequence, error };
        match record {
            Record::Run(run) => {
                if self.recovered.epoch == 0 {
                    is_own(&self.setup, &run)?;
                }
                self.run(&run);
            }
            Record::Order(order) => self.order(&order).map_err(|failed| match failed {
                Failed::Unknown(name) => RecoveryError::Unknown {
                    order: order.id.as_str().to_owned(),
                    name,
                },
                Failed::Restore(error) => restore(error),
            })?,
            Record::Message {
                at_ns,
                bank,
                sequence,
                ..
            } => {
                self.at(at_ns).map_err(restore)?;
                self.sent(bank, sequence);
            }
            Record::Report { at_ns, bank, bytes } => {
                self.at(at_ns).map_err(restore)?;
                if let Some(bank) = self.bank(bank) {
                    self.received(bank, bytes);
                    self.handle(at_ns, &Input::Orders(bank, Session::Message(bytes)));
                    self.note_untold();
                }
            }
            Record::Session { at_ns, bank, is_up } => {
                self.at(at_ns).map_err(restore)?;
                if let Some(bank) = self.bank(bank) {
                    let session = if is_up { Session::Up } else { Session::Down };
                    self.handle(at_ns, &Input::Orders(bank, session));
                }
            }
            Record::Command {
                request,
                client,
                text,
                ..
            } => {
                let known = self.recovered.requests.entry(client.to_owned());
                known.or_default().add(request, text);
            }
            Record::Decided { at_ns, text } => {
                self.at(at_ns).map_err(restore)?;
                self.decided(at_ns, text).map_err(restore)?;
                self.note_untold();
            }
            Record::Lines { first, lines, .. } => {
                let count = records::lines(lines).count() as u64;
                self.recovered.next_line = first + count;
                self.recovered.untold.clear();
                for (parent, reason) in ends(lines) {
                    let engine = &mut self.recovered.engine;
                    engine.restore_end(&parent, reason, &mut self.batch);
                }
            }
            Record::Numbers {
                bank,
                next_out,
                next_in,
            } => {
                if let Some(bank) = self.bank(bank) {
                    self.recovered.numbers[bank] = Numbers::new(next_out, next_in);
                    self.recovered.numbers_epochs[bank] = self.recovered.epoch;
                }
            }
            Record::Boot {
                at_ns,
                id,
                lacks_before,
            } => {
                self.at(at_ns).map_err(restore)?;
                // Numbers are of the boot clock, which begins again.
                // mutant: execution: numbers of commands outlive the boot of the host
                if self.recovered.boot.replace(id) != Some(id) {
                    self.recovered.requests.clear();
                }
                self.recovered.boot_epoch = self.recovered.epoch;
                if lacks_before > 0 {
                    let epoch = lacks_before;
                    self.handle(at_ns, &Input::Desk(Desk::Reboot { epoch }));
                }
            }
        }
        Ok(())
    }

    fn run(&mut self, run: &Run<'_>) {
        let banks = run.banks.iter();
        self.banks = banks
            .map(|name| ((*name).to_owned(), self.setup.bank(name)))
            .collect();
        let configured = self.setup.banks.iter().map(|bank| &bank.config.name);
        let is_new = |name: &&String| !run.banks.contains(&name.as_str());
        self.recovered.banks_added = configured.filter(is_new).cloned().collect();
        let removed = self.banks.iter().filter(|(_, bank)| bank.is_none());
        self.recovered.banks_removed = removed.map(|(name, _)| name.clone()).collect();
        let pairs = run.pairs.iter();
        self.pairs = pairs
            .map(|symbol| ((*symbol).to_owned(), self.setup.pair(symbol)))
            .collect();
        self.recovered.epoch = run.epoch;
        let engine = &mut self.recovered.engine;
        engine.set_prefix(Id::lossy(run.prefix.as_bytes()));
        // The run before ended here: its sessions are lost, and its parents end.
        let at_ns = engine.now_ns().unwrap_or(0);
        if at_ns > 0 {
            self.handle(at_ns, &Input::Desk(Desk::Restart));
        }
    }

    fn order(&mut self, order: &records::Order) -> Result<(), Failed> {
        let named = |all: &Named<usize>, index: u16| match all.get(usize::from(index)) {
            Some((_, Some(place))) => Ok(*place),
            Some((name, None)) => Err(Failed::Unknown(name.clone())),
            None => Err(Failed::Unknown(format!("number {index}"))),
        };
        let bank = named(&self.banks, order.bank)?;
        let pair = named(&self.pairs, order.pair)?;
        // mutant: execution: the numbers of orders are used again after a restart
        self.sent(order.bank, order.sequence);
        let engine = &mut self.recovered.engine;
        let parent = engine.parents().find(&order.parent);
        let not_open = Failed::Restore(RestoreError::NotOpen { order: order.id });
        let terms = Terms {
            id: order.id,
            parent: parent.ok_or(not_open)?,
            bank,
            pair,
            side: if order.is_buy { Side::Bid } else { Side::Ask },
            quantity: order.quantity,
            price: order.price,
            quote_id: order.quote_id,
            is_fok: order.is_fok,
            value_date: order.value_date,
            sent_ns: order.sent_ns,
            mid2_sent: order.mid2,
        };
        self.recovered.orders += 1;
        self.recovered.last_ns = self.recovered.last_ns.max(order.sent_ns);
        engine
            .restore_order(&terms, &mut self.batch)
            .map_err(Failed::Restore)?;
        let line = OrderLine {
            id: Some(terms.id),
            bank,
            what: OrderEvent::Sent,
            status: Some(OrderStatus {
                state: OrderState::Sent,
                cum: 0,
                leaves: terms.quantity,
            }),
            code: None,
            message: Some(Message::Order(terms)),
        };
        self.recovered.untold.push(Batch {
            events: vec![(order.sent_ns, Event::Order(line))],
            ..Batch::default()
        });
        Ok(())
    }

    /// Keeps what the last record told of executions, and of parents that ended by them. Timers are told when they run, which was before.
    fn note_untold(&mut self) {
        let is_execution = |event: &Event| match event {
            Event::Order(line) => line.what == OrderEvent::Report,
            Event::Fill(_)
            | Event::Book { .. }
            | Event::Position { .. }
            | Event::Alarm { .. }
            | Event::Ended(_)
            | Event::Settled(_) => true,
            _ => false,
        };
        if self
            .batch
            .events
            .iter()
            .any(|(_, event)| is_execution(event))
        {
            let mut batch = std::mem::take(&mut self.batch);
            batch.events.retain(|(_, event)| is_execution(event));
            self.recovered.untold.push(batch);
        }
    }

    fn decided(&mut self, at_ns: u64, text: &str) -> Result<(), RestoreError> {
        match read_desk(&self.setup, text) {
            Ok(Desk::Parent(request)) => match request.terms {
                Some(terms) => {
                    let engine = &mut self.recovered.engine;
                    engine.restore_parent(at_ns, &terms, &mut self.batch)
                }
                // Of a pair that is no longer configured; an order of it is an error.
                None => Ok(()),
            },
            // Who may book was decided then.
            Ok(Desk::Book { by, trade, id }) => {
                let engine = &mut self.recovered.engine;
                let known = by
                    .zip(trade)
                    .ok_or(RestoreError::Booking(id.unwrap_or_default()));
                let (by, trade) = known?;
                engine.restore_booking(at_ns, &by, &trade, &mut self.batch)
            }
            Ok(command) => {
                self.handle(at_ns, &Input::Desk(command));
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    /// Times of records ascend.
    fn at(&mut self, at_ns: u64) -> Result<(), RestoreError> {
        let last_ns = &mut self.recovered.last_ns;
        if at_ns < self.recovered.engine.now_ns().unwrap_or(0) {
            return Err(RestoreError::Time);
        }
        *last_ns = at_ns.max(*last_ns);
        Ok(())
    }

    fn handle(&mut self, at_ns: u64, input: &Input<'_>) {
        self.recovered.engine.handle(at_ns, input, &mut self.batch);
    }

    fn bank(&self, index: u16) -> Option<Bank> {
        self.banks.get(usize::from(index))?.1
    }

    /// A message with this number has left. One that left before an order of the same batch is journaled behind it.
    fn sent(&mut self, bank: u16, sequence: u64) {
        if let Some(bank) = self.bank(bank) {
            let numbers = &mut self.recovered.numbers[bank];
            let (next_out, next_in) = numbers.both();
            *numbers = Numbers::new(next_out.max(sequence + 1), next_in);
        }
    }

    fn received(&mut self, bank: Bank, bytes: &[u8]) {
        let Ok(Frame::Whole(message)) = frame(bytes, bytes.len()) else {
            return;
        };
        let mut fields = message.fields().map_while(Result::ok);
        let number = fields.find(|field| field.tag == tag::MSG_SEQ_NUM);
        if let Some(number) = number.and_then(|field| unsigned(field.value).ok()) {
            let (next_out, next_in) = self.recovered.numbers[bank].both();
            self.recovered.numbers[bank] = Numbers::new(next_out, next_in.max(number + 1));
        }
    }
}

enum Failed {
    Unknown(String),
    Restore(RestoreError),
}

#[cfg(test)]
mod tests;
