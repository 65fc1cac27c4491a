//! Words as numbers: the code of a word is its index in the list, and never changes.

use crate::desk::BookState;
use crate::event::{Alarm, OrderEvent, RunAlarm};
use crate::orders::{FillKind, OrderState, RejectCode};
use crate::parents::{EndReason, Lifetime, WaitReason};
use crate::plan::{PlanKind, Style};
use crate::risk::Refusal;
use crate::seen::WhyLeftOut;
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
    EndReason: Filled, Rest, Ioc, Fok, Deadline, Cancel, Kill, Restart, Roll;
    PlanKind: Full, Sweep, Both;
    OrderEvent: Journal, Sent, Report, Timeout, Down;
    OrderState: Sent, PendingNew, New, Partial, PendingCancel, Unknown, Disputed, Filled, Rejected, Canceled, Expired;
    FillKind: Fill, Status, Manual, Named, Bust, Correct, Book;
    WhyLeftOut: NoQuote, Limit, OffMarket, Session, Rate, Disabled, Cooldown, InDoubt, Collar, Used;
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

    const SCHEMA: &str = include_str!("../../../../schemas/touchline-fx-events.xml");

    /// Words of an enumeration of the schema, in the order of their codes.
    fn in_schema(name: &str) -> Vec<&'static str> {
        let head = format!("<enum name=\"{name}\" ");
        let (_, rest) = SCHEMA.split_once(&head).expect("an enumeration");
        let (rows, _) = rest.split_once("</enum>").expect("its end");
        let rows = rows.split("<validValue name=\"").skip(1).enumerate();
        let words = rows.map(|(code, row)| {
            let (word, rest) = row.split_once("\">").expect("a word");
            assert!(
                rest.starts_with(&format!("{code}<")),
                "{name} {word}: code {code}"
            );
            word
        });
        words.collect()
    }

    /// Name of a variant, without its fields.
    fn word_of(value: &impl std::fmt::Debug) -> String {
        let text = format!("{value:?}");
        let end = text.find('(').unwrap_or(text.len());
        text[..end].to_owned()
    }

    fn is_one_to_one<T: Coded + std::fmt::Debug>() {
        let name = std::any::type_name::<T>()
            .rsplit("::")
            .next()
            .expect("a name");
        let words: Vec<String> = match name {
            // The sides of an order, as FIX calls them.
            "Side" => vec!["Buy".to_owned(), "Sell".to_owned()],
            _ => T::ALL.iter().map(word_of).collect(),
        };
        assert_eq!(in_schema(name), words, "{name} of the schema");
        for (code, word) in T::ALL.iter().enumerate() {
            assert_eq!(usize::from(word.code()), code);
            assert_eq!(T::of_code(code as u8), Some(*word));
        }
        assert_eq!(T::of_code(T::ALL.len() as u8), None);
    }

    #[test]
    fn words_and_codes_are_one_to_one_and_those_of_the_schema() {
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
        is_one_to_one::<WhyLeftOut>();
        is_one_to_one::<RejectCode>();
        is_one_to_one::<Alarm>();
        is_one_to_one::<RunAlarm>();
    }
}
