//! Journals in real directories, written by the crate and read by it and by a second reader.

mod damage;
mod golden;
mod place;
mod round_trip;
mod second_reader;
