//! Blotter: parents, orders, fills, positions, banks and alarms, from the lines of an engine.

use crate::follower::Line;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use touchline_fx::lines::LineKind;

/// Fills and alarms that are kept.
const LAST: usize = 50;
/// Ended parents that are kept.
const ENDED_MAX: usize = 50;

/// What is known of an engine.
#[derive(Debug, Clone, Default)]
pub struct Blotter {
    /// Positions by pair.
    pub pairs: BTreeMap<String, PairRow>,
    /// Parents, in order of arrival; of ended ones the last.
    pub parents: Vec<ParentRow>,
    /// Orders that may still be filled, by ClOrdID.
    pub orders: BTreeMap<String, OrderRow>,
    /// Banks by name.
    pub banks: BTreeMap<String, BankRow>,
    /// Last fills, as lines; the newest is the last.
    pub fills: VecDeque<Map<String, Value>>,
    /// Last alarms, as lines; the newest is the last.
    pub alarms: VecDeque<Map<String, Value>>,
    /// Who set the kill switch, while it is set.
    pub killed: Option<String>,
    /// Time of the last line.
    pub at_ns: u64,
    /// Number of fills.
    pub fill_count: u64,
    /// Scorecards by bank and pair, as lines.
    pub scores: BTreeMap<(String, String), String>,
}

/// A pair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairRow {
    /// Base units.
    pub position: i64,
    /// Term currency.
    pub cash: String,
    /// Worst cases.
    pub worst: [i64; 2],
    /// Profit at the mid, if there is one.
    pub pnl: Option<String>,
}

/// A parent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParentRow {
    /// Its name.
    pub id: String,
    /// Pair.
    pub pair: String,
    /// `buy` or `sell`.
    pub side: String,
    /// Units.
    pub quantity: i64,
    /// Worst price.
    pub limit: Option<String>,
    /// `working`, what it waits for, or why it has ended.
    pub state: String,
    /// Units filled.
    pub filled: i64,
    /// Whether it has ended.
    pub is_ended: bool,
}

/// An order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrderRow {
    /// Bank.
    pub bank: String,
    /// State.
    pub state: String,
    /// Units filled.
    pub cum: i64,
    /// Units that may still be filled.
    pub leaves: i64,
}

/// A bank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BankRow {
    /// Orders sent.
    pub orders: u64,
    /// Fills.
    pub fills: u64,
    /// Units filled.
    pub filled: i64,
    /// Rejects by code.
    pub rejects: BTreeMap<String, u64>,
    /// Orders that became unknown.
    pub unknown: u64,
    /// End of its last cool-down.
    pub cooling_until_ns: u64,
    /// Pairs that are disabled.
    pub disabled: Vec<String>,
}

/// A blotter for a screen: it also shows what the engine says after its journal failed, until the next run tells it again.
#[derive(Debug, Default)]
pub struct LiveBlotter {
    journaled: Blotter,
    /// With what the journal does not have.
    beyond: Option<Blotter>,
}

impl LiveBlotter {
    /// Takes a line.
    pub fn take(&mut self, line: Line<'_>) {
        let Line {
            kind,
            text,
            is_journaled,
        } = line;
        let is_composite = kind == LineKind::Composite;
        if is_journaled || is_composite {
            self.journaled.take(kind, text);
        }
        if !is_journaled {
            self.take_beyond(kind, text, is_composite);
        }
        if is_journaled {
            // Only the next run has journaled lines of a later time: the journal's files can have those of this run late.
            let at_ns = self.journaled.at_ns;
            self.beyond.take_if(|beyond| at_ns > beyond.at_ns);
        }
    }

    fn take_beyond(&mut self, kind: LineKind, text: &str, is_composite: bool) {
        if self.beyond.is_none() && !is_composite {
            self.beyond = Some(self.journaled.clone());
        }
        if let Some(beyond) = &mut self.beyond {
            beyond.take(kind, text);
        }
    }

    /// What is known now.
    pub fn now(&self) -> &Blotter {
        self.beyond.as_ref().unwrap_or(&self.journaled)
    }
}

impl Blotter {
    /// Takes a line.
    pub fn take(&mut self, kind: LineKind, text: &str) {
        let Ok(line) = serde_json::from_str::<Map<String, Value>>(text) else {
            return;
        };
        self.at_ns = line.get("t").and_then(Value::as_u64).unwrap_or(self.at_ns);
        match kind {
            LineKind::Decision => self.decision(&line),
            LineKind::Order => self.order(&line),
            LineKind::Fill => self.fill(line),
            LineKind::Position => self.position(&line),
            LineKind::Score => {
                let key = (word(&line, "bank"), word(&line, "pair"));
                self.scores.insert(key, text.to_owned());
            }
            LineKind::Parent => self.parent(&line),
            LineKind::Composite | LineKind::Answer => {}
        }
    }

    /// Quantity that may still be filled.
    pub fn out(&self) -> i64 {
        self.orders.values().map(|order| order.leaves).sum()
    }

