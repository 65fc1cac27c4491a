//! Rules of the receiver, batch by batch: applied, rejected, stale, requested.

use crate::buses::{MS, receiver};
use touchline_lab::market::values::times;
use touchline_relay::batch::Batch;
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::{
    Epoch, HOPS_MAX, Head, HeadFlags, Now, Receiver, ReceiverSettings, Sender, SenderSettings,
    Source, Taken,
};
use touchline_transport::{Envelope, Local, Mirror, Publish, Subscribe};
use touchline_types::native::{Flags, parts};
use touchline_types::{
    BookSnapshot, Gap, Instrument, Level, OrderAction, OrderChange, OrderRow, OrdersSnapshot,
    OrdersUpdate, Price, Quantity, Side, State, Update, Validity,
};

/// A receiver that publishes into a mirror or a bus, with a clock that the test sets.
pub struct Stand<P = Local<Mirror>> {
    pub receiver: Receiver,
    pub out: P,
    pub now: Now,
}

impl Stand {
    pub fn new(settings: ReceiverSettings) -> Stand {
        Stand::with(settings, Local::new(Mirror::new(64, 64)))
    }

    pub fn validity(&self) -> Validity {
        self.out.subscriber.validity(Instrument(0))
    }
}

impl<P: Publish> Stand<P> {
    pub fn with(settings: ReceiverSettings, out: P) -> Stand<P> {
        let mut stand = Stand {
            receiver: Receiver::new(settings),
            out,
            now: Now {
                mono_ns: 1_000 * MS,
                wall_ns: 0,
            },
        };
        stand.receiver.begin(&mut stand.out);
        stand
    }

