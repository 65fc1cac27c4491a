//! Orders, reports and limits, into bytes and out of them.

use super::definition::{NO_SECURITY_ID, text};
use super::encode::{NO_INSTRUMENT, Tag, write};
use super::layout::{self, Block, Head, Text, Zeros};
use super::message::Source;
use super::{Flags, Malformed, code};
use crate::{
    CancelAll, CancelOrder, ExecutionReport, ExecutionType, Instrument, Limits, Liquidity,
    NewOrder, OrderMessage, OrderRejected, OrderRequest, OrderRoute, OrderState, OrderTerms,
    OrderType, Price, Quantity, RejectCode, ReplaceOrder, RiskCheck, Side, TimeInForce, Timestamps,
};

/// An order, a report or limits in a message.
#[derive(Clone, Copy, Debug)]
pub enum OrderView<'a> {
    /// A new order.
    New(&'a layout::NewOrder),
    /// The request to cancel an order.
    Cancel(&'a layout::CancelOrder),
    /// The request to change the terms of an order.
    Replace(&'a layout::ReplaceOrder),
    /// The request to cancel every order that fits.
    CancelAll(&'a layout::CancelAll),
    /// Execution report: state of an order.
    Report(&'a layout::ExecutionReport),
    /// A request was refused.
    Rejected(&'a layout::OrderRejected),
    /// Limits in force.
    Limits(&'a layout::Limits),
}

impl<'a> OrderView<'a> {
    /// Checks a message of an order; `None` for one of another template.
    pub(super) fn parse(source: &Source<'a>) -> Result<Option<OrderView<'a>>, Malformed> {
        let view = match source.template_id {
            layout::NewOrder::TEMPLATE_ID => OrderView::New(source.block()?),
            layout::CancelOrder::TEMPLATE_ID => OrderView::Cancel(source.block()?),
            layout::ReplaceOrder::TEMPLATE_ID => OrderView::Replace(source.block()?),
            layout::CancelAll::TEMPLATE_ID => OrderView::CancelAll(source.block()?),
            layout::ExecutionReport::TEMPLATE_ID => OrderView::Report(source.block()?),
            layout::OrderRejected::TEMPLATE_ID => OrderView::Rejected(source.block()?),
            layout::Limits::TEMPLATE_ID => OrderView::Limits(source.block()?),
            _ => return Ok(None),
        };
        view.read()?;
        Ok(Some(view))
    }

    /// Its contents.
    pub fn value(&self) -> OrderMessage {
        self.read()
            .expect("an order is checked when its message is parsed")
    }

    fn read(&self) -> Result<OrderMessage, Malformed> {
        Ok(match self {
            OrderView::New(block) => OrderMessage::New(new_order(block)?),
            OrderView::Cancel(block) => OrderMessage::Cancel(cancel_order(block)?),
            OrderView::Replace(block) => OrderMessage::Replace(replace_order(block)?),
            OrderView::CancelAll(block) => OrderMessage::CancelAll(cancel_all(block)?),
            OrderView::Report(block) => OrderMessage::Report(execution_report(block)?),
            OrderView::Rejected(block) => OrderMessage::Rejected(order_rejected(block)?),
            OrderView::Limits(block) => OrderMessage::Limits(limits(block)?),
        })
    }
}

/// Writes an order, a report or limits as one message to the start of `out` and gives its length. As
/// [`encode`](super::encode()); of `timestamps` it takes the times of the venue and of receipt alone.
pub fn encode_order(
    message: &OrderMessage,
    sequence: u64,
    flags: Flags,
    timestamps: &Timestamps,
    out: &mut [u8],
) -> Option<usize> {
    let tag = &Tag::new(sequence, flags.only(Flags::OF_PUBLISHER), timestamps);
    match message {
        OrderMessage::New(order) => write(new_order_block(order, tag), out),
        OrderMessage::Cancel(order) => write(cancel_order_block(order, tag), out),
        OrderMessage::Replace(order) => write(replace_order_block(order, tag), out),
        OrderMessage::CancelAll(request) => write(cancel_all_block(request, tag), out),
        OrderMessage::Report(report) => write(execution_report_block(report, tag), out),
        OrderMessage::Rejected(rejected) => write(order_rejected_block(rejected, tag), out),
        OrderMessage::Limits(limits) => write(limits_block(limits, tag), out),
    }
}

/// Head and place of every message of an order.
fn head(route: &OrderRoute, tag: &Tag<'_>) -> (Head, layout::Route) {
    let instrument = route.instrument.unwrap_or(NO_INSTRUMENT);
    let place = layout::Route {
        security_id: route.security_id.unwrap_or(NO_SECURITY_ID).into(),
        venue_name: Text(route.venue.bytes()),
        account: Text(route.account.bytes()),
    };
    (tag.head(instrument, None, Flags::NONE), place)
}

fn route(head: &Head, route: &layout::Route) -> Result<OrderRoute, Malformed> {
    let instrument = Instrument(head.instrument.get());
    let security_id = route.security_id.get();
    Ok(OrderRoute {
        instrument: (instrument != NO_INSTRUMENT).then_some(instrument),
        security_id: (security_id != NO_SECURITY_ID).then_some(security_id),
        venue: text(&route.venue_name, "venueName")?,
        account: text(&route.account, "account")?,
    })
}

fn terms_block(terms: &OrderTerms, created_ns: u64) -> layout::Terms {
    layout::Terms {
        price: terms.price.0.into(),
        stop_price: terms.stop_price.0.into(),
        quantity: terms.quantity.0.into(),
        quantity_min: terms.quantity_min.0.into(),
        quantity_shown: terms.quantity_shown.0.into(),
        expiry_ns: terms.expiry_ns.into(),
        currency: Text(terms.currency.bytes()),
        value_date: terms.value_date.into(),
        side: terms.side as u8,
        order_type: terms.order_type as u8,
        time_in_force: terms.time_in_force as u8,
        order_flags: bit(terms.is_post_only, code::POST_ONLY)
            | bit(terms.is_reduce_only, code::REDUCE_ONLY),
        created_ns: created_ns.into(),
    }
}

fn terms(terms: &layout::Terms) -> Result<OrderTerms, Malformed> {
    Ok(OrderTerms {
        side: required(terms.side, Side::from_code, "side")?,
        order_type: required(terms.order_type, OrderType::from_code, "orderType")?,
        time_in_force: required(terms.time_in_force, TimeInForce::from_code, "timeInForce")?,
        is_post_only: terms.order_flags & code::POST_ONLY != 0,
        is_reduce_only: terms.order_flags & code::REDUCE_ONLY != 0,
        price: Price(terms.price.get()),
        stop_price: Price(terms.stop_price.get()),
        quantity: Quantity(terms.quantity.get()),
        quantity_min: Quantity(terms.quantity_min.get()),
        quantity_shown: Quantity(terms.quantity_shown.get()),
        expiry_ns: terms.expiry_ns.get(),
        value_date: terms.value_date.get(),
        currency: text(&terms.currency, "currency")?,
    })
}

fn new_order_block(order: &NewOrder, tag: &Tag<'_>) -> layout::NewOrder {
    let (head, route) = head(&order.route, tag);
    layout::NewOrder {
        head,
        reserved: Zeros::NEW,
        route,
        terms: terms_block(&order.terms, order.created_ns),
        client_order_id: Text(order.client_order_id.bytes()),
        parent_order_id: Text(order.parent_order_id.bytes()),
        quote_id: Text(order.quote_id.bytes()),
    }
}

fn new_order(block: &layout::NewOrder) -> Result<NewOrder, Malformed> {
    Ok(NewOrder {
        route: route(&block.head, &block.route)?,
        terms: terms(&block.terms)?,
        client_order_id: text(&block.client_order_id, "clientOrderId")?,
        parent_order_id: text(&block.parent_order_id, "parentOrderId")?,
        quote_id: text(&block.quote_id, "quoteId")?,
        created_ns: block.terms.created_ns.get(),
    })
}

fn cancel_order_block(order: &CancelOrder, tag: &Tag<'_>) -> layout::CancelOrder {
    let (head, route) = head(&order.route, tag);
    layout::CancelOrder {
        head,
        reserved: Zeros::NEW,
        route,
        quantity: order.quantity.0.into(),
        created_ns: order.created_ns.into(),
        client_order_id: Text(order.client_order_id.bytes()),
        original_client_order_id: Text(order.original_client_order_id.bytes()),
        order_id: Text(order.order_id.bytes()),
        side: order.side as u8,
        reserved2: Zeros::NEW,
    }
}

fn cancel_order(block: &layout::CancelOrder) -> Result<CancelOrder, Malformed> {
    Ok(CancelOrder {
        route: route(&block.head, &block.route)?,
        side: required(block.side, Side::from_code, "side")?,
        quantity: Quantity(block.quantity.get()),
        client_order_id: text(&block.client_order_id, "clientOrderId")?,
        original_client_order_id: text(&block.original_client_order_id, "originalClientOrderId")?,
        order_id: text(&block.order_id, "orderId")?,
        created_ns: block.created_ns.get(),
    })
}

fn replace_order_block(order: &ReplaceOrder, tag: &Tag<'_>) -> layout::ReplaceOrder {
    let (head, route) = head(&order.route, tag);
    layout::ReplaceOrder {
        head,
        reserved: Zeros::NEW,
        route,
        terms: terms_block(&order.terms, order.created_ns),
        client_order_id: Text(order.client_order_id.bytes()),
        original_client_order_id: Text(order.original_client_order_id.bytes()),
        order_id: Text(order.order_id.bytes()),
    }
}

fn replace_order(block: &layout::ReplaceOrder) -> Result<ReplaceOrder, Malformed> {
    Ok(ReplaceOrder {
        route: route(&block.head, &block.route)?,
        terms: terms(&block.terms)?,
        client_order_id: text(&block.client_order_id, "clientOrderId")?,
        original_client_order_id: text(&block.original_client_order_id, "originalClientOrderId")?,
        order_id: text(&block.order_id, "orderId")?,
        created_ns: block.terms.created_ns.get(),
    })
}

fn cancel_all_block(request: &CancelAll, tag: &Tag<'_>) -> layout::CancelAll {
    let (head, route) = head(&request.route, tag);
    layout::CancelAll {
        head,
        reserved: Zeros::NEW,
        route,
        created_ns: request.created_ns.into(),
        client_order_id: Text(request.client_order_id.bytes()),
        requested_by: Text(request.requested_by.bytes()),
        side: request.side.map_or(code::NULL, |side| side as u8),
        kill: u8::from(request.is_kill),
        reserved2: Zeros::NEW,
    }
}

fn cancel_all(block: &layout::CancelAll) -> Result<CancelAll, Malformed> {
    if block.kill > 1 {
        return Err(Malformed::Value("kill"));
    }
    Ok(CancelAll {
        route: route(&block.head, &block.route)?,
        side: optional(block.side, Side::from_code, "side")?,
        is_kill: block.kill != 0,
        client_order_id: text(&block.client_order_id, "clientOrderId")?,
        requested_by: text(&block.requested_by, "requestedBy")?,
        created_ns: block.created_ns.get(),
    })
}

fn execution_report_block(report: &ExecutionReport, tag: &Tag<'_>) -> layout::ExecutionReport {
    let (head, route) = head(&report.route, tag);
    layout::ExecutionReport {
        head,
        reserved: Zeros::NEW,
        route,
        price: report.price.0.into(),
        quantity: report.quantity.0.into(),
        last_price: report.last_price.0.into(),
        last_quantity: report.last_quantity.0.into(),
        cumulative_quantity: report.cumulative_quantity.0.into(),
        leaves_quantity: report.leaves_quantity.0.into(),
        average_price: report.average_price.0.into(),
        value_date: report.value_date.into(),
        venue_reject_code: report.venue_reject_code.unwrap_or(NO_VENUE_CODE).into(),
        side: report.side as u8,
        execution_type: report.execution_type as u8,
        order_state: report.state as u8,
        reject_code: report.reject_code.map_or(code::NULL, |reason| reason as u8),
        liquidity: report
            .liquidity
            .map_or(code::NULL, |liquidity| liquidity as u8),
        report_flags: bit(report.is_possible_resend, code::POSSIBLE_RESEND)
            | bit(report.is_late, code::LATE)
            | bit(report.is_last_of_list, code::LAST_OF_LIST),
        reserved2: Zeros::NEW,
        client_order_id: Text(report.client_order_id.bytes()),
        original_client_order_id: Text(report.original_client_order_id.bytes()),
        order_id: Text(report.order_id.bytes()),
        execution_id: Text(report.execution_id.bytes()),
        execution_reference_id: Text(report.execution_reference_id.bytes()),
    }
}

fn execution_report(block: &layout::ExecutionReport) -> Result<ExecutionReport, Malformed> {
    Ok(ExecutionReport {
        route: route(&block.head, &block.route)?,
        execution_type: required(
            block.execution_type,
            ExecutionType::from_code,
            "executionType",
        )?,
        state: required(block.order_state, OrderState::from_code, "orderState")?,
        side: required(block.side, Side::from_code, "side")?,
        price: Price(block.price.get()),
        quantity: Quantity(block.quantity.get()),
        last_price: Price(block.last_price.get()),
        last_quantity: Quantity(block.last_quantity.get()),
        cumulative_quantity: Quantity(block.cumulative_quantity.get()),
        leaves_quantity: Quantity(block.leaves_quantity.get()),
        average_price: Price(block.average_price.get()),
        value_date: block.value_date.get(),
        reject_code: known(block.reject_code, RejectCode::from_code, RejectCode::Other),
        venue_reject_code: venue_code(block.venue_reject_code.get()),
        liquidity: optional(block.liquidity, Liquidity::from_code, "liquidity")?,
        is_possible_resend: block.report_flags & code::POSSIBLE_RESEND != 0,
        is_late: block.report_flags & code::LATE != 0,
        is_last_of_list: block.report_flags & code::LAST_OF_LIST != 0,
        client_order_id: text(&block.client_order_id, "clientOrderId")?,
        original_client_order_id: text(&block.original_client_order_id, "originalClientOrderId")?,
        order_id: text(&block.order_id, "orderId")?,
        execution_id: text(&block.execution_id, "executionId")?,
        execution_reference_id: text(&block.execution_reference_id, "executionReferenceId")?,
    })
}

fn order_rejected_block(rejected: &OrderRejected, tag: &Tag<'_>) -> layout::OrderRejected {
    let (head, route) = head(&rejected.route, tag);
    layout::OrderRejected {
        head,
        reserved: Zeros::NEW,
        route,
        venue_reject_code: rejected.venue_reject_code.unwrap_or(NO_VENUE_CODE).into(),
        request: rejected.request as u8,
        risk_check: rejected.risk_check.map_or(code::NULL, |check| check as u8),
        reject_code: rejected
            .reject_code
            .map_or(code::NULL, |reason| reason as u8),
        reserved2: Zeros::NEW,
        client_order_id: Text(rejected.client_order_id.bytes()),
        original_client_order_id: Text(rejected.original_client_order_id.bytes()),
        order_id: Text(rejected.order_id.bytes()),
        reject_text: Text(rejected.text.bytes()),
    }
}

fn order_rejected(block: &layout::OrderRejected) -> Result<OrderRejected, Malformed> {
    Ok(OrderRejected {
        route: route(&block.head, &block.route)?,
        request: required(block.request, OrderRequest::from_code, "request")?,
        risk_check: known(block.risk_check, RiskCheck::from_code, RiskCheck::Other),
        reject_code: known(block.reject_code, RejectCode::from_code, RejectCode::Other),
        venue_reject_code: venue_code(block.venue_reject_code.get()),
        client_order_id: text(&block.client_order_id, "clientOrderId")?,
        original_client_order_id: text(&block.original_client_order_id, "originalClientOrderId")?,
        order_id: text(&block.order_id, "orderId")?,
        text: text(&block.reject_text, "rejectText")?,
    })
}

fn limits_block(limits: &Limits, tag: &Tag<'_>) -> layout::Limits {
    let (head, route) = head(&limits.route, tag);
    let amount = |amount: Option<i64>| amount.unwrap_or(NO_AMOUNT).into();
    layout::Limits {
        head,
        reserved: Zeros::NEW,
        route,
        order_quantity_max: limits.order_quantity_max.0.into(),
        position_max: limits.position_max.0.into(),
        position: limits.position.0.into(),
        worst_long: limits.worst_long.0.into(),
        worst_short: limits.worst_short.0.into(),
        gross_max: amount(limits.gross_max),
        gross: amount(limits.gross),
        credit_max: amount(limits.credit_max),
        credit_used: amount(limits.credit_used),
        price_collar: limits.price_collar.0.into(),
        currency: Text(limits.currency.bytes()),
        orders_per_second_max: limits.orders_per_second_max.unwrap_or(u32::MAX).into(),
        limit_flags: bit(limits.is_killed, code::KILLED) | bit(limits.is_disabled, code::DISABLED),
        reserved2: Zeros::NEW,
    }
}

fn limits(block: &layout::Limits) -> Result<Limits, Malformed> {
    let amount = |amount: i64| (amount != NO_AMOUNT).then_some(amount);
    let rate = block.orders_per_second_max.get();
    Ok(Limits {
        route: route(&block.head, &block.route)?,
        order_quantity_max: Quantity(block.order_quantity_max.get()),
        position_max: Quantity(block.position_max.get()),
        position: Quantity(block.position.get()),
        worst_long: Quantity(block.worst_long.get()),
        worst_short: Quantity(block.worst_short.get()),
        gross_max: amount(block.gross_max.get()),
        gross: amount(block.gross.get()),
        credit_max: amount(block.credit_max.get()),
        credit_used: amount(block.credit_used.get()),
        price_collar: Price(block.price_collar.get()),
        orders_per_second_max: (rate != u32::MAX).then_some(rate),
        is_killed: block.limit_flags & code::KILLED != 0,
        is_disabled: block.limit_flags & code::DISABLED != 0,
        currency: text(&block.currency, "currency")?,
    })
}

/// Stands for no amount on the wire.
const NO_AMOUNT: i64 = i64::MAX;

/// Stands for no code of the venue on the wire.
const NO_VENUE_CODE: u16 = u16::MAX;

fn venue_code(code: u16) -> Option<u16> {
    (code != NO_VENUE_CODE).then_some(code)
}

const fn bit(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

fn required<T>(code: u8, of: fn(u8) -> Option<T>, field: &'static str) -> Result<T, Malformed> {
    of(code).ok_or(Malformed::Value(field))
}

fn optional<T>(
    code: u8,
    of: fn(u8) -> Option<T>,
    field: &'static str,
) -> Result<Option<T>, Malformed> {
    code::optional(code, of).ok_or(Malformed::Value(field))
}

/// A code that may be absent, of an enum in which an unknown code is `Other`, not an error.
fn known<T>(code: u8, of: fn(u8) -> Option<T>, other: T) -> Option<T> {
    (code != code::NULL).then(|| of(code).unwrap_or(other))
}
