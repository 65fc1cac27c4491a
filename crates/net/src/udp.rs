//! UDP packets from sockets: multicast groups and addresses of this host.
//!
//! Each endpoint has its own socket, bound to its address, so that the address identifies feed and
//! line of a packet. `docs/design/sockets.md` has the reasons for the socket setup and the cost of
//! each way of receiving.

mod changes;
pub(crate) mod control;
mod error;
mod interface;
#[allow(unsafe_code, reason = "calls of the kernel take pointers")]
pub(crate) mod kernel;
mod membership;
mod sender;
mod settings;
mod socket;

pub use error::{Error, Warning};
pub use sender::{Sender, SenderSettings, Sent};
pub use settings::{Endpoint, Settings, Totals};

pub(crate) use control::Control;
pub(crate) use interface::named as named_interface;
pub(crate) use kernel::set_option;

use crate::{Look, Packet, PacketSource, Received, TimestampSource};
use kernel::Slots;
use membership::Membership;
use socket::Socket;
use std::io;
use std::net::SocketAddrV4;
use std::time::{SystemTime, UNIX_EPOCH};

/// Lends packets from sockets; never waits.
///
/// Each call polls the urgent sockets first, in turn, then one of the others. While the urgent ones
/// always have packets, one of the others is polled after every 32 calls. All memory is allocated
/// at the start.
///
/// `receive_ns` never decreases: a packet polled after one with a later timestamp gets that later
/// one. It follows the host's clock only when that was set back by more than a second.
pub struct UdpSource {
    /// The urgent ones first.
    sockets: Vec<Socket>,
    urgent: usize,
    slots: Slots,
    /// Pending packets of the last receive call: socket, next index, number.
    from: usize,
    next: usize,
    count: usize,
    /// Next urgent socket and next other socket to poll.
    turn_urgent: usize,
    turn_other: usize,
    /// Receive calls of urgent sockets since one of the others was polled.
    urgent_in_a_row: u32,
    polled_ns: u64,
    latest: Latest,
    timestamps: bool,
    membership: Membership,
    warnings: Vec<Warning>,
}

/// Urgent receive calls after which one of the others is polled.
const URGENT_IN_A_ROW_MAX: u32 = 32;

/// Maximum number of discarded packets per call, so that it ends.
const DISCARDED_MAX: usize = 64;

/// A timestamp further back than this means that the clock was set back.
const SET_BACK_NS: u64 = 1_000_000_000;

/// Maximum difference of the card's clock from the kernel's. A larger one is another time scale,
/// such as TAI.
const TIMESTAMPS_APART_MAX_NS: u64 = 1_000_000_000;

/// Checks that an interface of this host, by name or address, is up and takes multicast; without one routes decide.
///
/// # Errors
/// The problem, and the fix.
pub fn check_interface(wanted: Option<&str>) -> Result<(), Error> {
    interface::address_of(wanted).map(drop)
}

impl UdpSource {
    /// Opens a socket for each endpoint and joins its group.
    ///
    /// # Errors
    /// An interface or address does not exist, a port is in use, or a join fails.
    pub fn open(endpoints: &[Endpoint], settings: &Settings) -> Result<UdpSource, crate::Error> {
        if endpoints.is_empty() {
            return Err(Error::NoEndpoint.into());
        }
        let mut warnings = Vec::new();
        let membership = Membership::watch(settings);
        let mut ordered: Vec<&Endpoint> = endpoints.iter().collect();
        ordered.sort_by_key(|endpoint| !endpoint.urgent);
        let sockets: Result<Vec<_>, _> = ordered
            .into_iter()
            .map(|endpoint| Socket::open(endpoint, settings, &mut warnings))
            .collect();
        Ok(UdpSource {
            sockets: sockets?,
            urgent: endpoints.iter().filter(|endpoint| endpoint.urgent).count(),
            slots: Slots::new(settings.batch.max(1), settings.packet_bytes_max),
            from: 0,
            next: 0,
            count: 0,
            turn_urgent: 0,
            turn_other: 0,
            urgent_in_a_row: 0,
            polled_ns: 0,
            latest: Latest::default(),
            timestamps: settings.timestamps,
            membership,
            warnings,
        })
    }

    /// Settings that were only partly granted.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Totals over all endpoints.
    pub fn totals(&self) -> Totals {
        let each = self.endpoints();
        let sum = each.fold(Totals::default(), |sum, (_, one)| sum.plus(one));
        let lost = self.sockets.iter().filter(|socket| socket.is_lost());
        Totals {
            groups_lost: lost.count() as u64,
            groups_rejoined: self.membership.rejoined(),
            ..sum
        }
    }