    fn parent(&mut self, line: &Map<String, Value>) {
        self.parents.push(ParentRow {
            id: word(line, "id"),
            pair: word(line, "pair"),
            side: word(line, "side"),
            quantity: whole(line, "qty"),
            limit: line.get("limit").and_then(Value::as_str).map(str::to_owned),
            state: "working".to_owned(),
            ..ParentRow::default()
        });
        let ended = self.parents.iter().filter(|parent| parent.is_ended).count();
        if ended > ENDED_MAX
            && let Some(oldest) = self.parents.iter().position(|parent| parent.is_ended)
        {
            self.parents.remove(oldest);
        }
    }

    fn decision(&mut self, line: &Map<String, Value>) {
        let event = word(line, "event");
        let (bank, pair) = (word(line, "bank"), word(line, "pair"));
        match event.as_str() {
            "waits" => self.change_parent(line, |parent| {
                parent.state = format!("waits: {}", word(line, "reason"));
            }),
            "plan" => self.change_parent(line, |parent| parent.state = "working".to_owned()),
            "ended" => self.change_parent(line, |parent| {
                parent.state = word(line, "reason");
                parent.filled = whole(line, "filled");
                parent.is_ended = true;
            }),
            "settled" => self.change_parent(line, |parent| parent.filled = whole(line, "filled")),
            "cooldown" => {
                let until = line.get("until").and_then(Value::as_u64).unwrap_or(0);
                let row = self.banks.entry(bank).or_default();
                row.cooling_until_ns = row.cooling_until_ns.max(until);
            }
            "disabled" => self.banks.entry(bank).or_default().disabled.push(pair),
            "enabled" => {
                let row = self.banks.entry(bank).or_default();
                row.disabled.retain(|other| *other != pair);
            }
            "kill" => self.killed = Some(word(line, "by")),
            "lift" if line.get("killed") == Some(&Value::Bool(false)) => self.killed = None,
            "alarm" => push_last(&mut self.alarms, line.clone()),
            _ => {}
        }
    }

    fn change_parent(&mut self, line: &Map<String, Value>, change: impl FnOnce(&mut ParentRow)) {
        let id = word(line, "parent");
        let mut parents = self.parents.iter_mut().rev();
        if let Some(parent) = parents.find(|parent| parent.id == id) {
            change(parent);
        }
    }

    fn order(&mut self, line: &Map<String, Value>) {
        let (id, bank, event) = (
            word(line, "clordid"),
            word(line, "bank"),
            word(line, "event"),
        );
        let Some(state) = line.get("state").and_then(Value::as_str) else {
            return;
        };
        let row = self.banks.entry(bank.clone()).or_default();
        row.orders += u64::from(event == "journal");
        if let Some(code) = line.get("code").and_then(Value::as_str) {
            *row.rejects.entry(code.to_owned()).or_default() += 1;
        }
        let was_unknown = self
            .orders
            .get(&id)
            .is_some_and(|order| order.state == "unknown");
        row.unknown += u64::from(state == "unknown" && !was_unknown);
        if matches!(state, "filled" | "rejected" | "canceled" | "expired") {
            self.orders.remove(&id);
            return;
        }
        let order = OrderRow {
            bank,
            state: state.to_owned(),
            cum: whole(line, "cum"),
            leaves: whole(line, "leaves"),
        };
        self.orders.insert(id, order);
    }

    fn fill(&mut self, line: Map<String, Value>) {
        let kind = word(&line, "kind");
        self.fill_count += 1;
        // A late original names what was counted, and the desk's own bookings are of no order.
        if !matches!(kind.as_str(), "bust" | "correct" | "named" | "book") {
            let row = self.banks.entry(word(&line, "bank")).or_default();
            row.fills += 1;
            row.filled += whole(&line, "qty");
            let (id, quantity) = (word(&line, "parent"), whole(&line, "qty"));
            let mut parents = self.parents.iter_mut().rev();
            if let Some(parent) = parents.find(|parent| parent.id == id) {
                parent.filled += quantity;
            }
        }
        push_last(&mut self.fills, line);
    }

    fn position(&mut self, line: &Map<String, Value>) {
        let row = PairRow {
            position: whole(line, "position"),
            cash: word(line, "cash"),
            worst: [whole(line, "worst_long"), whole(line, "worst_short")],
            pnl: line.get("pnl").and_then(Value::as_str).map(str::to_owned),
        };
        self.pairs.insert(word(line, "pair"), row);
    }
}

fn push_last(rows: &mut VecDeque<Map<String, Value>>, row: Map<String, Value>) {
    if rows.len() == LAST {
        rows.pop_front();
    }
    rows.push_back(row);
}

