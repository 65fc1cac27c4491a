//! Faults of the FX core: orders, and reports of banks.

use super::Mutant;

/// Orders and reports.
pub const FX_ORDERS: &[Mutant] = &[
    Mutant {
        name: "fx: an order that is filled is not done",
        find: "_ if self.cum >= self.terms.quantity => Filled,",
        replace: "",
        test: "-p touchline-fx --test fx orders::the_rest_of_an_order_is_dead_where_nothing_is_left_and_filled_is_filled",
    },
    Mutant {
        name: "fx: the rest of a partial fill stays open",
        find: "Some(b\"1\") if is_rest_dead => Canceled,",
        replace: "Some(b\"1\") if is_rest_dead && false => Canceled,",
        test: "-p touchline-fx --test fx orders::the_rest_of_an_order_is_dead_where_nothing_is_left_and_filled_is_filled",
    },
    Mutant {
        name: "fx: an unknown order becomes new",
        find: "!self.state.is_open()",
        replace: "!self.state.is_open() && self.state != Unknown",
        test: "-p touchline-fx --test fx unknown::an_order_without_an_answer_is_asked_for_and_then_the_desk_is_called",
    },
    Mutant {
        name: "fx: the status of an unknown order is requested without end",
        find: "self.tries >= tries_max",
        replace: "self.tries > tries_max",
        test: "-p touchline-fx --test fx unknown::an_order_without_an_answer_is_asked_for_and_then_the_desk_is_called",
    },
    Mutant {
        name: "fx: a repeated report is taken again",
        find: "self.reported.insert((owner, exec_id))",
        replace: "self.reported.insert((owner, exec_id)) || true",
        test: "-p touchline-fx --test fx orders::a_repeated_report_is_passed_over_and_a_repeated_status_is_not",
    },
    Mutant {
        name: "fx: a trade is busted twice",
        find: "Some(self.booked[at]).filter(|fill| fill.booking.quantity > 0)",
        replace: "Some(self.booked[at])",
        test: "-p touchline-fx --test fx orders::busts_and_corrections_change_positions_and_no_order",
    },
    Mutant {
        name: "fx: an OrderID of another bank names an order",
        find: "self.bank_ids[*at] == Some(id) && self.orders[*at].terms.bank == bank",
        replace: "self.bank_ids[*at] == Some(id) && self.orders[*at].terms.bank < bank + 99",
        test: "-p touchline-fx --test fx orders::a_fill_that_names_its_order_by_order_id_alone_is_booked",
    },
    Mutant {
        name: "fx: a report that names its order by 37 alone is of no order",
        find: "self.orders.find_by_bank_id(bank, report.order_id),",
        replace: "known,",
        test: "-p touchline-fx --test fx orders::a_fill_that_names_its_order_by_order_id_alone_is_booked",
    },
    Mutant {
        name: "fx: a bank reports another bank's order",
        find: "(self.orders[at].terms.bank == bank).then_some(at)",
        replace: "(self.orders[at].terms.bank < bank + 99).then_some(at)",
        test: "-p touchline-fx --test fx orders::a_trade_of_no_order_of_the_bank_is_refused",
    },
    Mutant {
        name: "fx: a late original is booked again",
        find: "growth <= 0 {",
        replace: "growth < -1_000_000_000 {",
        test: "-p touchline-fx --test fx orders::cum_qty_is_the_truth",
    },
    Mutant {
        name: "fx: a fill reported late is not booked",
        find: "(lost > 0).then(",
        replace: "(lost > 0 && false).then(",
        test: "-p touchline-fx --test fx orders::cum_qty_is_the_truth",
    },
    Mutant {
        name: "fx: a repeated status is ignored",
        find: "(is_reversal || kind == ReportKind::Trade) &&",
        replace: "",
        test: "-p touchline-fx --test fx orders::a_repeated_report_is_passed_over_and_a_repeated_status_is_not",
    },
    Mutant {
        name: "fx: a status of another pair books a fill",
        find: "_ => report.dispute_of_state(order, pair),",
        replace: "_ => report.dispute_of_state(order, pair).filter(|_| false),",
        test: "-p touchline-fx --test fx orders::a_report_without_a_trade_that_contradicts_its_order_books_nothing",
    },
    Mutant {
        name: "fx: a trade that differs from its order is booked",
        find: "ReportKind::Trade => report.dispute(order, pair),",
        replace: "ReportKind::Trade => report.dispute(order, pair).filter(|_| false),",
        test: "-p touchline-fx --test fx orders::trades_that_are_not_as_ordered_are_refused",
    },
    Mutant {
        name: "fx: orders absent from a mass status are not requested",
        find: "report.last_rpt_requested == Some(b\"Y\")",
        replace: "report.last_rpt_requested == Some(b\"N\")",
        test: "-p touchline-fx --test fx unknown::a_mass_status_asks_for_what_it_leaves_out",
    },
];
