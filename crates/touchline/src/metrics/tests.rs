//! Dashboard and alerts match the metrics of the page.

use super::{names, page};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use touchline_client::monitor::{Description, Monitor};
use touchline_feed::cme::CmeFeed;
use touchline_gateway::CountersFile;
use touchline_gateway::live::{ClientLinkCounters, Gateway};
use touchline_gateway::venues::cme::CmeMulticast;
use touchline_net::LiveSource;
use touchline_relay::{ReceiverCounters, SenderCounters};
use touchline_replication::{CopyCounters, SourceCounters};
use touchline_testing::Folder;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::shm::Activity;
use touchline_transport::shm::{
    CountersView, FineClock, Join, Lossless, ProcessStats, Publisher, ReaderStats, Root, Settings,
    Subscriber,
};
use touchline_transport::{Publish, boot_ns};
use touchline_types::{
    Depth, Instrument, InstrumentDefinition, ReferenceData, Symbol, Timestamps, Update,
};

const DASHBOARD: &str = include_str!("../../../../ops/grafana/touchline.json");
const ALERTS: &str = include_str!("../../../../ops/prometheus/alerts.yml");
const ALERTS_TEST: &str = include_str!("../../../../ops/prometheus/alerts_test.yml");

/// Page of a bus with every kind of metric: counters of a live gateway, a named reader that the
/// publisher waits for.
struct Everything {
    _folder: Folder,
    text: String,
}

impl Everything {
    fn new(name: &str) -> Everything {
        let folder = Folder::new(name);
        let root = Root::at(&folder);
        let settings = Settings {
            ring_bytes: 64 * 1024,
            instruments_max: 64,
            lossless: Some(Lossless {
                readers_max: 1,
                wait_max: Duration::from_millis(1),
            }),
            ..Settings::default()
        };
        let mut publisher = Publisher::open(&root, "bus", &settings).expect("a temporary folder");
        publisher.state_activity(Activity {
            at_ns: boot_ns(),
            timeout_ns: 10_000_000_000,
        });
        let clock = Clock::calibrated();
        let _counters_file = CountersFile::create::<CmeFeed>(
            &publisher,
            clock,
            Gateway::<CmeMulticast<LiveSource>, Publisher>::tables(),
        )
        .expect("a board");
        let fine = FineClock {
            ticks,
            ns_per_tick: clock.ns_per_tick(),
        };
        let join = Join {
            reader_stats: Some(
                ReaderStats::create(&root, "bus", "reader", fine).expect("a free name"),
            ),
            registered: true,
            ..Join::default()
        };
        let relay = |name, table| {
            let stats = ProcessStats::create(&root, name, 1.0, table, []);
            stats.expect("a free name")
        };
        let _relays = [
            relay("relay-bus-1", SenderCounters::TABLE),
            relay("relay-bus-2", ReceiverCounters::TABLE),
        ];
        let _subscriber = Subscriber::join(&root, "bus", join).expect("the bus is there");
        let text = page::of(&Monitor::new(Some(root.path())));
        Everything {
            _folder: folder,
            text,
        }
    }

    /// Each family with its type.
    fn families(&self) -> BTreeMap<&str, &str> {
        let kinds = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE "));
        kinds.filter_map(|kind| kind.split_once(' ')).collect()
    }
}

/// Metrics of the buses of a composer and of a bank that other publishers do not have, with their types.
fn of_composer() -> Vec<(String, &'static str)> {
    let described = |name: &str, unit: &str| Description {
        name: name.to_owned(),
        unit: unit.to_owned(),
        help: String::new(),
    };
    let counters = touchline_fx_live::compose::Counters::TABLE.iter();
    let counters = counters.map(|info| (info.name.to_owned(), info.unit));
    let scores = touchline_fx_live::compose::ScoreCounters::TABLE.iter();
    let scores = scores.map(|info| (format!("{}:LP01:EUR/USD", info.name), info.unit));
    let banks = touchline_fx_live::compose::BankCounters::TABLE.iter();
    let banks = banks.map(|info| (format!("{}:LP01", info.name), info.unit));
    let links = ClientLinkCounters::TABLE.iter();
    let links = links.map(|info| (info.name.to_owned(), info.unit));
    let counters = counters.chain(scores).chain(banks).chain(links);
    let counters = counters.map(|(name, unit)| {
        let shown = names::of_counter(&described(&name, unit));
        (shown.name, "counter")
    });
    let histograms = touchline_fx_live::compose::HISTOGRAMS.iter().map(|info| {
        let name = names::of_histogram("", &described(info.name, info.unit)).0;
        (name, "histogram")
    });
    counters.chain(histograms).collect()
}

