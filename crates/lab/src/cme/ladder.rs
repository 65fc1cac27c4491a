//! Price levels as the venue publishes them: the top levels of an order book, and the updates between two states.

use super::market::Market;
use crate::picture::{Level, Side};
use crate::random::Random;

/// The published levels of one list, best first.
pub type Ladder = Vec<Rung>;

/// One price level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Price in units of 1e-9.
    pub price: i64,
    /// Contracts.
    pub quantity: i64,
    /// Number of orders; none for implied levels.
    pub orders: Option<i32>,
}

/// One of the four lists of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct List {
    /// The side.
    pub side: Side,
    /// Implied or direct.
    pub implied: bool,
}

/// One update of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelUpdate {
    /// CME's MDUpdateAction.
    pub action: u8,
    /// CME's MDPriceLevel, from 1.
    pub level: usize,
    /// The level after New, Change and Overlay; after the other actions, the deleted level or the last of the deleted
    /// ones.
    pub rung: Rung,
}

const NEW: u8 = 0;
const CHANGE: u8 = 1;
const DELETE: u8 = 2;
const DELETE_THRU: u8 = 3;
const DELETE_FROM: u8 = 4;
const OVERLAY: u8 = 5;

impl List {
    /// The four lists.
    pub const ALL: [Self; 4] = [
        Self {
            side: Side::Bid,
            implied: false,
        },
        Self {
            side: Side::Ask,
            implied: false,
        },
        Self {
            side: Side::Bid,
            implied: true,
        },
        Self {
            side: Side::Ask,
            implied: true,
        },
    ];

    /// CME's MDEntryType.
    pub fn entry_type(self) -> u8 {
        match (self.implied, self.side) {
            (false, Side::Bid) => b'0',
            (false, Side::Ask) => b'1',
            (true, Side::Bid) => b'E',
            (true, Side::Ask) => b'F',
        }
    }

    /// Index in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        usize::from(self.implied) * 2 + self.side as usize
    }

    /// The list of an MDEntryType that this generator encodes.
    pub fn of_entry_type(entry_type: u8) -> Self {
        *Self::ALL
            .iter()
            .find(|list| list.entry_type() == entry_type)
            .expect("only the four types of price levels are written")
    }

    /// The current list of the market, truncated to `depth`.
    pub fn of(self, market: &Market, depth: usize) -> Ladder {
        let mut ladder = self.full(market);
        ladder.truncate(depth);
        ladder
    }

    fn full(self, market: &Market) -> Ladder {
        if self.implied {
            let rung = |&(price, quantity)| Rung {
                price,
                quantity,
                orders: None,
            };
            return market.implied(self.side).iter().map(rung).collect();
        }
        let mut ladder: Ladder = Vec::new();
        for order in market.orders(self.side) {
            match ladder.last_mut().filter(|rung| rung.price == order.price) {
                Some(rung) => {
                    rung.quantity += order.quantity;
                    rung.orders = rung.orders.map(|count| count + 1);
                }
                None => ladder.push(Rung {
                    price: order.price,
                    quantity: order.quantity,
                    orders: Some(1),
                }),
            }
        }
        ladder
    }

    /// Updates from the published levels to the market's current ones, as CME sends them: a level beyond the depth is
    /// dropped without an update, a level that enters at the bottom is New.
    ///
    /// With `bulk`, DeleteThru, DeleteFrom and Overlay replace several entries where they apply.
    pub fn updates(
        self,
        published: &Ladder,
        market: &Market,
        depth: usize,
        bulk: Option<&mut Random>,
    ) -> Vec<LevelUpdate> {
        let full = self.full(market);
        let target = &full[..full.len().min(depth)];
        let mut now = published.clone();
        let mut updates = Vec::new();
        if let Some(random) = bulk.filter(|_| !now.is_empty()) {
            bulk_updates(&mut now, &full, target, random, &mut updates);
        }
        while let Some(index) = now
            .iter()
            .rposition(|rung| full.iter().all(|f| f.price != rung.price))
        {
            let rung = now.remove(index);
            updates.push(LevelUpdate {
                action: DELETE,
                level: index + 1,
                rung,
            });
        }
        for (index, &rung) in target.iter().enumerate() {
            if now.get(index).is_none_or(|old| old.price != rung.price) {
                now.insert(index, rung);
                now.truncate(depth);
                updates.push(LevelUpdate {
                    action: NEW,
                    level: index + 1,
                    rung,
                });
            } else if now[index] != rung {
                now[index] = rung;
                updates.push(LevelUpdate {
                    action: CHANGE,
                    level: index + 1,
                    rung,
                });
            }
        }
        debug_assert_eq!(now, target);
        updates
    }
}

