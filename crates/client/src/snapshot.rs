//! Occasional reads of a bus, without its stream.

use crate::directory::root;
use crate::registry::{Registry, Slot};
use crate::values::{Meta, quotes, trade_of};
use crate::{
    Book, Definition, Error, Find, Instrument, Options, State, Ticks, Times, Top, Trade, bus, error,
};
use touchline_instruments::Symbols;
use touchline_transport::shm::{Holder, Images, Liveness, Overview, ReaderView, Value};
use touchline_transport::{Envelope, Mirror, Subscribe};
use touchline_types::native::TopOfBook;
use touchline_types::{Timestamps, Update, Validity};

/// The present state of a bus, read from its last-value tables: for screens, scripts and reports. It costs the
/// publisher nothing and works after the publisher has ended; books that were live are then stale.
///
/// ```no_run
/// use touchline_client::{Snapshot, Side};
/// let mut snapshot = Snapshot::open("cme-310")?;
/// let book = snapshot.book("ESU4")?;
/// println!("{} {} {:?}", book.symbol(), book.state(), book.best(Side::Bid));
/// # Ok::<(), touchline_client::Error>(())
/// ```
#[derive(Debug)]
pub struct Snapshot {
    images: Images,
    registry: Registry,
    /// Stream position of each definition, by the publisher's index; `u64::MAX` before it is known.
    versions: Vec<u64>,
    /// The last requested book.
    mirror: Mirror,
}

/// The instrument of the mirror's only book.
const ONLY: touchline_types::Instrument = touchline_types::Instrument(0);

impl Options {
    /// Opens a bus without its stream; only directory and prices of these options apply.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn snapshot(self, bus: &str) -> Result<Snapshot, Error> {
        Snapshot::open_with(&self, bus)
    }
}

impl Snapshot {
    /// Opens a bus of the default directory.
    ///
    /// # Errors
    /// The bus does not exist, or this user may not read it.
    pub fn open(bus: &str) -> Result<Snapshot, Error> {
        Options::default().snapshot(bus)
    }

    pub(crate) fn open_with(options: &Options, bus: &str) -> Result<Snapshot, Error> {
        let root = root(options.directory.as_deref());
        let images = Images::open(&root, bus).map_err(|error| error::of_bus(&root, bus, error))?;
        let mut snapshot = Snapshot {
            images,
            registry: Registry::new(bus::next_number(), bus, 0, options.venue_prices),
            versions: Vec::new(),
            mirror: Mirror::new(1, 0),
        };
        snapshot.load();
        Ok(snapshot)
    }

    /// Name of the bus.
    pub fn bus(&self) -> &str {
        &self.registry.name
    }

