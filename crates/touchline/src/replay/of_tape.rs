//! The part of a tape that is read, as arguments.

use crate::output::Failure;
use crate::tape_place::tape_place;
use std::sync::Arc;
use touchline_gateway::config;
use touchline_instruments::{KnownDefinitions, Symbols};
use touchline_tape::{ReadOptions, Selection, TapePlace};

/// The part of a tape that is read.
#[derive(Debug, clap::Args)]
pub struct OfTape {
    /// The bus of the tape. Default: the first one.
    #[arg(long, value_name = "NAME", requires = "journal", value_parser = config::bus_name, help_heading = "Input")]
    pub tape_bus: Option<String>,
    /// Place on the tape at which it is read from, with the books of that place: a receive time (RFC 3339, or ns since 1970),
    /// sequence:N (number of a message), or position:N (in the journal).
    #[arg(long, value_name = "PLACE", requires = "journal", value_parser = tape_place, help_heading = "Input")]
    pub from: Option<TapePlace>,
    /// Place at which it ends, as for --from.
    #[arg(long, value_name = "PLACE", requires = "journal", value_parser = tape_place, help_heading = "Input")]
    pub to: Option<TapePlace>,
    /// Instruments of the tape: symbols, in which * matches any characters, or security ids. Default: all.
    #[arg(long, value_name = "SYMBOL|ID", num_args = 1.., requires = "journal", help_heading = "Input")]
    pub instrument: Vec<String>,
}

impl OfTape {
    /// Options of a reader, with definitions for instruments that the tape has without one.
    pub fn options(&self, known: Arc<KnownDefinitions>) -> Result<ReadOptions, Failure> {
        Ok(ReadOptions {
            bus: self.tape_bus.clone(),
            from: self.from,
            to: self.to,
            only: self.selection()?,
            known,
            ..ReadOptions::default()
        })
    }

    /// Refuses what a raw recording does not have.
    pub fn refuse_for_packets(&self) -> Result<(), Failure> {
        let given = [
            ("--from", self.from.is_some()),
            ("--to", self.to.is_some()),
            ("--instrument", !self.instrument.is_empty()),
            ("--tape-bus", self.tape_bus.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(Failure::usage(format!(
                "{name} is for tapes of buses, and a raw recording has packets: leave it out"
            ))),
            None => Ok(()),
        }
    }

    /// The instruments of `--instrument`.
    fn selection(&self) -> Result<Option<Selection>, Failure> {
        if self.instrument.is_empty() {
            return Ok(None);
        }
        let (ids, patterns): (Vec<_>, Vec<_>) = self
            .instrument
            .iter()
            .map(|text| text.parse::<i64>().map_err(|_| text.clone()))
            .partition(Result::is_ok);
        let ids: Vec<i64> = ids.into_iter().flatten().collect();
        let patterns: Vec<String> = patterns.into_iter().filter_map(Result::err).collect();
        let symbols = Symbols::new(patterns).map_err(Failure::usage)?;
        Ok(Some(Box::new(move |definition| {
            let is_named = !symbols.is_empty() && symbols.admit_instrument(definition);
            is_named || ids.contains(&definition.security_id)
        })))
    }
}
