//! A subject of `touchline load`: PUB and SUB, with the publisher, the reader and the checks of that command.

use super::switch_on;
use touchline_load::Failed;
use touchline_load::message::BYTES;
use touchline_load::part::{Orders, Role, Transport, play_with};
use touchline_load::subject::{Receiver, Sender, Sent};
use zmq::{Context, DONTWAIT, Error, Message, Socket, SocketType};
use zmq_sys::{ZMQ_XPUB_NODROP, ZMQ_XPUB_VERBOSE};

/// Messages that may stand in each queue, and buffers of the socket in the kernel.
const QUEUE: i32 = 100_000;
const BUFFER_BYTES: i32 = 1024 * 1024;
/// Messages taken in one turn.
const TURN: usize = 256;

/// Plays the role of a process.
pub fn play(role: &str) -> Result<(), Failed> {
    let transport = Transport {
        drive: |_: &Role, _: &Orders| Err(Failed("ZeroMQ has no driver process".to_owned())),
        sender: |role: &Role| Ok(Box::new(XPub::open(role)?) as Box<dyn Sender>),
        receiver: |role: &Role| Ok(Box::new(Sub::open(role)?) as Box<dyn Receiver>),
    };
    play_with(role, &transport)
}

fn address(role: &Role) -> String {
    match role.subject.strip_prefix("zeromq-") {
        Some(name) if name.starts_with("ipc") => {
            format!("ipc://{}", role.place.folder_of("socket").display())
        }
        _ => format!("tcp://127.0.0.1:{}", role.place.port),
    }
}

fn socket(context: &Context, kind: SocketType) -> Result<Socket, Failed> {
    let socket = context.socket(kind)?;
    socket.set_sndhwm(QUEUE)?;
    socket.set_rcvhwm(QUEUE)?;
    socket.set_sndbuf(BUFFER_BYTES)?;
    socket.set_rcvbuf(BUFFER_BYTES)?;
    socket.set_linger(0)?;
    Ok(socket)
}

/// The publisher. It waits for slow readers instead of dropping messages.
struct XPub {
    socket: Socket,
    _context: Context,
    readers: usize,
    subscribed: usize,
}

impl XPub {
    fn open(role: &Role) -> Result<XPub, Failed> {
        let context = Context::new();
        let mut socket = socket(&context, SocketType::XPUB)?;
        let failed = |error: anyhow::Error| Failed(error.to_string());
        switch_on(&mut socket, ZMQ_XPUB_NODROP).map_err(failed)?;
        // Reports every subscription, not new ones only.
        switch_on(&mut socket, ZMQ_XPUB_VERBOSE).map_err(failed)?;
        socket.bind(&address(role))?;
        Ok(XPub {
            socket,
            _context: context,
            readers: role.place.readers,
            subscribed: 0,
        })
    }
}

impl Sender for XPub {
    fn send(&mut self, message: &[u8; BYTES]) -> Result<Sent, Failed> {
        match self.socket.send(&message[..], DONTWAIT) {
            Ok(()) => Ok(Sent::Yes),
            Err(Error::EAGAIN | Error::EINTR) => Ok(Sent::NoRoom),
            Err(error) => Err(error.into()),
        }
    }

    fn turn(&mut self) -> Result<(), Failed> {
        Ok(())
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        while self.subscribed < self.readers {
            match self.socket.recv_msg(DONTWAIT) {
                Ok(_) => self.subscribed += 1,
                Err(Error::EAGAIN | Error::EINTR) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

/// A reader.
struct Sub {
    socket: Socket,
    _context: Context,
    message: Message,
}

impl Sub {
    fn open(role: &Role) -> Result<Sub, Failed> {
        let context = Context::new();
        let socket = socket(&context, SocketType::SUB)?;
        socket.set_subscribe(b"")?;
        socket.connect(&address(role))?;
        Ok(Sub {
            socket,
            _context: context,
            message: Message::new(),
        })
    }
}

impl Receiver for Sub {
    fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed> {
        for taken in 0..TURN {
            match self.socket.recv(&mut self.message, DONTWAIT) {
                Ok(()) => take(&self.message),
                Err(Error::EAGAIN | Error::EINTR) => return Ok(taken),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(TURN)
    }

    /// The publisher reports when the subscription has arrived.
    fn is_ready(&mut self) -> Result<bool, Failed> {
        Ok(true)
    }
}
