//! A client in the hands of Python: one thread at a time, until it is stopped or closed.

use crate::errors::{busy, closed};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;
use touchline_client::Stopper;
use touchline_transport::shm::Process;

/// Pause of a call that waits for one that gives way, which takes a millisecond.
const PAUSE: Duration = Duration::from_micros(200);

/// A client with its name.
pub struct Held<T> {
    name: String,
    client: Mutex<Option<T>>,
    stopper: Stopper,
    /// Whether the object was closed: the call that has the client drops it.
    is_closed: AtomicBool,
    /// Whether the program stopped or closed it before its end.
    is_cut_off: AtomicBool,
    /// Thread of the present call, as [`this_thread`] returns it; 0: no call.
    thread: AtomicU64,
    /// Whether the present call only waits, and gives way.
    gives_way: AtomicBool,
    /// Calls that wait for one that gives way.
    waiting: AtomicU32,
    /// A forked child has no thread that ends a call of its parent.
    owner: Process,
}

/// State of other calls that a call may know while it has the client.
pub struct Call<'h> {
    stopper: &'h Stopper,
    is_closed: &'h AtomicBool,
    waiting: &'h AtomicU32,
}

impl Call<'_> {
    /// Whether waits are to end.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopper.is_stopped()
    }

    /// Whether the client is closed once this call ends.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Whether another call waits for this one, which gives way.
    pub fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }
}

impl<T: Send> Held<T> {
    /// An open one; `stopper` ends the waits of the client.
    pub fn new(name: impl Into<String>, client: T, stopper: Stopper) -> Held<T> {
        Held {
            name: name.into(),
            client: Mutex::new(Some(client)),
            stopper,
            is_closed: AtomicBool::new(false),
            is_cut_off: AtomicBool::new(false),
            thread: AtomicU64::new(0),
            gives_way: AtomicBool::new(false),
            waiting: AtomicU32::new(0),
            owner: Process::this(),
        }
    }

    /// Name of the object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ends waits, from any thread and from the handler of a signal.
    pub fn stop(&self) {
        // Noted first: a call that sees the stop sees why. A tape that was read to its end has stopped itself.
        if !self.stopper.is_stopped() {
            self.is_cut_off.store(true, Ordering::SeqCst);
        }
        self.stopper.stop();
    }

    /// Whether the program stopped or closed it before it had ended by itself, as a tape does: more may be there.
    pub fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::SeqCst)
    }

    /// Whether the connection was stopped or closed.
    pub fn is_stopped(&self) -> bool {
        self.stopper.is_stopped()
    }

    /// Whether the connection was closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Checks that it is open.
    ///
    /// # Errors
    /// The object is closed.
    pub fn check_open(&self) -> PyResult<()> {
        match self.is_closed() {
            true => Err(closed(&self.name)),
            false => Ok(()),
        }
    }

    /// The end of an iteration, if an error reports that the client is closed.
    ///
    /// # Errors
    /// Any other error.
    pub fn ended_by_close<R>(&self, py: Python<'_>, error: PyErr) -> PyResult<Option<R>> {
        match self.is_closed() && error.is_instance_of::<PyValueError>(py) {
            true => Ok(None),
            false => Err(error),
        }
    }

    /// Acts on the client; an error if another call does, or if it is closed.
    pub fn with<R>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut T, &Call<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        self.act(py, false, |client, call| {
            act(client.ok_or_else(|| self.busy())?, call)
        })
    }

    /// The same for a call that only waits: another one waits until this one has given way.
    pub fn with_giving_way<R>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut T, &Call<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        self.act(py, true, |client, call| {
            act(client.ok_or_else(|| self.busy())?, call)
        })
    }

    /// Acts on the client, or without it while another call acts on it; an error if it is closed.
    pub fn with_free<R>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(Option<&mut T>, &Call<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        self.act(py, false, act)
    }

    /// Drops the client; if another call has it, that call does so, at the end of its wait, which is now.
    pub fn close(&self, py: Python<'_>) {
        // Also at the end of a tape: what an interrupted call holds is dropped.
        self.is_cut_off.store(true, Ordering::SeqCst);
        self.is_closed.store(true, Ordering::SeqCst);
        self.stopper.stop();
        if let Some(client) = self.lock(py) {
            self.leave(client);
        }
    }

    fn act<R>(
        &self,
        py: Python<'_>,
        gives_way: bool,
        act: impl FnOnce(Option<&mut T>, &Call<'_>) -> PyResult<R>,
    ) -> PyResult<R> {
        self.check_open()?;
        let call = Call {
            stopper: &self.stopper,
            is_closed: &self.is_closed,
            waiting: &self.waiting,
        };
        let Some(mut client) = self.lock(py) else {
            return act(None, &call);
        };
        self.thread.store(this_thread(), Ordering::SeqCst);
        self.gives_way.store(gives_way, Ordering::SeqCst);
        let result = match client.as_mut() {
            Some(client) => act(Some(client), &call),
            None => Err(closed(&self.name)),
        };
        self.gives_way.store(false, Ordering::SeqCst);
        self.thread.store(0, Ordering::SeqCst);
        self.leave(client);
        result
    }

    /// Gives the client back. A call that closes the object meanwhile finds the client locked, so this call is the last
    /// that can drop it.
    fn leave(&self, client: MutexGuard<'_, Option<T>>) {
        drop(client);
        if self.is_closed()
            && let Ok(mut client) = self.client.try_lock()
        {
            *client = None;
        }
    }

    /// `None`: another call has it, and does not give way.
    fn lock(&self, py: Python<'_>) -> Option<MutexGuard<'_, Option<T>>> {
        if let Some(client) = self.try_lock() {
            return Some(client);
        }
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut client = None;
        while client.is_none() && self.is_given_way() {
            py.detach(|| std::thread::sleep(PAUSE));
            client = self.try_lock();
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        client
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Option<T>>> {
        match self.client.try_lock() {
            Ok(client) => Some(client),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(poisoned)) => {
                // A call that panicked has left it half changed.
                let mut client = poisoned.into_inner();
                *client = None;
                Some(client)
            }
        }
    }

    /// Whether the call that has the client gives way: a thread of this process that is not this one.
    fn is_given_way(&self) -> bool {
        let is_own = self.thread.load(Ordering::SeqCst) == this_thread();
        self.gives_way.load(Ordering::SeqCst) && !is_own && self.owner.is_this()
    }

    /// Why a call cannot have the client.
    fn busy(&self) -> PyErr {
        let is_own = self.thread.load(Ordering::SeqCst) == this_thread();
        busy(&self.name, is_own, !self.owner.is_this())
    }
}

/// Number of this thread, not 0.
fn this_thread() -> u64 {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here).addr() as u64)
}
