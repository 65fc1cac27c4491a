//! `tail` of a trading engine: one line for each entry of its drop copy, in the format of `journal print`.

use crate::interrupt::Interrupt;
use crate::missing;
use crate::output::{Failure, Output, notice};
use crate::tail::OfEngine;
use std::time::Duration;
use touchline_client::fx::{BusEvent, Tail, happened};
use touchline_fx_events::lines::LineKind;
use touchline_transport::bus::Root;

/// Interval of checks for an interrupt and a closed output.
const NAP: Duration = Duration::from_millis(20);

/// Prints the entries from the join point on.
///
/// # Errors
/// Among others: an option of market data was given.
pub fn follow(of: &OfEngine) -> Result<(), Failure> {
    if let Some(option) = of.of_market_data {
        return Err(Failure::usage(format!(
            "{} is the bus of a trading engine, and {option} is for market data; leave it out",
            of.bus
        )));
    }
    let interrupt = Interrupt::catch()?;
    let (root, bus) = (&Root::at(&of.directory), of.bus.as_str());
    let join = Tail::join(root, bus);
    let mut drop_copy = join.map_err(|error| missing::refused(root, bus, error))?;
    let mut line = String::new();
    let mut printer = Printer {
        output: Output::stdout()?,
        json: of.json,
        left: of.count,
    };
    while printer.left > 0 && printer.output.has_reader() && !interrupt.is_asked() {
        let mut written = Ok(());
        let polled = drop_copy.poll(|told| {
            told.lines(&mut line, |kind, text| {
                if written.is_ok() {
                    written = printer.line(kind, text);
                }
            });
        });
        written?;
        match polled {
            Ok(true) => {}
            Ok(false) => {
                printer.output.flush()?;
                std::thread::sleep(NAP);
            }
            Err(event) => printer.event(&event)?,
        }
    }
    printer.output.flush()
}

/// State of the output.
struct Printer {
    output: Output,
    json: bool,
    /// Lines left to write.
    left: u64,
}

impl Printer {
    /// Writes a line, unless enough are written.
    fn line(&mut self, kind: LineKind, text: &str) -> Result<(), Failure> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        match self.json {
            true => self.output.line(text),
            false => self.output.line(&format!("{:<10} {text}", kind.name())),
        }
    }

    /// Reports on the subscription.
    fn event(&mut self, event: &BusEvent) -> Result<(), Failure> {
        let text = happened(event);
        match self.json {
            true => {
                notice(text);
                Ok(())
            }
            false => self.output.line(&format!("-- {text}")),
        }
    }
}
