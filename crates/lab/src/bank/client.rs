//! A client of a bank: its session and its requests. Bytes and time in, bytes out.

use super::config::{BankConfig, Config};
use super::ladder::Ladder;
use super::messages::{Fault, Quote};
use touchline_net::Connection;
use touchline_session::fix::{Event, Memory, Role, SendError, Session, Settings};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Message, unsigned};

/// Further entries of a flood.
pub(super) const FLOOD: usize = 10_000;
/// Maximum reads of one client in one turn, so that other clients do not wait.
const READS: usize = 16;
/// Longest message of a bank.
const MESSAGE_BYTES_MAX: usize = 64 * 1_024;
/// Longest message of a bank that floods.
const FLOOD_BYTES_MAX: usize = 1_024 * 1_024;
/// Otherwise a flood is a disconnect: the session refuses a longer message. An entry of a flood has at most 64 bytes.
const _: () = assert!(FLOOD * 64 < FLOOD_BYTES_MAX);
/// Requests of a client at most.
const SUBSCRIPTIONS_MAX: usize = 1_000;

/// A client, from its Logon on.
#[derive(Debug)]
pub struct Client {
    session: Session<Memory>,
    stream: Connection,
    subscriptions: Vec<Subscription>,
    /// Bytes that are sent before those of the session.
    wire: Vec<u8>,
    /// The bank closes the connection.
    is_cut: bool,
    quotes: u64,
}

/// Fault of a sent message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The message is sent unchanged.
    #[default]
    Sound,
    /// Its checksum is wrong.
    BadChecksum,
    /// The message never comes.
    Missing,
}

/// Requests.
#[derive(Debug)]
struct Subscription {
    pair: usize,
    request: Vec<u8>,
    band: Option<usize>,
    has_book: bool,
}

/// A quote that goes to every client.
#[derive(Debug, Clone, Copy)]
pub struct Quoting<'a> {
    pub config: &'a Config,
    pub bank: &'a BankConfig,
    pub pair: usize,
    pub ladder: &'a Ladder,
    pub fault: Option<Fault>,
    pub number: u64,
    pub delivery: Delivery,
    /// Further entries.
    pub flood: usize,
}

impl Client {
    /// A client of this name, on a connection that has already sent `bytes`.
    pub fn new(
        bank: &BankConfig,
        name: &str,
        stream: Connection,
        bytes: &[u8],
        at: ReceiveTime,
    ) -> Client {
        let message_bytes_max = match bank.flood > 0.0 {
            true => FLOOD_BYTES_MAX,
            false => MESSAGE_BYTES_MAX,
        };
        let mut settings = Settings::new(Role::Acceptor, &bank.name, name);
        settings.reset_on_logon = true;
        settings.sending_time_s = 0;
        settings.limits.message_bytes_max = message_bytes_max;
        settings.limits.output_bytes = (64 * MESSAGE_BYTES_MAX).max(8 * message_bytes_max);
        let mut session = Session::new(settings, Memory::default());
        session.connected(at);
        let room = session.room();
        room[..bytes.len()].copy_from_slice(bytes);
        session.filled(bytes.len(), at);
        Client {
            session,
            stream,
            subscriptions: Vec::new(),
            wire: Vec::new(),
            is_cut: false,
            quotes: 0,
        }
    }

    /// Quotes that it was sent.
    pub fn quotes(&self) -> u64 {
        self.quotes
    }

    /// Whether the session is logged on.
    pub fn is_up(&self) -> bool {
        self.session.is_up()
    }

    /// Processes its messages; requested pairs are passed to `asked`. True if any message arrived.
    pub fn read(
        &mut self,
        config: &Config,
        bank: &BankConfig,
        at: ReceiveTime,
        asked: &mut Vec<usize>,
    ) -> bool {
        let mut is_busy = false;
        for _ in 0..READS {
            self.listen(config, bank, at, asked);
            match self.stream.receive(self.session.room()) {
                Ok(0) => break,
                Ok(bytes) => self.session.filled(bytes, at),
                Err(_) => {
                    self.is_cut = true;
                    return true;
                }
            }
            is_busy = true;
        }
        self.listen(config, bank, at, asked);
        is_busy
    }

