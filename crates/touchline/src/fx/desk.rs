//! Commands of the desk: `touchline fx send`, `cancel`, `kill`, `lift`, `enable`, `resolve`, `book`.

mod wait;

use super::follow::{Source, noted_config};
use super::numbers::quantity;
use crate::interrupt::Interrupt;
use crate::missing;
use crate::output::{Failure, say};
use clap::{Args, ValueEnum};
use std::io::IsTerminal;
use touchline_client::fx::{self, Address, Booking, Client, Command, Order, name, parents, plan};
use touchline_client::names::ErrorKind;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::Event;
use touchline_fx_live::execution::Config;
use touchline_transport::bus::Root;
use touchline_types::{self as types, Id};
use wait::Lines;

/// Engine and client of a command.
#[derive(Debug, Args)]
pub struct To {
    /// Client, as the engine's configuration names it
    #[arg(long = "as", value_name = "CLIENT", default_value = "desk")]
    pub(super) client: String,
    #[command(flatten)]
    engine: Source,
}

impl To {
    /// The active engine.
    fn address(&self) -> Result<Address, Failure> {
        Ok(self.place()?.0)
    }

    /// The active engine, and whether its configuration says where it looks for this client: a kill goes out also if that is not known.
    pub(super) fn place(&self) -> Result<(Address, bool), Failure> {
        let (root, bus, config) = self.engine.place()?;
        let known = match config {
            Some(config) => Some(self.ring_root(&root, &config)?),
            None => {
                noted_config(&root, &bus).and_then(|config| self.ring_root(&root, &config).ok())
            }
        };
        let is_known = known.is_some();
        let address = Address {
            ring_root: known.unwrap_or_else(|| root.clone()),
            root,
            bus,
            client: self.client.clone(),
        };
        Ok((address, is_known))
    }

    /// Directory of the client's ring, in which the engine of this configuration looks for its commands and kills.
    fn ring_root(&self, root: &Root, config: &Config) -> Result<Root, Failure> {
        let clients = &config.clients;
        let client = clients.iter().find(|client| client.name == self.client);
        let client = client.ok_or_else(|| {
            let names = clients.iter().map(|client| client.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            Failure::usage(format!(
                "{} is not a client of that configuration; give --as with one of: {names}",
                self.client
            ))
        })?;
        let directory = client.directory.as_ref();
        let ring_root = directory.map_or_else(|| root.clone(), Root::at);
        let shared = ring_root.shared_with(client.group.as_deref());
        shared.map_err(Failure::usage)
    }

    /// Client of the active engine.
    fn join(&self) -> Result<Client, Failure> {
        join(self.address()?)
    }
}

/// Joins an engine.
fn join(address: Address) -> Result<Client, Failure> {
    let root = address.root.clone();
    Client::join(address).map_err(|error| failure(&root, error))
}

/// The end of a command; of a missing bus with the names of those that are there.
fn failure(root: &Root, error: fx::Error) -> Failure {
    match error {
        fx::Error::NoEngine { bus, error } => {
            let error = missing::words(root, &bus, error);
            Failure::run(fx::Error::no_engine(&bus, error))
        }
        error => Failure::run(error),
    }
}

/// Send a parent order to the trading engine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx send EUR/USD buy 1000000 --limit 1.1005 --wait
  touchline fx send EUR/USD sell 2.5m --market --tif fok --style full

Exit status: 0 accepted (--wait: filled, in whole or in part), 1 refused, no answer (--wait: or
nothing filled, or not known: the journal has it), 2 bad arguments")]
pub struct SendArguments {
    /// Pair, such as EUR/USD
    #[arg(value_parser = name)]
    pair: Id,
    /// Side
    side: Side,
    /// Quantity, base units: 1000000, 1_000_000, 1m, 2.5m, 500k
    #[arg(value_parser = quantity)]
    quantity: i64,
    /// Name of the order; by default the time
    #[arg(long, value_name = "ID", value_parser = name)]
    id: Option<Id>,
    /// Worst price
    #[arg(long, value_name = "PRICE", value_parser = name)]
    limit: Option<Id>,
    /// No worst price: trade at any price within the collar. At a terminal this or --limit is required
    #[arg(long, conflicts_with = "limit")]
    market: bool,
    /// Lifetime
    #[arg(long, default_value = "gtd")]
    tif: Lifetime,
    /// Lifetime of a gtd order, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    deadline_ms: u64,
    /// Urgency, 0 to 2
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    urgency: u8,
    /// Execution style: best, full (one ticket) or sweep
    #[arg(long, default_value = "best")]
    style: Style,
    /// Fill the whole quantity at once or nothing
    #[arg(long)]
    whole: bool,
    /// Wait until the order has ended and has no open orders at banks; print its fills. Nothing filled is exit status 1
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    to: To,
}

/// Side of an order.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Side {
    Buy,
    Sell,
}

