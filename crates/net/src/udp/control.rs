//! Control messages of a packet: receive timestamps and drop counts.

/// Control messages of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Control {
    /// Time at which the kernel took the packet from the driver, nanoseconds since 1970.
    pub kernel_ns: Option<u64>,
    /// Time at which the network card received it, by the card's clock.
    pub hardware_ns: Option<u64>,
    /// Packets dropped by the socket before this one; wraps. Absent while it is 0.
    pub drops: Option<u32>,
}

/// `struct cmsghdr`: length including this header, level, type. Data follows; the next one starts
/// at a multiple of the word.
const HEAD_BYTES: usize = size_of::<usize>() + 8;

/// `struct timespec`.
const TIME_BYTES: usize = 16;

/// Reads the known messages and skips the others; stops at an invalid length.
#[inline]
pub(crate) fn read(mut bytes: &[u8]) -> Control {
    let mut control = Control::default();
    while let Some((head, _)) = bytes.split_at_checked(HEAD_BYTES) {
        let word = size_of::<usize>();
        let len = usize::from_ne_bytes(head[..word].try_into().expect("it is a word long"));
        let Some(data) = bytes.get(HEAD_BYTES..len) else {
            break;
        };
        if int(head, word) == libc::SOL_SOCKET {
            note(&mut control, int(head, word + 4), data);
        }
        let next = len.next_multiple_of(word);
        bytes = bytes.get(next..).unwrap_or_default();
    }
    control
}

#[inline]
fn note(control: &mut Control, kind: i32, data: &[u8]) {
    match kind {
        // Three times: the kernel's, an obsolete one, the card's; 0 is none.
        libc::SCM_TIMESTAMPING if data.len() >= 3 * TIME_BYTES => {
            control.kernel_ns = time_ns(&data[..TIME_BYTES]);
            control.hardware_ns = time_ns(&data[2 * TIME_BYTES..]);
        }
        libc::SO_RXQ_OVFL if data.len() >= 4 => control.drops = Some(int(data, 0) as u32),
        _ => {}
    }
}

#[inline]
fn int(bytes: &[u8], at: usize) -> i32 {
    i32::from_ne_bytes(bytes[at..at + 4].try_into().expect("it is four bytes long"))
}

#[inline]
fn time_ns(bytes: &[u8]) -> Option<u64> {
    let part = |at| {
        u64::from_ne_bytes(
            bytes[at..at + 8]
                .try_into()
                .expect("it is eight bytes long"),
        )
    };
    let ns = part(0).checked_mul(1_000_000_000)?.checked_add(part(8))?;
    (ns != 0).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = (HEAD_BYTES + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    fn timestamps(kernel: (u64, u64), hardware: (u64, u64)) -> Vec<u8> {
        let times = [kernel.0, kernel.1, 9, 9, hardware.0, hardware.1];
        let data: Vec<u8> = times.into_iter().flat_map(u64::to_ne_bytes).collect();
        message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &data)
    }

    #[test]
    fn stamps_and_drops_are_read_in_any_order_beside_others() {
        let drops = message(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &7u32.to_ne_bytes());
        let other = message(libc::IPPROTO_IP, libc::SO_RXQ_OVFL, &8u32.to_ne_bytes());
        let expected = Control {
            kernel_ns: Some(1_000_000_002),
            hardware_ns: Some(3_000_000_004),
            drops: Some(7),
        };
        let timestamps = timestamps((1, 2), (3, 4));
        assert_eq!(read(&[&*timestamps, &*other, &*drops].concat()), expected);
        assert_eq!(read(&[&*drops, &*timestamps, &*other].concat()), expected);
    }

    #[test]
    fn a_time_of_zero_is_none() {
        let control = read(&timestamps((5, 0), (0, 0)));
        assert_eq!(control.kernel_ns, Some(5_000_000_000));
        assert_eq!(control.hardware_ns, None);
        assert_eq!(read(&timestamps((u64::MAX, 0), (0, 0))).kernel_ns, None);
    }

    #[test]
    fn random_bytes_are_parsed_without_a_panic() {
        let drops = message(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &7u32.to_ne_bytes());
        let whole = [&*timestamps((1, 2), (3, 4)), &*drops].concat();
        for cut in 0..whole.len() {
            read(&whole[..cut]);
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                read(&damaged);
            }
        }
        assert_eq!(
            read(&[0; 128]),
            Control::default(),
            "a length of 0 does not hang"
        );
    }
}
