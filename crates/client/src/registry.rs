//! Registry of instruments: the publisher's index of each handle.

use crate::scale::Scale;
use crate::words::nearest;
use crate::{Definition, Error, Instrument, Key, Quantity};
use std::collections::HashMap;
use touchline_types::{InstrumentDefinition, Price, Symbol};

/// Every defined instrument with its handle.
#[derive(Debug)]
pub struct Registry {
    /// Number of the bus in this process.
    pub bus: u32,
    /// Name of the bus.
    pub name: String,
    /// Whether prices are returned as the venue sends them.
    venue_prices: bool,
    rows: Vec<Row>,
    /// By the publisher's index: the handle, and the scale of prices and quantities.
    slots: Vec<Slot>,
    by_key: HashMap<Key, u32>,
    by_symbol: HashMap<Symbol, u32>,
}

#[derive(Debug)]
struct Row {
    definition: Definition,
    /// The publisher's index; `None` after a restart until the instrument is defined again.
    publisher: Option<touchline_types::Instrument>,
}

impl Row {
    /// Whether an id of the venue is the instrument's now: the number of a row is that of one publication.
    fn has_id(&self, security_id: i64) -> bool {
        let is_lasting = !self.definition.is_known_by_symbol;
        self.definition.security_id == security_id && (is_lasting || self.publisher.is_some())
    }
}

/// Handle and scale of a publisher's index.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Index of the handle; [`Slot::NONE`] before a definition.
    handle: u32,
    exponent: i8,
    pub scale: Scale,
}

impl Slot {
    const NONE: u32 = u32::MAX;

    const EMPTY: Slot = Slot {
        handle: Slot::NONE,
        exponent: 0,
        scale: Scale::ONE,
    };

    /// Scale of a definition, without a handle.
    fn of(definition: &Definition) -> Slot {
        Slot {
            handle: Slot::NONE,
            exponent: definition.quantity_exponent,
            scale: definition.scale(),
        }
    }

    /// A price as traders quote it.
    #[inline]
    pub fn price(&self, price: Price) -> Price {
        self.scale.price(price)
    }

    /// A quantity with its exponent.
    #[inline]
    pub fn quantity(&self, quantity: touchline_types::Quantity) -> Quantity {
        Quantity::of(quantity, self.exponent)
    }
}

impl Registry {
    /// Registry of the bus with this number; allocates room for `instruments_max` instruments.
    pub fn new(bus: u32, name: &str, instruments_max: usize, venue_prices: bool) -> Registry {
        Registry {
            bus,
            name: name.to_owned(),
            venue_prices,
            rows: Vec::with_capacity(instruments_max),
            slots: Vec::with_capacity(instruments_max),
            by_key: HashMap::with_capacity(instruments_max),
            by_symbol: HashMap::with_capacity(instruments_max),
        }
    }

    /// Number of handles.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Number of instruments that the present publisher has defined.
    pub fn defined(&self) -> usize {
        self.rows
            .iter()
            .filter(|row| row.publisher.is_some())
            .count()
    }

    /// All handles, in the order of creation.
    pub fn all(&self) -> impl Iterator<Item = Instrument> + use<> {
        let bus = self.bus;
        (0..self.rows.len() as u32).map(move |index| Instrument { bus, index })
    }

    /// The row of a handle.
    ///
    /// # Errors
    /// The handle is of another bus.
    pub fn check(&self, instrument: Instrument) -> Result<&Definition, Error> {
        let row = self.rows.get(instrument.index());
        match row {
            Some(row) if instrument.bus == self.bus => Ok(&row.definition),
            _ => Err(Error::OtherBus {
                bus: self.name.clone(),
            }),
        }
    }

    /// The definition of a handle of this bus.
    pub fn definition(&self, instrument: Instrument) -> Option<&Definition> {
        let row = self.rows.get(instrument.index())?;
        (instrument.bus == self.bus).then_some(&row.definition)
    }

    /// Symbol of an instrument; `?` before it is known, and for a handle of another bus.
    pub fn symbol(&self, instrument: Instrument) -> &str {
        let definition = self.definition(instrument);
        match definition.map_or("", |definition| definition.symbol.as_str()) {
            "" => "?",
            symbol => symbol,
        }
    }

    /// Scale of an instrument.
    pub fn slot_of(&self, instrument: Instrument) -> Slot {
        self.definition(instrument).map_or(Slot::EMPTY, Slot::of)
    }

    /// The publisher's index of an instrument; `None` without a definition by the present publisher.
    #[inline]
    pub fn publisher_index(&self, instrument: Instrument) -> Option<touchline_types::Instrument> {
        self.rows.get(instrument.index())?.publisher
    }

    /// Handle and scale of a publisher's index.
    #[inline]
    pub fn of_publisher(
        &self,
        instrument: touchline_types::Instrument,
    ) -> Option<(Instrument, Slot)> {
        let slot = *self.slots.get(instrument.index())?;
        let (bus, index) = (self.bus, slot.handle);
        (index != Slot::NONE).then_some((Instrument { bus, index }, slot))
    }

