//! Subscriptions: streams that this client receives.

use crate::shared::{Added, Core};
use crate::{Error, raw};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::rc::Rc;

/// A message, or a fragment of one, valid during its handler.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    bytes: &'a [u8],
    header: NonNull<raw::Header>,
}

/// Flags of a frame: it begins a message, it ends one.
const BEGINS: u8 = 0x80;
const ENDS: u8 = 0x40;

impl<'a> Fragment<'a> {
    /// The bytes, in the mapped log.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Position of the stream after it, bytes.
    #[inline]
    pub fn position(&self) -> i64 {
        // SAFETY: the header is valid as long as the handler runs.
        unsafe { raw::aeron_header_position(self.header.as_ptr()) }
    }

    /// Session id of the sending publication.
    #[inline]
    pub fn session_id(&self) -> i32 {
        self.values().session_id
    }

    /// Whether the fragment starts and whether it ends a message. Messages of [`Subscription::poll`] are complete.
    #[inline]
    pub fn begins_and_ends(&self) -> (bool, bool) {
        let flags = self.values().flags;
        (flags & BEGINS != 0, flags & ENDS != 0)
    }

    fn values(&self) -> raw::HeaderValues {
        let mut values = raw::HeaderValues::default();
        // SAFETY: the header is valid as long as the handler runs; Aeron copies from it.
        unsafe { raw::aeron_header_values(self.header.as_ptr(), &raw mut values) };
        values
    }
}

/// A sender of the stream as this subscription sees it, valid during the closure.
#[derive(Debug)]
pub struct Image<'a> {
    raw: NonNull<raw::Image>,
    constants: raw::ImageConstants,
    closure: PhantomData<&'a ()>,
}

impl Image<'_> {
    /// Address and port of the sender, such as `10.0.0.7:40123`; `aeron:ipc` for shared memory of this host.
    pub fn source_address(&self) -> &str {
        // SAFETY: the text belongs to the image, which lives as long as the closure runs.
        let text = unsafe { CStr::from_ptr(self.constants.source_identity) };
        text.to_str().unwrap_or_default()
    }

    /// Session id of the publication.
    pub fn session_id(&self) -> i32 {
        self.constants.session_id
    }

    /// Position at which this subscription joined the stream, bytes.
    pub fn join_position(&self) -> i64 {
        self.constants.join_position
    }

    /// Bytes of the sender's datagrams.
    pub fn mtu_bytes(&self) -> usize {
        self.constants.mtu_length
    }

    /// Position up to which messages were processed, bytes.
    pub fn position(&self) -> i64 {
        // SAFETY: the image lives as long as the closure runs.
        unsafe { raw::aeron_image_position(self.raw.as_ptr()) }
    }

    /// Whether the sender has closed the stream and all messages were processed.
    pub fn is_end_of_stream(&self) -> bool {
        // SAFETY: the image lives as long as the closure runs.
        unsafe { raw::aeron_image_is_end_of_stream(self.raw.as_ptr()) }
    }

    /// Whether the image is closed: the sender has ended.
    pub fn is_closed(&self) -> bool {
        // SAFETY: the image lives as long as the closure runs.
        unsafe { raw::aeron_image_is_closed(self.raw.as_ptr()) }
    }
}

impl std::fmt::Debug for raw::ImageConstants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "session {}", self.session_id)
    }
}

/// A stream that this client receives, from every sender of it.
#[derive(Debug)]
pub struct Subscription {
    raw: NonNull<raw::Subscription>,
    assembler: Assembler,
    core: Rc<Core>,
    what: String,
}

impl Subscription {
    /// Passes the next messages to the handler, at most this many fragments, and returns the number of fragments.
    /// Fragmented messages are assembled first.
    ///
    /// # Errors
    /// The subscription is closed: its client or its driver has ended.
    pub fn poll<F: FnMut(Fragment<'_>)>(
        &mut self,
        limit: usize,
        mut handler: F,
    ) -> Result<usize, Error> {
        let _inside = self.core.enter();
        let target = Target {
            handler: on_fragment::<F>,
            data: (&raw mut handler).cast(),
        };
        self.assembler.target.set(Some(target));
        let assembler = self.assembler.raw.as_ptr().cast();
        // SAFETY: the subscription is open. The assembler gives whole messages to the target, which is set above and outlives
        // the call.
        let polled = unsafe {
            raw::aeron_subscription_poll(
                self.raw.as_ptr(),
                raw::aeron_fragment_assembler_handler,
                assembler,
                limit,
            )
        };
        self.assembler.target.set(None);
        self.polled(polled)
    }

