//! A back office: a FIX client of `fx report`.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_net::Connection;
use touchline_net::tls::Client;
use touchline_session::fix::{Checks, Event, Memory, Role, Session, Settings};
use touchline_types::ReceiveTime;

/// Logs on as soon as it listens, with TLS if a client is given, and collects executions until `is_enough`: ExecID to ExecType, side, symbol and LastQty.
pub fn executions(
    address: SocketAddrV4,
    tls: Option<&Client>,
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
    let mut connection = loop {
        match connect(address, tls) {
            Ok(connection) => break connection,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
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
            let sent = connection
                .send(session.poll_transmit())
                .expect("it is connected");
            session.transmitted(sent);
        }
        match connection.receive(session.room()) {
            Ok(0) => std::thread::sleep(Duration::from_millis(1)),
            Ok(bytes) => session.filled(bytes, time()),
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

/// A connection that is made and, with TLS, verified.
fn connect(
    address: SocketAddrV4,
    tls: Option<&Client>,
) -> Result<Connection, touchline_net::stream::Error> {
    let mut connection = Connection::connect(address, tls, u64::MAX)?;
    while !connection.is_ready(0)? {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(connection)
}
