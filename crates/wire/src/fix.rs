//! FIX tag=value, as FIX 4.4 sessions carry it: `8=FIX.4.4|9=…|35=…|…|10=…|`, each `|` a byte 0x01.
//!
//! [`frame`] finds one message at the beginning of received bytes and verifies its length and checksum;
//! [`Message::fields`] walks it. Values are borrowed bytes with conversions that are exact or an error. [`Encoder`]
//! writes messages into the caller's buffer. [`validate`] checks a message against a [`dictionary`], as a session must
//! before it acts.
//!
//! Source: FIX 4.4 with errata 20030618, volume 1 (tag=value syntax, data types) and volume 2 (session).

pub mod dictionary;
mod encode;
mod fields;
mod format;
mod frame;
mod generated;
mod header;
mod header_tags;
mod malformed;
pub mod market_data;
mod names;
mod number;
mod reject;
mod resync;
mod scan;
pub mod tag;
mod time;
mod tokens;
mod validate;

pub use encode::{Encoder, Full};
pub use fields::{BadField, Field, Fields};
pub use frame::{Frame, Message, frame, frame_with, stated};
pub use generated::FIX44;
pub use header::Header;
pub use header_tags::is_header;
pub use malformed::Malformed;
pub use number::{Decimal, decimal, integer, unsigned, without_zeros};
pub use reject::{RefTag, Reject, SessionRejectReason};
pub use resync::resync;
pub use scan::SOH;
pub use time::{LastSecond, NO_DATE, Precision, is_timestamp, timestamp, write_timestamp};
pub use validate::{Options, USER_DEFINED, validate};
