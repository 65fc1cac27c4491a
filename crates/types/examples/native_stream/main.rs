//! Native messages for another program, and the fields that they contain: the Rust half of `cargo xtask sbe-oracle`.
//!
//! `write SEED COUNT STREAM DUMP` writes random messages of every template and the fields that our decoder reads in them;
//! `dump STREAM DUMP` writes the fields that our decoder reads in messages that another program encoded.
//!
//! A stream is a sequence of messages, each behind its length, a little-endian 32-bit integer. A dump has a line
//! a message, in the words of the codecs that the official SBE tool generates: fields with their raw numbers, enums and
//! sets by name, unsigned 64-bit integers as Java prints them.

use std::error::Error;
use std::fmt::Write;
use std::{env, fs};
use touchline_lab::quotes::{quote_changes, quote_stream, quotes};
use touchline_lab::random::Random;
use touchline_lab::updates::RandomUpdates;
use touchline_types::native::{
    Body, BookUpdateView, DefinitionView, Flags, Message, TopOfBook, encode_heartbeat,
    encode_quote_snapshot, encode_quote_update, encode_top_of_book, parts, quote_snapshot_parts,
    quote_update_parts,
};
use touchline_types::{
    BookKind, BookUpdate, ChannelState, Gap, Level, LevelChange, OrderChange, Price, Quantity,
    Quote, QuoteAction, QuoteChange, QuoteSnapshot, QuoteStream, QuoteUpdate, ReferenceData, Side,
    Statistic, Touch, Trade, TradingStatus, Update,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["write", seed, count, stream, dump] => {
            let bytes = random_stream(seed.parse()?, count.parse()?);
            fs::write(dump, dump_of(&bytes)?)?;
            fs::write(stream, bytes)?;
        }
        ["dump", stream, dump] => fs::write(dump, dump_of(&fs::read(stream)?)?)?,
        _ => {
            return Err(
                "usage: native_stream write SEED COUNT STREAM DUMP | dump STREAM DUMP".into(),
            );
        }
    }
    Ok(())
}

/// At least `count` messages: updates of every kind, cut into parts of several lengths, and messages that are not updates.
fn random_stream(seed: u64, count: u64) -> Vec<u8> {
    const SOURCES: [Flags; 3] = [
        Flags::NONE,
        Flags::STAMPED_BY_CARD,
        Flags::STAMPED_BY_KERNEL,
    ];
    let mut updates = RandomUpdates::from_seed(seed, 60);
    let mut stream = Vec::new();
    let mut message = [0; 4_096];
    let mut sequence = 0;
    let mut push = |message: &[u8]| {
        stream.extend((message.len() as u32).to_le_bytes());
        stream.extend(message);
    };
    let mut random = Random::from_seed(seed);
    while sequence < count {
        let timestamps = updates.timestamps();
        let flags = SOURCES[sequence as usize % 3] | Flags::END_OF_BATCH.when(sequence % 2 == 0);
        let bytes_max = 256 << (sequence % 5);
        let update = updates.any();
        for part in parts(&update, bytes_max) {
            sequence += 1;
            let length = part.encode(sequence, flags, &timestamps, &mut message);
            push(&message[..length.expect("a part fits its limit")]);
        }
        if let Update::Book(update) = &update {
            sequence += 1;
            let best = [(Side::Bid, update.best_bid), (Side::Ask, update.best_ask)];
            let touches = best.map(|(side, direct)| {
                let implied = random.chance(0.5).then_some(Level {
                    price: direct.map_or(Price(1), |direct| direct.price),
                    quantity: Quantity(random.between(1, 9)),
                    orders: -1,
                    known: true,
                });
                Touch::of(side, direct, implied)
            });
            let top = TopOfBook::new(update.instrument, update.validity, touches);
            let length = encode_top_of_book(&top, sequence, flags, &timestamps, &mut message);
            push(&message[..length.expect("72 bytes")]);
        }
        if let Update::Reset = update {
            sequence += 1;
            let length = encode_heartbeat(sequence, flags, &timestamps, &mut message);
            push(&message[..length.expect("88 bytes")]);
        }
        if random.chance(0.1) {
            let stream = quote_stream(&mut random);
            let changes = &quote_changes(&mut random, 20);
            let update = QuoteUpdate { stream, changes };
            for (part, place) in quote_update_parts(&update, bytes_max) {
                sequence += 1;
                let flags = flags | place;
                let length = encode_quote_update(&part, sequence, flags, &timestamps, &mut message);
                push(&message[..length.expect("a part fits its limit")]);
            }
            let quotes = &quotes(&mut random, 20);
            let snapshot = QuoteSnapshot { stream, quotes };
            for (part, place) in quote_snapshot_parts(&snapshot, bytes_max) {
                sequence += 1;
                let flags = flags | place;
                let length =
                    encode_quote_snapshot(&part, sequence, flags, &timestamps, &mut message);
                push(&message[..length.expect("a part fits its limit")]);
            }
        }
    }
    stream
}

