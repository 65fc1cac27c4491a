//! A gateway whose host's clock is set.

use super::*;
use crate::host_time::Now;
use crate::incident::incidents;
use crate::{Limits, Pipeline};
use touchline_feed::{Batch, BookRules, Feed, Feedback, ReceiveTime};
use touchline_instruments::Instruments;
use touchline_net::udp::Totals;
use touchline_transport::{Envelope, Local, Subscribe};
use touchline_types::{Code, Depth, Validity};

/// A feed that records steps and the wall times of its timeouts.
#[derive(Debug, Default)]
struct Recorded {
    steps_ns: Vec<i64>,
    /// Wall times of timeouts, each with the number of steps before it.
    walls: Vec<(u64, usize)>,
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
        Batch::new(1)
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
        _: &mut Instruments,
        _: &mut Batch,
    ) -> usize {
        bytes.len()
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

/// A step either way is counted, an alarm, and told to the feed before any time has it; the times of the feed then are those of the
/// wall clock.
#[test]
fn a_step_of_the_wall_clock_is_counted_logged_and_told_to_the_feed_first() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    let limits = Limits {
        instruments_max: 1,
        orders_max: 1,
        event_changes_max: 1,
        default_depth: Depth {
            direct: 1,
            implied: 0,
        },
        levels_max: 1,
    };
    let pipeline = Pipeline::new(Recorded::default(), Local::new(Nobody), limits);
    let clock = Clock::calibrated();
    let mut gateway = Gateway::new(Alone, pipeline, None, clock, &Duty::default());
    let (sender, log) = incidents();
    gateway.report_to(sender);
    let run = |gateway: &mut Gateway<Alone, _>| {
        let until = std::time::Instant::now() + Duration::from_millis(20);
        while std::time::Instant::now() < until {
            gateway.do_work().expect("nothing fails");
        }
    };
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
        let Recorded { steps_ns, walls } = gateway.pipeline.feed();
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
