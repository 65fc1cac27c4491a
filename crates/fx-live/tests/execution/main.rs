//! The engine with a bank that a test controls: its quotes, its order session, and the desk's commands, in one thread.

mod alarms;
mod dates;
mod desk;
mod freeze;
mod journal;
mod restart;
mod rig;
