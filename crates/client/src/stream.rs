//! A bus as an asynchronous stream, read on a separate thread.

use crate::{Bus, Connection, Definition, Event, Instrument, Stopper};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use touchline_transport::shm::Process;

/// Events of a bus for an asynchronous program, with any executor or none.
///
/// A bus cannot wake a task, because its publisher makes no system calls for readers. So the bus moves to a thread that
/// reads it and fills a bounded buffer without blocking. The buffer holds one top per instrument, the latest, in its
/// latest state; replaced tops are counted ([`conflated`](EventStream::conflated)). Other events that find the buffer full are dropped and
/// counted in [`Streamed::Dropped`], trades separately.
pub struct EventStream {
    shared: Arc<Mutex<Buffer>>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread.
    owner: Process,
    /// The fork was reported: this process is not the one that joined.
    fork_notified: bool,
}

/// Item of an [`EventStream`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Streamed {
    /// An event of the bus.
    Event(Event),
    /// Events were dropped at this position, because the buffer was full.
    Dropped {
        /// Dropped trades.
        trades: u64,
        /// Other dropped events.
        others: u64,
    },
}

#[derive(Debug, Default)]
struct Buffer {
    queue: VecDeque<Streamed>,
    /// Items taken from the queue so far.
    taken: u64,
    /// Number of each instrument's last top or state in the queue, counted from the first item.
    latest: Vec<Option<u64>>,
    /// Items in the queue other than tops and states.
    others: usize,
    limit: usize,
    conflated: u64,
    definitions: Vec<Option<Definition>>,
    waker: Option<Waker>,
    is_over: bool,
}

impl Buffer {
    /// Appends an event, or replaces an older top or state.
    fn push(&mut self, event: Event) {
        match event {
            Event::Top(top) => return self.push_latest(top.instrument, event),
            Event::State(change) => return self.push_latest(change.instrument, event),
            _ => {}
        }
        // Connection events are rare, and a program must receive each.
        let is_connection = matches!(event, Event::Connection(_));
        if self.others < self.limit || is_connection {
            self.others += 1;
            self.queue.push_back(Streamed::Event(event));
            return;
        }
        let is_trade = u64::from(matches!(event, Event::Trade(_)));
        match self.queue.back_mut() {
            Some(Streamed::Dropped { trades, others }) => {
                *trades += is_trade;
                *others += 1 - is_trade;
            }
            _ => self.queue.push_back(Streamed::Dropped {
                trades: is_trade,
                others: 1 - is_trade,
            }),
        }
    }

    /// Appends a top or a state, which must not be lost: the program may keep the top before it. Each instrument has
    /// at most one of each in the queue, the top behind the state.
    fn push_latest(&mut self, instrument: Instrument, event: Event) {
        let index = instrument.index();
        if index >= self.latest.len() {
            self.latest.resize(index + 1, None);
        }
        let place = self.latest[index].map(|number| (number - self.taken) as usize);
        let queued = place.and_then(|place| self.queue.get_mut(place));
        match (queued, event) {
            (Some(Streamed::Event(Event::Top(top))), Event::State(change)) => {
                top.state = change.state;
            }
            (Some(queued @ Streamed::Event(Event::Top(_))), Event::Top(_)) => {
                *queued = Streamed::Event(event);
                self.conflated += 1;
            }
            (Some(queued @ Streamed::Event(Event::State(_))), Event::State(_)) => {
                *queued = Streamed::Event(event);
            }
            _ => {
                self.latest[index] = Some(self.taken + self.queue.len() as u64);
                self.queue.push_back(Streamed::Event(event));
            }
        }
    }

    fn pop(&mut self) -> Option<Streamed> {
        let item = self.queue.pop_front()?;
        let instrument = match item {
            Streamed::Event(Event::Top(top)) => Some(top.instrument),
            Streamed::Event(Event::State(change)) => Some(change.instrument),
            Streamed::Event(_) => {
                self.others -= 1;
                None
            }
            Streamed::Dropped { .. } => None,
        };
        if let Some(latest) = instrument.map(|instrument| &mut self.latest[instrument.index()])
            && *latest == Some(self.taken)
        {
            *latest = None;
        }
        self.taken += 1;
        Some(item)
    }

    fn define(&mut self, instrument: Instrument, definition: Definition) {
        let index = instrument.index();
        if index >= self.definitions.len() {
            self.definitions.resize(index + 1, None);
        }
        self.definitions[index] = Some(definition);
    }
}

impl Bus {
    /// Moves the bus to a thread that fills a buffer of `limit` events for an asynchronous program.
    pub fn into_stream(self, limit: usize) -> EventStream {
        EventStream::of(self, limit)
    }
}

