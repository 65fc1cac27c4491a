//! Banks whose reports contradict themselves, at a running engine: each is an alarm, nothing that a bank may have traded is bought
//! again, and the engine never has more than the banks' own books.

use super::deals::{Traded, deals};
use super::full_disk::logged;
use super::trade::{Market, close};
use super::trade_hostile::{ENGINE, lines};
use crate::command::Desk;
use crate::command::deribit::until;
use std::collections::BTreeMap;

/// Parents of the test, and the units of each.
const PARENTS: usize = 40;
const UNITS: i64 = 2_000;

#[test]
fn contradicting_banks_are_alarms_and_buy_nothing_twice() {
    let banks =
        "[banks.orders]\nreject = 0.2\npartial = 0.3\ncontradict = 0.4\ncontradict_in = [39, 151]";
    let file = Market::file("", &[banks, banks]);
    let market = Market::of(Desk::bare("fx-contradict"), &file, 2, "--store books");
    let engine = logged(&market.desk, ENGINE, "engine");
    let mut wanted = BTreeMap::new();
    until("parents that were taken", || {
        let id = format!("P{}", wanted.len());
        let sent = market.send(&format!("EUR/USD buy {UNITS} --id {id} --deadline-ms 8000"));
        if sent.status == 0 {
            wanted.insert(id, UNITS);
        }
        wanted.len() == PARENTS
    });
    until("contradictions of both banks", || {
        let alarms = |bank| {
            lines(
                &market,
                &["WARN fx_alarm bus=fx-run reason=contradiction ", bank],
            )
        };
        alarms("bank=LP01") > 0 && alarms("bank=LP02") > 0
    });
    let folder = "books";
    let of_bank = |bank| deals(&market.desk, folder, bank);
    let traded = Traded::new(
        ["LP01", "LP02"].into_iter().flat_map(of_bank).collect(),
        wanted,
    );
    traded.judge().expect("no parent is traded twice");
    traded
        .overfilled()
        .judge()
        .expect_err("a lot too much is found");
    let (_, own) = close(engine, &market, "engine.txt");
    let ledgers = market.ledgers();
    assert!(ledgers.contradictions() > 0, "no contradiction: no test");
    let (booked, _) = own["EUR/USD"];
    let theirs = ledgers.by_pair().of("EUR/USD");
    assert!((0..=theirs).contains(&booked), "{booked} of {theirs}");
}
