//! The lists of a desk in C and C++ are those of the client in Rust, in every field.

use super::live::end;
use super::program::{buy, compiled, join, printed};
use super::trade::Market;
use crate::command::until;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use touchline_client::Side;
use touchline_client::fx::{
    AlarmRow, Desk, FillRow, OrderRow, PairRow, ParentRow, new_name, ticks, words,
};
use touchline_types::Id;

/// A bank that corrects its fills, and leaves some orders without an answer.
const BANK: &str = "[banks.orders]\ncorrect = 1.0\nlate = 0.5\nlate_ms = 600000";

/// Every list has a row: an order stays open, and a corrected fill is an alarm.
#[test]
fn the_lists_of_a_desk_are_the_same_in_c_and_in_cpp() {
    let market = Market::open("fx-program-lists", &[BANK]);
    let engine = market.engine("engine.txt");
    let mut desk = join(&market);
    let mut limited = buy("L1", "EUR/USD", 1_000);
    limited.limit = Some(Id::new(b"0.9").expect("a price"));
    desk.send(&limited).expect("accepted");
    let mut open = HashMap::new();
    until("an order that stays open, and an alarm", || {
        let mut order = buy("N", "USD/JPY", 1_000);
        order.id = new_name();
        let _ = desk.send(&order);
        // Others are open until their bank answers.
        let since = desk
            .orders()
            .map(|(_, row)| *open.entry(row.id).or_insert_with(Instant::now));
        let stays = since
            .min()
            .is_some_and(|since| since.elapsed() > Duration::from_secs(2));
        open.retain(|id, _| desk.orders().any(|(_, row)| row.id == *id));
        stays && !desk.ledger().alarms.is_empty()
    });
    for (compiler, standard, source) in [
        ("gcc", "-std=c11", "desk_lists.c"),
        ("g++", "-std=c++17", "desk_lists.cpp"),
    ] {
        // A program that does not free everything at its end fails.
        let options = [standard, "-fsanitize=address"];
        let Some(mut program) = compiled(&market, compiler, &options, "tests/programs", source)
        else {
            continue;
        };
        let mut said = String::new();
        // The engine works meanwhile.
        until("the same lists", || {
            said = printed(&market, &mut program);
            said == rows(&join(&market))
        });
        for kind in ["parent|", "order|", "fill|", "position|", "alarm|"] {
            assert!(said.lines().any(|line| line.starts_with(kind)), "{said}");
        }
        assert!(said.contains("|900000000|"), "the limit: {said}");
    }
    end(engine);
}

/// A row as the programs print it: a kind, a side, whether it has ended and has settled, six numbers and the time, eight texts.
fn row(
    kind: &str,
    flags: [u8; 3],
    numbers: [Option<i64>; 6],
    at_ns: u64,
    texts: [&str; 8],
) -> String {
    let [side, ended, settled] = flags;
    let numbers = numbers.map(|number| number.map_or("-".to_owned(), |number| number.to_string()));
    format!(
        "{kind}|{side}|{ended}|{settled}|{}|{at_ns}|{}\n",
        numbers.join("|"),
        texts.join("|")
    )
}

fn rows(desk: &Desk) -> String {
    let parents = desk.parents().iter().map(parent);
    let orders = desk.orders().map(|(_, row)| order(row));
    let fills = desk.fills().iter().map(fill);
    let positions = desk.positions().iter();
    let positions = positions.map(|(pair, row)| position(pair, row));
    let alarms = desk.ledger().alarms.iter().map(alarm);
    let all = parents.chain(orders).chain(fills).chain(positions);
    all.chain(alarms).collect()
}

fn parent(of: &ParentRow) -> String {
    let limit = of.limit.as_deref().map(|limit| {
        let price = ticks::traded(limit.as_bytes());
        price.expect("a price").0
    });
    row(
        "parent",
        [
            of.side as u8,
            u8::from(of.is_ended),
            u8::from(of.is_settled),
        ],
        [Some(of.quantity), Some(of.filled), None, limit, None, None],
        0,
        [of.id.as_str(), "", "", "", &of.pair, &of.state, "", ""],
    )
}

fn order(of: &OrderRow) -> String {
    let terms = &of.terms;
    let price = Some(terms.price.0);
    row(
        "order",
        [terms.side as u8, 0, 0],
        [
            Some(terms.quantity),
            Some(of.cum),
            Some(of.leaves),
            price,
            None,
            None,
        ],
        0,
        [
            of.parent.as_str(),
            of.id.as_str(),
            "",
            &of.bank,
            &terms.pair,
            words::order_state_name(of.state),
            "",
            "",
        ],
    )
}

fn fill(of: &FillRow) -> String {
    let line = &of.fill;
    row(
        "fill",
        [line.side as u8, 0, 0],
        [
            Some(line.quantity),
            None,
            None,
            Some(line.price.0),
            None,
            None,
        ],
        of.at_ns,
        [
            line.parent.unwrap_or_default().as_str(),
            line.order
                .map(|order| order.id)
                .unwrap_or_default()
                .as_str(),
            line.exec_id.as_str(),
            of.bank.as_deref().unwrap_or_default(),
            &of.pair,
            words::fill_name(line.kind),
            "",
            "",
        ],
    )
}

fn position(pair: &str, of: &PairRow) -> String {
    let [long, short] = of.worst;
    let pnl = of.pnl.as_deref().unwrap_or_default();
    row(
        "position",
        [Side::Bid as u8, 0, 0],
        [Some(of.position), None, None, None, Some(long), Some(short)],
        0,
        ["", "", "", "", pair, "", &of.cash, pnl],
    )
}

fn alarm(of: &AlarmRow) -> String {
    let order = of.order.unwrap_or_default();
    let what = of.what.to_string();
    let bank = of.bank.as_deref().unwrap_or_default();
    row(
        "alarm",
        [0; 3],
        [None; 6],
        of.at_ns,
        ["", order.as_str(), "", bank, "", &what, "", ""],
    )
}
