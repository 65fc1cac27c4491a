//! The worst price of an order for 50, after each packet that changes one instrument's book.
//!
//! Waits for the gateway, acts at the end of a batch, and stops with Ctrl-C. Needs the feature `signals`.

use std::io::{self, Write};
use std::time::Duration;
use touchline_client::{Bus, Error, Event, Events, Side};

fn main() -> Result<(), Error> {
    let options = Bus::options().events(Events::BOOKS);
    let mut bus = options.wait(Duration::from_secs(60)).join("demo")?;
    bus.stopper().on_signals()?;
    let mut out = io::stdout().lock();
    let mut is_changed = false;
    while let Some(event) = bus.next() {
        if let Event::Book(change) = event {
            is_changed |= bus.symbol(change.instrument) == "ZQA0";
        }
        // The last event of a packet may be of another instrument.
        if !is_changed || !event.end_of_batch() {
            continue;
        }
        is_changed = false;
        let book = bus.book(bus.instrument("ZQA0")?)?;
        let written = match book.depth_price(Side::Ask, 50) {
            Some(price) => writeln!(out, "{} {} {price}", book.symbol(), book.state()),
            None => writeln!(out, "{} {} -", book.symbol(), book.state()),
        };
        if written.is_err() {
            break; // The reader of our output has closed it.
        }
    }
    eprintln!("{}", bus.stats());
    Ok(())
}