/// Metrics of a trading engine, of copies of its journal and of recorders that other processes do not have, with their types.
fn of_engine() -> Vec<(String, &'static str)> {
    let described = |name: &str, unit: &str| Description {
        name: name.to_owned(),
        unit: unit.to_owned(),
        help: String::new(),
    };
    let standby = touchline_fx_live::execution::StandbyCounters::TABLE.iter();
    let counters = touchline_fx_live::execution::Counters::TABLE
        .iter()
        .chain(standby);
    let copies = CopyCounters::TABLE.iter().chain(SourceCounters::TABLE);
    let recorders = touchline_tape::RecorderCounters::TABLE.iter();
    let counters = counters.chain(copies).chain(recorders);
    let counters = counters.map(|info| (info.name.to_owned(), info.unit));
    let banks = touchline_fx_live::execution::BankCounters::TABLE.iter();
    let banks = banks.map(|info| (format!("{}:LP01", info.name), info.unit));
    let counters = counters.chain(banks).map(|(name, unit)| {
        let shown = names::of_counter(&described(&name, unit));
        (shown.name, "counter")
    });
    let histograms = touchline_fx_live::execution::HISTOGRAMS.iter().map(|info| {
        let name = names::of_histogram("", &described(info.name, info.unit)).0;
        (name, "histogram")
    });
    counters.chain(histograms).collect()
}

/// Each metric named in a text.
fn named(text: &str) -> BTreeSet<&str> {
    let other = |c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let words = text.split(other);
    words
        .filter(|word| word.starts_with("touchline_"))
        .collect()
}

/// Metrics that the page does not have.
fn missing<'a>(names: BTreeSet<&'a str>, families: &BTreeMap<&str, &str>) -> Vec<&'a str> {
    let is_there = |name: &&str| {
        let of_histogram = ["_bucket", "_sum", "_count"].into_iter().any(|part| {
            let family = name.strip_suffix(part).unwrap_or_default();
            families.get(family) == Some(&"histogram")
        });
        of_histogram || families.get(*name).is_some_and(|kind| *kind != "histogram")
    };
    names.into_iter().filter(|name| !is_there(name)).collect()
}

#[test]
fn dashboard_and_alerts_name_existing_metrics() {
    let everything = Everything::new("named");
    let (composer, engine) = (of_composer(), of_engine());
    let mut families = everything.families();
    families.extend(engine.iter().map(|(name, kind)| (name.as_str(), *kind)));
    families.extend(composer.iter().map(|(name, kind)| (name.as_str(), *kind)));
    for (file, text, least) in [
        ("touchline.json", DASHBOARD, 40),
        ("alerts.yml", ALERTS, 20),
        ("alerts_test.yml", ALERTS_TEST, 10),
    ] {
        let names = named(text);
        assert!(names.len() >= least, "{file} names {}", names.len());
        assert_eq!(
            missing(names, &families),
            [""; 0],
            "{file} names metrics that do not exist"
        );
    }
    let wrong = "touchline_gaps touchline_gaps_total touchline_packet_seconds \
                 touchline_packet_seconds_sum touchline_gaps_total_sum";
    let found = missing(named(wrong), &families);
    let expected = [
        "touchline_gaps",
        "touchline_gaps_total_sum",
        "touchline_packet_seconds",
    ];
    assert_eq!(found, expected);
}

