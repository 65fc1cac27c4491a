//! One table of names in all languages: kinds, states and actions with the numbers and words that they have in every language.
//!
//! The enumerations of `touchline.h`, the types of the Python package and the page of names are generated from it. That it
//! has every value of the Rust types, with their numbers, is checked when this crate is compiled.

use crate::{
    Aggressor, BookKind, Connection, Error, Event, LevelAction, OrderAction, Side, State,
    StatisticKind, TouchSource, UpdateAction,
};

/// A value: its word, its number, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Lower case, with `_` between words.
    pub word: &'static str,
    /// Number in C and in arrays.
    pub number: i64,
    /// One sentence.
    pub about: &'static str,
}

/// All values of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// Name of the kind, as of a field: `state`.
    pub kind: &'static str,
    /// Beginning of the constants in C: `TL_STATE`.
    pub prefix: &'static str,
    /// Places in which the values occur.
    pub about: &'static str,
    /// The values.
    pub names: &'static [Name],
}

/// Declares an enumeration together with its table.
macro_rules! kinds {
    (
        $(#[$doc:meta])*
        pub enum $type:ident, $table:ident = $kind:literal $prefix:literal $of:literal {
            $($variant:ident = $number:literal $word:literal $about:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i8)]
        pub enum $type {
            $(#[doc = $about] $variant = $number,)*
        }

        impl $type {
            /// Its word, the same in every language.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)*
                }
            }
        }

        names! { $type, $table = $kind $prefix $of {
            $($variant = $number $word $about,)*
        } }
    };
}

/// Declares the table of a type; it is compiled only if it has every value, with its number.
macro_rules! names {
    (
        $type:ty, $table:ident = $kind:literal $prefix:literal $of:literal {
            $($variant:ident = $number:literal $word:literal $about:literal,)*
        }
    ) => {
        #[doc = $of]
        pub const $table: Names = Names {
            kind: $kind,
            prefix: $prefix,
            about: $of,
            names: &[$(Name { word: $word, number: $number, about: $about },)*],
        };

        const _: fn($type) = |value| match value {
            $(<$type>::$variant => {
                const { assert!(<$type>::$variant as i64 == $number, "the number of the type") }
            })*
        };
    };
}

kinds! {
    /// Kind of an [`Event`].
    pub enum EventKind, EVENTS = "event" "TL_EVENT" "Kind of an event" {
        Top = 1 "top" "The best bid or ask of an instrument changed.",
        Trade = 2 "trade" "A trade.",
        Book = 3 "book" "A price book changed.",
        Orders = 4 "orders" "An order book changed.",
        Quotes = 5 "quotes" "Quotes of a provider changed.",
        Statistic = 6 "statistic" "A statistic of a session or a day.",
        Status = 7 "status" "Trading status of an instrument or a product group.",
        State = 8 "state" "The state of a book changed, not its contents.",
        Channel = 9 "channel" "All books of the channel changed.",
        Defined = 10 "defined" "An instrument was defined.",
        Connection = 11 "connection" "An event of the connection to the bus.",
    }
}

kinds! {
    /// Kind of a [`Connection`] event.
    pub enum ConnectionKind, CONNECTIONS = "connection" "TL_CONNECTION" "Event of the connection to a bus" {
        CaughtUp = 1 "caught_up" "All books are consistent with one position of the stream.",
        Overrun = 2 "overrun" "Messages were lost; books follow from their snapshots.",
        PublisherGone = 3 "publisher_gone" "The publisher has ended; live books are stale.",
        PublisherStalled = 4 "publisher_stalled" "The publisher shows no activity; live books are stale.",
        PublisherResumed = 5 "publisher_resumed" "A stalled publisher works again.",
        Restarted = 6 "restarted" "Another publisher has started; books follow, with the same handles.",
        Corrupt = 7 "corrupt" "The shared memory has an invalid message.",
        Incompatible = 8 "incompatible" "The publisher's format cannot be read; live books are stale.",
        Damaged = 9 "damaged" "A file of the bus was truncated.",
        Forked = 10 "forked" "The reader is that of the process that forked this one; in Python and C an error.",
        Refused = 11 "refused" "The bus was created again, and cannot be joined; live books are stale.",
        NotWaitedFor = 12 "not_waited_for" "The publisher does not wait for this lossless reader.",
    }
}

