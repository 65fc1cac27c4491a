//! Times of the updates of a packet, by their place: from the packet polled to its first update published, and from there to each later
//! one. The books gather a whole event before its first update, so packets of many updates publish the first one later: only
//! differences within packets say what an update takes.
//!
//! The path calls [`Places`] before the bus. A reading of the clock for each update makes a packet slower, so only one packet in
//! [`ONE_IN`] has them; [`Places::settle`] fills the histograms when the packet is done.

use hdrhistogram::Histogram;
use std::cell::RefCell;
use std::rc::Rc;
use touchline_gateway::replay::latency_histogram;
use touchline_transport::Publish;
use touchline_transport::clock::{Clock, ticks};
use touchline_types::{Timestamps, Update};

/// Places of a packet that are measured; later updates are left out.
pub const PLACES: usize = 16;

/// One packet in this many is measured: no divisor of a market's number of packets, so that each of them has its turn.
const ONE_IN: u64 = 7;

/// The updates of the present packet, and the times of all earlier ones.
#[derive(Clone)]
pub struct Places(Rc<RefCell<Seen>>);

struct Seen {
    clock: Clock,
    /// Ticks of the packet.
    polled: u64,
    /// Packets so far.
    packets: u64,
    /// Ticks at which its updates were published.
    published: [u64; PLACES],
    /// Updates that are published.
    count: usize,
    /// The bus makes the last update visible with the next one or at the end of the batch.
    is_open: bool,
    histograms: [Histogram<u64>; PLACES],
}

impl Places {
    pub fn new(clock: Clock) -> Places {
        Places(Rc::new(RefCell::new(Seen {
            clock,
            polled: 0,
            packets: 0,
            published: [0; PLACES],
            count: 0,
            is_open: false,
            histograms: [(); PLACES].map(|()| latency_histogram()),
        })))
    }

    /// Takes the times of a packet that is done.
    #[inline]
    pub fn settle(&self) {
        let mut seen = self.0.borrow_mut();
        if seen.count > 0 {
            seen.settle();
        }
    }

    /// Times by place, nanoseconds, without the places that no packet has: of the first from the poll, of the others behind the first.
    pub fn histograms(&self) -> Vec<Histogram<u64>> {
        let seen = self.0.borrow();
        let measured = seen.histograms.iter();
        let measured = measured.take_while(|histogram| !histogram.is_empty());
        measured.cloned().collect()
    }
}

impl Seen {
    /// The last update becomes visible.
    #[inline]
    fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            if let Some(published) = self.published.get_mut(self.count) {
                *published = ticks();
            }
            self.count += 1;
        }
    }

    fn settle(&mut self) {
        let Seen {
            clock,
            polled,
            published,
            count,
            ..
        } = self;
        let published = &published[..(*count).min(PLACES)];
        let mut from = *polled;
        for (at, histogram) in published.iter().zip(&mut self.histograms) {
            histogram.saturating_record(clock.between_ns(from, *at));
            from = published[0];
        }
        self.count = 0;
    }
}

impl Publish for Places {
    /// An update is visible when the next one is written.
    #[inline]
    fn publish(&mut self, _: &Update<'_>, timestamps: &Timestamps) {
        let mut seen = self.0.borrow_mut();
        seen.close();
        if seen.polled != timestamps.polled {
            seen.polled = timestamps.polled;
            seen.packets += 1;
            seen.count = 0;
        }
        // Without a trace there are no times.
        seen.is_open = seen.polled > 0 && seen.packets.is_multiple_of(ONE_IN);
    }

    #[inline]
    fn commit(&mut self) {
        self.0.borrow_mut().close();
    }
}

/// The median of the first place, and the line through those of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloorAndSlope {
    /// Median of the first update, nanoseconds.
    pub floor_ns: u64,
    /// Nanoseconds for each update before in its packet.
    pub slope_ns: f64,
}

