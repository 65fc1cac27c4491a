//! SIGBUS handler for a mapped file that is truncated: zeros and a flag instead of a dead process.
//!
//! The system answers an access beyond the end of a mapped file with SIGBUS. This handler checks whether the address is
//! in one of our mappings; if so, it maps zeroed memory over the whole mapping and sets its flag, and the access is
//! repeated. Every other SIGBUS is passed on.
//!
//! A handler that is installed later must call this one for faults that it does not know.

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Maximum number of mappings of a process.
pub const MAPPINGS_MAX: usize = 4096;

/// One mapping, as seen by the handler.
///
/// The claimer of a free entry owns its other fields until it releases it. `version` is odd while they change, so
/// that the handler never takes the base of one mapping with the length of another.
pub struct Entry {
    claimed: AtomicBool,
    version: AtomicUsize,
    base: AtomicUsize,
    bytes: AtomicUsize,
    writable: AtomicBool,
    damaged: AtomicBool,
}

static ENTRIES: [Entry; MAPPINGS_MAX] = [const { Entry::free() }; MAPPINGS_MAX];
/// The SIGBUS action before ours.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Registers a mapping with the handler; `None` if the table is full. The first call installs the handler.
pub fn guard(base: usize, bytes: usize, writable: bool) -> Result<Option<&'static Entry>, Errno> {
    install()?;
    for entry in &ENTRIES {
        if !entry.claimed.swap(true, Ordering::SeqCst) {
            entry.damaged.store(false, Ordering::SeqCst);
            entry.set(base, bytes, writable);
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

impl Entry {
    const fn free() -> Self {
        Self {
            claimed: AtomicBool::new(false),
            version: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            writable: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
        }
    }

    /// Whether a fault has happened inside the mapping.
    #[inline]
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Removes a mapping from the table; no access is allowed any more.
    pub fn release(&self) {
        self.set(0, 0, false);
        self.claimed.store(false, Ordering::SeqCst);
    }

    fn set(&self, base: usize, bytes: usize, writable: bool) {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.base.store(base, Ordering::SeqCst);
        self.bytes.store(bytes, Ordering::SeqCst);
        self.writable.store(writable, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Base, length and writability, if the address is in this entry. An entry that changes at this moment belongs to
    /// another mapping: the accessed one stays until the access ends.
    fn covering(&self, address: usize) -> Option<(usize, usize, bool)> {
        let version = self.version.load(Ordering::SeqCst);
        let base = self.base.load(Ordering::SeqCst);
        let bytes = self.bytes.load(Ordering::SeqCst);
        let writable = self.writable.load(Ordering::SeqCst);
        let steady = version.is_multiple_of(2) && version == self.version.load(Ordering::SeqCst);
        (steady && address.wrapping_sub(base) < bytes).then_some((base, bytes, writable))
    }
}

fn install() -> Result<(), Errno> {
    static INSTALLED: OnceLock<Result<(), Errno>> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        // SAFETY: a `sigaction` is plain data, for which all zeros is a valid value.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // Known before the handler can run, which needs it for faults of other mappings.
        let previous = *PREVIOUS.get_or_init(|| {
            let mut previous = action;
            // SAFETY: asks for the action of a valid signal; the pointer is to a local that lives.
            unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &mut previous) };
            previous
        });
        action.sa_sigaction = on_bus_error as *const () as usize;
        // On the alternate stack that Rust's threads have: the fault may occur at the end of a stack.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        action.sa_mask = previous.sa_mask;
        // SAFETY: the signal is valid and the action complete: flags, mask (copied from a valid one),
        // and a handler of the form that SA_SIGINFO asks for, which does only what a handler may do:
        // atomic loads and stores, and system calls that touch no state of this process.
        match unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(Errno::INVAL),
        }
    })
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system calls a handler with SA_SIGINFO with a valid `siginfo_t`, and SIGBUS, when the
    // system itself sends it, fills the address; otherwise `si_addr` reads other bytes of the same
    // structure, which are then not used.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // A missing page or broken memory, but not a wrong alignment, which zeros would not fix.
    let page_is_missing = code > libc::BUS_ADRALN;
    if !(page_is_missing && ENTRIES.iter().any(|entry| replace(entry, address))) {
        pass_on(signal, info, context);
    }
}

/// Maps zeros over the mapping if the address is in it and the system has memory.
fn replace(entry: &Entry, address: usize) -> bool {
    let Some((base, bytes, writable)) = entry.covering(address) else {
        return false;
    };
    let protection = match writable {
        true => ProtFlags::READ | ProtFlags::WRITE,
        false => ProtFlags::READ,
    };
    // Before the zeros can be read: a reader of a zero that then loads the flag finds it set.
    // mutant: shm: a truncated file is not reported
    entry.damaged.store(true, Ordering::SeqCst);
    // SAFETY: FIXED replaces the mapping at `base..base + bytes`. That is exactly one mapping of
    // ours: `covering` gave base and length of one registration, and this registration is still valid,
    // because the faulting access borrows the mapping, which is released only when no borrow is left.
    // All accesses to it are atomic and expect any value, so none relies on the bytes that go. The call
    // is one instruction of the system, without errno, and so allowed in a handler.
    let mapped = unsafe {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        rustix::mm::mmap_anonymous(base as *mut c_void, bytes, protection, flags)
    };
    mapped.is_ok()
}

/// Passes the signal on to the earlier action.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let previous = PREVIOUS.get();
    let handler = previous.map_or(libc::SIG_DFL, |p| p.sa_sigaction);
    // SAFETY: only reads the structure that the system gave to the handler.
    let sent_by_a_process = unsafe { (*info).si_code } <= 0;
    if handler == libc::SIG_IGN && sent_by_a_process {
        return;
    }
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: both calls are allowed in a handler and take plain numbers. The signal is blocked
        // until this handler returns, and then ends the process as it does by default.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return;
    }
    let with_info = previous.is_some_and(|p| p.sa_flags & libc::SA_SIGINFO != 0);
    // SAFETY: the system gave us this address as the handler of SIGBUS, so it is a function; its flags
    // say which of the two forms it has; it gets what the system gave us, in the same context.
    unsafe {
        if with_info {
            type WithInfo = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            std::mem::transmute::<usize, WithInfo>(handler)(signal, info, context);
        } else {
            type Plain = extern "C" fn(c_int);
            std::mem::transmute::<usize, Plain>(handler)(signal);
        }
    }
}
