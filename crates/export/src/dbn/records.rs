//! Messages as records.

use super::file::SchemaFile;
use super::ids::Ids;
use super::layout::{
    self, Action, BAD_TS_RECV, Head, MAYBE_BAD_BOOK, SNAPSHOT, Shown, UNDEFINED_TIME, rtype, side,
};
use super::metadata::{Dataset, Metadata};
use super::schema::Schema;
use crate::about::{Counts, Origin};
use crate::complete::Complete;
use crate::error::Error;
use crate::message::Message;
use crate::state::State;
use std::collections::BTreeMap;
use std::path::Path;
use touchline_types::{
    BookKind, Instrument, Level, LevelAction, LevelChange, OrderAction, OrderChange, Price,
    Quantity, Side, Trade, Update, UpdateAction, Validity,
};

/// Settings of the files.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the dataset.
    pub dataset: Dataset,
    /// Number of the publisher: 0 is none of Databento's.
    pub publisher_id: u16,
    /// Whether the files are compressed with zstd.
    pub is_zstd: bool,
}

/// Files of the wanted schemas.
pub struct Dbn {
    options: Options,
    pub(super) files: Vec<SchemaFile>,
    pub(super) ids: Ids,
    /// Receive time of the last message with one.
    ts_recv: u64,
    /// First fields of the records of the present message.
    head: Head,
    /// Counts of content that the format cannot hold, by description.
    without_place: BTreeMap<String, u64>,
    pub(super) notices: Vec<String>,
    failure: Option<Error>,
}

/// Levels of a side in a record.
const LEVELS: usize = 10;

