//! Reader of the composite's bus: the quotes that it sees as live.

use super::BUS;
use std::collections::BTreeMap;
use touchline_transport::SubscriptionEvent;
use touchline_transport::bus::Polled;
use touchline_transport::shm::{Item, Join, Kinds, Root, Subscriber};
use touchline_types::{ChannelState, Instrument, Update, Validity};

/// A reader that trusts a bus no longer than its publisher is at work.
pub struct Reader {
    subscriber: Subscriber,
    state: State,
}

/// Items of one read; the next read continues.
const ITEMS_MAX: usize = 100_000;

struct State {
    /// Validity and banks at the best, by pair.
    pairs: BTreeMap<Instrument, (Validity, Vec<String>)>,
    channel: ChannelState,
    is_trusted: bool,
}

impl Reader {
    /// Joins the composite's bus.
    pub fn join(root: &Root) -> Reader {
        let join = Join {
            kinds: Kinds::QUOTES | Kinds::BOOKS,
            ..Join::default()
        };
        Reader {
            subscriber: Subscriber::join(root, BUS, join).expect("the composer publishes"),
            state: State {
                pairs: BTreeMap::new(),
                channel: ChannelState::LIVE,
                is_trusted: true,
            },
        }
    }

    /// Reads everything that is there, up to a limit, and whether its publisher is at work.
    pub fn read(&mut self) {
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

    /// Whether a bank is shown as one that may be dealt with.
    pub fn shows(&self, bank: &str) -> bool {
        self.is_live() && self.live().any(|name| name == bank)
    }

    /// Whether any bank is.
    pub fn shows_any(&self) -> bool {
        self.is_live() && self.live().next().is_some()
    }

    /// Whether the bus is live as a whole.
    pub fn is_live(&self) -> bool {
        self.state.is_trusted && self.state.channel.price == Validity::Live
    }

    fn live(&self) -> impl Iterator<Item = &String> {
        let rows = self.state.pairs.values();
        rows.filter(|row| row.0 == Validity::Live)
            .flat_map(|row| &row.1)
    }
}

impl State {
    fn take(&mut self, item: Item<'_>) {
        match item {
            Item::Update(received) => match received.update {
                Update::QuoteSnapshot(snapshot) => {
                    let best = snapshot.quotes.iter().filter(|quote| quote.tier.is_none());
                    let banks = best.map(|quote| quote.quote_id.to_string()).collect();
                    let row = (snapshot.stream.validity, banks);
                    self.pairs.insert(snapshot.stream.instrument, row);
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
        if validity != Validity::Live {
            self.pairs.remove(&pair);
        }
    }

    fn event(&mut self, event: SubscriptionEvent) {
        match event {
            SubscriptionEvent::PublisherResumed => self.is_trusted = true,
            SubscriptionEvent::CaughtUp => {}
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
            | SubscriptionEvent::Forked => self.is_trusted = false,
        }
    }
}