fn dump_of(mut stream: &[u8]) -> Result<String, Box<dyn Error>> {
    let mut dump = String::new();
    while let Some((length, rest)) = stream.split_first_chunk::<4>() {
        let (message, rest) = rest
            .split_at_checked(u32::from_le_bytes(*length) as usize)
            .ok_or("the stream ends inside a message")?;
        line(&Message::parse(message)?, &mut dump)?;
        stream = rest;
    }
    Ok(dump)
}

/// One message, one line.
fn line(message: &Message<'_>, out: &mut String) -> Result<(), Box<dyn Error>> {
    let mut fields = Fields::default();
    head(message, &mut fields);
    let name = match &message.body {
        Body::Heartbeat => "Heartbeat",
        Body::Reset => "Reset",
        Body::InstrumentState(_) => "InstrumentState",
        Body::Download(phase) => {
            fields.name("phase", Some(*phase));
            "Download"
        }
        Body::Channel(state) => fields.channel(state),
        Body::Gap(gap) => fields.gap(gap),
        Body::InstrumentDefinition(view) => fields.definition(view),
        Body::TradingStatus(status) => fields.status(status),
        Body::BookSnapshot(view) => {
            let names = ["bids", "asks", "impliedBids", "impliedAsks"];
            for (name, levels) in names.into_iter().zip(view.lists()?) {
                fields.group(name, levels.iter(), Fields::snapshot_level);
            }
            "BookSnapshot"
        }
        Body::BookUpdate(view) => fields.book_update(view),
        Body::TopOfBook(top) => fields.top_of_book(top),
        Body::OrdersSnapshot(view) => {
            fields.group("orders", view.changes.iter(), Fields::order);
            "OrdersSnapshot"
        }
        Body::OrderUpdate(view) => {
            fields.group("changes", view.changes.iter(), Fields::order_change);
            "OrderUpdate"
        }
        Body::Trade(trade) => fields.trade(trade),
        Body::Statistics(statistic) => fields.statistics(statistic),
        Body::QuoteUpdate(view) => {
            fields.quote_stream(&view.stream());
            fields.group("changes", view.quotes.iter(), Fields::quote_change);
            "QuoteUpdate"
        }
        Body::QuoteSnapshot(view) => {
            fields.quote_stream(&view.stream());
            fields.group("quotes", view.quotes.iter(), Fields::snapshot_quote);
            "QuoteSnapshot"
        }
        Body::Unknown { template_id } => return Err(format!("template {template_id}?").into()),
    };
    writeln!(out, "{name} {}", fields.0)?;
    Ok(())
}

fn head(message: &Message<'_>, fields: &mut Fields) {
    let timestamps = message.timestamps();
    fields.word("sequence", message.sequence());
    fields.word("exchangeNs", timestamps.exchange_ns);
    fields.word("receiveNs", timestamps.packet.receive_ns);
    fields.put("instrument", message.instrument().map_or(u32::MAX, |i| i.0));
    fields.name("validity", message.validity());
    fields.set("flags", message.flags().0, &FLAGS);
    if matches!(message.body, Body::TopOfBook(_)) {
        return;
    }
    fields.word("packetSequence", timestamps.packet.sequence);
    fields.word("sendingNs", timestamps.packet.sending_ns);
    fields.word("polled", timestamps.polled);
    fields.word("decoded", timestamps.decoded);
    fields.word("applied", timestamps.applied);
    fields.word("published", timestamps.published);
}

/// The choices of the schema's Flags, by bit.
const FLAGS: [&str; 7] = [
    "endOfBatch",
    "continued",
    "more",
    "direct",
    "cut",
    "stampedByCard",
    "stampedByKernel",
];

/// Fields as text, each `name=value`, with a bar between them.
#[derive(Default)]
struct Fields(String);

impl Fields {
    fn put(&mut self, name: &str, value: impl std::fmt::Display) {
        let bar = if self.0.is_empty() { "" } else { "|" };
        let _ = write!(self.0, "{bar}{name}={value}");
    }

    /// As Java prints it, which has no unsigned numbers.
    fn word(&mut self, name: &str, value: u64) {
        self.put(name, value as i64);
    }

