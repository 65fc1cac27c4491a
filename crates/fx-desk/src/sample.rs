//! Entries for tests of several crates.

use crate::PublishedEntry;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{
    Event, FillLine, Message, Numbered, OrderEvent, OrderLine, OrderStatus,
};
use touchline_fx_events::labels::PairLabel;
use touchline_fx_events::orders::{FillKind, OrderState, RejectCode, Terms};
use touchline_fx_events::{Batch, Labels};
use touchline_types::{Id, Price, Side};

/// Two banks and a pair.
pub fn labels() -> Labels {
    Labels {
        prefix: Id::lossy(b"T"),
        account: Id::lossy(b"D1"),
        banks: vec!["A".to_owned(), "B".to_owned()],
        pairs: vec![PairLabel {
            symbol: "EUR/USD".to_owned(),
            base: Id::lossy(b"EUR"),
            precision: 5,
            sizes: Vec::new(),
        }],
    }
}

/// Passes an event to `take` as a published entry.
pub fn tell(at_ns: u64, event: &Event, is_journaled: bool, take: impl FnOnce(&PublishedEntry<'_>)) {
    take(&PublishedEntry {
        labels: &labels(),
        at_ns,
        entry: Entry::Event(event, 0),
        batch: &Batch::default(),
        is_journaled,
    });
}

/// A name.
pub fn id(text: &str) -> Id {
    Id::lossy(text.as_bytes())
}

/// A new order `T-P1-<number + 1>` of 3,000 units at 1.1.
pub fn sent(number: u32, bank: usize) -> Event {
    let terms = Terms {
        id: id(&format!("T-P1-{}", number + 1)),
        parent: 0,
        bank,
        pair: 0,
        side: Side::Bid,
        quantity: 3_000,
        price: 110_000,
        quote_id: None,
        is_fok: false,
        value_date: 20_260_107,
        sent_ns: 1,
        mid2_sent: None,
    };
    let Event::Order(line) = state((number, bank), OrderEvent::Sent, OrderState::Sent, 0, None)
    else {
        unreachable!("it is an event of an order");
    };
    Event::Order(OrderLine {
        message: Some(Message::Order(terms)),
        ..line
    })
}

/// The state of an order of 3,000 units.
pub fn state(
    (number, bank): (u32, usize),
    what: OrderEvent,
    state: OrderState,
    cum: i64,
    code: Option<RejectCode>,
) -> Event {
    let leaves = if state.is_end() { 0 } else { 3_000 - cum };
    Event::Order(OrderLine {
        id: Some(id(&format!("T-P1-{}", number + 1))),
        number: Some(number),
        bank,
        what,
        status: Some(OrderStatus { state, cum, leaves }),
        code,
        message: None,
    })
}

/// A fill of the first order by bank A.
pub fn fill(kind: FillKind, exec_id: &str, quantity: i64, price: i64) -> FillLine {
    FillLine {
        order: Some(Numbered {
            number: 0,
            id: id("T-P1-1"),
        }),
        parent: Some(id("P1")),
        bank: Some(0),
        exec_id: id(exec_id),
        kind,
        pair: 0,
        side: Side::Bid,
        quantity,
        price: Price(price),
        improve: Some(0),
        hold_ns: Some(1),
        is_late: false,
        settl_date: None,
        currency: None,
        part_of: None,
    }
}
