//! Reader of a composite's bus: the quotes that a program may use now.

use std::collections::BTreeMap;
use touchline_transport::SubscriptionEvent;
use touchline_transport::bus::Polled;
use touchline_transport::shm::{Item, Join, Kinds, Root, Subscriber};
use touchline_types::{ChannelState, Id, Instrument, Price, Update, Validity};

/// Items of one read; the next read continues.
const ITEMS_MAX: usize = 100_000;

/// A reader that trusts a bus no longer than its publisher is at work.
pub struct Reader {
    subscriber: Subscriber,
    state: State,
}

/// A pair, from its updates.
#[derive(Debug, Default)]
pub struct Pair {
    /// Best prices and their banks, if they are live.
    pub best: Vec<(Price, Id)>,
    /// Whether its book is live.
    pub is_book_live: bool,
}

struct State {
    pairs: BTreeMap<Instrument, Pair>,
    channel: ChannelState,
    is_trusted: bool,
}

impl Reader {
    /// Joins the composite's bus `fx`.
    ///
    /// # Panics
    /// There is no such bus.
    pub fn join(root: &Root) -> Reader {
        let join = Join {
            kinds: Kinds::QUOTES | Kinds::BOOKS,
            ..Join::default()
        };
        Reader {
            subscriber: Subscriber::join(root, "fx", join).expect("the composer publishes"),
            state: State {
                pairs: BTreeMap::new(),
                channel: ChannelState::LIVE,
                is_trusted: true,
            },
        }
    }

    /// Reads everything that is there, up to a limit, and whether its publisher is at work.
    pub fn read(&mut self) {
        // The same checks as in a program that is about to act.
        self.subscriber.look_again();
        let state = &mut self.state;
        for _ in 0..ITEMS_MAX {
            if matches!(
                self.subscriber.poll(|item| state.take(item)),
                Polled::Nothing
            ) {
                return;
            }
        }
    }

    /// Whether the bus is live as a whole.
    pub fn is_live(&self) -> bool {
        self.state.is_trusted && self.state.channel.price == Validity::Live
    }

    /// A pair, if it had an update.
    pub fn pair(&self, pair: Instrument) -> Option<&Pair> {
        self.state.pairs.get(&pair)
    }

    /// Banks that are shown at the best price of a pair, as banks that may be dealt with.
    pub fn banks(&self) -> impl Iterator<Item = &Id> {
        let pairs = self.state.pairs.values().filter(|_| self.is_live());
        pairs.flat_map(|pair| pair.best.iter().map(|(_, bank)| bank))
    }
}

impl State {
    fn take(&mut self, item: Item<'_>) {
        match item {
            Item::Update(received) => match received.update {
                Update::QuoteSnapshot(snapshot) => {
                    let is_live = snapshot.stream.validity == Validity::Live;
                    let best = snapshot.quotes.iter().filter(|quote| quote.tier.is_none());
                    let best = best.filter(|_| is_live);
                    let pair = self.pairs.entry(snapshot.stream.instrument).or_default();
                    pair.best = best.map(|quote| (quote.price, quote.quote_id)).collect();
                }
                Update::State(state) => self.validity(state.instrument, state.validity),
                Update::Book(update) => self.validity(update.instrument, update.validity),
                Update::BookSnapshot(book) => self.validity(book.instrument, book.validity),
                Update::Channel(state) => self.channel = *state,
                _ => {}
            },
            Item::SubscriptionEvent(event) => self.event(event),
            Item::Top { .. } | Item::BatchEnd | Item::Undecoded(_) => {}
        }
    }

    /// Banks that were at the best when a pair stopped being live are not believed again.
    fn validity(&mut self, pair: Instrument, validity: Validity) {
        let pair = self.pairs.entry(pair).or_default();
        pair.is_book_live = validity == Validity::Live;
        if !pair.is_book_live {
            pair.best.clear();
        }
    }

    fn event(&mut self, event: SubscriptionEvent) {
        match event {
            SubscriptionEvent::PublisherResumed => self.is_trusted = true,
            SubscriptionEvent::CaughtUp | SubscriptionEvent::NotWaitedFor => {}
            SubscriptionEvent::Restarted { .. } => {
                self.pairs.clear();
                self.is_trusted = true;
            }
            // A lost message may have removed a quote.
            SubscriptionEvent::Overrun { .. } | SubscriptionEvent::Corrupt { .. } => {
                self.pairs.clear();
            }
            SubscriptionEvent::PublisherGone
            | SubscriptionEvent::PublisherStalled
            | SubscriptionEvent::Damaged
            | SubscriptionEvent::Incompatible { .. }
            | SubscriptionEvent::Refused
            | SubscriptionEvent::Forked => self.is_trusted = false,
        }
    }
}
