//! Joining at any moment returns the books of that moment, and every later message once.

use crate::world::{Buses, Market, Reader, mirror, small};
use touchline_transport::market::{Images, Unseen};
use touchline_transport::shm::{Error, Item, Join, Publisher, SegmentError, Settings, Subscriber};
use touchline_transport::{Mirror, Publish, SubscriptionEvent};
use touchline_types::{ChannelState, Instrument, Phase, Side, Timestamps, Update, Validity};

#[test]
fn joining_at_any_moment_gives_the_publishers_books() {
    for seed in touchline_lab::random::seeds(8) {
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 5);
        let mut readers = Vec::new();
        for event in 0..4_000 {
            if event % 500 == 0 {
                readers.push((event, Reader::new(buses.join(Join::default()))));
            }
            match gateway.market.random.below(200) {
                0 => gateway.lose(),
                1 => gateway.reset(),
                _ => gateway.event(),
            }
            if event % 7 == 0 {
                for (_, reader) in &mut readers {
                    reader.take(usize::MAX);
                }
            }
        }
        gateway.commit();
        readers.push((4_000, buses.reader()));
        for (joined, reader) in &mut readers {
            reader.drain();
            let context = format!("SEED={seed}, joined at event {joined}");
            gateway.market.assert_equal(&reader.mirror, &context);
        }
        assert_eq!(gateway.counts().images_cut, 0);
    }
}

/// Slots are read while the publisher continues, so they are ahead of the ring by different
/// amounts, with losses and resets in between. Of many instruments most are never published.
#[test]
fn joining_slowly_while_everything_changes_ends_with_the_publishers_books() {
    for seed in touchline_lab::random::seeds(60) {
        for (instruments, before, during) in [(12, 300, 400), (60, 5, 150)] {
            let buses = Buses::new();
            let mut gateway = buses.gateway(seed, instruments);
            (0..before).for_each(|_| gateway.event());
            let mut reader = Reader::new(buses.join(Join::default()));
            let mut orders = Validity::Recovering;
            for _ in 0..during {
                reader.take(1);
                match gateway.market.random.below(12) {
                    0 => {
                        gateway.lose();
                        orders = Validity::Recovering;
                    }
                    1 => {
                        gateway.reset();
                        orders = Validity::Live;
                    }
                    _ => gateway.event(),
                }
            }
            gateway.commit();
            reader.drain();
            let context = format!("SEED={seed}, {instruments} instruments");
            gateway.market.assert_equal(&reader.mirror, &context);
            for instrument in (0..instruments).map(Instrument) {
                let seen = reader.mirror.orders_validity(instrument);
                assert_eq!(seen, orders, "{context}: {instrument:?}");
            }
        }
    }
}

#[test]
fn definitions_come_first_then_books_then_the_stream() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(1, 3);
    gateway.events(2_000);
    let mut subscriber = buses.join(Join::default());
    let mut told = String::new();
    while let Some(letter) = subscriber
        .poll(|item| match item {
            Item::Update(received) => match (received.update, received.is_image) {
                (Update::Definition(_), true) => 'd',
                (Update::BookSnapshot(_), true) => 'b',
                (_, true) => '?',
                (_, false) => '.',
            },
            Item::Top { .. } => '.',
            Item::BatchEnd | Item::Undecoded(_) => '|',
            Item::SubscriptionEvent(SubscriptionEvent::CaughtUp) => '!',
            Item::SubscriptionEvent(_) => '?',
        })
        .given()
    {
        told.push(letter);
    }
    let stream = told.strip_prefix("dbdbdb").expect(&told);
    assert!(
        stream.ends_with('!') && !stream.contains(['?', 'd', 'b']),
        "{told}"
    );
    gateway.events(1);
    assert!(
        subscriber
            .poll(|item| matches!(item, Item::Update(_) | Item::Top { .. }))
            .given()
            .unwrap()
    );
}

