//! Every trade as a line of CSV.

use std::io::{self, Write};
use touchline_client::{Bus, Error, Event, Events};

fn main() -> Result<(), Error> {
    let options = Bus::options().events(Events::TRADES).symbols(["ZQ*"]);
    let mut bus = options.join("demo")?;
    let mut out = io::stdout().lock();
    let mut written = writeln!(out, "exchange_ns,symbol,price,quantity,aggressor");
    while let (Ok(()), Some(event)) = (&written, bus.next()) {
        if let Event::Trade(t) = event {
            let (ns, symbol) = (t.times.exchange_ns, bus.symbol(t.instrument));
            written = writeln!(
                out,
                "{ns},{symbol},{},{},{}",
                t.price, t.quantity, t.aggressor
            );
        }
    }
    Ok(())
}
