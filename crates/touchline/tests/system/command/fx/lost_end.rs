//! The journal of the first host is lost with records that never reached its copy: an engine continues the copy.

use super::books::{self, Books, judge_end};
use super::full_disk::{journaled, logged};
use super::live::{end, start};
use super::trade::Market;
use crate::command::Desk;
use crate::command::until;
use std::fs;
use touchline_testing::Process;
use touchline_testing::free_address;

/// Their mass status reaches back to the moment from which the copy lacks orders.
const BANKS: [&str; 3] = [
    "[banks.orders]\nmass_status_ms = 600000\nhold_ms = [100, 400]\nsplit = 0.5",
    "[banks.orders]\nmass_status_ms = 600000\nhold_ms = [100, 400]\nlost = 0.3",
    "[banks.orders]\nmass_status_ms = 600000\nhold_ms = [100, 400]\nsilent = 0.3",
];

/// An engine, and a copy of its journal.
struct Hosts {
    market: Market,
    engine: Process,
    source: Process,
    copy: Process,
}

impl Hosts {
    /// The engine trades, and its copy has the first orders.
    fn open(name: &str) -> Hosts {
        let market = Market::open(name, &BANKS);
        let desk = &market.desk;
        let address = free_address();
        let line =
            format!("journal send fx/journal --listen {address} --allow 127.0.0.1 --until-eof");
        let source = start(desk, &line, "source.txt");
        let engine = market.engine("first.txt");
        let line = format!("journal receive {address} fx/copy --every-s 1 --until-eof");
        let copy = start(desk, &line, "copy.txt");
        let config = desk.read("fx/run.toml");
        desk.write(
            "fx/other.toml",
            config.replace("journal = \"journal\"", "journal = \"copy\""),
        );
        let hosts = Hosts {
            market,
            engine,
            source,
            copy,
        };
        hosts.trade();
        until("the first orders in the copy", || {
            let copied = hosts.market.desk.path("fx/copy/0000000001.tlj").exists();
            copied && journaled(&hosts.market.desk.path("fx/copy")).len() > 1
        });
        hosts
    }

    /// Parents of both pairs, which need several orders.
    fn trade(&self) {
        for (pair, side) in [
            ("EUR/USD", "buy"),
            ("USD/JPY", "sell"),
            ("EUR/USD", "sell"),
            ("USD/JPY", "buy"),
        ] {
            let order = format!("{pair} {side} 5000000 --deadline-ms 2000");
            self.market.send(&order).done();
        }
    }

    /// Parents until this many further orders are in the journal of the first host.
    fn trade_until_lacking(&self, count: usize) {
        let orders = || journaled(&self.market.desk.path("fx/journal")).len();
        let before = orders();
        until("more orders", || {
            self.trade();
            orders() >= before + count
        });
    }

    /// The link ends by this signal to the sender, orders go on, and the first host is lost with orders out. The orders that only its
    /// journal had.
    fn lose(self, sender: &str) -> (Market, Vec<String>) {
        self.source.signal(sender);
        self.trade_until_lacking(12);
        self.engine.signal("KILL");
        let Hosts {
            market,
            engine,
            source,
            copy,
        } = self;
        drop(engine);
        // Another host does not have the shared memory of the first one.
        fs::remove_dir_all(market.desk.path("buses/fx-run")).expect("the engine's bus");
        // The receiving process has the lock of the copy.
        end(copy);
        drop(source);
        let copied = journaled(&market.desk.path("fx/copy"));
        let all = journaled(&market.desk.path("fx/journal"));
        assert!(all.is_superset(&copied), "a copy has no order of its own");
        let lacking: Vec<String> = all.difference(&copied).cloned().collect();
        assert!(lacking.len() >= 12, "{lacking:?}");
        (market, lacking)
    }
}

/// Waits until the second engine says in its log that it took over orders that the copy lacks.
fn until_taken_over(desk: &Desk, lacking: &[String]) {
    until("orders that were taken over", || {
        let log = desk.read("second.log");
        let lines = || log.lines().filter(|line| line.contains("adopted"));
        let is_taken = |id: &String| lines().any(|line| line.contains(id));
        lacking.iter().any(is_taken)
    });
}

/// Waits until an engine on the copy trades and has no order left without an outcome, ends it, and compares: its positions, its
/// lines and `fx report` equal the banks' ledgers, and no order came twice.
fn judge(market: Market, engine: Process) {
    let desk = &market.desk;
    until("an engine that trades", || {
        let run = market.send("EUR/USD buy 1000 --tif ioc --wait");
        run.status == 0 && run.stdout.contains(": 1000 filled")
    });
    market.until_no_order();
    end(engine);
    let said = desk.read("second.txt");
    let report = desk.run("fx report --config fx/other.toml --out report");
    let report = report.done().stdout;
    let fills = Books::of_csv(&desk.read("report/fills.csv")).expect("each fill once");
    let ledgers = market.ledgers();
    judge_end(&said, &ledgers).unwrap_or_else(|what| panic!("{what}: {said}"));
    books::judge(&fills, &ledgers).unwrap_or_else(|what| panic!("fills.csv: {what}"));
    let reported = books::positions(&report).expect("positions");
    let held = books::is_equal("fx report", &reported.units(), &ledgers.by_pair().units());
    held.unwrap_or_else(|what| panic!("{what}"));
}

/// The link delivers nothing any more while its connection stays. The standby of the copy is promoted: it asks every bank, takes over
/// the orders that the copy lacks, and has the banks' positions.
#[test]
fn a_promoted_standby_takes_over_the_orders_that_a_silent_link_kept_from_the_copy() {
    let hosts = Hosts::open("fx-silent-link");
    let line = "fx run --config fx/other.toml --standby --until-eof";
    let waiting = logged(&hosts.market.desk, line, "second");
    until("a standby", || {
        hosts.market.desk.run("fx promote --check").status == 0
    });
    let (market, lacking) = hosts.lose("STOP");
    let promoted = market.desk.run("fx promote").done();
    assert!(
        promoted.stdout.contains("3 of 3 order sessions"),
        "{promoted:?}"
    );
    until_taken_over(&market.desk, &lacking);
    judge(market, waiting);
}

/// The sender is killed. An engine that starts on the copy does the same as one that is promoted.
#[test]
fn an_engine_that_starts_on_a_copy_takes_over_the_orders_that_the_copy_lacks() {
    let hosts = Hosts::open("fx-killed-sender");
    let (market, lacking) = hosts.lose("KILL");
    let line = "fx run --config fx/other.toml --until-eof";
    let second = logged(&market.desk, line, "second");
    until_taken_over(&market.desk, &lacking);
    judge(market, second);
}
