//! The subscriber's books against the exchange's.

use crate::paint::Paint;
use std::collections::BTreeMap;
use std::fmt::Write;
use touchline_feed::Venue;
use touchline_lab::picture::{BookRow, Level, OrderRow, OrdersRow, Picture};
use touchline_transport::Mirror;
use touchline_types::{self as types, BookKind, Instrument, Side, Validity};

/// How many books and order books were compared, and which of them differ.
#[derive(Debug)]
pub struct Comparison {
    books: usize,
    order_books: usize,
    books_wrong: Vec<String>,
    orders_wrong: Vec<String>,
}

/// Compares every book that the exchange has with the subscriber's.
pub fn compare(truth: &Picture, venue: &impl Venue, mirror: &Mirror) -> Comparison {
    let instruments = (0..venue.instruments() as u32).map(Instrument);
    let by_id: BTreeMap<i64, Instrument> = instruments
        .map(|instrument| (venue.definition(instrument).venue_id, instrument))
        .collect();
    let find = |id: i32| by_id.get(&i64::from(id)).copied();
    let wrong = |id: i32, symbol: &Option<String>, is_right: bool| {
        let name = || symbol.clone().unwrap_or_else(|| id.to_string());
        (!is_right).then(name)
    };
    let books_wrong = truth.books.iter().filter_map(|row| {
        let is_right = find(row.security_id).is_some_and(|found| is_book(row, found, mirror));
        wrong(row.security_id, &row.symbol, is_right)
    });
    let orders_wrong = truth.orders.iter().filter_map(|row| {
        let is_right = find(row.security_id).is_some_and(|found| are_orders(row, found, mirror));
        wrong(row.security_id, &row.symbol, is_right)
    });
    Comparison {
        books: truth.books.len(),
        order_books: truth.orders.len(),
        books_wrong: books_wrong.collect(),
        orders_wrong: orders_wrong.collect(),
    }
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_equal(&self) -> bool {
        self.books_wrong.is_empty() && self.orders_wrong.is_empty()
    }

    /// What differs, in a line.
    pub fn difference(&self) -> String {
        let (books, orders) = (self.books_wrong.join(", "), self.orders_wrong.join(", "));
        format!("the truth differs: books of [{books}], order books of [{orders}]")
    }

    /// The result, for a screen.
    pub fn describe(&self, paint: Paint) -> String {
        let mut text = format!("\n{}\n", paint.bold("Against the exchange's own books"));
        for (name, wrong, total) in [
            ("price books", &self.books_wrong, self.books),
            ("order books", &self.orders_wrong, self.order_books),
        ] {
            let equal = format!("{} of {total} {name} equal the truth", total - wrong.len());
            let _ = match wrong.is_empty() {
                true => writeln!(text, "  {}", paint.green(equal)),
                false => writeln!(text, "  {}: not {}", paint.red(equal), wrong.join(", ")),
            };
        }
        text
    }
}

const LISTS: [(BookKind, Side); 4] = [
    (BookKind::Direct, Side::Bid),
    (BookKind::Direct, Side::Ask),
    (BookKind::Implied, Side::Bid),
    (BookKind::Implied, Side::Ask),
];

fn is_book(truth: &BookRow, instrument: Instrument, mirror: &Mirror) -> bool {
    let expected = [
        &truth.bids,
        &truth.asks,
        &truth.implied_bids,
        &truth.implied_asks,
    ];
    let lists = LISTS.into_iter().zip(expected);
    let are_equal = lists.map(|((kind, side), expected)| {
        let book = mirror.book(instrument);
        let levels = book.map_or(&[][..], |book| book.levels(kind, side));
        levels
            .iter()
            .map(|level| seen(level, kind))
            .eq(expected.iter().copied())
    });
    are_equal.into_iter().all(|equal| equal) && mirror.validity(instrument) == Validity::Live
}

/// A level in the terms of the truth.
fn seen(level: &types::Level, kind: BookKind) -> Option<Level> {
    let orders = (kind == BookKind::Direct && level.orders >= 0).then(|| level.orders.into());
    level.known.then(|| Level {
        price: (!level.price.is_null()).then_some(level.price.0),
        quantity: (!level.quantity.is_null()).then_some(level.quantity.0),
        orders,
    })
}

fn are_orders(truth: &OrdersRow, instrument: Instrument, mirror: &Mirror) -> bool {
    let orders = |side| {
        let mut rows = Vec::new();
        mirror.orders().visit(instrument, side, |order| {
            rows.push(OrderRow {
                id: order.order_id,
                price: (!order.price.is_null()).then_some(order.price.0),
                quantity: (!order.quantity.is_null()).then_some(order.quantity.0),
            });
        });
        rows
    };
    orders(Side::Bid) == truth.bids
        && orders(Side::Ask) == truth.asks
        && mirror.orders_validity(instrument) == Validity::Live
}