    /// Passes the next fragments to the handler unassembled, at most this many, and returns their number. Saves the
    /// check of each flag.
    ///
    /// # Errors
    /// The subscription is closed: its client or its driver has ended.
    #[inline]
    pub fn poll_fragments<F: FnMut(Fragment<'_>)>(
        &mut self,
        limit: usize,
        mut handler: F,
    ) -> Result<usize, Error> {
        let _inside = self.core.enter();
        // SAFETY: the subscription is open, and the handler outlives the call.
        let polled = unsafe {
            raw::aeron_subscription_poll(
                self.raw.as_ptr(),
                on_fragment::<F>,
                (&raw mut handler).cast(),
                limit,
            )
        };
        self.polled(polled)
    }

    /// Passes every sender to the closure.
    pub fn each_image<F: FnMut(Image<'_>)>(&self, mut closure: F) {
        let _inside = self.core.enter();
        // SAFETY: the subscription is open, and the closure outlives the call.
        unsafe {
            raw::aeron_subscription_for_each_image(
                self.raw.as_ptr(),
                on_image::<F>,
                (&raw mut closure).cast(),
            );
        }
    }

    /// Number of connected senders.
    pub fn image_count(&self) -> usize {
        // SAFETY: the subscription is open.
        let count = unsafe { raw::aeron_subscription_image_count(self.raw.as_ptr()) };
        usize::try_from(count).unwrap_or(0)
    }

    /// Whether a sender is connected.
    pub fn is_connected(&self) -> bool {
        // SAFETY: the subscription is open.
        unsafe { raw::aeron_subscription_is_connected(self.raw.as_ptr()) }
    }

    /// Whether the subscription is closed: its client or its driver has ended.
    pub fn is_closed(&self) -> bool {
        // SAFETY: the subscription is open.
        unsafe { raw::aeron_subscription_is_closed(self.raw.as_ptr()) }
    }

    /// Local address and port, once the driver has bound the socket: for port 0 the port that the system chose.
    pub fn endpoint(&self) -> Option<String> {
        let mut text = [0_u8; 128];
        // SAFETY: the subscription is open; Aeron writes at most this number of bytes, a zero at the end.
        let answer = unsafe {
            raw::aeron_subscription_resolved_endpoint(
                self.raw.as_ptr(),
                text.as_mut_ptr().cast(),
                text.len(),
            )
        };
        let text = CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?;
        (answer > 0 && !text.is_empty()).then(|| text.to_owned())
    }

    #[inline]
    fn polled(&self, answer: c_int) -> Result<usize, Error> {
        match usize::try_from(answer) {
            Ok(0) if self.is_closed() => Err(self.core.closed(&self.what)),
            Ok(count) => Ok(count),
            Err(_) => Err(Error::last(self.what.clone())),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // SAFETY: the subscription is open, and its client is: the core is held. A client that was closed has closed it, and
        // frees it when it ends.
        unsafe { raw::aeron_subscription_close(self.raw.as_ptr(), ptr::null(), ptr::null_mut()) };
    }
}

// SAFETY: the three calls are those of subscriptions.
unsafe impl Added for Subscription {
    unsafe fn begin(
        pending: *mut *mut raw::Async,
        client: *mut raw::Aeron,
        channel: *const c_char,
        stream: i32,
    ) -> c_int {
        let none = ptr::null_mut();
        // SAFETY: the caller gives an open client, and a text that ends with a zero. Images are looked at, not reported.
        unsafe {
            raw::aeron_async_add_subscription(
                pending,
                client,
                channel,
                stream,
                ptr::null(),
                none,
                ptr::null(),
                none,
            )
        }
    }

