//! Native format: every update as an SBE message of `schemas/touchline.xml`.
//!
//! ```text
//! | header 8 | head 30 | trace 50 | fields of the message | group | group ...
//!   length,    sequence, packet,      as layout.rs has them   dimension 4, entries
//!   template   times,    marks
//! ```
//!
//! Quotes also have encoders of their own ([`encode_quote_update`], [`encode_quote_snapshot`]).
//!
//! [`encode`] writes an update, [`parts`] first splits one that is too long for one message. [`Message::parse`] checks
//! a whole message and returns borrowed views; [`Decoder`] converts it into an [`Update`](crate::Update), and combines
//! parts. Rules and reasons: `docs/design/native-format.md`.

pub mod code;
mod decoder;
mod definition;
mod encode;
mod entry;
mod flags;
mod group;
pub mod layout;
mod malformed;
mod message;
mod parts;
mod quotes;
mod schema;
mod sink;
mod source;
mod write;

pub use decoder::{Decoder, Scratch, Unfit};
pub use definition::DefinitionView;
pub use encode::{
    FLAGS_AT, HEARTBEAT_BYTES, TOP_OF_BOOK_BYTES, encode, encode_heartbeat, encode_top_of_book,
    encoded_len, mark_end_of_batch, mark_stale, write_heartbeat, write_top_of_book, write_update,
};
pub use entry::Entry;
pub use flags::Flags;
pub use group::{Entries, Group};
pub use malformed::Malformed;
pub use message::{Body, BookSnapshotView, BookUpdateView, Message, OrdersView, TopOfBook};
pub use parts::{Part, Parts, parts};
pub use quotes::{
    QuotesView, encode_quote_snapshot, encode_quote_update, quote_snapshot_parts,
    quote_update_parts,
};
pub use schema::{PART_BYTES_MAX, PART_BYTES_MIN, SCHEMA_ID, SCHEMA_VERSION};
pub use sink::Sink;