    fn price(&mut self, name: &str, price: Price) {
        self.put(name, format_args!("(mantissa={}|)", price.0));
    }

    fn quantity(&mut self, name: &str, quantity: Quantity) {
        self.put(name, quantity.0);
    }

    fn name(&mut self, name: &str, value: Option<impl std::fmt::Debug>) {
        match value {
            Some(value) => self.put(name, format_args!("{value:?}")),
            None => self.put(name, "NULL_VAL"),
        }
    }

    fn set(&mut self, name: &str, bits: u8, choices: &[&str]) {
        let set = |bit: &usize| bits & (1 << bit) != 0;
        let names: Vec<&str> = (0..choices.len())
            .filter(set)
            .map(|bit| choices[bit])
            .collect();
        self.put(name, format_args!("{{{}}}", names.join(",")));
    }

    fn text(&mut self, name: &str, text: &[u8]) {
        let end = text
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(text.len());
        self.put(name, String::from_utf8_lossy(&text[..end]));
    }

    fn group<T>(
        &mut self,
        name: &str,
        entries: impl Iterator<Item = T>,
        entry: fn(&mut Fields, &T),
    ) {
        let entries: Vec<String> = entries
            .map(|value| {
                let mut fields = Fields::default();
                entry(&mut fields, &value);
                format!("({})", fields.0)
            })
            .collect();
        self.put(name, format_args!("[{}]", entries.join(",")));
    }
}

/// The messages, in the order of the schema; each gives its name.
impl Fields {
    fn channel(&mut self, state: &ChannelState) -> &'static str {
        self.word("channelSequence", state.sequence);
        self.name("priceValidity", Some(state.price));
        self.name("ordersValidity", Some(state.orders));
        "ChannelState"
    }

    fn gap(&mut self, gap: &Gap) -> &'static str {
        self.word("firstLost", gap.first);
        self.word("lastLost", gap.last);
        self.name("ordersValidity", Some(gap.orders));
        "Gap"
    }

    fn definition(&mut self, view: &DefinitionView<'_>) -> &'static str {
        let definition = view.value();
        self.put("venueId", definition.security_id);
        self.price("tick", definition.tick);
        self.text("symbol", definition.symbol.as_str().as_bytes());
        self.text("group", definition.group.as_str().as_bytes());
        self.text("asset", definition.asset.as_str().as_bytes());
        self.put("directDepth", definition.depth.direct.min(255));
        self.put("impliedDepth", definition.depth.implied);
        self.put("quantityExponent", definition.quantity_exponent);
        self.put("defined", if definition.defined { "Yes" } else { "No" });
        self.put("directLevels", definition.depth.direct);
        self.reference(&definition.reference);
        "InstrumentDefinition"
    }

    fn reference(&mut self, reference: &ReferenceData) {
        let fraction = reference.price_fraction;
        self.put("mainFraction", fraction.map_or(0, |f| f.main));
        self.put("subFraction", fraction.map_or(0, |f| f.sub));
        let factor = reference.display_factor;
        self.put("displayNumerator", factor.map_or(0, |f| f.numerator()));
        self.put("displayDenominator", factor.map_or(0, |f| f.denominator()));
        self.put("multiplier", reference.multiplier.0);
        self.quantity("lot", reference.lot);
        self.quantity("quantityMin", reference.quantity_min);
        self.quantity("quantityMax", reference.quantity_max);
        self.price("strike", reference.strike);
        self.price("highLimit", reference.high_limit);
        self.price("lowLimit", reference.low_limit);
        self.put("underlying", reference.underlying.unwrap_or(i64::MAX));
        self.word("expiryNs", reference.expiry_ns);
        self.put("maturity", reference.maturity);
        self.name("securityType", reference.security_type);
        self.name("optionRight", reference.right);
        self.put("statusCode", reference.status);
        self.put("legCount", reference.legs.count());
        self.put("venueName", reference.venue);
        self.put("currency", reference.currency);
        self.put("settlementCurrency", reference.settlement_currency);
        self.group("legs", reference.legs.as_slice().iter(), |fields, leg| {
            fields.put("legId", leg.security_id);
            fields.put("ratio", leg.ratio);
            fields.name("side", Some(leg.side));
        });
    }

    fn quote_stream(&mut self, stream: &QuoteStream) {
        self.put("securityId", stream.security_id);
        self.put("provider", stream.provider);
        self.put("valueDate", stream.value_date);
        self.set("streamFlags", stream.is_unquoted.into(), &["unquoted"]);
    }

    fn status(&mut self, status: &TradingStatus) -> &'static str {
        self.text("productGroup", &status.group);
        self.put("statusCode", status.status);
        self.put("reasonCode", status.reason);
        self.put("eventCode", status.event);
        "TradingStatus"
    }

    fn book_update(&mut self, view: &BookUpdateView<'_>) -> &'static str {
        let BookUpdate {
            security_id,
            best_bid,
            best_ask,
            ..
        } = view.update(&[]);
        let (bid, ask) = (
            best_bid.unwrap_or(Level::UNKNOWN),
            best_ask.unwrap_or(Level::UNKNOWN),
        );
        self.put("venueId", security_id);
        self.price("bidPrice", bid.price);
        self.quantity("bidQuantity", bid.quantity);
        self.price("askPrice", ask.price);
        self.quantity("askQuantity", ask.quantity);
        self.put("bidOrders", bid.orders);
        self.put("askOrders", ask.orders);
        self.put("bidState", level_state(best_bid));
        self.put("askState", level_state(best_ask));
        self.group("changes", view.changes.iter(), Fields::level_change);
        "BookUpdate"
    }

    fn top_of_book(&mut self, top: &TopOfBook) -> &'static str {
        self.price("bidPrice", top.bid_price);
        self.quantity("bidQuantity", top.bid_quantity);
        self.price("askPrice", top.ask_price);
        self.quantity("askQuantity", top.ask_quantity);
        self.name("bidBook", top.bid_book);
        self.name("askBook", top.ask_book);
        "TopOfBook"
    }

    fn trade(&mut self, trade: &Trade) -> &'static str {
        self.price("price", trade.price);
        self.quantity("quantity", trade.quantity);
        self.word("tradeId", trade.trade_id);
        self.put("orders", trade.orders);
        self.name("aggressor", trade.aggressor);
        self.name("action", Some(trade.action));
        "Trade"
    }

    fn statistics(&mut self, statistic: &Statistic) -> &'static str {
        self.price("price", statistic.price);
        self.quantity("quantity", statistic.quantity);
        self.name("kind", Some(statistic.kind));
        self.name("action", Some(statistic.action));
        "Statistics"
    }
}

