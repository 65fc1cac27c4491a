//! A publisher, a recorder and readers of the tape, in one thread.

mod closed_segments;
mod damage;
mod disk;
mod index;
mod kills;
mod lost_ring;
mod places;
mod process;
mod raw;
mod raw_disk;
mod recording;
mod world;
