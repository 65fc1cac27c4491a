//! Market data over a session. The other side of a session plays the venue, without sockets.

mod causes;
mod definitions;
mod entries;
mod goes_on;
mod one_walk;
mod parts;
mod quotes;
mod rules;
mod two_applications;
mod world;
