//! Drop copy for back offices: a FIX 4.4 acceptor that sends every execution as an ExecutionReport.
//!
//! ```text
//! entries of the engine ─► reports ──► sessions of clients ─► ExecutionReport (8)
//!                           ▲             │
//!                           └── numbers ◄─┘   which MsgSeqNum was which report; a resend is written again from the reports
//! ```
//!
//! The back office runs in a process of its own. It reads the entries of a [`touchline_fx_desk::Follower`], and writes
//! nothing that the engine reads. Reports are a function of the journal, in its order, so a client that connects late
//! gets all of them, and a resend after a restart has the same contents. A client recognizes a report by its ExecID
//! (17).

mod client;
mod numbers;
#[cfg(test)]
mod over_tls;
mod report;
mod reports;
#[cfg(test)]
mod tests;

pub use numbers::OpenError;
pub use reports::Reports;

use crate::execution::config::ReportConfig;
use client::Client;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::rc::Rc;
use touchline_fx_desk::PublishedEntry;
use touchline_fx_desk::ledger::Ledger;
use touchline_net::Connection;
use touchline_net::stream::{Error, Listener};
use touchline_net::tls::Server;
use touchline_session::Secret;
use touchline_session::access_control::{LoginQueue, Rules, Unauthenticated, place_of};
use touchline_session::fix::{DisconnectReason, StoreError};
use touchline_types::ReceiveTime;

/// Connections accepted in one turn.
const ACCEPTS: usize = 64;
/// News that wait at most.
const NEWS_MAX: usize = 1_024;

/// A port for back offices.
pub struct Acceptor {
    listener: Listener,
    tls: Option<Server>,
    queue: LoginQueue<Caller>,
    clients: Vec<Client>,
    reports: Rc<RefCell<Reports>>,
    news: VecDeque<String>,
}

/// A connection before its Logon.
struct Caller {
    link: Connection,
    /// Error that ended the connection.
    end: Option<Error>,
}

/// Why an acceptor does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be used.
    #[error(
        "report.listen: cannot listen on {0} ({1}); give an address of this host with a free port"
    )]
    Listen(SocketAddrV4, Error),
    /// Numbers of a client cannot be used.
    #[error(transparent)]
    Numbers(#[from] OpenError),
}

impl Acceptor {
    /// Listens for the clients of a configuration. `passwords` has the password of each client that needs one; with
    /// `tls` every connection begins with a handshake. Sequence numbers are stored in `folder`. The present reports
    /// must have been taken before.
    ///
    /// # Errors
    /// The address or the folder cannot be used.
    pub fn open(
        config: &ReportConfig,
        folder: &Path,
        passwords: Vec<Option<Secret>>,
        tls: Option<Server>,
        reports: Reports,
    ) -> Result<Acceptor, StartError> {
        let listener = Listener::bind(config.listen)
            .map_err(|error| StartError::Listen(config.listen, error))?;
        let reports = Rc::new(RefCell::new(reports));
        let clients = config.clients.iter().zip(passwords);
        let clients: Result<Vec<Client>, OpenError> = clients
            .map(|(client, password)| Client::open(client, folder, password, &reports))
            .collect();
        Ok(Acceptor {
            listener,
            tls,
            queue: LoginQueue::new(Rules::default()),
            clients: clients?,
            reports,
            news: VecDeque::new(),
        })
    }

    /// Listening address, with the actual port.
    pub fn address(&self) -> SocketAddrV4 {
        self.listener.address()
    }

    /// Takes a message of the engine, after the ledger of all orders has taken it.
    pub fn take(&mut self, ledger: &Ledger, told: &PublishedEntry<'_>) {
        self.reports.borrow_mut().take(ledger, told);
    }

    /// Sets the engine's journal once it exists: the numbers of each client belong to one journal.
    ///
    /// # Errors
    /// The numbers of a client are of another engine's journal.
    pub fn of_journal(&mut self, journal: Option<[u8; 16]>) -> Result<(), OpenError> {
        let known = self.reports.borrow().journal();
        let Some(journal) = journal.filter(|_| known.is_none()) else {
            return Ok(());
        };
        self.reports.borrow_mut().of_journal(journal);
        let mut clients = self.clients.iter_mut();
        clients.try_for_each(Client::continue_journal)
    }

