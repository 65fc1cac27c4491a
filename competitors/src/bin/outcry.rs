//! outcry: the FastQueue of David Gross (CppCon 2024) in Rust: the writer publishes its position in a line that readers
//! load only when they have read everything before it. The writer waits for no reader.

use anyhow::{Context, Result};
use harness::{Peer, Reader, Request, Schedule};
use outcry::{Consumer, Error, Producer, Queue};
use std::process::ExitCode;

const SUBJECT: &str = "outcry";

/// Options, with the best values on the tested hosts.
const OPTIONS: &[(&str, &str)] = &[
    // KiB of a queue; `best`: 64 for round trips, 4096 for throughput.
    ("ring-kib", "best"),
    // Spins of a reader of a stream that found nothing; `best`: 1000 for one reader of an unlimited stream, else 1.
    ("gather", "best"),
];

fn main() -> ExitCode {
    harness::main(SUBJECT, OPTIONS, run)
}

fn run(mut request: Request) -> Result<()> {
    request.choose("ring-kib", 64, 4096);
    request.choose_gather();
    request.play(ping, publish, echo, read)
}

fn create(request: &Request, name: &str) -> Result<Producer> {
    let bytes = request.number::<u64>("ring-kib")? * 1024;
    Ok(Queue::create(request.session.join(name), bytes)?.producer()?)
}

fn open(request: &Request, name: &str) -> Result<Consumer> {
    let queue = harness::opened(|| Queue::open(request.session.join(name)))?;
    Ok(queue.consumer())
}

/// Waits for the next message and returns its length.
#[inline]
fn receive(consumer: &mut Consumer, room: &mut [u8], request: &Request) -> Result<usize> {
    loop {
        match consumer.try_read(room)? {
            Some(length) => return Ok(length),
            None => request.idle(),
        }
    }
}

fn ping(request: &Request) -> Result<()> {
    let mut ping = create(request, "ping")?;
    let _echo = Peer::start(request, "echo", 0)?;
    let mut pong = open(request, "pong")?;
    let mut room = [0; 1024];
    harness::pin(request.cpus[0])?;
    harness::measure_rtt(SUBJECT, request, |payload, number| {
        harness::stamp(payload, number);
        ping.write(payload)?;
        let length = receive(&mut pong, &mut room, request)?;
        Ok(harness::sequence(&room[..length]))
    })
}

fn echo(request: &Request) -> Result<()> {
    let mut pong = create(request, "pong")?;
    let mut ping = open(request, "ping")?;
    harness::ready()?;
    let mut room = [0; 1024];
    harness::pin(request.peer_cpu())?;
    loop {
        let length = receive(&mut ping, &mut room, request)?;
        pong.write(&room[..length])?;
    }
}

fn publish(request: &Request) -> Result<()> {
    let mut stream = create(request, "stream")?;
    let readers = (0..request.readers)
        .map(|index| Peer::start(request, "reader", index))
        .collect::<Result<Vec<_>>>()?;
    harness::pin(request.cpus[0])?;
    let mut payload = vec![0x5A; request.payload];
    let schedule = Schedule::start(request);
    for number in 0..request.total() {
        schedule.wait(number);
        harness::stamp(&mut payload, number);
        stream.write(&payload)?;
    }
    harness::report_while(SUBJECT, request, readers, || drop(stream.write(&payload)))
}

fn read(request: &Request) -> Result<()> {
    let mut stream = open(request, "stream")?;
    let gather: u32 = request.number("gather")?;
    let mut reader = Reader::new(request);
    harness::ready()?;
    let mut room = [0; 1024];
    harness::pin(request.peer_cpu())?;
    while !reader.is_done() {
        match stream.try_read(&mut room) {
            Ok(Some(length)) => reader.take(&room[..length])?,
            Ok(None) => (0..gather).for_each(|_| request.idle()),
            // The gap in the numbers is counted with the next message.
            Err(Error::Overrun { .. }) => drop(stream.resync()),
            Err(error) => return Err(error).context("cannot read"),
        }
    }
    reader.report()
}
