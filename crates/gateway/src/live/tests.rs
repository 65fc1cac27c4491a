//! A gateway whose host's clock is set, and one that keeps its data in the caches.

use super::*;
use crate::config::IdleKind;
use crate::host_time::Now;
use crate::incident::incidents;
use crate::{Limits, Pipeline};
use std::cell::Cell;
use touchline_feed::{Batch, BookRules, Feed, Feedback, ReceiveTime};
use touchline_instruments::Instruments;
use touchline_net::udp::Totals;
use touchline_transport::{Envelope, Local, Subscribe};
use touchline_types::{
    BookKind, Code, Depth, Event, Instrument, LevelEvent, Place, Price, Quantity, Side,
    UpdateAction, Validity,
};

/// A feed that records steps, the wall times of its timeouts and reads ahead. Each packet is a level of its one instrument.
#[derive(Debug, Default)]
struct Recorded {
    steps_ns: Vec<i64>,
    /// Wall times of timeouts, each with the number of steps before it.
    walls: Vec<(u64, usize)>,
    reads_ahead: Cell<u64>,
}

impl Feed for Recorded {
    type Source = ();
    const TABLES: &'static [&'static [CounterInfo]] = &[];

    fn counted(&self) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn instruments(&mut self) -> Instruments {
        Instruments::by_symbol(Code::new(b"T").expect("a short name"), 1)
    }

    fn batch(&self) -> Batch {
        Batch::new(2)
    }

    fn book_rules(&self) -> BookRules {
        BookRules {
            missing: Validity::Recovering,
            inconsistent: Validity::Recovering,
        }
    }

    fn handle(
        &mut self,
        (): (),
        bytes: &[u8],
        _: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize {
        let instrument = instruments.add_symbol(b"T", LIMITS.default_depth);
        let level = LevelEvent {
            instrument: instrument.expect("there is room"),
            orders: -1,
            price: Price(1),
            quantity: Quantity(1),
            place: Place::Position(1),
            action: UpdateAction::New,
            side: Side::Bid,
            book: BookKind::Direct,
        };
        batch.events.push(Event::Level(level, Validity::Live));
        batch.events.push(Event::EndOfEvent { transact_ns: 0 });
        bytes.len()
    }

    fn warm(&self, _: Instrument) {
        self.reads_ahead.set(self.reads_ahead.get() + 1);
    }

    fn poll(&mut self, _: &mut Instruments, _: &mut Batch) -> bool {
        false
    }

    fn handle_timeout(&mut self, now: ReceiveTime) {
        self.walls.push((now.wall_ns, self.steps_ns.len()));
    }

    fn wall_stepped(&mut self, step_ns: i64) {
        self.steps_ns.push(step_ns);
    }

    fn next_timeout(&self) -> Option<u64> {
        Some(0)
    }

    fn finish(&mut self) {}

    fn feedback(&mut self, _: &Feedback) {}

    fn is_defined(&self) -> bool {
        true
    }
}

/// A link without a venue.
#[derive(Debug)]
struct Alone;

impl FeedLink for Alone {
    type Feed = Recorded;
    const TABLES: &'static [&'static [CounterInfo]] = &[];
    const GAP_FIELDS: &'static [(&'static str, &'static str)] = &[];

    fn counted(&self) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn receive<P: Publish>(
        &mut self,
        _: &mut Pipeline<Recorded, P>,
        _: &Clocks,
    ) -> Result<Work, Error> {
        Ok(Work::None)
    }

    fn control<P: Publish>(&mut self, _: &mut Pipeline<Recorded, P>, _: Now) {}

    fn is_caught_up(&mut self, _: &Pause) -> bool {
        true
    }

    fn tally(&mut self) -> Totals {
        Totals::default()
    }
}

struct Nobody;

