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

    /// Acts on the client; an error if another call does, or if it is closed.
    pub fn with<R>(&self, act: impl FnOnce(&mut T) -> PyResult<R>) -> PyResult<R> {
        self.with_free(|client| act(client.ok_or_else(|| busy(&self.name))?))
    }

    /// Acts on the client, or without it while another call acts on it; an error if it is closed.
    pub fn with_free<R>(&self, act: impl FnOnce(Option<&mut T>) -> PyResult<R>) -> PyResult<R> {
        match self.lock()? {
            Some(mut client) => act(Some(client.as_mut().ok_or_else(|| closed(&self.name))?)),
            None => act(None),
        }
    }

    /// Drops the client.
    pub fn close(&self) -> PyResult<()> {
        *self.lock()?.ok_or_else(|| busy(&self.name))? = None;
        Ok(())
    }

    /// `None`: another call has it.
    fn lock(&self) -> PyResult<Option<MutexGuard<'_, Option<T>>>> {
        match self.client.try_lock() {
            Ok(client) => Ok(Some(client)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Poisoned(_)) => Err(closed(&self.name)),
        }
    }
}