kinds! {
    /// Kind of an [`Error`].
    pub enum ErrorKind, ERRORS = "error" "TL_ERROR" "Error of a call" {
        NoBus = -1 "no_bus" "No bus has this name.",
        NotYours = -2 "not_yours" "The bus belongs to another user, or others may write to it.",
        Incompatible = -3 "incompatible" "This client cannot read the format of the bus.",
        HalfStarted = -4 "half_started" "The publisher ended or hung during its start.",
        Damaged = -5 "damaged" "A file of the bus is damaged.",
        NameTaken = -6 "name_taken" "Another reader of the bus has this name.",
        TooManyReaders = -7 "too_many_readers" "The bus has no free place for a reader.",
        NotLossless = -8 "not_lossless" "The bus does not wait for readers.",
        NoInstrument = -9 "no_instrument" "The bus has no such instrument.",
        OtherBus = -10 "other_bus" "The handle belongs to another bus.",
        NotReady = -11 "not_ready" "Some books did not arrive in time.",
        Option = -12 "option" "An option or an argument is invalid.",
        System = -13 "system" "A system call failed.",
        Internal = -14 "internal" "The library has a fault.",
        NoEngine = -15 "no_engine" "No trading engine publishes on the bus.",
        Refused = -16 "refused" "The trading engine refused the command.",
        NoAnswer = -17 "no_answer" "The trading engine has not answered yet.",
        Record = -18 "record" "The journal of the trading engine, or a tape, cannot be read.",
        Memory = -19 "memory" "Memory is exhausted.",
        Forked = -20 "forked" "The reader belongs to the process that forked this one.",
    }
}

kinds! {
    /// Kind of an event of a desk: `fx::Event`.
    pub enum DeskEventKind, DESK_EVENTS = "desk_event" "TL_DESK" "Kind of an event of a desk" {
        Parent = 1 "parent" "A parent was accepted, waits, works again, has ended or is settled.",
        Order = 2 "order" "An order at a bank.",
        Fill = 3 "fill" "A fill, a bust or a correction.",
        Position = 4 "position" "The position of a pair.",
        Alarm = 5 "alarm" "An alarm for the desk.",
        Killed = 6 "killed" "The kill switch was set.",
        Lifted = 7 "lifted" "The kill switch is not set any more.",
        Bus = 8 "bus" "The bus was overrun, ended or started again; what it lost follows from the journal.",
        Skipped = 9 "skipped" "Events that were not read in time; the state has them.",
    }
}

names! { State, STATES = "state" "TL_STATE" "Validity of a book" {
    Live = 0 "live" "Complete, and confirmed after the last loss.",
    Gapped = 1 "gapped" "Packets were lost since the venue last confirmed it.",
    Recovering = 2 "recovering" "Empty, waiting for a snapshot.",
    NaturalRefresh = 3 "natural" "Refilled from increments only: correct, but incomplete.",
    Stale = 4 "stale" "The publisher or its venue has ended or timed out.",
    Closed = 5 "closed" "The venue reports the instrument as closed.",
} }

names! { Side, SIDES = "side" "TL_SIDE" "Side of a book" {
    Bid = 0 "bid" "Buyers.",
    Ask = 1 "ask" "Sellers.",
} }

names! { Aggressor, AGGRESSORS = "aggressor" "TL_AGGRESSOR" "Side that took liquidity in a trade" {
    Buy = 0 "buy" "The buyer.",
    Sell = 1 "sell" "The seller.",
    None = 2 "none" "Not stated.",
} }

names! { TouchSource, BOOKS = "book" "TL_BOOK" "Book of a level or of a best price" {
    Direct = 0 "direct" "Orders in this instrument.",
    Implied = 1 "implied" "Derived by the venue from other instruments.",
    Merged = 2 "merged" "Both together, by price.",
} }

const _: () = assert!(
    BookKind::Direct as u8 == TouchSource::Direct as u8
        && BookKind::Implied as u8 == TouchSource::Implied as u8,
    "a step names its book by the same numbers"
);

