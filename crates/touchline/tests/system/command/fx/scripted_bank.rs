//! The order session of a bank that does what a test says, also with bytes that no session sends.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_session::fix::{Event, Memory, Role, Session, Settings};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Precision};

/// CompID of the engine.
const ENGINE: &str = "TOUCHLINE";

/// Fields of a message, by tag.
pub type Fields = Vec<(u32, String)>;

/// Damage to a message of the session on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    None,
    /// Its bytes never leave.
    Lost,
    /// Its CheckSum is wrong.
    Checksum,
}

/// Order of a test to the bank.
enum Order {
    Send(&'static str, Fields, Damage),
    /// A message with a number of the test's, which is not one of the session.
    Numbered(u64, &'static str, Fields),
    End,
}

/// The bank, in a thread of its own.
pub struct ScriptedBank {
    pub address: SocketAddr,
    orders: Sender<Order>,
    received: Receiver<(String, Fields)>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedBank {
    pub fn open(name: &str) -> ScriptedBank {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("it is bound");
        let (orders, from_test) = channel();
        let (to_test, received) = channel();
        let mut desk = BankThread {
            name: name.to_owned(),
            stream: None,
            session: Session::new(
                Settings::new(Role::Acceptor, name, ENGINE),
                Memory::default(),
            ),
            start: Instant::now(),
            out: to_test,
        };
        let thread = std::thread::spawn(move || while desk.round(&listener, &from_test) {});
        ScriptedBank {
            address,
            orders,
            received,
            thread: Some(thread),
        }
    }

    /// The next message of this type, which must come.
    #[track_caller]
    pub fn next(&self, msg_type: &str) -> Fields {
        let found = self.within(msg_type, Duration::from_secs(20));
        found.unwrap_or_else(|| panic!("no message {msg_type}"))
    }

    /// The next message of this type, if one comes within a time; with a time of zero, if one has come.
    pub fn within(&self, msg_type: &str, wait: Duration) -> Option<Fields> {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.received.recv_timeout(left) {
                Ok((found, fields)) if found == msg_type => return Some(fields),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    pub fn send(&self, msg_type: &'static str, fields: Fields) {
        self.send_damaged(msg_type, fields, Damage::None);
    }

    /// Sends a message that has a number of the session, and is damaged on its way.
    pub fn send_damaged(&self, msg_type: &'static str, fields: Fields, damage: Damage) {
        self.order(Order::Send(msg_type, fields, damage));
    }

    /// Sends a message with this number instead of the session's.
    pub fn send_numbered(&self, number: u64, msg_type: &'static str, fields: Fields) {
        self.order(Order::Numbered(number, msg_type, fields));
    }

    fn order(&self, order: Order) {
        self.orders.send(order).expect("it runs");
    }
}

impl Drop for ScriptedBank {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The value of a field.
#[track_caller]
pub fn value(fields: &Fields, tag: u32) -> &str {
    let found = fields.iter().find(|(other, _)| *other == tag);
    found.map_or_else(|| panic!("no field {tag}: {fields:?}"), |(_, value)| value)
}

/// State of the bank's thread.
struct BankThread {
    name: String,
    stream: Option<TcpStream>,
    session: Session<Memory>,
    start: Instant,
    out: Sender<(String, Fields)>,
}

impl BankThread {
    /// False: the test has ended it.
    fn round(&mut self, listener: &TcpListener, orders: &Receiver<Order>) -> bool {
        let time = self.time();
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true).expect("a socket");
            self.lose();
            self.stream = Some(stream);
            self.session.connected(time);
        }
        self.hear();
        match orders.try_recv() {
            Ok(Order::Send(msg_type, fields, damage)) => self.send(msg_type, &fields, damage),
            Ok(Order::Numbered(number, msg_type, fields)) => {
                let bytes = self.encode(number, msg_type, &fields);
                self.write(&bytes);
            }
            Ok(Order::End) => return false,
            Err(_) => {}
        }
        self.session.handle_timeout(time);
        self.flush();
        self.read();
        true
    }

    fn time(&self) -> ReceiveTime {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        ReceiveTime {
            wall_ns: wall.expect("a clock").as_nanos() as u64,
            mono_ns: self.start.elapsed().as_nanos() as u64,
        }
    }

    fn lose(&mut self) {
        if self.stream.take().is_some() {
            self.session.disconnected(self.time());
        }
    }

    /// Hands the engine's messages to the test.
    fn hear(&mut self) {
        while let Some(event) = self.session.poll() {
            let message = match event {
                Event::Application(message, ..)
                | Event::Rejected(message)
                | Event::LoggedOut(message) => message,
                _ => continue,
            };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let fields = message.fields().filter_map(Result::ok);
            let fields = fields.map(|field| (field.tag, text(field.value))).collect();
            let _ = self.out.send((text(message.msg_type()), fields));
        }
    }

    fn send(&mut self, msg_type: &str, fields: &Fields, damage: Damage) {
        self.flush();
        let sent = self.session.send(msg_type.as_bytes(), self.time(), |body| {
            for (tag, value) in fields {
                body.bytes(*tag, value.as_bytes());
            }
        });
        // The engine may have ended the session meanwhile; a test that needs the message waits for its effect.
        if sent.is_err() || damage == Damage::None {
            return;
        }
        let mut bytes = self.session.poll_transmit().to_vec();
        self.session.transmitted(bytes.len());
        if damage == Damage::Checksum {
            // The last digit, before the separator.
            let digit = bytes.len() - 2;
            bytes[digit] ^= 1;
            self.write(&bytes);
        }
    }

    fn encode(&self, number: u64, msg_type: &str, fields: &Fields) -> Vec<u8> {
        let mut room = [0; 4_096];
        let mut message = Encoder::new(&mut room, b"FIX.4.4", msg_type.as_bytes());
        message
            .bytes(49, self.name.as_bytes())
            .bytes(56, ENGINE.as_bytes())
            .unsigned(34, number)
            .timestamp(52, self.time().wall_ns, Precision::Milliseconds);
        for (tag, value) in fields {
            message.bytes(*tag, value.as_bytes());
        }
        message.finish().expect("a short message").to_vec()
    }

    fn write(&mut self, bytes: &[u8]) {
        let stream = self.stream.as_mut().expect("the engine is connected");
        stream.write_all(bytes).expect("room in the socket");
    }

    fn flush(&mut self) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        while !self.session.poll_transmit().is_empty() {
            match stream.write(self.session.poll_transmit()) {
                Ok(sent) => self.session.transmitted(sent),
                Err(_) => break,
            }
        }
    }

    fn read(&mut self) {
        let read = match &mut self.stream {
            Some(stream) => stream.read(self.session.room()),
            None => Err(ErrorKind::WouldBlock.into()),
        };
        match read {
            Ok(bytes) if bytes > 0 => self.session.filled(bytes, self.time()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => self.lose(),
        }
    }
}
