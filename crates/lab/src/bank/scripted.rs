//! The order session of a bank that does what a test says, also with bytes that no session sends. It answers nothing on its
//! own; only a caller's rounds move it.

use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_net::Connection;
use touchline_net::stream::Listener;
use touchline_net::tls::Server;
use touchline_session::fix::{Event, Memory, Role, SendError, Session, Settings};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Precision};

/// Fields of a message, by tag.
pub type Fields = Vec<(u32, String)>;

/// Damage to a message of the session on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Its bytes never leave.
    Lost,
    /// Its CheckSum is wrong.
    Checksum,
}

/// The bank, with one connection at a time.
#[derive(Debug)]
pub struct ScriptedBank {
    settings: Settings,
    listener: Listener,
    /// With TLS, for the next connections.
    pub tls: Option<Server>,
    connection: Option<Connection>,
    session: Session<Memory>,
    /// Time of the last round.
    time: ReceiveTime,
    /// Whether the client has logged on, over this connection.
    pub is_on: bool,
    /// Messages of the client that no test has taken: type and fields.
    pub received: Vec<(String, Fields)>,
}

impl ScriptedBank {
    /// A bank with this CompID on a free port, for a client with that one.
    ///
    /// # Panics
    /// No port is free.
    pub fn listen(name: &str, client: &str) -> ScriptedBank {
        ScriptedBank::with(Settings::new(Role::Acceptor, name, client))
    }

    /// A bank with these settings of its session.
    ///
    /// # Panics
    /// No port is free.
    pub fn with(settings: Settings) -> ScriptedBank {
        let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        ScriptedBank {
            listener: Listener::bind(any_port).expect("a free port"),
            tls: None,
            connection: None,
            session: Session::new(settings.clone(), Memory::default()),
            settings,
            time: ReceiveTime::at(0),
            is_on: false,
            received: Vec::new(),
        }
    }

    /// Address on which it listens.
    pub fn address(&self) -> SocketAddrV4 {
        self.listener.address()
    }

    /// Accepts a connection, reads and writes once. False: nothing arrived.
    ///
    /// # Panics
    /// The process has no free file descriptors.
    pub fn work(&mut self, time: ReceiveTime) -> bool {
        self.time = time;
        if let Some((stream, _)) = self.listener.accept().expect("it listens") {
            self.disconnect();
            let accepted = Connection::accept(stream, self.tls.as_ref(), u64::MAX);
            self.connection = Some(accepted.expect("a connection"));
            self.session.connected(time);
        }
        let Some(connection) = &mut self.connection else {
            return false;
        };
        let received = match connection.is_ready(0) {
            Ok(false) => return false,
            Ok(true) => connection.receive(self.session.room()),
            Err(error) => Err(error),
        };
        let bytes = received.unwrap_or(0);
        self.session.filled(bytes, time);
        self.listen_to_client();
        self.session.handle_timeout(time);
        self.flush();
        let is_over =
            self.session.disconnect_reason().is_some() && self.session.poll_transmit().is_empty();
        if received.is_err() || is_over {
            self.disconnect();
        }
        bytes > 0
    }

    fn listen_to_client(&mut self) {
        while let Some(event) = self.session.poll() {
            let message = match event {
                Event::LoggedOn { .. } => {
                    self.is_on = true;
                    continue;
                }
                Event::Application(message, ..)
                | Event::Rejected(message)
                | Event::LoggedOut(message) => message,
                _ => continue,
            };
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let fields = message.fields().filter_map(Result::ok);
            let fields = fields.map(|field| (field.tag, text(field.value))).collect();
            self.received.push((text(message.msg_type()), fields));
        }
    }

    /// Sends what waits, and returns the number of writes.
    pub fn flush(&mut self) -> usize {
        let mut writes = 0;
        let Some(connection) = &mut self.connection else {
            return writes;
        };
        while !self.session.poll_transmit().is_empty() {
            match connection.send(self.session.poll_transmit()) {
                Ok(0) | Err(_) => break,
                Ok(sent) => self.session.transmitted(sent),
            }
            writes += 1;
        }
        writes
    }

    /// Ends the connection.
    pub fn disconnect(&mut self) {
        if self.connection.take().is_some() {
            self.is_on = false;
            self.session.disconnected(self.time);
        }
    }

    /// Logs out.
    pub fn log_out(&mut self) {
        self.session.log_out("end of day", self.time);
        self.flush();
    }

    /// Forgets both numbers: they begin at 1, without a word to the client.
    pub fn forget(&mut self) {
        self.disconnect();
        self.session = Session::new(self.settings.clone(), Memory::default());
    }

    /// Messages of this type that were not taken.
    pub fn count(&self, msg_type: &str) -> usize {
        let all = self.received.iter();
        all.filter(|(found, _)| found == msg_type).count()
    }

