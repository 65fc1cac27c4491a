//! Expected books of an exchange: the final state in full, and a hash after each event.

mod checker;

pub use checker::{Checker, Verdict, Wrong};
pub use touchline_types::book_state::{BookState, NoState, hash, hash_of_orders};

use super::flow::Flow;
use super::ladder::List;
use super::market::{Market, RestingOrder};
use super::publisher::{Published, Publisher};
use crate::picture::{BookRow, Level, OrderRow, OrdersRow, Picture, Side, State};

/// Final state of a subscriber without losses.
pub(super) fn picture(publisher: &Publisher, flow: &Flow) -> Picture {
    let mut expected_books = Picture {
        tops: flow.tops.clone(),
        ..Picture::default()
    };
    let rows = publisher.instruments.iter().zip(&publisher.published);
    for ((instrument, published), market) in rows.zip(&flow.markets) {
        let levels = |list: List| {
            let depth = if list.implied {
                instrument.implied_depth()
            } else {
                instrument.depth()
            };
            let ladder = list.of(market, depth);
            ladder.into_iter().map(|rung| Some(rung.into())).collect()
        };
        let symbol = Some(instrument.symbol.clone());
        expected_books.orders.push(OrdersRow {
            security_id: instrument.security_id,
            symbol: symbol.clone(),
            state: State::Live,
            bids: orders(market, Side::Bid),
            asks: orders(market, Side::Ask),
        });
        expected_books.books.push(book(
            instrument.security_id,
            symbol,
            published,
            List::ALL.map(levels),
        ));
    }
    expected_books
}

fn orders(market: &Market, side: Side) -> Vec<OrderRow> {
    let row = |order: &RestingOrder| OrderRow {
        id: order.id,
        price: Some(order.price),
        quantity: Some(order.quantity),
    };
    market.orders(side).iter().map(row).collect()
}

fn book(
    security_id: i32,
    symbol: Option<String>,
    published: &Published,
    [bids, asks, implied_bids, implied_asks]: [Vec<Option<Level>>; 4],
) -> BookRow {
    BookRow {
        security_id,
        symbol,
        state: State::Live,
        last_rpt_seq: published.rpt_seq,
        bids,
        asks,
        implied_bids,
        implied_asks,
    }
}
