//! The best bid and ask of every instrument, at each change.

use std::io::{self, Write};
use touchline_client::{Bus, Error, Event, Events};

fn main() -> Result<(), Error> {
    let mut bus = Bus::options().events(Events::TOPS).join("demo")?;
    let mut out = io::stdout().lock();
    while let Some(event) = bus.next() {
        let written = match event {
            Event::Top(top) => writeln!(out, "{} {top}", bus.symbol(top.instrument)),
            // The top is as before, its state is not.
            Event::State(of) => writeln!(out, "{} {}", bus.symbol(of.instrument), of.state),
            Event::Connection(what) => writeln!(io::stderr(), "{}: {what}", bus.name()),
            _ => Ok(()),
        };
        if written.is_err() {
            break; // The reader of our output has closed it.
        }
    }
    Ok(())
}