    /// Each bound endpoint with its totals; urgent ones first.
    pub fn endpoints(&self) -> impl Iterator<Item = (SocketAddrV4, Totals)> + '_ {
        self.sockets
            .iter()
            .map(|socket| (socket.address, socket.totals))
    }

    /// Queries the kernel's drop counts: one system call for each socket, so not for the path. A
    /// received packet reports the same without a call.
    pub fn ask_for_drops(&mut self) {
        self.sockets.iter_mut().for_each(Socket::ask_for_drops);
    }

    /// Polls sockets until one has a packet. `false` if there is none.
    #[inline]
    fn poll(&mut self) -> Result<bool, Error> {
        let others = self.sockets.len() - self.urgent;
        if others > 0 && self.urgent_in_a_row >= URGENT_IN_A_ROW_MAX && self.poll_other(others)? {
            return Ok(true);
        }
        for _ in 0..self.urgent {
            let turn = self.turn_urgent;
            self.turn_urgent = if turn + 1 == self.urgent { 0 } else { turn + 1 };
            if self.poll_one(turn)? {
                self.urgent_in_a_row += 1;
                return Ok(true);
            }
        }
        match others {
            0 => Ok(false),
            _ => self.poll_other(others),
        }
    }

    fn poll_other(&mut self, others: usize) -> Result<bool, Error> {
        let turn = self.turn_other;
        self.turn_other = if turn + 1 == others { 0 } else { turn + 1 };
        self.urgent_in_a_row = 0;
        self.poll_one(self.urgent + turn)
    }

    /// One receive call.
    #[inline]
    fn poll_one(&mut self, from: usize) -> Result<bool, Error> {
        let socket = &mut self.sockets[from];
        match self.slots.receive(socket.fd()) {
            Ok(count) => {
                (self.from, self.next, self.count) = (from, 0, count);
                if !self.timestamps {
                    self.polled_ns = now_ns();
                }
                Ok(count > 0)
            }
            Err(error) => socket.note_error(error).map(|()| false),
        }
    }

    /// Checks the next packet of the last receive call. `None` if it is discarded.
    #[inline]
    fn judge(&mut self, index: usize) -> Option<Found> {
        let socket = &mut self.sockets[self.from];
        let arrived = self.slots.get(index);
        let control = control::read(arrived.control);
        if let Some(drops) = control.drops {
            socket.note_drops(drops);
        }
        if !socket.accepts(*arrived.source.ip()) {
            socket.totals.foreign_source += 1;
            return None;
        }
        if arrived.truncated {
            socket.totals.truncated += 1;
            return None;
        }
        socket.totals.packets += 1;
        socket.totals.bytes += arrived.payload.len() as u64;
        let (timestamp_ns, timestamp) = match self.timestamps {
            true => best_timestamp(&control, &mut socket.totals),
            false => (self.polled_ns, TimestampSource::Poll),
        };
        Some(Found {
            index,
            stamp_ns: timestamp_ns,
            receive_ns: self.latest.raise(timestamp_ns, &mut socket.totals),
            timestamp,
        })
    }
}

/// The latest time of receipt.
#[derive(Debug, Default)]
pub(crate) struct Latest(u64);

impl Latest {
    /// This time, or that of an earlier packet if it was later; a clock that was set back is followed.
    #[inline]
    pub fn raise(&mut self, ns: u64, totals: &mut Totals) -> u64 {
        if self.0.saturating_sub(ns) > SET_BACK_NS {
            self.0 = ns;
        }
        if ns < self.0 {
            totals.timestamps_raised += 1;
        }
        self.0 = self.0.max(ns);
        self.0
    }
}

/// A packet that was found, until the next one is looked for.
#[derive(Debug)]
pub(crate) struct Found {
    pub index: usize,
    /// Its own time, also if it is before that of an earlier packet.
    pub stamp_ns: u64,
    pub receive_ns: u64,
    pub timestamp: TimestampSource,
}

impl UdpSource {
    /// The next accepted packet.
    #[inline]
    pub(crate) fn find(&mut self) -> Result<Look<Found>, Error> {
        for _ in 0..DISCARDED_MAX {
            if self.next == self.count && !self.poll()? {
                return Ok(Look::Nothing);
            }
            let index = self.next;
            self.next += 1;
            if let Some(found) = self.judge(index) {
                return Ok(Look::Found(found));
            }
        }
        Ok(Look::Refused)
    }

