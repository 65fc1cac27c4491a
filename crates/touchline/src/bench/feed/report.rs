//! Output of `bench feed`: tables or JSON lines.

use super::super::run::Run;
use super::arguments::Arguments;
use super::case::Outcome;
use super::places::FloorAndSlope;
use crate::format::counted;
use crate::output::Failure;
use crate::print::{print_line, print_text};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::conditions::RunQueue;
use touchline_lab::bench::endless::Endless;
use touchline_lab::bench::{DISTRIBUTION, Statistics};
use touchline_lab::capture::Line;
use touchline_transport::shm::HistogramView;

/// Prints results as they arrive, and keeps them.
pub struct Report {
    run: Run,
    packet_bytes: u64,
    messages_per_packet: f64,
    /// Packets that the gateway received before the first one was sent.
    known_packets: u64,
    statistics: Vec<Statistics>,
    /// Whether the header of the table of rates was printed.
    rates: bool,
    /// Name of the schedule of the last table.
    schedule: String,
    /// Whether times are from the sender's clock, in place of the timestamps.
    is_from_sender: bool,
}

/// Rows: JSON name, table name, and the gateway's histogram.
const OF_GATEWAY: [(&str, &str, &str); 3] = [
    (
        "application",
        "application: polled -> published",
        "packet_ns",
    ),
    ("poll", "network: stamp -> polled", "wire_to_polled_ns"),
    (
        "network",
        "network: stamp -> published",
        "wire_to_published_ns",
    ),
];

impl Report {
    pub fn new(run: Run, round: &Endless<Line>, is_from_sender: bool) -> Report {
        let messages: u64 = round.packets().map(|(.., messages)| messages).sum();
        Report {
            run,
            packet_bytes: round.packet_bytes(),
            messages_per_packet: messages as f64 / round.len() as f64,
            known_packets: (round.len() + round.opening().count()) as u64,
            statistics: Vec::new(),
            rates: false,
            schedule: String::new(),
            is_from_sender,
        }
    }

    /// Disturbances of the run, and the distributions if requested.
    pub fn end(&self) -> Result<(), Failure> {
        if !self.run.is_json() {
            self.run.print_caveats();
        }
        self.run.write_distributions(&self.statistics)
    }

    /// Processors of the sender, the gateway and the consumer, and the latency of a cache line between them.
    pub fn head(
        &mut self,
        arguments: &Arguments,
        [sender, gateway, consumer]: [usize; 3],
        round_trips: &Histogram<u64>,
    ) {
        let mut placement = format!(
            "gateway on processor {gateway}, {} on {}; the sender on {sender}",
            match arguments.batch {
                1 => "recvmsg".to_owned(),
                batch => format!("recvmmsg of {batch}"),
            },
            match arguments.crosses() {
                true => "a pair of virtual cards",
                false => &arguments.interface,
            },
        );
        let mut cpus = vec![sender, gateway];
        if arguments.has_consumer() {
            placement += &format!(", the consumer on {consumer}");
            cpus.push(consumer);
        }
        self.run.place(&placement, &cpus);
        if !self.run.is_json() {
            self.run.print_head(&placement);
            self.run.print_shared();
            print_line!(
                "packets of {} bytes and {:.1} messages on average; latencies of whole packets\n\n{HEAD}",
                self.packet_bytes,
                self.messages_per_packet
            );
        }
        self.row(
            "lower-bound",
            "cache line, there and back",
            round_trips.clone(),
        );
    }

    /// One case.
    pub fn case(&mut self, outcome: &Outcome) {
        let schedule = case_name(outcome.case.every);
        let (name, from) = match self.is_from_sender {
            true => (
                format!("{}-{schedule}", outcome.case.reception.name()),
                "sent",
            ),
            false => (schedule, "stamp"),
        };
        if !self.run.is_json() {
            print_line!(
                "\n{} packets, {}",
                outcome.sent.packets,
                case_title(outcome.case.every)
            );
        }
        for (subject, title, of_gateway) in OF_GATEWAY {
            let title = title.replace("stamp", from);
            let histogram = outcome.histogram(of_gateway);
            self.row(&format!("{subject}-{name}"), &title, histogram);
        }
        let stamped_ns = &outcome.of_gateway.stamped_ns;
        if !stamped_ns.is_empty() {
            let title = "network: sent -> kernel's stamp";
            self.row(&format!("stamped-{name}"), title, stamped_ns.clone());
        }
        if let Some(consumed) = &outcome.consumed {
            let rows = [
                (
                    "consumer",
                    "network: stamp -> consumer",
                    &consumed.network_ns,
                ),
                ("bus", "published -> consumer", &consumed.bus_ns),
            ];
            for (subject, title, histogram) in rows {
                let title = title.replace("stamp", from);
                self.row(&format!("{subject}-{name}"), &title, histogram.clone());
            }
        }
        self.schedule.clone_from(&name);
        self.causes_head();
        let run_queues = [outcome.of_gateway.run_queue, outcome.sent.run_queue];
        self.causes("", "application", &outcome.of_gateway.places, run_queues);
        self.account(outcome);
        self.value(&format!("rate-{name}"), "packets/s", outcome.sent.per_s);
        self.value(&format!("lost-{name}"), "packets", outcome.lost() as f64);
    }

