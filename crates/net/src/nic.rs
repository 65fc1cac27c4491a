//! Capabilities that the driver of a network card reports: timestamps, the longest packet.

use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::ptr;

/// Sources of timestamps for the packets of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// Whether the card timestamps every received packet, at the wire; false for cards that timestamp PTP packets only.
    pub hardware: bool,
    /// Whether the kernel timestamps each packet when the driver delivers it.
    pub software: bool,
    /// Number of the card's clock, `/dev/ptpN`; `None` if it has none.
    pub clock: Option<u32>,
}

/// Whether an interface is a bond, whose cards have the frames.
pub fn is_bond(interface: &str) -> bool {
    std::path::Path::new("/sys/class/net")
        .join(interface)
        .join("bonding")
        .exists()
}

/// Maximum length of an interface's name, bytes, without the final zero (`IFNAMSIZ` - 1).
const NAME_BYTES_MAX: usize = 15;
/// Command of `SIOCETHTOOL` that returns `struct ethtool_ts_info` (`linux/ethtool.h`).
const ETHTOOL_GET_TS_INFO: u32 = 0x41;
/// `linux/sockios.h`.
const SIOCETHTOOL: u32 = 0x8946;
const SIOCGIFMTU: u32 = 0x8921;
const SIOCGIFINDEX: u32 = 0x8933;

/// `struct ethtool_ts_info` of `linux/ethtool.h`.
#[repr(C)]
#[derive(Debug, Default)]
struct TsInfo {
    command: u32,
    so_timestamping: u32,
    phc_index: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

/// `struct ifreq` of `linux/if.h`: a name, and a union of 24 bytes of which a pointer or a number is used.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES_MAX + 1],
    data: Data,
    rest: [u64; 2],
}

#[repr(C)]
union Data {
    info: *mut TsInfo,
    number: i32,
}

impl Request {
    /// Asks about an interface; a name that cannot be one is unknown (`ENODEV`).
    fn new(interface: &str, data: Data) -> io::Result<Request> {
        let bytes = interface.as_bytes();
        if bytes.is_empty() || bytes.len() > NAME_BYTES_MAX || bytes.contains(&0) {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let mut name = [0; NAME_BYTES_MAX + 1];
        name[..bytes.len()].copy_from_slice(bytes);
        let rest = [0; 2];
        Ok(Request { name, data, rest })
    }
}

const _: () = assert!(size_of::<TsInfo>() == 44);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Request>() == 40);

/// Timestamping capabilities of an interface, from its driver. Needs no privileges.
///
/// # Errors
/// The interface does not exist (`ENODEV`), or its driver does not report capabilities (`EOPNOTSUPP`).
pub fn timestamps(interface: &str) -> io::Result<Timestamps> {
    let mut info = TsInfo {
        command: ETHTOOL_GET_TS_INFO,
        ..TsInfo::default()
    };
    let data = Data {
        info: &raw mut info,
    };
    ask(SIOCETHTOOL, &mut Request::new(interface, data)?)?;
    Ok(judge(&info))
}

/// Index of an interface. Needs no privileges.
///
/// # Errors
/// The interface does not exist (`ENODEV`).
pub fn index(interface: &str) -> io::Result<u32> {
    let mut request = Request::new(interface, Data { number: 0 })?;
    ask(SIOCGIFINDEX, &mut request)?;
    Ok(number(&request))
}

/// Bytes of the longest packet of an interface, without the header of its link. Needs no privileges.
///
/// # Errors
/// The interface does not exist (`ENODEV`).
pub fn mtu(interface: &str) -> io::Result<u32> {
    let mut request = Request::new(interface, Data { number: 0 })?;
    ask(SIOCGIFMTU, &mut request)?;
    Ok(number(&request))
}

fn number(answered: &Request) -> u32 {
    // SAFETY: any four bytes are a number; the call has written it.
    unsafe { answered.data.number }.cast_unsigned()
}

fn ask(command: u32, request: &mut Request) -> io::Result<()> {
    // Any socket works: the call uses it only to select this network namespace.
    let socket = UdpSocket::bind(("127.0.0.1", 0)).or_else(|_| UdpSocket::bind("[::]:0"))?;
    // SAFETY: the kernel reads the name, which ends with a zero, and writes a number into the union, or for SIOCETHTOOL the
    // 44 bytes of the `info` that it points to; both live until the call returns, and `Request` is as large as the
    // `ifreq` that the kernel copies.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), command as _, ptr::from_mut(request)) };
    match answer {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn judge(info: &TsInfo) -> Timestamps {
    let has = |flags: u32| info.so_timestamping & flags == flags;
    let all_packets = info.rx_filters & (1 << libc::HWTSTAMP_FILTER_ALL) != 0;
    Timestamps {
        hardware: has(libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE)
            && all_packets,
        software: has(libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE),
        clock: u32::try_from(info.phc_index).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_stamped_by_the_kernel() {
        let timestamps = timestamps("lo").expect("every Linux has it");
        assert!(timestamps.software, "{timestamps:?}");
        assert_eq!((timestamps.hardware, timestamps.clock), (false, None));
    }

    #[test]
    fn an_unknown_interface_is_an_error() {
        for name in ["", "nosuch0", "a-name-of-16-byte", "l\0o", "../lo"] {
            let error = timestamps(name).expect_err(name);
            assert_eq!(
                error.raw_os_error(),
                Some(libc::ENODEV),
                "{name:?}: {error}"
            );
            for error in [mtu(name), index(name)].map(|answer| answer.expect_err(name)) {
                assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{name:?}");
            }
        }
        assert_eq!(mtu("lo").expect("every Linux has it"), 65_536);
    }

    #[test]
    fn a_card_stamps_in_hardware_only_if_it_stamps_every_packet() {
        let mut card = TsInfo {
            so_timestamping: libc::SOF_TIMESTAMPING_RX_HARDWARE
                | libc::SOF_TIMESTAMPING_RAW_HARDWARE,
            rx_filters: 1 << libc::HWTSTAMP_FILTER_ALL,
            phc_index: 3,
            ..TsInfo::default()
        };
        let expected = Timestamps {
            hardware: true,
            software: false,
            clock: Some(3),
        };
        assert_eq!(judge(&card), expected);
        card.rx_filters = 1 << 12;
        assert!(!judge(&card).hardware, "only packets of PTP");
        card.rx_filters = 1 << libc::HWTSTAMP_FILTER_ALL;
        card.so_timestamping = libc::SOF_TIMESTAMPING_RX_HARDWARE;
        assert!(!judge(&card).hardware, "the stamp is not handed out");
    }
}