fn word(line: &Map<String, Value>, key: &str) -> String {
    let text = line.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn whole(line: &Map<String, Value>, key: &str) -> i64 {
    line.get(key).and_then(Value::as_i64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parent, its order and its fill; a reject ends an order with its code; a kill is set until it is lifted.
    #[test]
    fn lines_become_rows() {
        let mut blotter = Blotter::default();
        for (kind, text) in [
            (
                LineKind::Parent,
                r#"{"op":"parent","id":"P1","pair":"EUR/USD","side":"buy","qty":2000,"limit":"1.1"}"#,
            ),
            (
                LineKind::Decision,
                r#"{"t":1,"event":"accepted","parent":"P1"}"#,
            ),
            (
                LineKind::Order,
                r#"{"t":1,"clordid":"T-P1-1","bank":"A","event":"journal","state":"sent","cum":0,"leaves":1000,"code":null,"fix":null}"#,
            ),
            (
                LineKind::Order,
                r#"{"t":1,"clordid":"T-P1-2","bank":"B","event":"journal","state":"sent","cum":0,"leaves":1000,"code":null,"fix":null}"#,
            ),
            (
                LineKind::Fill,
                r#"{"t":2,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X","kind":"fill","pair":"EUR/USD","side":"buy","qty":400,"price":"1.1"}"#,
            ),
            (
                LineKind::Position,
                r#"{"t":2,"pair":"EUR/USD","position":400,"cash":"-440","worst_long":2000,"worst_short":400,"mid":null,"pnl":null}"#,
            ),
            (
                LineKind::Order,
                r#"{"t":2,"clordid":"T-P1-1","bank":"A","event":"report","state":"partial","cum":400,"leaves":600,"code":null,"fix":null}"#,
            ),
            (
                LineKind::Order,
                r#"{"t":3,"clordid":"T-P1-2","bank":"B","event":"report","state":"rejected","cum":0,"leaves":0,"code":"A-1","fix":null}"#,
            ),
            (LineKind::Decision, r#"{"t":4,"event":"kill","by":"alice"}"#),
        ] {
            blotter.take(kind, text);
        }
        assert_eq!((blotter.parents[0].filled, blotter.out()), (400, 600));
        assert_eq!(blotter.banks["B"].rejects["A-1"], 1);
        assert_eq!(blotter.banks["A"].filled, 400);
        assert_eq!(blotter.pairs["EUR/USD"].position, 400);
        assert_eq!(blotter.killed.as_deref(), Some("alice"));
        blotter.take(
            LineKind::Decision,
            r#"{"t":5,"event":"lift","by":"bob","killed":true}"#,
        );
        assert!(blotter.killed.is_some());
        blotter.take(
            LineKind::Decision,
            r#"{"t":6,"event":"lift","by":"alice","killed":false}"#,
        );
        assert_eq!((blotter.killed, blotter.at_ns), (None, 6));
    }

    /// A late original is no further fill, and a booking of the desk is of no bank and no parent.
    #[test]
    fn late_originals_and_bookings_are_no_fills_of_a_bank() {
        let mut blotter = Blotter::default();
        for text in [
            r#"{"t":2,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"SX","kind":"status","pair":"EUR/USD","side":"buy","qty":400,"price":"1.1"}"#,
            r#"{"t":3,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X","kind":"named","pair":"EUR/USD","side":"buy","qty":400,"price":"1.1","ref":"SX"}"#,
            r#"{"t":4,"clordid":null,"parent":null,"bank":null,"exec_id":"B-open","kind":"book","pair":"EUR/USD","side":"buy","qty":500,"price":"1.1"}"#,
        ] {
            blotter.take(LineKind::Fill, text);
        }
        assert_eq!(
            (blotter.banks["A"].fills, blotter.banks["A"].filled),
            (1, 400)
        );
        assert_eq!((blotter.banks.len(), blotter.fills.len()), (1, 3));
    }

    /// A kill and a fill that the journal refused are on the screen, and the fill that the next run tells is not a second one.
    #[test]
    fn what_a_failed_journal_refused_is_shown_until_the_next_run_tells_it() {
        const FILL: &str = r#"{"t":2,"clordid":"T-P1-1","parent":"P1","bank":"A","exec_id":"X","kind":"fill","pair":"EUR/USD","side":"buy","qty":400,"price":"1.1"}"#;
        let mut blotter = LiveBlotter::default();
        let mut take = |kind, text, is_journaled| {
            blotter.take(Line {
                kind,
                text,
                is_journaled,
            });
            let now = blotter.now();
            (now.killed.clone(), now.fill_count, now.at_ns)
        };
        let killed = Some("auto:journal".to_owned());
        take(
            LineKind::Decision,
            r#"{"t":1,"event":"plan","parent":"P1"}"#,
            true,
        );
        take(
            LineKind::Decision,
            r#"{"t":1,"event":"kill","by":"auto:journal"}"#,
            false,
        );
        assert_eq!(take(LineKind::Fill, FILL, false), (killed.clone(), 1, 2));
        assert_eq!(
            take(LineKind::Composite, r#"{"t":3}"#, false),
            (killed.clone(), 1, 3)
        );
        // A line of this run that the files have late, then the next run: the fill, and what it does itself.
        let late = r#"{"t":1,"event":"waits","parent":"P1"}"#;
        assert_eq!(take(LineKind::Decision, late, true), (killed.clone(), 1, 3));
        assert_eq!(take(LineKind::Fill, FILL, true), (killed, 1, 3));
        let next = r#"{"t":4,"event":"plan","parent":"P2"}"#;
        assert_eq!(take(LineKind::Decision, next, true), (None, 1, 4));
    }
}
