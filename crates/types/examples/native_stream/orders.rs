//! Orders, reports and limits as lines.

use super::Fields;
use touchline_types::{
    CancelAll, CancelOrder, ExecutionReport, Limits, NewOrder, OrderMessage, OrderRejected,
    OrderRoute, OrderTerms, ReplaceOrder,
};

/// The fields behind the head; gives the message's name.
pub fn fields(fields: &mut Fields, message: &OrderMessage) -> &'static str {
    match message {
        OrderMessage::New(order) => fields.new_order(order),
        OrderMessage::Cancel(order) => fields.cancel_order(order),
        OrderMessage::Replace(order) => fields.replace_order(order),
        OrderMessage::CancelAll(request) => fields.cancel_all(request),
        OrderMessage::Report(report) => fields.execution_report(report),
        OrderMessage::Rejected(rejected) => fields.order_rejected(rejected),
        OrderMessage::Limits(limits) => fields.limits(limits),
    }
}

/// The messages, in the order of the schema; each gives its name.
impl Fields {
    fn new_order(&mut self, order: &NewOrder) -> &'static str {
        self.route(&order.route);
        self.terms(&order.terms, order.created_ns);
        self.put("clientOrderId", order.client_order_id);
        self.put("parentOrderId", order.parent_order_id);
        self.put("quoteId", order.quote_id);
        "NewOrder"
    }

    fn cancel_order(&mut self, order: &CancelOrder) -> &'static str {
        self.route(&order.route);
        self.quantity("quantity", order.quantity);
        self.word("createdNs", order.created_ns);
        self.put("clientOrderId", order.client_order_id);
        self.put("originalClientOrderId", order.original_client_order_id);
        self.put("orderId", order.order_id);
        self.name("side", Some(order.side));
        "CancelOrder"
    }

    fn replace_order(&mut self, order: &ReplaceOrder) -> &'static str {
        self.route(&order.route);
        self.terms(&order.terms, order.created_ns);
        self.put("clientOrderId", order.client_order_id);
        self.put("originalClientOrderId", order.original_client_order_id);
        self.put("orderId", order.order_id);
        "ReplaceOrder"
    }

    fn cancel_all(&mut self, request: &CancelAll) -> &'static str {
        self.route(&request.route);
        self.word("createdNs", request.created_ns);
        self.put("clientOrderId", request.client_order_id);
        self.put("requestedBy", request.requested_by);
        self.name("side", request.side);
        self.put("kill", if request.is_kill { "Yes" } else { "No" });
        "CancelAll"
    }

    fn execution_report(&mut self, report: &ExecutionReport) -> &'static str {
        self.route(&report.route);
        self.price("price", report.price);
        self.quantity("quantity", report.quantity);
        self.price("lastPrice", report.last_price);
        self.quantity("lastQuantity", report.last_quantity);
        self.quantity("cumulativeQuantity", report.cumulative_quantity);
        self.quantity("leavesQuantity", report.leaves_quantity);
        self.price("averagePrice", report.average_price);
        self.put("valueDate", report.value_date);
        let venue_code = report.venue_reject_code.unwrap_or(u16::MAX);
        self.put("venueRejectCode", venue_code);
        self.name("side", Some(report.side));
        self.name("executionType", Some(report.execution_type));
        self.name("orderState", Some(report.state));
        self.name("rejectCode", report.reject_code);
        self.name("liquidity", report.liquidity);
        let bits = u8::from(report.is_possible_resend)
            | u8::from(report.is_late) << 1
            | u8::from(report.is_last_of_list) << 2;
        self.set(
            "reportFlags",
            bits,
            &["possibleResend", "late", "lastOfList"],
        );
        self.put("clientOrderId", report.client_order_id);
        self.put("originalClientOrderId", report.original_client_order_id);
        self.put("orderId", report.order_id);
        self.put("executionId", report.execution_id);
        self.put("executionReferenceId", report.execution_reference_id);
        "ExecutionReport"
    }

    fn order_rejected(&mut self, rejected: &OrderRejected) -> &'static str {
        self.route(&rejected.route);
        let venue_code = rejected.venue_reject_code.unwrap_or(u16::MAX);
        self.put("venueRejectCode", venue_code);
        self.name("request", Some(rejected.request));
        self.name("riskCheck", rejected.risk_check);
        self.name("rejectCode", rejected.reject_code);
        self.put("clientOrderId", rejected.client_order_id);
        self.put("originalClientOrderId", rejected.original_client_order_id);
        self.put("orderId", rejected.order_id);
        self.put("rejectText", rejected.text);
        "OrderRejected"
    }

    fn limits(&mut self, limits: &Limits) -> &'static str {
        self.route(&limits.route);
        self.quantity("orderQuantityMax", limits.order_quantity_max);
        self.quantity("positionMax", limits.position_max);
        self.quantity("position", limits.position);
        self.quantity("worstLong", limits.worst_long);
        self.quantity("worstShort", limits.worst_short);
        self.put("grossMax", limits.gross_max.unwrap_or(i64::MAX));
        self.put("gross", limits.gross.unwrap_or(i64::MAX));
        self.put("creditMax", limits.credit_max.unwrap_or(i64::MAX));
        self.put("creditUsed", limits.credit_used.unwrap_or(i64::MAX));
        self.price("priceCollar", limits.price_collar);
        self.put("currency", limits.currency);
        let rate = limits.orders_per_second_max.unwrap_or(u32::MAX);
        self.put("ordersPerSecondMax", rate);
        let bits = u8::from(limits.is_killed) | u8::from(limits.is_disabled) << 1;
        self.set("limitFlags", bits, &["killed", "disabled"]);
        "Limits"
    }

    fn route(&mut self, route: &OrderRoute) {
        self.put("securityId", route.security_id.unwrap_or(i64::MAX));
        self.put("venueName", route.venue);
        self.put("account", route.account);
    }

    fn terms(&mut self, terms: &OrderTerms, created_ns: u64) {
        self.price("price", terms.price);
        self.price("stopPrice", terms.stop_price);
        self.quantity("quantity", terms.quantity);
        self.quantity("quantityMin", terms.quantity_min);
        self.quantity("quantityShown", terms.quantity_shown);
        self.word("expiryNs", terms.expiry_ns);
        self.put("currency", terms.currency);
        self.put("valueDate", terms.value_date);
        self.name("side", Some(terms.side));
        self.name("orderType", Some(terms.order_type));
        self.name("timeInForce", Some(terms.time_in_force));
        let bits = u8::from(terms.is_post_only) | u8::from(terms.is_reduce_only) << 1;
        self.set("orderFlags", bits, &["postOnly", "reduceOnly"]);
        self.word("createdNs", created_ns);
    }
}
