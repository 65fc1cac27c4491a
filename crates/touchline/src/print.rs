//! Lines on standard output of commands that print while they go on: benchmarks and load tests.

use crate::output::unwritable;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Prints a formatted line on standard output while a command goes on; see [`print_text`].
macro_rules! print_line {
    ($($text:tt)+) => {
        $crate::print::print_text(format_args!("{}\n", format_args!($($text)+)))
    };
}
pub(crate) use print_line;

/// Writes to standard output while a command goes on. A closed reader is not an error; another one ends the process with a line, as
/// nothing measured from here on could be printed.
pub fn print_text(text: std::fmt::Arguments<'_>) {
    let written = std::io::stdout().lock().write_fmt(text);
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            unwritable(Path::new("standard output"), &error).report();
            std::process::exit(1);
        }
        _ => {}
    }
}
