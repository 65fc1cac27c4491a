//! CME MDP 3.0 packets: right ones give the values that are in them, wrong ones are refused, none makes it panic.
//!
//! Frames are written byte by byte from the venue's tables, not with the layouts under test.

mod bytes;
mod captures;
mod damage;
mod definitions;
mod hostile;
mod incremental;
mod printing;
mod snapshots;
