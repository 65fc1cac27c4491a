//! Random quotes and orders with extreme values in every field, for tests of a publication of orders.

use crate::random::Random;
use crate::updates::{fixed_text, instrument, number, validity, word};
use touchline_types::{
    CancelAll, CancelOrder, ExecutionReport, ExecutionType, Limits, Liquidity, NewOrder,
    OrderMessage, OrderRejected, OrderRequest, OrderRoute, OrderState, OrderTerms, OrderType,
    Price, Quantity, Quote, QuoteAction, QuoteChange, QuoteStream, RejectCode, ReplaceOrder,
    RiskCheck, Side, TimeInForce,
};

/// Number of kinds of order message: [`order_of_kind`] takes 0 up to this.
pub const ORDER_KINDS: usize = 7;

/// Random message of a kind.
///
/// # Panics
/// The kind does not exist.
pub fn order_of_kind(random: &mut Random, kind: usize) -> OrderMessage {
    match kind {
        0 => OrderMessage::New(new_order(random)),
        1 => OrderMessage::Cancel(cancel_order(random)),
        2 => OrderMessage::Replace(replace_order(random)),
        3 => OrderMessage::CancelAll(cancel_all(random)),
        4 => OrderMessage::Report(execution_report(random)),
        5 => OrderMessage::Rejected(order_rejected(random)),
        6 => OrderMessage::Limits(limits(random)),
        _ => panic!("order message kind {kind} does not exist"),
    }
}

/// Random quote stream.
pub fn quote_stream(random: &mut Random) -> QuoteStream {
    QuoteStream {
        instrument: instrument(random),
        security_id: number(random),
        provider: fixed_text(random),
        value_date: word(random) as u32,
        validity: validity(random),
        is_unquoted: random.chance(0.5),
    }
}

/// Up to `max` quotes.
pub fn quotes(random: &mut Random, max: usize) -> Vec<Quote> {
    let count = random.index(max + 1);
    (0..count).map(|_| quote(random)).collect()
}

/// Up to `max` changes of quotes.
pub fn quote_changes(random: &mut Random, max: usize) -> Vec<QuoteChange> {
    const ACTIONS: [QuoteAction; 3] = [QuoteAction::Set, QuoteAction::Remove, QuoteAction::Clear];
    let count = random.index(max + 1);
    (0..count)
        .map(|_| QuoteChange {
            action: *random.pick(&ACTIONS),
            // A change was set by its message.
            quote: Quote {
                set_ns: 0,
                ..quote(random)
            },
        })
        .collect()
}

fn quote(random: &mut Random) -> Quote {
    Quote {
        entry: word(random) as u32,
        side: *random.pick(&Side::BOTH),
        price: Price(number(random)),
        quantity: Quantity(number(random)),
        quantity_min: Quantity(number(random)),
        expiry_ns: word(random),
        priority: word(random),
        set_ns: word(random),
        tier: small(random),
        is_indicative: random.chance(0.5),
        is_full_amount: random.chance(0.5),
        quote_id: fixed_text(random),
    }
}

fn route(random: &mut Random) -> OrderRoute {
    OrderRoute {
        instrument: random.chance(0.5).then(|| instrument(random)),
        security_id: Some(number(random)).filter(|id| *id != i64::MAX),
        venue: fixed_text(random),
        account: fixed_text(random),
    }
}

fn terms(random: &mut Random) -> OrderTerms {
    OrderTerms {
        side: *random.pick(&Side::BOTH),
        order_type: *random.pick(&[
            OrderType::Market,
            OrderType::Limit,
            OrderType::PreviouslyQuoted,
            OrderType::Stop,
            OrderType::StopLimit,
        ]),
        time_in_force: *random.pick(&[
            TimeInForce::Day,
            TimeInForce::ImmediateOrCancel,
            TimeInForce::FillOrKill,
            TimeInForce::GoodTillCancel,
            TimeInForce::GoodTillDate,
        ]),
        is_post_only: random.chance(0.5),
        is_reduce_only: random.chance(0.5),
        price: Price(number(random)),
        stop_price: Price(number(random)),
        quantity: Quantity(number(random)),
        quantity_min: Quantity(number(random)),
        quantity_shown: Quantity(number(random)),
        expiry_ns: word(random),
        value_date: word(random) as u32,
        currency: fixed_text(random),
    }
}

