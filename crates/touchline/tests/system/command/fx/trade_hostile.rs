//! Reports that are forged, malformed, repeated or contradict the order: each has its documented answer and its log line.

use super::full_disk::logged;
use super::live::end;
use super::scripted_bank::ScriptedBank;
use super::trade::Market;
use crate::command::until;
use std::time::Duration;
use touchline_lab::bank::scripted::{Fields, trade, value};

pub const ENGINE: &str = "fx run --config fx/run.toml --until-eof";

/// A market of one bank whose quotes are simulated, and whose dealing desk is this test.
pub fn open(name: &str) -> (Market, ScriptedBank) {
    let market = Market::open(name, &["[banks.orders]"]);
    let bank = ScriptedBank::open("LP01");
    let text = market.desk.read("fx/run.toml");
    let lines = text.lines().map(|line| match line.starts_with("host = ") {
        true => format!("host = \"{}\"\n", bank.address),
        // No timeout of an answer may interfere: only the test's own messages have an effect.
        false if line.starts_with("status_final") => format!("{line}\nanswer_ms = 60000\n"),
        false => format!("{line}\n"),
    });
    market.desk.write("fx/run.toml", lines.collect::<String>());
    (market, bank)
}

/// The order of a new parent at the market. Parents are sent until one has an order: the first may come before the bank's
/// quotes or in a cool-down.
pub fn order(market: &Market, bank: &ScriptedBank) -> Fields {
    let mut found = None;
    until("an order", || {
        let sent = market.send("EUR/USD buy 2000 --tif ioc");
        if sent.status == 0 {
            found = bank.within("D", Duration::from_secs(2));
        }
        found.is_some()
    });
    found.expect("an order")
}

/// Lines of the engine's log that have all of these texts.
pub fn lines(market: &Market, texts: &[&str]) -> usize {
    let log = market.desk.read("engine.log");
    let has_all = |line: &&str| texts.iter().all(|text| line.contains(text));
    log.lines().filter(has_all).count()
}

/// The engine's log, which a thread of its own writes, has this many lines with all of these texts.
#[track_caller]
pub fn assert_lines(market: &Market, texts: &[&str], count: usize) {
    until("lines of the log", || lines(market, texts) >= count);
    let log = market.desk.read("engine.log");
    assert_eq!(lines(market, texts), count, "{texts:?}: {log}");
}

/// A trade that is not as ordered is refused with DK (Q) and an alarm: the trade is not booked, and its order is disputed until
/// the desk resolves it. A valid trade is booked once, regardless of how often its report is repeated.
#[test]
fn a_trade_that_is_not_as_ordered_is_refused_and_not_booked() {
    let (market, bank) = open("fx-forged");
    let engine = logged(&market.desk, ENGINE, "engine");
    let mut alarms = Vec::new();
    for (number, (reason, other)) in [
        ("A", &[(55, "GBP/USD")][..]),
        ("B", &[(54, "2")]),
        ("C", &[(14, "3000"), (32, "3000")]),
        ("E", &[(31, "9.99")]),
    ]
    .into_iter()
    .enumerate()
    {
        let order = order(&market, &bank);
        bank.send("8", &trade(&order, &format!("X{number}"), other));
        let refused = bank.next("Q");
        assert_eq!(value(&refused, 127), reason);
        assert_eq!(value(&refused, 17), format!("X{number}"));
        let id = value(&order, 11);
        alarms.push(format!("reason=dk_{reason} bank=LP01 order={id} "));
        // A quantity that the desk states must be possible.
        market.desk.run(&format!("fx resolve {id} 0")).done();
        market
            .desk
            .run(&format!("fx resolve {id} 0"))
            .refused(1, &["no_such_thing"]);
    }
    let good = order(&market, &bank);
    for exec_id in ["Y1", "Y1"] {
        bank.send("8", &trade(&good, exec_id, &[]));
    }
    // An order that the engine does not know, and an order under the name of another.
    bank.send("8", &trade(&good, "Y2", &[(11, "T-none-1")]));
    assert_eq!(value(&bank.next("Q"), 127), "D");
    // The session rejects a report without its type.
    bank.send("8", &trade(&good, "Y3", &[(150, "")]));
    assert_eq!(value(&bank.next("3"), 373), "1");
    end(engine);
    alarms.push("reason=dk_D bank=LP01 order=T-none-1 ".to_owned());
    alarms.push("reason=malformed bank=LP01 ".to_owned());
    alarms.push("reason=report_repeated bank=LP01 ".to_owned());
    for alarm in &alarms {
        assert_lines(&market, &["WARN fx_alarm bus=fx-run ", alarm], 1);
    }
    assert_eq!(lines(&market, &["reason=dk_"]), 5);
    let text = market.desk.read("engine.txt");
    assert!(text.contains(" 1 fills"), "{text}");
    assert!(
        text.contains("{\"cash\":") && text.contains("\"pair\":\"EUR/USD\",\"position\":2000}"),
        "{text}"
    );
    let report = market
        .desk
        .run("fx report --config fx/run.toml --out report")
        .done();
    assert!(report.stdout.contains("\"position\":2000"), "{report:?}");
    assert_eq!(market.ledgers().count("orders"), 0);
}