#[test]
fn a_filter_lets_its_instruments_through_and_ends_each_batch() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    let mut market = Market::new(2, 4);
    let join = || Join {
        filter: Some(Box::new(|definition| definition.symbol.as_str() == "SYM2")),
        ..Join::default()
    };
    let (mut early, mut mirror_of_early) = (buses.join(join()), mirror());
    market.define(&mut publisher);
    (0..500).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let (mut late, mut mirror_of_late) = (buses.join(join()), mirror());
    early.drain(usize::MAX, &mut mirror_of_early);
    late.drain(usize::MAX, &mut mirror_of_late);
    for mirror in [&mirror_of_early, &mirror_of_late] {
        assert_eq!(mirror.inconsistent_updates(), 0);
        market.assert_one_equal(mirror, Instrument(2), "wanted");
        for other in [0, 1, 3].map(Instrument) {
            assert!(
                mirror
                    .book(other)
                    .is_none_or(|book| book.best(Side::Bid).is_none()),
                "{other:?}"
            );
        }
    }
}

/// A reader that joins during a download is notified before the first definition; a later one is
/// notified of its end, after the last book.
#[test]
fn a_download_is_reported_once_in_its_place() {
    let buses = Buses::new();
    let mut publisher = buses.publisher();
    let mut market = Market::new(3, 2);
    let mut early = buses.join(Join::default());
    assert_eq!(told_by(&mut early), "!");
    let say = |publisher: &mut Publisher, phase| {
        publisher.publish(&Update::Download(phase), &Timestamps::default());
        publisher.commit();
    };
    say(&mut publisher, Phase::Begun);
    let mut in_between = buses.join(Join::default());
    let mut told = told_by(&mut in_between);
    market.define(&mut publisher);
    (0..50).for_each(|_| market.event(&mut publisher));
    say(&mut publisher, Phase::Ended);
    told += &told_by(&mut in_between);
    assert_eq!(told.replace(['.', '|'], ""), "B!dde", "{told}");
    let told = told_by(&mut early).replace(['.', '|'], "");
    assert_eq!(told, "bdde", "from the ring alone");
    let mut late = buses.join(Join::default());
    let told = told_by(&mut late);
    assert!(told.starts_with("DKDKE"), "{told}");
    assert!(!told[5..].contains(['b', 'e', 'B', 'E']), "{told}");
    let mut mirror = mirror();
    buses.join(Join::default()).drain(usize::MAX, &mut mirror);
    assert_eq!(mirror.download(), Some(Phase::Ended));
}

/// One letter for each item; a capital letter is a snapshot.
fn told_by(subscriber: &mut Subscriber) -> String {
    let letter = |item: Item<'_>| match item {
        Item::Update(received) => {
            let letter = match received.update {
                Update::Definition(_) => 'd',
                Update::BookSnapshot(_) => 'k',
                Update::Download(Phase::Begun) => 'b',
                Update::Download(Phase::Ended) => 'e',
                _ => '.',
            };
            match received.is_image {
                true => letter.to_ascii_uppercase(),
                false => letter,
            }
        }
        Item::Top { .. } => '.',
        Item::BatchEnd | Item::Undecoded(_) => '|',
        Item::SubscriptionEvent(SubscriptionEvent::CaughtUp) => '!',
        Item::SubscriptionEvent(_) => '?',
    };
    std::iter::from_fn(|| subscriber.poll(letter).given()).collect()
}

/// Downloads follow each other while a reader joins slowly: each reported phase follows the
/// previous one.
#[test]
fn a_slow_join_reports_the_phases_of_downloads_in_order() {
    for seed in touchline_lab::random::seeds(40) {
        let buses = Buses::new();
        let mut gateway = buses.gateway(seed, 6);
        let mut subscriber = buses.join(Join::default());
        let (mut said, mut told) = (None, None);
        for _ in 0..300 {
            subscriber
                .poll(|item| {
                    if let Item::Update(received) = item
                        && let Update::Download(phase) = received.update
                    {
                        assert_ne!(told, Some(phase), "SEED={seed}: told twice");
                        told = Some(phase);
                    }
                })
                .given();
            if gateway.market.random.below(15) == 0 {
                let phase = match said {
                    Some(Phase::Begun) => Phase::Ended,
                    Some(Phase::Ended) | None => Phase::Begun,
                };
                said = Some(phase);
                gateway
                    .publisher
                    .publish(&Update::Download(phase), &Timestamps::default());
            }
            gateway.event();
        }
        gateway.commit();
        while let Some(download) = subscriber
            .poll(|item| match item {
                Item::Update(received) => match received.update {
                    Update::Download(phase) => Some(phase),
                    _ => None,
                },
                _ => None,
            })
            .given()
        {
            told = download.or(told);
        }
        assert_eq!(told, said, "SEED={seed}");
    }
}

