//! Models of trading engines and standbys, from counters files that the tests write.

use super::{Buses, looked};
use crate::counted::Freshness;
use crate::top::model::engine::Engine;
use crate::top::model::{CopySource, EngineState, Model, Sample};
use std::time::Duration;
use touchline_client::monitor::CountersView;
use touchline_fx_desk::DropCopy;
use touchline_fx_live::compose::labelled;
use touchline_fx_live::execution::{AlarmCounters, BankCounters, Counters, StandbyCounters};
use touchline_transport::shm::ProcessStats;
use touchline_types::CounterInfo;

/// A drop copy and a counters file of two banks, as an engine has them.
struct Running {
    _drop_copy: DropCopy,
    stats: ProcessStats,
}

impl Running {
    fn engine(buses: &Buses) -> Running {
        let mut table: Vec<CounterInfo> = Counters::TABLE.to_vec();
        for bank in ["LP01", "LP02"] {
            table.extend(labelled(BankCounters::TABLE, bank));
        }
        Running::with(buses, "fx-run", &table)
    }

    fn with(buses: &Buses, bus: &str, table: &[CounterInfo]) -> Running {
        let drop_copy = DropCopy::open(&buses.root(), bus, 1 << 20).expect("a free bus");
        let stats = ProcessStats::create(&buses.root(), bus, 1.0, table, []);
        Running {
            _drop_copy: drop_copy,
            stats: stats.expect("a free name"),
        }
    }

    /// Shows these counters; of each bank session, orders, reports, fills, rejects and unknown.
    fn show(&mut self, counters: &Counters, banks: [[u64; 7]; 2]) {
        let all = counters.counts().chain(banks.into_iter().flatten());
        self.stats.counters_file().show(all);
    }
}

const UP: [[u64; 7]; 2] = [[1, 0, 10, 20, 7, 2, 1], [1, 0, 4, 8, 4, 0, 0]];

fn trading() -> Counters {
    Counters {
        fx_orders_sent: 14,
        fx_sessions: 2,
        fx_orders_open: 3,
        fx_orders_unknown: 1,
        fx_parents_open: 2,
        fx_journal_position: 5_000,
        fx_journal_durable: 4_000,
        fx_journal_behind: 1_000,
        ..Counters::default()
    }
}

/// The state is the first reason for which no order is sent; sessions and open orders are those of the counters.
#[test]
fn the_state_of_an_engine_follows_from_its_counters() {
    let buses = Buses::new();
    let mut running = Running::engine(&buses);
    let mut model = Model::of(&buses.monitor(), "fx-run");
    running.show(&trading(), UP);
    let engine = looked(&mut model).engine.clone().expect("an engine");
    assert_eq!(
        (engine.state, engine.sessions()),
        (EngineState::Trading, (2, 2))
    );
    assert_eq!(
        (
            engine.parents_open,
            engine.orders_open,
            engine.orders_unknown
        ),
        (2, 3, 1)
    );
    assert_eq!(
        (engine.journal_bytes, engine.journal_lag_bytes),
        (5_000, 1_000)
    );
    assert_eq!(engine.pid, std::process::id());
    let bank = &engine.banks[0];
    assert_eq!(
        (
            bank.name.as_str(),
            bank.is_up,
            bank.orders,
            bank.fills,
            bank.rejects,
            bank.unknown
        ),
        ("LP01", Some(true), 10, 7, 2, 1)
    );
    let one_down = [[1, 0, 10, 20, 7, 2, 1], [0, 0, 4, 8, 4, 0, 0]];
    running.show(
        &Counters {
            fx_sessions: 1,
            ..trading()
        },
        one_down,
    );
    let engine = looked(&mut model).engine.clone().expect("an engine");
    assert_eq!(
        (engine.state, engine.sessions()),
        (EngineState::Trading, (1, 2))
    );
    assert_eq!(
        (engine.banks[0].name.as_str(), engine.banks[0].is_up),
        ("LP02", Some(false))
    );
    let mut counters = Counters {
        fx_sessions: 0,
        ..trading()
    };
    for (set, state) in [
        ((|_| {}) as fn(&mut Counters), EngineState::NoSession),
        (|counters| counters.fx_held = 1, EngineState::Held),
        (|counters| counters.fx_asking = 1, EngineState::Asking),
        (|counters| counters.fx_killed = 1, EngineState::Killed),
        (
            |counters| counters.fx_journal_failed = 1,
            EngineState::JournalFailed,
        ),
    ] {
        set(&mut counters);
        running.show(&counters, one_down);
        let engine = looked(&mut model).engine.as_ref().expect("an engine");
        assert_eq!(engine.state, state);
    }
    let until_ns = 1_767_650_640_000_000_000;
    let closed = [0, 1].map(|_| [0, until_ns, 4, 8, 4, 0, 0]);
    let no_session = Counters {
        fx_sessions: 0,
        ..trading()
    };
    running.show(&no_session, closed);
    let engine = looked(&mut model).engine.as_ref().expect("an engine");
    assert_eq!(
        (engine.state, engine.sessions(), engine.closed_until_ns()),
        (EngineState::Closed, (0, 0), Some(until_ns))
    );
    running.stats.finish();
    let engine = looked(&mut model).engine.as_ref().expect("an engine");
    assert_eq!(
        (engine.state, engine.pid, engine.banks.len()),
        (EngineState::Ended, 0, 0)
    );
}