/// Lifetime of an order.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Lifetime {
    Gtd,
    Ioc,
    Fok,
}

/// Style of an order.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Style {
    Best,
    Full,
    Sweep,
}

/// End a parent order, and cancel its open orders at banks.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx cancel P17

Exit status: 0 done, 1 refused or no answer, 2 bad arguments")]
pub struct CancelArguments {
    /// Name of the order
    #[arg(value_parser = name)]
    id: Id,
    #[command(flatten)]
    to: To,
}

/// Lift the kill switch; two different users are required.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx lift && touchline fx lift --as chief

Exit status: 0 noted, and lifted with the second person; 1 refused or no answer, 2 bad arguments")]
pub struct LiftArguments {
    #[command(flatten)]
    to: To,
}

/// Enable a pair of a bank that was disabled by a reject.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx enable LP01 EUR/USD

Exit status: 0 done, 1 refused or no answer, 2 bad arguments")]
pub struct EnableArguments {
    /// Bank
    #[arg(value_parser = name)]
    bank: Id,
    /// Pair
    #[arg(value_parser = name)]
    pair: Id,
    #[command(flatten)]
    to: To,
}

/// End an unknown or disputed order with the state that the bank reports.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx resolve Te4-P17-1 500k --price 1.10021

Exit status: 0 done, 1 refused or no answer, 2 bad arguments")]
pub struct ResolveArguments {
    /// ClOrdID
    #[arg(value_parser = name)]
    order: Id,
    /// Filled quantity in total, base units: 0, 1000000, 2.5m, 500k
    #[arg(value_parser = quantity)]
    filled: i64,
    /// Price of the quantity that is not booked yet
    #[arg(long, value_name = "PRICE", value_parser = name)]
    price: Option<Id>,
    #[command(flatten)]
    to: To,
}

/// Make the standby the active engine; it is refused while another engine lives, also one that is frozen.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx promote --check
  touchline fx promote

Exit status: 0 promoted (--check: a standby runs), 1 refused (the message names the active engine)
or no standby, 2 bad arguments")]
pub struct PromoteArguments {
    /// Print what the standby has applied and which engine is active, and change nothing
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    to: To,
}

/// Book a trade that no order explains: an opening position, a reversal or a correction. Two persons of
/// `[risk] bookers` must give the same command.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx book OPEN-1 EUR/USD buy 5m 1.10123 --value-date 20260107 --as chief

Exit status: 0 proposed, or booked with the second person; 1 refused or no answer, 2 bad arguments")]
pub struct BookArguments {
    /// Name of the booking; it is used once
    #[arg(value_parser = name)]
    id: Id,
    /// Pair, such as EUR/USD
    #[arg(value_parser = name)]
    pair: Id,
    /// Side
    side: Side,
    /// Quantity, base units: 1000000, 1_000_000, 1m
    #[arg(value_parser = quantity)]
    quantity: i64,
    /// Price
    #[arg(value_parser = name)]
    price: Id,
    /// Value date, YYYYMMDD
    #[arg(long, value_name = "DATE", value_parser = name)]
    value_date: Id,
    /// Bank, if the trade is with one
    #[arg(long, value_name = "BANK", value_parser = name)]
    bank: Option<Id>,
    #[command(flatten)]
    to: To,
}

/// `fx promote`.
pub fn promote(arguments: &PromoteArguments) -> Result<(), Failure> {
    let command = match arguments.check {
        true => Command::Standby,
        false => Command::Promote,
    };
    let mut address = arguments.to.address()?;
    address.bus = fx::standby_bus(&address.bus);
    answered(join(address)?, &command)
}

impl SendArguments {
    /// A person may have forgotten the limit; a program has been written with or without one.
    fn check_price(&self, is_terminal: bool) -> Result<(), Failure> {
        if self.limit.is_none() && !self.market && is_terminal {
            return Err(Failure::usage(
                "without a limit the order trades at any price within collar_ticks of the reference; give --limit PRICE, or --market",
            ));
        }
        Ok(())
    }
}

/// `fx send`.
pub fn send(arguments: &SendArguments) -> Result<(), Failure> {
    arguments.check_price(std::io::stdin().is_terminal())?;
    let id = arguments.id.unwrap_or_else(fx::new_name);
    let (side, quantity) = (arguments.side.into(), arguments.quantity);
    let order = Order {
        limit: arguments.limit,
        lifetime: arguments.tif.into(),
        deadline_ms: arguments.deadline_ms,
        urgency: arguments.urgency,
        style: arguments.style.into(),
        partial: !arguments.whole,
        ..Order::new(id, arguments.pair, side, quantity)
    };
    // A command that Ctrl-C ends at once would not name the order that it has sent.
    let interrupt = Interrupt::catch()?;
    let (mut client, mut lines) = (arguments.to.join()?, Lines::default());
    if interrupt.is_asked() {
        return Err(Failure::run(fx::Error::Interrupted {
            is_sent: false,
            parent: None,
        }));
    }
    let answer = client.command_while(&Command::Parent(order), |told| lines.add(told), &mut || {
        !interrupt.is_asked()
    });
    answer.map_err(|error| match fx::kind_of(&error) {
        ErrorKind::NoAnswer => named(Failure::run(error), id),
        // It is not executed under any name.
        _ => Failure::run(error),
    })?;
    match arguments.wait {
        false => say(&format!("accepted {id}\n")).map_err(|failure| named(failure, id)),
        true => lines.follow(&mut client, (id, quantity), &interrupt),
    }
}

