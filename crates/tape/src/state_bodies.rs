//! The state of a stream at one place, as the bodies of records: a reader that begins there needs nothing before it.

use crate::messages::{Messages, MessagesMut};
use touchline_transport::market::{InstrumentImage, StreamState};
use touchline_types::native::{self, Body, Flags, Message};
use touchline_types::{ChannelState, Instrument, Timestamps, Update};

/// Whether the body of a `Definitions` record is the first one of a state: it begins with the state of the channel.
pub fn begins_state(body: &[u8]) -> bool {
    place_of_state(body).is_some()
}

/// Number of the last message before a state that begins with this body; `None` if none does.
pub fn place_of_state(body: &[u8]) -> Option<u64> {
    let first = Messages::of(body).next();
    let first = first.and_then(|bytes| Message::parse(bytes).ok());
    let channel = first.filter(|message| matches!(message.body, Body::Channel(_)));
    channel.map(|message| message.sequence())
}

/// Bodies of `Definitions` records: the state of the channel and of each instrument, under the number of the last message before this
/// place. An empty body ends them.
pub struct Bodies<'a> {
    sequence: u64,
    body: MessagesMut,
    bytes_max: usize,
    full: &'a mut dyn FnMut(Vec<u8>),
}

impl<'a> Bodies<'a> {
    /// Gives each body of at most `bytes_max` bytes to `full`.
    pub fn write(
        state: &StreamState,
        channel: &ChannelState,
        sequence: u64,
        bytes_max: usize,
        full: &'a mut dyn FnMut(Vec<u8>),
    ) {
        let mut bodies = Bodies {
            sequence,
            body: MessagesMut::default(),
            bytes_max,
            full,
        };
        let none = Timestamps::default();
        bodies.update(&Update::Channel(channel), &none);
        state.channel().updates(|update, timestamps| {
            if !matches!(update, Update::Channel(_)) {
                bodies.update(update, timestamps);
            }
        });
        let mut image = InstrumentImage::default();
        for index in 0..state.instruments() {
            if state.copy_to(Instrument(index), &mut image) {
                image.updates(|update, timestamps| bodies.update(update, timestamps));
            }
        }
        bodies.flush();
        (bodies.full)(Vec::new());
    }

    fn update(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        for (number, part) in (0..).zip(native::parts(update, native::PART_BYTES_MAX)) {
            if self.body.bytes_with(part.len()) > self.bytes_max {
                self.flush();
            }
            let sequence = self.sequence.wrapping_add(number);
            self.body.push(part.len(), |mut place| {
                part.write(sequence, Flags::NONE, timestamps, &mut place);
            });
        }
    }

    fn flush(&mut self) {
        if self.body.count() > 0 {
            (self.full)(self.body.take());
        }
    }
}
