//! Publications: streams that this client sends.

use crate::shared::{Added, Core};
use crate::{Channel, Error, Refused, raw};
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::rc::Rc;

/// Constant properties of a publication.
#[derive(Clone, Copy, Debug)]
struct Limits {
    session_id: i32,
    stream_id: i32,
    /// Longest message of [`Publication::offer`], bytes.
    message_max: usize,
    /// Longest message in one datagram, bytes.
    payload_max: usize,
}

impl From<&raw::PublicationConstants> for Limits {
    fn from(constants: &raw::PublicationConstants) -> Limits {
        Limits {
            session_id: constants.session_id,
            stream_id: constants.stream_id,
            message_max: constants.max_message_length,
            payload_max: constants.max_payload_length,
        }
    }
}

/// Space in the log for one message. [`Claim::commit`] sends it; a dropped claim sends nothing.
#[derive(Debug)]
pub struct Claim<'a> {
    raw: raw::BufferClaim,
    /// The publication with the claimed log.
    publication: std::marker::PhantomData<&'a mut ()>,
}

impl Claim<'_> {
    /// Sends the message.
    #[inline]
    pub fn commit(mut self) {
        // SAFETY: the claim is of a publication that is open: it is borrowed. It is committed or aborted once.
        unsafe { raw::aeron_buffer_claim_commit(&raw mut self.raw) };
        std::mem::forget(self);
    }
}

impl Deref for Claim<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: Aeron gave these bytes of the mapped log, which no other code reads or writes until the claim is committed.
        unsafe { std::slice::from_raw_parts(self.raw.data, self.raw.length) }
    }
}

impl DerefMut for Claim<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the claim is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.raw.data, self.raw.length) }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        // SAFETY: as in `commit`, which forgets the claim.
        unsafe { raw::aeron_buffer_claim_abort(&raw mut self.raw) };
    }
}

