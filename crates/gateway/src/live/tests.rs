//! A gateway whose host's clock is set, one that is paused, and one that keeps its data in the caches.

use super::*;
use crate::config::IdleKind;
use crate::host_time::Now;
use crate::incident::incidents;
use crate::{Limits, Pipeline};
use std::cell::Cell;
use touchline_feed::{Batch, BookRules, Feed, Feedback, ReceiveTime};
use touchline_instruments::Instruments;
use touchline_net::udp::Totals;
use touchline_testing::random::{Random, seeds};
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
    /// Monotonic time of the last packet, and its longest distance to a timeout.
    heard_ns: u64,
    silence_ns: u64,
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
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize {
        self.heard_ns = time.mono_ns;
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
        self.silence_ns = self.silence_ns.max(now.mono_ns - self.heard_ns);
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

/// A link whose venue is the test.
#[derive(Debug, Default)]
struct Waiting {
    /// Packets in its socket.
    packets: usize,
}

impl FeedLink for Waiting {
    type Feed = Recorded;
    const TABLES: &'static [&'static [CounterInfo]] = &[];
    const GAP_FIELDS: &'static [(&'static str, &'static str)] = &[];

    fn counted(&self) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn receive<P: Publish>(
        &mut self,
        pipeline: &mut Pipeline<Recorded, P>,
        clocks: &Clocks,
    ) -> Result<Work, Error> {
        if self.packets == 0 {
            return Ok(Work::None);
        }
        self.packets -= 1;
        pipeline.packet_at((), b"x", clocks.receive_time(0), ticks());
        Ok(Work::Done)
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

fn gateway(duty: &Duty) -> Gateway<Waiting, Local<Nobody>> {
    let pipeline = Pipeline::new(Recorded::default(), Local::new(Nobody), LIMITS);
    Gateway::new(
        Waiting::default(),
        pipeline,
        None,
        Clock::calibrated(),
        duty,
    )
}

/// Idle rounds for 20 ms.
fn run(gateway: &mut Gateway<Waiting, Local<Nobody>>) {
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

/// A step in either direction is counted, raises an alarm, and is reported to the feed before any later time; the times of the feed
/// then are those of the wall clock.
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
        // Times lack the step until the feed is notified, and include it afterwards.
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

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// A venue that sends every 20 ms or sooner until its end, and a gateway that its host pauses anywhere in a round: in a virtual time.
struct Paused {
    gateway: Gateway<Waiting, Local<Nobody>>,
    random: Random,
    start: u64,
    now_ns: u64,
    next_packet_ns: u64,
    longest_pause_ns: u64,
}

impl Paused {
    fn new(seed: u64) -> Paused {
        let gateway = gateway(&Duty::default());
        Paused {
            random: Random::from_seed(seed),
            start: ticks(),
            now_ns: 1,
            next_packet_ns: 1,
            longest_pause_ns: 0,
            gateway,
        }
    }

    /// Rounds until this time, some of them with a pause before or after the poll. The venue sends until `sends_until_ns`.
    fn run(&mut self, until_ns: u64, sends_until_ns: u64) {
        while self.now_ns < until_ns {
            self.pass(sends_until_ns);
            let work = self.gateway.receive().expect("nothing fails");
            self.pass(sends_until_ns);
            let tick = self
                .gateway
                .clocks
                .clock()
                .ticks_of(Duration::from_nanos(self.now_ns));
            let now_ns = self.now_ns;
            self.gateway
                .end_round(self.start + tick, || now_ns, work)
                .expect("nothing fails");
        }
    }

    /// Half a round.
    fn pass(&mut self, sends_until_ns: u64) {
        let passed_ns = match self.random.chance(0.01) {
            true => self.random.between(1, 300) as u64 * MS,
            false => self.random.between(1, 400) as u64 * US,
        };
        self.longest_pause_ns = self.longest_pause_ns.max(passed_ns);
        self.now_ns += passed_ns;
        while self.next_packet_ns <= self.now_ns.min(sends_until_ns) {
            self.gateway.link.packets += 1;
            self.next_packet_ns += self.random.between(1, 20_000) as u64 * US;
        }
    }

    /// Longest silence that the feed has seen, in milliseconds.
    fn silence_ms(&self) -> u64 {
        self.gateway.pipeline.feed().silence_ns / MS
    }
}

/// Packets arrive while a gateway is paused, before it polls its sockets or between that and its timers: the feed sees no silence. The
/// venue's end is seen in time, although pauses go on.
#[test]
fn a_pause_of_the_gateway_is_no_silence_of_the_venue() {
    for seed in seeds(32) {
        let mut paused = Paused::new(seed);
        paused.run(20_000 * MS, u64::MAX);
        let silence_ms = paused.silence_ms();
        let pause_ms = paused.longest_pause_ns / MS;
        assert!(pause_ms > 250, "seed {seed}: no long pause");
        // An interval of the venue, and a round before and behind it.
        assert!(silence_ms <= 22, "seed {seed}: {silence_ms} ms");
        let end_ns = paused.now_ns;
        paused.run(end_ns + 2_000 * MS, end_ns);
        let silence_ms = paused.silence_ms();
        assert!(silence_ms > 1_000, "seed {seed}: {silence_ms} ms of 2,000");
    }
}
