//! bcast: one writer, many readers, messages in place; readers look at a position that the writer stores with each message.
//! The writer waits for no reader.

use anyhow::{Context, Result, bail};
use bcast::{
    Error, HEADER_SIZE, MappedReader, MappedWriter, MmapMutStorage, MmapStorage, StorageExt,
};
use harness::{Peer, Reader, Request, Schedule};
use std::process::ExitCode;

const SUBJECT: &str = "bcast";

/// Options, with the best values on the tested hosts.
const OPTIONS: &[(&str, &str)] = &[
    // KiB of a ring; `best`: 64 for round trips, 4096 for throughput.
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

fn create(request: &Request, name: &str) -> Result<MappedWriter> {
    let bytes = request.number::<usize>("ring-kib")? * 1024;
    let storage = MmapMutStorage::new(request.session.join(name), HEADER_SIZE + bytes)
        .context("cannot make a ring; it must be allowed to lock memory")?;
    Ok(storage.into_writer())
}

fn open(request: &Request, name: &str) -> Result<MappedReader> {
    let storage = harness::opened(|| MmapStorage::attach(request.session.join(name)))?;
    Ok(storage.into_reader_at(0))
}

/// Waits for the next message and returns its length.
#[inline]
fn receive(reader: &mut MappedReader, room: &mut [u8], request: &Request) -> Result<usize> {
    loop {
        match reader.receive_next(room) {
            Some(message) => return Ok(message?.payload.len()),
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
        ping.send(payload, true);
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
        pong.send(&room[..length], true);
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
        stream.send(&payload, true);
    }
    harness::report_while(SUBJECT, request, readers, || stream.send(&payload, true))
}

fn read(request: &Request) -> Result<()> {
    let mut stream = open(request, "stream")?;
    let gather: u32 = request.number("gather")?;
    let mut reader = Reader::new(request);
    harness::ready()?;
    let mut room = [0; 1024];
    harness::pin(request.peer_cpu())?;
    while !reader.is_done() {
        let Some(mut batch) = stream.read_batch() else {
            (0..gather).for_each(|_| request.idle());
            continue;
        };
        let mut is_overrun = false;
        while !reader.is_done()
            && let Some(message) = batch.receive_next(&mut room)
        {
            match message {
                Ok(message) => reader.take(message.payload)?,
                Err(Error::Overrun(_)) => {
                    is_overrun = true;
                    break;
                }
                Err(error) => bail!("cannot read: {error}"),
            }
        }
        // The gap in the numbers is counted with the next message.
        if is_overrun {
            stream.reset();
        }
    }
    reader.report()
}
