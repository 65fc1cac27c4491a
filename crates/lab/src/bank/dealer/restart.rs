//! A desk that was killed and starts again: it reads its file, and settles orders that were open.

use super::client::DealingClient;
use super::log::{Log, Record};
use super::{Desk, Order, What};
use std::borrow::Cow;
use std::io::Error;
use std::path::Path;
use touchline_session::fix::{Memory, Store};
use touchline_types::ReceiveTime;

/// Time until a desk decides about orders that were open when it was killed; its quotes are back by then.
const RESTART_NS: u64 = 300_000_000;

impl Desk {
    /// Keeps all state that must survive a restart in this file, and begins with the state in it.
    ///
    /// Reversals, late fills and closings of connections that were planned are forgotten: no client has received them.
    ///
    /// # Errors
    /// The file cannot be read or written, or is not the file of a desk.
    pub fn with_file(mut self, path: &Path) -> Result<Desk, Error> {
        let (messages, bytes) = self.kept;
        let mut memory = Memory::new(messages, bytes);
        let mut name = None;
        let log = Log::open(path, |record| {
            match record {
                Record::Client(client) => name = Some(client.into_owned()),
                Record::Sent(message) => memory
                    .add(message.as_bytes())
                    .map_err(|error| error.to_string())?,
                Record::Expected(number) => {
                    memory.expect(number).map_err(|error| error.to_string())?
                }
                Record::Reset => memory.reset().map_err(|error| error.to_string())?,
                Record::Order(place, order) => self.put(place, order.into_owned())?,
                Record::Id(id) => {
                    self.ids.insert(id.into_owned());
                }
                Record::Books(executions, books) => {
                    (self.executions, self.books) = (executions, books.into_owned());
                }
                Record::Waiting(waiting) => self.waiting = waiting.into_owned().into(),
                Record::End => {}
            }
            Ok(())
        })?;
        let turn = log.turn();
        self.client = name.map(|name| DealingClient::new(&self.bank, &name, memory, turn, bytes));
        self.written = (
            self.executions,
            self.books.clone(),
            !self.waiting.is_empty(),
        );
        self.log = Some(log);
        Ok(self)
    }

    /// An order as the file says.
    fn put(&mut self, place: usize, order: Order) -> Result<(), String> {
        if order.pair >= self.books.pairs() || place > self.orders.len() {
            return Err(format!(
                "order {} of a place or pair that does not exist",
                order.id
            ));
        }
        self.ids.insert(order.id.clone());
        match self.orders.get_mut(place) {
            Some(before) => *before = order,
            None => self.orders.push(order),
        }
        Ok(())
    }

    /// Writes the ClOrdID of an order that has no record of its own.
    pub(super) fn keep_id(&self, id: &str) {
        if let Some(log) = &self.log {
            log.turn().add(&Record::Id(id.into()));
        }
    }

    /// The first turn: orders that are open will be decided, unless they were lost with the session.
    pub(super) fn start(&mut self, at: ReceiveTime) {
        // mutant: lab: a killed desk that drops orders keeps them
        if self.drops_orders {
            self.drop_orders(at);
        }
        self.start_ms = at.wall_ns / 1_000_000;
        for place in 0..self.orders.len() {
            let order = &self.orders[place];
            match (order.ended_ns, order.cum) {
                (Some(_), _) => {}
                (None, 0) => self.later(place, RESTART_NS, What::Look, at),
                (None, _) => self.later(place, RESTART_NS, What::Rest, at),
            }
        }
    }

    /// Writes the changes of the turn, which must happen before a message of the turn is sent.
    ///
    /// # Errors
    /// It was not written.
    pub fn commit(&mut self) -> Result<(), Error> {
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        let turn = log.turn();
        for place in std::mem::take(&mut self.changed) {
            turn.add(&Record::Order(place, Cow::Borrowed(&self.orders[place])));
        }
        let (executions, books, waits) = &mut self.written;
        if *executions != self.executions || *books != self.books {
            (*executions, *books) = (self.executions, self.books.clone());
            turn.add(&Record::Books(self.executions, Cow::Borrowed(&self.books)));
        }
        if *waits || !self.waiting.is_empty() {
            *waits = !self.waiting.is_empty();
            turn.add(&Record::Waiting(Cow::Borrowed(
                self.waiting.make_contiguous(),
            )));
        }
        log.commit()
    }
}
