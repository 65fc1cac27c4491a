//! Rules of a CME channel, one by one, each with few packets.
//!
//! Goal: tests of whole sessions show that something is wrong; these show which rule. Method: a
//! few packets go through the whole path; then the book, the orders or the published updates are
//! compared with a text of one line. Rules and sources: `docs/venues/cme.md`.

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