macro_rules! publication {
    (
        $(#[$docs:meta])*
        $name:ident, add: $add:ident, poll: $poll:ident, cancel: $cancel:ident, offer: $offer:ident, claim: $claim:ident,
        is_closed: $is_closed:ident, is_connected: $is_connected:ident, position: $position:ident, limit: $limit:ident,
        constants: $constants:ident, add_destination: $add_destination:ident, poll_destination: $poll_destination:ident,
        close: $close:ident
    ) => {
        $(#[$docs])*
        #[derive(Debug)]
        pub struct $name {
            raw: NonNull<raw::$name>,
            limits: Limits,
            core: Rc<Core>,
        }

        impl $name {
            /// Sends a message, in fragments if it is longer than a datagram. Returns the position after it.
            ///
            /// # Errors
            /// The message cannot be sent now, or at all.
            #[inline]
            pub fn offer(&mut self, message: &[u8]) -> Result<i64, Refused> {
                if message.len() > self.limits.message_max {
                    return Err(Refused::TooLong);
                }
                // SAFETY: the publication is open; Aeron copies the message.
                Refused::of(unsafe {
                    raw::$offer(self.raw.as_ptr(), message.as_ptr(), message.len(), ptr::null(), ptr::null_mut())
                })
            }

            /// Claims space in the log for a message in one datagram, to be written in place.
            ///
            /// # Errors
            /// The message cannot be sent now, or at all.
            #[inline]
            pub fn try_claim(&mut self, bytes: usize) -> Result<Claim<'_>, Refused> {
                if bytes > self.limits.payload_max {
                    return Err(Refused::TooLong);
                }
                let mut claim = MaybeUninit::uninit();
                // SAFETY: the publication is open; Aeron writes the claim when it gives a position.
                Refused::of(unsafe { raw::$claim(self.raw.as_ptr(), bytes, claim.as_mut_ptr()) })?;
                Ok(Claim {
                    // SAFETY: a position was given.
                    raw: unsafe { claim.assume_init() },
                    publication: std::marker::PhantomData,
                })
            }

            /// Adds a receiver to a channel with `control-mode=manual`; runs turns until the driver has answered.
            ///
            /// # Errors
            /// The channel is invalid, the driver rejects it, or there is no answer within the timeout.
            pub fn add_destination(&mut self, channel: &str) -> Result<(), Error> {
                let channel = Channel::new(channel)?;
                let mut pending = ptr::null_mut();
                // SAFETY: client and publication are open; Aeron copies the channel.
                let answer = unsafe {
                    raw::$add_destination(
                        &raw mut pending,
                        self.core.raw.as_ptr(),
                        self.raw.as_ptr(),
                        channel.as_c_str().as_ptr(),
                    )
                };
                if answer != 0 {
                    return Err(Error::last(channel.as_str()));
                }
                wait_for_destination(&self.core, channel.as_str(), || {
                    // SAFETY: it was started above, and is polled until it has answered.
                    unsafe { raw::$poll_destination(pending) }
                })
            }

            /// Whether a subscriber is connected.
            #[inline]
            pub fn is_connected(&self) -> bool {
                // SAFETY: the publication is open.
                unsafe { raw::$is_connected(self.raw.as_ptr()) }
            }

            /// Whether the publication is closed: its client or its driver has ended.
            pub fn is_closed(&self) -> bool {
                // SAFETY: the publication is open.
                unsafe { raw::$is_closed(self.raw.as_ptr()) }
            }

            /// Position after the last message, bytes of the stream.
            pub fn position(&self) -> i64 {
                // SAFETY: the publication is open.
                unsafe { raw::$position(self.raw.as_ptr()) }
            }

            /// Limit of the receivers' window, bytes of the stream.
            pub fn position_limit(&self) -> i64 {
                // SAFETY: the publication is open.
                unsafe { raw::$limit(self.raw.as_ptr()) }
            }

            /// Session id, random, by which receivers distinguish the senders of a stream.
            pub fn session_id(&self) -> i32 {
                self.limits.session_id
            }

            /// Stream id.
            pub fn stream_id(&self) -> i32 {
                self.limits.stream_id
            }

            /// Longest message in one datagram, bytes: the limit of `try_claim`.
            pub fn payload_bytes_max(&self) -> usize {
                self.limits.payload_max
            }

            /// Longest message of `offer`, bytes.
            pub fn message_bytes_max(&self) -> usize {
                self.limits.message_max
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the publication is open, and its client is: the core is held. A client that was closed has closed it,
                // and frees it when it ends.
                unsafe { raw::$close(self.raw.as_ptr(), ptr::null(), ptr::null_mut()) };
            }
        }

        // SAFETY: the three calls are those of this kind of publication.
        unsafe impl Added for $name {
            unsafe fn begin(
                pending: *mut *mut raw::Async,
                client: *mut raw::Aeron,
                channel: *const c_char,
                stream: i32,
            ) -> c_int {
                // SAFETY: the caller gives an open client, and a text that ends with a zero.
                unsafe { raw::$add(pending, client, channel, stream) }
            }

            unsafe fn poll(pending: *mut raw::Async) -> (c_int, *mut c_void) {
                let mut publication = ptr::null_mut();
                // SAFETY: the caller passes one that was started and not handed out.
                let answer = unsafe { raw::$poll(&raw mut publication, pending) };
                (answer, publication.cast())
            }

            unsafe fn cancel(client: *mut raw::Aeron, pending: *mut raw::Async) -> c_int {
                // SAFETY: the caller passes one that was started and not handed out.
                unsafe { raw::$cancel(client, pending) }
            }

            unsafe fn own(raw: NonNull<c_void>, core: Rc<Core>, what: String) -> Result<$name, Error> {
                let mut constants = MaybeUninit::uninit();
                let raw: NonNull<raw::$name> = raw.cast();
                // SAFETY: the publication is open; Aeron writes all fields unless it fails.
                let constants = unsafe {
                    match raw::$constants(raw.as_ptr(), constants.as_mut_ptr()) {
                        0 => constants.assume_init(),
                        _ => return Err(Error::last(what)),
                    }
                };
                Ok($name {
                    raw,
                    limits: Limits::from(&constants),
                    core,
                })
            }
        }
    };
}

publication! {
    /// A stream that this client sends; other publications of the same driver may send into it.
    Publication,
    add: aeron_async_add_publication,
    poll: aeron_async_add_publication_poll,
    cancel: aeron_async_add_publication_cancel,
    offer: aeron_publication_offer,
    claim: aeron_publication_try_claim,
    is_closed: aeron_publication_is_closed,
    is_connected: aeron_publication_is_connected,
    position: aeron_publication_position,
    limit: aeron_publication_position_limit,
    constants: aeron_publication_constants,
    add_destination: aeron_publication_async_add_destination,
    poll_destination: aeron_publication_async_destination_poll,
    close: aeron_publication_close
}

publication! {
    /// An exclusive stream of this client: the fastest kind. Each has its own session id.
    ExclusivePublication,
    add: aeron_async_add_exclusive_publication,
    poll: aeron_async_add_exclusive_publication_poll,
    cancel: aeron_async_add_exclusive_publication_cancel,
    offer: aeron_exclusive_publication_offer,
    claim: aeron_exclusive_publication_try_claim,
    is_closed: aeron_exclusive_publication_is_closed,
    is_connected: aeron_exclusive_publication_is_connected,
    position: aeron_exclusive_publication_position,
    limit: aeron_exclusive_publication_position_limit,
    constants: aeron_exclusive_publication_constants,
    add_destination: aeron_exclusive_publication_async_add_destination,
    poll_destination: aeron_exclusive_publication_async_destination_poll,
    close: aeron_exclusive_publication_close
}

/// Runs turns until the driver has answered. Aeron's own timeout ends the wait.
fn wait_for_destination(
    core: &Core,
    what: &str,
    mut poll: impl FnMut() -> c_int,
) -> Result<(), Error> {
    loop {
        match poll() {
            0 if core.is_closed() => return Err(core.closed(what)),
            0 => core.turn()?,
            1.. => return Ok(()),
            _ => return Err(Error::last(what)),
        }
    }
}