impl FloorAndSlope {
    /// By least squares through the first update; each place counts by its packets. `None` without an update.
    pub fn of(places: &[Histogram<u64>]) -> Option<FloorAndSlope> {
        let median = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.5);
        let floor_ns = median(places.first()?);
        let (mut above, mut squares) = (0.0, 0.0);
        for (before, histogram) in places.iter().enumerate().skip(1) {
            let (before, count) = (before as f64, histogram.len() as f64);
            above += count * before * median(histogram) as f64;
            squares += count * before * before;
        }
        Some(FloorAndSlope {
            floor_ns,
            slope_ns: if squares > 0.0 { above / squares } else { 0.0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn publish(places: &mut Places, polled: u64) {
        let timestamps = Timestamps {
            polled,
            ..Timestamps::default()
        };
        places.publish(&Update::Reset, &timestamps);
    }

    fn wait() {
        std::thread::sleep(Duration::from_millis(1));
    }

    fn counts(places: &Places) -> Vec<u64> {
        places.histograms().iter().map(Histogram::len).collect()
    }

    /// A packet may have several batches; the last update of a batch waits for no other one.
    #[test]
    fn each_update_has_the_time_at_which_it_becomes_visible() {
        let mut places = Places::new(Clock::calibrated());
        let first = ticks() - ONE_IN;
        (1..ONE_IN).for_each(|packet| publish(&mut places, first + packet));
        let polled = ticks();
        publish(&mut places, polled);
        wait();
        publish(&mut places, polled);
        places.commit();
        wait();
        publish(&mut places, polled);
        places.commit();
        assert!(places.histograms().is_empty(), "the packet is not done");
        places.settle();
        places.settle();
        assert_eq!(counts(&places), [1; 3]);
        let ms = |place: usize| places.histograms()[place].min() as f64 / 1e6;
        assert!(ms(0) >= 0.98, "{}", ms(0));
        // The last one came behind the second wait, and the second one before it.
        assert!(ms(2) - ms(1) >= 0.98, "{} {}", ms(1), ms(2));
    }

    #[test]
    fn one_packet_in_seven_is_measured_and_none_without_a_trace() {
        let mut places = Places::new(Clock::calibrated());
        for packet in 1..=3 * ONE_IN {
            (0..=PLACES).for_each(|_| publish(&mut places, packet));
            places.commit();
            places.settle();
        }
        // Updates beyond the last place are left out.
        assert_eq!(counts(&places), [3; PLACES]);
        for _ in 0..2 * ONE_IN {
            publish(&mut places, 0);
            places.commit();
            places.settle();
        }
        assert_eq!(counts(&places), [3; PLACES]);
    }

    /// Packets of one update publish it early. A packet of four gathers longer before its first update, which the slope leaves out.
    #[test]
    fn the_slope_is_that_within_packets() {
        let seen = Places::new(Clock::calibrated());
        let ticks_of = |ns: u64| seen.0.borrow().clock.ticks_of(Duration::from_nanos(ns));
        let first = 1_000_000;
        let packet = |ns: &[u64]| {
            let ticks: Vec<u64> = ns.iter().map(|ns| first + ticks_of(*ns)).collect();
            let mut seen = seen.0.borrow_mut();
            (seen.polled, seen.count) = (first, ticks.len());
            seen.published[..ticks.len()].copy_from_slice(&ticks);
            seen.settle();
        };
        (0..100).for_each(|_| packet(&[800]));
        (0..10).for_each(|_| packet(&[980, 1_020, 1_060, 1_100]));
        let line = FloorAndSlope::of(&seen.histograms()).expect("there are updates");
        assert!((790..=810).contains(&line.floor_ns), "{line:?}");
        assert!((38.0..42.0).contains(&line.slope_ns), "{line:?}");
    }

    #[test]
    fn floor_and_slope_are_those_of_the_medians() {
        let place = |ns: u64, packets: u64| {
            let mut histogram = latency_histogram();
            histogram.saturating_record_n(ns, packets);
            histogram
        };
        let places = [place(800, 100), place(100, 50), place(200, 7)];
        let line = FloorAndSlope::of(&places).expect("there are updates");
        assert_eq!((line.floor_ns, line.slope_ns), (800, 100.0));
        // A place that a single packet has counts little.
        let outlier = [place(800, 100), place(100, 100), place(8_200, 1)];
        let line = FloorAndSlope::of(&outlier).expect("there are updates");
        assert!((100.0..300.0).contains(&line.slope_ns), "{line:?}");
        let one = FloorAndSlope::of(&places[..1]).expect("there is an update");
        assert_eq!((one.floor_ns, one.slope_ns), (800, 0.0));
        assert_eq!(FloorAndSlope::of(&[]), None);
    }
}
