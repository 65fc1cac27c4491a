//! Counters of a driver, by type id and not by label: labels are for display, and change between versions.

use crate::raw;
use std::ffi::{c_char, c_void};

/// Kind of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterKind {
    /// Counter of the whole driver; see [`SystemCounter`].
    System,
    /// Position up to which a publication may send.
    PublisherLimit,
    /// Position up to which a stream was sent.
    SenderPosition,
    /// Position up to which a stream was received, gaps included.
    ReceiverHighWaterMark,
    /// Position of a subscription in a stream.
    SubscriberPosition,
    /// Position up to which a stream was received without gaps.
    ReceiverPosition,
    /// Position up to which receivers allow the driver to send.
    SenderLimit,
    /// Position after the last message of a publication.
    PublisherPosition,
    /// Times that a sender had to wait for its receivers.
    BackPressureEvents,
    /// Receivers of a stream, as its flow control counts them.
    Receivers,
    /// NAKs received by a sender.
    NaksReceived,
    /// NAKs sent by a receiver.
    NaksSent,
    /// Any other, by its type id.
    Other(i32),
}

impl CounterKind {
    /// The kind with this type id.
    pub fn of(type_id: i32) -> CounterKind {
        match type_id {
            0 => CounterKind::System,
            1 => CounterKind::PublisherLimit,
            2 => CounterKind::SenderPosition,
            3 => CounterKind::ReceiverHighWaterMark,
            4 => CounterKind::SubscriberPosition,
            5 => CounterKind::ReceiverPosition,
            9 => CounterKind::SenderLimit,
            12 => CounterKind::PublisherPosition,
            13 => CounterKind::BackPressureEvents,
            17 => CounterKind::Receivers,
            19 => CounterKind::NaksReceived,
            20 => CounterKind::NaksSent,
            other => CounterKind::Other(other),
        }
    }

    /// Whether its key names a stream.
    fn is_of_a_stream(self) -> bool {
        !matches!(self, CounterKind::System | CounterKind::Other(_))
    }
}

/// Counters of the whole driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum SystemCounter {
    /// Bytes sent, retransmissions included.
    BytesSent = 0,
    /// Bytes received.
    BytesReceived = 1,
    /// NAKs sent.
    NaksSent = 5,
    /// NAKs received.
    NaksReceived = 6,
    /// Status messages sent.
    StatusMessagesSent = 7,
    /// Status messages received.
    StatusMessagesReceived = 8,
    /// Retransmissions.
    Retransmits = 11,
    /// Duplicate datagrams, from before the position of the stream.
    FlowControlUnderRuns = 12,
    /// Datagrams beyond the window; dropped.
    FlowControlOverRuns = 13,
    /// Datagrams that are not of Aeron's protocol.
    InvalidPackets = 14,
    /// Errors.
    Errors = 15,
    /// Sends that the socket did not accept.
    ShortSends = 16,
    /// Times that a sender waited for the window of its receivers.
    SenderFlowControlLimits = 18,
    /// Gaps that were filled with padding instead of retransmitted, on streams that are not reliable.
    GapFills = 23,
}

/// A counter, valid during the closure.
#[derive(Clone, Copy, Debug)]
pub struct Counter<'a> {
    /// Its number in the driver.
    pub id: i32,
    /// Its kind.
    pub kind: CounterKind,
    /// Its value.
    pub value: i64,
    /// Label, for display.
    pub label: &'a str,
    key: &'a [u8],
}

impl Counter<'_> {
    /// Session id of the publication, if the counter is of a stream.
    pub fn session_id(&self) -> Option<i32> {
        self.key_number(8)
    }

    /// Stream id, if the counter is of a stream.
    pub fn stream_id(&self) -> Option<i32> {
        self.key_number(12)
    }

    /// Channel of the stream, if the counter is of a stream.
    pub fn channel(&self) -> Option<&str> {
        let bytes = usize::try_from(self.key_number(16)?).ok()?;
        let text = self.key.get(20..)?;
        std::str::from_utf8(text.get(..bytes.min(text.len()))?).ok()
    }

    pub(crate) fn is_system(&self, wanted: SystemCounter) -> bool {
        self.kind == CounterKind::System && self.id == wanted as i32
    }

    /// A number in the key of a stream: registration (8 bytes), session, stream, length of the channel, channel.
    fn key_number(&self, at: usize) -> Option<i32> {
        let bytes = self
            .key
            .get(at..at + 4)
            .filter(|_| self.kind.is_of_a_stream())?;
        Some(i32::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// Passes every counter to the closure.
pub(crate) fn each<F: FnMut(Counter<'_>)>(reader: *mut raw::CountersReader, mut handler: F) {
    if reader.is_null() {
        return;
    }
    // SAFETY: the caller gives the reader of an open client; the handler outlives the call.
    unsafe {
        raw::aeron_counters_reader_foreach_counter(
            reader,
            on_counter::<F>,
            (&raw mut handler).cast(),
        )
    };
}

/// A counter. A panic aborts the process: it may not unwind through C.
#[allow(clippy::too_many_arguments, reason = "Aeron's signature")]
extern "C" fn on_counter<F: FnMut(Counter<'_>)>(
    value: i64,
    id: i32,
    type_id: i32,
    key: *const u8,
    key_length: usize,
    label: *const c_char,
    label_length: usize,
    handler: *mut c_void,
) {
    // SAFETY: `each` gave its own handler. Key and label are of the mapped file of counters, whose driver does not change them
    // while the counter is in use; the label need not be text, and is looked at as bytes.
    let (handler, key, label) = unsafe {
        (
            &mut *handler.cast::<F>(),
            std::slice::from_raw_parts(key, key_length),
            std::slice::from_raw_parts(label.cast::<u8>(), label_length),
        )
    };
    handler(Counter {
        id,
        kind: CounterKind::of(type_id),
        value,
        label: std::str::from_utf8(label).unwrap_or_default(),
        key,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_stream_identifies_it() {
        let mut key = [0_u8; 112];
        key[8..12].copy_from_slice(&7_i32.to_ne_bytes());
        key[12..16].copy_from_slice(&340_i32.to_ne_bytes());
        key[16..20].copy_from_slice(&9_i32.to_ne_bytes());
        key[20..29].copy_from_slice(b"aeron:ipc");
        let counter = |type_id, key| Counter {
            id: 50,
            kind: CounterKind::of(type_id),
            value: 1,
            label: "",
            key,
        };
        let stream = counter(2, &key[..]);
        assert_eq!(
            (stream.session_id(), stream.stream_id()),
            (Some(7), Some(340))
        );
        assert_eq!(stream.channel(), Some("aeron:ipc"));
        assert_eq!(counter(0, &key[..]).stream_id(), None);
        assert_eq!(counter(2, &key[..10]).stream_id(), None);
        let mut long = key;
        long[16..20].copy_from_slice(&i32::MAX.to_ne_bytes());
        assert!(
            counter(2, &long[..])
                .channel()
                .is_some_and(|text| text.starts_with("aeron:ipc"))
        );
    }
}
