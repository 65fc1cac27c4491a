//! State of the engine from its journal.

mod owner;
mod state;

pub use owner::check_owner;

use crate::execution::config::Config;
use crate::execution::desk::Known;
use crate::execution::numbers::Numbers;
use state::{Failed, State};
use std::collections::HashMap;
use std::path::Path;
use thiserror::Error;
use touchline_fx::setup::Setup;
use touchline_fx::{Engine, RestoreError};
use touchline_fx_desk::records::{self, Record};
use touchline_fx_events::encoding::{Decoder, Malformed, Place};
use touchline_fx_events::{Batch, Labels};
use touchline_journal::records::Stream;
use touchline_journal::{Entry, StartReport};
use touchline_types::Id;

/// Numbers of a session that are skipped if some may be lost: a bank ends a session whose MsgSeqNum is too low.
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
        "it is the journal of another engine: it has {what}; give the directory of this engine's journal (run.journal), or an \
         empty one"
    )]
    Other {
        /// The difference.
        what: String,
    },
    /// A bank or a pair of an order or a parent is not configured, or its prices had other ticks.
    #[error(
        "{what} is of {name}, which is not configured as it was; add it to the configuration, or begin another journal"
    )]
    Unknown {
        /// The order or the parent.
        what: String,
        /// Bank or pair.
        name: String,
    },
    /// A report made no order, since its bank did not have the pair, and has it now.
    #[error(
        "order {order} was not taken over, since {bank} did not have {pair} then; remove the pair from that bank in the configuration, or \
         begin another journal"
    )]
    NotAdopted {
        /// The order.
        order: Id,
        /// Its pair.
        pair: String,
        /// Its bank.
        bank: String,
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

/// State recovered from a journal.
#[derive(Debug)]
pub struct Recovered {
    /// The state, with the router held.
    pub engine: Engine,
    /// Numbers of each bank's session.
    pub numbers: Vec<Numbers>,
    /// Day of each bank's session for which they began; 0: none.
    pub(crate) days: Vec<u32>,
    /// When the day of each bank's credit began last; 0: never.
    pub(crate) bank_days_ns: Vec<u64>,
    /// Last numbers of each client's commands.
    pub(crate) requests: HashMap<String, Known>,
    /// Records that were handled.
    pub records: u64,
    /// Orders of all runs.
    pub orders: u64,
    /// Number of the next entry of a batch.
    pub next_event: u64,
    /// Time of the last record.
    pub last_ns: u64,
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
    /// State in which the run that continues the journal found it.
    pub(crate) start: StartReport,
    /// Epoch of the last run that recorded numbers, by bank.
    numbers_epochs: Vec<u64>,
    /// Names of each bank's order session in the last run; empty if the journal has none.
    names: Vec<String>,
}

impl Recovered {
    /// Notes the state in which the start found the journal, before the run begins.
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

    /// Whether the last run set the kill switch and could not record it, because its journal had failed.
    pub(crate) fn had_unrecorded_kill(&self) -> bool {
        // mutant: simulation: a kill is lost with the journal that could not record it
        self.start.had_failed && !self.engine.trading().is_killed()
    }

    /// Whether orders may have been sent that the journal lacks: after a crash of the host, after a failure of the
    /// journal, or after a start that met one of these and ended before its run began.
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
            // Each start since may have skipped the same number, and its record may be lost as well.
            let starts = start.epoch.saturating_sub(*epoch);
            if start.is_other_boot || start.had_failed || starts > 1 {
                let (next_out, next_in) = numbers.both();
                *numbers = Numbers::new(next_out + SKIP * starts, next_in);
            }
        }
    }
}

/// Reads a journal that this engine may continue, before anything is written: each frame of it is verified, so that no start begins a run
/// behind damage, or in the journal of another engine. A journal that does not exist is empty.
///
/// # Errors
/// The journal is damaged, is that of another engine or version, or does not fit the configuration.
pub(crate) fn read_whole(directory: &Path, setup: &Setup) -> Result<Reading, RecoveryError> {
    let mut reading = Reading::new(setup);
    if directory.exists() {
        reading.read_from(directory, 0)?;
    }
    Ok(reading)
}