    /// The packet that was found last.
    #[inline]
    pub(crate) fn lend(&self, found: &Found) -> Packet<'_> {
        let arrived = self.slots.get(found.index);
        Packet {
            receive_ns: found.receive_ns,
            timestamp: found.timestamp,
            destination: self.sockets[self.from].address,
            source: arrived.source,
            payload: arrived.payload,
        }
    }
}

impl PacketSource for UdpSource {
    /// The next packet, [`Received::Nothing`] or [`Received::Refused`]; never [`Received::End`].
    #[inline]
    fn receive(&mut self) -> Result<Received<'_>, crate::Error> {
        Ok(match self.find()? {
            Look::Found(found) => Received::Packet(self.lend(&found)),
            Look::Nothing => Received::Nothing,
            Look::Refused => Received::Refused,
        })
    }

    fn look_after(&mut self) {
        self.membership.look(&mut self.sockets);
    }

    fn tally(&mut self) -> Totals {
        self.ask_for_drops();
        self.totals()
    }
}

impl Socket {
    /// Handles a receive error: no packet is not an error; temporary errors are counted; others are
    /// bugs.
    #[inline]
    fn note_error(&mut self, error: io::Error) -> Result<(), Error> {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(()),
            Some(libc::EBADF | libc::ENOTSOCK | libc::EFAULT | libc::EINVAL) => {
                Err(socket::refused("receiving", self.address, error))
            }
            _ => {
                self.totals.receive_errors += 1;
                Ok(())
            }
        }
    }
}

/// The card's timestamp, else the kernel's, else the present time.
#[inline]
pub(crate) fn best_timestamp(control: &Control, totals: &mut Totals) -> (u64, TimestampSource) {
    match (control.hardware_ns, control.kernel_ns) {
        (None, Some(kernel_ns)) => (kernel_ns, TimestampSource::Kernel),
        (Some(hardware_ns), kernel_ns) => {
            let near_ns = kernel_ns.unwrap_or_else(now_ns);
            if hardware_ns.abs_diff(near_ns) <= TIMESTAMPS_APART_MAX_NS {
                return (hardware_ns, TimestampSource::Hardware);
            }
            totals.timestamps_implausible += 1;
            let source = match kernel_ns {
                Some(_) => TimestampSource::Kernel,
                None => TimestampSource::Poll,
            };
            (near_ns, source)
        }
        (None, None) => {
            totals.timestamps_missing += 1;
            (now_ns(), TimestampSource::Poll)
        }
    }
}

/// The host's clock, nanoseconds since 1970; no system call if the kernel maps it.
pub(crate) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL_NS: u64 = 1_800_000_000_000_000_000;

    fn timestamp(
        hardware_ns: Option<u64>,
        kernel_ns: Option<u64>,
    ) -> ((u64, TimestampSource), Totals) {
        let control = Control {
            kernel_ns,
            hardware_ns,
            drops: None,
        };
        let mut totals = Totals::default();
        (best_timestamp(&control, &mut totals), totals)
    }

    #[test]
    fn the_cards_stamp_is_taken_unless_its_clock_is_on_another_time_scale() {
        let near_ns = KERNEL_NS - 900;
        let (best, totals) = timestamp(Some(near_ns), Some(KERNEL_NS));
        assert_eq!(best, (near_ns, TimestampSource::Hardware));
        assert_eq!(totals, Totals::default());
        // TAI is 37 seconds ahead.
        let tai_ns = KERNEL_NS + 37_000_000_000;
        let (best, totals) = timestamp(Some(tai_ns), Some(KERNEL_NS));
        assert_eq!(best, (KERNEL_NS, TimestampSource::Kernel));
        assert_eq!(totals.timestamps_implausible, 1);
    }

    #[test]
    fn a_packet_without_a_stamp_has_the_time_of_the_poll_and_is_counted() {
        let before_ns = now_ns();
        let ((ns, source), totals) = timestamp(None, None);
        assert_eq!(
            (source, totals.timestamps_missing),
            (TimestampSource::Poll, 1)
        );
        assert!((before_ns..=now_ns()).contains(&ns));
        // A clock that counts from the start of the card, without a kernel timestamp.
        let ((ns, source), totals) = timestamp(Some(5_000), None);
        assert_eq!(
            (source, totals.timestamps_implausible),
            (TimestampSource::Poll, 1)
        );
        assert!((before_ns..=now_ns()).contains(&ns));
    }
}
