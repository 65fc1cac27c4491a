//! Banks whose reports contradict themselves, at a running engine: each is an alarm, a quantity that a bank may have traded is never
//! bought again, and the engine never has more than the banks' own books.

use super::deals::{Traded, deals};
use super::full_disk::logged;
use super::trade::{Market, close};
use super::trade_hostile::{ENGINE, lines};
use crate::command::Desk;
use crate::command::until;
use std::collections::BTreeMap;
use std::path::Path;
use touchline_fx_desk::records;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{Alarm, Event};
use touchline_fx_events::orders::OrderState;
use touchline_wire::fix::{Frame, frame};

/// Parents of the test, and the units of each.
const PARENTS: usize = 40;
const UNITS: i64 = 2_000;

/// Errors in OrdStatus (39) or LeavesQty (151) by the rules, judged from the reports of a journal alone, beside the engine's own
/// alarms.
#[derive(Default)]
struct Judged {
    /// Orders that have ended by their reports, or have contradicted: later reports of them are not judged.
    is_settled: BTreeMap<String, bool>,
    /// Orders with a contradiction, in the order of the reports.
    expected: Vec<String>,
    /// Orders of the alarms.
    alarms: Vec<String>,
    /// Other alarms.
    others: Vec<Alarm>,
    /// Last state of each order.
    states: BTreeMap<String, OrderState>,
}

impl Judged {
    fn of(journal: &Path) -> Judged {
        let mut judged = Judged::default();
        let read = records::read(journal, |_, _, _, entry, _| match &entry {
            Entry::Received { bytes, .. } => judged.received(bytes),
            Entry::Event(Event::Alarm { what, order, .. }, _) => match (what, order) {
                (Alarm::Contradiction, Some(order)) => judged.alarms.push(order.to_string()),
                _ => judged.others.push(*what),
            },
            Entry::Event(Event::Order(line), _) => {
                if let (Some(id), Some(status)) = (line.id, line.status) {
                    judged.states.insert(id.to_string(), status.state);
                }
            }
            _ => {}
        });
        read.expect("a journal");
        judged
    }

    fn received(&mut self, bytes: &[u8]) {
        let Ok(Frame::Whole(message)) = frame(bytes, bytes.len()) else {
            panic!("the journal has whole messages");
        };
        let field = |tag| {
            let mut fields = message.fields().filter_map(Result::ok);
            let found = fields.find(|field| field.tag == tag);
            found.map(|field| String::from_utf8_lossy(field.value).into_owned())
        };
        if message.msg_type() != b"8" {
            return;
        }
        let id = field(41).or(field(11)).expect("an order");
        let whole = |tag| field(tag).expect("a quantity").parse::<i64>();
        let (quantity, cum) = (whole(38).expect("units"), whole(14).expect("units"));
        let status = field(39).expect("a status");
        let is_end = matches!(status.as_str(), "4" | "8" | "C");
        let rest = quantity - cum;
        let leaves = whole(151);
        let is_wrong = match &leaves {
            _ if rest == 0 => false,
            _ if status == "2" => true,
            Ok(0) => false,
            Ok(leaves) => is_end || !(1..=rest).contains(leaves),
            Err(_) => true,
        };
        let is_settled = self.is_settled.entry(id.clone()).or_default();
        if is_wrong && !*is_settled {
            self.expected.push(id);
        }
        *is_settled |= is_wrong || is_end || rest == 0 || leaves == Ok(0);
    }
}

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
    // Exactly the reports that contradict are alarms, and their orders are disputed: no quantity is freed.
    let judged = Judged::of(&market.desk.path("fx/journal"));
    assert_eq!(judged.alarms, judged.expected);
    assert_eq!(judged.others, []);
    for order in &judged.alarms {
        assert_eq!(judged.states[order], OrderState::Disputed, "{order}");
    }
    let ledgers = market.ledgers();
    assert!(ledgers.contradictions() > 0, "no contradiction: no test");
    let (booked, _) = own["EUR/USD"];
    let theirs = ledgers.by_pair().of("EUR/USD");
    assert!((0..=theirs).contains(&booked), "{booked} of {theirs}");
}
