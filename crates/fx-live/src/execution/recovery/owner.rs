//! Owner of a journal, for a program that reads it beside its engine.

use super::{RecoveryError, is_own};
use crate::execution::config::Config;
use touchline_fx::setup::Setup;
use touchline_fx_desk::records::{self, Record};
use touchline_fx_events::encoding::{Decoder, Entry as Recorded};

/// Checks that a journal belongs to the engine of a configuration and its setup, by the same comparison as the start of
/// that engine: account, prefix and banks of the first run, and the names of the order sessions. A missing journal is
/// accepted.
///
/// # Errors
/// The journal belongs to another engine, or cannot be read.
pub fn check_owner(config: &Config, setup: &Setup) -> Result<(), RecoveryError> {
    if !config.run.journal.exists() {
        return Ok(());
    }
    let mut decoder = Decoder::default();
    let mut banks = Vec::new();
    let mut names = vec![String::new(); setup.banks.len()];
    let mut first_run = None;
    touchline_journal::read(&config.run.journal, false, |entry| {
        if entry.head.stream != records::STREAM {
            return;
        }
        match Record::decode(entry.head.kind, entry.body) {
            // Records of another version are refused by the reader of the entries.
            Some(Record::Batch(part)) => drop(decoder.read(part, |labels, _, recorded, _| {
                if let Recorded::Run { epoch, .. } = recorded {
                    first_run.get_or_insert_with(|| is_own(setup, epoch, labels));
                    banks = labels.banks.iter().map(|name| setup.bank(name)).collect();
                }
            })),
            Some(Record::Session { bank, names: found }) => {
                if let Some(Some(bank)) = banks.get(usize::from(bank)) {
                    names[*bank] = found.to_owned();
                }
            }
            _ => {}
        }
    })?;
    first_run.unwrap_or(Ok(()))?;
    check_names(&names, config)
}

/// Checks by the order sessions that a journal belongs to the engine of this configuration: another engine may have the
/// same account, prefix and banks, but no bank lets two engines log on with the same names.
///
/// # Errors
/// None of the journal's sessions is in the configuration.
pub(super) fn check_names(names: &[String], config: &Config) -> Result<(), RecoveryError> {
    let names = names.iter().enumerate();
    let known: Vec<_> = names.filter(|(_, names)| !names.is_empty()).collect();
    // mutant: execution: the journal of an engine with other sessions is continued
    let is_own = |(bank, names): &(usize, &String)| **names == config.names_of(*bank);
    let Some((bank, found)) = known.first().filter(|_| !known.iter().any(is_own)) else {
        return Ok(());
    };
    let (name, own) = (&config.banks[*bank].name, config.names_of(*bank));
    Err(RecoveryError::Other {
        what: format!("the session {found:?} with {name}, this engine {own:?}"),
    })
}
