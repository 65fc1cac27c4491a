//! The tops of several buses in one loop, at the end of each batch.

use std::collections::HashMap;
use std::io::{self, Write};
use touchline_client::{Bus, Buses, Error, Event, State, Top};

fn main() -> Result<(), Error> {
    let mut buses = Buses::new();
    for name in ["demo", "other"] {
        buses.add(Bus::join(name)?);
    }
    let mut out = io::stdout().lock();
    // Tops of the packets that the buses are within.
    let mut changed: HashMap<String, Vec<Top>> = HashMap::new();
    while let Some((bus, event)) = buses.next() {
        let tops = changed.entry(bus.name().to_owned()).or_default();
        match event {
            Event::Top(top) if top.state == State::Live => tops.push(top),
            // Tops that the bus had kept when it was joined: no packet caused them.
            Event::Connection(_) => tops.clear(),
            _ => {}
        }
        // The last event of a packet may be a trade, or of another instrument.
        if !event.end_of_batch() {
            continue;
        }
        for top in tops.drain(..) {
            let (name, symbol) = (bus.name(), bus.symbol(top.instrument));
            if writeln!(out, "{name} {symbol} {top}").is_err() {
                return Ok(()); // The reader of our output has closed it.
            }
        }
    }
    Ok(())
}
