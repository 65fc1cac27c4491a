//! Session with its application and its current connection.

use super::{Echo, Orders, Totals};
use touchline_net::Connection as Link;
use touchline_net::stream::Error;
use touchline_session::access_control::{Addresses, Peer};
use touchline_session::fix::{
    DisconnectReason, Event, Memory, Session, Settings, Store, StoreError,
};
use touchline_types::ReceiveTime;
use touchline_types::text::is_visible;
use touchline_wire::fix::{Message, tag};

/// One session of a counterparty.
#[derive(Debug)]
pub struct Connection {
    session: Session<Box<dyn Store>>,
    peer: Peer,
    echo: Echo,
    /// Our own orders, separate from the echo.
    orders: Option<Orders>,
    stream: Option<Link>,
    /// End of the flush timeout after the session.
    until_ns: Option<u64>,
    store_failed: Option<StoreError>,
    /// Whether both sides were logged on over this connection, and Text (58) of the received Logout or Reject.
    was_up: bool,
    text: String,
    end: Option<End>,
}

/// End of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Both sides were logged on.
    pub was_up: bool,
    /// Reason why we closed it; `None` if the other side closed it.
    pub why: Option<DisconnectReason>,
    /// Text (58) of the counterparty's Logout or Reject, at most 200 bytes; may be empty.
    pub text: String,
}

/// Longest printed text, bytes.
const TEXT_BYTES_MAX: usize = 200;

/// Flush timeout: time limit for sending the rest.
const FLUSH_TIMEOUT_NS: u64 = 2_000_000_000;
/// Maximum reads of one connection in one turn, so that other connections do not wait.
const READS: usize = 16;

impl Connection {
    /// A session without a connection, which ends with its process.
    pub fn new(settings: Settings) -> Connection {
        Connection::with(settings, Box::new(Memory::default()))
    }

    /// A connection with a store, continuing from the store's numbers.
    pub fn with(settings: Settings, mut store: Box<dyn Store>) -> Connection {
        let mut echo = Echo::default();
        echo.remember(&mut store, settings.limits.message_bytes_max);
        Connection {
            peer: Peer::of(&settings),
            session: Session::new(settings, store),
            echo,
            orders: None,
            stream: None,
            until_ns: None,
            store_failed: None,
            was_up: false,
            text: String::new(),
            end: None,
        }
    }

    /// Restricts the counterparty to these addresses.
    pub fn only_from(self, addresses: Addresses) -> Connection {
        Connection {
            peer: self.peer.only_from(addresses),
            ..self
        }
    }

    /// Sends these orders while it is logged on. Answers to them are not echoed.
    pub fn sending(self, orders: Orders) -> Connection {
        Connection {
            orders: Some(orders),
            ..self
        }
    }

    /// Orders, if it sends any.
    pub fn orders(&self) -> Option<&Orders> {
        self.orders.as_ref()
    }

    /// End of the last connection; returned once.
    pub fn take_end(&mut self) -> Option<End> {
        self.end.take()
    }

    /// Counterparty, for the login port.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The session.
    pub fn session(&self) -> &Session<Box<dyn Store>> {
        &self.session
    }

    /// Whether a counterparty is connected.
    pub fn is_taken(&self) -> bool {
        self.stream.is_some()
    }

    /// Error of a failed store, after which no session can be served.
    pub fn store_failed(&self) -> Option<StoreError> {
        self.store_failed
    }

