//! `touchline sim cme`: a CME channel on the network, from a generated market or captures.

mod addresses;
mod arguments;
mod expected_books;
mod injected;
mod market;
mod playback;
mod summary;
mod test_transport;

use crate::interrupt::Interrupt;
use crate::output::Failure;
use crate::sim::orders::Orders;
use addresses::Addresses;
pub use arguments::Arguments;
use test_transport::TestTransport;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let addresses = Addresses::of(arguments)?;
    let transport = TestTransport::open(arguments, addresses)?;
    let orders = Orders::listen(arguments.commands, arguments.until_eof)?;
    if arguments.play.is_empty() {
        market::run(arguments, transport, orders, &interrupt)
    } else {
        playback::run(arguments, transport, orders, &interrupt)
    }
}
