//! State of a channel: one message for any number of instruments, visible to every reader, table and screen.

use crate::stage::{Market, Stage, mirror};
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
    let stage = Stage::new();
    let mut publisher =
        Publisher::open(&stage.root(), "test", &wide()).expect("no other process writes it");
    for instrument in (0..INSTRUMENTS).map(Instrument) {
        let state = State {
            instrument,
            validity: Validity::Live,
        };
        publisher.publish(&Update::State(state), &Timestamps::default());
    }
    publisher.commit();
    let (mut early, mut images) = (
        stage.join(Join::default()),
        Images::open(&stage.root(), "test").expect("the bus is there"),
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
            stage.join(Join::default()),
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
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 6);
        market.define(&mut publisher);
        let live_only = || Join {
            live_only: true,
            ..Join::default()
        };
        let mut early = (stage.join(Join::default()), mirror());
        let mut early_live = (stage.join(live_only()), mirror());
        // So that each has a slot: a reset is visible only in those.
        (0..100).for_each(|_| market.event(&mut publisher));
        for step in 0..2_000 {
            let context = format!("SEED={seed} step {step}");
            match market.random.below(40) {
                0 => market.lose(&mut publisher),
                1 => market.reset(&mut publisher),
                2 | 3 => market.state_channel(&mut publisher),
                4 => {
                    publisher.commit();
                    drain(&mut early.0, &mut early.1);
                    drain(&mut early_live.0, &mut early_live.1);
                    market.assert_equal(&early.1, &context);
                    market.assert_live_equal(&early_live.1, &context);
                    let mut late = (stage.join(Join::default()), mirror());
                    drain(&mut late.0, &mut late.1);
                    market.assert_equal(&late.1, &context);
                    let mut late_live = (stage.join(live_only()), mirror());
                    drain(&mut late_live.0, &mut late_live.1);
                    market.assert_live_equal(&late_live.1, &context);
                }
                _ => market.event(&mut publisher),
            }
        }
    }
}

/// The message with the state is lost with others, and no book would bring it back.
#[test]
fn an_overrun_reader_receives_the_state_of_its_channel() {
    for (seed, resync) in touchline_lab::random::seeds(8).zip([true, false].into_iter().cycle()) {
        let stage = Stage::new();
        let mut publisher = stage.publisher();
        let mut market = Market::new(seed, 6);
        market.define(&mut publisher);
        let join = Join {
            resync,
            ..Join::default()
        };
        let mut reader = (stage.join(join), mirror());
        for round in 0..10 {
            market.state_channel(&mut publisher);
            // Longer than the ring.
            (0..1_000).for_each(|_| market.event(&mut publisher));
            publisher.commit();
            drain(&mut reader.0, &mut reader.1);
            let context = format!("SEED={seed} round {round} resync {resync}");
            assert_eq!(reader.1.channel(), market.channel(), "{context}");
            match resync {
                true => market.assert_equal(&reader.1, &context),
                false => market.assert_what_is_live(&reader.1, &context),
            }
        }
    }
}

/// The state of a channel ends with its publisher.
#[test]
fn another_publisher_begins_with_a_live_channel() {
    let stage = Stage::new();
    let mut publisher = stage.publisher();
    publisher.publish(&Update::Channel(&SILENT), &Timestamps::default());
    publisher.commit();
    let mut early = (stage.join(Join::default()), mirror());
    drain(&mut early.0, &mut early.1);
    assert_eq!(early.1.channel(), &SILENT);
    drop(publisher);
    let _publisher = stage.publisher();
    drain(&mut early.0, &mut early.1);
    assert_eq!(early.1.channel(), &ChannelState::LIVE);
    let mut late = (stage.join(Join::default()), mirror());
    drain(&mut late.0, &mut late.1);
    assert_eq!(late.1.channel(), &ChannelState::LIVE);
}
