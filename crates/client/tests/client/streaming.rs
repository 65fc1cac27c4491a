//! A bus as an asynchronous stream, with a minimal executor.

use crate::world::{World, bid, define, small, trade, whole};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;
use touchline_client::{Connection, Event, Streamed};
use touchline_testing::{PATIENCE, until};
use touchline_transport::Publish;
use touchline_transport::shm::Settings;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn a_stream_conflates_tops_and_reports_dropped_trades() {
    let world = World::new();
    // Room for everything: the thread must not be overrun on a busy host.
    let settings = Settings {
        ring_bytes: 1 << 20,
        ..small()
    };
    let mut publisher = world.publisher_with("test", &settings);
    define(&mut publisher, 0, "ESU4", 100);
    whole(&mut publisher, 0, (450_025, 1), (450_050, 7));
    publisher.commit();
    let mut stream = world.join(world.options()).into_stream(10);
    let mut events = Vec::new();
    while let Some(Streamed::Event(event)) = block_on(stream.next()) {
        events.push(event);
        if matches!(event, Event::Connection(Connection::CaughtUp { .. })) {
            break;
        }
    }
    let [Event::Defined(es), Event::Top(_), Event::Connection(_)] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        stream
            .definition(es.instrument)
            .expect("defined")
            .symbol
            .as_str(),
        "ESU4"
    );
    // The reader polls no event meanwhile: 500 tops become one, and ten of 25 trades are kept.
    for quantity in 1..=500 {
        bid(&mut publisher, 0, 450_025, 1 + quantity);
        publisher.commit();
    }
    for quantity in 1..=25 {
        trade(&mut publisher, 0, 450_050, quantity);
        publisher.commit();
    }
    until("499 conflated updates", PATIENCE, || {
        match stream.conflated() {
            499.. => Ok(()),
            conflated => Err(conflated),
        }
    });
    // When the thread reports the end of its publisher it has read the trades too.
    drop(publisher);
    std::thread::sleep(Duration::from_millis(500));
    let mut items = Vec::new();
    while let Some(item) = block_on(stream.next()) {
        let is_gone = item == Streamed::Event(Event::Connection(Connection::PublisherGone));
        items.push(item);
        if is_gone {
            break;
        }
    }
    let Streamed::Event(Event::Top(top)) = items[0] else {
        panic!("{items:?}");
    };
    assert_eq!(top.bid.expect("a bid").quantity, 501.into());
    let trades = items
        .iter()
        .filter(|item| matches!(item, Streamed::Event(Event::Trade(_))));
    let given = trades.count() as u64;
    let dropped = items.iter().filter_map(|item| match item {
        Streamed::Dropped { trades, others } => Some((*trades, *others)),
        Streamed::Event(_) => None,
    });
    let dropped: Vec<_> = dropped.collect();
    assert_eq!((given, dropped), (10, vec![(15, 0)]));
    stream.stopper().stop();
    assert_eq!(block_on(stream.next()), None);
}

/// Dropping the stream ends its thread.
#[test]
fn a_stream_that_is_dropped_ends_its_thread() {
    let world = World::new();
    let _publisher = world.publisher();
    let stream = world.join(world.options()).into_stream(10);
    let stopper = stream.stopper();
    drop(stream);
    assert!(stopper.is_stopped());
}