    /// Starts a connection over which `bytes` have arrived already.
    pub fn connected(&mut self, stream: Link, bytes: &[u8], time: ReceiveTime) {
        self.session.connected(time);
        self.stream = Some(stream);
        self.until_ns = None;
        self.was_up = false;
        self.text.clear();
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = self.session.handle(rest, time);
            rest = &rest[taken..];
            self.listen(time);
            if taken == 0 {
                break;
            }
        }
    }

    /// Runs due work; returns whether there was any.
    pub fn work(&mut self, time: ReceiveTime) -> bool {
        let exchanged = self.exchange(time);
        // Before the connection ends, because the session then discards the reason.
        if let Some(DisconnectReason::Store(error)) = self.session.disconnect_reason() {
            self.store_failed = Some(error);
        }
        let Ok(is_busy) = exchanged else {
            self.disconnect(time);
            return true;
        };
        if self.session.disconnect_reason().is_some() {
            let until_ns = *self.until_ns.get_or_insert(time.mono_ns + FLUSH_TIMEOUT_NS);
            if self.session.poll_transmit().is_empty() || time.mono_ns >= until_ns {
                self.disconnect(time);
            }
        }
        is_busy
    }

    /// Starts the logout, if the session is logged on.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.session.log_out("", time);
    }

    /// Adds the counts of this session to the totals.
    pub fn add_to(&self, totals: &mut Totals) {
        let counters = self.session.counters();
        totals.logons += counters.logons;
        totals.received += counters.messages_received;
        totals.sent += counters.messages_sent + counters.messages_resent + counters.gap_fills_sent;
        totals.garbled += counters.messages_garbled;
        totals.rejected += counters.messages_rejected;
    }

    fn disconnect(&mut self, time: ReceiveTime) {
        if let Some(mut stream) = self.stream.take() {
            // Unread received bytes would turn the close into a reset, and the last messages would be lost.
            let mut unread = [0; 4_096];
            for _ in 0..READS {
                if !matches!(stream.receive(&mut unread), Ok(1..)) {
                    break;
                }
            }
        }
        self.end = Some(End {
            was_up: self.was_up,
            why: self.session.disconnect_reason(),
            text: std::mem::take(&mut self.text),
        });
        self.session.disconnected(time);
    }

    fn exchange(&mut self, time: ReceiveTime) -> Result<bool, Error> {
        let mut is_busy = false;
        if !self.echo.answer(&mut self.session, time) || !self.listen(time) {
            return self.flush(time);
        }
        if let Some(orders) = &mut self.orders {
            orders.send(&mut self.session, time);
        }
        for _ in 0..READS {
            let Some(stream) = &mut self.stream else {
                break;
            };
            let bytes = match stream.receive(self.session.room()) {
                Ok(bytes) => bytes,
                // Its last message may still wait to be read.
                Err(error) if self.session.poll_transmit().is_empty() => return Err(error),
                Err(_) => 0,
            };
            if bytes == 0 {
                break;
            }
            self.session.filled(bytes, time);
            is_busy = true;
            if !self.listen(time) {
                break;
            }
        }
        is_busy |= self.flush(time)?;
        Ok(is_busy)
    }

    /// Sends waiting bytes, as far as the connection accepts them.
    fn flush(&mut self, time: ReceiveTime) -> Result<bool, Error> {
        let mut is_busy = false;
        self.session.handle_timeout(time);
        if let Some(stream) = &mut self.stream {
            while !self.session.poll_transmit().is_empty() {
                let bytes = stream.send(self.session.poll_transmit())?;
                if bytes == 0 {
                    break;
                }
                self.session.transmitted(bytes);
                is_busy = true;
            }
        }
        Ok(is_busy)
    }

    /// Processes the events of the session. `false`: there is no room for an answer.
    fn listen(&mut self, time: ReceiveTime) -> bool {
        while let Some(event) = self.session.poll() {
            match event {
                Event::LoggedOn { is_restarted } => {
                    self.was_up = true;
                    if is_restarted {
                        self.echo.begin();
                    }
                }
                Event::Application(message, header, _) => {
                    if self
                        .orders
                        .as_mut()
                        .is_some_and(|orders| orders.take(&message))
                    {
                        continue;
                    }
                    self.echo.take(&message, &header);
                    if !self.echo.answer(&mut self.session, time) {
                        return false;
                    }
                }
                Event::LoggedOut(message) => self.text = text(&message),
                Event::Logon(_)
                | Event::Rejected(_)
                | Event::Invalid(_)
                | Event::TooLong(_)
                | Event::Gap { .. }
                | Event::Skipped { .. }
                | Event::Restarted { .. } => {}
            }
        }
        true
    }
}

/// Text (58) of a message, truncated and restricted to printable characters.
fn text(message: &Message<'_>) -> String {
    let mut fields = message.fields().map_while(Result::ok);
    let text = fields.find(|field| field.tag == tag::TEXT);
    let text = text.map_or(&b""[..], |field| field.value);
    let text = String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]);
    text.chars().filter(|letter| is_visible(*letter)).collect()
}
