//! The files of a bus: who may touch them, what happens when there is no room, when a file is made
//! shorter, and when somebody dies at any moment. Real files, real processes, real signals.

#![cfg(not(any(loom, miri)))]

mod faults;
mod files;
mod locks;
mod names;
mod place;
mod roles;
mod room;
mod strangers;