    /// Updates publisher and definitions; returns whether another publisher has started. Handles stay valid.
    ///
    /// # Errors
    /// The bus cannot be read any more.
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let bus = self.registry.name.clone();
        let is_restarted = self
            .images
            .refresh()
            .map_err(|error| error::of_bus(self.images.root(), &bus, error))?;
        if is_restarted {
            self.registry.restart();
            self.versions.clear();
        }
        self.load();
        Ok(is_restarted)
    }

    /// Reads new definitions.
    fn load(&mut self) {
        for publisher in self.images.instruments() {
            let Some(version) = self.images.definition_version(publisher) else {
                continue;
            };
            if publisher.index() >= self.versions.len() {
                self.versions.resize(publisher.index() + 1, u64::MAX);
            }
            if self.versions[publisher.index()] == version {
                continue;
            }
            if let Some(definition) = self.images.definition(publisher) {
                self.versions[publisher.index()] = version;
                self.registry.define(&definition);
            }
        }
    }

    /// The instrument of a symbol, a [`SecurityId`](crate::SecurityId) or a [`Key`](crate::Key).
    ///
    /// # Errors
    /// [`Error::NoInstrument`], with the nearest symbol.
    pub fn instrument(&self, name: impl Find) -> Result<Instrument, Error> {
        name.look_up(&self.registry)
    }

    /// Instruments that the present publisher has defined, in the order of definition.
    pub fn instruments(&self) -> impl Iterator<Item = Instrument> + '_ {
        let is_defined =
            |instrument: &Instrument| self.registry.publisher_index(*instrument).is_some();
        self.registry.all().filter(is_defined)
    }

    /// Instruments whose symbol matches one of the patterns, by ascending security id; see [`Options::symbols`].
    ///
    /// # Errors
    /// A pattern is invalid.
    pub fn matching<S: Into<String>>(
        &self,
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Instrument>, Error> {
        let patterns = patterns.into_iter().map(Into::into).collect();
        let symbols = Symbols::new(patterns).map_err(Error::Option)?;
        let fits = |instrument: &Instrument| {
            let definition = self.registry.definition(*instrument);
            definition.is_some_and(|definition| match definition.symbol.as_str() {
                "" => symbols.is_empty() || symbols.admit(&definition.security_id.to_string()),
                symbol => symbols.admit(symbol),
            })
        };
        let mut found: Vec<_> = self.instruments().filter(fits).collect();
        let id = |instrument: &Instrument| {
            let definition = self.registry.definition(*instrument);
            definition.map_or(0, |definition| definition.security_id)
        };
        found.sort_by_key(id);
        Ok(found)
    }

    /// Definition of an instrument.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn definition(&self, instrument: Instrument) -> Result<&Definition, Error> {
        self.registry.check(instrument)
    }

    /// Symbol of an instrument; `?` before it is known, and for a handle of another bus.
    pub fn symbol(&self, instrument: Instrument) -> &str {
        self.registry.symbol(instrument)
    }

    /// Present price book of an instrument.
    ///
    /// # Errors
    /// The instrument does not exist, or its book cannot be read now.
    pub fn book(&mut self, name: impl Find) -> Result<Book<'_>, Error> {
        let instrument = name.look_up(&self.registry)?;
        let publisher = self.published(instrument)?;
        let unseen = |why: String| Error::NotReady {
            bus: self.registry.name.clone(),
            why: format!("{}: {why}", self.registry.symbol(instrument)),
        };
        let image = self
            .images
            .book(publisher)
            .map_err(|error| unseen(error.to_string()))?;
        let (sequence, state) = (image.sequence, State::of(image.validity));
        let times = Times {
            exchange_ns: image.exchange_ns,
            receive_ns: image.receive_ns,
            published: Ticks(0),
        };
        self.mirror.update(&Envelope {
            sequence,
            timestamps: &Timestamps::default(),
            update: &Update::BookSnapshot(touchline_types::BookSnapshot {
                validity: Validity::Live,
                ..image.snapshot(ONLY)
            }),
        });
        let definition = self.registry.check(instrument)?;
        let slot = self.registry.slot_of(instrument);
        Ok(Book::new(
            definition,
            self.mirror.book(ONLY),
            slot,
            state,
            sequence,
            times,
        ))
    }

    /// Present best bid and ask of an instrument.
    ///
    /// # Errors
    /// As for [`book`](Self::book).
    pub fn top(&mut self, instrument: Instrument) -> Result<Top, Error> {
        let publisher = self.published(instrument)?;
        let slot: Slot = self.registry.slot_of(instrument);
        let image = self
            .images
            .book(publisher)
            .map_err(|error| Error::NotReady {
                bus: self.registry.name.clone(),
                why: error.to_string(),
            })?;
        let top = TopOfBook::from(&image.snapshot(publisher));
        let (bid, ask) = quotes(&top, &slot);
        Ok(Top {
            instrument,
            state: State::of(image.validity),
            bid,
            ask,
            times: Times {
                exchange_ns: image.exchange_ns,
                receive_ns: image.receive_ns,
                published: Ticks(0),
            },
            sequence: image.sequence,
            end_of_batch: false,
        })
    }

    /// Present last trade of an instrument; `None` if none is known.
    ///
    /// # Errors
    /// [`Error::OtherBus`], and [`Error::NotReady`] without a definition of the instrument by the present publisher.
    pub fn last_trade(&mut self, instrument: Instrument) -> Result<Option<Trade>, Error> {
        let publisher = self.published(instrument)?;
        let slot = self.registry.slot_of(instrument);
        let mut values = self.images.last_values(publisher);
        let trade = values.find_map(|last| match last.value {
            Value::Trade(trade) => {
                let meta = Meta {
                    sequence: last.sequence,
                    timestamps: last.timestamps,
                    ..Meta::default()
                };
                Some(trade_of(&trade, (instrument, slot), &meta))
            }
            _ => None,
        });
        Ok(trade)
    }

    /// Publishing process as of the last refresh; `None` if there is none.
    pub fn publisher(&self) -> Option<&Holder> {
        self.images.publisher()
    }

    /// Last activity of the publisher; `None` if it reports none, as a replay.
    pub fn liveness(&self) -> Option<Liveness> {
        self.images.liveness()
    }

    /// Number of publishers that the bus has had.
    pub fn generation(&self) -> u64 {
        self.images.generation()
    }

    /// Overview of the bus, and its named readers.
    ///
    /// # Errors
    /// The bus cannot be read any more.
    pub fn overview(&mut self) -> Result<(Overview, Vec<ReaderView>), Error> {
        let bus = self.registry.name.clone();
        let seen = self.images.overview();
        seen.map_err(|error| error::of_bus(self.images.root(), &bus, error))
    }

    /// The publisher's index of an instrument.
    fn published(&self, instrument: Instrument) -> Result<touchline_types::Instrument, Error> {
        self.registry.check(instrument)?;
        self.registry
            .publisher_index(instrument)
            .ok_or_else(|| Error::NotReady {
                bus: self.registry.name.clone(),
                why: format!(
                    "{}: the present publisher has not defined it",
                    self.registry.symbol(instrument)
                ),
            })
    }
}
