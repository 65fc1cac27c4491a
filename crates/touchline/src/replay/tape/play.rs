//! A tape that is played: its rows, its books, and its bus.

#[cfg(test)]
mod tests;

use super::super::{Arguments, Writers};
use crate::books::{order_row, price_row};
use crate::output::{Failure, Output, notice};
use crate::record::Prices;
use touchline_gateway::bus;
use touchline_tape::Publication;
use touchline_transport::market::{EVENT_ORDERS_MAX, Item, OwnRows};
use touchline_transport::shm::{Publisher, Settings};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent};
use touchline_types::{Gap, InstrumentDefinition, Timestamps, Update, Validity};

/// A tape that is played.
pub struct Play<'a> {
    pub writers: Writers,
    books: Mirror,
    definitions: Vec<Option<InstrumentDefinition>>,
    publisher: Option<(Publisher, OwnRows)>,
    arguments: &'a Arguments,
    pub messages: u64,
    /// Another publication begins.
    pub is_restarted: bool,
    /// The first update that cannot be published.
    pub failure: Option<Failure>,
}

fn no_room() -> Failure {
    Failure::run("the tape has more orders at once than the bus that it is of had room for")
}

impl Play<'_> {
    /// A player of a tape whose rows go to these writers.
    pub fn new(arguments: &Arguments, writers: Writers) -> Play<'_> {
        Play {
            writers,
            books: Mirror::new(0, 0),
            definitions: Vec::new(),
            publisher: None,
            arguments,
            messages: 0,
            is_restarted: false,
            failure: None,
        }
    }

    pub fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Update(received) => {
                self.messages += u64::from(!received.is_image);
                // A state at a place is of the time of the next event, whenever its definitions and statuses were published.
                let timestamps = match received.is_image {
                    true => Timestamps::default(),
                    false => received.timestamps,
                };
                let envelope = Envelope {
                    sequence: received.sequence,
                    timestamps: &timestamps,
                    update: &received.update,
                };
                if let Update::Definition(definition) = &received.update {
                    self.define(definition);
                }
                self.books.update(&envelope);
                self.publish(&received.update, &received.timestamps, received.is_image);
                // The state at the start of a segment has no events.
                if !received.is_image || !matches!(received.update, Update::Trade(_)) {
                    self.writers.update(&envelope);
                }
                if received.batch_end {
                    self.end_of_batch();
                }
            }
            Item::Top { .. } | Item::Undecoded(_) => {}
            Item::BatchEnd => self.end_of_batch(),
            Item::SubscriptionEvent(event) => self.event(event),
        }
    }

    fn end_of_batch(&mut self) {
        self.writers.batch_end();
        if let Some((publisher, _)) = &mut self.publisher {
            publisher.commit();
        }
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        self.books.event(event);
        self.writers.event(event);
        if let SubscriptionEvent::Overrun { .. } = event {
            let gap = Update::Gap(Gap {
                first: 0,
                last: 0,
                orders: Validity::Recovering,
            });
            self.publish(&gap, &Timestamps::default(), false);
            self.end_of_batch();
        }
        self.is_restarted |= matches!(event, SubscriptionEvent::Restarted { .. });
    }

    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps, is_image: bool) {
        let Some((publisher, rows)) = &mut self.publisher else {
            return;
        };
        match update {
            Update::Trade(_) if is_image => publisher.keep(update, timestamps),
            Update::Orders(orders) => match rows.change(orders) {
                Some(orders) => publisher.publish(&Update::Orders(orders), timestamps),
                None => self.failure = Some(no_room()),
            },
            Update::OrdersSnapshot(orders) => match rows.replace(orders) {
                Some(orders) => publisher.publish(&Update::OrdersSnapshot(orders), timestamps),
                None => self.failure = Some(no_room()),
            },
            Update::Gap(_) | Update::Reset => {
                rows.clear_all();
                publisher.publish(update, timestamps);
            }
            _ => publisher.publish(update, timestamps),
        }
    }

    /// Checks that readers still find the bus.
    pub fn check(&mut self) -> Result<(), Failure> {
        match &mut self.publisher {
            Some((publisher, _)) => publisher.check().map_err(Failure::run),
            None => Ok(()),
        }
    }

    /// Number of instruments.
    pub fn instruments(&self) -> u64 {
        self.definitions.iter().flatten().count() as u64
    }

    fn define(&mut self, definition: &InstrumentDefinition) {
        let index = definition.instrument.index();
        if index >= self.definitions.len() {
            self.definitions.resize(index + 1, None);
        }
        self.definitions[index] = Some(*definition);
    }

    /// A publication begins: its instruments have other numbers.
    pub fn begin(&mut self, publication: &Publication) -> Result<(), Failure> {
        self.definitions.clear();
        let orders_max = publication.orders_max + EVENT_ORDERS_MAX;
        self.books = Mirror::new(publication.instruments_max, orders_max);
        self.publisher = None;
        if !self.arguments.publish {
            return Ok(());
        }
        let name = self.arguments.bus.as_deref().unwrap_or(&publication.bus);
        let root = bus::root(self.arguments.dir.as_deref());
        let settings = Settings {
            instruments_max: publication.instruments_max,
            orders_max: publication.orders_max,
            ..Settings::default()
        };
        let publisher = Publisher::open(&root, name, &settings).map_err(Failure::run)?;
        for warning in publisher.warnings() {
            notice(format_args!("bus {name}: {warning}"));
        }
        let rows = OwnRows::new(publication.instruments_max, orders_max, EVENT_ORDERS_MAX);
        self.publisher = Some((publisher, rows));
        Ok(())
    }

    fn by_security_id(&self) -> Vec<&InstrumentDefinition> {
        let mut definitions: Vec<_> = self.definitions.iter().flatten().collect();
        definitions.sort_by_key(|definition| definition.security_id);
        definitions
    }

    pub fn write_books(&self, prices: Prices, output: &mut Output) -> Result<(), Failure> {
        for definition in self.by_security_id() {
            let instrument = definition.instrument;
            let validity = self.books.validity(instrument);
            let book = self.books.book(instrument);
            let levels = |kind, side| {
                book.map_or(touchline_book::LevelList::EMPTY, |book| {
                    book.levels(kind, side)
                })
            };
            // A bus does not carry `last_rpt_seq`.
            output.line(&price_row(definition, validity, None, prices, levels))?;
        }
        Ok(())
    }

    pub fn write_orders(&self, prices: Prices, output: &mut Output) -> Result<(), Failure> {
        for definition in self.by_security_id() {
            let validity = self.books.orders_validity(definition.instrument);
            output.line(&order_row(
                definition,
                validity,
                prices,
                self.books.orders(),
            ))?;
        }
        Ok(())
    }
}
