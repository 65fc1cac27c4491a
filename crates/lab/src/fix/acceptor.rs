//! Many connections on one port, each of one session.

use super::{Seat, Totals};
use crate::door::{Patience, Pauses};
use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_feed::When;
use touchline_feed::fix::{Closing, Names, first_message};
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
    /// How much of failed Logons is borne.
    pub patience: Patience,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            strangers_per_address: 256,
            strangers_max: 1_024,
            logon_bytes_max: 4 * 1_024,
            logon_wait_ns: 10_000_000_000,
            patience: Patience::default(),
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
    pauses: Pauses,
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
    /// What he says is no Logon.
    NoLogon,
    /// The Logon is of no session, or comes from where nobody of its session is.
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
            pauses: Pauses::new(rules.patience),
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
            // Or those whom nobody expects would take the places of those who are.
            let is_listed = self.seats.iter().any(|seat| seat.takes(from));
            let of_address = self.strangers.iter().filter(|other| other.from == from);
            let is_full = self.strangers.len() >= self.rules.strangers_max
                || of_address.count() >= self.rules.strangers_per_address;
            if !is_listed || is_full || self.pauses.is_waiting(from, when.now_ns) {
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
            let known = who(stranger, &self.seats, self.rules.logon_bytes_max);
            if let Known::NotYet = known
                && !is_gone
                && when.now_ns < stranger.until_ns
            {
                place += 1;
                continue;
            }
            let stranger = self.strangers.swap_remove(place);
            self.decide(stranger, known, when);
        }
        before != self.strangers.len()
    }

    /// A stranger is let in, or closed without a word: whether nobody, too slow, or here already. Whoever
    /// waits for the end of a pause is closed even with a right Logon, or he could go on guessing over
    /// connections that he made before.
    fn decide(&mut self, stranger: Stranger, known: Known, when: When) {
        let Stranger {
            stream,
            from,
            bytes,
            ..
        } = stranger;
        let is_waiting = self.pauses.is_waiting(from, when.now_ns);
        match known {
            Known::Seat(seat) if !is_waiting && !self.seats[seat].is_taken() => {
                self.seats[seat].connected(stream, &bytes, when);
                if self.seats[seat].session().is_up() {
                    self.pauses.succeeded(from);
                }
                return;
            }
            Known::Nobody if !is_waiting => self.pauses.failed(from, when.now_ns),
            _ => {}
        }
        self.turned_away += 1;
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
        Ok(Some(names)) => seat_of(&names, stranger.from, seats).map_or(Known::Nobody, Known::Seat),
        // A Logon without CompIDs.
        Err(Closing::BadLogon) => Known::Nobody,
        _ => Known::NoLogon,
    }
}

/// The seat of somebody who comes from this address. Each is asked, so that the time says nothing of what was wrong.
fn seat_of(names: &Names<'_>, from: Ipv4Addr, seats: &[Seat]) -> Option<usize> {
    let mut found = None;
    for (place, seat) in seats.iter().enumerate() {
        if seat.expects(names, from) {
            found = Some(place);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Addresses;
    use std::time::Instant;
    use touchline_feed::fix::{Role, Settings};

    /// By the clock, in turn, and by the middle of many tries. A load of the host passes; a difference would
    /// show in each round.
    #[test]
    fn it_takes_as_long_whatever_is_wrong() {
        let blocks = ["127.0.0.0/31", "127.0.0.2"].map(|block| block.parse().expect("a block"));
        let seat = |number| {
            let settings = Settings::new(Role::Acceptor, "ISLD", &format!("TW{number}"));
            Seat::new(settings).only_from(Addresses::of(blocks.into()))
        };
        let seats: Vec<Seat> = (10..26).map(seat).collect();
        let cases: [(&[u8], &[u8], u8); 4] = [
            (b"TW99", b"ISLD", 1),
            (b"TW10", b"ISLD", 3),
            (b"TW25", b"ISLD", 3),
            (b"TW10", b"ISLE", 1),
        ];
        let round = || {
            let mut took_ns = [const { Vec::new() }; 4];
            for _ in 0..10_000 {
                for ((sender, target, last), took_ns) in cases.iter().zip(&mut took_ns) {
                    let (names, from) = (Names { sender, target }, Ipv4Addr::new(127, 0, 0, *last));
                    let start = Instant::now();
                    let found = seat_of(&names, from, &seats);
                    took_ns.push(start.elapsed().as_nanos());
                    assert_eq!(found, None);
                }
            }
            took_ns.map(|mut all| *all.select_nth_unstable(5_000).1)
        };
        let rounds: Vec<_> = (0..5).map(|_| round()).collect();
        let is_alike = |middles: &[u128; 4]| {
            let (least, most) = (middles.iter().min(), middles.iter().max());
            most.zip(least)
                .is_some_and(|(most, least)| 10 * most < 11 * least)
        };
        assert!(rounds.iter().any(is_alike), "{rounds:?} ns");
    }
}
