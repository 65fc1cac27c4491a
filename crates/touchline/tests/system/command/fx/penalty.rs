//! A bank that rejects: its penalty, its share of the quantity and its scorecard, by the simulated banks' own books.

use super::books::{Ledgers, judge_end};
use super::deals::{self, Deal};
use super::trade::{Market, close};
use crate::command::Desk;
use crate::command::until;
use serde_json::Value;
use std::collections::BTreeMap;
use touchline_fx_desk::Follower;
use touchline_fx_events::lines::LineKind;
use touchline_transport::bus::Root;

const NAMES: [&str; 2] = ["LP01", "LP02"];
/// Units of each tier of both banks, which are a tick apart.
const TIER: i64 = 1_000_000;
const TIERS: i64 = 3;
/// Both banks quote the same prices: the mid does not move, and each quotes it again and again. The first one, which an equal
/// price prefers, rejects most orders.
const BANKS: &str = r#"
seed = 3
move_ms = 20
[[pairs]]
symbol = "EUR/USD"
precision = 5
spot_date = "20260107"
mid_ticks = 110000
step_ticks = 0
[[banks]]
name = "LP01"
pairs = ["EUR/USD"]
follows = 1.0
tiers = [1000000, 1000000, 1000000]
[banks.orders]
reject = 0.6
partial = 0.5
hold_ms = [20, 40]
[[banks]]
name = "LP02"
pairs = ["EUR/USD"]
follows = 1.0
tiers = [1000000, 1000000, 1000000]
[banks.orders]
"#;
/// A reject costs a penalty and no pause, and a hold of 10 ms costs a tenth of a tick.
const ROUTER: &str = "\n[router]\ncooldown_ms = 0\nhold_ms_per_tenth = 10\n";

/// The window of a bank is its last 20 outcomes. A bank that rejects gets the share that its prices with its penalty deserve,
/// which is 0 while the other bank has better ones; and the scorecard and the page of `fx report` equal the bank's own
/// books for each bank.
#[test]
fn a_bank_that_rejects_has_the_share_of_its_penalty_and_the_report_equals_its_books() {
    let market = Market::of(Desk::bare("fx-penalty"), BANKS, 2, "--store books");
    let settings = market.desk.read("fx/run.toml");
    // An answer that is late on a busy host must not count as an outcome.
    let patient = settings.replace(
        "status_final = true",
        "status_final = true\nanswer_ms = 60000",
    );
    market.desk.write("fx/run.toml", patient + ROUTER);
    let engine = market.engine("engine.txt");
    let mut trading = Trading::of(&market);
    // By price alone, the meaning of urgency 0, the first bank has its orders until its window slides.
    for _ in 0..200 {
        trading.send(2_000, 0);
        if trading.outcomes(0).len() > 25 {
            break;
        }
    }
    let mut shares = Vec::new();
    for (tiers, urgency) in [
        (2, 0),
        (1, 1),
        (2, 2),
        (2, 1),
        (3, 1),
        (5, 1),
        (1, 2),
        (6, 2),
    ] {
        let quantity = tiers * TIER;
        trading.wait_for_quotes();
        let penalties = [0, 1].map(|bank| urgency * penalty(&trading.outcomes(bank)));
        let before = [0, 1].map(|bank| trading.received(bank));
        trading.send(quantity, urgency);
        let share = [0, 1].map(|bank| trading.received(bank) - before[bank]);
        assert_eq!(
            share,
            best(quantity, penalties),
            "{quantity} with urgency {urgency} and penalties {penalties:?}"
        );
        shares.push((urgency, share));
    }
    // Its half of two tiers without a penalty, none with one, and the rest if all is needed.
    assert_eq!(shares[0], (0, [TIER, TIER]));
    assert_eq!(shares[2], (2, [0, 2 * TIER]));
    assert_eq!(shares[7], (2, [3 * TIER, 3 * TIER]));

    let expected = [0, 1].map(|bank| Expected {
        penalty: penalty(&trading.outcomes(bank)),
        sent: trading.received(bank),
        filled: deals(&market, bank).iter().map(|deal| deal.cum).sum(),
    });
    let (said, _) = close(engine, &market, "engine.txt");
    let report = "fx report --config fx/run.toml --out report";
    market.desk.run(report).done();
    let scores = market.desk.read("report/scorecard.jsonl");
    let page = market.desk.read("report/report.html");
    let ledgers = market.ledgers();
    for (name, expected) in NAMES.iter().zip(&expected) {
        let mut scores = scores.lines().filter_map(parse);
        let score = scores.find(|score| score["bank"] == *name);
        judge(&score.expect("a score"), expected, &page, &ledgers);
    }
    judge_end(&said, &ledgers).unwrap_or_else(|what| panic!("{what}: {said}"));
}

