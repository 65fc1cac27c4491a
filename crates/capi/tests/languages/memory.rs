//! Memory of a reader in Python over a day.

use crate::compile::folder;
use crate::day;
use crate::publisher::{BUS, Kind, Process};
use crate::tools::package;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use touchline_testing::built;

/// Packets of the day; the variable `TOUCHLINE_DAY_PACKETS` gives another number.
const PACKETS: u64 = 400_000;
/// Packets between two reads: the ring has room for them.
const PART: u64 = 20_000;

/// A day of `read()` on a bus with 5,000 instruments and a book of 100,000 orders: in the second half of the day the reader needs no more memory than in
/// the quarter before, within the program's bound; arrays cannot be written, and those that are kept have their contents at the end. The program checks it, and that it has read each row.
#[test]
fn a_day_of_arrays_takes_no_more_memory_than_half_of_it() {
    let Some(python) = built::python("python-tests", &["numpy", "pytest"]) else {
        return;
    };
    let packets = std::env::var("TOUCHLINE_DAY_PACKETS").ok();
    let packets = packets.map_or(PACKETS, |text| text.parse().expect("a number"));
    let folder = folder();
    let directory = folder.join("buses");
    let mut publisher = Process::start_as(&directory, Kind::Day);
    publisher.step(&["begin"]);
    let mut reader = Command::new(python)
        .arg(package("tests/programs/memory.py"))
        .args([BUS.as_ref(), directory.as_os_str()])
        .args([day::INSTRUMENTS.to_string(), day::ORDERS.to_string()])
        .arg(packets.to_string())
        .env("PYTHONPATH", built::python_package(&folder.join("python")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("an interpreter");
    let mut lines = reader.stdin.take().expect("a pipe");
    let mut said = BufReader::new(reader.stdout.take().expect("a pipe")).lines();
    let mut ask = |word: &str| {
        writeln!(lines, "{word}").expect("the reader runs");
        said.next().expect("the reader runs").expect("a line")
    };
    assert_eq!(ask("begin"), "read");
    for from in (0..packets).step_by(PART as usize) {
        let words = [from, PART.min(packets - from), packets].map(|number| number.to_string());
        publisher.step(&["packets", &words[0], &words[1], &words[2]]);
        assert_eq!(ask("read"), "read");
    }
    println!("{packets} packets: {}", ask("end"));
    assert!(reader.wait().expect("our child").success());
}
