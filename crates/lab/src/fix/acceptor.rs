//! Many connections on one port, each of one session.

use super::{Connection, Totals};
use crate::access_control::{LoginQueue, Rules, Unauthenticated};
use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_feed::ReceiveTime;
use touchline_feed::fix::{DisconnectReason, Names};
use touchline_net::stream::Error;

/// A port, and the sessions behind it. One thread, which never waits.
#[derive(Debug)]
pub struct Acceptor {
    login_queue: LoginQueue,
    connections: Vec<Connection>,
}

/// What is to become of an unauthenticated connection.
enum Known {
    /// What he says is no Logon, or he says nothing.
    NoLogon,
    /// The Logon is of no session, or comes from where nobody of its session is.
    Nobody,
    Connection(usize),
}

impl Acceptor {
    /// Listens for these sessions, each with its application.
    ///
    /// # Errors
    /// The address is not ours, or taken.
    pub fn listen(
        address: SocketAddrV4,
        connections: Vec<Connection>,
        rules: Rules,
    ) -> Result<Acceptor, Error> {
        Ok(Acceptor {
            login_queue: LoginQueue::listen(address, rules)?,
            connections,
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddrV4 {
        self.login_queue.address()
    }

    /// Its sessions.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// How many connections are not logged on.
    pub fn unauthenticated(&self) -> usize {
        self.login_queue.count()
    }

    /// Begins to log out everybody.
    pub fn log_out(&mut self, time: ReceiveTime) {
        for connection in &mut self.connections {
            connection.log_out(time);
        }
    }

    /// What it did so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            connections: self.login_queue.connections(),
            turned_away: self.login_queue.turned_away,
            ..Totals::default()
        };
        for connection in &self.connections {
            connection.add_to(&mut totals);
        }
        totals
    }

    /// Does what is due; answers whether anything was.
    pub fn work(&mut self, time: ReceiveTime) -> bool {
        let connections = &self.connections;
        // mutant: door: an acceptor lists everybody
        let is_listed = |from| connections.iter().any(|connection| connection.takes(from));
        let mut is_busy = self.login_queue.accept(0, time, is_listed);
        is_busy |= self.meet(time);
        for connection in &mut self.connections {
            if connection.is_taken() {
                is_busy |= connection.work(time);
            }
        }
        is_busy
    }

    /// Looks at what unauthenticated connections have said.
    fn meet(&mut self, time: ReceiveTime) -> bool {
        let (mut place, mut is_busy) = (0, false);
        while let Some(unauthenticated) = self.login_queue.next(&mut place, time) {
            let known = who(&unauthenticated, &self.connections);
            self.decide(unauthenticated, known, time);
            is_busy = true;
        }
        is_busy
    }

    /// An unauthenticated connection is let in, or closed without a word: whether nobody, too slow, or here already. Whoever
    /// waits for the end of a pause is closed even with a right Logon, or he could go on guessing over
    /// connections that he made before.
    fn decide(&mut self, unauthenticated: Unauthenticated, known: Known, time: ReceiveTime) {
        let Unauthenticated {
            stream,
            from,
            bytes,
            ..
        } = unauthenticated;
        let is_waiting = self
            .login_queue
            .login_throttle
            .is_waiting(from, time.mono_ns);
        match known {
            // mutant: door: connections that stand go round a pause
            Known::Connection(connection)
                if !is_waiting && !self.connections[connection].is_taken() =>
            {
                // mutant: door: a Logon that succeeds wipes failures
                self.connections[connection].connected(stream, &bytes, time);
                return;
            }
            Known::Nobody if !is_waiting => {
                self.login_queue.login_throttle.failed(from, time.mono_ns)
            }
            _ => {}
        }
        self.login_queue.turned_away += 1;
    }
}

fn who(unauthenticated: &Unauthenticated, connections: &[Connection]) -> Known {
    match unauthenticated.names() {
        Ok(Some(names)) => connection_of(&names, unauthenticated.from, connections)
            .map_or(Known::Nobody, Known::Connection),
        // A Logon without CompIDs.
        Err(DisconnectReason::BadLogon) => Known::Nobody,
        // mutant: door: noise is a failed Logon
        _ => Known::NoLogon,
    }
}

/// The connection of somebody who comes from this address. Each is asked, so that the time says nothing of what was wrong.
fn connection_of(names: &Names<'_>, from: Ipv4Addr, connections: &[Connection]) -> Option<usize> {
    let mut found = None;
    for (place, connection) in connections.iter().enumerate() {
        if connection.expects(names, from) {
            found = Some(place);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_control::Addresses;
    use std::time::Instant;
    use touchline_feed::fix::{Role, Settings};

    /// By the clock, in turn, and by the middle of many tries. A load of the host passes; a difference would
    /// show in each round.
    #[test]
    fn it_takes_as_long_whatever_is_wrong() {
        let blocks = ["127.0.0.0/31", "127.0.0.2"].map(|block| block.parse().expect("a block"));
        let connection = |number| {
            let settings = Settings::new(Role::Acceptor, "ISLD", &format!("TW{number}"));
            Connection::new(settings).only_from(Addresses::of(blocks.into()))
        };
        let connections: Vec<Connection> = (10..26).map(connection).collect();
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
                    let found = connection_of(&names, from, &connections);
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