    /// Takes the first message of this type.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn take(&mut self, msg_type: &str) -> Fields {
        let mut all = self.received.iter();
        let place = all.position(|(found, _)| found == msg_type);
        self.received.remove(place.expect("such a message")).1
    }

    /// Takes the first message of this type, and drops those that came before it: all, if there is none.
    pub fn skip_to(&mut self, msg_type: &str) -> Option<Fields> {
        let mut skipped = self.received.iter();
        let place = skipped.position(|(found, _)| found == msg_type);
        let end = place.map_or(self.received.len(), |place| place + 1);
        let last = self.received.drain(..end).next_back();
        place.and(last).map(|(_, fields)| fields)
    }

    /// Sends a message with the next round.
    ///
    /// # Errors
    /// The session takes no message.
    pub fn send(
        &mut self,
        msg_type: &str,
        fields: &[(u32, impl AsRef<str>)],
    ) -> Result<(), SendError> {
        let sent = self.session.send(msg_type.as_bytes(), self.time, |body| {
            for (tag, value) in fields {
                body.bytes(*tag, value.as_ref().as_bytes());
            }
        });
        sent.map(drop)
    }

    /// Sends a message that has a number of the session, and is damaged on its way.
    ///
    /// # Errors
    /// The session takes no message.
    ///
    /// # Panics
    /// The client is not connected, or does not read.
    pub fn send_damaged(
        &mut self,
        msg_type: &str,
        fields: &Fields,
        damage: Damage,
    ) -> Result<(), SendError> {
        self.flush();
        self.send(msg_type, fields)?;
        let mut bytes = self.session.poll_transmit().to_vec();
        self.session.transmitted(bytes.len());
        if damage == Damage::Checksum {
            // The last digit, before the separator.
            let digit = bytes.len() - 2;
            bytes[digit] ^= 1;
            self.write(&bytes);
        }
        Ok(())
    }

    /// Sends a message with this number instead of the session's.
    ///
    /// # Panics
    /// The client is not connected, or does not read.
    pub fn send_numbered(&mut self, number: u64, msg_type: &str, fields: &Fields) {
        let mut room = [0; 4_096];
        let mut message = Encoder::new(&mut room, b"FIX.4.4", msg_type.as_bytes());
        message
            .bytes(49, self.settings.sender.as_bytes())
            .bytes(56, self.settings.target.as_bytes())
            .unsigned(34, number)
            .timestamp(52, self.time.wall_ns, Precision::Milliseconds);
        for (tag, value) in fields {
            message.bytes(*tag, value.as_bytes());
        }
        let bytes = message.finish().expect("a short message").to_vec();
        self.flush();
        self.write(&bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        let connection = self.connection.as_mut().expect("the client is connected");
        assert_eq!(connection.send(bytes), Ok(bytes.len()), "room for it");
    }

    /// Sends an execution report.
    ///
    /// # Panics
    /// The session takes no message.
    pub fn report(&mut self, fields: &[(u32, impl AsRef<str>)]) {
        self.send("8", fields).expect("it is up or queues");
    }

    /// Fills an order completely, at its own price.
    ///
    /// # Panics
    /// The session takes no message.
    pub fn fill(&mut self, order: &Fields, exec_id: &str) {
        self.report(&trade(order, exec_id, &[]));
    }
}

/// The value of a field.
///
/// # Panics
/// There is no such field.
#[track_caller]
pub fn value(fields: &Fields, tag: u32) -> &str {
    let found = fields.iter().find(|(other, _)| *other == tag);
    found.map_or_else(|| panic!("no field {tag}: {fields:?}"), |(_, value)| value)
}

/// A correct trade report of an order (D), with other values for some tags; an empty value removes the field.
pub fn trade(order: &Fields, exec_id: &str, other: &[(u32, &str)]) -> Fields {
    let quantity = value(order, 38);
    let mut fields: Fields = [
        (37, "O1"),
        (17, exec_id),
        (150, "F"),
        (39, "2"),
        (11, value(order, 11)),
        (55, value(order, 55)),
        (54, value(order, 54)),
        (38, quantity),
        (44, value(order, 44)),
        (32, quantity),
        (31, value(order, 44)),
        (151, "0"),
        (14, quantity),
        (6, value(order, 44)),
    ]
    .map(|(tag, value)| (tag, value.to_owned()))
    .into();
    for (tag, value) in other {
        fields.retain(|(known, _)| known != tag);
        if !value.is_empty() {
            fields.push((*tag, (*value).to_owned()));
        }
    }
    fields
}

/// The report of an order that is open at the bank and has no trade, with this ExecType.
pub fn acknowledged(order: &Fields, exec_id: &str, exec_type: &str) -> Fields {
    let fields = [
        (150, exec_type),
        (39, "0"),
        (32, ""),
        (31, ""),
        (151, value(order, 38)),
        (14, "0"),
        (6, "0"),
    ];
    trade(order, exec_id, &fields)
}
