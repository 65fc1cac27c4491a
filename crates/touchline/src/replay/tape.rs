//! `touchline replay --journal`: a tape through the same outputs as captures.

use super::{Arguments, Writers};
use crate::books::{order_row, price_row};
use crate::format::counted;
use crate::output::{Failure, Output, notice};
use crate::record::Prices;
use crate::tops::Tops;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use touchline_gateway::bus;
use touchline_gateway::replay::Pace;
use touchline_tape::{Error, Publication, Reader, Taped};
use touchline_transport::market::{EVENT_ORDERS_MAX, Item, OwnRows};
use touchline_transport::shm::{Publisher, Settings};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent};
use touchline_types::{Gap, InstrumentDefinition, Timestamps, Update, Validity};

/// A tape that is played.
struct Play<'a> {
    writers: Writers,
    books: Mirror,
    definitions: Vec<Option<InstrumentDefinition>>,
    publisher: Option<(Publisher, OwnRows)>,
    arguments: &'a Arguments,
    messages: u64,
    /// Another publication begins.
    is_restarted: bool,
    /// The first update that cannot be published.
    failure: Option<Failure>,
}

/// Runs the command on a tape.
pub fn run(arguments: &Arguments, directory: &Path) -> Result<(), Failure> {
    refuse_settings_of_captures(arguments)?;
    let mut outputs = super::Outputs::open(arguments)?;
    let mut reader =
        Reader::open(directory, arguments.tape_bus.as_deref()).map_err(Failure::run)?;
    let prices = Prices::displayed(arguments.display);
    let tops = outputs.tops.take().map(|output| Tops::new(output, prices));
    let mut play = Play {
        writers: (tops, outputs.series.take()),
        books: Mirror::new(0, 0),
        definitions: Vec::new(),
        publisher: None,
        arguments,
        messages: 0,
        is_restarted: false,
        failure: None,
    };
    let begun = reader.begin().map_err(failed)?.cloned();
    play.begin(&begun.ok_or_else(|| no_bus(arguments, directory))?)?;
    let started = Instant::now();
    let mut pace = Pace::new(arguments.speed);
    loop {
        if reader.time_ns() > 0 {
            pace.wait_until(reader.time_ns(), || play.check())?;
        }
        let polled = reader.poll(|item| play.item(&item));
        if std::mem::take(&mut play.is_restarted)
            && let Some(publication) = reader.publication()
        {
            play.begin(publication)?;
        }
        match polled.map_err(failed)? {
            Taped::Given(()) => {}
            // Once a record, and not with each message: it asks the system.
            Taped::Passed => play.check()?,
            Taped::Nothing | Taped::End => break,
        }
        if let Some(failure) = play.failure.take() {
            return Err(failure);
        }
    }
    if !arguments.quiet {
        arguments.summarise(&summary(&reader, &play, started.elapsed()))?;
    }
    play.finish(outputs, prices)
}

/// Settings that a tape does not have.
fn refuse_settings_of_captures(arguments: &Arguments) -> Result<(), Failure> {
    let given = [
        ("--config", arguments.config.is_some()),
        ("--config-xml", arguments.config_xml.is_some()),
        ("--pcap", !arguments.pcap.is_empty()),
        ("--print", arguments.print),
        ("--join", arguments.join.is_some()),
        ("--wait-ms", arguments.wait_ms.is_some()),
        ("--compare-copies", arguments.compare_copies),
        ("--print-config", arguments.print_config),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(Failure::usage(format!(
            "{name} is for captures; a tape has what its bus published: leave out {name}, or --journal"
        ))),
        None => Ok(()),
    }
}

fn no_bus(arguments: &Arguments, directory: &Path) -> Failure {
    let directory = directory.display();
    Failure::run(match &arguments.tape_bus {
        Some(bus) => format!(
            "the tape {directory} has no bus {bus}; `touchline journal print` names its streams"
        ),
        None => format!("the tape {directory} has no bus: its recorder has joined none"),
    })
}

fn no_room() -> Failure {
    Failure::run("the tape has more orders at once than the bus that it is of had room for")
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Journal(error) => Failure::run(error),
        other => Failure::run(other),
    }
}

impl Play<'_> {
    fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Update(received) => {
                self.messages += u64::from(!received.is_image);
                let envelope = Envelope {
                    sequence: received.sequence,
                    timestamps: &received.timestamps,
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
    fn check(&mut self) -> Result<(), Failure> {
        match &mut self.publisher {
            Some((publisher, _)) => publisher.check().map_err(Failure::run),
            None => Ok(()),
        }
    }

    fn define(&mut self, definition: &InstrumentDefinition) {
        let index = definition.instrument.index();
        if index >= self.definitions.len() {
            self.definitions.resize(index + 1, None);
        }
        self.definitions[index] = Some(*definition);
    }

    /// A publication begins: its instruments have other numbers.
    fn begin(&mut self, publication: &Publication) -> Result<(), Failure> {
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

    fn finish(self, mut outputs: super::Outputs, prices: Prices) -> Result<(), Failure> {
        if let Some(output) = &mut outputs.books {
            self.write_books(prices, output)?;
        }
        if let Some(output) = &mut outputs.orders {
            self.write_orders(prices, output)?;
        }
        outputs.finish(self.writers)
    }

    fn by_security_id(&self) -> Vec<&InstrumentDefinition> {
        let mut definitions: Vec<_> = self.definitions.iter().flatten().collect();
        definitions.sort_by_key(|definition| definition.security_id);
        definitions
    }

    fn write_books(&self, prices: Prices, output: &mut Output) -> Result<(), Failure> {
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

    fn write_orders(&self, prices: Prices, output: &mut Output) -> Result<(), Failure> {
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

fn summary(reader: &Reader, play: &Play<'_>, elapsed: Duration) -> String {
    let mut text = String::new();
    let (gaps, lost) = reader.gaps();
    let bus = reader
        .publication()
        .map_or("", |publication| &publication.bus);
    let _ = writeln!(
        text,
        "tape of bus {bus}: {} of {}, {:.3} s",
        counted(play.messages, "update"),
        counted(
            play.definitions.iter().flatten().count() as u64,
            "instrument"
        ),
        elapsed.as_secs_f64()
    );
    let _ = writeln!(
        text,
        "{}, {} lost, {} without a state before them",
        counted(gaps, "gap"),
        counted(lost, "message"),
        counted(reader.without_state(), "message")
    );
    text
}