/// A process that lives and does not write its counters is up and stale, as the alert of a stopped engine needs it.
#[test]
fn counters_of_a_stopped_process_are_stale() {
    let folder = Folder::new("metrics");
    let root = Root::at(&folder);
    let table = touchline_fx_live::execution::Counters::TABLE;
    let stats = ProcessStats::create(&root, "fx-run", 1.0, table, []);
    let mut stats = stats.expect("a free name");
    let mut page_after = |since| {
        stats.counters_file().show(table.iter().map(|_| 0));
        std::thread::sleep(since);
        page::of(&Monitor::new(Some(root.path())))
    };
    let current = page_after(Duration::ZERO);
    let stopped = page_after(CountersView::LATE_AFTER + Duration::from_millis(10));
    for (text, stale) in [(&current, 0), (&stopped, 1)] {
        for line in [
            "touchline_process_up{process=\"fx-run\"} 1\n".to_owned(),
            format!("touchline_process_counters_stale{{process=\"fx-run\"}} {stale}\n"),
        ] {
            assert!(text.contains(&line), "{line}: {text}");
        }
    }
}

/// A process is up while it lives, and the alert of unreadable counters is the only one that can fire for it.
#[test]
fn unreadable_counters_of_a_process_are_a_metric() {
    let folder = Folder::new("metrics");
    let root = Root::at(&folder);
    let stats = ProcessStats::create(&root, "fx-run", 1.0, [], []);
    let _stats = stats.expect("a free name");
    let page = || page::of(&Monitor::new(Some(root.path())));
    let readable = "touchline_process_unreadable{process=\"fx-run\"} 0\n";
    assert!(page().contains(readable), "{}", page());
    let file = folder.join(".processes/fx-run/counters");
    std::fs::write(file, [7; 8192]).expect("our file");
    let text = page();
    for line in [
        "touchline_process_up{process=\"fx-run\"} 1\n",
        "touchline_process_unreadable{process=\"fx-run\"} 1\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("counters_stale{process"), "{text}");
    let folder = folder.join(".processes");
    std::fs::set_permissions(folder, Permissions::from_mode(0o777)).expect("our folder");
    let text = page();
    assert!(
        text.contains("touchline_directory_unreadable 1\n"),
        "{text}"
    );
}

/// A reader whose statistics cannot be read is not one that keeps up.
#[test]
fn a_reader_with_unreadable_statistics_has_no_figures() {
    let folder = Folder::new("metrics");
    let root = Root::at(&folder);
    let settings = Settings {
        ring_bytes: 64 * 1024,
        instruments_max: 8,
        ..Settings::default()
    };
    let _publisher = Publisher::open(&root, "bus", &settings).expect("a free bus");
    let fine = FineClock {
        ticks,
        ns_per_tick: 1.0,
    };
    let _reader = ReaderStats::create(&root, "bus", "reader", fine).expect("a free name");
    let page = || page::of(&Monitor::new(Some(root.path())));
    let labels = "{bus=\"bus\",reader=\"reader\"}";
    assert!(page().contains(&format!("touchline_reader_lag_bytes{labels} ")));
    let file = folder.join("bus/boards/reader/counters");
    std::fs::write(file, [7; 8192]).expect("our file");
    let text = page();
    for line in ["alive", "unreadable"] {
        let line = format!("touchline_reader_{line}{labels} 1\n");
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert_eq!(text.matches(labels).count(), 2, "{text}");
}

/// Three processes for each bus are shown; those beyond are counted, as buses and readers are.
#[test]
fn processes_beyond_the_limit_are_counted() {
    let folder = Folder::new("metrics");
    let root = Root::at(&folder);
    for number in 0..200 {
        // Each is one that failed.
        let stats = ProcessStats::create(&root, &format!("relay-bus-{number:03}"), 1.0, [], []);
        stats.expect("a free name");
    }
    let text = page::of(&Monitor::new(Some(root.path())));
    assert_eq!(text.matches("touchline_process_up{").count(), 192);
    for line in [
        "touchline_processes 200\n",
        "touchline_processes_not_shown 8\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// A composer reads the hours of a bank from this counter of its gateway.
#[test]
fn a_gateway_counts_the_hours_that_a_composer_reads() {
    let mut counters = ClientLinkCounters::TABLE.iter();
    assert!(counters.any(|info| info.name == touchline_fx_live::compose::CLOSED_UNTIL));
}

/// A hundred thousand instruments are one number, not one series each.
#[test]
fn instruments_do_not_make_series() {
    const INSTRUMENTS: u32 = 100_000;
    let folder = Folder::new("metrics");
    let root = Root::at(&folder);
    let settings = Settings {
        ring_bytes: 1024 * 1024,
        instruments_max: INSTRUMENTS as usize,
        image_levels_max: 1,
        ..Settings::default()
    };
    let mut publisher = Publisher::open(&root, "bus", &settings).expect("a temporary folder");
    let series = |text: &str| {
        let series = text.lines().filter_map(|line| line.rsplit_once(' '));
        series
            .map(|(series, _)| series.to_owned())
            .collect::<Vec<_>>()
    };
    let before = page::of(&Monitor::new(Some(root.path())));
    let depth = Depth {
        direct: 1,
        implied: 0,
    };
    for number in 0..INSTRUMENTS {
        let definition = InstrumentDefinition {
            symbol: Symbol::new(format!("SYM{number}").as_bytes()),
            defined: true,
            reference: ReferenceData::NULL,
            ..InstrumentDefinition::unknown(Instrument(number), i64::from(number), depth)
        };
        publisher.publish(&Update::Definition(&definition), &Timestamps::default());
    }
    publisher.commit();
    let after = page::of(&Monitor::new(Some(root.path())));
    assert!(
        after.contains("touchline_bus_instruments{bus=\"bus\"} 100000\n"),
        "{after}"
    );
    assert_eq!(series(&before), series(&after));
    assert!(!after.contains("SYM"));
}

#[test]
fn every_panel_of_the_dashboard_is_complete() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut numbers = BTreeSet::new();
    let mut queries = 0;
    for panel in panels {
        assert!(
            numbers.insert(panel["id"].as_u64()),
            "twice: {}",
            panel["id"]
        );
        if panel["type"] == "row" {
            continue;
        }
        assert!(
            panel["title"].is_string() && panel["description"].is_string(),
            "{panel}"
        );
        assert_eq!(panel["datasource"]["uid"], "${datasource}");
        for target in panel["targets"].as_array().expect("queries") {
            assert_eq!(target["datasource"]["uid"], "${datasource}");
            let query = target["expr"].as_str().expect("a query");
            // Counters of a relay that sends have its own name, which contains that of the bus; those of an engine or a recorder have its.
            let selectors = [
                "{bus=~\"$bus\"}",
                "{process=~\"relay-($bus)-[0-9]+\"}",
                "{process=~\"$engine\"}",
                "{process=~\"$recorder\"}",
            ];
            let is_selected = selectors.into_iter().any(|text| query.contains(text));
            assert!(is_selected, "{query}");
            queries += 1;
        }
    }
    assert!(queries > 30, "{queries}");
    let variables = dashboard["templating"]["list"]
        .as_array()
        .expect("variables");
    let names: Vec<_> = variables.iter().map(|variable| &variable["name"]).collect();
    assert_eq!(names, ["datasource", "bus", "engine", "recorder"]);
}

/// A rule that can never fire is found: each has a series in the tests of the alerts for which it does.
#[test]
fn every_alert_fires_in_its_tests() {
    for alert in ALERTS.split("- alert: ").skip(1) {
        let name = alert.lines().next().unwrap_or_default();
        let fires = format!("alertname=\"{name}\"");
        assert!(ALERTS_TEST.contains(&fires), "{name}");
    }
}

/// Each alert has a summary that says what to do.
#[test]
fn every_alert_says_what_to_do() {
    let alerts = ALERTS.split("- alert: ").skip(1);
    let mut count = 0;
    for alert in alerts {
        let name = alert.lines().next().unwrap_or_default();
        let description = alert.lines().find(|line| line.contains("description: "));
        assert!(
            description.is_some_and(|line| line.contains("Do: ")),
            "{name}"
        );
        for part in ["summary: ", "severity: ", "expr: "] {
            assert!(alert.contains(part), "{name} has no {part}");
        }
        count += 1;
    }
    assert!(count > 10, "{count}");
}
