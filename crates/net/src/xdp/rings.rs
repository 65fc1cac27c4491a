//! The memory that is shared with the kernel: frames, the ring of those received, and the ring of those that are free.

use super::{kernel, program};
use libc::{c_int, off_t, xdp_desc, xdp_ring_offset};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames of a queue, and places of each ring: a power of two.
const FRAMES: u32 = 4_096;

/// Bytes of a huge page of the usual size.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Bytes that the kernel leaves free before a packet (`XDP_PACKET_HEADROOM`).
const HEADROOM_BYTES: u32 = 256;

/// Packets after which their frames are returned to the kernel, and our read position is published to it.
const BATCH: u32 = 16;

/// Bytes of the header of Ethernet with a tag.
const ETHERNET_BYTES: u32 = 18;

/// Bytes of a small frame, and of one that fills a page.
const FRAME_BYTES: [u32; 2] = [2_048, 4_096];

/// Bytes of the longest packet, without the header of Ethernet.
pub const PACKET_BYTES_MAX: u32 = FRAME_BYTES[1] - HEADROOM_BYTES - ETHERNET_BYTES;

/// Bytes of a frame for packets of this length, without the header of Ethernet; `None` if a page is too small for it.
pub(super) fn frame_bytes(packet_bytes: u32) -> Option<u32> {
    let needed = packet_bytes.saturating_add(HEADROOM_BYTES + ETHERNET_BYTES);
    FRAME_BYTES.into_iter().find(|bytes| needed <= *bytes)
}

/// Memory of a mapping, until it is dropped.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Maps a part of a socket.
    fn of(socket: BorrowedFd<'_>, bytes: usize, offset: off_t) -> io::Result<Mapping> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Mapping::new(bytes, flags, socket.as_raw_fd(), offset)
    }

    /// Maps private memory, in huge pages where the kernel gives them: in small ones, each frame would need an entry of its
    /// own in the processor's table of pages.
    fn private(bytes: usize) -> io::Result<Mapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let whole = Mapping::new(bytes + HUGE_PAGE_BYTES, flags, -1, 0)?;
        let before = whole.start.as_ptr().align_offset(HUGE_PAGE_BYTES);
        let start = whole.at(before as u64, bytes);
        let unmap = |start: NonNull<u8>, bytes| {
            // SAFETY: an end of our own mapping, which nothing borrows.
            unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
        };
        unmap(whole.start, before);
        unmap(
            whole.at((before + bytes) as u64, 0),
            HUGE_PAGE_BYTES - before,
        );
        std::mem::forget(whole);
        // SAFETY: inside of our own mapping.
        unsafe {
            // A kernel without huge pages refuses, and small ones do.
            libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE);
            ptr::write_bytes(start.as_ptr(), 0, bytes);
        }
        Ok(Mapping { start, bytes })
    }

    fn new(bytes: usize, flags: c_int, fd: c_int, offset: off_t) -> io::Result<Mapping> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, fd, offset) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => {
                Ok(Mapping { start, bytes })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// A part of it.
    fn at(&self, offset: u64, bytes: usize) -> NonNull<u8> {
        let offset = usize::try_from(offset).expect("64 bits");
        let end = offset.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= self.bytes),
            "the kernel places a ring inside of its mapping"
        );
        // SAFETY: inside of the mapping, by the assertion.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A ring of `FRAMES` places of `T`: one side writes places and then the producer's number, the other reads places and then
/// writes the consumer's.
struct Ring<T> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    places: NonNull<T>,
    _memory: Mapping,
}

impl<T: Copy> Ring<T> {
    fn new(
        socket: BorrowedFd<'_>,
        option: c_int,
        page: off_t,
        offsets: impl Fn(&libc::xdp_mmap_offsets) -> xdp_ring_offset,
    ) -> io::Result<Ring<T>> {
        kernel::set_option(socket, option, &FRAMES)?;
        let at = offsets(&kernel::offsets(socket)?);
        let places_bytes = FRAMES as usize * size_of::<T>();
        let bytes = usize::try_from(at.desc).expect("64 bits") + places_bytes;
        let memory = Mapping::of(socket, bytes, page)?;
        Ok(Ring {
            producer: memory.at(at.producer, 4).cast(),
            consumer: memory.at(at.consumer, 4).cast(),
            flags: memory.at(at.flags, 4).cast(),
            places: memory.at(at.desc, places_bytes).cast(),
            _memory: memory,
        })
    }

    fn number(&self, of: NonNull<AtomicU32>) -> &AtomicU32 {
        // SAFETY: four bytes of the mapping, which lives as long as `self`; the kernel aligns them to a cache line, and
        // changes them as an atomic number.
        unsafe { of.as_ref() }
    }

    fn place(&self, number: u32) -> NonNull<T> {
        // SAFETY: below `FRAMES`, so inside of the mapping.
        unsafe { self.places.add((number & (FRAMES - 1)) as usize) }
    }
}