/// A bus that is created, or created again with other sizes, is absent or starting until it can be joined: never damaged.
#[test]
fn a_reader_that_joins_during_a_start_waits() {
    let buses = Buses::new();
    let root = buses.root();
    let start = std::sync::Barrier::new(2);
    std::thread::scope(|threads| {
        let reader = threads.spawn(|| {
            let mut refusals = Vec::new();
            for round in 0..ROUNDS {
                start.wait();
                loop {
                    match Subscriber::try_join(&root, &bus_of(round), Join::default()) {
                        Ok(_) => break,
                        Err(Error::HalfStarted { .. }) => {}
                        Err(Error::Segment(SegmentError::Missing { .. })) => {}
                        Err(error) => break refusals.push(error.to_string()),
                    }
                }
            }
            refusals
        });
        for round in 0..ROUNDS {
            let settings = Settings {
                ring_bytes: (64 * 1024) << (round % 2),
                ..small()
            };
            start.wait();
            Publisher::open(&root, &bus_of(round), &settings).expect("no other process writes it");
        }
        let refusals = reader.join().expect("it ends");
        assert!(refusals.is_empty(), "{refusals:#?}");
    });
}

const ROUNDS: usize = 400;

/// In every second round the bus exists, with a ring of another size.
fn bus_of(round: usize) -> String {
    format!("start-{}", round / 2)
}

/// A reset empties every book: also for a reader that joins later a book that was never published is live, until a loss. One that takes
/// live books alone has it when the channel is live.
#[test]
fn books_that_were_never_published_are_live_after_a_reset() {
    let buses = Buses::new();
    let mut gateway = buses.gateway(3, 20);
    let orders_of = |mirror: &Mirror| {
        let all = (0..20).map(Instrument);
        let mut all: Vec<_> = all.map(|one| mirror.orders_validity(one)).collect();
        all.dedup();
        all
    };
    let live_only = Join {
        live_only: true,
        ..Join::default()
    };
    let joined = || {
        let mut reader = Reader::new(buses.join(Join::default()));
        reader.take(usize::MAX);
        reader.seen.mirror
    };
    gateway.market.assert_equal(&joined(), "before a reset");
    assert_eq!(orders_of(&joined()), [Validity::Recovering]);
    let book_of = |instrument| {
        let mut images = Images::open(&buses.root(), "test").expect("the bus is there");
        images.book(instrument).map(|book| book.validity)
    };
    let looked_up = || book_of(Instrument(0));
    let nobody = Instrument(20);
    assert_eq!(looked_up(), Err(Unseen::Nothing));
    gateway.reset();
    assert_eq!(
        book_of(nobody),
        Err(Unseen::Nothing),
        "there is no such instrument"
    );
    gateway.market.assert_equal(&joined(), "after a reset");
    assert_eq!(looked_up(), Ok(Validity::Live));
    assert_eq!(orders_of(&joined()), [Validity::Live]);

    let channel = |price| ChannelState {
        price,
        orders: price,
        sequence: 0,
    };
    gateway.publish(&Update::Channel(&channel(Validity::Stale)));
    let mut live = Reader::new(buses.join(live_only));
    live.take(usize::MAX);
    let own = live.mirror.own_validity(Instrument(0));
    assert_eq!(own.0, Validity::Stale);
    gateway.publish(&Update::Channel(&channel(Validity::Live)));
    live.drain();
    gateway.market.assert_equal(&live.mirror, "a live channel");
    assert_eq!(orders_of(&live.mirror), [Validity::Live]);

    gateway.lose();
    gateway.market.assert_equal(&joined(), "after a loss");
    assert_eq!(looked_up(), Ok(joined().validity(Instrument(0))));
    assert_eq!(orders_of(&joined()), [Validity::Recovering]);
    gateway.reset();
    drop(gateway);
    assert_eq!(
        joined().validity(Instrument(0)),
        Validity::Stale,
        "nobody publishes"
    );
    assert_eq!(looked_up(), Ok(Validity::Stale));
}
