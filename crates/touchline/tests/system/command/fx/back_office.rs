//! A back office: a FIX client of `fx report`.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_session::fix::{Checks, Event, Memory, Role, Session, Settings};
use touchline_types::ReceiveTime;

/// An address that was free.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound")
}

/// Logs on as soon as it listens, and collects executions until `is_enough`: ExecID to ExecType, side, symbol and LastQty.
pub fn executions(
    address: SocketAddr,
    is_enough: impl Fn(&BTreeMap<String, [String; 4]>) -> bool,
) -> BTreeMap<String, [String; 4]> {
    let start = Instant::now();
    let time = || {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        ReceiveTime {
            wall_ns: wall.expect("a clock").as_nanos() as u64,
            mono_ns: start.elapsed().as_nanos() as u64,
        }
    };
    let mut stream = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    stream.set_nonblocking(true).expect("a socket");
    let mut settings = Settings::new(Role::Initiator, "OPS", "TOUCHLINE");
    // Every report must be one of FIX 4.4.
    settings.checks = Checks::Standard;
    let mut session = Session::new(settings, Memory::default());
    session.connected(time());
    let mut found = BTreeMap::new();
    while !is_enough(&found) {
        assert!(start.elapsed() < Duration::from_secs(20), "{found:?}");
        assert_eq!(session.disconnect_reason(), None);
        session.handle_timeout(time());
        while !session.poll_transmit().is_empty() {
            let sent = stream
                .write(session.poll_transmit())
                .expect("it is connected");
            session.transmitted(sent);
        }
        match stream.read(session.room()) {
            Ok(bytes) => session.filled(bytes, time()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
        while let Some(event) = session.poll() {
            let message = match event {
                Event::Application(message, ..) => message,
                Event::Invalid(message) => panic!("not FIX 4.4: {message:?}"),
                _ => continue,
            };
            let field = |tag: u32| {
                let mut fields = message.fields().filter_map(Result::ok);
                let field = fields.find(|field| field.tag == tag);
                field.map_or_else(String::new, |field| {
                    String::from_utf8_lossy(field.value).into_owned()
                })
            };
            let other = found.insert(field(17), [150, 54, 55, 32].map(field));
            assert_eq!(other, None, "{} came twice", field(17));
        }
    }
    found
}
