//! Connections of a desk: bytes and time in, bytes out.

use super::Desk;
use super::client::DealingClient;
use super::log::{Log, Record};
use touchline_session::fix::Memory;
use touchline_types::ReceiveTime;

impl Desk {
    /// Closes the connection, and refuses others until a time.
    pub fn close(&mut self, until_ns: u64) {
        self.closed_until_ns = until_ns;
        self.cut();
    }

    /// Takes connections again.
    pub fn open(&mut self) {
        self.closed_until_ns = 0;
    }

    /// Whether the dealer takes connections.
    pub fn is_open(&self, now_ns: u64) -> bool {
        now_ns >= self.closed_until_ns
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
    }
}
