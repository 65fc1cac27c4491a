//! Decoding of bytes into a message, with every check: later reads of the message cannot fail.

use super::layout::{self, Block, Fields, Head, LatencyTrace};
use super::schema::NO_INSTRUMENT;
use super::source::Source;
use super::{DefinitionView, Entry, Flags, Group, Malformed, QuotesView, code};
use crate::{
    BookSnapshot, BookUpdate, ChannelState, Gap, Instrument, Level, LevelChange, PacketInfo, Phase,
    Price, Quantity, Side, State, Statistic, StatisticKind, Timestamps, Touch, TouchSource, Trade,
    TradingStatus, UpdateAction, Validity,
};
use zerocopy::little_endian::{I32, I64};
use zerocopy::{FromZeros, IntoBytes};

/// A message that was checked from end to end.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its contents.
    pub body: Body<'a>,
    head: &'a Head,
    trace: Option<&'a LatencyTrace>,
    version: u16,
}

/// Contents of a message. Small ones are values; those with groups are views of the bytes.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// The publication lives.
    Heartbeat,
    /// Loss on the channel.
    Gap(Gap),
    /// Every book is empty and live.
    Reset,
    /// The venue's download has started or ended.
    Download(Phase),
    /// Validity of the whole channel.
    Channel(ChannelState),
    /// An instrument, defined or redefined.
    InstrumentDefinition(DefinitionView<'a>),
    /// A validity alone.
    InstrumentState(State),
    /// Trading state of an instrument or a group.
    TradingStatus(TradingStatus),
    /// A whole price book.
    BookSnapshot(BookSnapshotView<'a>),
    /// Changes of a price book.
    BookUpdate(BookUpdateView<'a>),
    /// The best levels alone.
    TopOfBook(TopOfBook),
    /// A whole order book, as `New` steps.
    OrdersSnapshot(OrdersView<'a, layout::Order>),
    /// Changes of an order book.
    OrderUpdate(OrdersView<'a, layout::OrderChange>),
    /// A trade.
    Trade(Trade),
    /// A session or day figure.
    Statistics(Statistic),
    /// Changes of a provider's quotes.
    QuoteUpdate(QuotesView<'a, layout::QuoteChange>),
    /// All quotes of a provider.
    QuoteSnapshot(QuotesView<'a, layout::Quote>),
    /// A template that a newer writer added: to be skipped.
    Unknown {
        /// Its number.
        template_id: u16,
    },
}

/// A [`BookSnapshot`](crate::BookSnapshot), or a part of one, in a message.
#[derive(Clone, Copy, Debug)]
pub struct BookSnapshotView<'a> {
    /// The instrument.
    pub instrument: Instrument,
    /// How far it may be trusted.
    pub validity: Validity,
    groups: &'a [u8],
}

/// A [`BookUpdate`], or a part of one, in a message.
#[derive(Clone, Copy, Debug)]
pub struct BookUpdateView<'a> {
    /// The instrument.
    pub instrument: Instrument,
    /// How far the book may be trusted after it.
    pub validity: Validity,
    /// The steps, in order.
    pub changes: Group<'a, layout::LevelChange>,
    block: &'a layout::BookUpdate,
}

/// An [`OrdersUpdate`](crate::OrdersUpdate) or an [`OrdersSnapshot`](crate::OrdersSnapshot), or a
/// part of one, in a message.
#[derive(Clone, Copy, Debug)]
pub struct OrdersView<'a, E: Entry> {
    /// The instrument.
    pub instrument: Instrument,
    /// How far the order book may be trusted after it.
    pub validity: Validity,
    /// The steps, in order.
    pub changes: Group<'a, E>,
}

/// The best prices of an instrument: of each side the better of the direct and the implied book ([`Touch`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopOfBook {
    /// The instrument.
    pub instrument: Instrument,
    /// How far its book may be trusted.
    pub validity: Validity,
    /// Best bid; NULL if absent.
    pub bid_price: Price,
    /// Its quantity; NULL if absent.
    pub bid_quantity: Quantity,
    /// Best ask; NULL if absent.
    pub ask_price: Price,
    /// Its quantity; NULL if absent.
    pub ask_quantity: Quantity,
    /// Book of the bid; `None` without a bid.
    pub bid_book: Option<TouchSource>,
    /// Book of the ask; `None` without an ask.
    pub ask_book: Option<TouchSource>,
}

impl TopOfBook {
    /// Version of the schema since which a top is of both books; those of older writers are of the direct book alone.
    pub const MERGED_SINCE: u16 = 3;

    /// The top of a book that is not known yet.
    pub const fn unknown(instrument: Instrument) -> TopOfBook {
        TopOfBook {
            instrument,
            validity: Validity::Recovering,
            bid_price: Price::NULL,
            bid_quantity: Quantity::NULL,
            ask_price: Price::NULL,
            ask_quantity: Quantity::NULL,
            bid_book: None,
            ask_book: None,
        }
    }

    /// Top of book with these best prices, bid first.
    #[inline]
    pub fn new(
        instrument: Instrument,
        validity: Validity,
        [bid, ask]: [Option<Touch>; 2],
    ) -> TopOfBook {
        let price = |touch: Option<Touch>| touch.map_or(Price::NULL, |touch| touch.price);
        let quantity = |touch: Option<Touch>| touch.map_or(Quantity::NULL, |touch| touch.quantity);
        TopOfBook {
            instrument,
            validity,
            bid_price: price(bid),
            bid_quantity: quantity(bid),
            ask_price: price(ask),
            ask_quantity: quantity(ask),
            bid_book: bid.map(|touch| touch.source),
            ask_book: ask.map(|touch| touch.source),
        }
    }

    /// Best price of a side, if there is one.
    #[inline]
    pub fn touch(&self, side: Side) -> Option<Touch> {
        let (price, quantity, book) = match side {
            Side::Bid => (self.bid_price, self.bid_quantity, self.bid_book),
            Side::Ask => (self.ask_price, self.ask_quantity, self.ask_book),
        };
        book.map(|source| Touch {
            price,
            quantity,
            source,
        })
    }
}

impl From<&BookSnapshot<'_>> for TopOfBook {
    fn from(book: &BookSnapshot<'_>) -> TopOfBook {
        let best = |levels: &[Level]| levels.first().copied();
        let touches = [
            Touch::of(Side::Bid, best(book.bids), best(book.implied_bids)),
            Touch::of(Side::Ask, best(book.asks), best(book.implied_asks)),
        ];
        TopOfBook::new(book.instrument, book.validity, touches)
    }
}

impl<'a> Message<'a> {
    /// Checks the message that is the whole of `bytes`.
    ///
    /// # Errors
    /// Inconsistent lengths, groups or codes; see [`Malformed`]. An unknown template is not an error: its header is
    /// read, and its body is [`Body::Unknown`].
    // Inlined, the message stays in registers: half the time of one that is returned in memory.
    #[inline(always)]
    pub fn parse(bytes: &'a [u8]) -> Result<Message<'a>, Malformed> {
        let source = &mut Source::open(bytes)?;
        let body = match source.template_id {
            layout::BookUpdate::TEMPLATE_ID => book_update(source)?,
            layout::OrderUpdate::TEMPLATE_ID => order_update(source)?,
            layout::TopOfBook::TEMPLATE_ID => top_of_book(source)?,
            layout::Trade::TEMPLATE_ID => trade(source)?,
            _ => rare(source)?,
        };
        let trace = match body {
            Body::TopOfBook(_) | Body::Unknown { .. } => None,
            _ => Some(source.trace()?),
        };
        source.close()?;
        Ok(Message {
            body,
            head: source.head,
            trace,
            version: source.version,
        })
    }

    /// Version of the writer's schema.
    #[inline]
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Number of the message in its publication, without gaps, from 1.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.head.sequence.get()
    }

    /// Flags: position in the batch and in the event.
    #[inline]
    pub fn flags(&self) -> Flags {
        Flags(self.head.flags)
    }

    /// The instrument of the message, if it has one.
    #[inline]
    pub fn instrument(&self) -> Option<Instrument> {
        let instrument = Instrument(self.head.instrument.get());
        (instrument != NO_INSTRUMENT).then_some(instrument)
    }

    /// Validity of the message's book after it; `None` for a message without a book.
    #[inline]
    pub fn validity(&self) -> Option<Validity> {
        Validity::from_code(self.head.validity)
    }

    /// Timestamps of the message; those that it does not carry are 0.
    #[inline]
    pub fn timestamps(&self) -> Timestamps {
        let mut timestamps = Timestamps {
            exchange_ns: self.head.exchange_ns.get(),
            packet: PacketInfo {
                receive_ns: self.head.receive_ns.get(),
                ..PacketInfo::default()
            },
            ..Timestamps::default()
        };
        if let Some(trace) = self.trace {
            // Checked to fit when the message was parsed.
            timestamps.packet.sequence = trace.packet_sequence.get();
            timestamps.packet.sending_ns = trace.sending_ns.get();
            timestamps.polled = trace.polled.get();
            timestamps.decoded = trace.decoded.get();
            timestamps.applied = trace.applied.get();
            timestamps.published = trace.published.get();
        }
        timestamps
    }
}

impl BookUpdateView<'_> {
    /// The update with those changes, which are the view's own, or all of a split update.
    #[inline(always)]
    pub fn update<'c>(&self, changes: &'c [LevelChange]) -> BookUpdate<'c> {
        let block = self.block;
        let flags = Flags(block.head.flags);
        let bid = (block.bid_price, block.bid_quantity, block.bid_orders);
        let ask = (block.ask_price, block.ask_quantity, block.ask_orders);
        BookUpdate {
            instrument: self.instrument,
            security_id: block.venue_id.get(),
            validity: self.validity,
            direct: flags.has(Flags::DIRECT),
            whole: !flags.has(Flags::CUT),
            changes,
            best_bid: best(block.bid_state, bid),
            best_ask: best(block.ask_state, ask),
        }
    }
}

