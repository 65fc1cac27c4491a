//! Aeron IPC through its C client: an exclusive publication, polled from its image, and the C media driver in a
//! process of its own.

use anyhow::{Context, Result, anyhow, bail, ensure};
use harness::{Bench, Peer, Reader, Request, Schedule};
use rusteron_client::{
    AERON_IPC_STREAM, Aeron, AeronBufferClaim, AeronContext, AeronExclusivePublication, AeronImage,
    AeronSubscription, Handlers, IntoCString,
};
use rusteron_media_driver::{AeronDriver, AeronDriverContext, bindings::aeron_threading_mode_enum};
use std::{
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

const SUBJECT: &str = "aeron-ipc-c";

/// Options; `best` stands for the value in [`BEST`].
const OPTIONS: &[(&str, &str)] = &[
    // Length of a term; three make the log.
    ("term-mib", "best"),
    // claim: write into the log; offer: have a message copied there.
    ("publish", "best"),
    // Fragments taken by one poll of the throughput measurement.
    ("fragments", "256"),
    // Spins of its reader after it found nothing: a reader at the heels of the publisher slows both, one that lets
    // messages gather does not. Where readers share a CPU, each spin lets another run, and one is enough.
    ("gather", "best"),
    // Pause of the driver without work; it moves the publisher's limit on and clears consumed log.
    ("driver-pause", "best"),
    // CPU of the driver: the reader has time to spare, the publisher has none.
    ("driver-cpu", "best"),
];

/// Option, and its best value on the tested hosts, for round trips and for throughput.
const BEST: &[(&str, &str, &str)] = &[
    ("term-mib", "16", "4"),
    ("publish", "offer", "claim"),
    ("driver-pause", "1ms", "50us"),
];

const PING: i32 = 1;
const PONG: i32 = 2;
const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    harness::main(SUBJECT, OPTIONS, run)
}

fn run(mut request: Request) -> Result<()> {
    match (request.role.as_deref(), request.bench) {
        (None, bench) => {
            choose_best(&mut request);
            let _driver = Peer::start(&request, "driver", 0)?;
            match bench {
                Bench::Rtt => ping(&request),
                Bench::Throughput => publish(&request),
            }
        }
        (Some("driver"), _) => drive(&request),
        (Some("echo"), _) => echo(&request),
        (Some("reader"), _) => read(&request),
        (Some(role), _) => bail!("no role {role}"),
    }
}

fn choose_best(request: &mut Request) {
    for (name, rtt, throughput) in BEST {
        request.choose(name, rtt, throughput);
    }
    request.choose_gather();
    if request.text("driver-cpu") == "best" {
        request.set("driver-cpu", request.cpus[1]);
    }
}

/// The media driver. It stays off the path of a message, so one thread with short pauses takes least from the two CPUs.
fn drive(request: &Request) -> Result<()> {
    let context = AeronDriverContext::new()?;
    context.set_dir(&directory(request).into_c_string())?;
    context.set_threading_mode(aeron_threading_mode_enum::AERON_THREADING_MODE_SHARED)?;
    // The order matters: the strategy takes its arguments when it is set.
    context.set_shared_idle_strategy_init_args(&request.text("driver-pause").into_c_string())?;
    context.set_shared_idle_strategy(c"sleeping")?;
    let term_bytes = (request.number::<f64>("term-mib")? * 1048576.0) as usize;
    context.set_ipc_term_buffer_length(term_bytes)?;
    context.set_ipc_publication_term_window_length(term_bytes / 2)?;
    context.set_term_buffer_sparse_file(false)?;
    harness::pin(request.number("driver-cpu")?)?;
    let driver = AeronDriver::new(&context)?;
    driver.start(false)?;
    harness::ready()?;
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}

fn directory(request: &Request) -> String {
    request.session.join("aeron").display().to_string()
}

/// A client whose own thread runs wherever there is room: it is made before this thread is pinned.
fn connect(request: &Request) -> Result<Aeron> {
    let context = AeronContext::new()?;
    context.set_dir(&directory(request).into_c_string())?;
    context.set_pre_touch_mapped_memory(true)?;
    let aeron = Aeron::new(&context)?;
    aeron.start()?;
    Ok(aeron)
}

fn publication(aeron: &Aeron, stream: i32) -> Result<AeronExclusivePublication> {
    Ok(aeron.add_exclusive_publication(AERON_IPC_STREAM, stream, PATIENCE)?)
}

fn subscription(aeron: &Aeron, stream: i32) -> Result<AeronSubscription> {
    Ok(aeron.add_subscription(
        AERON_IPC_STREAM,
        stream,
        Handlers::NONE,
        Handlers::NONE,
        PATIENCE,
    )?)
}

