//! `tail` of a trading engine: a line for each entry of its drop copy, as `journal print` has it.

use crate::interrupt::Interrupt;
use crate::missing;
use crate::output::{Failure, Output};
use crate::tail::OfEngine;
use std::time::Duration;
use touchline_fx::encoding::Decoder;
use touchline_fx::lines::lines_of;
use touchline_fx_desk::joined;
use touchline_transport::bus::{BusEvent, Polled, Root, Subscription};

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
    let join = Subscription::<0>::join(root, bus, [], false);
    let mut drop_copy = join.map_err(|error| missing::refused(root, bus, error))?;
    let mut decoder = joined(root, bus);
    let mut tail = Tail {
        output: Output::stdout()?,
        json: of.json,
        left: of.count,
    };
    while tail.left > 0 && tail.output.has_reader() && !interrupt.is_asked() {
        match drop_copy.poll(|message| tail.lines(&mut decoder, message.bytes)) {
            Ok(Polled::Given(written)) => written?,
            Ok(Polled::Passed(_)) => {}
            Ok(Polled::Nothing) => {
                tail.output.flush()?;
                std::thread::sleep(NAP);
            }
            Err(event) => {
                if let BusEvent::Restarted { .. } = event {
                    decoder = joined(root, bus);
                }
                tail.event(&event)?;
            }
        }
    }
    tail.output.flush()
}

/// State of the output.
struct Tail {
    output: Output,
    json: bool,
    /// Lines left to write.
    left: u64,
}

impl Tail {
    /// Writes the lines of a message; what is no batch of this version is left out.
    fn lines(&mut self, decoder: &mut Decoder, bytes: &[u8]) -> Result<(), Failure> {
        let (mut line, mut written) = (String::new(), Ok(()));
        let _ = decoder.read(bytes, |labels, at_ns, entry, batch| {
            lines_of((labels, batch), at_ns, &entry, &mut line, |kind, text| {
                if written.is_err() || self.left == 0 {
                    return;
                }
                self.left -= 1;
                written = match self.json {
                    true => self.output.line(text),
                    false => self.output.line(&format!("{:<10} {text}", kind.name())),
                };
            });
        });
        written
    }

    /// Reports on the subscription.
    fn event(&mut self, event: &BusEvent) -> Result<(), Failure> {
        let text = match event {
            BusEvent::Overrun { messages, .. } => format!("overrun: {messages} messages lost"),
            BusEvent::Restarted { .. } => "the engine was started again".to_owned(),
            BusEvent::PublisherGone => "the engine has ended".to_owned(),
            BusEvent::Corrupt => "a message is corrupt".to_owned(),
            BusEvent::Damaged => {
                "a file of the bus was truncated; start the engine again".to_owned()
            }
            BusEvent::Incompatible { layout } => {
                format!("the engine has bus format {layout}, which this program cannot read")
            }
        };
        match self.json {
            true => {
                eprintln!("touchline: {text}");
                Ok(())
            }
            false => self.output.line(&format!("-- {text}")),
        }
    }
}