/// A best level, if there is one.
#[inline(always)]
fn best(state: u8, (price, quantity, orders): (I64, I64, I32)) -> Option<Level> {
    (state != code::LEVEL_ABSENT).then_some(Level {
        price: Price(price.get()),
        quantity: Quantity(quantity.get()),
        orders: orders.get(),
        known: state == code::LEVEL_KNOWN,
    })
}

impl<'a> BookSnapshotView<'a> {
    /// Bids, asks, implied bids, implied asks; each best first.
    ///
    /// # Errors
    /// A group cannot be read. Not in a message that was parsed, which checks them; never a list without levels instead.
    pub fn lists(&self) -> Result<[Group<'a, layout::Level>; 4], Malformed> {
        let (bids, rest) = Group::split(self.groups)?;
        let (asks, rest) = Group::split(rest)?;
        let (implied_bids, rest) = Group::split(rest)?;
        let (implied_asks, _) = Group::split(rest)?;
        Ok([bids, asks, implied_bids, implied_asks])
    }
}

#[inline(always)]
fn book_update<'a>(source: &mut Source<'a>) -> Result<Body<'a>, Malformed> {
    let block: &layout::BookUpdate = source.block()?;
    if block.bid_state > code::LEVEL_UNKNOWN {
        return Err(Malformed::Value("bidState"));
    }
    if block.ask_state > code::LEVEL_UNKNOWN {
        return Err(Malformed::Value("askState"));
    }
    Ok(Body::BookUpdate(BookUpdateView {
        instrument: source.instrument()?,
        validity: source.validity()?,
        changes: source.group()?,
        block,
    }))
}

