//! Many connections on one port, each of one session.

use super::{Seat, Totals};
use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_feed::When;
use touchline_feed::fix::first_message;
use touchline_net::Stream;
use touchline_net::stream::{Error, Listener};

/// What a stranger may do.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Connections that are not logged on, from one address.
    pub strangers_per_address: usize,
    /// Connections that are not logged on, in all.
    pub strangers_max: usize,
    /// Bytes of the first message.
    pub logon_bytes_max: usize,
    /// The first message must have come by then.
    pub logon_wait_ns: u64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            strangers_per_address: 256,
            strangers_max: 1_024,
            logon_bytes_max: 4 * 1_024,
            logon_wait_ns: 10_000_000_000,
        }
    }
}

/// A port, and the sessions behind it. One thread, which never waits.
#[derive(Debug)]
pub struct Acceptor {
    listener: Listener,
    rules: Rules,
    seats: Vec<Seat>,
    strangers: Vec<Stranger>,
    connections: u64,
    turned_away: u64,
}

/// A connection that has not said who it is.
#[derive(Debug)]
struct Stranger {
    stream: Stream,
    from: Ipv4Addr,
    until_ns: u64,
    bytes: Vec<u8>,
}

/// What is to become of a stranger.
enum Known {
    NotYet,
    Nobody,
    Seat(usize),
}

/// Connections taken in one turn.
const ACCEPTS: usize = 64;
/// Bytes of one read from a stranger.
const READ: usize = 1_024;

impl Acceptor {
    /// Listens for these sessions, each with its application.
    ///
    /// # Errors
    /// The address is not ours, or taken.
    pub fn listen(
        address: SocketAddrV4,
        seats: Vec<Seat>,
        rules: Rules,
    ) -> Result<Acceptor, Error> {
        Ok(Acceptor {
            listener: Listener::bind(address)?,
            rules,
            seats,
            strangers: Vec::new(),
            connections: 0,
            turned_away: 0,
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddrV4 {
        self.listener.address()
    }

    /// Its sessions.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// How many connections are not logged on.
    pub fn strangers(&self) -> usize {
        self.strangers.len()
    }

    /// Begins to log out everybody.
    pub fn log_out(&mut self, when: When) {
        for seat in &mut self.seats {
            seat.log_out(when);
        }
    }

    /// What it did so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            connections: self.connections,
            turned_away: self.turned_away,
            ..Totals::default()
        };
        for seat in &self.seats {
            seat.add_to(&mut totals);
        }
        totals
    }

    /// Does what is due; answers whether anything was.
    pub fn work(&mut self, when: When) -> bool {
        let mut is_busy = self.accept(when);
        is_busy |= self.meet(when);
        for seat in &mut self.seats {
            if seat.is_taken() {
                is_busy |= seat.work(when);
            }
        }
        is_busy
    }

    fn accept(&mut self, when: When) -> bool {
        for taken in 0..ACCEPTS {
            // Out of sockets: it passes.
            let Ok(Some((stream, from))) = self.listener.accept() else {
                return taken > 0;
            };
            self.connections += 1;
            let from = *from.ip();
            let of_address = self.strangers.iter().filter(|other| other.from == from);
            let is_full = self.strangers.len() >= self.rules.strangers_max
                || of_address.count() >= self.rules.strangers_per_address;
            if is_full {
                self.turned_away += 1;
                continue;
            }
            self.strangers.push(Stranger {
                stream,
                from,
                until_ns: when.now_ns + self.rules.logon_wait_ns,
                bytes: Vec::new(),
            });
        }
        true
    }

    /// Looks at what strangers have said.
    fn meet(&mut self, when: When) -> bool {
        let before = self.strangers.len();
        let mut place = 0;
        while let Some(stranger) = self.strangers.get_mut(place) {
            let is_gone = !stranger.read(self.rules.logon_bytes_max);
            match who(stranger, &self.seats, self.rules.logon_bytes_max) {
                Known::NotYet if !is_gone && when.now_ns < stranger.until_ns => place += 1,
                Known::Seat(seat) if !self.seats[seat].is_taken() => {
                    let Stranger { stream, bytes, .. } = self.strangers.swap_remove(place);
                    self.seats[seat].connected(stream, &bytes, when);
                }
                // Whoever is nobody, too slow, or here already is closed without a word.
                _ => {
                    self.turned_away += 1;
                    self.strangers.swap_remove(place);
                }
            }
        }
        before != self.strangers.len()
    }
}

impl Stranger {
    /// Reads what is there. `false`: the other side has gone.
    fn read(&mut self, bytes_max: usize) -> bool {
        let mut room = [0; READ];
        while self.bytes.len() < bytes_max {
            let most = READ.min(bytes_max - self.bytes.len());
            match self.stream.receive(&mut room[..most]) {
                Ok(0) => return true,
                Ok(bytes) => self.bytes.extend_from_slice(&room[..bytes]),
                Err(_) => return false,
            }
        }
        true
    }
}

fn who(stranger: &Stranger, seats: &[Seat], logon_bytes_max: usize) -> Known {
    match first_message(&stranger.bytes, logon_bytes_max) {
        Ok(None) if stranger.bytes.len() < logon_bytes_max => Known::NotYet,
        Ok(Some(names)) => {
            let seat = seats.iter().position(|seat| {
                let settings = seat.session().settings();
                settings.target.as_bytes() == names.sender
                    && settings.sender.as_bytes() == names.target
            });
            seat.map_or(Known::Nobody, Known::Seat)
        }
        _ => Known::Nobody,
    }
}
