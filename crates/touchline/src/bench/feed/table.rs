//! The tables that vendors publish: application and network level, with pauses between packets and without, for each way of
//! receiving.
//!
//! Sender and gateway have a processor each, and the bus has no reader. Ways alternate, so that a disturbance of the host affects
//! all of them.

mod picture;

use super::super::run::failure;
use super::places::PLACES;
use super::report::Report;
use super::{Bench, Case, PAUSED, Reception};
use crate::bench::progress::rows_with_progress;
use crate::output::{Failure, Output};
use hdrhistogram::Histogram;
use std::time::Duration;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::conditions::RunQueue;
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
    /// The application level by the place of an update in its packet.
    places: Vec<Histogram<u64>>,
    /// Times that gateway and sender waited for their processors, if the kernel counts them.
    run_queues: [Option<RunQueue>; 2],
    /// Packets that were sent and not received.
    lost: u64,
}

/// Measures and prints all tables. Both schedules alternate, too: a ratio of the two is of one state of the host.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let arguments = bench.arguments;
    let picture = arguments.picture.as_deref().map(Output::open).transpose()?;
    let paused = (arguments.packets.unwrap_or(PAUSED.0), PAUSED.1);
    let schedules = [paused, (arguments.stream_packets, Duration::ZERO)];
    let mut both = schedules.map(|(_, every)| Tables::new(every));
    let rounds = 0..arguments.rounds;
    let steps = rounds.flat_map(|_| [0, 1]).flat_map(|schedule| {
        let rows = (0..ROWS.len()).map(Some);
        std::iter::once(None)
            .chain(rows)
            .map(move |row| (schedule, row))
    });
    let steps: Vec<(usize, Option<usize>)> = steps.collect();
    for (schedule, row) in rows_with_progress(steps.into_iter(), "rows") {
        let packets = schedules[schedule].0.div_ceil(arguments.rounds);
        match row {
            None => both[schedule].bare(bench, packets)?,
            Some(row) => both[schedule].row(bench, packets, row)?,
        }
    }
    for tables in &both {
        tables.print(report);
    }
    let [paused, stream] = &both;
    for ((name, ..), (paused, stream)) in ROWS.iter().zip(paused.rows.iter().zip(&stream.rows)) {
        report.quiet(name, &paused.application_ns, &stream.application_ns);
    }
    if let Some(mut picture) = picture {
        picture.text(&picture::draw(&both))?;
        picture.finish()?;
    }
    Ok(())
}

impl Latencies {
    fn new() -> Latencies {
        Latencies {
            stamped_ns: latency_histogram(),
            polled_ns: latency_histogram(),
            network_ns: latency_histogram(),
            application_ns: latency_histogram(),
            places: Vec::with_capacity(PLACES),
            run_queues: [None; 2],
            lost: 0,
        }
    }
}

impl Tables {
    fn new(every: Duration) -> Tables {
        Tables {
            every,
            bare_ns: latency_histogram(),
            rows: ROWS.map(|_| Latencies::new()),
        }
    }

    /// Measures a row.
    fn row(&mut self, bench: &Bench<'_>, packets: u64, row: usize) -> Result<(), Failure> {
        let (_, reception, keep_warm) = ROWS[row];
        let outcome = bench.case(Case {
            packets,
            every: self.every,
            consumed: false,
            reception,
            keep_warm,
        })?;
        let latencies = &mut self.rows[row];
        latencies.lost += outcome.lost();
        for (all, of_round) in [
            (&mut latencies.polled_ns, "wire_to_polled_ns"),
            (&mut latencies.network_ns, "wire_to_published_ns"),
            (&mut latencies.application_ns, "packet_ns"),
        ] {
            add(all, &outcome.histogram(of_round));
        }
        add(&mut latencies.stamped_ns, &outcome.of_gateway.stamped_ns);
        for (place, of_round) in outcome.of_gateway.places.iter().enumerate() {
            if place == latencies.places.len() {
                latencies.places.push(latency_histogram());
            }
            add(&mut latencies.places[place], of_round);
        }
        let run_queues = [outcome.of_gateway.run_queue, outcome.sent.run_queue];
        for (all, of_round) in latencies.run_queues.iter_mut().zip(run_queues) {
            if let Some(of_round) = of_round {
                all.get_or_insert_default().add(of_round);
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
        add(&mut self.bare_ns, &sent_ns);
        Ok(())
    }

    fn print(&self, report: &mut Report) {
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
        report.causes_head();
        for ((name, ..), latencies) in ROWS.iter().zip(&self.rows) {
            report.causes(name, name, &latencies.places, latencies.run_queues);
        }
        report.table("network", "the sender's clock -> published", self.every);
        report.measured("recvmsg", "recvmsg alone: sent -> bytes", &self.bare_ns);
        for ((name, ..), latencies) in ROWS.iter().zip(&self.rows) {
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

fn add(all: &mut Histogram<u64>, of_round: &Histogram<u64>) {
    all.add(of_round).expect("they have the same bounds");
}
