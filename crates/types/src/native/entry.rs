//! Entries of groups: values and encoding.

use super::layout::{self, Fields, Zeros};
use super::{Malformed, code};
use crate::{
    BookKind, Level, LevelAction, LevelChange, OrderAction, OrderChange, OrderRow, Price, Quantity,
    Side,
};
use core::fmt;

/// An entry of a group.
pub trait Entry: Fields {
    /// Value of the entry.
    type Value: Copy + fmt::Debug;

    /// Encoded value.
    fn of(value: &Self::Value) -> Self;

    /// Refuses undefined codes.
    fn check(&self) -> Result<(), Malformed>;

    /// Decoded value; undefined for an entry that [`check`](Self::check) refuses.
    fn value(&self) -> Self::Value;
}

impl Entry for layout::Level {
    type Value = Level;

    #[inline(always)]
    fn of(level: &Level) -> Self {
        layout::Level {
            price: level.price.0.into(),
            quantity: level.quantity.0.into(),
            orders: level.orders.into(),
            level_flags: unknown_flag(level.known),
            reserved: Zeros::NEW,
        }
    }

    #[inline(always)]
    fn check(&self) -> Result<(), Malformed> {
        Ok(())
    }

    #[inline(always)]
    fn value(&self) -> Level {
        Level {
            price: Price(self.price.get()),
            quantity: Quantity(self.quantity.get()),
            orders: self.orders.get(),
            known: self.level_flags & code::UNKNOWN == 0,
        }
    }
}

impl Entry for layout::LevelChange {
    type Value = LevelChange;

    #[inline(always)]
    fn of(change: &LevelChange) -> Self {
        let level = &change.level;
        let implied = if change.book == BookKind::Implied {
            code::IMPLIED
        } else {
            0
        };
        layout::LevelChange {
            price: level.price.0.into(),
            quantity: level.quantity.0.into(),
            orders: level.orders.into(),
            level_flags: unknown_flag(level.known) | implied,
            side: change.side as u8,
            action: change.action as u8,
            // A reader of version 0 has no list of this length, and refuses the step.
            index: change.index.min(u8::MAX.into()) as u8,
            deep_index: change.index.into(),
        }
    }

    #[inline(always)]
    fn check(&self) -> Result<(), Malformed> {
        if self.side > Side::Ask as u8 {
            return Err(Malformed::Value("side"));
        }
        if self.action > LevelAction::Clear as u8 {
            return Err(Malformed::Value("action"));
        }
        Ok(())
    }

    #[inline(always)]
    fn value(&self) -> LevelChange {
        LevelChange {
            level: Level {
                price: Price(self.price.get()),
                quantity: Quantity(self.quantity.get()),
                orders: self.orders.get(),
                known: self.level_flags & code::UNKNOWN == 0,
            },
            book: if self.level_flags & code::IMPLIED == 0 {
                BookKind::Direct
            } else {
                BookKind::Implied
            },
            side: Side::from_code(self.side).unwrap_or(Side::Bid),
            action: LevelAction::from_code(self.action).unwrap_or(LevelAction::Clear),
            // A writer of version 0 has only the first, and the second reads as 0.
            index: self.deep_index.get().max(self.index.into()),
        }
    }
}

impl Entry for layout::Order {
    type Value = OrderChange;

    #[inline(always)]
    fn of(order: &OrderChange) -> Self {
        layout::Order {
            order_id: order.order_id.into(),
            priority: order.priority.into(),
            price: order.price.0.into(),
            quantity: order.quantity.0.into(),
            side: order.side as u8,
            reserved: Zeros::NEW,
        }
    }

    #[inline(always)]
    fn check(&self) -> Result<(), Malformed> {
        if self.side > Side::Ask as u8 {
            return Err(Malformed::Value("side"));
        }
        Ok(())
    }

    #[inline(always)]
    fn value(&self) -> OrderChange {
        OrderChange {
            order_id: self.order_id.get(),
            priority: self.priority.get(),
            price: Price(self.price.get()),
            quantity: Quantity(self.quantity.get()),
            side: Side::from_code(self.side).unwrap_or(Side::Bid),
            action: OrderAction::New,
            row: OrderRow::NONE,
        }
    }
}

impl Entry for layout::OrderChange {
    type Value = OrderChange;

    #[inline(always)]
    fn of(order: &OrderChange) -> Self {
        layout::OrderChange {
            order_id: order.order_id.into(),
            priority: order.priority.into(),
            price: order.price.0.into(),
            quantity: order.quantity.0.into(),
            side: order.side as u8,
            action: order.action as u8,
            reserved: Zeros::NEW,
        }
    }

    #[inline(always)]
    fn check(&self) -> Result<(), Malformed> {
        if self.side > Side::Ask as u8 {
            return Err(Malformed::Value("side"));
        }
        if self.action > OrderAction::Delete as u8 {
            return Err(Malformed::Value("action"));
        }
        Ok(())
    }

    #[inline(always)]
    fn value(&self) -> OrderChange {
        OrderChange {
            order_id: self.order_id.get(),
            priority: self.priority.get(),
            price: Price(self.price.get()),
            quantity: Quantity(self.quantity.get()),
            side: Side::from_code(self.side).unwrap_or(Side::Bid),
            action: OrderAction::from_code(self.action).unwrap_or(OrderAction::Delete),
            row: OrderRow::NONE,
        }
    }
}

#[inline(always)]
const fn unknown_flag(known: bool) -> u8 {
    if known { 0 } else { code::UNKNOWN }
}
