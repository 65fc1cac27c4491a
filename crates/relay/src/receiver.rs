//! The receiving side, without I/O: batches are input, updates of a publication are output.
//!
//! Each message is applied once, by its sequence number on the link. After a gap no book is live until it arrives
//! completely, in the stream or in a refresh; its updates are withheld until then. Orders get rows of this host, since
//! the sender's rows belong to its own tables.

mod apply;
mod books;
mod freshness;
mod peer;
mod refresh;
mod trust;

use crate::ReceiverCounters;
use crate::batch::{BadBatch, Received};
use crate::head::{BadHead, Epoch, HOPS_MAX, Head, HeadFlags, Source};
use crate::sender::Now;
use books::Books;
use freshness::Freshness;
use peer::Peer;
use refresh::Progress;
use touchline_transport::Publish;
use touchline_transport::market::Room;
use touchline_types::native::{Decoder, Flags, Message};
use touchline_types::{ChannelState, Gap, Timestamps, Update, Validity};

/// Maximum quotes of one message.
const QUOTES_MAX: usize = 4_096;

/// Settings of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiverSettings {
    /// Accepted sources; any if empty.
    pub sources: Vec<Source>,
    /// Names of this host as an origin: its own data that passed another relay is rejected.
    pub own: Vec<Source>,
    /// Most instruments of the local bus.
    pub instruments_max: usize,
    /// Most orders of all instruments.
    pub orders_max: usize,
    /// Most changes of one event, levels of one book, or orders of one order book.
    pub entries_max: usize,
    /// Link timeout: books are stale after this time without a batch.
    pub link_timeout_ns: u64,
    /// Longest age of books, by this host's clock; older ones are stale.
    pub lag_ns_max: u64,
    /// Longest random delay of a request, for links with several receivers.
    pub request_delay_ns_max: u64,
}

/// The receiving side of a link.
#[derive(Debug)]
pub struct Receiver {
    settings: ReceiverSettings,
    peer: Option<Peer>,
    books: Books,
    progress: Progress,
    freshness: Freshness,
    /// Last published state of the channel.
    published: Option<ChannelState>,
    /// Relays that the data has passed, including this one.
    hops: u8,
    /// Whether the stream has named an instrument beyond the limit.
    is_beyond_limit: bool,
    decoder: Decoder,
    room: Room,
    counters: ReceiverCounters,
}

/// Result of processing a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Applied, or ignored for a reason that is counted.
    Done,
    /// Batch of another run of a sender: the bus must be restarted. Call [`Receiver::restart`], then pass the same
    /// batch again.
    Restart,
    /// Malformed. On a stream the bytes after it are not decodable.
    Malformed(BadBatch),
}

impl Receiver {
    /// A receiver without any state. Allocates all memory.
    pub fn new(settings: ReceiverSettings) -> Receiver {
        Receiver {
            peer: None,
            books: Books::new(
                settings.instruments_max,
                settings.orders_max,
                settings.entries_max,
            ),
            progress: Progress::default(),
            freshness: Freshness::new(settings.lag_ns_max),
            published: None,
            hops: 0,
            is_beyond_limit: false,
            decoder: Decoder::new(),
            room: Room::new(settings.entries_max, settings.entries_max, QUOTES_MAX),
            counters: ReceiverCounters::default(),
            settings,
        }
    }

    /// Counters.
    pub fn counters(&mut self) -> &mut ReceiverCounters {
        &mut self.counters
    }

    /// Whether books are as reliable as those of the sender's bus.
    pub fn is_up(&self) -> bool {
        self.peer.as_ref().is_some_and(Peer::is_live) && !self.freshness.is_lagging()
    }

    /// Whether the sender sends, and books are too old.
    pub fn is_lagging(&self) -> bool {
        self.peer.as_ref().is_some_and(Peer::is_live) && self.freshness.is_lagging()
    }

    /// Whether nothing waits for a refresh.
    pub fn is_complete(&self) -> bool {
        self.peer.is_some() && !self.progress.is_incomplete
    }

    /// Whether everything of the sender's bus is here: no book waits for a refresh, and no message exceeded a limit of this bus.
    pub fn has_everything(&self) -> bool {
        // mutant: relay: a bus without some of the sender's instruments is ready
        self.is_complete() && !self.is_beyond_limit && !self.has_refused()
    }

