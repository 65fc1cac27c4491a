//! Trade date of an instant: days turn at 17:00 New York, for pairs with NZD at 07:00 Auckland.

use crate::calendars::NzdRoll;
use crate::holidays::{is_weekend, plus};
use crate::spot::Pair;
use crate::zones::known;
use jiff::Timestamp;
use jiff::civil::{Date, time};

/// Trade date of a pair at an instant. Saturday and Sunday become Monday; holidays do not move it.
#[must_use]
pub fn trade_date(pair: &Pair, at: Timestamp, nzd: NzdRoll) -> Date {
    let mut day = match nzd == NzdRoll::Auckland && pair.has("NZD") {
        true => {
            let local = known("Pacific/Auckland").to_datetime(at);
            let is_before = local.time() < time(7, 0, 0, 0);
            plus(local.date(), -i32::from(is_before))
        }
        false => new_york_date(at),
    };
    while is_weekend(day) {
        day = plus(day, 1);
    }
    day
}

/// New York's date at an instant, which turns at 17:00 there. It may be a Saturday or a Sunday.
#[must_use]
pub fn new_york_date(at: Timestamp) -> Date {
    // mutant: fx days: days roll at 21:00 UTC all year
    let local = known("America/New_York").to_datetime(at);
    // mutant: fx days: the instant of the roll is of the old day
    let is_next = local.time() >= time(17, 0, 0, 0);
    plus(local.date(), i32::from(is_next))
}