#[inline(always)]
fn order_update<'a>(source: &mut Source<'a>) -> Result<Body<'a>, Malformed> {
    source.block::<layout::OrderUpdate>()?;
    Ok(Body::OrderUpdate(orders(source)?))
}

#[inline(always)]
fn orders<'a, E: Entry>(source: &mut Source<'a>) -> Result<OrdersView<'a, E>, Malformed> {
    Ok(OrdersView {
        instrument: source.instrument()?,
        validity: source.validity()?,
        changes: source.group()?,
    })
}

#[inline(always)]
fn top_of_book<'a>(source: &mut Source<'a>) -> Result<Body<'a>, Malformed> {
    if source.version < TopOfBook::MERGED_SINCE {
        return direct_top(source);
    }
    let block: &layout::TopOfBook = source.block()?;
    top_of(source, block)
}

/// The top of an older writer: of the direct book.
#[cold]
#[inline(never)]
fn direct_top<'a>(source: &Source<'a>) -> Result<Body<'a>, Malformed> {
    let known = source.block.get(..layout::TopOfBook::BASE_BYTES);
    let mut block = layout::TopOfBook::new_zeroed();
    block.as_mut_bytes()[..layout::TopOfBook::BASE_BYTES]
        .copy_from_slice(known.ok_or(Malformed::BlockTooShort)?);
    let book = |price: I64| match Price(price.get()).is_null() {
        true => code::NULL,
        false => TouchSource::Direct as u8,
    };
    block.bid_book = book(block.bid_price);
    block.ask_book = book(block.ask_price);
    top_of(source, &block)
}