/// The socket of a queue with its memory.
pub(super) struct Queue {
    frames: Mapping,
    received: Ring<xdp_desc>,
    free: Ring<u64>,
    /// Ring in which the kernel returns sent frames: always empty, but a socket is not bound without it.
    _sent: Ring<u64>,
    /// The next place to read, and the end of the places that the kernel had written at our last look.
    next: u32,
    written: u32,
    /// Frames given to the kernel, and those of which it knows.
    given: u32,
    known: u32,
    /// The frame of the packet that is read now.
    lent: Option<u64>,
    wakes_always: bool,
    socket: OwnedFd,
}

// SAFETY: the pointers lead into mappings that move with their owner without changing their address; no other value or
// thread of this process shares these mappings.
unsafe impl Send for Queue {}

/// A received frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    at: u64,
    bytes: u32,
}

impl Queue {
    /// A socket with its memory, not bound yet. `wakes_always` asks the driver in each empty poll.
    pub fn new(frame_bytes: u32, wakes_always: bool) -> io::Result<Queue> {
        let socket = kernel::socket()?;
        let fd = socket.as_fd();
        let frames = Mapping::private((FRAMES * frame_bytes) as usize)?;
        let memory = libc::xdp_umem_reg {
            addr: frames.start.as_ptr().expose_provenance() as u64,
            len: u64::from(FRAMES * frame_bytes),
            chunk_size: frame_bytes,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        kernel::set_option(fd, libc::XDP_UMEM_REG, &memory)?;
        let page = |page| off_t::try_from(page).expect("below 2^63");
        let free_page = page(libc::XDP_UMEM_PGOFF_FILL_RING);
        let sent_page = page(libc::XDP_UMEM_PGOFF_COMPLETION_RING);
        let free = Ring::new(fd, libc::XDP_UMEM_FILL_RING, free_page, |all| all.fr)?;
        let sent = Ring::new(fd, libc::XDP_UMEM_COMPLETION_RING, sent_page, |all| all.cr)?;
        let received = Ring::new(fd, libc::XDP_RX_RING, libc::XDP_PGOFF_RX_RING, |all| all.rx)?;
        let mut queue = Queue {
            frames,
            received,
            free,
            _sent: sent,
            next: 0,
            written: 0,
            given: 0,
            known: 0,
            lent: None,
            wakes_always,
            socket,
        };
        for frame in 0..FRAMES {
            queue.give(u64::from(frame) * u64::from(frame_bytes));
        }
        queue.share();
        Ok(queue)
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The next frame; the one before is the kernel's again. `None` if there is none.
    #[inline]
    pub fn next(&mut self) -> Option<Frame> {
        if let Some(frame) = self.lent.take() {
            self.give(frame);
            if self.next.is_multiple_of(BATCH) {
                self.share();
            }
        }
        if self.next == self.written {
            self.share();
            self.wake();
            self.written = self
                .received
                .number(self.received.producer)
                .load(Ordering::Acquire);
            if self.next == self.written {
                return None;
            }
        }
        // SAFETY: the kernel has written the place before it counted it, and does not touch it until we say that it is read.
        let place = unsafe { self.received.place(self.next).read() };
        self.next = self.next.wrapping_add(1);
        self.lent = Some(place.addr);
        Some(Frame {
            at: place.addr,
            bytes: place.len,
        })
    }

    /// The bytes of the frame that [`Queue::next`] returned last.
    #[inline]
    pub fn bytes(&self, frame: Frame) -> &[u8] {
        assert_eq!(self.lent, Some(frame.at), "only the last frame is ours");
        let start = self.frames.at(frame.at, frame.bytes as usize);
        // SAFETY: inside of the frames, of which every byte has a value; the kernel writes to this one only after it was
        // given back, which needs `self` exclusively.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), frame.bytes as usize) }
    }

    /// The bytes before that frame, which the program has written.
    #[inline]
    pub fn before(&self, frame: Frame) -> [u8; program::STAMP_BYTES as usize] {
        assert_eq!(self.lent, Some(frame.at), "only the last frame is ours");
        const BYTES: usize = program::STAMP_BYTES as usize;
        let at = frame.at.checked_sub(BYTES as u64);
        let start = self
            .frames
            .at(at.expect("frames begin behind the headroom"), BYTES);
        // SAFETY: inside of the frames, as `bytes`.
        unsafe { start.cast::<[u8; BYTES]>().read_unaligned() }
    }

    /// Puts a frame into the ring of free ones, which has a place for each.
    #[inline]
    fn give(&mut self, frame: u64) {
        // SAFETY: the place is ours until the producer's number says that it is written; there are as many as frames.
        unsafe { self.free.place(self.given).write(frame) };
        self.given = self.given.wrapping_add(1);
    }

    /// Publishes the positions of given and read frames to the kernel.
    #[inline]
    fn share(&mut self) {
        // Its cache lines are the kernel's, too: they are touched only for news.
        if self.known == self.given {
            return;
        }
        self.known = self.given;
        self.free
            .number(self.free.producer)
            .store(self.given, Ordering::Release);
        self.received
            .number(self.received.consumer)
            .store(self.next, Ordering::Release);
    }

    /// Calls the kernel if the driver waits for it.
    #[inline]
    fn wake(&self) {
        let flags = self.free.number(self.free.flags).load(Ordering::Relaxed);
        if self.wakes_always || flags & libc::XDP_RING_NEED_WAKEUP != 0 {
            kernel::wake(self.fd());
        }
    }
}
