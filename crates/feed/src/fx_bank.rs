//! Banks' quotes of currency pairs over FIX 4.4: each quote, and the bank's own book.
//!
//! [`BankStream`] decodes and keeps the quotes, by the rules that the composer and the engine have too. [`fix_md`](crate::fix_md) is
//! for sources of price levels: there an entry that cannot be used makes its book unreliable, here it is a quote that is absent.
//!
//! Source: `docs/venues/fx-banks.md`.

mod books;
mod counters;
mod feed;
mod messages;
mod requests;
mod settings;

pub use counters::Counters;
pub use feed::FxBankFeed;
pub use settings::{APPLICATION, Pair, Request, Reset, Rules, Settings};
pub use touchline_fx::BankStream;
