//! Errors of AF_XDP, with the fix.

use std::io;

/// AF_XDP cannot be used. Printed as one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Frames are those of one interface.
    #[error(
        "receive = \"xdp\" reads the frames of one interface, and none of this host is named; set interface"
    )]
    NoInterface,
    /// More endpoints and sources than a program compares.
    #[error(
        "an XDP program has at most {max} endpoints with their sources; split the channel, or set receive = \"sockets\""
    )]
    TooManyEndpoints {
        /// The limit.
        max: usize,
    },
    /// The program of a bond runs at its cards, and frames of its cards reach no socket of the bond: all would be lost.
    #[error(
        "interface {interface} is a bond, whose frames AF_XDP does not deliver; name its card in use ('cat /proc/net/bonding/{interface}'), or set receive = \"xdp-generic\" or \"sockets\""
    )]
    Bond {
        /// Its name.
        interface: String,
    },
    /// A packet may be longer than a page.
    #[error(
        "interface {interface} has packets of up to {mtu} bytes, more than AF_XDP puts into a page; 'ip link set {interface} mtu 1500' if its venues send no longer ones, or set receive = \"sockets\""
    )]
    Mtu {
        /// Its name.
        interface: String,
        /// Its longest packet.
        mtu: u32,
    },
    /// A call was refused.
    #[error(
        "AF_XDP on interface {interface}: {what} failed ({error}); {fix}, or set receive = \"sockets\""
    )]
    Refused {
        /// The action.
        what: &'static str,
        /// The interface.
        interface: String,
        /// The kernel's reason.
        error: io::Error,
        /// Possible fix.
        fix: String,
    },
}

/// The last step, at which drivers refuse.
pub(super) const ATTACHING: &str = "attaching the program";

impl Error {
    /// A call that the kernel refused.
    pub(super) fn refused(what: &'static str, interface: &str, error: io::Error) -> Error {
        let fix = match error.raw_os_error() {
            Some(libc::EINVAL | libc::ENOMEM) if what == ATTACHING => format!(
                "the driver refuses programs with long packets, with LRO or with few queues: 'ip link set {interface} mtu 1500', 'ethtool -K {interface} lro off', or set receive = \"xdp-generic\""
            ),
            Some(libc::EPERM | libc::EACCES) => {
                "give the program CAP_NET_ADMIN, CAP_BPF, CAP_NET_RAW (before Linux 6.7 CAP_PERFMON, too) and the call bpf".to_owned()
            }
            Some(libc::EBUSY | libc::EEXIST) => format!(
                "another program has it: 'ip link show {interface}' names its XDP program, 'ip link set dev {interface} xdp off' removes one without an owner"
            ),
            Some(libc::ENOBUFS | libc::ENOMEM) => {
                "raise the memory that may be locked ('ulimit -l', LimitMEMLOCK)".to_owned()
            }
            Some(libc::EOPNOTSUPP) => {
                "the driver has no AF_XDP: set receive = \"xdp-generic\"".to_owned()
            }
            Some(libc::EAFNOSUPPORT | libc::ENOSYS | libc::EINVAL) => {
                "it needs Linux 5.9 with CONFIG_XDP_SOCKETS, and AF_XDP in RestrictAddressFamilies of its unit".to_owned()
            }
            _ => "see the kernel's log (dmesg)".to_owned(),
        };
        Error::Refused {
            what,
            interface: interface.to_owned(),
            error,
            fix,
        }
    }

    /// Whether a setting is wrong.
    pub fn is_of_a_setting(&self) -> bool {
        matches!(
            self,
            Error::NoInterface
                | Error::TooManyEndpoints { .. }
                | Error::Bond { .. }
                | Error::Mtu { .. }
        )
    }
}
