//! Session that connects and reconnects.

use super::{Connection, End, Totals};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::time::Duration;
use touchline_net::Connection as Link;
use touchline_net::stream::Error;
use touchline_net::{Backoff, Stream};
use touchline_types::ReceiveTime;

/// One session that stays connected.
#[derive(Debug)]
pub struct Initiator {
    to: SocketAddrV4,
    connection: Connection,
    /// Connection in progress.
    making: Option<Stream>,
    connections: u64,
    failures: u64,
    /// Backoff of attempts without a logon.
    backoff: Backoff,
    is_up: bool,
    news: VecDeque<News>,
}

/// Event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Both sides are logged on.
    LoggedOn,
    /// There is no connection; the next attempt is made after this time.
    NoConnection(Error, Duration),
    /// The connection ended; the next attempt is made after this time.
    Ended(End, Duration),
}

/// Timeout of connecting.
const CONNECT_NS: u64 = 5_000_000_000;
/// Backoff after a connection; doubled after each further failed attempt, up to the largest.
const BACKOFF_NS: u64 = 500_000_000;
const BACKOFF_NS_MAX: u64 = 10_000_000_000;

/// Largest number of pending events; more are dropped.
const NEWS_MAX: usize = 64;

impl Initiator {
    /// A session that connects to this address.
    pub fn new(to: SocketAddrV4, connection: Connection) -> Initiator {
        Initiator {
            to,
            connection,
            making: None,
            connections: 0,
            failures: 0,
            backoff: Backoff::new(BACKOFF_NS, BACKOFF_NS_MAX),
            is_up: false,
            news: VecDeque::new(),
        }
    }

    /// Session.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Starts the logout.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.connection.log_out(time);
    }

    /// Next pending event, in order.
    pub fn news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Totals so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            connections: self.connections,
            turned_away: self.failures,
            ..Totals::default()
        };
        self.connection.add_to(&mut totals);
        totals
    }

    /// Runs due work; returns whether there was any.
    pub fn work(&mut self, time: ReceiveTime) -> bool {
        if self.connection.is_taken() {
            let is_busy = self.connection.work(time);
            if !self.is_up && self.connection.session().is_up() {
                self.is_up = true;
                self.backoff.succeeded();
                self.tell(News::LoggedOn);
            }
            if let Some(end) = self.connection.take_end() {
                self.is_up = false;
                let backoff = self.backoff(end.was_up, time);
                self.tell(News::Ended(end, backoff));
            }
            return is_busy;
        }
        self.connect(time)
    }

    fn connect(&mut self, time: ReceiveTime) -> bool {
        let made = match &mut self.making {
            None if !self.backoff.is_due(time.mono_ns) => return false,
            None => Stream::connect(self.to, time.mono_ns + CONNECT_NS).map(|stream| {
                self.making = Some(stream);
                false
            }),
            Some(stream) => stream.is_connected(time.mono_ns),
        };
        match made {
            Ok(true) => {
                if let Some(stream) = self.making.take() {
                    self.connections += 1;
                    self.connection.connected(Link::Plain(stream), &[], time);
                }
                true
            }
            Ok(false) => false,
            Err(error) => {
                self.making = None;
                self.failures += 1;
                let backoff = self.backoff(false, time);
                self.tell(News::NoConnection(error, backoff));
                false
            }
        }
    }

    /// Starts the backoff, longer after consecutive failures.
    fn backoff(&mut self, was_up: bool, time: ReceiveTime) -> Duration {
        let backoff_ns = self.backoff.failed(time.mono_ns);
        if was_up {
            self.backoff.succeeded();
        }
        Duration::from_nanos(backoff_ns)
    }

    fn tell(&mut self, news: News) {
        if self.news.len() < NEWS_MAX {
            self.news.push_back(news);
        }
    }
}
