//! Journals in real directories, written by the crate and read by it and by a second reader.

mod chain;
mod compressed;
mod copies;
mod damage;
mod follow;
mod full;
mod golden;
mod held;
mod kills;
mod place;
mod replica;
mod roles;
mod round_trip;
mod second_reader;