#[inline(always)]
fn top_of<'a>(source: &Source<'a>, block: &layout::TopOfBook) -> Result<Body<'a>, Malformed> {
    let book = |number, field| {
        code::optional(number, TouchSource::from_code).ok_or(Malformed::Value(field))
    };
    Ok(Body::TopOfBook(TopOfBook {
        instrument: source.instrument()?,
        validity: source.validity()?,
        bid_price: Price(block.bid_price.get()),
        bid_quantity: Quantity(block.bid_quantity.get()),
        ask_price: Price(block.ask_price.get()),
        ask_quantity: Quantity(block.ask_quantity.get()),
        bid_book: book(block.bid_book, "bidBook")?,
        ask_book: book(block.ask_book, "askBook")?,
    }))
}

#[inline(always)]
fn trade<'a>(source: &mut Source<'a>) -> Result<Body<'a>, Malformed> {
    let block: &layout::Trade = source.block()?;
    let aggressor = match block.aggressor {
        code::NULL => None,
        side => Some(Side::from_code(side).ok_or(Malformed::Value("aggressor"))?),
    };
    Ok(Body::Trade(Trade {
        instrument: source.instrument()?,
        orders: block.orders.get(),
        price: Price(block.price.get()),
        quantity: Quantity(block.quantity.get()),
        aggressor,
        action: UpdateAction::from_code(block.action).ok_or(Malformed::Value("action"))?,
        trade_id: block.trade_id.get(),
    }))
}

/// The templates that are not worth a place on the path.
#[inline(never)]
fn rare<'a>(source: &mut Source<'a>) -> Result<Body<'a>, Malformed> {
    Ok(match source.template_id {
        layout::Heartbeat::TEMPLATE_ID => {
            source.block::<layout::Heartbeat>()?;
            Body::Heartbeat
        }
        layout::Gap::TEMPLATE_ID => gap(source.block()?)?,
        layout::Reset::TEMPLATE_ID => {
            source.block::<layout::Reset>()?;
            Body::Reset
        }
        layout::Download::TEMPLATE_ID => {
            let block: &layout::Download = source.block()?;
            Body::Download(Phase::from_code(block.phase).ok_or(Malformed::Value("phase"))?)
        }
        layout::ChannelState::TEMPLATE_ID => channel_state(source.block()?)?,
        layout::InstrumentDefinition::TEMPLATE_ID => {
            Body::InstrumentDefinition(DefinitionView::parse(source)?)
        }
        layout::InstrumentState::TEMPLATE_ID => {
            source.block::<layout::InstrumentState>()?;
            Body::InstrumentState(State {
                instrument: source.instrument()?,
                validity: source.validity()?,
            })
        }
        layout::TradingStatus::TEMPLATE_ID => trading_status(source)?,
        layout::BookSnapshot::TEMPLATE_ID => book_snapshot(source)?,
        layout::OrdersSnapshot::TEMPLATE_ID => {
            source.block::<layout::OrdersSnapshot>()?;
            Body::OrdersSnapshot(orders(source)?)
        }
        layout::Statistics::TEMPLATE_ID => statistics(source)?,
        layout::QuoteUpdate::TEMPLATE_ID => {
            let block: &layout::QuoteUpdate = source.block()?;
            Body::QuoteUpdate(QuotesView::parse(source, &block.stream)?)
        }
        layout::QuoteSnapshot::TEMPLATE_ID => {
            let block: &layout::QuoteSnapshot = source.block()?;
            Body::QuoteSnapshot(QuotesView::parse(source, &block.stream)?)
        }
        template_id => {
            // Groups of it are not ours to count.
            source.rest = &[];
            Body::Unknown { template_id }
        }
    })
}

