//! Refreshes on the receiving side: which are applied, when recovery is complete, and when to send a request.

use super::Receiver;
use crate::batch::Received;
use crate::head::HeadFlags;
use touchline_transport::Publish;
use touchline_types::Instrument;
use touchline_types::native::{Body, Flags, Message};

/// Interval of repeated requests.
const ASK_AGAIN_NS: u64 = 250_000_000;

/// Interval of requests for books that did not fit: there may be room for them now.
const RETRY_NS: u64 = 10_000_000_000;

/// Progress of recovery.
#[derive(Debug, Default)]
pub struct Progress {
    /// Messages were lost, and no complete round of refreshes has arrived since.
    pub is_incomplete: bool,
    /// Number of the next refresh message; `None` if one may be missing.
    next: Option<u64>,
    /// A round has arrived without a loss so far.
    is_in_round: bool,
    /// Instrument of the current refresh; `None` if its first message is missing.
    unit: Unit,
    /// Time of the next request; 0 is at once.
    ask_at_ns: u64,
    /// Time at which books that did not fit are requested again; `None` before the first was refused.
    retry_at_ns: Option<u64>,
}

/// Unit of the current refresh messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unit {
    /// A message is missing: messages are ignored until the next unit.
    #[default]
    Broken,
    /// The next message is the first of a unit.
    Between,
    /// The channel and its groups.
    Channel,
    /// An instrument.
    Of(Instrument),
}

impl Progress {
    /// State at the start of a stream.
    pub fn new(is_incomplete: bool, now_ns: u64) -> Progress {
        Progress {
            is_incomplete,
            ask_at_ns: now_ns,
            ..Progress::default()
        }
    }

    /// Messages of the stream were lost.
    pub fn lose(&mut self, now_ns: u64) {
        if !self.is_incomplete {
            self.ask_at_ns = now_ns;
        }
        self.is_incomplete = true;
        self.is_in_round = false;
        self.unit = Unit::Broken;
        self.next = None;
    }

    /// The connection ended: the rest of the round will not arrive.
    pub fn interrupt(&mut self) {
        self.is_in_round = false;
        self.unit = Unit::Broken;
        self.next = None;
        self.ask_at_ns = 0;
    }

    /// A book did not fit: it is requested again from time to time, since nothing else in the stream completes it.
    pub fn retry(&mut self, now_ns: u64) {
        let due_ns = *self.retry_at_ns.get_or_insert(now_ns + RETRY_NS);
        if now_ns >= due_ns {
            self.retry_at_ns = None;
            self.lose(now_ns);
        }
    }

    /// Whether to send a request now. Receivers of one link wait for different times, and send none after the start of
    /// a round of refreshes.
    pub fn asks(&mut self, now_ns: u64, delay_ns_max: u64) -> bool {
        if !self.is_incomplete || now_ns < self.ask_at_ns {
            return false;
        }
        // Random enough: receivers do not lose a message in the same nanosecond.
        let delay_ns = now_ns.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let delay_ns = if delay_ns_max == 0 {
            0
        } else {
            delay_ns % delay_ns_max
        };
        self.ask_at_ns = now_ns + ASK_AGAIN_NS + delay_ns;
        true
    }

    /// Takes a batch of a round that this receiver has followed from its start: such a round is complete. The rest of
    /// another round is not.
    fn hear(&mut self, now_ns: u64) {
        self.ask_at_ns = now_ns + ASK_AGAIN_NS;
    }
}

impl Receiver {
    /// Applies the missing data of a refresh, which has the state before the next message of the stream.
    pub(super) fn refresh(
        &mut self,
        batch: &Received<'_>,
        now_ns: u64,
        arrived: u64,
        out: &mut impl Publish,
    ) {
        let flags = batch.head.flags;
        if !self.progress.is_incomplete {
            self.counters.relay_refreshes_passed += 1;
            // Refresh numbers are not tracked: a unit cannot be joined in the middle.
            self.progress.next = None;
            return;
        }
        if flags.has(HeadFlags::ROUND_BEGIN) {
            self.progress.is_in_round = true;
            self.progress.unit = Unit::Between;
            self.progress.next = None;
            self.books.trust.begin_round();
            self.decoder.forget();
        }
        if self.progress.is_in_round {
            self.progress.hear(now_ns);
        }
        for bytes in batch.messages() {
            let Ok(message) = Message::parse(bytes) else {
                self.counters.relay_malformed += 1;
                self.break_refresh();
                continue;
            };
            self.refresh_message(&message, arrived, out);
        }
        let ends = flags.has(HeadFlags::ROUND_END);
        if ends && std::mem::take(&mut self.progress.is_in_round) {
            self.progress.is_incomplete = !self.books.trust.end_round();
        }
    }

    pub(super) fn break_refresh(&mut self) {
        self.progress.unit = Unit::Broken;
        self.progress.is_in_round = false;
        self.decoder.forget();
    }

    /// The rest of this unit does not fit and is ignored: the instrument stays unchanged, and the round continues.
    pub(super) fn skip_unit(&mut self) {
        if let Unit::Of(instrument) = self.progress.unit {
            self.books.trust.refuse(instrument);
        }
        self.progress.unit = Unit::Broken;
        self.decoder.forget();
    }

    fn refresh_message(&mut self, message: &Message<'_>, arrived: u64, out: &mut impl Publish) {
        let number = message.sequence();
        if self.progress.next.is_some_and(|next| next != number) {
            self.break_refresh();
        }
        self.progress.next = Some(number.wrapping_add(1));
        if self.progress.unit == Unit::Between {
            self.progress.unit = match message.instrument() {
                Some(instrument) => Unit::Of(instrument),
                None => Unit::Channel,
            };
            self.books.has_room = true;
        }
        if self.is_beyond(message) {
            self.skip_unit();
        }
        let ends = message.flags().has(Flags::END_OF_BATCH);
        match self.progress.unit {
            Unit::Broken | Unit::Between => {}
            Unit::Channel => self.apply_refreshed(message, arrived, out),
            Unit::Of(instrument) => {
                self.refresh_instrument(instrument, message, arrived, ends, out);
            }
        }
        if ends {
            // The next unit is complete, even if this one was not.
            self.progress.unit = Unit::Between;
            out.commit();
        }
    }

    fn refresh_instrument(
        &mut self,
        instrument: Instrument,
        message: &Message<'_>,
        arrived: u64,
        ends: bool,
        out: &mut impl Publish,
    ) {
        if message
            .instrument()
            .is_some_and(|other| other != instrument)
        {
            return self.break_refresh();
        }
        // A definition is published with its books, as by any publisher. A reset or a loss of the channel alone may have made them
        // known: then this bus has no slots for them, and screens would show no books.
        // mutant: relay: a new instrument has no books after a reset
        let known = self.books.trust.of(instrument);
        let lacks = !known.values
            || match message.body {
                Body::BookSnapshot(_) => !known.price,
                Body::OrdersSnapshot(_) => !known.orders,
                _ => false,
            };
        if lacks {
            self.apply_refreshed(message, arrived, out);
        }
        let is_taken = self.progress.unit == Unit::Of(instrument);
        let has_room = self.books.has_room;
        if ends && is_taken && self.books.trust.end_of_refresh(instrument, has_room) {
            self.counters.relay_refreshes_taken += 1;
        }
    }
}