    /// The receiver processes a batch, and the answer to its probe.
    pub fn take(&mut self, head: Head, updates: &[Update<'_>]) -> Taken {
        let bytes = batch(head, updates);
        let taken = self.receiver.take(&bytes, self.now, 7, &mut self.out);
        let is_refresh = head.flags.has(HeadFlags::REFRESH);
        let count = if is_refresh { 0 } else { updates.len() as u64 };
        let down = HeadFlags::SOURCE_DOWN;
        if self.receiver.stream() != Some((head.source, head.epoch)) {
            return taken;
        }
        self.answer(Head {
            first_sequence: head.first_sequence + count,
            flags: down.when(head.flags.has(down)),
            ..head
        });
        taken
    }

    /// The receiver processes the answer to a probe sent now.
    pub fn answer(&mut self, head: Head) {
        self.now.mono_ns += 1_000;
        self.receiver.connected();
        let probe = self.receiver.probe(self.now).expect("it is due");
        let answer = Head {
            flags: head.flags | HeadFlags::PROBE,
            sent_ns: probe.sent_ns,
            ..head
        };
        self.receiver
            .take(&batch(answer, &[]), self.now, 7, &mut self.out);
    }

    pub fn wait_ms(&mut self, ms: u64) -> Option<Head> {
        self.now.mono_ns += ms * MS;
        self.receiver.tick(self.now, &mut self.out)
    }
}

pub fn head(first_sequence: u64) -> Head {
    Head {
        source: Source::named("gw1").expect("a name"),
        epoch: Epoch(5 << 12),
        first_sequence,
        count: 0,
        hops: 0,
        flags: HeadFlags::NONE,
        sent_ns: 0,
    }
}

pub fn batch(head: Head, updates: &[Update<'_>]) -> Vec<u8> {
    batch_with(head, updates, |_| Flags::END_OF_BATCH)
}

/// A batch whose updates are one event of the venue.
fn one_event(head: Head, updates: &[Update<'_>]) -> Vec<u8> {
    let last = updates.len() - 1;
    batch_with(head, updates, |at| Flags::END_OF_BATCH.when(at == last))
}

fn batch_with(mut head: Head, updates: &[Update<'_>], flags: impl Fn(usize) -> Flags) -> Vec<u8> {
    let mut batch = Batch::new();
    for (at, update) in updates.iter().enumerate() {
        for part in parts(update, 1_300) {
            let number = head.first_sequence + u64::from(batch.count());
            batch.push(part.len(), |mut place| {
                part.write(number, flags(at), &times(), &mut place);
            });
        }
    }
    head.count = batch.count();
    batch.close(&head);
    batch.datagram().to_vec()
}

pub const LEVEL: Level = Level {
    price: Price(100),
    quantity: Quantity(1),
    orders: 1,
    known: true,
};

pub fn book() -> Update<'static> {
    book_of(Instrument(0))
}

pub fn book_of(instrument: Instrument) -> Update<'static> {
    Update::BookSnapshot(BookSnapshot {
        instrument,
        validity: Validity::Live,
        bids: &[LEVEL],
        asks: &[],
        implied_bids: &[],
        implied_asks: &[],
    })
}

#[test]
fn a_message_is_applied_once_and_a_gap_makes_books_unreliable_until_they_arrive_completely() {
    let mut stand = Stand::new(receiver());
    assert_eq!(stand.validity(), Validity::Gapped);
    stand.take(head(1), &[book()]);
    assert_eq!(stand.validity(), Validity::Live);
    let published = stand.out.published();
    stand.take(head(1), &[book()]);
    assert_eq!(stand.out.published(), published, "a duplicate batch");
    let state = Update::State(State {
        instrument: Instrument(0),
        validity: Validity::Live,
    });
    stand.take(head(5), &[state]);
    let counters = *stand.receiver.counters();
    assert_eq!(
        (
            counters.relay_duplicates,
            counters.relay_gaps,
            counters.relay_lost,
            counters.relay_withheld
        ),
        (1, 1, 3, 1)
    );
    assert_ne!(
        stand.validity(),
        Validity::Live,
        "a book that lacks messages is live"
    );
    assert!(stand.wait_ms(0).is_some(), "no request is sent");
    stand.take(head(6), &[book()]);
    // The state of the channel may have been among the lost messages.
    assert_eq!(stand.validity(), Validity::Stale);
    let refresh = Head {
        flags: HeadFlags::REFRESH | HeadFlags::ROUND_BEGIN | HeadFlags::ROUND_END,
        ..head(7)
    };
    stand.take(
        refresh,
        &[Update::Channel(&touchline_types::ChannelState::LIVE)],
    );
    assert_eq!(stand.validity(), Validity::Live);
    assert!(stand.receiver.is_complete());
}

#[test]
fn a_silent_link_is_stale_and_the_next_number_makes_it_live_again() {
    let mut stand = Stand::new(receiver());
    stand.take(head(1), &[book()]);
    stand.wait_ms(350);
    assert_eq!(stand.validity(), Validity::Live);
    stand.wait_ms(1);
    assert_eq!(stand.validity(), Validity::Stale);
    stand.take(head(2), &[]);
    assert_eq!(stand.validity(), Validity::Live, "nothing was lost");
    let down = Head {
        flags: HeadFlags::SOURCE_DOWN,
        ..head(2)
    };
    stand.take(down, &[]);
    assert_eq!(
        stand.validity(),
        Validity::Stale,
        "the sender's publisher has ended"
    );
    stand.take(head(2), &[]);
    stand.receiver.disconnected(&mut stand.out);
    assert_eq!(stand.validity(), Validity::Stale, "the connection ended");
    stand.take(head(2), &[]);
    assert_eq!(stand.validity(), Validity::Live);
}

#[test]
fn a_second_sender_is_counted_and_accepted_after_the_timeout_of_the_first() {
    let mut stand = Stand::new(receiver());
    stand.take(head(1), &[book()]);
    let second = Head {
        source: Source::named("gw2").expect("a name"),
        ..head(1)
    };
    assert_eq!(stand.take(second, &[book()]), Taken::Done);
    assert_eq!(stand.receiver.counters().relay_other_source, 1);
    stand.wait_ms(351);
    assert_eq!(stand.take(second, &[book()]), Taken::Restart);
    stand.receiver.restart(&mut stand.out);
    assert_eq!(stand.take(second, &[book()]), Taken::Done);
    assert_eq!(stand.receiver.stream(), Some((second.source, second.epoch)));
    // The same sender after a restart of its bus does not wait.
    let restarted = Head {
        epoch: second.epoch.restarted(),
        ..second
    };
    assert_eq!(stand.take(restarted, &[book()]), Taken::Restart);
}

#[test]
fn other_sources_loops_and_too_many_hops_are_rejected() {
    let settings = ReceiverSettings {
        sources: vec![
            Source::named("gw1").expect("a name"),
            Source::named("here").expect("a name"),
        ],
        ..receiver()
    };
    let mut stand = Stand::new(settings);
    let from = |source: &str, hops| Head {
        source: Source::named(source).expect("a name"),
        hops,
        ..head(1)
    };
    for (head, counted) in [
        (from("gw2", 0), (1, 0)),
        (from("here", 1), (1, 1)),
        (from("gw1", HOPS_MAX), (1, 2)),
        (from("gw1", HOPS_MAX - 1), (1, 2)),
    ] {
        assert_eq!(stand.take(head, &[book()]), Taken::Done);
        let counters = *stand.receiver.counters();
        assert_eq!(
            (counters.relay_refused_sources, counters.relay_refused_hops),
            counted,
            "{head:?}"
        );
    }
    assert_eq!(
        stand.receiver.origin().map(|(_, hops)| hops),
        Some(HOPS_MAX)
    );
}

/// A refresh with a missing datagram makes nothing live.
#[test]
fn a_refresh_with_a_missing_message_is_incomplete() {
    let mut stand = Stand::new(receiver());
    let refresh = |first: u64, flags: HeadFlags| Head {
        flags: HeadFlags::REFRESH | flags,
        ..head(first)
    };
    let channel = touchline_types::ChannelState::LIVE;
    // Joined in the middle of the stream: message 10 is the next.
    let begin = batch(
        refresh(10, HeadFlags::ROUND_BEGIN),
        &[Update::Channel(&channel)],
    );
    stand.receiver.take(&begin, stand.now, 7, &mut stand.out);
    let mut numbered = batch(refresh(10, HeadFlags::NONE), &[book()]);
    // The refresh number of this batch does not follow 10.
    let at = 40 + 2 + 8;
    numbered[at..at + 8].copy_from_slice(&12_u64.to_le_bytes());
    stand.receiver.take(&numbered, stand.now, 7, &mut stand.out);
    let end = batch(refresh(10, HeadFlags::ROUND_END), &[]);
    stand.receiver.take(&end, stand.now, 7, &mut stand.out);
    assert!(!stand.receiver.is_complete());
    assert_ne!(stand.validity(), Validity::Live);
}

#[test]
fn a_gap_of_the_source_is_a_gap_here() {
    let mut stand = Stand::new(receiver());
    stand.take(head(1), &[book()]);
    let gap = Update::Gap(Gap {
        first: 3,
        last: 4,
        orders: Validity::Recovering,
    });
    stand.take(head(2), &[gap]);
    assert_eq!(stand.validity(), Validity::Gapped);
    stand.take(head(3), &[book()]);
    assert_eq!(stand.validity(), Validity::Live);
    assert_eq!(stand.receiver.counters().relay_gaps, 0);
}

fn order(order_id: u64) -> OrderChange {
    OrderChange {
        order_id,
        priority: 1,
        price: Price(5),
        quantity: Quantity(1),
        side: Side::Bid,
        action: OrderAction::New,
        row: OrderRow::NONE,
    }
}

/// A receiver with room for one order, and this round of a refresh.
fn refreshed_with_room_for_one(orders: &[OrderChange]) -> Stand {
    let mut stand = Stand::new(ReceiverSettings {
        orders_max: 1,
        ..receiver()
    });
    refresh_orders(&mut stand, orders);
    stand
}

fn refresh_orders(stand: &mut Stand, orders: &[OrderChange]) {
    let orders = Update::OrdersSnapshot(OrdersSnapshot {
        instrument: Instrument(0),
        validity: Validity::Live,
        orders,
    });
    let flags = HeadFlags::REFRESH | HeadFlags::ROUND_BEGIN | HeadFlags::ROUND_END;
    let channel = touchline_types::ChannelState::LIVE;
    let bytes = batch(
        Head { flags, ..head(10) },
        &[Update::Channel(&channel), orders],
    );
    stand.receiver.take(&bytes, stand.now, 7, &mut stand.out);
}

/// An order book that does not fit is not known after the rest of its refresh.
#[test]
fn an_order_book_without_room_stays_recovering() {
    let mut stand = refreshed_with_room_for_one(&[order(1), order(2)]);
    assert!(stand.receiver.is_complete());
    let change = Update::Orders(OrdersUpdate {
        instrument: Instrument(0),
        validity: Validity::Live,
        changes: &[order(3)],
    });
    let bytes = batch(head(10), &[change, book()]);
    stand.receiver.take(&bytes, stand.now, 7, &mut stand.out);
    stand.answer(head(12));
    let mirror = &stand.out.subscriber;
    assert_eq!(mirror.orders_validity(Instrument(0)), Validity::Recovering);
    assert_eq!(stand.validity(), Validity::Live);
    let counters = stand.receiver.counters();
    assert_eq!(
        (counters.relay_orders_full, counters.relay_withheld),
        (1, 1)
    );
}

/// A book that did not fit is asked for again after ten seconds, and known once it fits.
#[test]
fn an_order_book_that_fits_again_is_live_again() {
    let mut stand = refreshed_with_room_for_one(&[order(1), order(2)]);
    let requests_of_ten_seconds = |stand: &mut Stand| {
        let step = |stand: &mut Stand| {
            let request = stand.wait_ms(100);
            stand.answer(head(10));
            usize::from(request.is_some())
        };
        (0..101).map(|_| step(stand)).sum::<usize>()
    };
    for _ in 0..2 {
        assert_eq!(requests_of_ten_seconds(&mut stand), 1);
        refresh_orders(&mut stand, &[order(1), order(2)]);
        let validity = stand.out.subscriber.orders_validity(Instrument(0));
        assert_eq!(validity, Validity::Recovering);
        assert!(!stand.receiver.has_everything());
    }
    assert_eq!(requests_of_ten_seconds(&mut stand), 1);
    refresh_orders(&mut stand, &[order(2)]);
    let validity = stand.out.subscriber.orders_validity(Instrument(0));
    assert_eq!(validity, Validity::Live);
    assert!(stand.receiver.has_everything());
    assert_eq!(requests_of_ten_seconds(&mut stand), 0);
}

/// Instruments beyond the limit are dropped, and a round that contains some still ends; then not everything of the sender is here.
#[test]
fn instruments_beyond_the_limit_are_dropped() {
    let mut stand = Stand::new(receiver());
    let far = Update::State(State {
        instrument: Instrument(0x00FF_FFFF),
        validity: Validity::Live,
    });
    let flags = HeadFlags::REFRESH | HeadFlags::ROUND_BEGIN | HeadFlags::ROUND_END;
    let channel = touchline_types::ChannelState::LIVE;
    stand.take(
        Head { flags, ..head(10) },
        &[Update::Channel(&channel), far],
    );
    stand.take(head(10), &[far]);
    assert_eq!(stand.receiver.counters().relay_instruments_refused, 2);
    assert!(stand.receiver.is_complete() && !stand.receiver.has_everything());
    // The next stream may fit.
    stand.receiver.restart(&mut stand.out);
    stand.take(head(1), &[book()]);
    assert!(stand.receiver.has_everything());
}

/// Batches that a publication made visible to its readers.
#[derive(Default)]
struct Committed(usize);

impl Subscribe for Committed {
    fn update(&mut self, _: &Envelope<'_>) {}

    fn batch_end(&mut self) {
        self.0 += 1;
    }
}

/// The last update of an event is of an instrument beyond the limit: readers see the updates before it at once.
#[test]
fn an_event_that_ends_beyond_the_limit_is_committed() {
    let out = Local::new(Committed::default());
    let mut stand = Stand::with(receiver(), out);
    stand.take(head(1), &[book()]);
    let (committed, published) = (stand.out.subscriber.0, stand.out.published());
    let event = one_event(head(2), &[book(), book_of(Instrument(0x00FF_FFFF))]);
    stand.receiver.take(&event, stand.now, 7, &mut stand.out);
    assert_eq!(stand.receiver.counters().relay_instruments_refused, 1);
    assert_eq!(stand.out.published(), published + 1);
    assert_eq!(stand.out.subscriber.0, committed + 1);
}

/// Batches arrive, and the books in them are old: a queue on the way, a stopped receiver, a link that was slow from its first batch on.
#[test]
fn books_older_than_the_limit_are_stale_although_batches_arrive() {
    let mut stand = Stand::new(receiver());
    let first = batch(head(1), &[book()]);
    stand.receiver.take(&first, stand.now, 7, &mut stand.out);
    assert_eq!(stand.validity(), Validity::Stale, "no probe was answered");
    stand.answer(head(2));
    assert_eq!(stand.validity(), Validity::Live);
    for _ in 0..5 {
        stand.wait_ms(100);
        let beat = batch(head(2), &[]);
        stand.receiver.take(&beat, stand.now, 7, &mut stand.out);
        assert_eq!(stand.validity(), Validity::Live);
    }
    stand.wait_ms(1);
    assert_eq!(stand.validity(), Validity::Stale);
    assert_eq!(stand.receiver.counters().relay_lags, 1);
    assert!(stand.receiver.is_lagging() && !stand.receiver.is_up());
    // An answer in front of which messages are missing proves that the books are not known, and one that came late nothing.
    stand.answer(head(3));
    assert_eq!(stand.validity(), Validity::Gapped);
    stand.wait_ms(501);
    stand.answer(head(2));
    assert!(stand.receiver.is_lagging(), "below the next number");
    // While this process is stopped the lag is not judged; the first check after that judges it.
    stand.answer(head(3));
    assert!(!stand.receiver.is_lagging());
    stand.now.mono_ns += 501 * MS;
    stand.receiver.judge(stand.now, &mut stand.out);
    assert!(stand.receiver.is_lagging());
}

/// A number that the sender cannot have reached is refused; one that it can is a gap, and the receiver returns to the numbers that
/// the sender continues with.
#[test]
fn a_number_far_ahead_does_not_blind_the_receiver() {
    let mut stand = Stand::new(receiver());
    stand.take(head(1), &[book()]);
    let forged = batch(head(1 << 60), &[]);
    let published = stand.out.published();
    let taken = stand.receiver.take(&forged, stand.now, 7, &mut stand.out);
    assert!(matches!(taken, Taken::Malformed(_)));
    assert_eq!(stand.out.published(), published);
    assert_eq!(stand.validity(), Validity::Live);

    let forged = batch(head(1 << 20), &[book()]);
    let now = stand.now;
    stand.receiver.take(&forged, now, 7, &mut stand.out);
    stand.wait_ms(10);
    stand.take(head(2), &[]);
    assert_eq!(stand.receiver.counters().relay_gaps, 2);
    let is_asked = (0..3).any(|_| stand.wait_ms(100).is_some());
    assert!(is_asked, "no refresh is requested");
    stand.take(head(2), &[book()]);
    let refresh = Head {
        flags: HeadFlags::REFRESH | HeadFlags::ROUND_BEGIN | HeadFlags::ROUND_END,
        ..head(3)
    };
    let channel = touchline_types::ChannelState::LIVE;
    stand.take(refresh, &[Update::Channel(&channel), book()]);
    assert_eq!(stand.validity(), Validity::Live);
    // After a silence the sender can be far ahead.
    stand.receiver.disconnected(&mut stand.out);
    stand.now.mono_ns += 3_600_000 * MS;
    assert_eq!(stand.take(head(1 << 30), &[]), Taken::Done);
}

/// A subscription of shared memory that is added again reads the old part of the log again, for as long as the sender is held.
#[test]
fn an_old_part_of_the_stream_that_arrives_again_changes_nothing() {
    let mut stand = Stand::new(receiver());
    for first in 1..=3 {
        stand.take(head(first), &[book()]);
    }
    let published = stand.out.published();
    let (answered, old) = (stand.now, batch(head(1), &[book()]));
    let answer = Head {
        flags: HeadFlags::PROBE,
        sent_ns: answered.mono_ns,
        ..head(2)
    };
    for _ in 0..100 {
        stand.now.mono_ns += 10 * MS;
        for bytes in [&old, &batch(answer, &[])] {
            let now = stand.now;
            stand.receiver.take(bytes, now, 7, &mut stand.out);
        }
    }
    assert_eq!(stand.receiver.counters().relay_gaps, 0);
    assert_eq!(stand.receiver.counters().relay_messages, 3);
    assert_eq!(stand.out.published(), published);
    stand.take(head(4), &[book()]);
    assert_eq!(stand.validity(), Validity::Live);
}

/// Times of a broken or hostile sender give no absurd counter.
#[test]
fn a_sending_time_that_is_no_time_is_not_shown() {
    let mut stand = Stand::new(receiver());
    stand.now.wall_ns = 1_700_000_000_000_000_000;
    stand.take(head(1), &[book()]);
    assert_eq!(stand.receiver.counters().relay_latency_ns, 0);
    let sent_ns = stand.now.wall_ns - 5_000;
    stand.take(Head { sent_ns, ..head(2) }, &[]);
    assert_eq!(stand.receiver.counters().relay_latency_ns, 5_000);
}

/// The link accepts nothing: the waiting messages are older than an answer would claim.
#[test]
fn a_probe_is_not_answered_before_the_messages_that_wait() {
    let mut link = MemoryLink {
        room: 1,
        ..MemoryLink::default()
    };
    let settings = SenderSettings {
        source: Source::named("gw1").expect("a name"),
        hops: 0,
        instruments_max: 64,
        orders_max: 64,
        batch_bytes_max: 1_344,
        heartbeat_ns: 100 * MS,
        cyclic: None,
    };
    let mut sender = Sender::new(settings, Epoch(5 << 12));
    let mut now = Now {
        mono_ns: 1_000 * MS,
        wall_ns: 0,
    };
    for _ in 0..3 {
        sender.tick(now, &mut link);
        now.mono_ns += 200 * MS;
    }
    assert!(sender.is_blocked());
    link.probe_ns = Some(7);
    sender.answer(now, &mut link);
    assert_eq!((link.batches.len(), link.probe_ns), (1, Some(7)));
    link.room = 0;
    sender.answer(now, &mut link);
    let last = link.batches.back().expect("the answer");
    let head = Head::read(last).expect("a header");
    assert_eq!((head.flags, head.sent_ns), (HeadFlags::PROBE, 7));
    assert!(!sender.is_blocked() && link.probe_ns.is_none());
}
