//! Connections of a desk: bytes and time in, bytes out.

use super::super::day::NumbersAtEnd;
use super::answers::Fields;
use super::client::DealingClient;
use super::log::{Log, Record};
use super::{Desk, What};
use touchline_session::fix::Memory;
use touchline_types::ReceiveTime;

impl Desk {
    /// Drops open orders with a lost session, but for those whose last look ends within that time: it goes on, and is reported.
    pub fn with_last_look(mut self, last_look_ns: u64) -> Desk {
        (self.drops_orders, self.last_looks) = (true, (last_look_ns, 0));
        self
    }

    /// Number of last looks that went on behind a loss of the session.
    pub fn last_looks(&self) -> u64 {
        self.last_looks.1
    }

    /// Closes the connection, and refuses others until a time.
    pub fn close(&mut self, until_ns: u64) {
        self.closed_until_ns = until_ns;
        self.cut();
    }

    /// Takes connections again.
    pub fn open(&mut self) {
        self.closed_until_ns = 0;
    }

    /// Opens or closes it for the day: at the end it logs the client out, and its numbers begin again if its rules say so.
    pub fn set_closed(&mut self, is_closed: bool, at: ReceiveTime) {
        if std::mem::replace(&mut self.is_closed, is_closed) == is_closed {
            return;
        }
        match &mut self.client {
            Some(client) if client.is_connected => client.session.log_out("end of day", at),
            _ => self.forget(),
        }
    }

    /// Begins the numbers again, of a bank that does at its end of day.
    fn forget(&mut self) {
        if self.is_closed && self.numbers == NumbersAtEnd::Begin {
            self.waiting.clear();
            self.client = self.client.take().map(DealingClient::forget);
        }
    }

    /// Whether the dealer takes connections.
    pub fn is_open(&self, now_ns: u64) -> bool {
        now_ns >= self.closed_until_ns && !self.is_closed
    }

    /// A connection of that client, whose bytes follow. False: it has another client, or another connection.
    pub fn connected(&mut self, name: &str, at: ReceiveTime) -> bool {
        let is_other = |client: &DealingClient| client.is_connected || client.name != name;
        if !self.is_open(at.mono_ns) || self.client.as_ref().is_some_and(is_other) {
            return false;
        }
        let (bank, (messages, bytes)) = (&self.bank, self.kept);
        let turn = self.log.as_ref().map(Log::turn).unwrap_or_default();
        let client = self.client.get_or_insert_with(|| {
            turn.add(&Record::Client(name.into()));
            DealingClient::new(bank, name, Memory::new(messages, bytes), turn, bytes)
        });
        client.connected(at);
        true
    }

    /// Room for received bytes; empty without a connection.
    pub fn room(&mut self) -> &mut [u8] {
        match &mut self.client {
            Some(client) if client.is_connected => client.session.room(),
            _ => &mut [],
        }
    }

    /// Takes the first `bytes` bytes of the room, which were received.
    pub fn filled(&mut self, bytes: usize, at: ReceiveTime) {
        if let Some(client) = &mut self.client {
            client.session.filled(bytes, at);
            client.listen(&mut self.requests);
        }
    }

    /// Bytes to be sent.
    pub fn transmit(&self) -> &[u8] {
        match &self.client {
            Some(client) if client.is_connected => client.session.poll_transmit(),
            _ => &[],
        }
    }

    /// Notes that `bytes` bytes were sent.
    pub fn transmitted(&mut self, bytes: usize) {
        if let Some(client) = &mut self.client {
            client.session.transmitted(bytes);
        }
    }

    /// The connection is lost.
    pub fn cut(&mut self) {
        if let Some(client) = &mut self.client {
            client.is_cut = true;
        }
    }

    /// Whether the caller must close the connection, and then call [`Desk::disconnected`].
    pub fn is_over(&self) -> bool {
        self.client.as_ref().is_some_and(DealingClient::is_over)
    }

    /// The connection is closed.
    pub fn disconnected(&mut self, at: ReceiveTime) {
        if let Some(client) = &mut self.client {
            client.disconnected(at);
        }
        self.forget();
        if self.drops_orders {
            self.drop_orders(at);
        }
    }

    /// Ends every open order without a report, but for last looks that go on: the bank's rules say so of a lost session.
    pub(super) fn drop_orders(&mut self, at: ReceiveTime) {
        let until_ns = at.mono_ns + self.last_looks.0;
        self.due
            .retain(|due| matches!(due.what, What::Look) && due.at_ns < until_ns);
        for (place, order) in self.orders.iter_mut().enumerate() {
            let is_looked_at = self.due.iter().any(|due| due.order == place);
            self.last_looks.1 += u64::from(is_looked_at);
            if order.ended_ns.is_none() && !is_looked_at {
                order.status = b'4';
                order.ended_ns = Some(at.wall_ns);
                self.changed.insert(place);
            }
        }
        // Reports of last looks wait for the next session.
        if self.last_looks.0 == 0 {
            self.waiting.clear();
        }
    }

    pub(super) fn send(&mut self, msg_type: &str, fields: Fields, at: ReceiveTime) {
        self.waiting.push_back((msg_type.to_owned(), fields));
        self.send_waiting(at);
    }

    /// Sends the messages that the session did not accept while a connection began or ended: no report is lost.
    pub(super) fn send_waiting(&mut self, at: ReceiveTime) {
        let Some(client) = &mut self.client else {
            return;
        };
        while let Some((msg_type, fields)) = self.waiting.front() {
            let sent = client.session.send(msg_type.as_bytes(), at, |body| {
                for (tag, value) in fields {
                    body.bytes(*tag, value.as_bytes());
                }
            });
            if sent.is_err() {
                // One that does not read is cut.
                client.is_cut |= client.session.is_up();
                return;
            }
            self.waiting.pop_front();
        }
    }
}
