//! The trading engine of `touchline fx run`, from a program: its parents, orders, fills and positions, and the desk's commands.
//!
//! ```no_run
//! use touchline_client::Side;
//! use touchline_client::fx::{Desk, Error, Event, Order, name, new_name};
//!
//! fn main() -> Result<(), Error> {
//!     let mut desk = Desk::join("fx-run")?;
//!     let parent = desk.send(&Order::new(new_name(), name("EUR/USD")?, Side::Bid, 1_000_000))?;
//!     while let Some(event) = desk.next()? {
//!         if let Event::Parent(row) = event
//!             && row.id == parent
//!             && row.is_settled
//!         {
//!             println!("{}: {} filled", row.state, row.filled);
//!             break;
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! - **The state is complete at join**: it is read from the engine's journal, and then from its bus. Entries that the bus lost, and those after a
//!   crash, are read from the journal again; an event says so ([`Event::Bus`]).
//! - **Permissions** are the engine's: a command is that of the Unix user who owns the client's ring, within the `may` and the
//!   limits of `[[clients]]`. A refusal is [`Error::Refused`], in the words of `touchline fx`.
//! - **The composite** is read as any other bus: [`Bus`](crate::Bus), with the name of the bus of `touchline fx compose`.
//!
//! [`Client`] sends without reading a journal; [`Tail`] gives each entry when it is published, [`Follower`] every entry of the journal.

mod desk;
mod event;
mod options;

pub use desk::Desk;
pub use event::{Event, kind_of};
pub use options::Options;
pub use touchline_fx_desk::ledger::{
    AlarmRow, BankRow, FillRow, Ledger, LiveLedger, OrderRow, PairRow, ParentRow,
};
pub use touchline_fx_desk::{
    Address, Answered, Client, Error, FollowError, Follower, PublishedEntry, Refused, Tail, Waits,
    happened, kill, kill_while, lifetime, name, new_name, side, standby_bus, style,
};
pub use touchline_fx_events::command::{Booking, Command, Order};
pub use touchline_fx_events::lines::names as words;
pub use touchline_fx_events::{event as entries, orders, parents, plan, ticks};
pub use touchline_transport::bus::BusEvent;
