//! Latency of each batch to this program, from the wire and from the publisher.

use std::io::{self, Write};
use touchline_client::{Bus, Error, Events, Idle};

fn main() -> Result<(), Error> {
    let events = Events::TOPS | Events::BOOKS | Events::TRADES;
    let options = Bus::options().events(events).idle(Idle::Spin);
    let mut bus = options.join("demo")?;
    let mut out = io::stdout().lock();
    while let Some(event) = bus.next() {
        if !event.end_of_batch() || bus.trace().is_kept {
            continue;
        }
        let latency = bus.latency(&bus.trace().times());
        let written = match event.instrument() {
            Some(instrument) => writeln!(out, "{} {latency}", bus.symbol(instrument)),
            None => writeln!(out, "channel {latency}"),
        };
        if written.is_err() {
            break; // The reader of our output has closed it.
        }
    }
    Ok(())
}
