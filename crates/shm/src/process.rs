//! The process that made a thing: its forked children have copies of the thing, and none of its rights.

#[cfg(not(any(loom, miri)))]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicU32, Ordering};

/// Forks between the first process of this program and this one, as far as the C library knows them.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process that took a lock, a place or a name.
///
/// A forked child has a copy of each handle and of each mapping. The lock of an open file and the slot in shared memory belong to the
/// parent: if the child freed them, they would be free for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    forks: u32,
    pid: u32,
}

impl Process {
    /// This process.
    pub fn this() -> Process {
        #[cfg(not(any(loom, miri)))]
        count_forks();
        Process {
            forks: FORKS.load(Ordering::Relaxed),
            pid: std::process::id(),
        }
    }

    /// Whether the process is this process. One relaxed load: a system call for each message would cost more than the message.
    #[inline]
    pub fn is_this(self) -> bool {
        // mutant: shm: a forked child frees what its parent holds
        self.forks == FORKS.load(Ordering::Relaxed)
    }

    /// Its id.
    pub fn id(self) -> u32 {
        self.pid
    }
}

/// Counts forks from now on. Without memory for that, which is a few words, they are not counted.
#[cfg(not(any(loom, miri)))]
fn count_forks() {
    // Not a lock: a child that is forked within it would wait for a thread that it does not have.
    static COUNTED: AtomicBool = AtomicBool::new(false);
    if !COUNTED.swap(true, Ordering::Relaxed) {
        // SAFETY: `in_child` is a function for the whole life of the program, takes nothing, and does what a child of a program with
        // threads may do: it changes one atomic number.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

#[cfg(not(any(loom, miri)))]
extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