impl EventStream {
    pub(crate) fn of(mut bus: Bus, limit: usize) -> EventStream {
        let shared = Arc::new(Mutex::new(Buffer {
            queue: VecDeque::with_capacity(limit),
            limit,
            ..Buffer::default()
        }));
        let (stopper, buffer) = (bus.stopper(), Arc::clone(&shared));
        let thread = std::thread::spawn(move || {
            while let Some(event) = bus.next() {
                let mut buffer = lock(&buffer);
                if let Event::Defined(defined) = event
                    && let Ok(definition) = bus.definition(defined.instrument)
                {
                    buffer.define(defined.instrument, definition.clone());
                }
                buffer.push(event);
                wake(buffer);
            }
            let mut buffer = lock(&buffer);
            buffer.is_over = true;
            wake(buffer);
        });
        EventStream {
            shared,
            stopper,
            thread: Some(thread),
            owner: Process::this(),
            fork_notified: false,
        }
    }

    /// The next event; waits for it. `None` once a [`Stopper`] has ended the loop and everything was returned. A forked child
    /// gets a [`Connection::Forked`] and then `None`: the thread that reads is its parent's.
    pub async fn next(&mut self) -> Option<Streamed> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Streamed>> {
        // The thread may have held the lock at the fork.
        if !self.owner.is_this() {
            let forked = Streamed::Event(Event::Connection(Connection::Forked));
            let is_new = !std::mem::replace(&mut self.fork_notified, true);
            return Poll::Ready(is_new.then_some(forked));
        }
        let mut buffer = lock(&self.shared);
        match buffer.pop() {
            Some(item) => Poll::Ready(Some(item)),
            None if buffer.is_over => Poll::Ready(None),
            None => {
                buffer.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Definition of an instrument; `None` before it is defined, and in a forked child.
    pub fn definition(&self, instrument: Instrument) -> Option<Definition> {
        if !self.owner.is_this() {
            return None;
        }
        lock(&self.shared)
            .definitions
            .get(instrument.index())?
            .clone()
    }

    /// Tops replaced in the buffer by later ones; 0 in a forked child.
    pub fn conflated(&self) -> u64 {
        if !self.owner.is_this() {
            return 0;
        }
        lock(&self.shared).conflated
    }

    /// Stopper that ends the stream.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }
}

impl futures_core::Stream for EventStream {
    type Item = Streamed;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Streamed>> {
        self.get_mut().poll(context)
    }
}

/// The thread ends with its stream.
impl Drop for EventStream {
    fn drop(&mut self) {
        self.stopper.stop();
        // A forked child has no such thread, and would wait for it without end.
        if let Some(thread) = self.thread.take().filter(|_| self.owner.is_this()) {
            // A panic has printed its message.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

/// Wakes the waiting task after releasing the lock.
fn wake(mut buffer: MutexGuard<'_, Buffer>) {
    let waker = buffer.waker.take();
    drop(buffer);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Locks the buffer; it is consistent between two items even if the thread panicked.
fn lock(shared: &Mutex<Buffer>) -> MutexGuard<'_, Buffer> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{State, StateChange, Times, Top};

    fn top(index: u32, sequence: u64, state: State) -> Event {
        Event::Top(Top {
            instrument: Instrument { bus: 0, index },
            state,
            bid: None,
            ask: None,
            times: Times::default(),
            sequence,
            end_of_batch: false,
        })
    }

    fn state(index: u32, state: State) -> Event {
        Event::State(StateChange {
            instrument: Instrument { bus: 0, index },
            state,
            times: Times::default(),
            sequence: 0,
            end_of_batch: false,
        })
    }

    /// However slow its program is, a stream ends with the last state and the last top, in a bounded buffer.
    #[test]
    fn a_slow_program_has_the_last_state_and_the_last_top_of_each_instrument() {
        let mut buffer = Buffer::default();
        buffer.push(top(1, 1, State::Live));
        buffer.push(state(1, State::Stale));
        buffer.push(state(0, State::Stale));
        buffer.push(state(0, State::Recovering));
        buffer.push(top(0, 2, State::Live));
        buffer.push(top(0, 3, State::Live));
        buffer.push(state(0, State::Gapped));
        assert_eq!((buffer.queue.len(), buffer.conflated), (3, 1));
        let first = buffer.pop();
        assert_eq!(first, Some(Streamed::Event(top(1, 1, State::Stale))));
        let second = buffer.pop();
        assert_eq!(second, Some(Streamed::Event(state(0, State::Recovering))));
        // The top behind the taken state is still replaced.
        buffer.push(top(0, 4, State::Live));
        assert_eq!(buffer.pop(), Some(Streamed::Event(top(0, 4, State::Live))));
        assert_eq!(buffer.pop(), None);
        buffer.push(state(0, State::Stale));
        assert_eq!(buffer.pop(), Some(Streamed::Event(state(0, State::Stale))));
    }
}