/// With any counters, an engine whose process has ended or does not write them is not shown as trading, and the
/// sessions of its banks are not known.
#[test]
fn old_counters_are_not_a_trading_engine() {
    let buses = Buses::new();
    let mut running = Running::engine(&buses);
    running.show(&trading(), UP);
    let processes = buses.monitor().processes().expect("the folder");
    let view: &Option<CountersView> = processes[0].counters_file.as_ref().expect("readable");
    let sample = Sample::take(view.as_ref().expect("a file"));
    let age = Duration::from_secs(3);
    for (freshness, state) in [
        (Freshness::Late(age), EngineState::Stalled),
        (Freshness::Gone(Some(age)), EngineState::Died),
        (Freshness::Gone(None), EngineState::Died),
    ] {
        let of_standby = Sample::of([("fx_standby_position", 9)]);
        for sample in [&sample, &of_standby] {
            let engine = Engine::of(sample, freshness);
            assert_eq!((engine.state, engine.sessions().0), (state, 0));
            assert!(engine.banks.iter().all(|bank| bank.is_up.is_none()));
        }
    }
}

/// A standby shows what it has applied, and how far that is behind the engine, whose state is shown as well.
#[test]
fn a_standby_shows_its_distance_from_the_engine() {
    let buses = Buses::new();
    let mut engine = Running::engine(&buses);
    engine.show(&trading(), UP);
    let mut standby = Running::with(&buses, "fx-run-standby", StandbyCounters::TABLE);
    let counters = StandbyCounters {
        fx_standby_epoch: 3,
        fx_standby_position: 4_900,
        fx_standby_records: 70,
        fx_standby_orders: 14,
        fx_standby_orders_unknown: 2,
        ..StandbyCounters::default()
    };
    standby.stats.counters_file().show(counters.counts());
    let mut model = Model::of(&buses.monitor(), "fx-run-standby");
    let shown = looked(&mut model).engine.clone().expect("a standby");
    assert_eq!(
        (shown.state, shown.orders_unknown),
        (EngineState::Standby, 2)
    );
    let of_standby = shown.standby.expect("what it has applied");
    assert_eq!(
        (
            of_standby.engine.as_str(),
            of_standby.engine_state,
            of_standby.lag_bytes
        ),
        ("fx-run", EngineState::Trading, Some(100))
    );
    assert_eq!(
        (of_standby.epoch, of_standby.records, of_standby.orders),
        (3, 70, 14)
    );
    assert_eq!(of_standby.source, None);
    let counters = StandbyCounters {
        fx_standby_copied: 1,
        fx_standby_missing: 700,
        fx_standby_source_age_ns: 9,
        ..counters
    };
    standby.stats.counters_file().show(counters.counts());
    let shown = looked(&mut model).engine.clone().expect("a standby");
    let source = CopySource {
        missing_bytes: 700,
        age_ns: 9,
    };
    let of_standby = shown.standby.expect("what it has applied");
    assert_eq!(of_standby.source, Some(source));
    let file = buses.root().path().join(".processes/fx-run/counters");
    let intact = std::fs::read(&file).expect("our file");
    std::fs::write(&file, vec![7; intact.len()]).expect("our file");
    let shown = looked(&mut model).engine.clone().expect("a standby");
    let of_standby = shown.standby.expect("what it has applied");
    assert_eq!(of_standby.engine_state, EngineState::Unreadable);
    engine.stats.finish();
    let shown = looked(&mut model).engine.clone().expect("a standby");
    let of_standby = shown.standby.expect("what it has applied");
    assert_eq!(
        (of_standby.engine_state, of_standby.lag_bytes),
        (EngineState::Ended, None)
    );
    assert_eq!(
        buses.monitor().engines().expect("the folder"),
        ["fx-run", "fx-run-standby"]
    );
    assert_eq!(buses.monitor().buses().expect("the folder"), [""; 0]);
}

/// The bus of an engine may have a name that ends as that of a standby: the engine trades, and is shown so.
#[test]
fn an_engine_is_no_standby_by_the_name_of_its_bus() {
    let buses = Buses::new();
    let mut running = Running::with(&buses, "eur-standby", Counters::TABLE);
    running.stats.counters_file().show(trading().counts());
    let mut model = Model::of(&buses.monitor(), "eur-standby");
    let engine = looked(&mut model).engine.as_ref().expect("an engine");
    assert_eq!(engine.state, EngineState::Trading);
    assert!(engine.standby.is_none());
}

/// Behind the count of all alarms is each alarm that occurred, by the name that the log and the desk have.
#[test]
fn alarms_are_listed_by_name() {
    let buses = Buses::new();
    let mut table: Vec<CounterInfo> = Counters::TABLE.to_vec();
    for alarm in ["off_price", "manual", "bust"] {
        table.extend(labelled(AlarmCounters::TABLE, alarm));
    }
    let mut running = Running::with(&buses, "fx-run", &table);
    let mut model = Model::of(&buses.monitor(), "fx-run");
    let mut rows = |off_price, manual| {
        let fx_alarms = off_price + manual;
        let counters = Counters {
            fx_alarms,
            ..trading()
        };
        let all = counters.counts().chain([off_price, manual, 0]);
        running.stats.counters_file().show(all);
        let lines = looked(&mut model).lines.clone();
        let rows = lines.into_iter().skip(1).take(4);
        rows.map(|line| (line.name, line.recent, line.total))
            .collect::<Vec<_>>()
    };
    let row = |name: &str, recent, total| (name.to_owned(), recent, total);
    rows(0, 2);
    let unknown = row("unknown, all runs", 0, 0);
    let expected = [
        row("alarms", 1, 3),
        row("manual", 0, 2),
        row("off_price", 1, 1),
        unknown,
    ];
    assert_eq!(rows(1, 2), expected);
}