    unsafe fn poll(pending: *mut raw::Async) -> (c_int, *mut c_void) {
        let mut subscription = ptr::null_mut();
        // SAFETY: the caller passes one that was started and not handed out.
        let answer = unsafe {
            let place = &raw mut subscription;
            raw::aeron_async_add_subscription_poll(place, pending)
        };
        (answer, subscription.cast())
    }

    unsafe fn cancel(client: *mut raw::Aeron, pending: *mut raw::Async) -> c_int {
        // SAFETY: the caller passes one that was started and not handed out.
        unsafe { raw::aeron_async_add_subscription_cancel(client, pending) }
    }

    unsafe fn own(
        raw: NonNull<c_void>,
        core: Rc<Core>,
        what: String,
    ) -> Result<Subscription, Error> {
        Ok(Subscription {
            raw: raw.cast(),
            assembler: Assembler::new()?,
            core,
            what,
        })
    }
}

/// The handler of one poll.
#[derive(Clone, Copy, Debug)]
struct Target {
    handler: raw::FragmentHandler,
    data: *mut c_void,
}

/// Assembles fragmented messages.
#[derive(Debug)]
struct Assembler {
    raw: NonNull<raw::Assembler>,
    /// Set while a poll runs. Aeron has its address.
    target: Box<Cell<Option<Target>>>,
}

impl Assembler {
    fn new() -> Result<Assembler, Error> {
        let target: Box<Cell<Option<Target>>> = Box::default();
        let mut assembler = ptr::null_mut();
        let data = ptr::from_ref(target.as_ref()).cast_mut().cast();
        // SAFETY: writes the new assembler into the variable. The target is boxed and outlives it.
        let answer = unsafe {
            let place = &raw mut assembler;
            raw::aeron_fragment_assembler_create(place, on_assembled, data)
        };
        let made = NonNull::new(assembler).filter(|_| answer == 0);
        Ok(Assembler {
            raw: made.ok_or_else(|| Error::last("no assembler of messages"))?,
            target,
        })
    }
}

impl Drop for Assembler {
    fn drop(&mut self) {
        // SAFETY: the assembler is open, and no poll runs.
        unsafe { raw::aeron_fragment_assembler_delete(self.raw.as_ptr()) };
    }
}

/// A complete message: passed to the handler of the current poll.
extern "C" fn on_assembled(
    target: *mut c_void,
    bytes: *const u8,
    length: usize,
    header: *mut raw::Header,
) {
    // SAFETY: `Assembler::new` gave the cell, which lives as long as the assembler.
    let target = unsafe { &*target.cast::<Cell<Option<Target>>>() };
    if let Some(target) = target.get() {
        // SAFETY: the running poll set the handler with its data; Aeron's arguments are passed on unchanged.
        unsafe { (target.handler)(target.data, bytes, length, header) };
    }
}

/// A fragment of a message, or a complete one. A panic aborts the process: it may not unwind through C.
extern "C" fn on_fragment<F: FnMut(Fragment<'_>)>(
    handler: *mut c_void,
    bytes: *const u8,
    length: usize,
    header: *mut raw::Header,
) {
    // SAFETY: the poll that runs gave its own handler. Aeron gives bytes of the mapped log, or of an assembled message, that
    // stay as they are until the handler returns.
    let (handler, bytes) = unsafe {
        (
            &mut *handler.cast::<F>(),
            std::slice::from_raw_parts(bytes, length),
        )
    };
    if let Some(header) = NonNull::new(header) {
        handler(Fragment { bytes, header });
    }
}

/// A sender. A panic aborts the process: it may not unwind through C.
extern "C" fn on_image<F: FnMut(Image<'_>)>(image: *mut raw::Image, closure: *mut c_void) {
    let mut constants = MaybeUninit::uninit();
    // SAFETY: `each_image` gave its own closure. Aeron gives an image that lives until the closure returns, and writes all fields
    // unless it fails.
    let (closure, constants) = unsafe {
        if raw::aeron_image_constants(image, constants.as_mut_ptr()) != 0 {
            return;
        }
        (&mut *closure.cast::<F>(), constants.assume_init())
    };
    if let Some(raw) = NonNull::new(image) {
        closure(Image {
            raw,
            constants,
            closure: PhantomData,
        });
    }
}
