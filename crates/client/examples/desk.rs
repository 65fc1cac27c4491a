//! Buys 1,000 EUR/USD through the trading engine, and prints what becomes of the order.

use touchline_client::Side;
use touchline_client::fx::{Desk, Error, Event, Order, happened, name, new_name};

fn main() -> Result<(), Error> {
    let mut desk = Desk::join("fx-run")?;
    let order = Order::new(new_name(), name("EUR/USD")?, Side::Bid, 1_000);
    let parent = desk.send(&order)?;
    while let Some(event) = desk.next()? {
        match event {
            Event::Fill(row) if row.fill.parent == Some(parent) => {
                println!("fill {} at {}", row.fill.quantity, row.fill.price);
            }
            Event::Parent(row) if row.id == parent => {
                println!("parent {}", row.state);
                if row.is_settled {
                    break;
                }
            }
            Event::Bus(event) => eprintln!("{}", happened(&event)),
            _ => {}
        }
    }
    for (pair, row) in desk.positions() {
        println!("position {pair} {}", row.position);
    }
    Ok(())
}