impl Dbn {
    /// Begins the files of these schemas.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn create(folder: &Path, schemas: &[Schema], options: Options) -> Result<Dbn, Error> {
        let files = schemas.iter();
        let files = files.map(|schema| SchemaFile::create(folder, *schema, options.is_zstd));
        Ok(Dbn {
            files: files.collect::<Result<_, _>>()?,
            options,
            ids: Ids::default(),
            ts_recv: 0,
            head: Head::default(),
            without_place: BTreeMap::new(),
            notices: Vec::new(),
            failure: None,
        })
    }

    /// Whether each change of a book or an order is wanted.
    pub fn wants_steps(&self) -> bool {
        let of_steps = [Schema::Mbo, Schema::Mbp1, Schema::Mbp10];
        self.files
            .iter()
            .any(|file| of_steps.contains(&file.schema))
    }

    /// Lines for the user since the last call.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Another publication begins.
    pub fn restart(&mut self) {
        self.ids.restart();
    }

    /// A change of the direct book that the state has taken; `before` is the level that it removed.
    pub fn level(
        &mut self,
        message: &Message<'_>,
        change: &LevelChange,
        before: Option<Level>,
        state: &State,
    ) {
        let Update::Book(update) = message.update else {
            return;
        };
        if change.book == BookKind::Implied {
            return self.without_place("implied level");
        }
        let Some(mut head) = self.head(update.instrument) else {
            return;
        };
        head.flags |= doubt(state.books().validity(update.instrument), update.whole);
        let (action, level) = match change.action {
            LevelAction::Insert => (b'A', change.level),
            LevelAction::Replace => (b'M', change.level),
            LevelAction::Remove => (b'C', before.unwrap_or(Level::UNKNOWN)),
            LevelAction::Clear => (b'R', Level::UNKNOWN),
        };
        let Some(size) = self.size(update.instrument, level.quantity, state) else {
            return;
        };
        let action = Action {
            action,
            side: side(Some(change.side)),
            price: level.price.0,
            size: if level.known { size } else { 0 },
        };
        self.book_record(update.instrument, &head, &action, change.index, state);
    }

    /// A record of the schemas with levels, with the levels of the state.
    fn book_record(
        &mut self,
        instrument: Instrument,
        head: &Head,
        action: &Action,
        index: u16,
        state: &State,
    ) {
        if usize::from(index) >= LEVELS {
            return self.without_place("level behind the tenth");
        }
        let Some((levels, is_complete)) = self.levels(instrument, state) else {
            return;
        };
        let mut head = *head;
        if !is_complete {
            head.flags |= MAYBE_BAD_BOOK;
        }
        for file in &mut self.files {
            let (rtype, count) = match file.schema {
                Schema::Mbp10 => (rtype::MBP_10, LEVELS),
                Schema::Mbp1 if index == 0 => (rtype::MBP_1, 1),
                _ => continue,
            };
            file.record(rtype, &head, |bytes| {
                layout::mbp(bytes, rtype, &head, action, index as u8, &levels[..count]);
            });
        }
    }

    /// The best levels of both sides, and whether all of them were stated.
    fn levels(
        &mut self,
        instrument: Instrument,
        state: &State,
    ) -> Option<([[Shown; 2]; LEVELS], bool)> {
        let mut levels = [[Shown::NONE; 2]; LEVELS];
        let mut is_complete = true;
        let Some(book) = state.book(instrument) else {
            return Some((levels, is_complete));
        };
        for side in Side::BOTH {
            let list = book.levels(BookKind::Direct, side);
            for (level, place) in list.iter().zip(&mut levels) {
                if !level.known {
                    is_complete = false;
                    continue;
                }
                let size = self.size(instrument, level.quantity, state)?;
                place[side.index()] = Shown::of(level, size);
            }
        }
        Some((levels, is_complete))
    }

    /// A change of an order; `before` is its quantity before the change.
    pub fn order(
        &mut self,
        message: &Message<'_>,
        change: &OrderChange,
        before: Option<Quantity>,
        state: &State,
    ) {
        let Update::Orders(update) = message.update else {
            return;
        };
        let Some(mut head) = self.head(update.instrument) else {
            return;
        };
        head.flags |= doubt(state.books().orders_validity(update.instrument), true);
        let action = match change.action {
            OrderAction::New => b'A',
            OrderAction::Update => b'M',
            OrderAction::Delete => b'C',
        };
        // The quantity of a removed order is 0: the record has the quantity before.
        let quantity = match change.action {
            OrderAction::Delete => before.unwrap_or(change.quantity),
            _ => change.quantity,
        };
        self.order_record(update.instrument, &head, action, change, quantity, state);
    }

    fn order_record(
        &mut self,
        instrument: Instrument,
        head: &Head,
        action: u8,
        order: &OrderChange,
        quantity: Quantity,
        state: &State,
    ) {
        let Some(size) = self.size(instrument, quantity, state) else {
            return;
        };
        let action = Action {
            action,
            side: side(Some(order.side)),
            price: order.price.0,
            size,
        };
        for file in self.of(Schema::Mbo) {
            file.record(rtype::MBO, head, |bytes| {
                layout::mbo(bytes, head, &action, order.order_id);
            });
        }
    }

    /// The records of a message that the state has taken, without those of its steps.
    pub fn message(&mut self, message: &Message<'_>, state: &State) {
        match message.update {
            Update::Book(_) | Update::Orders(_) => {}
            Update::BookSnapshot(book) => {
                if let Some(mut head) = self.head(book.instrument) {
                    head.flags |= SNAPSHOT | doubt(state.books().validity(book.instrument), true);
                    self.book_record(book.instrument, &head, &CLEAR, 0, state);
                }
            }
            Update::OrdersSnapshot(snapshot) => {
                let instrument = snapshot.instrument;
                if let Some(mut head) = self.head(instrument) {
                    let validity = state.books().orders_validity(instrument);
                    head.flags |= SNAPSHOT | doubt(validity, true);
                    self.clear_orders(&head);
                    for order in snapshot.orders {
                        self.order_record(instrument, &head, b'A', order, order.quantity, state);
                    }
                }
            }
            Update::Trade(trade) => self.trade(trade, message, state),
            Update::Statistic(statistic) => self.statistic(statistic, message),
            Update::Status(status) => self.status(status, message, state),
            Update::Definition(definition) => self.definition(definition),
            Update::Gap(_) => self.empty_orders(state, MAYBE_BAD_BOOK),
            Update::Reset => {
                self.empty_orders(state, 0);
                for known in state.all_known() {
                    let instrument = known.definition.instrument;
                    if let Some(head) = self.head(instrument) {
                        self.book_record(instrument, &head, &CLEAR, 0, state);
                    }
                }
            }
            Update::State(_)
            | Update::Download(_)
            | Update::Channel(_)
            | Update::Quotes(_)
            | Update::QuoteSnapshot(_) => self.without_place(message.name()),
        }
    }

    /// Messages are missing before the next one.
    pub fn lost(&mut self, state: &State) {
        self.empty_orders(state, MAYBE_BAD_BOOK);
    }

    /// All order books are empty.
    fn empty_orders(&mut self, state: &State, flags: u8) {
        if !self.files.iter().any(|file| file.schema == Schema::Mbo) {
            return;
        }
        for known in state.all_known() {
            if let Some(mut head) = self.head(known.definition.instrument) {
                head.flags |= flags;
                self.clear_orders(&head);
            }
        }
    }

    fn clear_orders(&mut self, head: &Head) {
        for file in self.of(Schema::Mbo) {
            file.record(rtype::MBO, head, |bytes| {
                layout::mbo(bytes, head, &CLEAR, 0);
            });
        }
    }

    fn trade(&mut self, trade: &Trade, message: &Message<'_>, state: &State) {
        if message.is_image {
            return;
        }
        if trade.action != UpdateAction::New {
            return self.without_place("correction of a trade");
        }
        let Some(mut head) = self.head(trade.instrument) else {
            return;
        };
        head.flags |= doubt(state.books().validity(trade.instrument), true);
        let Some(size) = self.size(trade.instrument, trade.quantity, state) else {
            return;
        };
        let action = Action {
            action: b'T',
            side: side(trade.aggressor),
            price: trade.price.0,
            size,
        };
        for file in self.of(Schema::Trades) {
            file.record(rtype::MBP_0, &head, |bytes| {
                layout::mbp(bytes, rtype::MBP_0, &head, &action, 0, &[]);
            });
        }
        for file in self.of(Schema::Mbo) {
            file.record(rtype::MBO, &head, |bytes| {
                layout::mbo(bytes, &head, &action, 0);
            });
        }
        self.book_record(trade.instrument, &head, &action, 0, state);
    }

    /// Ends a packet.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn batch_end(&mut self) -> Result<(), Error> {
        self.files.iter_mut().try_for_each(SchemaFile::end_packet)
    }

    /// The first refusal, or a failure to write.
    ///
    /// # Errors
    /// As said.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.files.iter_mut().try_for_each(SchemaFile::check_room),
        }
    }

    /// Completes the files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self, counts: &Counts, origin: &Origin) -> Result<Vec<Complete>, Error> {
        let mut about = counts.json(origin);
        about["dbn"] = self.ids.remarks();
        about["without_place"] = serde_json::json!(self.without_place);
        let mut all = Vec::new();
        for file in self.files {
            let metadata = Metadata {
                dataset: &self.options.dataset,
                schema: file.schema,
                span_ns: file.span_ns(),
                symbols: self.ids.symbols(),
            };
            let mut about = about.clone();
            about["schema"] = file.schema.name().into();
            about["records"] = file.count().into();
            all.push(file.finish(&metadata.bytes(), &about)?);
        }
        Ok(all)
    }

    /// Takes the times of a message, before its records.
    pub fn begin(&mut self, message: &Message<'_>) {
        let packet = &message.timestamps.packet;
        let undefined = |ns| if ns == 0 { UNDEFINED_TIME } else { ns };
        let ts_recv = undefined(packet.receive_ns);
        let is_bad = ts_recv == UNDEFINED_TIME || ts_recv < self.ts_recv;
        if !is_bad {
            self.ts_recv = ts_recv;
        }
        if packet.sequence > u32::MAX.into() {
            self.without_place("high half of a packet's number");
        }
        self.head = Head {
            instrument_id: 0,
            publisher_id: self.options.publisher_id,
            ts_event: undefined(message.timestamps.exchange_ns),
            ts_recv,
            ts_in_delta: self.ts_in_delta(packet.receive_ns, packet.sending_ns),
            sequence: packet.sequence as u32,
            flags: if is_bad { BAD_TS_RECV } else { 0 },
        };
    }

    /// The first fields of a record; `None` for an instrument that is left out.
    pub(super) fn head(&mut self, instrument: Instrument) -> Option<Head> {
        let Some(instrument_id) = self.ids.of(instrument) else {
            self.without_place("message of an instrument that is left out");
            return None;
        };
        Some(Head {
            instrument_id,
            ..self.head
        })
    }

    fn ts_in_delta(&mut self, receive_ns: u64, sending_ns: u64) -> i32 {
        if receive_ns == 0 || sending_ns == 0 {
            return 0;
        }
        let delta = i128::from(receive_ns) - i128::from(sending_ns);
        i32::try_from(delta).unwrap_or_else(|_| {
            self.without_place("difference of times above 2 s");
            if delta < 0 { i32::MIN } else { i32::MAX }
        })
    }

    /// A quantity as a size; `None` leaves the instrument out.
    fn size(&mut self, instrument: Instrument, quantity: Quantity, state: &State) -> Option<u32> {
        let size = self.ids.size(instrument, quantity);
        if size.is_none() && self.ids.of(instrument).is_some() {
            let definition = state.known(instrument).map(|known| &known.definition);
            let notice = self.ids.refuse(instrument, definition, quantity);
            self.notices.push(notice);
        }
        size
    }

    pub(super) fn of(&mut self, schema: Schema) -> impl Iterator<Item = &mut SchemaFile> {
        let files = self.files.iter_mut();
        files.filter(move |file| file.schema == schema)
    }

    pub(super) fn refuse(&mut self, why: Error) {
        self.failure.get_or_insert(why);
    }

    pub(super) fn without_place(&mut self, what: &str) {
        match self.without_place.get_mut(what) {
            Some(count) => *count += 1,
            None => drop(self.without_place.insert(what.to_owned(), 1)),
        }
    }
}

/// Empties a book.
const CLEAR: Action = Action {
    action: b'R',
    side: side(None),
    price: Price::NULL.0,
    size: 0,
};

/// Flag of a book that may be wrong.
fn doubt(validity: Validity, is_whole: bool) -> u8 {
    match validity == Validity::Live && is_whole {
        true => 0,
        false => MAYBE_BAD_BOOK,
    }
}
