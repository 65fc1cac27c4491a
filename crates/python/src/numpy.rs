//! numpy, imported with the first wait or array.

#![allow(unsafe_code, reason = "an import that may not return")]

use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Cache of an object that is made once. No lock is held while it is made: a child that is forked meanwhile would wait
/// for a thread that it lacks. Two threads may make the object; one of the two is kept.
pub type Stored = OnceLock<Py<PyAny>>;

/// The cached object, which is made if necessary.
pub fn stored<'py>(
    py: Python<'py>,
    cell: &Stored,
    make: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(made) = cell.get() {
        return Ok(made.bind(py).clone());
    }
    let made = make()?.unbind();
    Ok(cell.get_or_init(|| made).bind(py).clone())
}

/// The module.
///
/// # Errors
/// numpy is not installed; or Ctrl-C during its import.
pub fn numpy(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static NUMPY: Stored = Stored::new();
    stored(py, &NUMPY, || {
        import(py, c"numpy").map_err(|error| {
            if is_interrupt(py, &error) {
                return error;
            }
            let missing = pyo3::exceptions::PyImportError::new_err(
                "arrays need numpy: pip install 'touchline[numpy]'",
            );
            missing.set_cause(py, Some(error));
            missing
        })
    })
}

/// Imports numpy before a wait, once: the first import takes 20 ms and more, during which events would wait for their
/// array. Without numpy a batch has its other fields, and access to its arrays names the missing package.
///
/// # Errors
/// Ctrl-C during the import.
pub fn import_numpy(py: Python<'_>) -> PyResult<()> {
    static TRIED: AtomicBool = AtomicBool::new(false);
    if TRIED.load(Ordering::Relaxed) {
        return Ok(());
    }
    match numpy(py) {
        Err(error) if is_interrupt(py, &error) => return Err(error),
        _ => {}
    }
    TRIED.store(true, Ordering::Relaxed);
    Ok(())
}

/// Whether the error ends the program, as Ctrl-C does, and proves nothing about the import.
fn is_interrupt(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
}

// As the interpreter has it, but for the unwinding: an import runs code of Python, and while it runs a daemon thread loses the GIL for
// good when the interpreter ends. Before version 3.14 the thread ends then by unwinding its stack.
unsafe extern "C-unwind" {
    fn PyImport_ImportModule(name: *const c_char) -> *mut ffi::PyObject;
}

/// Stops the thread for ever where an unwinding that no panic began would go on through code of Rust, which ends the process. PyO3 does
/// the same where it takes the GIL.
struct Parked;

impl Drop for Parked {
    fn drop(&mut self) {
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
}

fn import<'py>(py: Python<'py>, name: &CStr) -> PyResult<Bound<'py, PyAny>> {
    let parked = Parked;
    // SAFETY: the interpreter is attached, and the name a string. This function holds no borrow and no lock, so a
    // thread that stays in `parked` blocks no other.
    let module = unsafe { PyImport_ImportModule(name.as_ptr()) };
    std::mem::forget(parked);
    // SAFETY: a new reference, or NULL with an exception, as the function states.
    unsafe { Bound::from_owned_ptr_or_err(py, module) }
}
