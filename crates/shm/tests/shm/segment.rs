//! The files of a bus: access, lack of memory, truncated files, and processes that die at any time. Real files,
//! processes and signals.

#![cfg(not(any(loom, miri)))]

mod faults;
mod files;
mod forks;
mod groups;
mod locks;
mod names;
mod other_users;
mod place;
mod roles;
mod room;
