//! A generated session and its faults.

use crate::format::{count, counted, duration};
use crate::paint::Paint;
use std::fmt::Write;
use touchline_lab::capture::Arrival;
use touchline_lab::cme::encode::Version;
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{Fault, FaultPlan, Report, deliver};
use touchline_lab::picture::Picture;

/// A session as received, and its expected books.
pub struct Session {
    /// Packets as received, in order.
    pub arrivals: Vec<Arrival>,
    /// The exchange's books at the end.
    pub expected: Picture,
    title: String,
    sent: u64,
    faults: Report,
}

/// Venue events in a session.
const EVENTS: usize = 3_000;

impl Session {
    /// A session of a number of instruments in a version of the schema, generated from a seed, with its faults.
    pub fn generate(schema: &str, instruments: u64, seed: u64) -> Session {
        let version = match schema {
            "9" => Version::V9,
            _ => Version::V13,
        };
        let options = Options {
            version,
            instruments: instruments as usize,
            events: EVENTS,
            channel_resets: 1,
            ..Options::default()
        };
        let session = generate(&options, seed);
        let delivery = deliver(&session, &plan(), seed);
        let title = format!(
            "A CME channel, schema {}, {}, {}, seed {}",
            schema,
            counted(instruments, "instrument"),
            counted(EVENTS as u64, "event"),
            seed
        );
        Session {
            arrivals: delivery.arrivals,
            expected: session.expected,
            title,
            sent: session.packets.len() as u64,
            faults: delivery.report,
        }
    }

    /// Receive time of the first packet, nanoseconds since the Unix epoch.
    pub fn start_ns(&self) -> u64 {
        self.arrivals.first().map_or(0, |arrival| arrival.time_ns)
    }

    /// Text that describes the market and the faults.
    pub fn describe(&self, paint: Paint) -> String {
        let mut text = format!("{}\n", paint.bold(&self.title));
        let end_ns = self.arrivals.last().map_or(0, |arrival| arrival.time_ns);
        let _ = writeln!(
            text,
            "  {} sent on two lines over {}; {} arrive",
            counted(self.sent, "packet"),
            duration(end_ns - self.start_ns()),
            count(self.arrivals.len() as u64)
        );
        let _ = writeln!(text, "\n{}", paint.bold("Faults on the way, both lines"));
        let struck: Vec<_> = self.faults.struck.iter().collect();
        for pair in struck.chunks(2) {
            let cells = pair
                .iter()
                .map(|(fault, packets)| format!("{:>8}  {fault:<26}", count(**packets)));
            let line: String = cells.collect();
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let lost = count(self.faults.lost_on_both.len() as u64);
        let _ = writeln!(
            text,
            "{lost:>8}  lost on both lines: recovered from snapshots"
        );
        text
    }
}

/// Every kind of fault.
fn plan() -> FaultPlan {
    let all = FaultPlan::all_feeds([
        Fault::Drop { share: 0.02 },
        Fault::Duplicate { share: 0.03 },
        Fault::Reorder {
            share: 0.02,
            by_max: 4,
        },
        Fault::Delay {
            share: 0.01,
            min_ns: 10_000,
            max_ns: 5_000_000,
        },
        Fault::Corrupt { share: 0.005 },
    ]);
    all.then(FaultPlan::incremental([
        Fault::DropOnAllLines {
            share: 0.002,
            packets_max: 6,
        },
        Fault::Outage { packets: 60 },
    ]))
}