fn new_order(random: &mut Random) -> NewOrder {
    NewOrder {
        route: route(random),
        terms: terms(random),
        client_order_id: fixed_text(random),
        parent_order_id: fixed_text(random),
        quote_id: fixed_text(random),
        created_ns: word(random),
    }
}

fn cancel_order(random: &mut Random) -> CancelOrder {
    CancelOrder {
        route: route(random),
        side: *random.pick(&Side::BOTH),
        quantity: Quantity(number(random)),
        client_order_id: fixed_text(random),
        original_client_order_id: fixed_text(random),
        order_id: fixed_text(random),
        created_ns: word(random),
    }
}

fn replace_order(random: &mut Random) -> ReplaceOrder {
    ReplaceOrder {
        route: route(random),
        terms: terms(random),
        client_order_id: fixed_text(random),
        original_client_order_id: fixed_text(random),
        order_id: fixed_text(random),
        created_ns: word(random),
    }
}

fn cancel_all(random: &mut Random) -> CancelAll {
    CancelAll {
        route: route(random),
        side: *random.pick(&[None, Some(Side::Bid), Some(Side::Ask)]),
        is_kill: random.chance(0.5),
        client_order_id: fixed_text(random),
        requested_by: fixed_text(random),
        created_ns: word(random),
    }
}

fn execution_report(random: &mut Random) -> ExecutionReport {
    ExecutionReport {
        route: route(random),
        execution_type: *random.pick(ExecutionType::ALL),
        state: *random.pick(OrderState::ALL),
        side: *random.pick(&Side::BOTH),
        price: Price(number(random)),
        quantity: Quantity(number(random)),
        last_price: Price(number(random)),
        last_quantity: Quantity(number(random)),
        cumulative_quantity: Quantity(number(random)),
        leaves_quantity: Quantity(number(random)),
        average_price: Price(number(random)),
        value_date: word(random) as u32,
        reject_code: reject_code(random),
        venue_reject_code: small(random),
        liquidity: *random.pick(&[None, Some(Liquidity::Added), Some(Liquidity::Removed)]),
        is_possible_resend: random.chance(0.5),
        is_late: random.chance(0.5),
        is_last_of_list: random.chance(0.5),
        client_order_id: fixed_text(random),
        original_client_order_id: fixed_text(random),
        order_id: fixed_text(random),
        execution_id: fixed_text(random),
        execution_reference_id: fixed_text(random),
    }
}

fn order_rejected(random: &mut Random) -> OrderRejected {
    OrderRejected {
        route: route(random),
        request: *random.pick(OrderRequest::ALL),
        risk_check: random.chance(0.7).then(|| *random.pick(RiskCheck::ALL)),
        reject_code: reject_code(random),
        venue_reject_code: small(random),
        client_order_id: fixed_text(random),
        original_client_order_id: fixed_text(random),
        order_id: fixed_text(random),
        text: fixed_text(random),
    }
}

fn limits(random: &mut Random) -> Limits {
    let mut amount = || Some(number(random)).filter(|amount| *amount != i64::MAX);
    let [gross_max, gross, credit_max, credit_used] = [amount(), amount(), amount(), amount()];
    Limits {
        route: route(random),
        order_quantity_max: Quantity(number(random)),
        position_max: Quantity(number(random)),
        position: Quantity(number(random)),
        worst_long: Quantity(number(random)),
        worst_short: Quantity(number(random)),
        gross_max,
        gross,
        credit_max,
        credit_used,
        price_collar: Price(number(random)),
        orders_per_second_max: Some(word(random) as u32).filter(|rate| *rate != u32::MAX),
        is_killed: random.chance(0.5),
        is_disabled: random.chance(0.5),
        currency: fixed_text(random),
    }
}

fn reject_code(random: &mut Random) -> Option<RejectCode> {
    random.chance(0.7).then(|| *random.pick(RejectCode::ALL))
}

/// Any number except the null value.
fn small(random: &mut Random) -> Option<u16> {
    Some(word(random) as u16).filter(|code| *code != u16::MAX)
}