    /// Runs due work; returns whether there was any.
    ///
    /// # Errors
    /// The numbers of a client cannot be written: nothing more may be sent to it.
    pub fn work(&mut self, time: ReceiveTime) -> Result<bool, StoreError> {
        let mut is_busy = self.accept(time);
        let mut place = 0;
        while let Some(unauthenticated) = self.queue.next(&mut place, time, Caller::read) {
            self.meet(unauthenticated, time);
            is_busy = true;
        }
        for client in &mut self.clients {
            is_busy |= client.work(time)?;
            if let Some(news) = client.news() {
                if news.is_wrong_password {
                    self.queue.failed(news.from, time);
                }
                add(&mut self.news, news.text);
            }
        }
        Ok(is_busy)
    }

    /// Next line for the log: a client logged on or off, or was refused.
    pub fn next_news(&mut self) -> Option<String> {
        self.news.pop_front()
    }

    /// The host's wall clock was set by this much, nanoseconds: times of later calls have the step.
    pub fn wall_stepped(&mut self, step_ns: i64) {
        let clients = self.clients.iter_mut();
        clients.for_each(|client| client.wall_stepped(step_ns));
        let ms = step_ns / 1_000_000;
        let text = format!(
            "clock_step: the wall clock of this host was set by {ms} ms; open sessions do not follow it"
        );
        add(&mut self.news, text);
    }

    /// Starts the logout of all clients.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.clients
            .iter_mut()
            .for_each(|client| client.log_out(time));
    }

    /// Whether a client is connected.
    pub fn is_connected(&self) -> bool {
        self.clients.iter().any(Client::is_taken)
    }

    fn accept(&mut self, time: ReceiveTime) -> bool {
        let clients = &self.clients;
        let is_listed = |from| clients.iter().any(|client| client.peer().takes(from));
        for taken in 0..ACCEPTS {
            // Out of file descriptors, for a time.
            let Ok(Some((stream, from))) = self.listener.accept() else {
                return taken > 0;
            };
            let before = self.queue.turned_away();
            // The handshake is part of the wait for the Logon, which the queue limits.
            let link = match Connection::accept(stream, self.tls.as_ref(), u64::MAX) {
                Ok(link) => link,
                Err(error) => {
                    add(&mut self.news, refused(*from.ip(), &error.to_string()));
                    continue;
                }
            };
            self.queue
                .offer(Caller { link, end: None }, *from.ip(), 0, time, is_listed);
            if self.queue.turned_away() > before && !is_listed(*from.ip()) {
                let text = "the address is not in `from` of a client";
                add(&mut self.news, refused(*from.ip(), text));
            }
        }
        true
    }

    /// Gives a connection to its client, or closes it without an answer.
    fn meet(&mut self, unauthenticated: Unauthenticated<Caller>, time: ReceiveTime) {
        let from = unauthenticated.from;
        let place = match unauthenticated.names() {
            Ok(Some(names)) => {
                let peers = self.clients.iter().map(Client::peer);
                place_of(peers, &names, from).ok_or("the CompIDs are those of no client")
            }
            Err(DisconnectReason::BadLogon) => Err("the Logon has no CompIDs"),
            Ok(None) | Err(_) => {
                let caller = &unauthenticated.stream;
                // Each such connection cost us a key exchange, also if it was closed or timed out.
                if caller.link.is_handshaking() {
                    self.queue.failed(from, time);
                }
                self.queue.turn_away();
                add(&mut self.news, refused(from, &caller.failure()));
                return;
            }
        };
        let is_waiting = self.queue.is_waiting(from, time);
        let why = match place {
            _ if is_waiting => "too many failed Logons, the address has to wait",
            Ok(place) if self.clients[place].is_taken() => "the client is connected already",
            Ok(place) => {
                let Unauthenticated { stream, bytes, .. } = unauthenticated;
                self.clients[place].connected((stream.link, from), &bytes, time);
                return;
            }
            Err(why) => {
                self.queue.failed(from, time);
                why
            }
        };
        self.queue.turn_away();
        add(&mut self.news, refused(from, why));
    }
}

impl Caller {
    /// Reads pending bytes; `None`: the connection has ended.
    fn read(&mut self, room: &mut [u8]) -> Option<usize> {
        let read = self.link.receive(room);
        self.end = read.as_ref().err().copied();
        read.ok()
    }

    /// Why there is no Logon.
    fn failure(&self) -> String {
        match self.end {
            Some(error @ Error::Tls(_)) => error.to_string(),
            _ if self.link.is_handshaking() => "it did not finish the TLS handshake".to_owned(),
            _ => "it sent no Logon".to_owned(),
        }
    }
}

fn refused(from: Ipv4Addr, why: &str) -> String {
    format!("connection from {from} refused: {why}")
}

fn add(news: &mut VecDeque<String>, text: String) {
    if news.len() < NEWS_MAX {
        news.push_back(text);
    }
}
