//! A session that connects, and connects again.

use super::{End, Seat, Totals};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::time::Duration;
use touchline_feed::When;
use touchline_net::Stream;
use touchline_net::stream::Error;

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
    /// Attempts in a row after which nobody was logged on.
    in_vain: u32,
    is_up: bool,
    news: VecDeque<News>,
}

/// What became of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Both sides are logged on.
    LoggedOn,
    /// There is no connection; the next attempt is made after this time.
    NoConnection(Error, Duration),
    /// The connection ended; the next attempt is made after this time.
    Ended(End, Duration),
}

/// How long a connection may take to stand.
const CONNECT_NS: u64 = 5_000_000_000;
/// Between one connection and the next, and twice as long after each further attempt in vain, up to the longest.
const REST: Duration = Duration::from_millis(500);
const REST_MAX: Duration = Duration::from_secs(10);

/// News that nobody has taken; more are dropped.
const NEWS_MAX: usize = 64;

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
            in_vain: 0,
            is_up: false,
            news: VecDeque::new(),
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

    /// What became of its connections, each once, in order.
    pub fn news(&mut self) -> Option<News> {
        self.news.pop_front()
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
            if !self.is_up && self.seat.session().is_up() {
                self.is_up = true;
                self.in_vain = 0;
                self.tell(News::LoggedOn);
            }
            if let Some(end) = self.seat.take_end() {
                self.is_up = false;
                let rest = self.rest(end.was_up, when);
                self.tell(News::Ended(end, rest));
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
            Err(error) => {
                self.making = None;
                self.failures += 1;
                let rest = self.rest(false, when);
                self.tell(News::NoConnection(error, rest));
                false
            }
        }
    }

    /// Rests for a while, longer where the attempts before were in vain, too.
    fn rest(&mut self, was_up: bool, when: When) -> Duration {
        let rest = match was_up {
            true => REST,
            false => REST.saturating_mul(1 << self.in_vain.min(16)).min(REST_MAX),
        };
        self.in_vain = if was_up { 0 } else { self.in_vain + 1 };
        self.again_ns = when.now_ns + rest.as_nanos() as u64;
        rest
    }

    fn tell(&mut self, news: News) {
        if self.news.len() < NEWS_MAX {
            self.news.push_back(news);
        }
    }
}
