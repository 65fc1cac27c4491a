//! The tables as a picture: the share of packets that are slower than a latency, a line for each way of receiving.

use super::{ROWS, Tables};
use hdrhistogram::Histogram;
use touchline_chart::{Panel, Scale, Series, sheet};
use touchline_lab::bench::DISTRIBUTION;

/// Draws both levels of both schedules, as one SVG file.
pub fn draw([paused, stream]: &[Tables; 2]) -> String {
    sheet(&[
        application("Polled to published, 5 ms pauses", paused),
        network("Sent to published, 5 ms pauses", paused),
        application("Polled to published, no pauses", stream),
        network("Sent to published, no pauses", stream),
    ])
}

fn application(title: &'static str, tables: &Tables) -> Panel {
    let rows = ROWS.iter().zip(&tables.rows);
    let rows = rows.map(|((name, ..), row)| (*name, &row.application_ns));
    panel(title, rows)
}

fn network(title: &'static str, tables: &Tables) -> Panel {
    let rows = ROWS.iter().zip(&tables.rows);
    let rows = rows.map(|((name, ..), row)| (*name, &row.network_ns));
    panel(title, rows)
}

fn panel<'a>(
    title: &'static str,
    rows: impl Iterator<Item = (&'static str, &'a Histogram<u64>)>,
) -> Panel {
    Panel {
        title,
        x: "one packet in … is slower",
        y: "µs",
        scale: Scale::Log,
        series: rows
            .filter(|(_, histogram)| !histogram.is_empty())
            .map(|(name, histogram)| Series {
                name: name.to_owned(),
                points: points(histogram),
            })
            .collect(),
    }
}

fn points(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    let point = |(_, share): (&str, f64)| {
        let us = histogram.value_at_quantile(share) as f64 / 1_000.0;
        (1.0 / (1.0 - share), us)
    };
    DISTRIBUTION.into_iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use touchline_gateway::replay::latency_histogram;

    /// Each row that was measured is a line of each panel of its schedule, from the fastest packets to the slowest.
    #[test]
    fn every_measured_row_is_a_line_of_its_panels() {
        let tables = |is_measured: [bool; 2]| {
            let mut tables = Tables::new(Duration::ZERO);
            for (row, _) in tables
                .rows
                .iter_mut()
                .zip(is_measured)
                .filter(|(_, is)| *is)
            {
                row.application_ns.saturating_record(900);
                row.network_ns.saturating_record(6_000);
            }
            tables
        };
        let svg = draw(&[tables([true, false]), tables([true, true])]);
        assert_eq!(svg.matches(">sockets<").count(), 4, "{svg}");
        assert_eq!(svg.matches(">sockets-warm<").count(), 2, "{svg}");
        let mut histogram = latency_histogram();
        (1..=1_000).for_each(|us| histogram.saturating_record(us * 1_000));
        let points = points(&histogram);
        assert_eq!(points.len(), DISTRIBUTION.len());
        assert!(points.is_sorted() && points[0].1 < 11.0 && points[8].1 > 990.0);
    }
}
