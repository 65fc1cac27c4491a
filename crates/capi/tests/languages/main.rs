//! The client in Rust, C, C++ and Python: generated files are those of the sources, programs compile without a warning,
//! and one scenario has the same answers in the four languages.

mod compile;
mod generated;
mod publisher;
mod reader;
mod scenario;
mod tools;
