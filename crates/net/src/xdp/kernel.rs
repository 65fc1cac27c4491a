//! Calls of the kernel for AF_XDP: all its unsafe code but that of the rings' memory.
//!
//! Constants and structures of `linux/bpf.h`, `linux/if_xdp.h`.

use super::program::Instruction;
use libc::{c_int, c_long, socklen_t};
use std::io;
use std::mem::{MaybeUninit, size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands of `bpf`.
const MAP_CREATE: c_long = 0;
const MAP_UPDATE: c_long = 2;
const PROGRAM_LOAD: c_long = 5;
const LINK_CREATE: c_long = 28;

const MAP_TYPE_XSKMAP: u32 = 17;
const PROGRAM_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
/// A program that may ask the driver of its interface.
const BOUND_ONLY: u32 = 1 << 6;
/// Of `linux/if_link.h`.
const GENERIC: u32 = 1 << 1;
const DRIVER: u32 = 1 << 2;

/// Queues of an interface that may have a socket.
pub(super) const QUEUES_MAX: u32 = 64;

/// The first fields of `union bpf_attr` of each command; the kernel takes the others as zeros.
#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries_max: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    unused: u32,
    key: *const u32,
    value: *const u32,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    program_type: u32,
    instructions: u32,
    first: *const Instruction,
    licence: *const u8,
    log_level: u32,
    log_bytes: u32,
    log: *mut u8,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// One call of `bpf`; its result is a descriptor or 0.
fn bpf<T>(command: c_long, attributes: &T) -> io::Result<c_int> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes, and what they point to: the callers below lend it until the call is
    // over. It writes to neither, since no log is asked for.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    c_int::try_from(answer)
        .ok()
        .filter(|answer| *answer >= 0)
        .ok_or_else(io::Error::last_os_error)
}

fn owned(fd: c_int) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for us, and no other owner has it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

/// A map from queues to sockets.
pub(super) fn map() -> io::Result<OwnedFd> {
    let attributes = MapCreate {
        map_type: MAP_TYPE_XSKMAP,
        key_bytes: 4,
        value_bytes: 4,
        entries_max: QUEUES_MAX,
    };
    bpf(MAP_CREATE, &attributes).map(owned)
}

/// Packets of this queue go to this socket.
pub(super) fn set(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let value = number(socket);
    let attributes = MapUpdate {
        map: number(map),
        unused: 0,
        key: &raw const queue,
        value: &raw const value,
        flags: 0,
    };
    bpf(MAP_UPDATE, &attributes).map(drop)
}

/// Loads a program; one that asks the card is for this interface alone.
pub(super) fn load(instructions: &[Instruction], bound_to: Option<u32>) -> io::Result<OwnedFd> {
    let mut name = [0; 16];
    name[..9].copy_from_slice(b"touchline");
    let attributes = ProgramLoad {
        program_type: PROGRAM_TYPE_XDP,
        instructions: instructions.len() as u32,
        first: instructions.as_ptr(),
        licence: c"Dual MIT/GPL".as_ptr().cast(),
        log_level: 0,
        log_bytes: 0,
        log: std::ptr::null_mut(),
        kernel_version: 0,
        flags: bound_to.map_or(0, |_| BOUND_ONLY),
        name,
        interface: bound_to.unwrap_or(0),
        attach_type: ATTACH_TYPE_XDP,
    };
    bpf(PROGRAM_LOAD, &attributes).map(owned)
}

/// Attaches a program to an interface until the descriptor is closed, at the latest by the end of this process.
pub(super) fn attach(
    program: BorrowedFd<'_>,
    interface: u32,
    is_generic: bool,
) -> io::Result<OwnedFd> {
    let attributes = LinkCreate {
        program: number(program),
        interface,
        attach_type: ATTACH_TYPE_XDP,
        flags: if is_generic { GENERIC } else { DRIVER },
    };
    bpf(LINK_CREATE, &attributes).map(owned)
}

/// A socket for frames.
pub(super) fn socket() -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    match fd {
        0.. => Ok(owned(fd)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets an option of the level `SOL_XDP` to a number or a structure of integers.
pub(super) fn set_option<T: Copy>(
    socket: BorrowedFd<'_>,
    option: c_int,
    value: &T,
) -> io::Result<()> {
    let (place, len) = (std::ptr::from_ref(value), size_of_val(value) as socklen_t);
    // SAFETY: place and length are those of `value`, which the kernel only reads.
    let answer =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_XDP, option, place.cast(), len) };
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A structure of the level `SOL_XDP`, all of integers; what an older kernel does not know stays 0.
fn option<T: Copy>(socket: BorrowedFd<'_>, option: c_int) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, the size of `value`.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            option,
            value.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    match answer {
        // SAFETY: `T` consists of integers (the two calls below), for which zeros and what the kernel wrote are valid.
        0 => Ok(unsafe { value.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Offsets of the parts of each ring in its mapping.
pub(super) fn offsets(socket: BorrowedFd<'_>) -> io::Result<libc::xdp_mmap_offsets> {
    option(socket, libc::XDP_MMAP_OFFSETS)
}

/// Counts of a socket.
pub(super) fn statistics(socket: BorrowedFd<'_>) -> io::Result<libc::xdp_statistics> {
    option(socket, libc::XDP_STATISTICS)
}

/// Whether the card writes into our memory, without a copy by the kernel.
pub(super) fn is_zero_copy(socket: BorrowedFd<'_>) -> bool {
    let options = option::<libc::xdp_options>(socket, libc::XDP_OPTIONS);
    options.is_ok_and(|options| options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
}

/// Binds a socket to a queue of an interface.
pub(super) fn bind(
    socket: BorrowedFd<'_>,
    interface: u32,
    queue: u32,
    flags: u16,
) -> io::Result<()> {
    // SAFETY: a C structure of integers, for which zeros are valid.
    let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    address.sxdp_flags = flags;
    address.sxdp_ifindex = interface;
    address.sxdp_queue_id = queue;
    let (place, len) = (&raw const address, size_of_val(&address) as socklen_t);
    // SAFETY: place and length are those of `address`, which lives until the call is over.
    let answer = unsafe { libc::bind(socket.as_raw_fd(), place.cast(), len) };
    match answer {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the driver work: it reads the ring of free frames, and delivers packets that have arrived; with `SO_BUSY_POLL` it polls the
/// card, which `poll` does not. Never waits otherwise.
pub(super) fn wake(socket: BorrowedFd<'_>) {
    let fd = socket.as_raw_fd();
    // SAFETY: a buffer of no bytes, which the kernel does not touch.
    let answer = unsafe {
        libc::recvfrom(
            fd,
            std::ptr::null_mut(),
            0,
            libc::MSG_DONTWAIT,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    let is_old = || io::Error::last_os_error().raw_os_error() == Some(libc::EOPNOTSUPP);
    if answer >= 0 || !is_old() {
        return;
    }
    // Linux before 5.11.
    let mut asked = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    // Any answer is as good as another: the rings say what happened.
    // SAFETY: one structure, which lives until the call is over; no time to wait.
    unsafe { libc::poll(&raw mut asked, 1, 0) };
}