    /// Title of a table of one level.
    pub fn table(&mut self, level: &str, what: &str, every: Duration) {
        self.schedule = case_name(every);
        if !self.run.is_json() {
            print_line!(
                "\n{level} level: {what}; packets {}\n{HEAD}",
                case_title(every)
            );
        }
    }

    /// A row of the last table; none for an empty histogram.
    pub fn measured(&mut self, subject: &str, title: &str, histogram: &Histogram<u64>) {
        if !histogram.is_empty() {
            let subject = format!("{subject}-{}", self.schedule);
            self.row(&subject, title, histogram.clone());
        }
    }

    /// Header of [`Report::causes`].
    pub fn causes_head(&self) {
        if !self.run.is_json() {
            print_line!("\n{CAUSES_HEAD}");
        }
    }

    /// Where the time of a row is: by the place of an update in its packet, and in the run queues of gateway and sender.
    pub fn causes(
        &self,
        subject: &str,
        title: &str,
        places: &[Histogram<u64>],
        run_queues: [Option<RunQueue>; 2],
    ) {
        let line = FloorAndSlope::of(places);
        if !self.run.is_json() {
            print_line!("{}", causes_line(title, line, run_queues));
            return;
        }
        let dash = if subject.is_empty() { "" } else { "-" };
        let of_row = |what: &str| format!("{what}-{subject}{dash}{}", self.schedule);
        if let Some(FloorAndSlope { floor_ns, slope_ns }) = line {
            let medians = places.iter().map(|place| place.value_at_quantile(0.5));
            self.line(
                &of_row("places"),
                json!({
                    "unit": "ns",
                    "floor": floor_ns,
                    "slope": slope_ns,
                    "p50": medians.collect::<Vec<_>>(),
                    "count": places.iter().map(Histogram::len).collect::<Vec<_>>(),
                }),
            );
        }
        for (process, run_queue) in ["gateway", "sender"].into_iter().zip(run_queues) {
            if let Some(run_queue) = run_queue {
                self.line(
                    &of_row(&format!("run-queue-{process}")),
                    json!({
                        "unit": "ns",
                        "value": run_queue.waited_ns,
                        "per_s": run_queue.ns_per_s(),
                    }),
                );
            }
        }
    }

    /// By which factor a packet takes longer after a pause.
    pub fn quiet(&self, subject: &str, paused: &Histogram<u64>, stream: &Histogram<u64>) {
        let [p50, p95] = [0.5, 0.95].map(|share| {
            let [paused, stream] = [paused, stream].map(|ns| ns.value_at_quantile(share));
            paused as f64 / stream.max(1) as f64
        });
        if self.run.is_json() {
            let ratio = json!({"unit": "ratio", "p50": p50, "p95": p95});
            self.line(&format!("quiet-{subject}"), ratio);
        } else {
            print_line!(
                "{subject}: application level after 5 ms of quiet is {p50:.1} times that without pauses at p50, {p95:.1} at p95"
            );
        }
    }

    /// Packets that were sent and not received, of a row of the last table.
    pub fn lost(&self, subject: &str, packets: u64) {
        let subject = format!("lost-{subject}-{}", self.schedule);
        self.value(&subject, "packets", packets as f64);
    }

    /// One step of the search for the highest rate.
    pub fn rate(&mut self, rate: f64, outcome: &Outcome) {
        if !self.run.is_json() && !std::mem::replace(&mut self.rates, true) {
            print_line!("\nthe highest rate at which nothing is lost, without a consumer:");
        }
        if !self.run.is_json() {
            let median = outcome.histogram("packet_ns").value_at_quantile(0.5);
            print_text(format_args!(
                "asked for {rate:>9.0}/s, application median {median:>5} ns: "
            ));
        }
        self.account(outcome);
    }

    /// Result of the search.
    pub fn highest(&mut self, rate: f64, is_senders_end: bool) {
        if !self.run.is_json() {
            print_line!(
                "highest rate without loss: {rate:.0} packets/s{}",
                match is_senders_end {
                    true => ", the highest rate that the sender reached",
                    false => "",
                }
            );
        }
        self.value("highest-rate", "packets/s", rate);
    }

