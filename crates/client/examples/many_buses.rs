//! The tops of several buses in one loop, at the end of each batch.

use std::io::{self, Write};
use touchline_client::{Bus, Buses, Error, Event, State};

fn main() -> Result<(), Error> {
    let mut buses = Buses::new();
    for name in ["demo", "other"] {
        buses.add(Bus::join(name)?);
    }
    let mut out = io::stdout().lock();
    while let Some((bus, event)) = buses.next() {
        let Event::Top(top) = event else { continue };
        if top.state != State::Live || !top.end_of_batch {
            continue;
        }
        let (name, symbol) = (bus.name(), bus.symbol(top.instrument));
        if writeln!(out, "{name} {symbol} {top}").is_err() {
            break; // The reader of our output has closed it.
        }
    }
    Ok(())
}