fn level_state(level: Option<Level>) -> &'static str {
    match level {
        None => "Absent",
        Some(level) if level.known => "Known",
        Some(_) => "Unknown",
    }
}

/// The entries of groups.
impl Fields {
    fn level(&mut self, level: &Level, implied: bool) {
        self.price("price", level.price);
        self.quantity("quantity", level.quantity);
        self.put("orders", level.orders);
        let bits = u8::from(implied) | u8::from(!level.known) << 1;
        self.set("levelFlags", bits, &["implied", "unknown"]);
    }

    fn snapshot_level(&mut self, level: &Level) {
        self.level(level, false);
    }

    fn level_change(&mut self, change: &LevelChange) {
        self.level(&change.level, change.book == BookKind::Implied);
        self.name("side", Some(change.side));
        self.name("action", Some(change.action));
        self.put("index", change.index.min(255));
        self.put("deepIndex", change.index);
    }

    fn order(&mut self, order: &OrderChange) {
        self.word("orderId", order.order_id);
        self.word("priority", order.priority);
        self.price("price", order.price);
        self.quantity("quantity", order.quantity);
        self.name("side", Some(order.side));
    }

    fn quote(&mut self, quote: &Quote, action: Option<QuoteAction>) {
        self.price("price", quote.price);
        self.quantity("quantity", quote.quantity);
        self.quantity("quantityMin", quote.quantity_min);
        self.word("expiryNs", quote.expiry_ns);
        self.word("priority", quote.priority);
        self.put("entry", quote.entry);
        self.put("tier", quote.tier.unwrap_or(u16::MAX));
        self.name("side", Some(quote.side));
        let bits = u8::from(quote.is_indicative) | u8::from(quote.is_full_amount) << 1;
        self.set("quoteFlags", bits, &["indicative", "fullAmount"]);
        match action {
            Some(_) => self.name("action", action),
            None => self.word("setNs", quote.set_ns),
        }
        self.put("quoteId", quote.quote_id);
    }

    fn quote_change(&mut self, change: &QuoteChange) {
        self.quote(&change.quote, Some(change.action));
    }

    fn snapshot_quote(&mut self, quote: &Quote) {
        self.quote(quote, None);
    }

    fn order_change(&mut self, change: &OrderChange) {
        self.order(change);
        self.name("action", Some(change.action));
    }
}
