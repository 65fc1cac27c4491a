//! The latest step of each subject as a page for Prometheus.

use crate::metrics::format::{Kind, Page};
use crate::metrics::listen;
use crate::metrics::server::{Content, Server};
use crate::output::{Failure, say_aside};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use touchline_load::row::Row;

/// Families of the page: name, and help.
const FAMILIES: [(&str, &str); 11] = [
    (
        "touchline_load_offered_messages",
        "Offered rate of the latest step, messages a second.",
    ),
    (
        "touchline_load_received_messages",
        "Received rate of the slowest reader, messages a second.",
    ),
    (
        "touchline_load_sustained_messages",
        "Highest rate sustained so far, messages a second.",
    ),
    (
        "touchline_load_latency_seconds",
        "Latency from the due time of a message to its receipt, by percentile.",
    ),
    (
        "touchline_load_faults",
        "Messages lost, duplicated, reordered, torn or unsent in the latest step.",
    ),
    (
        "touchline_load_cpus",
        "Processors that a process used in the measured window.",
    ),
    (
        "touchline_load_resident_bytes",
        "Resident memory of a process, with touched shared memory.",
    ),
    (
        "touchline_load_shared_memory_bytes",
        "Bytes of files in shared memory.",
    ),
    (
        "touchline_load_interface_bytes_per_message",
        "Bytes that the interface sent for each message.",
    ),
    (
        "touchline_load_interface_packets_per_message",
        "Packets that the interface sent for each message.",
    ),
    (
        "touchline_load_foreign_cpus_ratio",
        "Share of the host's processors that other processes used, 0 to 1.",
    ),
];

/// Latest steps, by subject.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Mutex<BTreeMap<String, Shown>>>);

#[derive(Debug)]
struct Shown {
    row: Row,
    /// Highest rate sustained so far.
    sustained: u64,
}

impl Metrics {
    /// Serves the page until the process ends, and writes its address to standard error.
    ///
    /// # Errors
    /// The address is in use, or not of this host.
    pub fn serve(address: SocketAddr) -> Result<Metrics, Failure> {
        let metrics = Metrics::default();
        let listener = listen(address)?;
        let address = listener.local_addr().map_err(Failure::run)?;
        let shown = metrics.clone();
        let content = Content {
            page: Box::new(move || shown.page()),
            health: Box::new(|| Ok(())),
        };
        Server::new(listener, content)
            .start()
            .map_err(Failure::run)?;
        say_aside(&format!("metrics on http://{address}/metrics\n"));
        Ok(metrics)
    }

    /// Adds a step.
    pub fn add(&self, row: &Row) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.get(&row.subject).map_or(0, |shown| shown.sustained);
        let sustained = match row.verdict.is_met() {
            true => before.max(row.rate),
            false => before,
        };
        let mut row = row.clone();
        // Not on the page.
        row.histogram.clear();
        all.insert(row.subject.clone(), Shown { row, sustained });
    }

    fn page(&self) -> String {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut page = Page::default();
        for (name, help) in FAMILIES {
            let Some(mut samples) = page.family(name, Kind::Gauge, help) else {
                continue;
            };
            for (subject, shown) in all.iter() {
                for (label, value) in values(name, shown) {
                    let mut labels = vec![("subject", subject.as_str())];
                    if let Some((name, value)) = &label {
                        labels.push((name, value));
                    }
                    samples.add(&labels, value);
                }
            }
        }
        page.to_text()
    }
}

/// Samples of a family: a further label, and the value.
type Samples = Vec<(Option<(&'static str, String)>, f64)>;

fn values(family: &str, Shown { row, sustained }: &Shown) -> Samples {
    let one = |value: f64| vec![(None, value)];
    let by_process = |value: &dyn Fn(&touchline_load::sample::ProcessUse) -> f64| {
        let all = row.processes.iter();
        all.map(|one| (Some(("process", one.process.clone())), value(one)))
            .collect()
    };
    let per_message = |count: u64| one(row.per_message(count));
    match family {
        "touchline_load_offered_messages" => one(row.rate as f64),
        "touchline_load_received_messages" => one(row.received_rate),
        "touchline_load_sustained_messages" => one(*sustained as f64),
        "touchline_load_latency_seconds" => [("p50", "50"), ("p99", "99"), ("p99_9", "99.9")]
            .map(|(name, percentile)| {
                let label = ("percentile", percentile.to_owned());
                (Some(label), row.quantile_ns(name) as f64 / 1e9)
            })
            .to_vec(),
        "touchline_load_faults" => {
            let received = &row.received;
            [
                ("lost", received.lost),
                ("duplicated", received.duplicates),
                ("reordered", received.reordered),
                ("torn", received.torn),
                ("unsent", row.unsent),
            ]
            .map(|(kind, count)| (Some(("kind", kind.to_owned())), count as f64))
            .to_vec()
        }
        "touchline_load_cpus" => {
            let window_s = row.host.window_s.max(1e-6);
            by_process(&|process| process.cpu_s() / window_s)
        }
        "touchline_load_resident_bytes" => by_process(&|process| process.rss_bytes as f64),
        "touchline_load_shared_memory_bytes" => one(row.shm_bytes as f64),
        "touchline_load_interface_bytes_per_message" => per_message(row.host.interface_bytes),
        "touchline_load_interface_packets_per_message" => per_message(row.host.interface_packets),
        _ => one(row.host.foreign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const DASHBOARD: &str = include_str!("../../../../ops/grafana/load.json");

    /// Each family has a panel, and no panel asks for another one.
    #[test]
    fn every_family_is_on_the_dashboard() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        let queries: Vec<&str> = panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
            .map(|target| target["expr"].as_str().expect("a query"))
            .collect();
        for (name, _) in FAMILIES {
            let query = format!("{name}{{subject=~\"$subject\"}}");
            assert!(queries.contains(&query.as_str()), "{name}: {queries:?}");
        }
        assert_eq!(queries.len(), FAMILIES.len(), "{queries:?}");
    }
}
