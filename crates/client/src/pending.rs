//! Message that was read and not yet returned as an event.

use crate::values::Meta;
use touchline_transport::SubscriptionEvent;
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookSnapshot, BookUpdate, ChannelState, Depth, Gap, Instrument, InstrumentDefinition, Level,
    LevelChange, OrderChange, Phase, QuoteAction, QuoteChange, QuoteStream, Statistic, Trade,
    TradingStatus, Update, Validity,
};

/// Copy of one message, in memory that is allocated once.
#[derive(Debug)]
pub(crate) struct Pending {
    pub kind: Kind,
    pub meta: Meta,
    /// A top derived from the message, to be returned before it.
    pub top: Option<TopOfBook>,
    pub changes: Vec<LevelChange>,
    pub levels: Vec<Level>,
    pub orders: Vec<OrderChange>,
    pub quotes: Vec<QuoteChange>,
    pub definition: InstrumentDefinition,
}

/// Kind of the message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Nothing,
    Top(TopOfBook),
    /// The steps are in `changes`.
    Book(BookHead),
    /// The levels are in `levels`, list after list, with these counts.
    Whole(Instrument, Validity, [usize; 4]),
    /// The steps are in `orders`; whether they are the whole book.
    Orders(Instrument, Validity, bool),
    /// The steps are in `quotes`; whether they are all.
    Quotes(QuoteStream, bool),
    Trade(Trade),
    Statistic(Statistic),
    Status(TradingStatus),
    State(touchline_types::State),
    /// The definition is in `definition`.
    Definition,
    /// The same of an instrument that is not selected: it takes the index of one that was.
    Unselected,
    Gap(Gap),
    Reset,
    Download(Phase),
    Channel(ChannelState),
    Subscription(SubscriptionEvent),
}

/// A book update without its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BookHead {
    pub instrument: Instrument,
    pub security_id: i64,
    pub validity: Validity,
    pub direct: bool,
    pub whole: bool,
    pub best_bid: Option<Level>,
    pub best_ask: Option<Level>,
}

impl Pending {
    /// Allocates room for the steps or levels of one message, for its orders, and for its quotes.
    pub fn with_room(changes_max: usize, orders_max: usize, quotes_max: usize) -> Pending {
        let depth = Depth {
            direct: 0,
            implied: 0,
        };
        Pending {
            kind: Kind::Nothing,
            meta: Meta::default(),
            top: None,
            changes: Vec::with_capacity(changes_max),
            levels: Vec::with_capacity(changes_max),
            orders: Vec::with_capacity(orders_max),
            quotes: Vec::with_capacity(quotes_max),
            definition: InstrumentDefinition::unknown(Instrument(0), 0, depth),
        }
    }

    /// Whether a message is pending.
    #[inline]
    pub fn is_some(&self) -> bool {
        !matches!(self.kind, Kind::Nothing)
    }

    /// Whether the event may change all books: events of each of them precede its own.
    #[inline]
    pub fn may_change_all(&self) -> bool {
        matches!(
            self.kind,
            Kind::Definition
                | Kind::Unselected
                | Kind::Gap(_)
                | Kind::Reset
                | Kind::Channel(_)
                | Kind::Subscription(_)
        )
    }

    /// Whether the event changes the price book, the top or the state of an instrument.
    #[inline]
    pub fn is_of_book(&self, instrument: Instrument) -> bool {
        match &self.kind {
            Kind::Top(top) => top.instrument == instrument,
            Kind::Book(head) => head.instrument == instrument,
            Kind::Whole(of, ..) => *of == instrument,
            Kind::State(state) => state.instrument == instrument,
            _ => false,
        }
    }

    /// Whether the event is a top, of its own or of a book.
    #[inline]
    pub fn is_top(&self) -> bool {
        self.top.is_some() || matches!(self.kind, Kind::Top(_))
    }

    /// The top, if it is one of this instrument.
    #[inline]
    pub fn top_of(&self, instrument: Instrument) -> Option<TopOfBook> {
        match &self.kind {
            Kind::Top(top) if top.instrument == instrument => Some(*top),
            _ => None,
        }
    }

    /// Copies an update.
    pub fn put(&mut self, update: &Update<'_>, meta: Meta) {
        self.meta = meta;
        self.kind = match update {
            Update::Book(book) => {
                self.changes.clear();
                self.changes.extend_from_slice(book.changes);
                Kind::Book(BookHead {
                    instrument: book.instrument,
                    security_id: book.security_id,
                    validity: book.validity,
                    direct: book.direct,
                    whole: book.whole,
                    best_bid: book.best_bid,
                    best_ask: book.best_ask,
                })
            }
            Update::BookSnapshot(book) => {
                let lists = [book.bids, book.asks, book.implied_bids, book.implied_asks];
                self.levels.clear();
                for list in lists {
                    self.levels.extend_from_slice(list);
                }
                Kind::Whole(book.instrument, book.validity, lists.map(<[Level]>::len))
            }
            Update::Orders(orders) => {
                self.orders.clear();
                self.orders.extend_from_slice(orders.changes);
                Kind::Orders(orders.instrument, orders.validity, false)
            }
            Update::OrdersSnapshot(orders) => {
                self.orders.clear();
                self.orders.extend_from_slice(orders.orders);
                Kind::Orders(orders.instrument, orders.validity, true)
            }
            Update::Definition(definition) => {
                self.definition = **definition;
                Kind::Definition
            }
            Update::Trade(trade) => Kind::Trade(**trade),
            Update::Statistic(statistic) => Kind::Statistic(**statistic),
            Update::Status(status) => Kind::Status(**status),
            Update::State(state) => Kind::State(*state),
            Update::Gap(gap) => Kind::Gap(*gap),
            Update::Reset => Kind::Reset,
            Update::Download(phase) => Kind::Download(*phase),
            Update::Channel(state) => Kind::Channel(**state),
            Update::Quotes(update) => {
                self.quotes.clear();
                self.quotes.extend_from_slice(update.changes);
                Kind::Quotes(update.stream, false)
            }
            Update::QuoteSnapshot(snapshot) => {
                let set = |quote| QuoteChange {
                    action: QuoteAction::Set,
                    quote,
                };
                self.quotes.clear();
                self.quotes.extend(snapshot.quotes.iter().copied().map(set));
                Kind::Quotes(snapshot.stream, true)
            }
        };
    }

    /// The book update of a head, with the stored steps.
    pub fn book(&self, head: &BookHead) -> BookUpdate<'_> {
        BookUpdate {
            instrument: head.instrument,
            security_id: head.security_id,
            validity: head.validity,
            direct: head.direct,
            whole: head.whole,
            changes: &self.changes,
            best_bid: head.best_bid,
            best_ask: head.best_ask,
        }
    }

    /// The stored whole book.
    pub fn whole(
        &self,
        instrument: Instrument,
        validity: Validity,
        counts: [usize; 4],
    ) -> BookSnapshot<'_> {
        let mut rest = self.levels.as_slice();
        let [bids, asks, implied_bids, implied_asks] = counts.map(|count| {
            let (list, behind) = rest.split_at(count);
            rest = behind;
            list
        });
        BookSnapshot {
            instrument,
            validity,
            bids,
            asks,
            implied_bids,
            implied_asks,
        }
    }
}
