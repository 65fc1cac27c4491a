//! Refreshes: the state that a receiver needs after a join or a loss, one instrument after the other.
//!
//! A round starts with the state of the channel, and then covers all instruments. A refresh of one instrument has its
//! definition, price book, order book, trading status, statistics and last trade; its last message ends a batch of the
//! native format. Messages of refreshes have sequence numbers of their own, so that a receiver detects a missing one.

use super::{Cyclic, Now, Sender};
use crate::head::HeadFlags;
use crate::link::{Kind, SendLink};
use touchline_types::native::{self, Flags};
use touchline_types::{Instrument, Timestamps, Update};

/// Progress of the refresh rounds.
#[derive(Debug)]
pub struct Refresh {
    cyclic: Option<Cyclic>,
    /// The next instrument; `None` between rounds.
    cursor: Option<u32>,
    /// A new round is requested.
    is_demanded: bool,
    /// Whether the current round was requested: it has no rate limit.
    is_urgent: bool,
    /// Number of the next message of refreshes.
    next: u64,
    /// Bytes of all batches at the last refresh.
    bytes_at: u64,
    /// Start time of the last round.
    round_began_ns: u64,
    /// Earliest time of the next requested round: endless requests use at most half of the link.
    rest_until_ns: u64,
    /// Whether the messages of the current unit are the first of a round.
    begins_round: bool,
}

impl Refresh {
    /// Makes the state before the first refresh.
    pub fn new(cyclic: Option<Cyclic>) -> Refresh {
        Refresh {
            cyclic,
            cursor: None,
            is_demanded: false,
            is_urgent: false,
            next: 0,
            bytes_at: 0,
            round_began_ns: 0,
            rest_until_ns: 0,
            begins_round: false,
        }
    }

    /// A receiver is missing data.
    pub fn demand(&mut self, _now_ns: u64) {
        self.is_demanded = true;
    }

    /// The stream restarts.
    pub fn restart(&mut self) {
        self.cursor = None;
    }

    /// Whether the next refresh is due.
    fn is_due(&self, now_ns: u64, bytes_sent: u64, instruments: u32) -> bool {
        if self.is_urgent || self.is_demanded && now_ns >= self.rest_until_ns {
            return true;
        }
        let Some(cyclic) = self.cyclic else {
            return false;
        };
        let since = bytes_sent.saturating_sub(self.bytes_at) as f64;
        let in_round_ns = now_ns.saturating_sub(self.round_began_ns);
        // Progress that the round needs at this time to end within its limit.
        let share = in_round_ns as f64 / cyclic.round_ns_max as f64;
        let must = (share * f64::from(instruments)) as u32;
        match self.cursor {
            // A refresh of an instrument has about 500 bytes; the share of the sent bytes allows this many.
            Some(cursor) => cursor < must || since * cyclic.share >= REFRESH_BYTES,
            None => in_round_ns >= cyclic.round_ns_max || since * cyclic.share >= REFRESH_BYTES,
        }
    }
}

/// Typical refresh of one instrument in bytes: definition and a book of ten levels.
const REFRESH_BYTES: f64 = 1_000.0;

/// Shortest time between the end of a round that was demanded and the next one.
const REST_NS_MIN: u64 = 100_000_000;

/// Most refreshed instruments per tick while receivers wait.
const URGENT_MAX: usize = 16;

impl Sender {
    /// Sends due refreshes.
    pub(super) fn refresh_some(&mut self, now: Now, link: &mut impl SendLink) {
        for _ in 0..URGENT_MAX {
            let sent = self.counters.relay_bytes_sent;
            let instruments = self.state.instruments();
            if self.is_blocked()
                || !link.has_room()
                || !self.refresh.is_due(now.mono_ns, sent, instruments)
            {
                return;
            }
            let ends = match self.refresh.cursor {
                None => {
                    self.begin_round(now, link);
                    instruments == 0
                }
                Some(cursor) => {
                    self.refresh_instrument(Instrument(cursor), now, link);
                    self.refresh.cursor = Some(cursor + 1);
                    cursor + 1 >= instruments
                }
            };
            if ends {
                self.end_round(now, link);
            }
            self.refresh.bytes_at = self.counters.relay_bytes_sent;
            if !self.refresh.is_urgent && !self.refresh.is_demanded {
                return;
            }
        }
    }

