//! A trading engine that is frozen by a signal while quotes flow.

use super::PAIRS;
use super::live::{end, publisher, start};
use super::scripted_bank::{ScriptedBank, value};
use crate::command::deribit::until;
use crate::command::{Desk, signal};
use std::time::{Duration, Instant};
use touchline_transport::Publish;
use touchline_transport::shm::{Publisher, Root};
use touchline_types::{
    Code, Instrument, Price, Quantity, Quote, QuoteSnapshot, QuoteStream, Side, Timestamps, Update,
    Validity,
};

/// Ticks of EUR/USD as the price of an update.
const TICK: i64 = 10_000;

/// The bank quotes around a mid, now.
fn quote(publisher: &mut Publisher, ask: i64) {
    let side = |side, ticks: i64| Quote {
        side,
        price: Price(ticks * TICK),
        quantity: Quantity(1_000_000),
        priority: 1,
        ..Quote::NULL
    };
    let snapshot = QuoteSnapshot {
        stream: QuoteStream {
            instrument: Instrument(0),
            security_id: 1,
            provider: Code::lossy(b"LP01"),
            value_date: 20_260_107,
            validity: Validity::Live,
            is_unquoted: false,
        },
        quotes: &[side(Side::Bid, ask - 20), side(Side::Ask, ask)],
    };
    publisher.publish(&Update::QuoteSnapshot(snapshot), &Timestamps::default());
    publisher.commit();
}
