//! Reports that contradict themselves or their order. The desk's books are right after each of them: a client must notice each one
//! that would make its own books wrong.

use super::answers::{Answer, Fields};
use super::order::Order;
use crate::random::Random;

/// A report that is to contradict itself.
pub struct Report<'a> {
    pub order: &'a Order,
    pub answer: &'a Answer<'a>,
    pub precision: u8,
    /// ExecID of the last trade of any order.
    pub last_exec_id: &'a str,
}

impl Report<'_> {
    /// Changes the field of this tag. False if the report has none that could contradict: reversals, answers to a mass status, fields
    /// of a trade elsewhere.
    pub fn contradict(&self, tag: u32, fields: &mut Fields, random: &mut Random) -> bool {
        let is_trade = match self.answer {
            Answer::Fill { .. } => true,
            Answer::State
            | Answer::Reject { .. }
            | Answer::Canceled { .. }
            | Answer::Status { mass: None, .. } => false,
            _ => return false,
        };
        let order = self.order;
        let left = order.quantity - order.cum;
        let value = match tag {
            14 => self.cum_qty(is_trade, random),
            17 if is_trade => match random.chance(0.5) && !self.last_exec_id.is_empty() {
                true => Some(self.last_exec_id.to_owned()),
                false => None,
            },
            31 if is_trade => self.last_px(random),
            32 if is_trade => {
                let Answer::Fill { quantity, .. } = self.answer else {
                    return false;
                };
                random
                    .chance(0.7)
                    .then(|| random.pick(&[0, -quantity, quantity + 1_000]).to_string())
            }
            38 => Some((order.quantity + 1_000).to_string()),
            // Filled with a rest, or an end with a rest that is open.
            39 if left > 0 && order.ended_ns.is_none() => {
                Some((*random.pick(&["2", "4", "8", "C"])).to_owned())
            }
            39 if left > 0 => Some("2".to_owned()),
            39 => Some((*random.pick(&["0", "1", "4"])).to_owned()),
            64 => Some("20270101".to_owned()),
            151 if order.ended_ns.is_some() => Some("1000".to_owned()),
            // More than is open, negative, or out of range.
            151 => Some(match random.below(4) {
                0 => "-1000".to_owned(),
                1 => "99999999999999999999".to_owned(),
                _ => (left + 1_000).to_string(),
            }),
            _ => return false,
        };
        set(fields, tag, value);
        true
    }

    /// Too small for a trade, or beyond the order.
    fn cum_qty(&self, is_trade: bool, random: &mut Random) -> Option<String> {
        let order = self.order;
        let beyond = Some((order.quantity + 1_000).to_string());
        let Answer::Fill { quantity, .. } = self.answer else {
            return beyond;
        };
        match random.below(4) {
            _ if !is_trade => beyond,
            0 => Some("0".to_owned()),
            1 => Some((order.cum - quantity).to_string()),
            2 => None,
            _ => beyond,
        }
    }

    /// Worse than the order's price by a part of a tick or more, or no price.
    fn last_px(&self, random: &mut Random) -> Option<String> {
        match random.below(4) {
            0 => Some("0".to_owned()),
            1 => Some("n/a".to_owned()),
            2 => None,
            _ => {
                // Tenths of a tick.
                let away = 1 + random.below(50) as i64;
                let tenths = match self.order.is_buy {
                    true => 10 * self.order.price + away,
                    false => 10 * self.order.price - away,
                };
                let scale = 10_i64.pow(u32::from(self.precision) + 1);
                let width = usize::from(self.precision) + 1;
                Some(format!("{}.{:0width$}", tenths / scale, tenths % scale))
            }
        }
    }
}

/// Sets a field, or removes it.
fn set(fields: &mut Fields, tag: u32, value: Option<String>) {
    fields.retain(|(other, _)| *other != tag);
    fields.extend(value.map(|value| (tag, value)));
}
