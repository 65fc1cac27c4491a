//! iceoryx2: publish-subscribe of byte slices, written into the loaned sample, received without copying.

use anyhow::{Context, Result, ensure};
use harness::{Peer, Reader, Request, Schedule};
use iceoryx2::{
    port::{publisher::Publisher, subscriber::Subscriber},
    prelude::*,
    sample_mut_uninit::SampleMutUninit,
    service::port_factory::{PortFactory as _, publish_subscribe::PortFactory},
};
use std::{mem::MaybeUninit, process::ExitCode, thread, time::Duration};

const SUBJECT: &str = "iceoryx2";

/// Options, with the best values on the tested hosts.
const OPTIONS: &[(&str, &str)] = &[
    // Samples that may wait for a reader of the throughput measurement.
    ("queue", "1024"),
];

type Service = ipc::Service;
type Out = Publisher<Service, [u8], ()>;
type In = Subscriber<Service, [u8], ()>;
type Loan = SampleMutUninit<Service, [MaybeUninit<u8>], ()>;

fn main() -> ExitCode {
    set_log_level(LogLevel::Error);
    harness::main(SUBJECT, OPTIONS, run)
}

fn run(request: Request) -> Result<()> {
    request.play(ping, publish, echo, read)
}

fn node(request: &Request) -> Result<Node<Service>> {
    let session = request
        .session
        .file_name()
        .context("the session has no name")?
        .to_string_lossy();
    let mut config = Config::default();
    config.global.prefix = FileName::new(format!("{session}_").as_bytes())?;
    config.global.set_root_path(&Path::new(
        request
            .session
            .join("iceoryx2")
            .to_string_lossy()
            .as_bytes(),
    )?);
    Ok(NodeBuilder::new().config(&config).create()?)
}

/// A channel in one direction between processes. A full queue makes the publisher wait, so that no message is
/// overwritten.
fn service(
    request: &Request,
    node: &Node<Service>,
    name: &str,
    queue: usize,
) -> Result<PortFactory<Service, [u8], ()>> {
    Ok(node
        .service_builder(&name.try_into()?)
        .publish_subscribe::<[u8]>()
        .max_publishers(1)
        .max_subscribers(request.readers)
        .history_size(0)
        .subscriber_max_buffer_size(queue)
        .subscriber_max_borrowed_samples(1)
        .enable_safe_overflow(false)
        .open_or_create()?)
}

fn publisher(request: &Request, service: &PortFactory<Service, [u8], ()>) -> Result<Out> {
    Ok(service
        .publisher_builder()
        .initial_max_slice_len(request.payload)
        .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
        .create()?)
}

fn connected(readers: usize, service: &PortFactory<Service, [u8], ()>) {
    while service.dynamic_config().number_of_subscribers() < readers {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The next sample is loaned while there is nothing else to do, as iceoryx2's own benchmark does.
struct Sender {
    publisher: Out,
    loan: Option<Loan>,
    length: usize,
}

impl Sender {
    fn new(request: &Request, publisher: Out) -> Result<Self> {
        let loan = Some(publisher.loan_slice_uninit(request.payload)?);
        Ok(Self {
            publisher,
            loan,
            length: request.payload,
        })
    }

    #[inline]
    fn send(&mut self, payload: &[u8]) -> Result<usize> {
        let loan = match self.loan.take() {
            Some(loan) => loan,
            None => self.publisher.loan_slice_uninit(payload.len())?,
        };
        Ok(loan.write_from_slice(payload).send()?)
    }

    #[inline]
    fn prepare(&mut self) -> Result<()> {
        self.loan = Some(self.publisher.loan_slice_uninit(self.length)?);
        Ok(())
    }
}

fn ping(request: &Request) -> Result<()> {
    let node = node(request)?;
    let (pings, pongs) = (
        service(request, &node, "ping", 2)?,
        service(request, &node, "pong", 2)?,
    );
    let mut ping = Sender::new(request, publisher(request, &pings)?)?;
    let pong: In = pongs.subscriber_builder().create()?;
    let _echo = Peer::start(request, "echo", 0)?;
    connected(1, &pings);
    harness::pin(request.cpus[0])?;
    harness::measure_rtt(SUBJECT, request, |payload, number| {
        harness::stamp(payload, number);
        let reached = ping.send(payload)?;
        ensure!(reached == 1, "{reached} readers instead of one");
        ping.prepare()?;
        loop {
            if let Some(sample) = pong.receive()? {
                return Ok(harness::sequence(sample.payload()));
            }
            request.idle();
        }
    })
}

fn echo(request: &Request) -> Result<()> {
    let node = node(request)?;
    let (pings, pongs) = (
        service(request, &node, "ping", 2)?,
        service(request, &node, "pong", 2)?,
    );
    let mut pong = Sender::new(request, publisher(request, &pongs)?)?;
    let ping: In = pings.subscriber_builder().create()?;
    harness::ready()?;
    harness::pin(request.peer_cpu())?;
    loop {
        match ping.receive()? {
            Some(sample) => {
                pong.send(sample.payload())?;
                drop(sample);
                pong.prepare()?;
            }
            None => request.idle(),
        }
    }
}

fn publish(request: &Request) -> Result<()> {
    let node = node(request)?;
    let service = service(request, &node, "stream", request.number("queue")?)?;
    let mut stream = Sender::new(request, publisher(request, &service)?)?;
    let readers = (0..request.readers)
        .map(|index| Peer::start(request, "reader", index))
        .collect::<Result<Vec<_>>>()?;
    connected(request.readers, &service);
    harness::pin(request.cpus[0])?;
    let mut payload = vec![0x5A; request.payload];
    let schedule = Schedule::start(request);
    for number in 0..request.total() {
        schedule.wait(number);
        harness::stamp(&mut payload, number);
        stream.send(&payload)?;
    }
    harness::report_throughput(SUBJECT, request, readers)
}

fn read(request: &Request) -> Result<()> {
    let node = node(request)?;
    let service = service(request, &node, "stream", request.number("queue")?)?;
    let subscriber: In = service.subscriber_builder().create()?;
    let mut reader = Reader::new(request);
    harness::ready()?;
    harness::pin(request.peer_cpu())?;
    while !reader.is_done() {
        match subscriber.receive().context("cannot receive")? {
            Some(sample) => reader.take(sample.payload())?,
            None => request.idle(),
        }
    }
    reader.report()
}
