//! A joined engine: its state, its events, and commands to it.

use super::{
    Address, Answered, Client, Command, Error, Event, FillRow, Follower, Ledger, LiveLedger,
    Options, Order, OrderRow, PairRow, ParentRow, PublishedEntry, Waits, kill_while,
};
use crate::{Idle, Stopper};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};
use touchline_fx_desk::{JOURNAL, noted};
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{Event as EngineEvent, OrderLine};
use touchline_transport::Idler;
use touchline_transport::memory::has_room;
use touchline_types::Id;

/// Events that wait for the program; further ones are counted.
const EVENTS_MAX: usize = 65_536;

/// Memory for what a desk keeps of one read, bytes: of a journal when it joins, of the drop copy later. Live parents and orders take
/// some hundred bytes each, and an engine has at most some ten thousand of them; the events that wait have their own.
const ROOM_BYTES: usize = 32 << 20;
/// Entries after which memory is looked for again.
const ROOM_ENTRIES: usize = 4_096;

/// A joined engine.
///
/// The state includes every entry read so far; an event has a copy of its row at that entry. The state has working parents and orders, and
/// the last 50 ended parents, fills and alarms. A desk may be moved to another thread.
pub struct Desk {
    client: Client,
    follower: Follower,
    state: State,
    idler: Idler,
    stopper: Stopper,
    /// Why the state could not be read after a command; the error of the next read.
    failed: Option<Error>,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "desk of bus {}", self.client.address().bus)
    }
}

impl Options {
    /// Joins the engine on a bus, and reads its journal.
    ///
    /// # Errors
    /// There is no engine, or its journal cannot be read.
    pub fn join(&self, bus: &str) -> Result<Desk, Error> {
        Desk::open(self.address(bus)?, self.journal.as_deref())
    }
}

const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<(Desk, Event)>();
};

impl Desk {
    /// Joins the engine on a bus with the default [`Options`], and reads its journal.
    ///
    /// # Errors
    /// There is no engine, or its journal cannot be read.
    pub fn join(bus: &str) -> Result<Desk, Error> {
        Desk::options().join(bus)
    }

    /// Options for joining.
    pub fn options() -> Options {
        Options::default()
    }

    pub(super) fn open(address: Address, journal: Option<&Path>) -> Result<Desk, Error> {
        let client = Client::join(address)?;
        let Address { root, bus, .. } = client.address();
        let journal = match journal {
            Some(path) => path.to_owned(),
            None => noted(root, bus, JOURNAL).map_err(|error| Error::NoJournal {
                bus: bus.clone(),
                error,
            })?,
        };
        // Without its journal a desk would show an engine without parents and positions.
        std::fs::read_dir(&journal).map_err(|error| Error::JournalUnreadable {
            path: journal.clone(),
            error,
        })?;
        let follower = Follower::new(&journal, root, bus);
        let mut desk = Desk {
            client,
            follower,
            state: State::default(),
            idler: Idle::BackOff.idler(),
            stopper: Stopper::new(),
            failed: None,
        };
        desk.read()?;
        desk.state.is_joined = true;
        Ok(desk)
    }

    /// Sends a parent order; returns its name when the engine has accepted it.
    ///
    /// # Errors
    /// It is refused, or not answered.
    pub fn send(&mut self, order: &Order) -> Result<Id, Error> {
        self.command(&Command::Parent(*order))?;
        Ok(order.id)
    }

    /// Ends a parent and cancels its open orders at banks.
    ///
    /// # Errors
    /// It is refused, or not answered.
    pub fn cancel(&mut self, parent: Id) -> Answered {
        self.command(&Command::Cancel { id: parent })
    }

    /// Sets the kill switch, if need be without the ring: see [`kill`](super::kill).
    ///
    /// # Errors
    /// It is refused, or not executed yet.
    pub fn kill(&mut self) -> Answered {
        self.kill_while(&mut || true)
    }

    /// [`Desk::kill`], which waits as long as `waits` says so: see [`kill_while`].
    ///
    /// # Errors
    /// As [`Desk::kill`].
    pub fn kill_while(&mut self, waits: Waits<'_>) -> Answered {
        self.after(kill_while(self.client.address(), false, waits))
    }

