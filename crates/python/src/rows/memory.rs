//! Memory of rows that numpy sees.

use super::Row;
use crate::errors::no_memory;
use crate::pickle::damaged;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// Rows that never change, as numpy reads them: `numpy.asarray(rows)` makes an array over this memory and keeps it alive.
#[pyclass(frozen, module = "touchline")]
#[derive(Clone)]
pub struct Rows {
    pub(super) memory: Arc<dyn Memory>,
    count: usize,
    row_bytes: usize,
}

/// Memory of rows of some type.
pub(super) trait Memory: Send + Sync {
    fn bytes(&self) -> &[u8];
}

impl<R: Row> Memory for Vec<R> {
    fn bytes(&self) -> &[u8] {
        self.as_slice().as_bytes()
    }
}

/// Rows of a pickle.
impl Memory for Vec<u64> {
    fn bytes(&self) -> &[u8] {
        self.as_slice().as_bytes()
    }
}

impl Rows {
    /// Makes rows of a pickle: bytes of whole rows of this size.
    ///
    /// # Errors
    /// The length is not a multiple of a row, or memory is exhausted.
    pub(super) fn of_bytes(bytes: &[u8], row_bytes: usize) -> PyResult<Rows> {
        if !bytes.len().is_multiple_of(row_bytes) {
            return Err(damaged());
        }
        let mut words: Vec<u64> = Vec::new();
        let room = words.try_reserve_exact(bytes.len() / 8);
        room.map_err(|_| no_memory("the rows of a pickled batch"))?;
        words.resize(bytes.len() / 8, 0);
        words.as_mut_slice().as_mut_bytes().copy_from_slice(bytes);
        Ok(Rows {
            count: bytes.len() / row_bytes,
            row_bytes,
            memory: Arc::new(words),
        })
    }

    /// Rows of a type.
    pub(super) fn new<R: Row>(rows: Vec<R>) -> Rows {
        Rows {
            count: rows.len(),
            row_bytes: size_of::<R>(),
            memory: Arc::new(rows),
        }
    }
}

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.count
    }

    /// numpy's array interface, version 3: rows without names of columns.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.count,))?;
        interface.set_item("typestr", format!("|V{}", self.row_bytes))?;
        interface.set_item("data", (self.memory.bytes().as_ptr() as usize, true))?;
        Ok(interface)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows of {} bytes", self.count, self.row_bytes)
    }
}
