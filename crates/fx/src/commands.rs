//! Commands of the desk by the numbers of the run: names are looked up, prices and quantities checked.

use crate::desk_trades::NAME_MAX;
use crate::setup::{PARENT_ID_MAX, Setup};
use thiserror::Error;
use touchline_fx_events::command::{Booking, Command, Order};
use touchline_fx_events::desk::DeskTrade;
use touchline_fx_events::desk::{Desk, ParentRequest};
use touchline_fx_events::parents::{Lifetime, ParentTerms};
use touchline_fx_events::setup::Pair;
use touchline_fx_events::ticks;
use touchline_types::Id;

/// Why the terms of a parent are invalid: the field, its value, and the permitted values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadOrder {
    /// Name of the parent.
    #[error("id: 1 to {PARENT_ID_MAX} bytes of printable text are required")]
    Id,
    /// A pair that is not configured.
    #[error("pair {given:?} is not configured; the pairs are {configured}", given = given.as_str())]
    Pair {
        /// Symbol as received.
        given: Id,
        /// Symbols of the configuration.
        configured: String,
    },
    /// The quantity is not a positive number of units that can be traded.
    #[error("quantity {0} is not a whole number of base units from 1 to {max}", max = ticks::QUANTITY_MAX)]
    Quantity(i64),
    /// The quantity is not a multiple of the pair's lot.
    #[error("quantity {given} is not a multiple of {lot}, the lot of {symbol}")]
    Lot {
        /// Quantity as received.
        given: i64,
        /// Base units.
        lot: i64,
        /// Pair.
        symbol: String,
    },
    /// The limit is not a price of the pair.
    #[error("limit {given:?} is not a positive price of {symbol}: its tick is {tick}", given = given.as_str())]
    Limit {
        /// Limit as received.
        given: Id,
        /// Pair.
        symbol: String,
        /// Tick as a decimal.
        tick: String,
    },
    /// The value is not an urgency.
    #[error("urgency {0}: give 0, 1 or 2")]
    Urgency(u8),
}

/// The command for the core, with the numbers of the run instead of names; the caller adds the person. `None`: the
/// command is for a standby. Invalid terms of a parent are `None`.
pub fn desk(setup: &Setup, command: &Command) -> Option<Desk> {
    Some(match command {
        Command::Parent(order) => Desk::Parent(ParentRequest {
            id: Some(order.id),
            terms: terms(setup, order).ok(),
        }),
        Command::Cancel { id } => Desk::Cancel { id: Some(*id) },
        Command::Kill => Desk::Kill { by: None },
        Command::Lift => Desk::Lift { by: None },
        Command::Enable { bank, pair } => {
            let bank = setup.bank(bank.as_str());
            Desk::Enable {
                bank,
                pair: bank.and_then(|bank| setup.pair_of(bank, pair.as_str().as_bytes())),
            }
        }
        Command::Resolve { order, cum, price } => Desk::Resolve {
            id: Some(*order),
            cum: Some(*cum),
            price: *price,
        },
        Command::Book(booking) => Desk::Book {
            id: Some(booking.id),
            by: None,
            trade: trade(setup, booking),
        },
        Command::Promote | Command::Standby => return None,
    })
}

/// The terms of a parent.
///
/// # Errors
/// The first mistake in the order.
pub fn terms(setup: &Setup, order: &Order) -> Result<ParentTerms, BadOrder> {
    if !(1..=PARENT_ID_MAX).contains(&order.id.as_str().len()) {
        return Err(BadOrder::Id);
    }
    let pair = setup.pair(order.pair.as_str());
    let pair = pair.ok_or_else(|| BadOrder::Pair {
        given: order.pair,
        configured: symbols(setup),
    })?;
    let config = &setup.pairs[pair].config;
    if !(1..=ticks::QUANTITY_MAX).contains(&order.quantity) {
        return Err(BadOrder::Quantity(order.quantity));
    }
    if order.quantity % config.lot != 0 {
        return Err(BadOrder::Lot {
            given: order.quantity,
            lot: config.lot,
            symbol: config.symbol.clone(),
        });
    }
    let limit = order.limit.map(|given| limit(setup, pair, given));
    let deadline_ms = match order.lifetime {
        Lifetime::Deadline => order.deadline_ms,
        Lifetime::Immediate | Lifetime::AllOrNothing => 0,
    };
    Ok(ParentTerms {
        id: order.id,
        pair,
        side: order.side,
        quantity: order.quantity,
        limit: limit.transpose()?,
        lifetime: order.lifetime,
        deadline_ms,
        urgency: match order.urgency {
            urgency @ 0..=2 => usize::from(urgency),
            given => return Err(BadOrder::Urgency(given)),
        },
        style: order.style,
        partial: order.partial,
    })
}

/// A limit in ticks of the pair.
fn limit(setup: &Setup, pair: Pair, given: Id) -> Result<i64, BadOrder> {
    let config = &setup.pairs[pair].config;
    let price = ticks::price(given.as_str().as_bytes(), config.precision);
    price.ok_or_else(|| BadOrder::Limit {
        given,
        symbol: config.symbol.clone(),
        tick: ticks::text(1, u32::from(config.precision)),
    })
}

fn symbols(setup: &Setup) -> String {
    let symbols = setup.pairs.iter().map(|pair| pair.config.symbol.as_str());
    symbols.collect::<Vec<_>>().join(", ")
}

/// A booking without an order; none if invalid.
pub fn trade(setup: &Setup, booking: &Booking) -> Option<DeskTrade> {
    let value_date = booking.value_date.as_str();
    let is_date = value_date.len() == 8 && value_date.bytes().all(|byte| byte.is_ascii_digit());
    let is_valid = is_date
        && (1..=NAME_MAX).contains(&booking.id.as_str().len())
        && (1..=ticks::QUANTITY_MAX).contains(&booking.quantity);
    if !is_valid {
        return None;
    }
    Some(DeskTrade {
        id: booking.id,
        pair: setup.pair(booking.pair.as_str())?,
        side: booking.side,
        quantity: booking.quantity,
        price: ticks::traded(booking.price.as_str().as_bytes())?,
        bank: match booking.bank {
            None => None,
            Some(name) => Some(setup.bank(name.as_str())?),
        },
        value_date: booking.value_date,
    })
}
