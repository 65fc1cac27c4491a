//! State of a channel: one message for any number of instruments, visible to every reader, table and screen.

use crate::world::{Buses, Reader};
use touchline_transport::shm::{Images, Join, Publisher, Settings, Subscriber};
use touchline_transport::{Mirror, Publish};
use touchline_types::{ChannelState, Instrument, State, Timestamps, Update, Validity};

const INSTRUMENTS: u32 = 65_536;

/// A feed timeout of a channel of 65,536 instruments, and its end.
const SILENT: ChannelState = ChannelState {
    price: Validity::Stale,
    orders: Validity::Gapped,
    sequence: u64::MAX - 1,
};
const HEARD: ChannelState = ChannelState {
    sequence: u64::MAX,
    ..ChannelState::LIVE
};

fn wide() -> Settings {
    Settings {
        ring_bytes: 32 * 1024 * 1024,
        instruments_max: INSTRUMENTS as usize,
        image_levels_max: 1,
        ..Settings::default()
    }
}

fn drain(subscriber: &mut Subscriber, mirror: &mut Mirror) {
    while subscriber.drain(usize::MAX, mirror) > 0 {}
}

/// Every price book has this validity, in the mirror and in the table.
fn assert_all(mirror: &Mirror, images: &mut Images, validity: Validity) {
    images.refresh().expect("the bus is there");
    for instrument in (0..INSTRUMENTS).map(Instrument) {
        assert_eq!(mirror.validity(instrument), validity, "{instrument:?}");
        let book = images.book(instrument).expect("it was published");
        assert_eq!(book.validity, validity, "{instrument:?} of the table");
    }
}

#[test]
fn a_feed_timeout_of_a_channel_is_one_message() {
    let buses = Buses::new();
    let mut publisher =
        Publisher::open(&buses.root(), "test", &wide()).expect("no other process writes it");
    for instrument in (0..INSTRUMENTS).map(Instrument) {
        let state = State {
            instrument,
            validity: Validity::Live,
        };
        publisher.publish(&Update::State(state), &Timestamps::default());
    }
    publisher.commit();
    let (mut early, mut images) = (
        buses.join(Join::default()),
        Images::open(&buses.root(), "test").expect("the bus is there"),
    );
    let mut early_books = Mirror::new(INSTRUMENTS as usize, 0);
    drain(&mut early, &mut early_books);
    assert_all(&early_books, &mut images, Validity::Live);
    for (state, validity) in [(SILENT, Validity::Stale), (HEARD, Validity::Live)] {
        let before = publisher.counters().messages_published;
        publisher.publish(&Update::Channel(&state), &Timestamps::default());
        publisher.commit();
        assert_eq!(publisher.counters().messages_published - before, 1);
        drain(&mut early, &mut early_books);
        assert_all(&early_books, &mut images, validity);
        assert_eq!(early_books.channel(), &state);
        let (mut late, mut late_books) = (
            buses.join(Join::default()),
            Mirror::new(INSTRUMENTS as usize, 0),
        );
        drain(&mut late, &mut late_books);
        assert_all(&late_books, &mut images, validity);
        assert_eq!(late_books.channel(), &state);
    }
}

#[test]
fn every_reader_sees_the_worse_of_book_and_channel() {
    for seed in touchline_lab::random::seeds(16) {
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 6);
        let live_only = || Join {
            live_only: true,
            ..Join::default()
        };
        let mut early = Reader::new(buses.join(Join::default()));
        let mut early_live = Reader::new(buses.join(live_only()));
        // Each instrument needs a slot: a reset is visible only in slots.
        (0..100).for_each(|_| gateway.event());
        for step in 0..2_000 {
            let context = format!("SEED={seed} step {step}");
            match gateway.market.random.below(40) {
                0 => gateway.lose(),
                1 => gateway.reset(),
                2 | 3 => gateway.state_channel(),
                4 => {
                    gateway.commit();
                    early.drain();
                    early_live.drain();
                    gateway.market.assert_equal(&early.mirror, &context);
                    gateway
                        .market
                        .assert_live_equal(&early_live.mirror, &context);
                    let late = buses.reader();
                    gateway.market.assert_equal(&late.mirror, &context);
                    let late_live = buses.reader_with(live_only());
                    gateway
                        .market
                        .assert_live_equal(&late_live.mirror, &context);
                }
                _ => gateway.event(),
            }
        }
    }
}

/// The message with the state is lost with others, and no book would bring it back.
#[test]
fn an_overrun_reader_receives_the_state_of_its_channel() {
    for (seed, resync) in touchline_lab::random::seeds(8).zip([true, false].into_iter().cycle()) {
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 6);
        let join = Join {
            resync,
            ..Join::default()
        };
        let mut reader = Reader::new(buses.join(join));
        for round in 0..10 {
            gateway.state_channel();
            // Longer than the ring.
            gateway.events(1_000);
            reader.drain();
            let context = format!("SEED={seed} round {round} resync {resync}");
            assert_eq!(
                reader.mirror.channel(),
                gateway.market.channel(),
                "{context}"
            );
            match resync {
                true => gateway.market.assert_equal(&reader.mirror, &context),
                false => gateway.market.assert_what_is_live(&reader.mirror, &context),
            }
        }
    }
}

/// The state of a channel ends with its publisher.
#[test]
fn another_publisher_begins_with_a_live_channel() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    publisher.publish(&Update::Channel(&SILENT), &Timestamps::default());
    publisher.commit();
    let mut early = buses.reader();
    assert_eq!(early.mirror.channel(), &SILENT);
    drop(publisher);
    let _publisher = buses.publisher();
    early.drain();
    assert_eq!(early.mirror.channel(), &ChannelState::LIVE);
    let late = buses.reader();
    assert_eq!(late.mirror.channel(), &ChannelState::LIVE);
}

#[test]
#[should_panic = "a heartbeat is a batch of its own"]
fn a_heartbeat_does_not_end_an_open_batch() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    publisher.publish(&Update::Channel(&HEARD), &Timestamps::default());
    publisher.heartbeat(&Timestamps::default());
}
