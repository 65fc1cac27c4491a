//! ZeroMQ over Unix sockets (`--transport ipc`) and over TCP on the loopback (`--transport tcp`), through libzmq.

mod load;

use anyhow::{Context as _, Result, bail, ensure};
use harness::{Peer, Reader, Request, Schedule};
use std::{ffi::c_int, fs, process::ExitCode};
use zmq::{Context, DONTWAIT, Error, Message, Socket, SocketType};
use zmq_sys::{ZMQ_XPUB_NODROP, ZMQ_XPUB_VERBOSE};

/// Options, with the best values on the tested hosts.
const OPTIONS: &[(&str, &str)] = &[
    ("transport", "ipc"),
    // block: sleep in the kernel, and leave the CPU to ZeroMQ's own threads; spin: ask again and again.
    ("wait", "block"),
    // Messages that may stand in each queue before the publisher has to wait.
    ("queue", "100000"),
    // Send and receive buffers of the socket in the kernel.
    ("buffer-kib", "1024"),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("load") {
        let role = arguments.next().unwrap_or_default();
        return match load::play(&role) {
            Ok(()) => ExitCode::SUCCESS,
            // The command that started this process reports the reason.
            Err(_) => ExitCode::FAILURE,
        };
    }
    harness::main("zeromq", OPTIONS, run)
}

fn run(request: Request) -> Result<()> {
    // The context and its thread come before any pinning, so that thread runs where there is room.
    let context = Context::new();
    request.play(
        |request| ping(request, &context),
        |request| publish(request, &context),
        |request| echo(request, &context),
        |request| read(request, &context),
    )
}

fn subject(request: &Request) -> String {
    format!("zeromq-{}", request.text("transport"))
}

fn socket(request: &Request, context: &Context, kind: SocketType) -> Result<Socket> {
    let socket = context.socket(kind)?;
    socket.set_sndhwm(request.number("queue")?)?;
    socket.set_rcvhwm(request.number("queue")?)?;
    let buffer_bytes = request.number::<i32>("buffer-kib")? * 1024;
    socket.set_sndbuf(buffer_bytes)?;
    socket.set_rcvbuf(buffer_bytes)?;
    socket.set_linger(0)?;
    Ok(socket)
}

/// A bound socket; the peers find its address in the session.
fn bind(request: &Request, context: &Context, kind: SocketType) -> Result<Socket> {
    let socket = socket(request, context, kind)?;
    let address = match request.text("transport") {
        "ipc" => format!("ipc://{}", request.session.join("socket").display()),
        "tcp" => "tcp://127.0.0.1:*".to_owned(),
        other => bail!("--transport: expected ipc or tcp, not {other}"),
    };
    socket
        .bind(&address)
        .with_context(|| format!("cannot bind {address}"))?;
    let bound = socket
        .get_last_endpoint()?
        .ok()
        .context("the endpoint is not text")?;
    fs::write(request.session.join("endpoint"), bound)?;
    Ok(socket)
}

fn connect(request: &Request, context: &Context, kind: SocketType) -> Result<Socket> {
    let socket = socket(request, context, kind)?;
    if kind == SocketType::SUB {
        socket.set_subscribe(b"")?;
    }
    socket.connect(&fs::read_to_string(request.session.join("endpoint"))?)?;
    Ok(socket)
}

/// Way of waiting: the flags of each call, zero to sleep in the kernel.
fn wait(request: &Request) -> Result<c_int> {
    match request.text("wait") {
        "block" => Ok(0),
        "spin" => Ok(DONTWAIT),
        other => bail!("--wait: expected block or spin, not {other}"),
    }
}

/// Tries until it is done; with flags that do not sleep, this spins.
#[inline]
fn persist<T>(request: &Request, mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T> {
    loop {
        match attempt() {
            Err(Error::EAGAIN | Error::EINTR) => request.idle(),
            other => return Ok(other?),
        }
    }
}

fn ping(request: &Request, context: &Context) -> Result<()> {
    let socket = bind(request, context, SocketType::PAIR)?;
    let _echo = Peer::start(request, "echo", 0)?;
    let flags = wait(request)?;
    let mut message = Message::new();
    harness::pin(request.cpus[0])?;
    harness::measure_rtt(&subject(request), request, |payload, number| {
        harness::stamp(payload, number);
        persist(request, || socket.send(&*payload, flags))?;
        persist(request, || socket.recv(&mut message, flags))?;
        Ok(harness::sequence(&message))
    })
}

fn echo(request: &Request, context: &Context) -> Result<()> {
    let socket = connect(request, context, SocketType::PAIR)?;
    let flags = wait(request)?;
    let mut message = Message::new();
    harness::ready()?;
    harness::pin(request.peer_cpu())?;
    loop {
        persist(request, || socket.recv(&mut message, flags))?;
        persist(request, || socket.send(&message[..], flags))?;
    }
}

/// PUSH waits for its one reader. XPUB reaches many, and with NODROP it waits for the slowest.
fn publish(request: &Request, context: &Context) -> Result<()> {
    let kind = if request.readers == 1 {
        SocketType::PUSH
    } else {
        SocketType::XPUB
    };
    let mut socket = bind(request, context, kind)?;
    if kind == SocketType::XPUB {
        switch_on(&mut socket, ZMQ_XPUB_NODROP)?;
        // Reports every subscription, not only new ones.
        switch_on(&mut socket, ZMQ_XPUB_VERBOSE)?;
    }
    let readers = (0..request.readers)
        .map(|index| Peer::start(request, "reader", index))
        .collect::<Result<Vec<_>>>()?;
    if kind == SocketType::XPUB {
        for _ in 0..request.readers {
            socket.recv_msg(0).context("a subscription did not come")?;
        }
    }
    let flags = wait(request)?;
    let mut payload = vec![0x5A; request.payload];
    harness::pin(request.cpus[0])?;
    let schedule = Schedule::start(request);
    for number in 0..request.total() {
        schedule.wait(number);
        harness::stamp(&mut payload, number);
        persist(request, || socket.send(&payload[..], flags))?;
    }
    harness::report_throughput(&subject(request), request, readers)
}

/// Switches on an option that the binding does not name.
fn switch_on(socket: &mut Socket, option: u32) -> Result<()> {
    let on: c_int = 1;
    // SAFETY: the socket is open, and libzmq reads one int at the address of `on`, which lives past the call.
    let status = unsafe {
        zmq_sys::zmq_setsockopt(
            socket.as_mut_ptr(),
            option as c_int,
            (&raw const on).cast(),
            size_of_val(&on),
        )
    };
    ensure!(status == 0, "libzmq refused option {option}");
    Ok(())
}

fn read(request: &Request, context: &Context) -> Result<()> {
    let kind = if request.readers == 1 {
        SocketType::PULL
    } else {
        SocketType::SUB
    };
    let socket = connect(request, context, kind)?;
    let flags = wait(request)?;
    let mut reader = Reader::new(request);
    let mut message = Message::new();
    harness::ready()?;
    harness::pin(request.peer_cpu())?;
    while !reader.is_done() {
        persist(request, || socket.recv(&mut message, flags))?;
        reader.take(&message)?;
    }
    reader.report()
}