    /// Counts of all packets.
    fn account(&self, outcome: &Outcome) {
        if self.run.is_json() {
            return;
        }
        let (received, dropped) = (
            outcome.counter("packets_received"),
            outcome.counter("packets_dropped_kernel"),
        );
        print_text(format_args!(
            "sent {} at {:.0}/s, received {received}, lost {} ({dropped} dropped by a full receive buffer)",
            outcome.sent.packets,
            outcome.sent.per_s,
            outcome.lost(),
        ));
        print_line!(
            "; the feed processed {}, declared {} lost in {}; the sender met a full queue {}{}",
            outcome
                .counter("packets_delivered")
                .saturating_sub(self.known_packets),
            outcome.counter("packets_lost"),
            counted(outcome.counter("gaps"), "gap"),
            counted(outcome.sent.full, "time"),
            match &outcome.consumed {
                Some(consumed) => format!(
                    "; the consumer was overrun {}",
                    counted(consumed.overruns, "time")
                ),
                None => String::new(),
            }
        );
    }

    fn row(&mut self, subject: &str, title: &str, histogram: Histogram<u64>) {
        let subject = format!("touchline-{subject}");
        let statistics = Statistics::new("feed", subject, histogram).of_bytes(self.packet_bytes);
        if self.run.is_json() {
            self.run.print_json(statistics.to_json());
        } else {
            print_line!("{}", line(title, &statistics.histogram));
        }
        self.statistics.push(statistics);
    }

    fn value(&self, subject: &str, unit: &str, value: f64) {
        if self.run.is_json() {
            self.line(subject, json!({"unit": unit, "value": value}));
        }
    }

    /// A line of JSON.
    fn line(&self, subject: &str, mut line: Value) {
        line["bench"] = json!("feed");
        line["subject"] = json!(format!("touchline-{subject}"));
        line["payload_bytes"] = json!(self.packet_bytes);
        self.run.print_json(line);
    }
}

const HEAD: &str = "latency                                 count       p1       p5      p25      p50      p75      p90      p95      p99     p99.9         max";

fn line(title: &str, histogram: &Histogram<u64>) -> String {
    let mut line = format!("{title:<34} {:>10}", histogram.len());
    for (name, share) in DISTRIBUTION {
        let width = if name == "p99_9" { 9 } else { 8 };
        // Writing into a string does not fail.
        let _ = write!(line, " {:>width$}", histogram.value_at_quantile(share));
    }
    line + &format!(" {:>11}", histogram.max())
}

const CAUSES_HEAD: &str = "causes                                  floor  slope an update   gateway in run queue   a second    sender in run queue   a second";

fn causes_line(
    title: &str,
    line: Option<FloorAndSlope>,
    run_queues: [Option<RunQueue>; 2],
) -> String {
    let dash = || "-".to_owned();
    let floor = line.map_or_else(dash, |line| line.floor_ns.to_string());
    let slope = line.map_or_else(dash, |line| format!("{:.0}", line.slope_ns));
    let mut text = format!("{title:<34} {floor:>10} {slope:>16}");
    for run_queue in run_queues {
        let waited = run_queue.map_or_else(dash, |run_queue| run_queue.waited_ns.to_string());
        let per_s = run_queue.map_or_else(dash, |run_queue| format!("{:.0}", run_queue.ns_per_s()));
        let _ = write!(text, " {waited:>22} {per_s:>10}");
    }
    text
}

fn case_name(every: Duration) -> String {
    match every.as_micros() {
        0 if every.is_zero() => "stream".to_owned(),
        0..1_000 => format!("{:.0}ps", 1.0 / every.as_secs_f64()),
        micros => format!("pause{micros}us"),
    }
}

fn case_title(every: Duration) -> String {
    match every.as_micros() {
        0 if every.is_zero() => "as fast as the kernel takes them".to_owned(),
        0..1_000 => format!("{:.0} a second", 1.0 / every.as_secs_f64()),
        micros => format!("one each {micros} us"),
    }
}

/// The gateway's histogram in the type of the others; values are exact within 0.8 %.
pub fn histogram(view: &HistogramView) -> Histogram<u64> {
    let mut histogram = latency_histogram();
    for bucket in view.buckets() {
        histogram.saturating_record_n(*bucket.values.start(), bucket.count);
    }
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_with_their_head() {
        let mut histogram = latency_histogram();
        histogram.record(250).expect("it is in range");
        assert_eq!(line("x", &histogram).len(), HEAD.len());
        let measured = FloorAndSlope {
            floor_ns: 800,
            slope_ns: 95.5,
        };
        let run_queue = RunQueue {
            waited_ns: 5_000,
            seconds: 2.0,
        };
        let text = causes_line("x", Some(measured), [Some(run_queue), None]);
        assert_eq!(text.len(), CAUSES_HEAD.len());
        let columns: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(columns, ["x", "800", "96", "5000", "2500", "-", "-"]);
    }

    #[test]
    fn cases_have_unique_names() {
        let names = [0, 10_000, 5_000_000].map(|ns| case_name(Duration::from_nanos(ns)));
        assert_eq!(names, ["stream", "100000ps", "pause5000us"]);
    }
}
