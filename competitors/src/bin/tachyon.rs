//! Tachyon: a ring for each direction and each reader, written in place, read in place.

use anyhow::{Context, Result};
use harness::{Peer, Reader, Request, Schedule};
use std::process::ExitCode;
use tachyon_ipc::{Bus, TachyonError};

const SUBJECT: &str = "tachyon";

/// Options, with the best values on the tested hosts.
const OPTIONS: &[(&str, &str)] = &[
    // KiB of a ring; `best`: 64 for round trips, 1024 for throughput.
    ("ring-kib", "best"),
    // Messages taken by one call of the throughput measurement.
    ("batch", "128"),
];

/// The reader never sleeps.
const SPIN: u32 = u32::MAX;

fn main() -> ExitCode {
    harness::main(SUBJECT, OPTIONS, run)
}

fn run(mut request: Request) -> Result<()> {
    request.choose("ring-kib", 64, 1024);
    request.play(ping, publish, echo, read)
}

fn socket(request: &Request, name: &str) -> String {
    request.session.join(name).display().to_string()
}

/// Makes a ring and waits for the other side.
fn listen(request: &Request, name: &str) -> Result<Bus> {
    let bytes = request.number::<usize>("ring-kib")? * 1024;
    Ok(Bus::listen(&socket(request, name), bytes)?)
}

fn connect(request: &Request, name: &str) -> Result<Bus> {
    harness::opened(|| Bus::connect(&socket(request, name)))
}

/// Sends one message, waiting while there is no room.
#[inline]
fn send(bus: &Bus, payload: &[u8], request: &Request) -> Result<()> {
    loop {
        match bus.send(payload, 1) {
            Ok(()) => return Ok(()),
            Err(TachyonError::BufferFull) => request.idle(),
            Err(error) => return Err(error).context("cannot send"),
        }
    }
}

fn ping(request: &Request) -> Result<()> {
    let _echo = Peer::start(request, "echo", 0)?;
    let ping = connect(request, "ping")?;
    let pong = connect(request, "pong")?;
    pong.set_polling_mode(1);
    harness::pin(request.cpus[0])?;
    harness::measure_rtt(SUBJECT, request, |payload, number| {
        harness::stamp(payload, number);
        send(&ping, payload, request)?;
        let answer = pong.acquire_rx(SPIN)?;
        let number = harness::sequence(answer.data());
        answer.commit()?;
        Ok(number)
    })
}

fn echo(request: &Request) -> Result<()> {
    harness::ready()?;
    let ping = listen(request, "ping")?;
    let pong = listen(request, "pong")?;
    ping.set_polling_mode(1);
    harness::pin(request.peer_cpu())?;
    loop {
        let message = ping.acquire_rx(SPIN)?;
        send(&pong, message.data(), request)?;
        message.commit()?;
    }
}

fn publish(request: &Request) -> Result<()> {
    let (mut readers, mut streams) = (Vec::new(), Vec::new());
    for index in 0..request.readers {
        readers.push(Peer::start(request, "reader", index)?);
        streams.push(connect(request, &format!("stream-{index}"))?);
    }
    harness::pin(request.cpus[0])?;
    let mut payload = vec![0x5A; request.payload];
    let schedule = Schedule::start(request);
    for number in 0..request.total() {
        schedule.wait(number);
        harness::stamp(&mut payload, number);
        for stream in &streams {
            send(stream, &payload, request)?;
        }
    }
    harness::report_throughput(SUBJECT, request, readers)
}

fn read(request: &Request) -> Result<()> {
    let batch = request.number("batch")?;
    harness::ready()?;
    let stream = listen(request, &format!("stream-{}", request.index))?;
    stream.set_polling_mode(1);
    let mut reader = Reader::new(request);
    harness::pin(request.peer_cpu())?;
    while !reader.is_done() {
        let messages = stream.drain_batch(batch, SPIN)?;
        for message in &messages {
            reader.take(message.data())?;
        }
        messages.commit()?;
    }
    reader.report()
}
