//! A dealing desk on its port: the connection of the one client that deals with it.

use super::super::config::Config;
use super::super::ladder::Ladder;
use super::{Books, Desk};
use crate::login_port::LoginPort;
use std::net::SocketAddrV4;
use touchline_net::Connection;
use touchline_net::stream::{Error, Watch};
use touchline_net::tls::Server;
use touchline_session::access_control::Rules;
use touchline_types::ReceiveTime;

/// Reads of one turn.
const READS: usize = 16;

/// The desk, with its port.
#[derive(Debug)]
pub struct Dealer {
    desk: Desk,
    port: LoginPort,
    stream: Option<Connection>,
    /// The file was not written: the desk sends no message any more.
    failure: Option<String>,
}

impl Dealer {
    /// Listens for the client of a desk, with TLS if a server is given. The watch wakes the thread for its bytes.
    ///
    /// # Errors
    /// The address is not ours, or taken.
    pub fn listen(
        desk: Desk,
        address: SocketAddrV4,
        tls: Option<Server>,
        watch: Watch,
    ) -> Result<Dealer, Error> {
        Ok(Dealer {
            desk,
            port: LoginPort::listen(address, Rules::default())?
                .with_tls(tls)
                .watched(watch)?,
            stream: None,
            failure: None,
        })
    }

    /// Address on which it listens, with the real port.
    pub fn address(&self) -> SocketAddrV4 {
        self.port.address()
    }

    /// Ledger of the desk: its trades.
    pub fn books(&self) -> &Books {
        self.desk.books()
    }

    /// Why it has stopped.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// When something is due next.
    pub fn due_ns(&self) -> u64 {
        self.desk.due_ns()
    }

    /// Begins to log the client out.
    pub fn log_out(&mut self, at: ReceiveTime) {
        self.desk.log_out(at);
    }

    /// Whether no client is connected.
    pub fn is_empty(&self) -> bool {
        self.stream.is_none()
    }

    /// Closes the connection, and refuses others until a time.
    pub fn close(&mut self, until_ns: u64) {
        self.desk.close(until_ns);
    }

    /// Opens or closes it for the day.
    pub fn set_closed(&mut self, is_closed: bool, at: ReceiveTime) {
        self.desk.set_closed(is_closed, at);
    }

    /// Executes due work; returns whether there was any. It accepts no connection unless the port or the connection is ready.
    pub fn work(
        &mut self,
        config: &Config,
        shown: &[Option<Ladder>],
        (is_sound, is_ready): (bool, bool),
        at: ReceiveTime,
    ) -> bool {
        if is_sound {
            self.desk.open();
        }
        let mut is_busy = self.meet(is_ready, at);
        is_busy |= self.read(at);
        is_busy |= self.desk.work(config, shown, is_sound, at);
        if let Err(error) = self.desk.commit() {
            self.failure.get_or_insert(error.to_string());
        }
        if self.failure.is_none() {
            self.write(at);
        }
        is_busy
    }

    /// Takes a connection whose Logon is to this bank and from the one client, if the desk accepts one now.
    fn meet(&mut self, is_ready: bool, at: ReceiveTime) -> bool {
        let is_open = self.desk.is_open(at.mono_ns);
        let mut is_busy = is_ready && self.port.accept(0, at, |_| is_open);
        let mut place = 0;
        while let Some(unauthenticated) = self.port.next(&mut place, at) {
            is_busy = true;
            let name = match unauthenticated.names() {
                Ok(Some(names)) if is_open && names.target == self.desk.bank().as_bytes() => {
                    std::str::from_utf8(names.sender).ok().map(str::to_owned)
                }
                _ => None,
            };
            if !name.is_some_and(|name| self.desk.connected(&name, at)) {
                self.port.queue.turn_away();
                continue;
            }
            let room = self.desk.room();
            let bytes = &unauthenticated.bytes[..unauthenticated.bytes.len().min(room.len())];
            room[..bytes.len()].copy_from_slice(bytes);
            self.desk.filled(bytes.len(), at);
            self.stream = Some(unauthenticated.stream);
        }
        is_busy
    }

    fn read(&mut self, at: ReceiveTime) -> bool {
        let mut is_busy = false;
        for _ in 0..READS {
            let Some(stream) = &mut self.stream else {
                return is_busy;
            };
            match stream.receive(self.desk.room()) {
                Ok(0) => break,
                Ok(bytes) => self.desk.filled(bytes, at),
                Err(_) => {
                    self.desk.cut();
                    break;
                }
            }
            is_busy = true;
        }
        is_busy
    }

    fn write(&mut self, at: ReceiveTime) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        while !self.desk.is_over() && !self.desk.transmit().is_empty() {
            match stream.send(self.desk.transmit()) {
                Ok(0) => break,
                Ok(sent) => self.desk.transmitted(sent),
                Err(_) => self.desk.cut(),
            }
        }
        if self.desk.is_over() {
            self.stream = None;
            self.desk.disconnected(at);
        }
    }
}
