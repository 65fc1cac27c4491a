//! Many connections on one port, each of one session.

use super::{Seat, Totals};
use crate::door::{Rules, Stranger, Strangers};
use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_feed::When;
use touchline_feed::fix::{Closing, Names};
use touchline_net::stream::Error;

/// A port, and the sessions behind it. One thread, which never waits.
#[derive(Debug)]
pub struct Acceptor {
    strangers: Strangers,
    seats: Vec<Seat>,
}

/// What is to become of a stranger.
enum Known {
    /// What he says is no Logon, or he says nothing.
    NoLogon,
    /// The Logon is of no session, or comes from where nobody of its session is.
    Nobody,
    Seat(usize),
}

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
            strangers: Strangers::listen(address, rules)?,
            seats,
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddrV4 {
        self.strangers.address()
    }

    /// Its sessions.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// How many connections are not logged on.
    pub fn strangers(&self) -> usize {
        self.strangers.count()
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
            connections: self.strangers.connections(),
            turned_away: self.strangers.turned_away,
            ..Totals::default()
        };
        for seat in &self.seats {
            seat.add_to(&mut totals);
        }
        totals
    }

    /// Does what is due; answers whether anything was.
    pub fn work(&mut self, when: When) -> bool {
        let seats = &self.seats;
        let is_listed = |from| seats.iter().any(|seat| seat.takes(from));
        let mut is_busy = self.strangers.accept(0, when, is_listed);
        is_busy |= self.meet(when);
        for seat in &mut self.seats {
            if seat.is_taken() {
                is_busy |= seat.work(when);
            }
        }
        is_busy
    }

    /// Looks at what strangers have said.
    fn meet(&mut self, when: When) -> bool {
        let (mut place, mut is_busy) = (0, false);
        while let Some(stranger) = self.strangers.next(&mut place, when) {
            let known = who(&stranger, &self.seats);
            self.decide(stranger, known, when);
            is_busy = true;
        }
        is_busy
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
        let is_waiting = self.strangers.pauses.is_waiting(from, when.now_ns);
        match known {
            Known::Seat(seat) if !is_waiting && !self.seats[seat].is_taken() => {
                self.seats[seat].connected(stream, &bytes, when);
                return;
            }
            Known::Nobody if !is_waiting => self.strangers.pauses.failed(from, when.now_ns),
            _ => {}
        }
        self.strangers.turned_away += 1;
    }
}

fn who(stranger: &Stranger, seats: &[Seat]) -> Known {
    match stranger.names() {
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