    /// Whether a book lacks data for which there was no room. Without room for orders there are no order books.
    fn has_refused(&self) -> bool {
        self.books.trust.has_refused() && self.settings.orders_max > 0
    }

    /// Source and epoch of the received stream.
    pub fn stream(&self) -> Option<(Source, Epoch)> {
        self.peer.as_ref().map(|peer| (peer.source, peer.epoch))
    }

    /// Origin and hops of the received data, for a relay that forwards it.
    pub fn origin(&self) -> Option<(Source, u8)> {
        self.peer.as_ref().map(|peer| (peer.source, self.hops))
    }

    /// The bus is restarted: the counters do not state the origin of the stream before.
    pub fn forget_origin(&mut self) {
        self.counters.relay_hops = 0;
        self.counters.relay_origin = 0;
    }

    /// Publishes on a new bus that no book is live yet.
    pub fn begin(&mut self, out: &mut impl Publish) {
        self.published = None;
        self.state_channel(out);
    }

    /// The bus was restarted: all state is void.
    pub fn restart(&mut self, out: &mut impl Publish) {
        self.peer = None;
        self.freshness.restart();
        self.counters.relay_restarts += 1;
        self.begin(out);
    }

    /// Processes a batch received at `arrived`, in ticks of this host.
    #[inline]
    pub fn take(&mut self, bytes: &[u8], now: Now, arrived: u64, out: &mut impl Publish) -> Taken {
        let batch = match Received::read(bytes) {
            Ok(batch) => batch,
            Err(bad) => {
                match bad {
                    BadBatch::Head(BadHead::Version(_)) => {
                        self.counters.relay_refused_versions += 1
                    }
                    _ => self.counters.relay_malformed += 1,
                }
                return Taken::Malformed(bad);
            }
        };
        self.counters.relay_batches += 1;
        self.counters.relay_bytes += bytes.len() as u64;
        let head = batch.head;
        // A probe has no epoch; the answer has that of the sender.
        let is_to_sender = head.flags.has(HeadFlags::REQUEST)
            || head.flags.has(HeadFlags::REPORT)
            || head.flags.has(HeadFlags::PROBE) && head.epoch == Epoch(0);
        if is_to_sender || !self.accepts(&head) {
            return Taken::Done;
        }
        match &self.peer {
            Some(peer) if (peer.source, peer.epoch) == (head.source, head.epoch) => {
                if !peer.can_have_reached(head.first_sequence, now.mono_ns) {
                    self.counters.relay_malformed += 1;
                    return Taken::Malformed(BadBatch::Head(BadHead::Sequence));
                }
            }
            Some(peer) => {
                let timeout_ns = self.settings.link_timeout_ns;
                if peer.gives_way_to(&head, now.mono_ns, timeout_ns) {
                    return Taken::Restart;
                }
                self.counters.relay_other_source += 1;
                return Taken::Done;
            }
            None => self.adopt(&head, now.mono_ns),
        }
        self.of_stream(&batch, now, arrived, out);
        Taken::Done
    }

    /// The link reports a connection: the sender may answer probes from now on.
    pub fn connected(&mut self) {
        self.freshness.connected();
    }

    /// Marks books stale if they are older than allowed. The caller calls it before it processes batches, since this process may have
    /// been stopped, and in each turn: only an answer of the sender makes books live again.
    #[inline]
    pub fn judge(&mut self, now: Now, out: &mut impl Publish) {
        if self.freshness.begins_to_lag(now.mono_ns) {
            self.counters.relay_lags += 1;
            self.state_channel(out);
        }
    }

    /// The probe to send now, if one is due.
    pub fn probe(&mut self, now: Now) -> Option<Head> {
        self.counters.relay_lag_ns = self.freshness.lag_ns(now.mono_ns);
        let (sent_ns, answered_ns) = self.freshness.probe(now.mono_ns)?;
        Some(Head {
            source: Source::ANY,
            epoch: Epoch(0),
            first_sequence: answered_ns,
            count: 0,
            hops: 0,
            flags: HeadFlags::PROBE,
            sent_ns,
        })
    }

    /// The link reports that the sender is disconnected.
    pub fn disconnected(&mut self, out: &mut impl Publish) {
        self.counters.relay_disconnects += 1;
        if let Some(peer) = &mut self.peer {
            peer.is_silent = true;
            peer.has_ended = true;
        }
        self.progress.interrupt();
        self.decoder.forget();
        self.state_channel(out);
    }