/// Expected score of a bank.
struct Expected {
    penalty: i64,
    sent: i64,
    filled: i64,
}

/// The score of a bank is that of its ledger, and the page shows the same.
fn judge(score: &Value, expected: &Expected, page: &str, ledgers: &Ledgers) {
    let name = score["bank"].as_str().expect("a name");
    let ledger = ledgers.of_bank(name);
    for count in ["orders", "fills"] {
        assert_eq!(score[count], ledger[count], "{count}: {score}, {ledger}");
    }
    let mut rejects = BTreeMap::new();
    for (reason, count) in ledger["reject_reasons"].as_object().expect("reasons") {
        let code = match reason.as_str() {
            "30" => "A-1",
            "31" => "A-2",
            "32" => "B",
            other => panic!("a reject for {other}"),
        };
        rejects.insert(code, count.clone());
    }
    assert_eq!(score["rejects"], serde_json::json!(rejects), "{ledger}");
    assert_eq!(rejects.is_empty(), name == NAMES[1], "{ledger}");
    let Expected {
        penalty,
        sent,
        filled,
    } = expected;
    assert_eq!(
        [&score["penalty"], &score["sent"], &score["filled"]],
        [penalty, sent, filled],
        "{score}"
    );
    // Four decimals, the rest cut off.
    let ratio = score["fill_ratio"].as_str().expect("a ratio");
    let (whole, decimals) = ratio.split_once('.').unwrap_or((ratio, ""));
    let digits: i64 = format!("{whole}{decimals:0<4}").parse().expect("a ratio");
    assert_eq!(digits, filled * 10_000 / sent, "{score}");
    let (_, section) = page.split_once("Scorecard of the engine").expect("it is");
    let row = section.split("<tr>").find_map(|row| {
        let cells: Vec<&str> = row.split("<td>").skip(1).collect();
        (cells.len() == 14 && cells[0] == name).then_some(cells)
    });
    let row = row.unwrap_or_else(|| panic!("{name}: {page}"));
    // Orders, fills, units, ratio and penalty.
    let shown = [5, 6, 7, 8, 12].map(|cell| row[cell].to_owned());
    let keys = ["orders", "fills", "filled", "fill_ratio", "penalty"];
    assert_eq!(
        shown,
        keys.map(|key| score[key].to_string().replace('"', ""))
    );
}

/// The penalty of docs/venues/fx-banks.md, tenths of a tick, from all outcomes of a bank: whether the order ended without a fill, and the
/// hold, milliseconds.
fn penalty(outcomes: &[(bool, i64)]) -> i64 {
    let last = &outcomes[outcomes.len().saturating_sub(20)..];
    let count = last.len() as i64;
    if count == 0 {
        return 0;
    }
    let bad = last.iter().filter(|(is_bad, _)| *is_bad).count() as i64;
    let hold_ms: i64 = last.iter().map(|(_, hold_ms)| hold_ms).sum();
    (bad * 20 / count.max(5) + hold_ms / count / 10).min(50)
}

