//! A bus as an asynchronous stream, read on a separate thread.

use crate::{Bus, Definition, Event, Instrument, Stopper};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

/// Events of a bus for an asynchronous program, with any executor or none.
///
/// A bus cannot wake a task, because its publisher makes no system calls for readers. So the bus moves to a thread that
/// reads it and fills a bounded buffer without blocking. The buffer holds one top per instrument, the latest; replaced
/// tops are counted ([`conflated`](EventStream::conflated)). Other events that find the buffer full are dropped and
/// counted in [`Streamed::Dropped`], trades separately.
pub struct EventStream {
    shared: Arc<Mutex<Buffer>>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
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
    /// Number of each instrument's top in the queue, counted from the first item.
    tops: Vec<Option<u64>>,
    /// Items in the queue other than tops.
    others: usize,
    limit: usize,
    conflated: u64,
    definitions: Vec<Option<Definition>>,
    waker: Option<Waker>,
    is_over: bool,
}

impl Buffer {
    /// Appends an event, or replaces an older top.
    fn push(&mut self, event: Event) {
        if let Event::Top(top) = event {
            return self.push_top(top.instrument, event);
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

    fn push_top(&mut self, instrument: Instrument, event: Event) {
        let index = instrument.index();
        if index >= self.tops.len() {
            self.tops.resize(index + 1, None);
        }
        let next = self.taken + self.queue.len() as u64;
        match self.tops[index] {
            Some(number) => {
                let place = (number - self.taken) as usize;
                self.queue[place] = Streamed::Event(event);
                self.conflated += 1;
            }
            None => {
                self.tops[index] = Some(next);
                self.queue.push_back(Streamed::Event(event));
            }
        }
    }

    fn pop(&mut self) -> Option<Streamed> {
        let item = self.queue.pop_front()?;
        self.taken += 1;
        match item {
            Streamed::Event(Event::Top(top)) => self.tops[top.instrument.index()] = None,
            Streamed::Event(_) => self.others -= 1,
            Streamed::Dropped { .. } => {}
        }
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
                if let Event::Defined(instrument) = event
                    && let Ok(definition) = bus.definition(instrument)
                {
                    buffer.define(instrument, definition.clone());
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
        }
    }

    /// The next event; waits for it. `None` once a [`Stopper`] has ended the loop and everything was returned.
    pub async fn next(&mut self) -> Option<Streamed> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Streamed>> {
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

    /// Definition of an instrument; `None` before it is defined.
    pub fn definition(&self, instrument: Instrument) -> Option<Definition> {
        lock(&self.shared)
            .definitions
            .get(instrument.index())?
            .clone()
    }

    /// Tops replaced in the buffer by later ones.
    pub fn conflated(&self) -> u64 {
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
        if let Some(thread) = self.thread.take() {
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
