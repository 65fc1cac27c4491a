//! Present counters of a bus, with their age.

use crate::format::{age, count};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;
use touchline_gateway::live::OF_A_LIVE_GATEWAY;
use touchline_transport::shm::{CountersView, Description, Overview, ProcessView};

/// Freshness of counters, from their age and the state of the process that writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Written recently.
    Fresh(Duration),
    /// The process lives, and its last write of the counters was [`CountersView::LATE_AFTER`] or longer ago.
    Late(Duration),
    /// The process has ended: last values, with their age.
    Gone(Option<Duration>),
    /// The process lives; the file does not state when it was written.
    Unstated,
}

impl Freshness {
    /// Freshness of counters of this age, if they state it; `is_written`: their process lives.
    pub fn of(age: Option<Duration>, is_written: bool) -> Freshness {
        match (is_written, age) {
            (false, age) => Freshness::Gone(age),
            (true, None) => Freshness::Unstated,
            (true, Some(age)) if age >= CountersView::LATE_AFTER => Freshness::Late(age),
            (true, Some(age)) => Freshness::Fresh(age),
        }
    }

    /// Freshness of the counters of a bus: live while the process that created them publishes the
    /// bus.
    pub fn of_bus(counters_file: &CountersView, overview: &Overview) -> Freshness {
        let pid = counters_file.origin().pid;
        let publisher = overview.publisher.as_ref();
        // 0: the id of the process is not registered yet.
        let is_written = publisher.is_some_and(|publisher| [0, pid].contains(&publisher.pid));
        Freshness::of(counters_file.age(), is_written)
    }

    /// Freshness of the counters of a process that counts apart from any bus.
    pub fn of_process(process: &ProcessView) -> Freshness {
        let file = process.counters_file.as_ref().ok();
        let age = file.and_then(Option::as_ref).and_then(CountersView::age);
        Freshness::of(age, process.process.is_some())
    }

    /// Whether the values are current.
    pub fn is_fresh(self) -> bool {
        matches!(self, Freshness::Fresh(_) | Freshness::Unstated)
    }

    /// Freshness as text.
    pub fn text(self) -> String {
        let ago = |since: Duration| age(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        match self {
            Freshness::Fresh(since) => format!("written {} ago", ago(since)),
            Freshness::Late(since) => {
                format!(
                    "written {} ago: its process is stopped or stuck",
                    ago(since)
                )
            }
            Freshness::Gone(Some(since)) => {
                format!("writer gone since {}: last values", ago(since))
            }
            Freshness::Gone(None) => "writer gone: last values".to_owned(),
            Freshness::Unstated => "no time stated".to_owned(),
        }
    }
}

/// Each counter of a bus with its value. A gateway that has ended or stalled reports 0 for readiness and live books,
/// instead of its last values.
pub fn of_bus<'a>(
    counters_file: &'a CountersView,
    overview: &Overview,
) -> impl Iterator<Item = (&'a Description, u64)> + use<'a> {
    let is_live = overview.is_live();
    counters_file.counters().map(move |(what, value)| {
        let holds = is_live || !OF_A_LIVE_GATEWAY.contains(&what.name.as_str());
        (what, if holds { value } else { 0 })
    })
}

/// Unit of a present value, such as `bytes now`, without its mark; `None` for a count that only grows.
pub fn unit_now(unit: &str) -> Option<&str> {
    Some(unit.strip_suffix("now")?.trim_end())
}

/// Unit of a counter that is an address: `(IPv4 address << 16) + port`.
pub const ADDRESS_UNIT: &str = "address now";

/// The address in such a counter; `None` for 0.
pub fn address(value: u64) -> Option<SocketAddrV4> {
    let ip = Ipv4Addr::from((value >> 16) as u32);
    (value != 0).then(|| SocketAddrV4::new(ip, value as u16))
}

/// A value as text, by its unit.
pub fn text(what: &Description, value: u64) -> String {
    match address(value) {
        Some(address) if what.unit == ADDRESS_UNIT => address.to_string(),
        _ => count(value),
    }
}

/// Whether counters of this name are of a relay that sends the bus: `relay-BUS-PORT`, with a stream id in place of the port on Aeron. The
/// name of another bus may begin with that of this one.
pub fn is_relay_of(bus: &str, name: &str) -> bool {
    let of_bus = name
        .strip_prefix("relay-")
        .and_then(|of| of.strip_prefix(bus));
    let number = of_bus.and_then(|number| number.strip_prefix('-'));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_counter_is_printed_as_address_and_port() {
        let what = |unit: &str| Description {
            name: "relay_slow_receiver".to_owned(),
            unit: unit.to_owned(),
            help: String::new(),
        };
        let number = (0x0A00_0008 << 16) + 7340;
        assert_eq!(text(&what(ADDRESS_UNIT), number), "10.0.0.8:7340");
        assert_eq!(text(&what(ADDRESS_UNIT), 0), "0");
        assert_eq!(text(&what("bytes now"), 1_234), "1,234");
    }

    #[test]
    fn a_relay_is_of_the_bus_whose_whole_name_it_has() {
        assert!(
            is_relay_of("cme-340", "relay-cme-340-7340") && is_relay_of("cme", "relay-cme-340")
        );
        for name in [
            "relay-cme-340-7340",
            "relay-cme-",
            "relay-cme",
            "cme-340",
            "relay-cme2-340",
        ] {
            assert!(!is_relay_of("cme", name), "{name}");
        }
    }

    #[test]
    fn counters_are_fresh_while_their_process_lives_and_writes() {
        let age = |ms| Some(Duration::from_millis(ms));
        for (age, is_written, is_fresh, text) in [
            (age(100), true, true, "written 100 ms ago"),
            (
                age(2_000),
                true,
                false,
                "written 2.00 s ago: its process is stopped or stuck",
            ),
            (
                age(100),
                false,
                false,
                "writer gone since 100 ms: last values",
            ),
            (None, false, false, "writer gone: last values"),
            (None, true, true, "no time stated"),
        ] {
            let freshness = Freshness::of(age, is_written);
            assert_eq!(
                (freshness.is_fresh(), freshness.text()),
                (is_fresh, text.to_owned())
            );
        }
    }
}
