//! The order session of a bank that does what a test says.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_session::fix::{Event, Memory, Role, Session, Settings};
use touchline_types::ReceiveTime;

/// Fields of a message, by tag.
pub type Fields = Vec<(u32, String)>;

/// What a test says to the bank.
enum Order {
    Send(&'static str, Fields),
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
        let address = listener.local_addr().expect("it is bound");
        let (orders, from_test) = channel();
        let (to_test, received) = channel();
        let name = name.to_owned();
        let thread = std::thread::spawn(move || serve(&name, &listener, &from_test, &to_test));
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

    /// The next message of this type, if one comes within a time.
    pub fn within(&self, msg_type: &str, wait: Duration) -> Option<Fields> {
        let until = Instant::now() + wait;
        while Instant::now() < until {
            if let Ok((found, fields)) = self.received.recv_timeout(Duration::from_millis(20))
                && found == msg_type
            {
                return Some(fields);
            }
        }
        None
    }

    pub fn send(&self, msg_type: &'static str, fields: Fields) {
        self.orders
            .send(Order::Send(msg_type, fields))
            .expect("it runs");
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

fn serve(
    name: &str,
    listener: &TcpListener,
    orders: &Receiver<Order>,
    out: &Sender<(String, Fields)>,
) {
    let (mut stream, _) = listener.accept().expect("the engine connects");
    stream.set_nonblocking(true).expect("a socket");
    let start = Instant::now();
    let time = || {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a clock");
        ReceiveTime {
            wall_ns: wall.as_nanos() as u64,
            mono_ns: start.elapsed().as_nanos() as u64,
        }
    };
    let mut session = Session::new(
        Settings::new(Role::Acceptor, name, "TOUCHLINE"),
        Memory::default(),
    );
    session.connected(time());
    loop {
        while let Some(event) = session.poll() {
            let message = match event {
                Event::Application(message, ..) | Event::Rejected(message) => message,
                _ => continue,
            };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let fields = message.fields().filter_map(Result::ok);
            let fields = fields.map(|field| (field.tag, text(field.value))).collect();
            let _ = out.send((text(message.msg_type()), fields));
        }
        match orders.try_recv() {
            Ok(Order::Send(msg_type, fields)) => {
                let sent = session.send(msg_type.as_bytes(), time(), |body| {
                    for (tag, value) in &fields {
                        body.bytes(*tag, value.as_bytes());
                    }
                });
                sent.expect("the engine is logged on");
            }
            Ok(Order::End) => return,
            Err(_) => {}
        }
        session.handle_timeout(time());
        while !session.poll_transmit().is_empty() {
            match stream.write(session.poll_transmit()) {
                Ok(sent) => session.transmitted(sent),
                Err(_) => break,
            }
        }
        match stream.read(session.room()) {
            Ok(0) => return,
            Ok(bytes) => session.filled(bytes, time()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(_) => return,
        }
    }
}
