//! Who may come in: the addresses that a counterparty may have, the connections that have not said who they are,
//! and the pauses of those whose Logons fail.

mod addresses;
mod pauses;
mod strangers;

pub use addresses::{Addresses, Block, Misspelt};
pub use pauses::{Patience, Pauses};
pub use strangers::{Rules, Stranger, Strangers};
