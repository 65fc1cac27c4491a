//! Whole sessions and the built command, in one program.

mod command;
mod sessions;