/// A failure behind which the order may be executed. Its name may be made here, and the command given again would make another one.
fn named(failure: Failure, id: Id) -> Failure {
    match failure {
        Failure::Run(text) => Failure::Run(format!(
            "{text}; `touchline fx explain {id}`, with the same --bus or --config, has what became of it; to send it again give --id {id}, \
             under another name it is a second order"
        )),
        other => other,
    }
}

/// `fx cancel`.
pub fn cancel(arguments: &CancelArguments) -> Result<(), Failure> {
    once(&arguments.to, &Command::Cancel { id: arguments.id })
}

/// `fx lift`.
pub fn lift(arguments: &LiftArguments) -> Result<(), Failure> {
    let (mut client, mut is_killed) = (arguments.to.join()?, None);
    // The decision is published before the answer.
    let answer = client.command(&Command::Lift, |told| {
        if let Entry::Event(Event::Lift { is_killed: now, .. }, _) = told.entry {
            is_killed = Some(*now);
        }
    });
    let answer = answer.map_err(Failure::run)?;
    say(match is_killed {
        Some(true) => {
            "noted; the kill switch is still set: another person must lift it, too\n".to_owned()
        }
        Some(false) => "lifted: the kill switch is not set any more\n".to_owned(),
        None => format!("{answer}\n"),
    }
    .as_str())
}

/// `fx enable`.
pub fn enable(arguments: &EnableArguments) -> Result<(), Failure> {
    let (bank, pair) = (arguments.bank, arguments.pair);
    once(&arguments.to, &Command::Enable { bank, pair })
}

/// `fx resolve`.
pub fn resolve(arguments: &ResolveArguments) -> Result<(), Failure> {
    let resolve = Command::Resolve {
        order: arguments.order,
        cum: arguments.filled,
        price: arguments.price,
    };
    once(&arguments.to, &resolve)
}

/// `fx book`.
pub fn book(arguments: &BookArguments) -> Result<(), Failure> {
    let booking = Booking {
        id: arguments.id,
        pair: arguments.pair,
        side: arguments.side.into(),
        quantity: arguments.quantity,
        price: arguments.price,
        bank: arguments.bank,
        value_date: arguments.value_date,
    };
    once(&arguments.to, &Command::Book(booking))
}

fn once(to: &To, command: &Command) -> Result<(), Failure> {
    answered(to.join()?, command)
}

fn answered(mut client: Client, command: &Command) -> Result<(), Failure> {
    let answer = client.command(command, |_| ()).map_err(Failure::run)?;
    say(&format!("{answer}\n"))
}

impl From<Side> for types::Side {
    fn from(side: Side) -> types::Side {
        match side {
            Side::Buy => types::Side::Bid,
            Side::Sell => types::Side::Ask,
        }
    }
}

impl From<Lifetime> for parents::Lifetime {
    fn from(lifetime: Lifetime) -> parents::Lifetime {
        match lifetime {
            Lifetime::Gtd => parents::Lifetime::Deadline,
            Lifetime::Ioc => parents::Lifetime::Immediate,
            Lifetime::Fok => parents::Lifetime::AllOrNothing,
        }
    }
}

impl From<Style> for plan::Style {
    fn from(style: Style) -> plan::Style {
        match style {
            Style::Best => plan::Style::Best,
            Style::Full => plan::Style::Full,
            Style::Sweep => plan::Style::Sweep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: SendArguments,
    }

    /// At a terminal an order without a limit is sent only with `--market`; a program sends it either way.
    #[test]
    fn a_person_says_that_an_order_has_no_limit() {
        for (price, is_refused) in [
            (&[][..], true),
            (&["--market"], false),
            (&["--limit", "1.1"], false),
        ] {
            let line = ["send", "EUR/USD", "buy", "1000"].iter().chain(price);
            let line = Line::try_parse_from(line).unwrap_or_else(|error| panic!("{error}"));
            let at_terminal = line.arguments.check_price(true);
            assert_eq!(at_terminal.is_err(), is_refused, "{price:?}");
            assert!(line.arguments.check_price(false).is_ok(), "{price:?}");
        }
    }
}