    /// Sends any command, and returns the engine's word.
    ///
    /// # Errors
    /// It is refused, or not answered.
    pub fn command(&mut self, command: &Command) -> Answered {
        self.command_while(command, &mut || true)
    }

    /// [`Desk::command`], which waits as long as `waits` says so, for programs that look at signals meanwhile. It is asked at least each
    /// millisecond.
    ///
    /// # Errors
    /// As [`Desk::command`]; and [`Error::Interrupted`], which says whether the command was sent.
    pub fn command_while(&mut self, command: &Command, waits: Waits<'_>) -> Answered {
        let answer = self.client.command_while(command, |_| (), waits);
        self.after(answer)
    }

    /// Reads the entries published before an answer into the state.
    fn after(&mut self, answer: Answered) -> Answered {
        if let Err(error) = self.read() {
            self.failed = Some(error);
        }
        answer
    }

    /// The next event; waits for it. `None` once a [`Stopper`] has ended the loop.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged: the state lacks later entries.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator would borrow the desk, and programs read its state between two events"
    )]
    pub fn next(&mut self) -> Result<Option<Event>, Error> {
        self.wait(None)
    }

    /// The next event, if there is one.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn poll(&mut self) -> Result<Option<Event>, Error> {
        if self.state.events.is_empty() {
            self.read()?;
        }
        Ok(self.state.events.pop_front())
    }

    /// The next event; waits for it up to `time`. `None`: none within the time, or a [`Stopper`] has ended the
    /// loop, as [`is_stopped`](Self::is_stopped) says.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_within(&mut self, time: Duration) -> Result<Option<Event>, Error> {
        self.wait(Some(Instant::now() + time))
    }

    /// Whether a [`Stopper`] has ended the loop, if there was no event.
    pub fn is_stopped(&self) -> bool {
        self.stopper.is_stopped()
    }

    fn wait(&mut self, until: Option<Instant>) -> Result<Option<Event>, Error> {
        while !self.stopper.is_stopped() {
            if let Some(event) = self.poll()? {
                self.idler.idle(1);
                return Ok(Some(event));
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            self.idler.idle(0);
        }
        Ok(None)
    }

    fn read(&mut self) -> Result<(), Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.state.check_room()?;
        let state = &mut self.state;
        let read = self
            .follower
            .poll_live(&mut |published| state.take(published));
        if let Some(event) = self.follower.take_event() {
            state.push(Event::Bus(event));
        }
        state.close();
        Ok(read.map(drop)?)
    }

    /// Stopper that ends the loop, for another thread or a signal.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Whether an engine publishes.
    pub fn has_engine(&self) -> bool {
        self.follower.has_engine()
    }

    /// Everything that is kept: also banks, alarms and scorecards.
    pub fn ledger(&self) -> &Ledger {
        self.state.ledger.now()
    }

    /// Parents in order of arrival.
    pub fn parents(&self) -> &[ParentRow] {
        &self.ledger().parents
    }

    /// A parent by its name.
    pub fn parent(&self, id: Id) -> Option<&ParentRow> {
        self.ledger().parent(id)
    }

    /// Orders that may still be filled, by ClOrdID.
    pub fn orders(&self) -> impl ExactSizeIterator<Item = (&str, &OrderRow)> {
        self.ledger().open()
    }

    /// Last fills, busts and corrections; the newest is the last.
    pub fn fills(&self) -> &VecDeque<FillRow> {
        &self.ledger().fills
    }

    /// Positions by pair.
    pub fn positions(&self) -> &BTreeMap<String, PairRow> {
        &self.ledger().pairs
    }
}

/// State of the engine, and events that wait.
#[derive(Default)]
struct State {
    ledger: LiveLedger,
    events: VecDeque<Event>,
    skipped: u64,
    /// Entries that may be taken before memory is looked for.
    entries_left: usize,
    /// Entries before the join make no events.
    is_joined: bool,
}

