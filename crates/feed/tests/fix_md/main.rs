//! Market data over a session: a venue that is played by the other side of one, without sockets.
#![allow(missing_docs)]

mod causes;
mod definitions;
mod goes_on;
mod parts;
mod quotes;
mod rules;
mod stage;
mod two_applications;
