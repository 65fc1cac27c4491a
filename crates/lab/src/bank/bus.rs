//! A bank's bus as its gateway publishes it, for tests and benchmarks without a gateway: one pair, its definition, and its quotes.
//!
//! The caller has the publisher and the times; each function hands it what to publish.

use touchline_types::{
    ChannelState, Code, Depth, Instrument, InstrumentDefinition, Price, Quantity, Quote,
    QuoteAction, QuoteChange, QuoteSnapshot, QuoteStream, QuoteUpdate, Side, Symbol, Update,
    Validity,
};

/// A tick of EUR/USD, in the units of a bus.
pub const TICK: i64 = 10_000;
/// Spot date of the pair.
pub const SPOT: u32 = 20_260_107;

/// Definition of EUR/USD.
pub fn definition() -> InstrumentDefinition {
    let depth = Depth {
        direct: Depth::ALL,
        implied: 0,
    };
    let mut definition = InstrumentDefinition::unknown(Instrument(0), 1, depth);
    definition.symbol = Symbol::new(b"EUR/USD");
    definition.defined = true;
    definition
}

/// Stream of the bank's live quotes of the pair.
pub fn stream() -> QuoteStream {
    QuoteStream {
        instrument: Instrument(0),
        security_id: 1,
        provider: Code::lossy(b"LP"),
        value_date: SPOT,
        validity: Validity::Live,
        is_unquoted: false,
    }
}

/// The definition, and a session that is up.
pub fn announce(mut publish: impl FnMut(&Update<'_>)) {
    publish(&Update::Definition(&definition()));
    publish(&Update::Channel(&ChannelState::LIVE));
}

/// An ask, in ticks, and a bid 10 ticks below: a snapshot for a reader that joins, and a change.
pub fn quote(ask: i64, mut publish: impl FnMut(&Update<'_>)) {
    let side = |side, ticks: i64, entry| Quote {
        side,
        price: Price(ticks * TICK),
        quantity: Quantity(5_000_000),
        entry,
        ..Quote::NULL
    };
    let quotes = [side(Side::Bid, ask - 10, 1), side(Side::Ask, ask, 2)];
    let changes = quotes.map(|quote| QuoteChange {
        action: QuoteAction::Set,
        quote,
    });
    publish(&Update::QuoteSnapshot(QuoteSnapshot {
        stream: stream(),
        quotes: &quotes,
    }));
    publish(&Update::Quotes(QuoteUpdate {
        stream: stream(),
        changes: &changes,
    }));
}
