//! Access control: the addresses that a counterparty may have, the connections that are not authenticated,
//! and the login throttle of those whose Logons fail.

mod addresses;
mod login_queue;
mod login_throttle;
mod peer;

pub use addresses::{Addresses, Block, Misspelt};
pub use login_queue::{LoginQueue, Rules, Unauthenticated};
pub use login_throttle::{LoginThrottle, ThrottleLimits};
pub use peer::{Peer, place_of};
