//! A reader of the composite's bus, with the quotes that it may use.

use touchline_transport::SubscriptionEvent;
use touchline_transport::bus::Polled;
use touchline_transport::shm::{Images, Item, Join, Kinds, Root, Subscriber};
use touchline_types::{ChannelState, Instrument, Update, Validity};

pub struct Reader {
    subscriber: Subscriber,
    state: State,
}

struct State {
    /// Best prices with their bank, while they are live.
    best: Option<Vec<(i64, usize)>>,
    /// Levels of the book while it is live, from its updates.
    is_book_live: bool,
    channel: ChannelState,
    is_trusted: bool,
}

impl Reader {
    pub fn join(root: &Root) -> Reader {
        let join = Join {
            kinds: Kinds::QUOTES | Kinds::BOOKS,
            ..Join::default()
        };
        Reader {
            subscriber: Subscriber::join(root, "fx", join).expect("the composite's bus"),
            state: State {
                best: None,
                is_book_live: false,
                channel: ChannelState::LIVE,
                is_trusted: true,
            },
        }
    }

    /// Reads all messages. All live prices, with the bank if it is named; `None` if no price may be used.
    pub fn read(&mut self, root: &Root) -> Option<Vec<(i64, Option<usize>)>> {
        // The same checks as in a program that is about to act.
        self.subscriber.look_again();
        let state = &mut self.state;
        while !matches!(
            self.subscriber.poll(|item| state.take(item)),
            Polled::Nothing
        ) {}
        if !state.is_trusted || state.channel.price != Validity::Live {
            return None;
        }
        let best = state.best.iter().flatten();
        let mut shown: Vec<_> = best.map(|(price, bank)| (*price, Some(*bank))).collect();
        let mut images = Images::open(root, "fx").expect("the composite's bus");
        let image = images.book(Instrument(0)).expect("a book");
        let book = image.snapshot(Instrument(0));
        if state.is_book_live && book.validity == Validity::Live {
            let levels = book.bids.iter().chain(book.asks);
            shown.extend(levels.map(|level| (level.price.0, None)));
        }
        Some(shown)
    }
}

impl State {
    fn take(&mut self, item: Item<'_>) {
        match item {
            Item::Update(received) => match received.update {
                Update::QuoteSnapshot(snapshot) => {
                    let is_live = snapshot.stream.validity == Validity::Live;
                    let best = snapshot.quotes.iter().filter(|quote| quote.tier.is_none());
                    let named = best.map(|quote| {
                        let bank = quote.quote_id.as_str().trim_start_matches("LP");
                        (quote.price.0, bank.parse().expect("the name of a bank"))
                    });
                    self.best = is_live.then(|| named.collect());
                }
                Update::State(state) => self.validity(state.validity),
                Update::Book(update) => self.validity(update.validity),
                Update::BookSnapshot(snapshot) => self.validity(snapshot.validity),
                Update::Channel(state) => self.channel = *state,
                _ => {}
            },
            Item::SubscriptionEvent(event) => self.event(event),
            Item::Top { .. } | Item::BatchEnd | Item::Undecoded(_) => {}
        }
    }

    fn validity(&mut self, validity: Validity) {
        self.is_book_live = validity == Validity::Live;
        if !self.is_book_live {
            self.best = None;
        }
    }

    fn event(&mut self, event: SubscriptionEvent) {
        match event {
            SubscriptionEvent::PublisherResumed => self.is_trusted = true,
            SubscriptionEvent::CaughtUp => {}
            SubscriptionEvent::Restarted { .. } => {
                (self.best, self.is_book_live, self.is_trusted) = (None, false, true);
            }
            SubscriptionEvent::Overrun { .. } | SubscriptionEvent::Corrupt { .. } => {
                (self.best, self.is_book_live) = (None, false);
            }
            SubscriptionEvent::PublisherGone
            | SubscriptionEvent::PublisherStalled
            | SubscriptionEvent::Damaged
            | SubscriptionEvent::Incompatible { .. }
            | SubscriptionEvent::Forked => self.is_trusted = false,
        }
    }
}
