//! A session that connects, and connects again.

use super::{Seat, Totals};
use std::net::SocketAddrV4;
use touchline_feed::When;
use touchline_net::Stream;

/// One session that is always to be connected.
#[derive(Debug)]
pub struct Initiator {
    to: SocketAddrV4,
    seat: Seat,
    /// A connection that is being made.
    making: Option<Stream>,
    /// Before this time no other one is made.
    again_ns: u64,
    connections: u64,
    failures: u64,
}

/// How long a connection may take to stand.
const CONNECT_NS: u64 = 5_000_000_000;
/// Between one connection and the next.
const REST_NS: u64 = 500_000_000;

impl Initiator {
    /// A session that connects to this address.
    pub fn new(to: SocketAddrV4, seat: Seat) -> Initiator {
        Initiator {
            to,
            seat,
            making: None,
            again_ns: 0,
            connections: 0,
            failures: 0,
        }
    }

    /// The session.
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Begins to log out.
    pub fn log_out(&mut self, when: When) {
        self.seat.log_out(when);
    }

    /// What it did so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            connections: self.connections,
            turned_away: self.failures,
            ..Totals::default()
        };
        self.seat.add_to(&mut totals);
        totals
    }

    /// Does what is due; answers whether anything was.
    pub fn work(&mut self, when: When) -> bool {
        if self.seat.is_taken() {
            let is_busy = self.seat.work(when);
            if !self.seat.is_taken() {
                self.again_ns = when.now_ns + REST_NS;
            }
            return is_busy;
        }
        self.connect(when)
    }

    fn connect(&mut self, when: When) -> bool {
        let made = match &mut self.making {
            None if when.now_ns < self.again_ns => return false,
            None => Stream::connect(self.to, when.now_ns + CONNECT_NS).map(|stream| {
                self.making = Some(stream);
                false
            }),
            Some(stream) => stream.is_connected(when.now_ns),
        };
        match made {
            Ok(true) => {
                if let Some(stream) = self.making.take() {
                    self.connections += 1;
                    self.seat.connected(stream, &[], when);
                }
                true
            }
            Ok(false) => false,
            Err(_) => {
                self.making = None;
                self.failures += 1;
                self.again_ns = when.now_ns + REST_NS;
                false
            }
        }
    }
}