/// The state from anything that gives the records of a journal, in order.
#[cfg(test)]
pub(crate) fn recover_from(
    setup: &Setup,
    read: impl FnOnce(&mut dyn FnMut(&Entry<'_>)) -> Result<(), touchline_journal::Error>,
) -> Result<Recovered, RecoveryError> {
    let mut reading = Reading::new(setup);
    reading.read_with(read)?;
    Ok(reading.finish())
}

/// Kind of the record that describes the stream.
const STREAM_KIND: u16 = touchline_journal::format::kind::STREAM;

/// Whether the records of a stream can be handled again: under other rules its orders would have other states than at the banks.
fn continues(description: &[u8]) -> Result<(), RecoveryError> {
    match Stream::decode(description) {
        Some(stream) if stream.version != records::VERSION => Err(RecoveryError::Version {
            found: stream.version,
        }),
        _ => Ok(()),
    }
}

/// Checks the owner of a journal, which its first run names: an engine with another account would request orders that
/// are not its own, and with another prefix would use the names of orders that another engine sent.
fn is_own(setup: &Setup, epoch: u64, run: &Labels) -> Result<(), RecoveryError> {
    let other = |what: String| Err(RecoveryError::Other { what });
    let (own, account) = (&setup.labels, setup.labels.account.as_str());
    // mutant: execution: the journal of another engine is continued
    if run.account != own.account {
        let found = run.account.as_str();
        return other(format!("account {found:?}, this engine {account:?}"));
    }
    let prefix = format!("{}e{epoch}", own.prefix.as_str());
    if run.prefix.as_str() != prefix {
        let found = run.prefix.as_str();
        return other(format!("prefix {found:?}, this engine {prefix:?}"));
    }
    if run.banks.iter().all(|name| setup.bank(name).is_none()) {
        return other(format!(
            "banks {}, none of which is configured",
            run.banks.join(", ")
        ));
    }
    Ok(())
}

/// The state of a journal up to the records that were given: of all of them, or by a standby as they are written.
pub(crate) struct Reading {
    decoder: Decoder,
    state: State,
    /// Sequence of the next record of a journal that was read.
    next_sequence: u64,
}

impl Reading {
    /// The state before the first record.
    pub(crate) fn new(setup: &Setup) -> Reading {
        let mut engine = Engine::new(setup.clone());
        engine.hold(true);
        // mutant: execution: rules of the configuration change the past
        engine.set_restoring(true);
        let recovered = Recovered {
            engine,
            numbers: vec![Numbers::new(1, 1); setup.banks.len()],
            days: vec![0; setup.banks.len()],
            bank_days_ns: vec![0; setup.banks.len()],
            requests: HashMap::new(),
            records: 0,
            orders: 0,
            next_event: 1,
            last_ns: 0,
            banks_added: Vec::new(),
            banks_removed: Vec::new(),
            epoch: 0,
            boot: None,
            boot_epoch: 0,
            start: StartReport::default(),
            numbers_epochs: vec![0; setup.banks.len()],
            names: vec![String::new(); setup.banks.len()],
        };
        Reading {
            decoder: Decoder::default(),
            next_sequence: 0,
            state: State {
                setup: setup.clone(),
                banks: Vec::new(),
                pairs: Vec::new(),
                batch: Batch::default(),
                recovered,
            },
        }
    }

    /// State recovered from the records read so far.
    pub(crate) fn recovered(&self) -> &Recovered {
        &self.state.recovered
    }

    /// State recovered from all records.
    pub(crate) fn finish(self) -> Recovered {
        self.state.recovered
    }

    /// Handles the records that the start of the run has found behind those of [`read_whole`]: they were in the shared memory of the run
    /// before.
    ///
    /// # Errors
    /// The records do not fit.
    pub(crate) fn read_rest(
        &mut self,
        directory: &Path,
        start: &StartReport,
    ) -> Result<(), RecoveryError> {
        match start.next_sequence == self.next_sequence {
            true => Ok(()),
            false => self.read_from(directory, self.next_sequence),
        }
    }

    fn read_from(&mut self, directory: &Path, sequence: u64) -> Result<(), RecoveryError> {
        let mut next_sequence = sequence;
        self.read_with(|each| {
            let report =
                touchline_journal::read_from(directory, sequence, false, |entry| each(entry))?;
            next_sequence = report.next_sequence;
            Ok(())
        })?;
        self.next_sequence = next_sequence;
        Ok(())
    }

    fn read_with(
        &mut self,
        read: impl FnOnce(&mut dyn FnMut(&Entry<'_>)) -> Result<(), touchline_journal::Error>,
    ) -> Result<(), RecoveryError> {
        let mut failed = None;
        read(&mut |entry| {
            if failed.is_none() {
                failed = self.entry(entry).err();
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Whether the order sessions that the journal has are those of the configuration.
    ///
    /// # Errors
    /// None of the journal's sessions is configured.
    pub(crate) fn check_sessions(&self, config: &Config) -> Result<(), RecoveryError> {
        owner::check_names(&self.state.recovered.names, config)
    }

    /// Handles the next record of a journal.
    ///
    /// # Errors
    /// The entry does not fit the earlier records, or the configuration.
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
        let malformed = RecoveryError::Malformed { sequence, kind };
        let state = &mut self.state;
        let Some(record) = Record::decode(kind, body) else {
            // A later version may have more kinds.
            return match kind {
                records::kind::NUMBERS
                | records::kind::BOOT
                | records::kind::SESSION
                | records::kind::DAY => Err(malformed),
                _ => Ok(()),
            };
        };
        state.recovered.records += 1;
        state.batch.clear();
        let of_record = |failed| match failed {
            Failed::Unknown { what, name } => RecoveryError::Unknown { what, name },
            Failed::Restore(error) => RecoveryError::Restore { sequence, error },
            Failed::Other(error) => error,
        };
        match record {
            Record::Batch(part) => {
                let place = Place::of(part).ok_or(RecoveryError::Malformed { sequence, kind })?;
                let mut failed = None;
                let read = self.decoder.read(part, |labels, at_ns, recorded, _| {
                    if failed.is_none() {
                        failed = state.recorded(labels, at_ns, &recorded).err();
                    }
                });
                if let Some(failed) = failed {
                    return Err(of_record(failed));
                }
                read.map_err(|Malformed| malformed)?;
                // mutant: execution: a batch without its last part happened
                if place.is_last {
                    state.recovered.next_event = place.end;
                }
                Ok(())
            }
            Record::Numbers {
                bank,
                next_out,
                next_in,
            } => {
                if let Some(bank) = state.bank(usize::from(bank)) {
                    state.recovered.numbers[bank] = Numbers::new(next_out, next_in);
                    state.recovered.numbers_epochs[bank] = state.recovered.epoch;
                }
                Ok(())
            }
            Record::Day { bank, day } => {
                if let Some(bank) = state.bank(usize::from(bank)) {
                    state.recovered.days[bank] = day;
                }
                Ok(())
            }
            Record::Session { bank, names } => {
                if let Some(bank) = state.bank(usize::from(bank)) {
                    state.recovered.names[bank] = names.to_owned();
                }
                Ok(())
            }
            Record::Boot {
                at_ns,
                id,
                lacks_before,
            } => state.boot(at_ns, id, lacks_before).map_err(of_record),
        }
    }
}

#[cfg(test)]
mod tests;
