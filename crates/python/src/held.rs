//! A client in the hands of Python: one thread at a time, until it is closed.

use crate::errors::{busy, closed};
use pyo3::PyResult;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A client with its name.
pub struct Held<T> {
    name: String,
    client: Mutex<Option<T>>,
}

impl<T> Held<T> {
    /// An open one.
    pub fn new(name: impl Into<String>, client: T) -> Held<T> {
        Held {
            name: name.into(),
            client: Mutex::new(Some(client)),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Acts on the client; an error if another thread does, or if it is closed.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> PyResult<R>) -> PyResult<R> {
        let mut client = self.lock()?;
        act(client.as_mut().ok_or_else(|| closed(&self.name))?)
    }

    /// Drops the client.
    pub fn close(&self) -> PyResult<()> {
        *self.lock()? = None;
        Ok(())
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Option<T>>> {
        match self.client.try_lock() {
            Ok(client) => Ok(client),
            Err(TryLockError::WouldBlock) => Err(busy(&self.name)),
            Err(TryLockError::Poisoned(_)) => Err(closed(&self.name)),
        }
    }
}
