//! Access control: allowed addresses of counterparties, limits of unauthenticated connections, and the login throttle
//! for failed Logons.

mod addresses;
mod login_queue;
mod login_throttle;
mod peer;

pub use addresses::{Addresses, Block, Misspelt};
pub use login_queue::{LoginQueue, Rules, Unauthenticated};
pub use login_throttle::{LoginThrottle, ThrottleLimits};
pub use peer::{Peer, place_of};