names! { LevelAction, LEVEL_ACTIONS = "level_action" "TL_LEVEL" "Step of a price book" {
    Insert = 0 "insert" "A level was inserted at the index.",
    Replace = 1 "replace" "The level at the index has these values.",
    Remove = 2 "remove" "The level at the index was removed.",
    Clear = 3 "clear" "The list was emptied.",
} }

names! { OrderAction, ORDER_ACTIONS = "order_action" "TL_ORDER" "Step of an order book" {
    New = 0 "new" "A new order.",
    Update = 1 "update" "New values of an order.",
    Delete = 2 "delete" "The order was removed.",
    Clear = 3 "clear" "The side was emptied.",
} }

names! { UpdateAction, TRADE_ACTIONS = "trade_action" "TL_TRADE" "What a message of a trade or a statistic does" {
    New = 0 "new" "A new trade; a statistic is set.",
    Change = 1 "change" "Corrects an earlier trade; a statistic is set.",
    Delete = 2 "delete" "Busts an earlier trade; withdraws a statistic.",
    DeleteThru = 3 "delete_thru" "Of neither.",
    DeleteFrom = 4 "delete_from" "Of neither.",
    Overlay = 5 "overlay" "As change.",
} }

names! { StatisticKind, STATISTICS = "statistic" "TL_STATISTIC" "Kind of a statistic" {
    Open = 0 "open" "Opening price, traded or indicative.",
    High = 1 "high" "Highest trade.",
    Low = 2 "low" "Lowest trade.",
    Vwap = 3 "vwap" "Volume-weighted average price.",
    HighestBid = 4 "highest_bid" "Highest bid.",
    LowestAsk = 5 "lowest_ask" "Lowest offer.",
    Settlement = 6 "settlement" "Settlement price.",
    ClearedVolume = 7 "cleared_volume" "Cleared volume.",
    OpenInterest = 8 "open_interest" "Open interest.",
    Fixing = 9 "fixing" "Fixing price.",
    Volume = 10 "volume" "Electronic volume traded so far.",
    HighLimit = 11 "high_limit" "Upper price limit.",
    LowLimit = 12 "low_limit" "Lower price limit.",
    PriceBand = 13 "price_band" "Largest price variation that the venue accepts.",
    Other = 14 "other" "A kind that the venue added after this version.",
} }

/// Name of a value without a variant in a type.
const fn name(word: &'static str, number: i64, about: &'static str) -> Name {
    Name {
        word,
        number,
        about,
    }
}

/// Kinds of events to join for.
pub(crate) const JOINS: Names = Names {
    kind: "join",
    prefix: "TL_JOIN",
    about: "Kinds of events to join a bus for; in C they are added",
    names: &[
        name("tops", 1, "Best bids and asks."),
        name("trades", 2, "Trades."),
        name("books", 4, "Changes of price books."),
        name(
            "orders",
            8,
            "Changes of order books, which are then kept, too.",
        ),
        name("statistics", 16, "Statistics of a session or a day."),
        name("status", 32, "Trading status."),
        name("quotes", 64, "Quotes of providers, such as banks."),
    ],
};

/// Idle strategies.
pub(crate) const IDLES: Names = Names {
    kind: "idle",
    prefix: "TL_IDLE",
    about: "Idle strategy of a reader",
    names: &[
        name("backoff", 0, "Spins, yields, then sleeps for up to 1 ms."),
        name("yield", 1, "Yields the core to other threads."),
        name("spin", 2, "Never yields the core."),
    ],
};

impl Names {
    /// Number of a word.
    pub fn number(&self, word: &str) -> Option<i64> {
        let found = self.names.iter().find(|name| name.word == word)?;
        Some(found.number)
    }

    /// Word of a number.
    pub fn word(&self, number: i64) -> Option<&'static str> {
        let found = self.names.iter().find(|name| name.number == number)?;
        Some(found.word)
    }

    /// Every word, for a sentence: `tops, trades, books`.
    pub fn words(&self) -> String {
        let words: Vec<&str> = self.names.iter().map(|name| name.word).collect();
        words.join(", ")
    }
}

