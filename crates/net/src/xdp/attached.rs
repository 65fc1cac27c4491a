//! A program that is attached to an interface, with a socket for each of its queues.

use super::error::{ATTACHING, Error};
use super::rings::{Frame, Queue, frame_bytes};
use super::{btf, kernel, program};
use crate::nic;
use crate::udp::{Endpoint, Settings, Totals, set_option};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Options that `libc` does not have for each platform, of `asm-generic/socket.h`: packets of a call of busy polling.
const SO_BUSY_POLL_BUDGET: i32 = 70;
const BUSY_POLL_BUDGET: i32 = 64;

/// The kernel's function that asks the card for the time of a frame, from Linux 6.3 on.
const STAMP: &str = "bpf_xdp_metadata_rx_timestamp";

/// How a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the driver, before the kernel has made anything of a frame.
    Driver,
    /// By the kernel, for drivers that have no place for a program.
    Generic,
}

/// An attached program. Dropped, it is detached.
pub(super) struct Attached {
    /// Name and index.
    interface: (String, u32),
    mode: Mode,
    has_stamps: bool,
    /// Closed before the queues: from then on no frame arrives in the rings.
    _link: OwnedFd,
    queues: Vec<Queue>,
}

impl Attached {
    /// Opens a socket for each queue, and attaches the program, in the wanted mode or in the generic one. A queue that another
    /// process has is awaited for at most `patience`.
    pub fn new(
        interface: (String, u32),
        endpoints: &[Endpoint],
        settings: &Settings,
        wanted: Mode,
        patience: Duration,
    ) -> Result<Attached, Error> {
        let name = interface.0.as_str();
        let refused = |what| move |error| Error::refused(what, name, error);
        if program::comparisons(endpoints) > program::COMPARISONS_MAX {
            return Err(Error::TooManyEndpoints {
                max: program::COMPARISONS_MAX,
            });
        }
        if wanted == Mode::Driver && nic::is_bond(name) {
            return Err(Error::Bond {
                interface: name.to_owned(),
            });
        }
        let map = kernel::map().map_err(refused("making a map"))?;
        let assemble = |stamp| program::assemble(map.as_raw_fd(), endpoints, stamp);
        // With the card's time, if kernel and driver have it; the generic mode has none.
        let asks = settings.timestamps && wanted == Mode::Driver;
        let stamped = asks.then(stamp_function).flatten();
        let stamped =
            stamped.and_then(|stamp| kernel::load(&assemble(Some(stamp)), Some(interface.1)).ok());
        let queues = queues(&interface, map.as_fd(), settings, wanted, patience)?;
        let stamped =
            stamped.and_then(|program| kernel::attach(program.as_fd(), interface.1, false).ok());
        let has_stamps = stamped.is_some();
        let (link, mode) = match stamped {
            Some(link) => (link, Mode::Driver),
            None => {
                let program = kernel::load(&assemble(None), None);
                let program = program.map_err(refused("loading the program"))?;
                let attached = attach(program.as_fd(), interface.1, wanted);
                attached.map_err(refused(ATTACHING))?
            }
        };
        Ok(Attached {
            interface,
            mode,
            has_stamps,
            _link: link,
            queues,
        })
    }

    /// Whether the interface still exists; one that cannot be asked about does.
    pub fn is_there(&self) -> bool {
        let (name, index) = &self.interface;
        match nic::index(name) {
            Ok(now) => now == *index,
            Err(error) => error.raw_os_error() != Some(libc::ENODEV),
        }
    }

    /// How the program is attached.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the program asks the card for the time of each frame.
    pub fn has_stamps(&self) -> bool {
        self.has_stamps
    }

    /// Warning if the driver of the interface lacks XDP or zero copy.
    pub fn warning(&self, wanted: Mode) -> Option<String> {
        let (name, _) = &self.interface;
        if self.mode != wanted {
            return Some(format!(
                "the driver of interface {name} runs no XDP program, so the kernel does (generic mode); 'ethtool -i {name}' names the driver"
            ));
        }
        let mut queues = self.queues.iter();
        let copies = queues.any(|queue| !kernel::is_zero_copy(queue.fd()));
        // The generic mode always copies.
        (copies && wanted == Mode::Driver).then(|| {
            format!("the driver of interface {name} has no zero copy: the kernel copies each packet once")
        })
    }

    /// The next frame of any queue, in turn.
    #[inline]
    pub fn next(&mut self, turn: &mut usize) -> Option<(usize, Frame)> {
        for _ in 0..self.queues.len() {
            let queue = *turn;
            *turn = if queue + 1 >= self.queues.len() {
                0
            } else {
                queue + 1
            };
            if let Some(frame) = self.queues.get_mut(queue).and_then(Queue::next) {
                return Some((queue, frame));
            }
        }
        None
    }