/// Uses one of the three bulk actions, if one applies and the random number selects it.
fn bulk_updates(
    now: &mut Ladder,
    full: &Ladder,
    target: &[Rung],
    random: &mut Random,
    updates: &mut Vec<LevelUpdate>,
) {
    let gone = |rung: &Rung| full.iter().all(|f| f.price != rung.price);
    let thru = now.iter().take_while(|rung| gone(rung)).count();
    let from = now.iter().rev().take_while(|rung| gone(rung)).count();
    if thru > 1 && random.chance(0.7) {
        let rung = now[thru - 1];
        now.drain(..thru);
        updates.push(LevelUpdate {
            action: DELETE_THRU,
            level: thru,
            rung,
        });
    } else if from > 1 && random.chance(0.7) {
        let index = now.len() - from;
        let rung = now[index];
        now.truncate(index);
        updates.push(LevelUpdate {
            action: DELETE_FROM,
            level: index + 1,
            rung,
        });
    } else if now.len() == target.len() {
        let differing: Vec<usize> = (0..now.len())
            .filter(|&i| now[i].price != target[i].price)
            .collect();
        if let &[index] = differing.as_slice() {
            now[index] = target[index];
            updates.push(LevelUpdate {
                action: OVERLAY,
                level: index + 1,
                rung: target[index],
            });
        }
    }
}

impl LevelUpdate {
    /// Applies the update to a published list, as a subscriber does.
    pub fn apply(&self, ladder: &mut Ladder, depth: usize) {
        let index = self.level - 1;
        match self.action {
            NEW => {
                ladder.insert(index, self.rung);
                ladder.truncate(depth);
            }
            CHANGE | OVERLAY => ladder[index] = self.rung,
            DELETE => _ = ladder.remove(index),
            DELETE_THRU => _ = ladder.drain(..self.level),
            DELETE_FROM => ladder.truncate(index),
            other => unreachable!("this generator encodes no action {other}"),
        }
    }
}

impl From<Rung> for Level {
    fn from(rung: Rung) -> Self {
        Self {
            price: Some(rung.price),
            quantity: Some(rung.quantity),
            orders: rung.orders.map(i64::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cme::market::RestingOrder;

    const BIDS: List = List {
        side: Side::Bid,
        implied: false,
    };

    fn market(prices: &[i64]) -> Market {
        let mut market = Market::default();
        for (&price, id) in prices.iter().zip(1..) {
            market.enter(RestingOrder {
                id,
                side: Side::Bid,
                price,
                quantity: 1,
                priority: id,
            });
        }
        market
    }

    #[track_caller]
    fn check(before: &[i64], after: &[i64], expected: &[(u8, usize, i64)], bulk: Option<u64>) {
        let published = BIDS.of(&market(before), 3);
        let mut random = bulk.map(Random::from_seed);
        let updates = BIDS.updates(&published, &market(after), 3, random.as_mut());
        let short: Vec<_> = updates
            .iter()
            .map(|u| (u.action, u.level, u.rung.price))
            .collect();
        assert_eq!(short, expected);
    }

    #[test]
    fn updates_are_those_of_the_venue() {
        check(&[9, 8, 7], &[10, 9, 8, 7], &[(NEW, 1, 10)], None);
        check(
            &[9, 8, 7, 6],
            &[9, 7, 6],
            &[(DELETE, 2, 8), (NEW, 3, 6)],
            None,
        );
        check(&[9, 8, 7], &[9, 9, 8, 7], &[(CHANGE, 1, 9)], None);
        check(
            &[9, 8, 7],
            &[10, 9, 7],
            &[(DELETE, 2, 8), (NEW, 1, 10)],
            None,
        );
        check(
            &[9, 8, 7],
            &[],
            &[(DELETE, 3, 7), (DELETE, 2, 8), (DELETE, 1, 9)],
            None,
        );
        check(
            &[9, 8, 7],
            &[9, 6, 5],
            &[(DELETE, 3, 7), (DELETE, 2, 8), (NEW, 2, 6), (NEW, 3, 5)],
            None,
        );
    }

    #[test]
    fn bulk_deletes_are_used_where_the_venue_uses_them() {
        check(&[9, 8, 7], &[7], &[(DELETE_THRU, 2, 8)], Some(1));
        check(&[9, 8, 7], &[9], &[(DELETE_FROM, 2, 8)], Some(1));
        check(&[9, 7, 5], &[9, 6, 5], &[(OVERLAY, 2, 6)], Some(1));
    }
}