fn gap<'a>(block: &layout::Gap) -> Result<Body<'a>, Malformed> {
    let (first, last) = (block.first_lost.get(), block.last_lost.get());
    if first > last {
        return Err(Malformed::Value("lastLost"));
    }
    Ok(Body::Gap(Gap {
        first,
        last,
        orders: Validity::from_code(block.orders_validity)
            .ok_or(Malformed::Value("ordersValidity"))?,
    }))
}

fn channel_state<'a>(block: &layout::ChannelState) -> Result<Body<'a>, Malformed> {
    let price =
        Validity::from_code(block.price_validity).ok_or(Malformed::Value("priceValidity"))?;
    let orders =
        Validity::from_code(block.orders_validity).ok_or(Malformed::Value("ordersValidity"))?;
    Ok(Body::Channel(ChannelState {
        price,
        orders,
        sequence: block.channel_sequence.get(),
    }))
}

fn trading_status<'a>(source: &Source<'a>) -> Result<Body<'a>, Malformed> {
    let block: &layout::TradingStatus = source.block()?;
    Ok(Body::TradingStatus(TradingStatus {
        instrument: source.instrument_if_any(),
        group: block.product_group.0,
        status: block.status_code,
        reason: block.reason_code,
        event: block.event_code,
    }))
}

fn book_snapshot<'a>(source: &mut Source<'a>) -> Result<Body<'a>, Malformed> {
    source.block::<layout::BookSnapshot>()?;
    let groups = source.rest;
    for _ in 0..4 {
        source.group::<layout::Level>()?;
    }
    Ok(Body::BookSnapshot(BookSnapshotView {
        instrument: source.instrument()?,
        validity: source.validity()?,
        groups,
    }))
}

fn statistics<'a>(source: &Source<'a>) -> Result<Body<'a>, Malformed> {
    let block: &layout::Statistics = source.block()?;
    Ok(Body::Statistics(Statistic {
        instrument: source.instrument()?,
        // Venues add statistics, and newer writers will name them: an unknown one is `Other`.
        kind: StatisticKind::from_code(block.kind).unwrap_or(StatisticKind::Other),
        action: UpdateAction::from_code(block.action).ok_or(Malformed::Value("action"))?,
        price: Price(block.price.get()),
        quantity: Quantity(block.quantity.get()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups that end too soon are an error of the lists, in whichever of them.
    #[test]
    fn groups_that_cannot_be_read_are_an_error() {
        // Four groups without entries: the length of an entry, and the number of entries.
        let length = size_of::<layout::Level>() as u16;
        let groups = [length, 0].map(u16::to_le_bytes).concat().repeat(4);
        let lists = |groups| {
            let view = BookSnapshotView {
                instrument: Instrument(0),
                validity: Validity::Live,
                groups,
            };
            view.lists().map(|lists| lists.map(|list| list.len()))
        };
        assert_eq!(lists(&groups), Ok([0; 4]));
        for cut in 0..groups.len() {
            assert_eq!(lists(&groups[..cut]), Err(Malformed::DimensionCut), "{cut}");
        }
    }
}