/// Units of each bank in the cheapest sweep: by price with penalty, then by price, then by rank.
fn best(quantity: i64, penalties: [i64; 2]) -> [i64; 2] {
    let offers = (0..TIERS).flat_map(|tick| [(tick, 0), (tick, 1)]);
    let mut offers: Vec<(i64, i64, usize)> = offers
        .map(|(tick, bank)| (10 * tick + penalties[bank], tick, bank))
        .collect();
    offers.sort_unstable();
    let (mut left, mut units) = (quantity, [0; 2]);
    for (_, _, bank) in offers {
        let taken = left.min(TIER);
        units[bank] += taken;
        left -= taken;
    }
    units
}

/// The orders of a bank as they arrived, from the file in which it keeps its books.
fn deals(market: &Market, bank: usize) -> Vec<Deal> {
    deals::deals(&market.desk, "books", NAMES[bank])
}

fn parse(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok()
}

/// The desk, with the times of its orders.
struct Trading<'a> {
    market: &'a Market,
    follower: Follower,
    times: Times,
}

/// When orders were sent, and how long they took to their end, nanoseconds, by ClOrdID. Only the engine knows both times.
#[derive(Default)]
struct Times {
    sent_ns: BTreeMap<String, i64>,
    held_ns: BTreeMap<String, i64>,
}

impl Times {
    /// Takes a line of the engine.
    fn take(&mut self, kind: LineKind, text: &str) {
        let line = parse(text)
            .filter(|_| kind == LineKind::Order)
            .unwrap_or_default();
        let word = |key: &str| line[key].as_str().unwrap_or_default();
        let (id, at_ns) = (word("clordid"), line["t"].as_i64().unwrap_or(0));
        match (word("event"), word("state")) {
            ("sent", "sent") => {
                self.sent_ns.insert(id.to_owned(), at_ns);
            }
            ("report", "filled" | "rejected" | "canceled") => {
                let held_ns = at_ns - self.sent_ns[id];
                self.held_ns.insert(id.to_owned(), held_ns);
            }
            _ => {}
        }
    }
}

impl<'a> Trading<'a> {
    fn of(market: &'a Market) -> Trading<'a> {
        let root = Root::at(market.desk.path("buses"));
        let journal = market.desk.path("fx/journal");
        Trading {
            market,
            follower: Follower::new(&journal, &root, "fx-run"),
            times: Times::default(),
        }
    }

    /// A parent with one attempt, to its end.
    fn send(&self, quantity: i64, urgency: i64) {
        let order = format!("EUR/USD buy {quantity} --tif ioc --urgency {urgency} --wait");
        self.market.send_to_its_end(&order);
    }

    /// Units of all orders that a bank has received.
    fn received(&self, bank: usize) -> i64 {
        let deals = deals(self.market, bank);
        deals.iter().map(|deal| deal.quantity).sum()
    }

    /// Outcomes of a bank, oldest first: one order of a bank was out at a time.
    fn outcomes(&mut self, bank: usize) -> Vec<(bool, i64)> {
        let deals = deals(self.market, bank);
        let Trading {
            follower, times, ..
        } = self;
        until("the end of each order", || {
            let polled = follower.poll_lines(|kind, text| times.take(kind, text));
            polled.expect("a journal");
            deals
                .iter()
                .all(|deal| times.held_ns.contains_key(&deal.id))
        });
        let outcome = |deal: &Deal| (deal.cum == 0, times.held_ns[&deal.id] / 1_000_000);
        deals.iter().map(outcome).collect()
    }

    /// Each bank quotes all its tiers again: what an order has taken is not taken twice.
    fn wait_for_quotes(&self) {
        let quotes = || {
            NAMES.map(|name| {
                let bus = name.to_lowercase();
                let run = self.market.desk.run(&format!("stat {bus} --json")).done();
                let stat = parse(&run.stdout).expect("a bus");
                stat["counters"]["quotes"].as_u64().expect("a count")
            })
        };
        let before = quotes();
        until("quotes of both banks", || {
            let now = quotes();
            (0..2).all(|bank| now[bank] > before[bank] + 1)
        });
    }
}
