//! The tables that vendors publish: application and network level, with pauses between packets and without, for each way of
//! receiving.
//!
//! Sender and gateway have a processor each, and the bus has no reader. Ways alternate, so that a disturbance of the host affects
//! all of them.

use super::super::run::failure;
use super::report::Report;
use super::{Bench, Case, PAUSED, Reception};
use crate::bench::progress::with_progress;
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::time::Duration;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::receive::{Method, Network, Plan};
use touchline_transport::clock::Clock;

/// Pairs of virtual cards: that of the gateways, and that of the bare calls beside them.
pub const PAIRS: u8 = 2;
/// The pair of the gateways.
pub const GATEWAYS: u8 = 0;
const BARE: u8 = 1;

/// Names of the rows, with the way of receiving, and whether the gateway keeps its data in the caches.
const ROWS: [(&str, Reception, bool); 5] = [
    ("sockets", Reception::Sockets, false),
    ("sockets-warm", Reception::Sockets, true),
    ("xdp", Reception::Xdp, false),
    ("xdp-warm", Reception::Xdp, true),
    ("xdp-generic", Reception::XdpGeneric, false),
];

/// Figures of one schedule.
struct Tables {
    every: Duration,
    /// The call of the kernel alone: from the sender's clock to the bytes.
    bare_ns: Histogram<u64>,
    rows: [Latencies; ROWS.len()],
}

/// Figures of one way of receiving.
struct Latencies {
    stamped_ns: Histogram<u64>,
    polled_ns: Histogram<u64>,
    network_ns: Histogram<u64>,
    application_ns: Histogram<u64>,
    /// Packets that were sent and not received.
    lost: u64,
}

/// Measures and prints all tables.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let arguments = bench.arguments;
    let paused = (arguments.packets.unwrap_or(PAUSED.0), PAUSED.1);
    for (packets, every) in [paused, (arguments.stream_packets, Duration::ZERO)] {
        let mut tables = Tables::new(every);
        for _ in with_progress(0..arguments.rounds) {
            tables.round(bench, packets.div_ceil(arguments.rounds))?;
        }
        tables.print(report);
    }
    Ok(())
}

impl Tables {
    fn new(every: Duration) -> Tables {
        let latencies = || Latencies {
            stamped_ns: latency_histogram(),
            polled_ns: latency_histogram(),
            network_ns: latency_histogram(),
            application_ns: latency_histogram(),
            lost: 0,
        };
        Tables {
            every,
            bare_ns: latency_histogram(),
            rows: ROWS.map(|_| latencies()),
        }
    }

    fn round(&mut self, bench: &Bench<'_>, packets: u64) -> Result<(), Failure> {
        self.bare(bench, packets)?;
        for ((_, reception, keep_warm), latencies) in ROWS.into_iter().zip(&mut self.rows) {
            let outcome = bench.case(Case {
                packets,
                every: self.every,
                consumed: false,
                reception,
                keep_warm,
            })?;
            let of = |name: &str| {
                let found = outcome.histograms.iter().find(|(found, _)| found == name);
                found.map_or_else(latency_histogram, |(_, histogram)| histogram.clone())
            };
            latencies.lost += outcome.lost();
            for (all, of_round) in [
                (&mut latencies.stamped_ns, outcome.stamped_ns.clone()),
                (&mut latencies.polled_ns, of("wire_to_polled_ns")),
                (&mut latencies.network_ns, of("wire_to_published_ns")),
                (&mut latencies.application_ns, of("packet_ns")),
            ] {
                all.add(&of_round).expect("they have the same bounds");
            }
        }
        Ok(())
    }

    /// The lower bound of the network level: one thread sends, one calls the kernel for each packet.
    fn bare(&mut self, bench: &Bench<'_>, packets: u64) -> Result<(), Failure> {
        let ([sender, gateway, _], across) = (bench.cpus, bench.across.clone());
        let plan = Plan {
            network: Network::Across(across.expect("tables cross virtual cards")),
            payload_bytes: bench.packet_bytes as usize,
            groups: 8,
            cpus: (gateway, sender),
        };
        let (mut source, _) = plan.source(Method::Calls(1), BARE).map_err(failure)?;
        let clock = Clock::calibrated();
        let paused = plan.paused((&mut source, BARE), packets, self.every, &clock);
        let sent_ns = paused.map_err(failure)?.sent_ns;
        self.bare_ns.add(&sent_ns).expect("values are in range");
        Ok(())
    }

    fn print(self, report: &mut Report) {
        report.table("application", "polled -> published", self.every);
        for ((name, ..), latencies) in ROWS.iter().zip(&self.rows) {
            let title = match latencies.lost {
                0 => (*name).to_owned(),
                lost => format!("{name}, {lost} lost"),
            };
            report.measured(
                &format!("application-{name}"),
                &title,
                &latencies.application_ns,
            );
            report.lost(name, latencies.lost);
        }
        report.table("network", "the sender's clock -> published", self.every);
        report.measured("recvmsg", "recvmsg alone: sent -> bytes", &self.bare_ns);
        for ((name, ..), latencies) in ROWS.iter().zip(self.rows) {
            report.measured(
                &format!("stamped-{name}"),
                &format!("{name}: sent -> kernel's stamp"),
                &latencies.stamped_ns,
            );
            report.measured(
                &format!("polled-{name}"),
                &format!("{name}: sent -> polled"),
                &latencies.polled_ns,
            );
            report.measured(
                &format!("network-{name}"),
                &format!("{name}: sent -> published"),
                &latencies.network_ns,
            );
        }
    }
}
