//! Every trade, without loss: the publisher of a lossless bus waits for this reader.
//!
//! Stops with Ctrl-C. Needs the feature `signals`, and `[publication.lossless]` at the gateway.

use std::io::{self, Write};
use touchline_client::{Bus, Error, Event, Events};

fn main() -> Result<(), Error> {
    let options = Bus::options().events(Events::TRADES).name("recorder");
    let mut bus = options.lossless().join("demo")?;
    bus.stopper().on_signals()?;
    let mut out = io::stdout().lock();
    let mut trades = 0;
    while let Some(event) = bus.next() {
        let Event::Trade(t) = event else { continue };
        trades += 1;
        let symbol = bus.symbol(t.instrument);
        if writeln!(out, "{symbol} {}@{}", t.quantity, t.price).is_err() {
            break; // The reader of our output has closed it.
        }
    }
    eprintln!(
        "recorder: {trades} trades, {} messages lost",
        bus.stats().lost
    );
    Ok(())
}
