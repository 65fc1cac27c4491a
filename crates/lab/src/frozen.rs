//! Global allocator that counts the allocations of one thread after a call of `freeze`.
//!
//! The hot path allocates at start. A test or a benchmark makes this the allocator of its program, warms the path up,
//! freezes its thread, runs the path, and thaws:
//! ```
//! use touchline_lab::frozen::Frozen;
//!
//! #[global_allocator]
//! static ALLOCATOR: Frozen = Frozen;
//!
//! let mut buffer = Vec::with_capacity(8);
//! Frozen::freeze();
//! buffer.push(1);
//! assert_eq!(Frozen::thaw().allocations, 0);
//! ```
//!
//! Freezing affects one thread, so that a test harness can allocate in others.

#![allow(unsafe_code, reason = "an allocator needs it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;

/// Allocator: the system's, with counters.
#[derive(Clone, Copy, Debug)]
pub struct Frozen;

/// Counts of a frozen thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Allocated or resized blocks.
    pub allocations: u64,
    /// Bytes requested in them.
    pub bytes: u64,
    /// Freed blocks.
    pub frees: u64,
}

impl Frozen {
    /// Counts this thread's allocations from now on, from zero.
    pub fn freeze() {
        set(Mode::Count);
    }

    /// Aborts the process with a message at this thread's next allocation, so that a debugger or a core file shows the
    /// place.
    pub fn freeze_and_abort() {
        set(Mode::Abort);
    }

    /// Ends counting; returns the counts since the thread was frozen.
    pub fn thaw() -> Count {
        MODE.with(|mode| mode.set(Mode::Off));
        COUNT.with(Cell::get)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Off,
    Count,
    Abort,
}

// Constant-initialised and without a destructor, so that access does not allocate, and does not fail while a thread
// ends.
thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Off) };
    static COUNT: Cell<Count> = const { Cell::new(Count { allocations: 0, bytes: 0, frees: 0 }) };
}

fn set(mode: Mode) {
    COUNT.with(|count| count.set(Count::default()));
    MODE.with(|cell| cell.set(mode));
}

fn note_allocation(bytes: usize) {
    match MODE.with(Cell::get) {
        Mode::Off => {}
        Mode::Count => COUNT.with(|cell| {
            let mut count = cell.get();
            count.allocations += 1;
            count.bytes += bytes as u64;
            cell.set(count);
        }),
        Mode::Abort => abort(bytes),
    }
}

fn note_free() {
    if MODE.with(Cell::get) == Mode::Count {
        COUNT.with(|cell| {
            cell.set(Count {
                frees: cell.get().frees + 1,
                ..cell.get()
            })
        });
    }
}

#[cold]
fn abort(bytes: usize) -> ! {
    // Printing may allocate; do not count that.
    MODE.with(|mode| mode.set(Mode::Off));
    let _ = writeln!(
        std::io::stderr(),
        "a frozen thread allocated {bytes} bytes; the path must take its memory before Frozen::freeze_and_abort()"
    );
    std::process::abort()
}

// SAFETY: every method hands its arguments unchanged to `System` and returns what that returns. `System` fulfils the
// contract of `GlobalAlloc`. The additional reads and writes of two thread-local cells neither touch
// the blocks nor unwinds: the cells are constant-initialised and have no destructor, so `with` cannot fail, and `abort`
// ends the process.
unsafe impl GlobalAlloc for Frozen {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note_allocation(layout.size());
        // SAFETY: the caller promises a layout of non-zero size, which is all that `System::alloc` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note_allocation(layout.size());
        // SAFETY: the caller promises a layout of non-zero size, which is all that `System::alloc_zeroed` asks for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note_allocation(new_size);
        // SAFETY: the caller promises that `block` came from this allocator with this layout, which means from
        // `System` with this layout, and that `new_size` is not zero and does not overflow when rounded up to the
        // alignment; `System::realloc` asks for exactly that.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note_free();
        // SAFETY: the caller promises that `block` came from this allocator with this layout, which means from
        // `System` with this layout; `System::dealloc` asks for exactly that.
        unsafe { System.dealloc(block, layout) }
    }
}
