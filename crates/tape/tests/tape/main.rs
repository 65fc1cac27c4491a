//! A publisher, a recorder and readers of the tape, in one thread.

mod damage;
mod kills;
mod recording;
mod world;