    /// The bytes of the last frame of a queue.
    #[inline]
    pub fn bytes(&self, queue: usize, frame: Frame) -> &[u8] {
        self.queues[queue].bytes(frame)
    }

    /// The card's time of the last frame of a queue, nanoseconds of its clock; `None` if it has none.
    #[inline]
    pub fn stamp_ns(&self, queue: usize, frame: Frame) -> Option<u64> {
        let stamp = self.has_stamps.then(|| self.queues[queue].before(frame))?;
        Some(u64::from_ne_bytes(stamp)).filter(|ns| *ns != 0)
    }

    /// Kernel statistics of the rings.
    pub fn totals(&self) -> Totals {
        let all = self.queues.iter();
        let each = all.filter_map(|queue| kernel::statistics(queue.fd()).ok());
        each.fold(Totals::default(), |sum, one| Totals {
            // Packets alone: a card that writes into the frames itself makes the kernel count looks without a free frame, and the card
            // counts its own drops (`ethtool -S`).
            dropped_kernel: sum.dropped_kernel + one.rx_dropped + one.rx_ring_full,
            ring_empty: sum.ring_empty + one.rx_fill_ring_empty_descs,
            ..sum
        })
    }
}

/// The number of the kernel's function; looked for once, since the description of a kernel has megabytes.
fn stamp_function() -> Option<u32> {
    static FOUND: OnceLock<Option<u32>> = OnceLock::new();
    *FOUND.get_or_init(|| btf::function(STAMP))
}

/// A bound socket for each queue of the interface, in the map.
fn queues(
    (name, index): &(String, u32),
    map: BorrowedFd<'_>,
    settings: &Settings,
    wanted: Mode,
    patience: Duration,
) -> Result<Vec<Queue>, Error> {
    let refused = |what| move |error| Error::refused(what, name, error);
    let mtu = nic::mtu(name).map_err(refused("reading the longest packet"))?;
    let bytes = frame_bytes(mtu).ok_or_else(|| Error::Mtu {
        interface: name.clone(),
        mtu,
    })?;
    let flags = libc::XDP_USE_NEED_WAKEUP
        | match wanted {
            Mode::Driver => 0,
            Mode::Generic => libc::XDP_COPY,
        };
    let mut queues = Vec::new();
    for number in 0..kernel::QUEUES_MAX {
        let queue = Queue::new(bytes, settings.busy_poll_us > 0)
            .map_err(refused("reserving memory for packets"))?;
        match bind(&queue, (*index, number), flags, patience) {
            // There are no more queues.
            Err(error) if number > 0 && error.raw_os_error() == Some(libc::EINVAL) => break,
            bound => bound.map_err(refused("binding to a queue"))?,
        }
        poll_busily(&queue, settings.busy_poll_us);
        kernel::set(map, number, queue.fd()).map_err(refused("adding a queue to the map"))?;
        queues.push(queue);
    }
    Ok(queues)
}

/// Binds a socket to a queue of an interface. The kernel frees a queue a moment after its last socket was closed, as by a gateway that is started again.
fn bind(queue: &Queue, to: (u32, u32), flags: u16, patience: Duration) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match kernel::bind(queue.fd(), to.0, to.1, flags) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && start.elapsed() < patience => {
                thread::sleep(Duration::from_millis(1));
            }
            bound => return bound,
        }
    }
}

/// Lets our calls drive the card in place of its interrupts, where the kernel has that.
fn poll_busily(queue: &Queue, us: u32) {
    if us == 0 {
        return;
    }
    for (option, value) in [
        (libc::SO_PREFER_BUSY_POLL, 1),
        (libc::SO_BUSY_POLL, us.cast_signed()),
        (SO_BUSY_POLL_BUDGET, BUSY_POLL_BUDGET),
    ] {
        // Refused by older kernels: packets come by interrupts then.
        let _ = set_option(queue.fd(), libc::SOL_SOCKET, option, value);
    }
}

/// In the wanted mode, or in the generic one if the driver has no place for a program.
fn attach(program: BorrowedFd<'_>, interface: u32, wanted: Mode) -> io::Result<(OwnedFd, Mode)> {
    if wanted == Mode::Driver {
        match kernel::attach(program, interface, false) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            attached => return attached.map(|link| (link, Mode::Driver)),
        }
    }
    kernel::attach(program, interface, true).map(|link| (link, Mode::Generic))
}