impl Event {
    /// Its kind.
    #[inline]
    pub const fn kind(&self) -> EventKind {
        match self {
            Event::Top(_) => EventKind::Top,
            Event::Trade(_) => EventKind::Trade,
            Event::Book(_) => EventKind::Book,
            Event::Orders(_) => EventKind::Orders,
            Event::Quotes(_) => EventKind::Quotes,
            Event::Statistic(_) => EventKind::Statistic,
            Event::Status(_) => EventKind::Status,
            Event::State(_) => EventKind::State,
            Event::Channel(_) => EventKind::Channel,
            Event::Defined(_) => EventKind::Defined,
            Event::Connection(_) => EventKind::Connection,
        }
    }
}

impl Connection {
    /// Its kind.
    pub const fn kind(&self) -> ConnectionKind {
        match self {
            Connection::CaughtUp { .. } => ConnectionKind::CaughtUp,
            Connection::Overrun { .. } => ConnectionKind::Overrun,
            Connection::PublisherGone => ConnectionKind::PublisherGone,
            Connection::PublisherStalled => ConnectionKind::PublisherStalled,
            Connection::PublisherResumed => ConnectionKind::PublisherResumed,
            Connection::Restarted { .. } => ConnectionKind::Restarted,
            Connection::Corrupt { .. } => ConnectionKind::Corrupt,
            Connection::Incompatible { .. } => ConnectionKind::Incompatible,
            Connection::Damaged => ConnectionKind::Damaged,
            Connection::Forked => ConnectionKind::Forked,
            Connection::Refused => ConnectionKind::Refused,
            Connection::NotWaitedFor => ConnectionKind::NotWaitedFor,
        }
    }
}

impl Error {
    /// Its kind.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Error::NoBus { .. } => ErrorKind::NoBus,
            Error::NotYours { .. } => ErrorKind::NotYours,
            Error::Incompatible { .. } => ErrorKind::Incompatible,
            Error::HalfStarted { .. } => ErrorKind::HalfStarted,
            Error::Damaged { .. } => ErrorKind::Damaged,
            Error::NameTaken { .. } => ErrorKind::NameTaken,
            Error::TooManyReaders { .. } => ErrorKind::TooManyReaders,
            Error::NotLossless { .. } => ErrorKind::NotLossless,
            Error::NoInstrument { .. } => ErrorKind::NoInstrument,
            Error::OtherBus { .. } => ErrorKind::OtherBus,
            Error::NotReady { .. } => ErrorKind::NotReady,
            Error::Option(_) => ErrorKind::Option,
            Error::System(_) => ErrorKind::System,
            Error::Memory(_) => ErrorKind::Memory,
            Error::Tape(_) => ErrorKind::Record,
            Error::Forked { .. } => ErrorKind::Forked,
        }
    }
}

/// Every table, in the order of the page of names.
pub const TABLES: [Names; 14] = [
    JOINS,
    IDLES,
    EVENTS,
    CONNECTIONS,
    ERRORS,
    STATES,
    SIDES,
    AGGRESSORS,
    BOOKS,
    LEVEL_ACTIONS,
    ORDER_ACTIONS,
    TRADE_ACTIONS,
    STATISTICS,
    DESK_EVENTS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_constants_are_unique_and_the_types_say_the_same_words() {
        let mut constants = std::collections::BTreeSet::new();
        for table in TABLES {
            for name in table.names {
                assert!(
                    constants.insert(format!("{}_{}", table.prefix, name.word)),
                    "{} twice in {}",
                    name.word,
                    table.kind
                );
                assert_eq!(table.number(name.word), Some(name.number));
            }
        }
        let states = [
            State::Live,
            State::Gapped,
            State::Recovering,
            State::NaturalRefresh,
            State::Stale,
            State::Closed,
        ];
        for state in states {
            assert_eq!(STATES.number(state.name()), Some(state as i64));
        }
        for aggressor in [Aggressor::Buy, Aggressor::Sell, Aggressor::None] {
            assert_eq!(AGGRESSORS.number(aggressor.name()), Some(aggressor as i64));
        }
    }
}
