//! System calls that neither the standard library nor `socket2` offers: all unsafe code of the sockets.
//!
//! Kernel data is returned as slices and numbers; pointers stay in this file.

use libc::{c_int, c_void, iovec, mmsghdr, msghdr, sockaddr_in, socklen_t};
use std::ffi::CStr;
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Size of the control messages of a packet: timestamps take 64 bytes, drops 24.
const CONTROL_BYTES: usize = 128;

/// Source address and control messages of a packet. A control message starts with a `usize`, so
/// words.
#[repr(C)]
struct Beside {
    buffer: iovec,
    source: sockaddr_in,
    control: [u64; CONTROL_BYTES / 8],
}

/// Buffers for the packets of one receive call, allocated at the start.
pub(super) struct Slots {
    /// One for each packet, pointing into the other two.
    headers: Vec<mmsghdr>,
    beside: Vec<Beside>,
    payloads: Vec<u8>,
    bytes_each: usize,
    /// Headers that the last call wrote.
    filled: usize,
}

/// One received packet.
pub(super) struct Arrived<'a> {
    pub source: SocketAddrV4,
    pub payload: &'a [u8],
    /// Control messages, one after the other.
    pub control: &'a [u8],
    /// Whether the datagram was longer than its buffer.
    pub truncated: bool,
}

// SAFETY: the pointers in `headers` lead to the heap memory of `beside` and `payloads`, which moves
// with its owner without changing its address; no other value or thread shares this memory.
unsafe impl Send for Slots {}

impl Slots {
    /// Buffers for `count` packets of at most `bytes_each` bytes.
    pub fn new(count: usize, bytes_each: usize) -> Slots {
        let mut slots = Slots {
            headers: Vec::with_capacity(count),
            beside: Vec::with_capacity(count),
            payloads: vec![0; count * bytes_each],
            bytes_each,
            filled: 0,
        };
        // From here on the vectors never grow, and neither of the two is referenced as a whole.
        let (beside, payloads) = (slots.beside.as_mut_ptr(), slots.payloads.as_mut_ptr());
        for index in 0..count {
            // SAFETY: all three are C structs of integers and pointers, for which zeros are valid.
            let (mut header, nothing) = unsafe { (zeroed::<mmsghdr>(), zeroed::<Beside>()) };
            slots.beside.push(nothing);
            // SAFETY: element `index` was pushed within the capacity, and `count * bytes_each`
            // bytes of payloads exist; the pointers come from the vectors' own, so that later reads
            // through the vectors see the bytes that the kernel wrote through these pointers.
            unsafe {
                let own = beside.add(index);
                (*own).buffer.iov_base = payloads.add(index * bytes_each).cast::<c_void>();
                (*own).buffer.iov_len = bytes_each;
                header.msg_hdr.msg_name = (&raw mut (*own).source).cast();
                header.msg_hdr.msg_iov = &raw mut (*own).buffer;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = (&raw mut (*own).control).cast();
            }
            reset(&mut header.msg_hdr);
            slots.headers.push(header);
        }
        slots
    }

    /// Receives pending packets of a socket, at most one per slot; never waits.
    ///
    /// One slot is one `recvmsg`, more are one `recvmmsg`.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        for header in &mut self.headers[..self.filled] {
            reset(&mut header.msg_hdr);
        }
        self.filled = 0;
        let (fd, first, flags) = (
            socket.as_raw_fd(),
            self.headers.as_mut_ptr(),
            libc::MSG_DONTWAIT,
        );
        let count = if self.headers.len() == 1 {
            // SAFETY: `first` is one valid header: name, buffer and control point to memory of `beside` and
            // `payloads`, which lives as long as `self`, to which there is no other reference (that would borrow
            // `self`), and whose sizes stand beside the pointers.
            let len = unsafe { libc::recvmsg(fd, &raw mut (*first).msg_hdr, flags) };
            let Ok(len) = u32::try_from(len) else {
                return Err(io::Error::last_os_error());
            };
            self.headers[0].msg_len = len;
            1
        } else {
            let room = self.headers.len() as u32;
            // SAFETY: `first` is followed by `room` headers, each valid as above; no time limit.
            let count = unsafe { libc::recvmmsg(fd, first, room, flags as _, ptr::null_mut()) };
            usize::try_from(count).map_err(|_| io::Error::last_os_error())?
        };
        self.filled = count;
        Ok(count)
    }

    /// A packet of the last receive call.
    #[inline]
    pub fn get(&self, index: usize) -> Arrived<'_> {
        assert!(
            index < self.filled,
            "index below the number of received packets"
        );
        let header = &self.headers[index];
        let hdr = &header.msg_hdr;
        let len = (header.msg_len as usize).min(self.bytes_each);
        #[allow(clippy::unnecessary_cast, reason = "another type with musl")]
        let control_len = (hdr.msg_controllen as usize).min(CONTROL_BYTES);
        // SAFETY: both are memory of `index`'s slot and were set to zeros at the start, so every
        // byte has a value; the lengths are cut to the slot's. The kernel writes there only during
        // `receive`, which needs `self` exclusively, so not while these borrows live.
        let (payload, control, source) = unsafe {
            let payload = self.payloads.as_ptr().add(index * self.bytes_each);
            let own = self.beside.as_ptr().add(index);
            (
                std::slice::from_raw_parts(payload, len),
                std::slice::from_raw_parts((&raw const (*own).control).cast::<u8>(), control_len),
                (*own).source,
            )
        };
        Arrived {
            source: SocketAddrV4::new(
                Ipv4Addr::from_bits(u32::from_be(source.sin_addr.s_addr)),
                u16::from_be(source.sin_port),
            ),
            payload,
            control,
            truncated: hdr.msg_flags & libc::MSG_TRUNC != 0,
        }
    }
}

