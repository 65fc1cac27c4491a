//! Who may come in: the addresses that a counterparty may have, and the pauses of those whose Logons fail.

mod addresses;
mod pauses;

pub use addresses::{Addresses, Block, Misspelt};
pub use pauses::{Patience, Pauses};