    /// State of the channel.
    fn begin_round(&mut self, now: Now, link: &mut impl SendLink) {
        let refresh = &mut self.refresh;
        refresh.is_urgent = std::mem::take(&mut refresh.is_demanded);
        refresh.cursor = Some(0);
        refresh.round_began_ns = now.mono_ns;
        refresh.begins_round = true;
        self.state.channel().updates(|update, timestamps| {
            let is_last = matches!(update, Update::Channel(_));
            self.write(update, timestamps, is_last, now, link);
        });
        self.send_refresh(HeadFlags::NONE, now, link);
    }

    /// The round is complete. The message with its number shows a receiver whether the refreshes before it arrived: it has no other
    /// way to miss the last ones.
    fn end_round(&mut self, now: Now, link: &mut impl SendLink) {
        self.refresh.cursor = None;
        if std::mem::take(&mut self.refresh.is_urgent) {
            let took_ns = now.mono_ns.saturating_sub(self.refresh.round_began_ns);
            self.refresh.rest_until_ns = now.mono_ns + took_ns.max(REST_NS_MIN);
        }
        // mutant: relay: the end of a round has no number
        self.end_unit(now, link);
        self.send_refresh(HeadFlags::ROUND_END, now, link);
        self.counters.relay_rounds_sent += 1;
    }

    fn refresh_instrument(&mut self, instrument: Instrument, now: Now, link: &mut impl SendLink) {
        // Taken out while it is written: writing needs the whole sender.
        let mut image = std::mem::take(&mut self.image);
        let is_known = self.state.copy_to(instrument, &mut image);
        if is_known {
            image.updates(|update, timestamps| self.write(update, timestamps, false, now, link));
        }
        self.image = image;
        if !is_known {
            return;
        }
        self.end_unit(now, link);
        self.send_refresh(HeadFlags::NONE, now, link);
        self.counters.relay_refreshes_sent += 1;
    }

    /// The refresh of one instrument ends, or the round: a receiver with all its messages has the instrument, or all of them.
    fn end_unit(&mut self, now: Now, link: &mut impl SendLink) {
        self.room_in_refresh(native::HEARTBEAT_BYTES, now, link);
        let sequence = self.refresh.next;
        self.refresh.next += 1;
        self.open.push(native::HEARTBEAT_BYTES, |mut place| {
            let none = Timestamps::default();
            native::write_heartbeat(sequence, Flags::END_OF_BATCH, &none, &mut place);
        });
    }

    /// Writes an update into batches of a refresh.
    fn write(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        is_last: bool,
        now: Now,
        link: &mut impl SendLink,
    ) {
        let part_bytes_max = self.part_bytes_max();
        for part in native::parts(update, part_bytes_max) {
            self.room_in_refresh(part.len(), now, link);
            let sequence = self.refresh.next;
            self.refresh.next += 1;
            let flags = Flags::END_OF_BATCH.when(is_last);
            self.open.push(part.len(), |mut place| {
                part.write(sequence, flags, timestamps, &mut place);
            });
        }
    }

    fn room_in_refresh(&mut self, length: usize, now: Now, link: &mut impl SendLink) {
        if !self.open.has_room(length, self.settings.batch_bytes_max) {
            self.send_refresh(HeadFlags::NONE, now, link);
        }
    }

    fn send_refresh(&mut self, flags: HeadFlags, now: Now, link: &mut impl SendLink) {
        let begins = std::mem::take(&mut self.refresh.begins_round);
        let kind = Kind::Refresh {
            begins,
            ends: flags.has(HeadFlags::ROUND_END),
        };
        let flags = flags | HeadFlags::REFRESH | HeadFlags::ROUND_BEGIN.when(begins);
        self.send(flags, self.next, kind, now, link);
    }
}
