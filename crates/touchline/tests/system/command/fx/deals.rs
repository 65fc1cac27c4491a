//! Orders in the books of simulated banks, by parent: the traded quantity of each, and the quantity that the desk wanted.

use crate::command::Desk;
use serde_json::Value;
use std::collections::BTreeMap;

/// Smallest quantity that is traded, units.
const LOT: i64 = 1_000;

/// An order in the books of a bank.
#[derive(Debug, Clone)]
pub struct Deal {
    /// ClOrdID.
    pub id: String,
    pub quantity: i64,
    pub cum: i64,
    /// Units of `cum` that the bank traded after it had reported the end of the order.
    after_end: i64,
}

impl Deal {
    /// The parent in the ClOrdID: prefix, parent, number.
    fn parent(&self) -> &str {
        self.id.split('-').nth(1).expect("a ClOrdID of the engine")
    }
}

/// The orders of a bank as they arrived, from the folder in which banks keep their books.
pub fn deals(desk: &Desk, folder: &str, bank: &str) -> Vec<Deal> {
    let text = desk.read(&format!("{folder}/{bank}.jsonl"));
    let mut orders = BTreeMap::new();
    // The last line may be half written.
    let lines = text.lines().map(serde_json::from_str::<Value>);
    for record in lines.filter_map(Result::ok) {
        if let Some([place, order]) = record["Order"].as_array().map(Vec::as_slice) {
            let whole = |key: &str| order[key].as_i64().expect(key);
            let deal = Deal {
                id: order["id"].as_str().expect("a name").to_owned(),
                quantity: whole("quantity"),
                cum: whole("cum"),
                after_end: whole("after_end"),
            };
            orders.insert(place.as_u64(), deal);
        }
    }
    orders.into_values().collect()
}

/// The orders of all banks, and the quantity of each parent that the desk sent.
#[derive(Debug, Clone)]
pub struct Traded {
    deals: Vec<Deal>,
    wanted: BTreeMap<String, i64>,
}

impl Traded {
    pub fn new(deals: Vec<Deal>, wanted: BTreeMap<String, i64>) -> Traded {
        Traded { deals, wanted }
    }

    /// Units by parent. A fill that follows the end which its bank reported is not among them: the engine has sent the
    /// quantity elsewhere by then, as it may.
    fn by_parent(&self) -> BTreeMap<&str, i64> {
        let mut units = BTreeMap::new();
        for deal in &self.deals {
            *units.entry(deal.parent()).or_default() += deal.cum - deal.after_end;
        }
        units
    }

    /// Checks that no more was traded of a parent than the desk wanted: not twice at one bank, and at another bank only the quantity that
    /// the first had refused.
    pub fn judge(&self) -> Result<(), String> {
        for (parent, units) in self.by_parent() {
            let wanted = self.wanted.get(parent).copied().unwrap_or(0);
            if units > wanted {
                return Err(format!("parent {parent}: {units} were traded of {wanted}"));
            }
        }
        Ok(())
    }

    /// Books that are wrong: of one parent, as an order of another bank, a lot more was traded than the desk wanted.
    pub fn overfilled(&self) -> Traded {
        let (parent, units) = self.by_parent().pop_first().expect("a parent with orders");
        let left = self.wanted[parent] - units;
        let more = Deal {
            id: format!("T-{parent}-999"),
            quantity: left + LOT,
            cum: left + LOT,
            after_end: 0,
        };
        let mut other = self.clone();
        other.deals.push(more);
        other
    }
}
