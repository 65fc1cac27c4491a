//! The rules of a CME channel, one by one: the fewest packets that show each.
//!
//! Goal: where whole sessions say that something is wrong, these say what. Method: a few packets go
//! through the whole path; then its book, its orders or what it published is compared with one line
//! of text. The rules and their sources: `docs/venues/cme.md`.

mod behind;
mod bench;
mod books;
mod channel;
mod messages;
mod order_snapshots;
mod orders;
mod price_snapshots;
mod reference;
mod replay;
mod silence;
mod visibility;
