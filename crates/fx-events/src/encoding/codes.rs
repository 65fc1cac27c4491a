//! Words as numbers: the code of a word is its index in the list, and never changes.

use crate::desk::BookState;
use crate::event::{Alarm, OrderEvent, RunAlarm};
use crate::orders::{FillKind, OrderState, RejectCode};
use crate::parents::{EndReason, Lifetime, WaitReason};
use crate::plan::{PlanKind, Style};
use crate::risk::Refusal;
use touchline_types::Side;

/// A word with a code.
pub(super) trait Coded: Copy + PartialEq + 'static {
    /// All words, in the order of their codes.
    const ALL: &'static [Self];

    fn code(self) -> u8 {
        let place = Self::ALL.iter().position(|other| *other == self);
        place.expect("every word has a code") as u8
    }

    fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

macro_rules! coded {
    ($($name:ident: $($word:ident),+;)+) => {$(
        impl Coded for $name {
            const ALL: &'static [Self] = &[$($name::$word),+];
        }
    )+};
}

coded! {
    Side: Bid, Ask;
    Lifetime: Deadline, Immediate, AllOrNothing;
    Style: Best, Full, Sweep;
    Refusal: Kill, DuplicateId, BadOrder, Duplicate, OrderQty, Rate, NoMid, NoReference, Collar, Net, Gross;
    WaitReason: ValueDate, Thin, NoMid, NoReference, Crossed, NoPrice;
    EndReason: Filled, Rest, Ioc, Fok, Deadline, Cancel, Kill, Restart;
    PlanKind: Full, Sweep, Both;
    OrderEvent: Journal, Sent, Report, Timeout, Down;
    OrderState: Sent, PendingNew, New, Partial, PendingCancel, Unknown, Disputed, Filled, Rejected, Canceled, Expired;
    FillKind: Fill, Status, Manual, Named, Bust, Correct, Book;
    BookState: Person, BadBook, DuplicateId, First, Differs, SamePerson, Booked;
}

/// A refused trade has its reason beside the code, and an alarm of the run its own code.
impl Coded for Alarm {
    const ALL: &'static [Self] = &{
        let mut all = [Alarm::Run(RunAlarm::SessionLost); Alarm::OF_CORE.len() + 1];
        let mut place = 0;
        while place < Alarm::OF_CORE.len() {
            all[place] = Alarm::OF_CORE[place];
            place += 1;
        }
        all
    };
}

impl Coded for RunAlarm {
    const ALL: &'static [Self] = RunAlarm::ALL;
}

impl Coded for RejectCode {
    const ALL: &'static [Self] = &RejectCode::ALL;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_one_to_one<T: Coded + std::fmt::Debug>() {
        for (code, word) in T::ALL.iter().enumerate() {
            assert_eq!(usize::from(word.code()), code);
            assert_eq!(T::of_code(code as u8), Some(*word));
        }
        assert_eq!(T::of_code(T::ALL.len() as u8), None);
    }

    #[test]
    fn words_and_codes_are_one_to_one() {
        is_one_to_one::<Side>();
        is_one_to_one::<Lifetime>();
        is_one_to_one::<Style>();
        is_one_to_one::<Refusal>();
        is_one_to_one::<WaitReason>();
        is_one_to_one::<EndReason>();
        is_one_to_one::<PlanKind>();
        is_one_to_one::<OrderEvent>();
        is_one_to_one::<OrderState>();
        is_one_to_one::<FillKind>();
        is_one_to_one::<BookState>();
        is_one_to_one::<RejectCode>();
        is_one_to_one::<Alarm>();
        is_one_to_one::<RunAlarm>();
    }
}
