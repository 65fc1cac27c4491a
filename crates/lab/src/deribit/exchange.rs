//! The exchange on a port: one thread, several clients, and nothing waits for anything.

use super::client::Client;
use super::venue::Venue;
use super::{SERVER, Totals};
use crate::cme::truth::BookState;
use crate::door::{Patience, Rules, Stranger, Strangers};
use std::net::SocketAddrV4;
use touchline_feed::When;
use touchline_feed::fix::Names;
use touchline_net::Stream;
use touchline_net::stream::Error;

/// A port, the venue behind it, and its clients.
#[derive(Debug)]
pub struct Exchange {
    strangers: Strangers,
    venue: Venue,
    seats: Vec<Seat>,
    given_up: u64,
    message_bytes_max: usize,
}

/// What became of connections so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Connections taken.
    pub connections: u64,
    /// Connections closed because nobody is expected from their address, because they said nothing that makes
    /// a client, because there were too many, or because the Logons of their address have failed.
    pub turned_away: u64,
    /// Clients that did not read fast enough, and were let go.
    pub given_up: u64,
}

/// A client with its connection.
#[derive(Debug)]
struct Seat {
    client: Client,
    stream: Stream,
    /// The client has closed the connection.
    is_gone: bool,
}

/// Most clients and strangers together.
const CLIENTS_MAX: usize = 64;
/// Strangers of one address.
const STRANGERS_PER_ADDRESS: usize = 16;
/// Reads of one turn: nobody keeps the others waiting.
const READS: usize = 16;
/// Things that happen in one turn, for the same reason.
const EVENTS: usize = 256;

impl Exchange {
    /// Listens.
    ///
    /// # Errors
    /// The address is not ours, or taken.
    pub fn listen(
        address: SocketAddrV4,
        venue: Venue,
        patience: Patience,
    ) -> Result<Exchange, Error> {
        let rules = Rules {
            strangers_per_address: STRANGERS_PER_ADDRESS,
            strangers_max: CLIENTS_MAX,
            patience,
            ..Rules::default()
        };
        Ok(Exchange {
            strangers: Strangers::listen(address, rules)?,
            message_bytes_max: venue.message_bytes_max(),
            venue,
            seats: Vec::new(),
            given_up: 0,
        })
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddrV4 {
        self.strangers.address()
    }

    /// What is behind the port.
    pub fn venue(&self) -> &Venue {
        &self.venue
    }

    /// The same, to change faults.
    pub fn venue_mut(&mut self) -> &mut Venue {
        &mut self.venue
    }

    /// Its clients.
    pub fn clients(&self) -> impl Iterator<Item = &Client> {
        self.seats.iter().map(|seat| &seat.client)
    }

    /// What became of connections so far.
    pub fn served(&self) -> Served {
        Served {
            connections: self.strangers.connections(),
            turned_away: self.strangers.turned_away,
            given_up: self.given_up,
        }
    }

    /// What the venue did so far.
    pub fn totals(&self) -> Totals {
        self.venue.totals
    }

    /// States of books since the last call.
    pub fn take_states(&mut self) -> Vec<BookState> {
        self.venue.take_states()
    }

    /// Does what is due; answers whether anything was.
    pub fn work(&mut self, when: When) -> bool {
        let is_listed = |from| self.venue.credentials.takes(from);
        let mut is_busy = self.strangers.accept(self.seats.len(), when, is_listed);
        is_busy |= self.meet(when);
        for seat in &mut self.seats {
            is_busy |= seat.read(&mut self.venue, when);
        }
        for _ in 0..EVENTS {
            let Some(occurrence) = self.venue.next(when.now_ns) else {
                break;
            };
            is_busy = true;
            for seat in &mut self.seats {
                seat.client.hear(&occurrence, &mut self.venue, when);
            }
        }
        let (venue, given_up) = (&mut self.venue, &mut self.given_up);
        self.seats.retain_mut(|seat| {
            let stands = seat.write(venue, when);
            *given_up += u64::from(seat.client.is_given_up());
            stands
        });
        is_busy
    }

    /// Nothing happens any more, and clients are logged out.
    pub fn log_out(&mut self, when: When) {
        self.venue.close();
        for seat in &mut self.seats {
            seat.client.log_out(when);
        }
    }

    /// Looks at what strangers have said: a Logon to this exchange makes a client.
    fn meet(&mut self, when: When) -> bool {
        let (mut place, mut is_busy) = (0, false);
        while let Some(stranger) = self.strangers.next(&mut place, when) {
            is_busy = true;
            let pauses = &mut self.strangers.pauses;
            let name = match stranger.names() {
                // Whoever waits is closed even with a right Logon, or he could go on guessing.
                Ok(Some(names)) if !pauses.is_waiting(stranger.from, when.now_ns) => {
                    let name = client_name(&names);
                    if name.is_none() {
                        pauses.failed(stranger.from, when.now_ns);
                    }
                    name
                }
                _ => None,
            };
            match name {
                Some(name) => self.serve(stranger, &name, when),
                None => self.strangers.turned_away += 1,
            }
        }
        is_busy
    }

    /// Somebody has sent a Logon to this exchange.
    fn serve(&mut self, stranger: Stranger, name: &str, when: When) {
        let Stranger {
            stream,
            from,
            bytes,
            ..
        } = stranger;
        let mut client = Client::new(name, from, self.message_bytes_max, when);
        let room = client.room();
        room[..bytes.len()].copy_from_slice(&bytes);
        client.received(bytes.len(), &mut self.venue, when);
        if client.is_unknown() {
            self.strangers.pauses.failed(from, when.now_ns);
        }
        self.seats.push(Seat {
            client,
            stream,
            is_gone: false,
        });
    }
}

/// Who wants to log on to this exchange; nobody, if it is to another.
fn client_name(names: &Names<'_>) -> Option<String> {
    let name = std::str::from_utf8(names.sender).ok().map(str::to_owned);
    name.filter(|_| names.target == SERVER.as_bytes())
}

impl Seat {
    fn read(&mut self, venue: &mut Venue, when: When) -> bool {
        for turn in 0..READS {
            if !self.client.way.is_listening(when.now_ns) {
                return turn > 0;
            }
            match self.stream.receive(self.client.room()) {
                Ok(bytes @ 1..) => self.client.received(bytes, venue, when),
                Ok(0) => return turn > 0,
                Err(_) => {
                    self.is_gone = true;
                    return true;
                }
            }
        }
        true
    }

    /// Sends what may go. `false`: the connection is over.
    fn write(&mut self, venue: &mut Venue, when: When) -> bool {
        self.client.advance(venue, when);
        while let bytes @ [_, ..] = self.client.way.due(when.now_ns) {
            match self.stream.send(bytes) {
                Ok(0) => break,
                Ok(sent) => self.client.way.sent(sent, when.now_ns),
                Err(_) => return false,
            }
        }
        !self.client.is_over() && !self.is_gone
    }
}