    /// Processes timers, including the link timeout. Returns the request to send, if data is missing.
    pub fn tick(&mut self, now: Now, out: &mut impl Publish) -> Option<Head> {
        let timeout_ns = self.settings.link_timeout_ns;
        self.judge(now, out);
        let peer = self.peer.as_mut()?;
        if !peer.is_silent && now.mono_ns.saturating_sub(peer.heard_ns) > timeout_ns {
            peer.is_silent = true;
            self.counters.relay_timeouts += 1;
            self.state_channel(out);
        }
        let peer = self.peer.as_ref()?;
        // mutant: relay: a book that did not fit is never asked for again
        if self.has_refused() && !self.progress.is_incomplete {
            self.progress.retry(now.mono_ns);
        }
        let delay_ns_max = self.settings.request_delay_ns_max;
        if peer.is_silent || !self.progress.asks(now.mono_ns, delay_ns_max) {
            return None;
        }
        self.counters.relay_refreshes_asked += 1;
        Some(Head {
            source: peer.source,
            epoch: peer.epoch,
            first_sequence: peer.next,
            count: 0,
            hops: 0,
            flags: HeadFlags::REQUEST,
            sent_ns: now.wall_ns,
        })
    }

    /// Report for the sender: how far this receiver is.
    pub fn report(&self, now: Now) -> Option<Head> {
        let peer = self.peer.as_ref()?;
        let since_ns = now.mono_ns.saturating_sub(peer.heard_ns);
        Some(Head {
            source: peer.source,
            epoch: peer.epoch,
            first_sequence: peer.next,
            count: 0,
            hops: 0,
            flags: HeadFlags::REPORT,
            sent_ns: peer.sent_ns.saturating_add(since_ns),
        })
    }

    fn accepts(&mut self, head: &Head) -> bool {
        let ReceiverSettings { sources, own, .. } = &self.settings;
        if !sources.is_empty() && !sources.contains(&head.source) {
            self.counters.relay_refused_sources += 1;
            return false;
        }
        // Data straight from this host is a link of its own; data that passed another host is a loop.
        if head.hops >= HOPS_MAX || head.hops > 0 && own.contains(&head.source) {
            self.counters.relay_refused_hops += 1;
            return false;
        }
        true
    }

    /// Starts with a stream, on a bus without published data.
    fn adopt(&mut self, head: &Head, now_ns: u64) {
        // A receiver from the first message on has missed nothing.
        let is_whole = head.first_sequence == 1;
        self.peer = Some(Peer::new(head, now_ns));
        self.freshness.restart();
        self.hops = head.hops + 1;
        self.counters.relay_hops = u64::from(self.hops);
        self.counters.relay_origin = head.source.number();
        self.is_beyond_limit = false;
        self.books.reset(is_whole);
        self.progress = Progress::new(!is_whole, now_ns);
        self.decoder.forget();
    }

    /// Processes a batch of the current stream.
    fn of_stream(&mut self, batch: &Received<'_>, now: Now, arrived: u64, out: &mut impl Publish) {
        let head = batch.head;
        let is_refresh = head.flags.has(HeadFlags::REFRESH);
        let numbered = if is_refresh { 0 } else { u64::from(head.count) };
        let Some(peer) = &mut self.peer else { return };
        let is_answer = head.flags.has(HeadFlags::PROBE);
        peer.hear(&head, now.mono_ns);
        let next = peer.next;
        let behind = head.first_sequence + numbered;
        if head.first_sequence < next && behind <= next {
            // A late refresh contains no current state.
            self.counters.relay_duplicates += 1;
            // The sender has passed everything that arrived before the probe; otherwise a number was wrong. An old part
            // of the stream that arrives again proves nothing, nor do its answers.
            // mutant: relay: a number far ahead blinds a receiver
            if is_answer && self.freshness.is_due(head.sent_ns, peer.in_order_ns) {
                self.restart_numbers(behind, now.mono_ns, out);
            }
            return self.state_channel(out);
        }
        peer.in_order_ns = now.mono_ns;
        if !is_answer {
            self.counters.relay_latency_ns = transit_ns(now.wall_ns, head.sent_ns);
        }
        peer.is_source_down = head.flags.has(HeadFlags::SOURCE_DOWN);
        if head.first_sequence > next {
            self.gap(next, head.first_sequence, now.mono_ns, out);
        }
        if is_answer {
            self.freshness.answer(head.sent_ns, now.mono_ns);
        } else if is_refresh {
            self.refresh(batch, now.mono_ns, arrived, out);
        } else {
            let known = next.saturating_sub(head.first_sequence) as usize;
            let is_image = head.flags.has(HeadFlags::IMAGE);
            for bytes in batch.messages().skip(known) {
                self.message(bytes, is_image, now.mono_ns, arrived, out);
            }
        }
        self.state_channel(out);
    }

