//! Time of the next item, for a schedule and for the merge of several tapes; how far the reader is.

use super::{Error, PASSED_MAX, PlaceInStream, Reader};
use crate::messages::Messages;
use touchline_types::native::Message;

impl Reader {
    /// Reads up to the next item, and returns its time, ns since the Unix epoch: the largest receive time so far. It is 0 for items
    /// before the first message that has one; on a tape without receive times it is the time of the record. `None`: there is no further
    /// item, so far, or the next one is behind the place at which this reader ends.
    ///
    /// # Errors
    /// As [`Reader::poll`].
    pub fn next_ns(&mut self) -> Result<Option<u64>, Error> {
        loop {
            while let Some(lead) = self.lead.take() {
                if !self.read_lead(lead)? {
                    return Ok(None);
                }
            }
            if self.place.event.is_some() {
                return Ok(Some(self.place.passed.received_ns));
            }
            for _ in 0..PASSED_MAX {
                // mutant: tape: a schedule waits for the message behind the end of a part
                if self.is_at_end() {
                    self.is_ended = true;
                    return Ok(None);
                }
                if let Some(ns) = self.next_in_body() {
                    return Ok(Some(ns));
                }
                if !self.record()? && !self.looked_again()? {
                    return Ok(None);
                }
                if self.place.event.is_some() {
                    break;
                }
            }
        }
    }

    /// Whether the next message of the present record is at the place at which this reader ends.
    fn is_at_end(&self) -> bool {
        let PlaceInStream {
            body,
            passed,
            is_state,
            ..
        } = &self.place;
        if self.to.is_none() || *is_state {
            return false;
        }
        let next = Messages::of(&body[self.from..]).next();
        let next = next.and_then(|bytes| Message::parse(bytes).ok());
        next.is_some_and(|message| passed.reaches(self.to, &message, body, self.from))
    }

    /// Time of the next message of the present record.
    fn next_in_body(&self) -> Option<u64> {
        let so_far = self.place.passed.received_ns;
        let messages = Messages::of(&self.place.body[self.from..]);
        let mut messages = messages.peekable();
        messages.peek()?;
        if self.place.is_state {
            return Some(so_far);
        }
        let received = |bytes: &[u8]| {
            let message = Message::parse(bytes).ok()?;
            Some(message.timestamps().packet.receive_ns)
        };
        if so_far > 0 {
            return Some(so_far.max(received(messages.peek()?)?));
        }
        // The first message with a time says whether there are any.
        let first = messages.filter_map(received).find(|ns| *ns > 0);
        Some(first.unwrap_or(self.place.at_ns))
    }

    /// Largest receive time of a message so far, ns since the Unix epoch; 0 before the first message that has one.
    pub fn received_ns(&self) -> u64 {
        self.place.passed.received_ns
    }

    /// Number of the last message of the bus that was given or passed over, or that the last state contains; 0 before there is one.
    pub fn last_sequence(&self) -> u64 {
        self.place.passed.sequence
    }

    /// Segments that were read as a whole to find the place, since their index is missing or wrong.
    pub fn unindexed(&self) -> u64 {
        self.unindexed
    }

    /// Bytes read from the segments.
    pub fn bytes_read(&self) -> u64 {
        self.follow.bytes_read()
    }

    /// Position at which the segment that is read begins, or the next one; 0 before the end of a segment was read.
    pub fn segment_position(&self) -> u64 {
        self.follow.closed().map_or(0, |closed| closed.next.base)
    }

    /// Whether the place at which it begins was not reached, so far.
    pub fn is_before_place(&self) -> bool {
        self.lead.is_some()
    }
}