/// Resets the fields that the kernel overwrites.
#[inline]
fn reset(header: &mut msghdr) {
    header.msg_namelen = size_of::<sockaddr_in>() as socklen_t;
    header.msg_controllen = CONTROL_BYTES as _;
    header.msg_flags = 0;
}

/// Sets an `int` option of a socket.
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: c_int,
) -> io::Result<()> {
    let len = size_of_val(&value) as socklen_t;
    // SAFETY: the pointer and the length are those of `value`, which lives until the call is over.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            len,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Packets dropped by the kernel because the socket's buffer was full, since it was opened; the
/// count wraps. `None` if the kernel does not report it.
pub(super) fn drops(socket: BorrowedFd<'_>) -> Option<u32> {
    const SK_MEMINFO_DROPS: usize = 8;
    let mut numbers = [0u32; SK_MEMINFO_DROPS + 1];
    let mut len = size_of_val(&numbers) as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, the size of `numbers`, and any bytes are
    // valid integers; both live until the call is over.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    (done == 0 && len as usize == size_of_val(&numbers)).then(|| numbers[SK_MEMINFO_DROPS])
}

/// A socket for notifications about changes of interfaces and their addresses.
pub(super) fn link_events() -> io::Result<socket2::Socket> {
    let (domain, protocol) = (libc::AF_NETLINK.into(), libc::NETLINK_ROUTE.into());
    let socket = socket2::Socket::new(domain, socket2::Type::RAW, Some(protocol))?;
    // SAFETY: `sockaddr_nl` is a C struct of integers, for which zeros are valid.
    let mut address = unsafe { zeroed::<libc::sockaddr_nl>() };
    address.nl_family = libc::AF_NETLINK as _;
    address.nl_groups = (libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR) as u32;
    // SAFETY: the pointer and the length are those of `address`, which lives until the call is over.
    let done = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as socklen_t,
        )
    };
    match done {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}

/// An address of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub name: String,
    /// Kernel's index; a recreated interface has a new one.
    pub index: u32,
    pub address: Ipv4Addr,
    pub up: bool,
    /// Whether groups can be joined on it.
    pub multicast: bool,
}

/// Every IPv4 address of the host, in the kernel's order.
pub(super) fn interfaces() -> io::Result<Vec<Interface>> {
    let mut first = ptr::null_mut();
    // SAFETY: `first` is a place for one pointer, which the call fills when it returns 0.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the list that `getifaddrs` made is whole and ours until `freeifaddrs`: each element
    // is valid or the end, its name is a string that ends with 0, and its address, if there is
    // one, is as large as its family says. All that is kept is copied.
    unsafe {
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            let Some(address) = entry.ifa_addr.as_ref() else {
                continue;
            };
            if c_int::from(address.sa_family) != libc::AF_INET {
                continue;
            }
            let address = entry.ifa_addr.cast::<sockaddr_in>().read_unaligned();
            let flag = |flag: c_int| entry.ifa_flags & flag as u32 != 0;
            found.push(Interface {
                index: libc::if_nametoindex(entry.ifa_name),
                name: CStr::from_ptr(entry.ifa_name)
                    .to_string_lossy()
                    .into_owned(),
                address: Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)),
                up: flag(libc::IFF_UP),
                // The loopback interface lacks the flag, but accepts groups.
                multicast: flag(libc::IFF_MULTICAST) || flag(libc::IFF_LOOPBACK),
            });
        }
        libc::freeifaddrs(first);
    }
    Ok(found)
}