    /// Processes a message of the stream.
    #[inline]
    fn message(
        &mut self,
        bytes: &[u8],
        is_image: bool,
        now_ns: u64,
        arrived: u64,
        out: &mut impl Publish,
    ) {
        let Some(peer) = &mut self.peer else { return };
        let number = peer.next;
        peer.next += 1;
        self.counters.relay_messages += 1;
        self.counters.relay_position = number;
        // Both values are passed by reference: a moved value would be copied right after it was written.
        match &Message::parse(bytes) {
            Ok(message) => {
                // mutant: relay: an event that ends beyond the limit is not committed
                if !self.is_beyond(message) {
                    self.apply(message, is_image, now_ns, arrived, out);
                }
                // A dropped message ends the event of those before it, too.
                if message.flags().has(Flags::END_OF_BATCH) {
                    out.commit();
                }
            }
            Err(_) => {
                // The contents of the message are lost.
                self.counters.relay_malformed += 1;
                self.gap(number, number + 1, now_ns, out);
            }
        }
    }

    /// Whether a message is of an instrument beyond the limit.
    #[inline]
    fn is_beyond(&mut self, message: &Message<'_>) -> bool {
        let instrument = message.instrument();
        let is_beyond =
            instrument.is_some_and(|number| number.index() >= self.settings.instruments_max);
        self.counters.relay_instruments_refused += u64::from(is_beyond);
        self.is_beyond_limit |= is_beyond;
        is_beyond
    }

    /// Messages `first` to `next - 1` were lost.
    #[cold]
    fn gap(&mut self, first: u64, next: u64, now_ns: u64, out: &mut impl Publish) {
        self.counters.relay_gaps += 1;
        self.counters.relay_lost = self.counters.relay_lost.wrapping_add(next - first);
        if let Some(peer) = &mut self.peer {
            peer.next = next;
        }
        self.books.lose_all();
        self.decoder.forget();
        self.progress.lose(now_ns);
        let gap = Gap {
            first,
            last: next - 1,
            orders: Validity::Recovering,
        };
        out.publish(&Update::Gap(gap), &Timestamps::default());
        out.commit();
    }

    /// Handles a return of the stream to much lower numbers: those of an earlier batch were wrong. The stream continues
    /// at `next`, and the messages between are lost.
    #[cold]
    fn restart_numbers(&mut self, next: u64, now_ns: u64, out: &mut impl Publish) {
        if let Some(peer) = &mut self.peer {
            peer.in_order_ns = now_ns;
            peer.next = next;
        }
        self.gap(next.saturating_sub(1), next, now_ns, out);
    }

    /// Publishes the state of the channel, if it changed: that of the source, or stale while it is unknown.
    fn state_channel(&mut self, out: &mut impl Publish) {
        let is_known = self.books.trust.is_channel_known && self.is_up();
        self.counters.relay_up = u64::from(self.is_up());
        let state = match is_known {
            true => self.books.channel,
            false => ChannelState {
                price: Validity::Stale,
                orders: Validity::Stale,
                sequence: self.books.channel.sequence,
            },
        };
        if self.published == Some(state) {
            return;
        }
        self.published = Some(state);
        out.publish(&Update::Channel(&state), &Timestamps::default());
        out.commit();
    }
}

/// Longest transit time that is shown: beyond it one of the clocks is wrong, or the time is not one.
const TRANSIT_NS_MAX: u64 = 3_600_000_000_000;

/// Transit time by the clocks of both hosts; 0 if they differ by more than an hour.
fn transit_ns(wall_ns: u64, sent_ns: u64) -> u64 {
    let transit_ns = wall_ns.saturating_sub(sent_ns);
    if transit_ns <= TRANSIT_NS_MAX {
        transit_ns
    } else {
        0
    }
}