    /// The handles from which a definition takes the publisher's index, or the venue's id: their instruments are not
    /// current any more.
    pub fn displaced(&self, definition: &InstrumentDefinition) -> [Option<Instrument>; 2] {
        let publisher = definition.instrument;
        let definition = Definition::of(definition, self.venue_prices);
        let kept = self.kept(&definition);
        let slot = self.slots.get(publisher.index()).map(|slot| slot.handle);
        let of_index = slot.filter(|handle| *handle != Slot::NONE && Some(*handle) != kept);
        let of_key = self.of_key(&definition.key()).filter(|_| kept.is_none());
        let of_key = of_key.filter(|handle| Some(*handle) != of_index);
        let is_current = |handle: &u32| self.rows[*handle as usize].publisher.is_some();
        [of_index, of_key].map(|handle| self.handle(handle.filter(is_current)))
    }

    /// The handle whose instrument a definition continues.
    fn kept(&self, definition: &Definition) -> Option<u32> {
        let old = |index: &u32| &self.rows[*index as usize].definition;
        let of_id = self.by_key.get(&definition.key()).copied();
        let of_symbol = || {
            let known = self.by_symbol.get(&definition.symbol).copied();
            // mutant: client: an instrument without an id of the venue gets another handle at a restart
            known.filter(|index| old(index).is_renumbered(definition))
        };
        of_id
            .filter(|index| is_same(old(index), definition))
            .or_else(of_symbol)
    }

    /// The handle of the venue's id.
    fn of_key(&self, key: &Key) -> Option<u32> {
        let known = self.by_key.get(key).copied();
        known.filter(|index| self.rows[*index as usize].has_id(key.security_id))
    }

    /// Takes a definition. A known venue and security id keeps its handle, unless its symbol has changed; so does a known
    /// symbol of a venue without ids.
    pub fn define(&mut self, definition: &InstrumentDefinition) -> Instrument {
        for old in self.displaced(definition).into_iter().flatten() {
            self.rows[old.index()].publisher = None;
        }
        let publisher = definition.instrument;
        let mut definition = Definition::of(definition, self.venue_prices);
        let key = definition.key();
        let kept = self.kept(&definition);
        if let Some(old) = kept.map(|index| &self.rows[index as usize].definition) {
            definition = continued(old, definition);
        }
        let index = kept.unwrap_or(self.rows.len() as u32);
        if !definition.symbol.is_empty() {
            self.by_symbol.insert(definition.symbol, index);
        }
        self.by_key.insert(key, index);
        if publisher.index() >= self.slots.len() {
            self.slots.resize(publisher.index() + 1, Slot::EMPTY);
        }
        self.slots[publisher.index()] = Slot {
            handle: index,
            exponent: definition.quantity_exponent,
            scale: definition.scale(),
        };
        let row = Row {
            definition,
            publisher: Some(publisher),
        };
        match kept {
            Some(index) => self.rows[index as usize] = row,
            None => self.rows.push(row),
        }
        Instrument {
            bus: self.bus,
            index,
        }
    }

    /// The instrument of an index is not current any more: the index is that of one which is not selected.
    pub fn unselect(&mut self, publisher: touchline_types::Instrument) {
        if let Some((instrument, _)) = self.of_publisher(publisher) {
            self.rows[instrument.index()].publisher = None;
            self.slots[publisher.index()] = Slot::EMPTY;
        }
    }

    /// Another publisher assigns new indexes.
    pub fn restart(&mut self) {
        self.slots.clear();
        for row in &mut self.rows {
            row.publisher = None;
        }
    }

    pub fn by_symbol(&self, symbol: &str) -> Option<Instrument> {
        let found = self.by_symbol.get(&Symbol::new(symbol.as_bytes()));
        self.handle(found.copied())
    }

    pub fn by_key(&self, key: &Key) -> Option<Instrument> {
        self.handle(self.of_key(key))
    }

    /// The one defined last, if several venues use the id.
    pub fn by_security_id(&self, security_id: i64) -> Option<Instrument> {
        let found = self.rows.iter().rposition(|row| row.has_id(security_id));
        self.handle(found.map(|index| index as u32))
    }

    fn handle(&self, index: Option<u32>) -> Option<Instrument> {
        let bus = self.bus;
        index.map(|index| Instrument { bus, index })
    }

    /// Error: an instrument is not found.
    pub fn no_instrument(&self, wanted: &str) -> Error {
        let symbols = self.rows.iter().map(|row| row.definition.symbol.as_str());
        Error::NoInstrument {
            bus: self.name.clone(),
            wanted: wanted.to_owned(),
            defined: self.rows.len(),
            meant: nearest(wanted, symbols.filter(|symbol| !symbol.is_empty())).map(str::to_owned),
        }
    }
}

/// Whether a definition continues an earlier one of the same venue and id: an id may be reassigned to another contract.
fn is_same(old: &Definition, new: &Definition) -> bool {
    // mutant: client: an id that names another contract keeps its handle
    old.symbol == new.symbol || old.symbol.is_empty() || new.symbol.is_empty()
}

/// The definition of a known instrument after a new one. A publisher that has started announces an instrument by its id
/// alone before the venue defines it again: until then the old fields stay, symbol and price scale included.
fn continued(old: &Definition, new: Definition) -> Definition {
    match old.is_defined && !new.is_defined {
        true => {
            let mut known = old.clone();
            known.depth = new.depth;
            known.security_id = new.security_id;
            known
        }
        false => new,
    }
}