impl State {
    fn take(&mut self, published: &PublishedEntry<'_>) {
        self.entries_left = self.entries_left.saturating_sub(1);
        let Entry::Event(of, _) = &published.entry else {
            return self.ledger.take(published);
        };
        let number = match of {
            EngineEvent::Order(line) => line.number,
            _ => None,
        };
        // The ledger forgets an order with its end.
        let order = number.and_then(|number| self.ledger.now().order_of(number).cloned());
        self.ledger.take(published);
        if self.is_joined
            && let Some(event) = event(self.ledger.now(), published, of, order)
        {
            self.push(event);
        }
    }

    /// Looks for memory before it is taken in small pieces, each of which would end the process if it were missing.
    fn check_room(&mut self) -> Result<(), Error> {
        if self.entries_left == 0 {
            let bytes = ROOM_BYTES + EVENTS_MAX * size_of::<Event>();
            if !has_room(bytes) {
                return Err(Error::Memory { bytes });
            }
            self.entries_left = ROOM_ENTRIES;
        }
        Ok(())
    }

    fn push(&mut self, event: Event) {
        match self.events.len() < EVENTS_MAX {
            true => self.events.push_back(event),
            false => self.skipped += 1,
        }
    }

    /// Reports events that had no room, behind those that had.
    fn close(&mut self) {
        match self.events.back_mut() {
            Some(Event::Skipped(skipped)) => *skipped += std::mem::take(&mut self.skipped),
            _ if self.skipped > 0 => {
                let skipped = std::mem::take(&mut self.skipped);
                self.events.push_back(Event::Skipped(skipped));
            }
            _ => {}
        }
    }
}

/// The event of an entry, which the ledger has; `order` is its order before it.
fn event(
    ledger: &Ledger,
    published: &PublishedEntry<'_>,
    of: &EngineEvent,
    order: Option<OrderRow>,
) -> Option<Event> {
    let parent = |id: Id| ledger.parent(id).cloned().map(Event::Parent);
    match of {
        EngineEvent::Accepted { terms, .. } => parent(terms.id),
        EngineEvent::Waits { parent: of, .. } | EngineEvent::Plan { parent: of, .. } => {
            parent(of.id)
        }
        EngineEvent::Ended(end) | EngineEvent::Settled(end) => parent(end.parent.id),
        EngineEvent::Order(line) => changed(ledger, line, order).map(Event::Order),
        EngineEvent::Fill(_) => ledger.fills.back().cloned().map(Event::Fill),
        EngineEvent::Position { pair, .. } => {
            let pair = &published.labels.pairs[*pair].symbol;
            Some(Event::Position {
                pair: pair.clone(),
                position: ledger.pairs.get(pair)?.clone(),
            })
        }
        EngineEvent::Alarm { .. } => ledger.alarms.back().cloned().map(Event::Alarm),
        EngineEvent::Kill { by } => Some(Event::Killed { by: *by }),
        EngineEvent::Lift {
            is_killed: false, ..
        } => Some(Event::Lifted),
        _ => None,
    }
}

/// An order after an event of it.
fn changed(ledger: &Ledger, line: &OrderLine, before: Option<OrderRow>) -> Option<OrderRow> {
    let kept = line.number.and_then(|number| ledger.order_of(number));
    let status = line.status?;
    let mut row = kept.cloned().or(before)?;
    (row.state, row.cum, row.leaves) = (status.state, status.cum, status.leaves);
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that does not read keeps a bounded number of events, and gets the number of further ones, once.
    #[test]
    fn events_without_room_are_counted() {
        let mut state = State::default();
        for _ in 0..2 {
            (0..EVENTS_MAX + 3).for_each(|_| state.push(Event::Lifted));
            state.close();
            state.close();
        }
        assert_eq!(state.events.len(), EVENTS_MAX + 1);
        let skipped = EVENTS_MAX as u64 + 6;
        assert_eq!(state.events.pop_back(), Some(Event::Skipped(skipped)));
        assert_eq!(state.events.back(), Some(&Event::Lifted));
    }
}
