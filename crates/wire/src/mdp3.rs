//! CME MDP 3.0: market data of CME Globex, multicast packets of SBE messages (schema 1, versions 5 to 13).
//!
//! The messages are generated from CME's templates, with all versions of a template merged into one view; [`Packet`]
//! and the printing are written by hand. Names are the venue's own, spelled as Rust spells them.

mod generated;
mod message;
mod packet;
mod print;

pub use crate::sbe::Message;
pub use generated::*;
pub use packet::{CheckedMessage, Messages, Packet, PacketHeader, RawMessage};
