//! Notifications of the kernel about interface changes.
//!
//! Source: rtnetlink(7), groups RTMGRP_LINK and RTMGRP_IPV4_IFADDR.

use super::kernel::link_events;
use std::io::{self, ErrorKind, Read};

/// Interface changes of the network namespace in which this was opened.
#[derive(Debug)]
pub(super) struct Changes {
    socket: socket2::Socket,
}

/// Changes since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Whether there was a change.
    pub any: bool,
    /// Numbers of removed interfaces.
    pub gone: Vec<u32>,
}

/// `struct nlmsghdr`: length including this header, type, flags, sequence, sender.
const HEAD_BYTES: usize = 16;

/// `struct ifinfomsg`: family, padding, type, index, flags, mask.
const INDEX_AT: usize = HEAD_BYTES + 4;

/// Room for the messages of one call: each is at most a page, or 8 KiB where pages are larger (netlink(7)).
const MESSAGE_BYTES: usize = 8 * 1024;

impl Changes {
    /// Watches from now on.
    ///
    /// # Errors
    /// The system does not support these sockets, or the process may not open one.
    pub fn watch() -> io::Result<Changes> {
        let socket = link_events()?;
        socket.set_nonblocking(true)?;
        Ok(Changes { socket })
    }

    /// Pending changes; never waits. One system call if there are none.
    pub fn take(&mut self) -> Changed {
        let mut changed = Changed::default();
        loop {
            let mut room = [0; MESSAGE_BYTES];
            match (&self.socket).read(&mut room) {
                Ok(0) => return changed,
                Ok(length) => read(&room[..length], &mut changed),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Messages were lost: the changes are unknown.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => changed.any = true,
                Err(_) => return changed,
            }
        }
    }
}

/// Reads the known messages and skips the others; stops at an invalid length.
fn read(mut bytes: &[u8], changed: &mut Changed) {
    while let Some((head, _)) = bytes.split_at_checked(HEAD_BYTES) {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let kind = u16::from_ne_bytes([head[4], head[5]]);
        let Some(message) = bytes.get(..length).filter(|_| length >= HEAD_BYTES) else {
            return;
        };
        changed.any = true;
        let index = message.get(INDEX_AT..INDEX_AT + 4);
        // Of another family: the interface only left a bridge.
        let is_whole = message.get(HEAD_BYTES) == Some(&(libc::AF_UNSPEC as u8));
        if let (libc::RTM_DELLINK, true, Some(index)) = (kind, is_whole, index) {
            let index = [index[0], index[1], index[2], index[3]];
            changed.gone.push(u32::from_ne_bytes(index));
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, index: u32) -> Vec<u8> {
        let mut bytes = 32_u32.to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10 + 4]);
        bytes.extend(index.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes
    }

    fn of(bytes: &[u8]) -> Changed {
        let mut changed = Changed::default();
        read(bytes, &mut changed);
        changed
    }

    #[test]
    fn an_interface_that_went_away_is_told_from_other_changes() {
        let new = message(libc::RTM_NEWLINK, 5);
        let gone = message(libc::RTM_DELLINK, 7);
        let address = message(libc::RTM_NEWADDR, 9);
        let all = of(&[&*new, &*gone, &*address, &*message(libc::RTM_DELLINK, 8)].concat());
        assert_eq!((all.any, &*all.gone), (true, &[7, 8][..]));
        let mut left_a_bridge = gone.clone();
        left_a_bridge[HEAD_BYTES] = libc::AF_BRIDGE as u8;
        let other = of(&[&*new, &*address, &*left_a_bridge].concat());
        assert_eq!((other.any, other.gone.len()), (true, 0));
        assert_eq!(of(&[]), Changed::default());
    }

    #[test]
    fn random_bytes_are_parsed_without_a_panic() {
        let whole = [message(libc::RTM_DELLINK, 7), message(libc::RTM_DELLINK, 8)].concat();
        for cut in 0..whole.len() {
            assert!(of(&whole[..cut]).gone.len() < 2);
        }
        for length in [0_u32, 1, 15, 16, 17, 33, u32::MAX] {
            let mut damaged = whole.clone();
            damaged[..4].copy_from_slice(&length.to_ne_bytes());
            of(&damaged);
        }
    }
}
