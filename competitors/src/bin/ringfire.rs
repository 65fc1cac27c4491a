//! ringfire: slots of one size with a sequence number each; the writer waits for the slowest registered reader.

use anyhow::{Result, bail};
use harness::{Peer, Reader, Request, Schedule};
use ringfire::{FlowControl, RingConsumer, RingProducer, RingProducerBuilder};
use std::process::ExitCode;

const SUBJECT: &str = "ringfire";

/// Options, with the best values on the tested hosts.
const OPTIONS: &[(&str, &str)] = &[
    // Slots of a ring; `best`: 512 for round trips, 32768 for throughput.
    ("slots", "best"),
    // Spins of a reader of a stream that found nothing; `best`: 1000 for one reader of an unlimited stream, else 1.
    ("gather", "best"),
];

fn main() -> ExitCode {
    harness::main(SUBJECT, OPTIONS, run)
}

/// Its records have a size that is known when it is compiled: those of the two measurements.
fn run(request: Request) -> Result<()> {
    match request.payload {
        70 => run_with::<70>(request),
        100 => run_with::<100>(request),
        other => bail!("its records are 70 or 100 bytes long here, not {other}"),
    }
}

fn run_with<const BYTES: usize>(mut request: Request) -> Result<()> {
    request.choose("slots", 512, 32768);
    request.choose_gather();
    request.play(
        ping::<BYTES>,
        publish::<BYTES>,
        echo::<BYTES>,
        read::<BYTES>,
    )
}

fn create<const BYTES: usize>(
    request: &Request,
    name: &str,
    flow: FlowControl,
) -> Result<RingProducer<[u8; BYTES]>> {
    let ring = RingProducerBuilder::new(request.number("slots")?).flow_control(flow);
    Ok(ring.build(request.session.join(name))?)
}

fn open<const BYTES: usize>(request: &Request, name: &str) -> Result<RingConsumer<[u8; BYTES]>> {
    harness::opened(|| RingConsumer::attach(request.session.join(name)))
}

/// Waits for the next message.
#[inline]
fn receive<const BYTES: usize>(
    ring: &mut RingConsumer<[u8; BYTES]>,
    request: &Request,
) -> [u8; BYTES] {
    loop {
        match ring.try_recv() {
            Some(message) => return message,
            None => request.idle(),
        }
    }
}

fn ping<const BYTES: usize>(request: &Request) -> Result<()> {
    let mut ping = create::<BYTES>(request, "ping", FlowControl::LossyLatestWins)?;
    let _echo = Peer::start(request, "echo", 0)?;
    let mut pong = open::<BYTES>(request, "pong")?;
    let mut message = [0x5A; BYTES];
    harness::pin(request.cpus[0])?;
    harness::measure_rtt(SUBJECT, request, |_, number| {
        harness::stamp(&mut message, number);
        ping.push(&message);
        Ok(harness::sequence(&receive(&mut pong, request)))
    })
}

fn echo<const BYTES: usize>(request: &Request) -> Result<()> {
    let mut pong = create::<BYTES>(request, "pong", FlowControl::LossyLatestWins)?;
    let mut ping = open::<BYTES>(request, "ping")?;
    harness::ready()?;
    harness::pin(request.peer_cpu())?;
    loop {
        pong.push(&receive(&mut ping, request));
    }
}

fn publish<const BYTES: usize>(request: &Request) -> Result<()> {
    let mut stream = create::<BYTES>(request, "stream", FlowControl::LosslessBackpressure)?;
    let readers = (0..request.readers)
        .map(|index| Peer::start(request, "reader", index))
        .collect::<Result<Vec<_>>>()?;
    harness::pin(request.cpus[0])?;
    let mut message = [0x5A; BYTES];
    let schedule = Schedule::start(request);
    for number in 0..request.total() {
        schedule.wait(number);
        harness::stamp(&mut message, number);
        while stream.try_push(&message).is_err() {
            request.idle();
        }
    }
    harness::report_throughput(SUBJECT, request, readers)
}

fn read<const BYTES: usize>(request: &Request) -> Result<()> {
    let mut stream = open::<BYTES>(request, "stream")?;
    let gather: u32 = request.number("gather")?;
    let mut reader = Reader::new(request);
    harness::ready()?;
    harness::pin(request.peer_cpu())?;
    let mut batch = [[0; BYTES]; 64];
    while !reader.is_done() {
        let count = stream.recv_batch(&mut batch);
        for message in &batch[..count] {
            reader.take(message)?;
        }
        if count == 0 {
            (0..gather).for_each(|_| request.idle());
        }
    }
    reader.report()
}