impl Subscribe for Nobody {
    fn update(&mut self, _: &Envelope<'_>) {}
}

const LIMITS: Limits = Limits {
    instruments_max: 1,
    orders_max: 1,
    event_changes_max: 1,
    default_depth: Depth {
        direct: 1,
        implied: 0,
    },
    levels_max: 1,
};

fn gateway(duty: &Duty) -> Gateway<Alone, Local<Nobody>> {
    let pipeline = Pipeline::new(Recorded::default(), Local::new(Nobody), LIMITS);
    Gateway::new(Alone, pipeline, None, Clock::calibrated(), duty)
}

/// Idle rounds for 20 ms.
fn run(gateway: &mut Gateway<Alone, Local<Nobody>>) {
    let until = std::time::Instant::now() + Duration::from_millis(20);
    while std::time::Instant::now() < until {
        gateway.do_work().expect("nothing fails");
    }
}

#[test]
fn a_spinning_loop_reads_data_ahead_if_it_is_to_keep_it_warm() {
    for (keep_warm, idle) in [
        (true, IdleKind::Spin),
        (true, IdleKind::BackOff),
        (false, IdleKind::Spin),
    ] {
        let mut gateway = gateway(&Duty {
            keep_warm,
            idle,
            ..Duty::default()
        });
        gateway.pipeline.packet((), b"x", 0, 0);
        run(&mut gateway);
        let reads = gateway.pipeline.feed().reads_ahead.get();
        let is_expected = keep_warm && idle == IdleKind::Spin;
        assert_eq!(reads > 0, is_expected, "{keep_warm} {idle:?}");
    }
}

/// A timer has at most 100 ms, so a silence is noticed that late at most.
#[test]
fn each_timer_of_a_quiet_gateway_checks_for_silence() {
    let mut gateway = gateway(&Duty::default());
    run(&mut gateway);
    let counters = gateway.counters();
    let checks = gateway.pipeline.feed().walls.len() as u64;
    // A host that stopped this process has a backlog to process first.
    assert!(
        checks > 0 && checks + counters.stalls >= counters.timers,
        "{checks} checks in {} timers",
        counters.timers
    );
}

/// A step either way is counted, an alarm, and told to the feed before any time has it; the times of the feed then are those of the
/// wall clock.
#[test]
fn a_step_of_the_wall_clock_is_counted_logged_and_told_to_the_feed_first() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    let mut gateway = gateway(&Duty::default());
    let (sender, log) = incidents();
    gateway.report_to(sender);
    run(&mut gateway);
    assert_eq!(gateway.counters().wall_clock_steps, 0, "it was not set");
    for (count, step_ns) in [(1, HOUR_NS), (2, -HOUR_NS), (3, 200_000_000)] {
        gateway.clocks.step(step_ns);
        let before_ns = gateway.clocks.wall_ns(ticks());
        gateway
            .pipeline
            .advance_at(gateway.clocks.now(ticks()).time);
        run(&mut gateway);
        assert_eq!(gateway.counters().wall_clock_steps, count);
        let Recorded {
            steps_ns, walls, ..
        } = gateway.pipeline.feed();
        assert_eq!(steps_ns.len() as u64, count);
        let told_ns = *steps_ns.last().expect("it was told");
        assert!(
            told_ns.abs_diff(step_ns) < 10_000_000,
            "{told_ns} {step_ns}"
        );
        assert_eq!(
            log.next(),
            Some(Incident::ClockStepped { step_ns: told_ns })
        );
        assert_eq!(log.next(), None);
        // Without the step until it was told, with it from then on.
        let of_before = |(_, told): &&(u64, usize)| *told < steps_ns.len();
        let (last_ns, _) = walls.iter().rfind(of_before).expect("a timeout");
        assert!(
            last_ns.abs_diff(before_ns) < 100_000_000,
            "{last_ns} {before_ns}"
        );
        let (last_ns, _) = walls.last().expect("a timeout");
        let stepped_ns = last_ns.wrapping_sub(before_ns) as i64;
        assert!(
            stepped_ns.abs_diff(step_ns) < 100_000_000,
            "{stepped_ns} {step_ns}"
        );
    }
}
