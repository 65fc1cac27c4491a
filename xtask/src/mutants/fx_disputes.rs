//! Faults of the FX core: contradictory reports, cancels that must reach every order, the reference, bookings by two persons.

use super::Mutant;

/// Disputes, cancels, the reference, bookings.
pub const FX_DISPUTES: &[Mutant] = &[
    Mutant {
        name: "fx: the reference is the mean of the outermost mids",
        find: "(self.mids2[(count - 1) / 2], self.mids2[count / 2])",
        replace: "(self.mids2[0], self.mids2[count - 1])",
        test: "-p touchline-fx --test fx reference::the_reference_is_the_median_of_the_banks_mids",
    },
    Mutant {
        name: "fx: an old reference stays valid",
        find: "now_ns >= self.ends_ns",
        replace: "now_ns > self.ends_ns && false",
        test: "-p touchline-fx --test fx reference::the_last_reference_ends",
    },
    Mutant {
        name: "fx: a bank with one price off the market is on it",
        find: "bid.is_some_and(is_far) || ask.is_some_and(is_far)",
        replace: "bid.is_some_and(is_far) && ask.is_some_and(is_far)",
        test: "-p touchline-fx --test fx reference::a_bank_off_the_market_is_left_out",
    },
    Mutant {
        name: "fx: a bank off the market counts as one that quotes",
        find: "offers.iter().filter(|offer| !is_off(offer))",
        replace: "offers.iter().filter(|offer| !is_off(offer) || true)",
        test: "-p touchline-fx --test fx reference::a_bank_off_the_market_is_left_out",
    },
    Mutant {
        name: "fx: a bank off the market is traded",
        find: "&& !self.composites.is_off(bank, pair)",
        replace: "",
        test: "-p touchline-fx --test fx reference::a_bank_off_the_market_is_left_out",
    },
    Mutant {
        name: "fx: any user may book",
        find: "(None, _) => BookState::Person,",
        replace: "(None, _) => BookState::First,",
        test: "-p touchline-fx --test fx desk_trades::two_persons_book_what_no_order_explains",
    },
    Mutant {
        name: "fx: one user alone may book",
        find: "match proposal.by == *by {",
        replace: "match proposal.by == *by && false {",
        test: "-p touchline-fx --test fx desk_trades::two_persons_book_what_no_order_explains",
    },
    Mutant {
        name: "fx: a booking is booked twice",
        find: "if proposal.is_booked {",
        replace: "if proposal.is_booked && false {",
        test: "-p touchline-fx --test fx desk_trades::two_persons_book_what_no_order_explains",
    },
    Mutant {
        name: "fx: fills are taken back by a resolution",
        find: "self.resolution(id, cum, price)",
        replace: "self.resolution(id, cum.map(i64::abs), price)",
        test: "-p touchline-fx --test fx disputes::the_desk_makes_positions_true",
    },
    Mutant {
        name: "fx: a correction of another currency is booked",
        find: "(!report.is_of_other_currency(pair)).then_some(fill)",
        replace: "(!report.is_of_other_currency(pair) || true).then_some(fill)",
        test: "-p touchline-fx --test fx disputes::corrections_that_cannot_be_booked_change_nothing",
    },
    Mutant {
        name: "fx: a repeated kill does nothing",
        find: "self.kill.is_killed() && is_by_itself",
        replace: "self.kill.is_killed()",
        test: "-p touchline-fx --test fx cancels::a_repeated_kill_forgets_the_first_lift",
    },
    Mutant {
        name: "fx: an unknown order is not canceled",
        find: "!order.is_cancel_wanted()",
        replace: "!order.is_cancel_wanted() || order.state().is_doubtful()",
        test: "-p touchline-fx --test fx cancels::every_order_that_has_not_ended_is_canceled",
    },
    Mutant {
        name: "fx: a cancel request is sent while one is out",
        find: "|| order.is_cancel_out(now_ns)",
        replace: "",
        test: "-p touchline-fx --test fx cancels::every_order_that_has_not_ended_is_canceled",
    },
    Mutant {
        name: "fx: a cancel request makes an unknown order known",
        find: "if self.state.is_open() {",
        replace: "if !self.state.is_end() {",
        test: "-p touchline-fx --test fx cancels::every_order_that_has_not_ended_is_canceled",
    },
    Mutant {
        name: "fx: an order that is alive is not canceled again",
        find: "if report.says_alive() || is_adopted {",
        replace: "if is_adopted {",
        test: "-p touchline-fx --test fx cancels::a_cancel_is_asked_for_again_at_events",
    },
    Mutant {
        name: "fx: orders of a lost session are not canceled when it is back",
        find: "self.ask_cancel(at, out);",
        replace: "",
        test: "-p touchline-fx --test fx cancels::a_wish_to_cancel_lasts_until_the_order_ends",
    },
    Mutant {
        name: "fx: a report books a disputed order",
        find: "if state == OrderState::Disputed {",
        replace: "if state == OrderState::Disputed && false {",
        test: "-p touchline-fx --test fx disputes::a_contradiction_frees_nothing_and_is_asked_for_once",
    },
    Mutant {
        name: "fx: a trade of another account is booked without an alarm",
        find: "is_booked && report.account.is_some_and(|account| account != ours)",
        replace: "false && report.account.is_some_and(|account| account != ours)",
        test: "-p touchline-fx --test fx disputes::a_trade_of_another_account_is_booked_with_an_alarm",
    },
    Mutant {
        name: "fx: a rest of less than a lot waits for its deadline",
        find: "parent.open() < lot",
        replace: "parent.open() < 1",
        test: "-p touchline-fx --test fx router::a_rest_of_less_than_a_lot_ends_its_parent",
    },
    Mutant {
        name: "fx: fills beyond a parent make its worst case smaller",
        find: "(self.quantity - self.done - self.out).max(0)",
        replace: "self.quantity - self.done - self.out",
        test: "-p touchline-fx --test fx router::a_rest_of_less_than_a_lot_ends_its_parent",
    },
    Mutant {
        name: "fx: an order that a mass status says is alive is forgotten",
        find: "order.asking.ask_later(later_ns)",
        replace: "order.asking.stop()",
        test: "-p touchline-fx --test fx unknown::an_order_that_a_mass_status_shows_alive_is_asked_for_later",
    },
    Mutant {
        name: "fx: an order that nobody explains takes its bank out of all pairs",
        find: "self.uncalled[bank] > 0",
        replace: "self.unknown > 0",
        test: "-p touchline-fx --test fx unknown::the_desk_s_call_ends_the_doubt_of_other_pairs",
    },
    Mutant {
        name: "fx: a trade of more than the growth of CumQty is booked",
        find: "return Bookings::CONTRADICTION;",
        replace: "return Bookings::default();",
        test: "-p touchline-fx --test fx disputes::a_contradiction_frees_nothing_and_is_asked_for_once",
    },
    Mutant {
        name: "fx: a report without a trade books although it contradicts itself",
        find: "contradicts(order, report)",
        replace: "contradicts(order, report) && false",
        test: "-p touchline-fx --test fx disputes::a_contradiction_frees_nothing_and_is_asked_for_once",
    },
    Mutant {
        name: "fx: a filled order with too small a CumQty frees the rest",
        find: "is_below && report.ord_status == Some(b\"2\")",
        replace: "is_below && report.ord_status == Some(b\"22\")",
        test: "-p touchline-fx --test fx disputes::a_contradiction_frees_nothing_and_is_asked_for_once",
    },
    Mutant {
        name: "fx: an end with a quantity that is still open frees it",
        find: "is_below && ends && leaves",
        replace: "is_below && !ends && ends && leaves",
        test: "-p touchline-fx --test fx disputes::a_contradiction_frees_nothing_and_is_asked_for_once",
    },
    Mutant {
        name: "fx: a CumQty that shrinks is taken",
        find: "cum < held && !report.is_old_state()",
        replace: "cum < held && false",
        test: "-p touchline-fx --test fx disputes::a_contradiction_frees_nothing_and_is_asked_for_once",
    },
    Mutant {
        name: "fx: an unknown order with fills frees the rest",
        find: "report.says_never_arrived() && held > 0",
        replace: "report.says_never_arrived() && held > cum && cum > 0",
        test: "-p touchline-fx --test fx disputes::a_contradiction_frees_nothing_and_is_asked_for_once",
    },
    Mutant {
        name: "fx: an average far beyond the order's price is booked",
        find: "average.is_some_and(is_worse)",
        replace: "average.is_some_and(is_worse) && false",
        test: "-p touchline-fx --test fx disputes::a_contradiction_frees_nothing_and_is_asked_for_once",
    },
    Mutant {
        name: "fx: a late original names more than is left",
        find: "&& fill.booking.quantity >= quantity",
        replace: "&& fill.booking.quantity + fill.whole >= quantity",
        test: "-p touchline-fx --test fx disputes::late_originals_name_what_a_status_told_of",
    },
    Mutant {
        name: "fx: a price worse than the order's within its tick is booked",
        find: "self.price().is_some_and(is_worse)",
        replace: "self.price().is_some_and(|price| is_worse(Price(price.0 - 9_999)))",
        test: "-p touchline-fx --test fx disputes::trades_that_cannot_be_booked_are_refused",
    },
    Mutant {
        name: "fx: a trade of another value date is booked",
        find: "self.settl_date.is_some_and(is_other_date) ||",
        replace: "self.settl_date.is_some_and(is_other_date) && false ||",
        test: "-p touchline-fx --test fx disputes::trades_that_cannot_be_booked_are_refused",
    },
];
