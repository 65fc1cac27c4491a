//! The client in Rust, C, C++ and Python: generated files are those of the sources, programs compile without a warning,
//! and one scenario has the same answers in the four languages. A day of arrays in Python takes no more memory than half of it.

mod compile;
mod day;
mod forks;
mod generated;
mod memory;
mod moments;
mod publisher;
mod reader;
mod recorder;
mod scenario;
mod tape;
mod tools;
