//! Roles of the processes.

use super::bus::{self, LENGTH_MAX, Writing};
use super::player::say;
use rustix::process::{Signal, getpid, kill_process};
use std::path::Path;
use std::time::Duration;
use touchline_shm::broadcast::Flags;
use touchline_shm::segment::Mapping;
use touchline_testing::payload;
use touchline_testing::stream_verifier::{StreamVerifier, Tally, Violation};

/// Messages that a writer publishes before it dies at a chosen point.
pub const BEFORE_DEATH: u64 = 500;

/// Entered by the processes that the tests start; in a usual run there is no role to play.
#[test]
fn play() {
    let Some((role, folder)) = touchline_testing::role() else {
        return;
    };
    let folder = folder.as_path();
    match role.as_str() {
        "writer" => write(folder),
        "writer that dies after the claim" => die(folder, Death::Claim),
        "writer that dies in the payload" => die(folder, Death::Half),
        "writer that dies after the payload" => die(folder, Death::Payload),
        "writer that dies after the commit" => die(folder, Death::Commit),
        "reader" => {
            let verifier = StreamVerifier::new(bus::attach(folder), LENGTH_MAX);
            testify(read(folder, verifier));
        }
        "credulous reader" => {
            let verifier = StreamVerifier::new(bus::attach(folder), LENGTH_MAX);
            let violation = read(folder, verifier.credulous()).unwrap_err();
            say(&violation.to_string());
        }
        "named reader" => {
            let (reader, _place) = bus::attach_registered(folder);
            testify(read(folder, StreamVerifier::new(reader, LENGTH_MAX)));
        }
        "named reader that stops" => {
            let (reader, _place) = bus::attach_registered(folder);
            say(&reader.next().position.to_string());
            stop();
        }
        other => panic!("no such role: {other}"),
    }
}

/// Publishes until it is killed; takes a breath now and then, so that others get a turn.
fn write(folder: &Path) {
    let mut writing = Writing::begin(folder);
    let mut bytes = Vec::new();
    for published in 1u64.. {
        writing.publish(&mut bytes);
        if published.is_multiple_of(2000) {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

#[derive(Clone, Copy)]
enum Death {
    Claim,
    Half,
    Payload,
    Commit,
}

/// Publishes a little, stops itself at the point in the message after, and waits there to be killed.
fn die(folder: &Path, death: Death) {
    let mut writing = Writing::begin(folder);
    let mut bytes = Vec::new();
    for _ in 0..BEFORE_DEATH {
        writing.publish(&mut bytes);
    }
    let sequence = writing.ring.next().sequence;
    // Payload of another sequence number: a reader that sees any byte of it reports a violation.
    payload::write(!sequence, LENGTH_MAX, &mut bytes);
    let mut claim = writing.ring.claim(LENGTH_MAX).unwrap();
    match death {
        Death::Claim => stop(),
        Death::Half => {
            claim.write(&bytes[..LENGTH_MAX / 2]);
            stop();
        }
        Death::Payload => {
            claim.write(&bytes);
            stop();
        }
        Death::Commit => {
            drop(claim);
            payload::write(sequence, payload::length(sequence, LENGTH_MAX), &mut bytes);
            writing.ring.publish(&bytes, Flags::default()).unwrap();
            stop();
        }
    }
}

/// Stops this process, which is killed then and not woken.
fn stop() {
    kill_process(getpid(), Signal::STOP).unwrap();
    // The signal is for the process, and may reach another thread of it first.
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Prints the totals of the stream verifier, or panics with its violation.
fn testify(seen: Result<Tally, Violation>) {
    let tally = seen.unwrap_or_else(|violation| panic!("{violation}"));
    let Tally {
        first,
        received,
        lost,
        laps,
        torn,
        ..
    } = tally;
    say(&format!("{first} {received} {lost} {laps} {torn}"));
}

/// Reads until the writer has ended and every message is read, or until a violation.
fn read(folder: &Path, mut verifier: StreamVerifier<Mapping>) -> Result<Tally, Violation> {
    say("attached");
    let mut idle = 0u64;
    loop {
        let received = verifier.tally().received;
        let more = verifier.poll_while(|| {
            // A reader is overrun in the middle of a message.
            if received.is_multiple_of(4096) {
                std::thread::yield_now();
            }
        })?;
        idle = if more { 0 } else { idle + 1 };
        if idle % 64 == 63 {
            // A message published before the end can be polled after it.
            if bus::has_ended(folder) && !verifier.poll()? {
                return Ok(verifier.tally());
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}
