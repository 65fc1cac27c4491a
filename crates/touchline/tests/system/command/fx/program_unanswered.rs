//! An order of a program whose engine does not answer, under a name that the library has made.

use super::live::end;
use super::program::{buy, compiled, join, printed};
use super::trade::Market;

/// Sent again under the name that the error has, it is one order.
#[test]
fn an_order_without_an_answer_has_its_name_in_the_error_of_cpp() {
    let market = Market::open("fx-program-unanswered", &["[banks.orders]"]);
    let engine = market.engine("engine.txt");
    let mut desk = join(&market);
    let options = ["-std=c++17"];
    let source = "desk_no_answer.cpp";
    let Some(mut program) = compiled(&market, "g++", &options, "tests/programs", source) else {
        return end(engine);
    };
    engine.signal("STOP");
    let name = printed(&market, &mut program);
    engine.signal("CONT");
    let order = buy(name.trim_end(), "EUR/USD", 1_000);
    // Its engine found the first one too old, and would refuse a second one of a name that it knows.
    desk.send(&order).expect("accepted");
    let named = desk.parents().iter().filter(|row| row.id == order.id);
    assert_eq!(named.count(), 1);
    end(engine);
}