    fn listen(
        &mut self,
        config: &Config,
        bank: &BankConfig,
        at: ReceiveTime,
        asked: &mut Vec<usize>,
    ) {
        let mut rejected = Vec::new();
        while let Some(event) = self.session.poll() {
            let Event::Application(message, ..) = event else {
                continue;
            };
            let id = match message.msg_type() {
                b"V" => 262,
                b"R" => 131,
                _ => continue,
            };
            let request = value(&message, id).unwrap_or_default().to_vec();
            let symbol = value(&message, 55).unwrap_or_default();
            let is_quoted = bank.pairs.iter().any(|known| known.as_bytes() == symbol);
            let pair = config
                .pairs
                .iter()
                .position(|pair| pair.symbol.as_bytes() == symbol)
                .filter(|_| is_quoted && self.subscriptions.len() < SUBSCRIPTIONS_MAX);
            let Some(pair) = pair else {
                rejected.push((id, request));
                continue;
            };
            let size = value(&message, 38).and_then(|size| unsigned(size).ok());
            let band = size.and_then(|size| {
                let mut tiers = bank.tiers.iter();
                tiers.position(|tier| *tier as u64 >= size)
            });
            self.subscriptions.push(Subscription {
                pair,
                request,
                band,
                has_book: false,
            });
            asked.push(pair);
        }
        for (id, request) in rejected {
            let kind: &[u8] = if id == 262 { b"Y" } else { b"AG" };
            let sent = self.session.send(kind, at, |body| {
                // Unknown symbol.
                body.bytes(id, &request).char(281, b'0');
            });
            self.is_cut |= sent == Err(SendError::Full);
        }
    }

    /// Quotes a pair to it, as far as it asked for it.
    pub fn quote(&mut self, quoting: &Quoting<'_>, at: ReceiveTime) {
        let Quoting {
            config,
            bank,
            pair,
            ladder,
            fault,
            number,
            delivery,
            flood,
        } = *quoting;
        let set = bank
            .pairs
            .iter()
            .position(|symbol| *symbol == config.pairs[pair].symbol);
        let Some(set) = set.filter(|_| self.session.is_up()) else {
            return;
        };
        let expires_ns = match bank.life_ms {
            0 => 0,
            life_ms => at.wall_ns + life_ms * 1_000_000,
        };
        for subscription in &mut self.subscriptions {
            if subscription.pair != pair {
                continue;
            }
            let about = &config.pairs[pair];
            let spot_date = config.spot_date(pair, at.wall_ns);
            let quote = Quote {
                bank,
                symbol: &about.symbol,
                set: set as u64 + 1,
                precision: about.precision,
                spot_date: &spot_date,
                ladder,
                request: &subscription.request,
                band: subscription.band,
                number,
                expires_ns,
                is_change: subscription.has_book,
                flood,
            };
            if delivery != Delivery::Sound {
                // Waiting messages are valid.
                take_output(&mut self.session, &mut self.wire, Delivery::Sound);
            }
            let sent = self
                .session
                .send(quote.msg_type(), at, |body| quote.write(fault, body));
            if delivery != Delivery::Sound {
                take_output(&mut self.session, &mut self.wire, delivery);
            }
            match sent {
                Ok(_) => {
                    self.quotes += 1;
                    subscription.has_book = true;
                }
                // The client does not read.
                Err(_) => self.is_cut = true,
            }
        }
    }

    /// The bank closes the connection, without a word.
    pub fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Begins to log it out.
    pub fn log_out(&mut self, at: ReceiveTime) {
        self.session.log_out("the bank closes", at);
    }

    /// Runs timers and sends waiting messages. `false`: the connection has ended.
    pub fn write(&mut self, at: ReceiveTime) -> bool {
        self.session.handle_timeout(at);
        while !self.is_cut && !self.wire.is_empty() {
            match self.stream.send(&self.wire) {
                Ok(0) => return true,
                Ok(sent) => drop(self.wire.drain(..sent)),
                Err(_) => self.is_cut = true,
            }
        }
        while !self.is_cut && !self.session.poll_transmit().is_empty() {
            match self.stream.send(self.session.poll_transmit()) {
                Ok(0) => break,
                Ok(sent) => self.session.transmitted(sent),
                Err(_) => self.is_cut = true,
            }
        }
        let is_over =
            self.session.disconnect_reason().is_some() && self.session.poll_transmit().is_empty();
        !self.is_cut && !is_over
    }
}

/// Receives the bytes of a session.
fn take_output(session: &mut Session<Memory>, wire: &mut Vec<u8>, delivery: Delivery) {
    let bytes = session.poll_transmit();
    let count = bytes.len();
    if delivery != Delivery::Missing {
        wire.extend_from_slice(bytes);
    }
    session.transmitted(count);
    if let (Delivery::BadChecksum, Some(at)) = (delivery, wire.len().checked_sub(2)) {
        // The last digit of the checksum.
        wire[at] = if wire[at] == b'0' { b'1' } else { b'0' };
    }
}

fn value<'a>(message: &Message<'a>, tag: u32) -> Option<&'a [u8]> {
    let mut fields = message.fields().filter_map(Result::ok);
    fields
        .find(|field| field.tag == tag)
        .map(|field| field.value)
}
