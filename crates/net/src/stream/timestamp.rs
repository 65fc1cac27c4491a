//! Kernel receive timestamps of a TCP connection.
//!
//! A stream has no packets: the kernel returns the receive time of the last segment of which a read took bytes. Bytes of
//! earlier segments in the same read arrived earlier than that.

use crate::udp::{control, kernel};
use socket2::Socket;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Space for the control messages of a read.
#[repr(C, align(8))]
struct Control([u8; 256]);

/// Requests timestamps. `false`: the kernel does not provide them.
pub(super) fn request(socket: &Socket) -> bool {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    let fd = socket.as_fd();
    kernel::set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as i32).is_ok()
}

/// Reads pending bytes. Returns their number, and the kernel's receive time of the last segment among them, nanoseconds
/// since 1970.
pub(super) fn read(socket: &Socket, room: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = Control([0; 256]);
    let mut bytes = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    // SAFETY: a header of zeros is valid: no address, no bytes, no control messages.
    let mut head: libc::msghdr = unsafe { std::mem::zeroed() };
    head.msg_iov = &raw mut bytes;
    head.msg_iovlen = 1;
    head.msg_control = control.0.as_mut_ptr().cast();
    head.msg_controllen = control.0.len() as _;
    // SAFETY: the header points to one piece of memory for bytes and one for control messages, both of this length and exclusively
    // ours until the call returns.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut head, 0) };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    #[allow(clippy::unnecessary_cast, reason = "another type with musl")]
    let length = (head.msg_controllen as usize).min(control.0.len());
    Ok((received, control::read(&control.0[..length]).kernel_ns))
}