fn image(subscription: &AeronSubscription) -> Result<AeronImage> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(image) = subscription.image_at_index(0) {
            return Ok(image);
        }
        thread::sleep(Duration::from_millis(1));
    }
    bail!("no publisher came within {PATIENCE:?}")
}

fn connected(publication: &AeronExclusivePublication) -> Result<()> {
    let start = Instant::now();
    while !publication.is_connected() {
        ensure!(
            start.elapsed() < PATIENCE,
            "no reader came within {PATIENCE:?}"
        );
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Sends messages in the way that was asked for.
struct Sender {
    publication: AeronExclusivePublication,
    claim: Option<AeronBufferClaim>,
}

impl Sender {
    fn new(request: &Request, publication: AeronExclusivePublication) -> Result<Self> {
        let claim = match request.text("publish") {
            "claim" => Some(AeronBufferClaim::default()),
            "offer" => None,
            other => bail!("--publish: expected claim or offer, not {other}"),
        };
        Ok(Self { publication, claim })
    }

    /// Sends one message, waiting while there is no room.
    #[inline]
    fn send(&mut self, payload: &[u8], request: &Request) -> Result<()> {
        loop {
            let sent = match &mut self.claim {
                None => self.publication.offer(payload),
                Some(claim) => match self.publication.try_claim(payload.len(), claim) {
                    Ok(position) => {
                        claim.data_mut().copy_from_slice(payload);
                        claim.commit()?;
                        Ok(position)
                    }
                    refused => refused,
                },
            };
            match sent {
                Ok(_) => return Ok(()),
                Err(error) if error.is_retryable() => request.idle(),
                Err(error) => return Err(anyhow!("cannot publish: {error}")),
            }
        }
    }
}
fn ping(request: &Request) -> Result<()> {
    let _echo = Peer::start(request, "echo", 0)?;
    let aeron = connect(request)?;
    let ping = publication(&aeron, PING)?;
    let pongs = subscription(&aeron, PONG)?;
    let pong = image(&pongs)?;
    connected(&ping)?;
    let mut ping = Sender::new(request, ping)?;
    harness::pin(request.cpus[0])?;
    harness::measure_rtt(SUBJECT, request, |payload, number| {
        harness::stamp(payload, number);
        ping.send(payload, request)?;
        let mut answer = None;
        while pong.poll_fn(|message, _| answer = harness::sequence(message), 1)? == 0 {
            request.idle();
        }
        Ok(answer)
    })
}

fn echo(request: &Request) -> Result<()> {
    let aeron = connect(request)?;
    let pong = publication(&aeron, PONG)?;
    let pings = subscription(&aeron, PING)?;
    harness::ready()?;
    let ping = image(&pings)?;
    connected(&pong)?;
    let mut pong = Sender::new(request, pong)?;
    harness::pin(request.peer_cpu())?;
    loop {
        let mut sent = Ok(());
        if ping.poll_fn(|message, _| sent = pong.send(message, request), 1)? == 0 {
            request.idle();
        }
        sent?;
    }
}

fn publish(request: &Request) -> Result<()> {
    let aeron = connect(request)?;
    let stream = publication(&aeron, PING)?;
    let readers = (0..request.readers)
        .map(|index| Peer::start(request, "reader", index))
        .collect::<Result<Vec<_>>>()?;
    connected(&stream)?;
    let mut stream = Sender::new(request, stream)?;
    harness::pin(request.cpus[0])?;
    let mut payload = vec![0x5A; request.payload];
    let schedule = Schedule::start(request);
    for number in 0..request.total() {
        schedule.wait(number);
        harness::stamp(&mut payload, number);
        stream.send(&payload, request)?;
    }
    harness::report_throughput(SUBJECT, request, readers)
}

fn read(request: &Request) -> Result<()> {
    let aeron = connect(request)?;
    let subscription = subscription(&aeron, PING)?;
    let stream = image(&subscription)?;
    let fragments = request.number("fragments")?;
    let gather: u32 = request.number("gather")?;
    let mut reader = Reader::new(request);
    harness::ready()?;
    harness::pin(request.peer_cpu())?;
    while !reader.is_done() {
        let mut taken = Ok(());
        let poll = |message: &[u8], _| {
            if taken.is_ok() {
                taken = reader.take(message);
            }
        };
        if stream.poll_fn(poll, fragments).context("cannot poll")? == 0 {
            ensure!(!stream.is_closed(), "the publisher went away");
            (0..gather).for_each(|_| request.idle());
        }
        taken?;
    }
    reader.report()
}
