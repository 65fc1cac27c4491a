//! File store of a FIX session: contents, and kills of its process.

mod crash_injection;
mod damage;
mod file;
mod kills;
