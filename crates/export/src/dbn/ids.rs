//! Numbers of instruments in a file, and instruments that DBN cannot have.

use std::collections::{BTreeMap, HashMap, HashSet};
use touchline_types::{Instrument, InstrumentDefinition, Quantity};

/// Largest size of a record; the next number is undefined.
const SIZE_MAX: i128 = u32::MAX as i128 - 1;

/// Numbers of instruments.
#[derive(Debug, Default)]
pub struct Ids {
    /// By index in the present publication.
    present: Vec<Option<Entry>>,
    /// By venue and symbol, in all publications of the file.
    named: HashMap<(String, String), u32>,
    /// By venue and its id: the last symbol that had it, and its number. Venues that know symbols alone number them by the rows of a table.
    known: HashMap<(String, i64), (String, u32)>,
    used: HashSet<u32>,
    /// Symbols and their numbers.
    symbols: BTreeMap<String, u32>,
    /// Numbers that are not the venue's.
    made: BTreeMap<String, u32>,
    /// Numbers that are left out from a quantity on, to the end of the file.
    cut: HashSet<u32>,
    /// Why instruments are left out.
    refused: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u32,
    exponent: i8,
    is_refused: bool,
    /// Its definition; `None` before the first one, or after the venue took it back.
    defined: Option<InstrumentDefinition>,
}

impl Ids {
    /// Another publication begins: indexes are of other instruments.
    pub fn restart(&mut self) {
        self.present.clear();
    }

    /// Keeps a definition; returns the reason if it is newly refused.
    pub fn define(&mut self, definition: &InstrumentDefinition) -> Option<String> {
        let index = definition.instrument.index();
        if self.present.len() <= index {
            self.present.resize(index + 1, None);
        }
        let id = self.id(definition);
        let name = name(definition);
        if !definition.symbol.is_empty() {
            self.symbols.insert(definition.symbol.to_string(), id);
        }
        let mut refusal = None;
        // mutant: export: an instrument that is left out comes back with its definition
        let is_cut = self.cut.contains(&id);
        let is_whole = is_whole(definition);
        let is_refused = is_cut || !is_whole;
        if !is_refused {
            self.refused.remove(&name);
        } else if !is_whole && !self.refused.contains_key(&name) {
            let exponent = definition.quantity_exponent;
            refusal = Some(format!(
                "instrument {name} left out: its quantities are in units of 10^{exponent}, and DBN has whole ones; \
                 export tables, as CSV or Parquet"
            ));
            self.refused.extend(refusal.clone().map(|why| (name, why)));
        }
        self.present[index] = Some(Entry {
            id,
            exponent: definition.quantity_exponent,
            is_refused,
            defined: Some(*definition).filter(|definition| definition.defined && !is_refused),
        });
        refusal
    }

    fn id(&mut self, definition: &InstrumentDefinition) -> u32 {
        let venue = definition.reference.venue.as_str().to_owned();
        let mut symbol = definition.symbol.as_str().to_owned();
        let name = (venue.clone(), symbol.clone());
        let key = (venue, definition.security_id);
        let known = self.known.get(&key);
        // An instrument that is not defined has no symbol.
        // mutant: export: two symbols of DBN have one number
        let known = known.filter(|(of, _)| of.is_empty() || symbol.is_empty() || *of == symbol);
        let known = known.cloned();
        let named = self.named.get(&name).copied();
        let id = named.or(known.as_ref().map(|(_, id)| *id));
        let id = id.unwrap_or_else(|| self.new_id(definition));
        match known {
            Some((of, _)) if symbol.is_empty() => symbol = of,
            _ if symbol.is_empty() => {}
            _ => drop(self.named.insert(name, id)),
        }
        self.known.insert(key, (symbol, id));
        id
    }

    fn new_id(&mut self, definition: &InstrumentDefinition) -> u32 {
        let of_venue = u32::try_from(definition.security_id).ok();
        let of_venue = of_venue.filter(|id| *id != 0 && !self.used.contains(id));
        let id = of_venue.unwrap_or_else(|| {
            let from = definition.instrument.0.saturating_add(1);
            let free = (from..u32::MAX).find(|id| !self.used.contains(id));
            let id = free.unwrap_or(u32::MAX);
            self.made.insert(name(definition), id);
            id
        });
        self.used.insert(id);
        id
    }

    /// Number of an instrument; `None` if it is left out, or has no definition.
    pub fn of(&self, instrument: Instrument) -> Option<u32> {
        let entry = self.entry(instrument)?;
        (!entry.is_refused).then_some(entry.id)
    }

    /// The definition of an instrument that is not left out.
    pub fn defined(&self, instrument: Instrument) -> Option<InstrumentDefinition> {
        self.entry(instrument)?.defined
    }

    fn entry(&self, instrument: Instrument) -> Option<&Entry> {
        self.present.get(instrument.index())?.as_ref()
    }

    /// A quantity as a size; `None` where it is not whole, or too large.
    pub fn size(&self, instrument: Instrument, quantity: Quantity) -> Option<u32> {
        if quantity.is_null() {
            return Some(super::layout::UNDEFINED_SIZE);
        }
        let whole = self.whole(instrument, quantity)?;
        (0..=SIZE_MAX).contains(&whole).then_some(whole as u32)
    }

    /// A quantity as a whole number; `None` where it is none.
    pub fn whole(&self, instrument: Instrument, quantity: Quantity) -> Option<i128> {
        let exponent = self.entry(instrument)?.exponent;
        let scale = 10_i128.checked_pow(exponent.unsigned_abs().into())?;
        let quantity = i128::from(quantity.0);
        match exponent {
            0.. => quantity.checked_mul(scale),
            _ => (quantity % scale == 0).then_some(quantity / scale),
        }
    }

    /// Leaves an instrument out from here on; returns why.
    pub fn refuse(
        &mut self,
        instrument: Instrument,
        definition: Option<&InstrumentDefinition>,
        quantity: Quantity,
    ) -> String {
        if let Some(Some(entry)) = self.present.get_mut(instrument.index()) {
            entry.is_refused = true;
            self.cut.insert(entry.id);
        }
        let name = definition.map_or_else(|| instrument.0.to_string(), name);
        let quantity = definition.and_then(|definition| definition.decimal(quantity));
        let quantity = quantity.map_or_else(String::new, |quantity| quantity.to_string());
        let why = format!(
            "instrument {name} left out from here on: DBN has no size {quantity}, only whole ones below 2^32 - 1; \
             export tables, as CSV or Parquet"
        );
        self.refused.insert(name, why.clone());
        why
    }

    /// Symbols and their numbers.
    pub fn symbols(&self) -> Vec<(String, u32)> {
        let symbols = self.symbols.iter();
        symbols.map(|(symbol, id)| (symbol.clone(), *id)).collect()
    }

    /// Numbers that are not the venue's, and why instruments are left out.
    pub fn remarks(&self) -> serde_json::Value {
        serde_json::json!({
            "ids_not_of_the_venue": self.made,
            "instruments_left_out": self.refused,
        })
    }
}

/// Whether every quantity of an instrument is a whole number: by its unit, or by its lot.
fn is_whole(definition: &InstrumentDefinition) -> bool {
    let lot = definition.decimal(definition.reference.lot);
    definition.quantity_exponent >= 0 || lot.is_some_and(|lot| lot.is_whole() && lot.mantissa > 0)
}

/// Name of an instrument in messages: its symbol, else the venue's id.
pub fn name(definition: &InstrumentDefinition) -> String {
    match definition.symbol.is_empty() {
        true => definition.security_id.to_string(),
        false => definition.symbol.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Depth, Symbol};

    fn definition(index: u32, security_id: i64, quantity_exponent: i8) -> InstrumentDefinition {
        let depth = Depth {
            direct: 10,
            implied: 0,
        };
        InstrumentDefinition {
            symbol: Symbol::new(format!("S{index}").as_bytes()),
            quantity_exponent,
            ..InstrumentDefinition::unknown(Instrument(index), security_id, depth)
        }
    }

    #[test]
    fn an_instrument_without_whole_quantities_is_left_out_with_one_line() {
        let mut ids = Ids::default();
        let why = ids.define(&definition(0, 5, -8)).expect("a refusal");
        assert!(
            why.contains("instrument S0 left out") && why.contains("10^-8"),
            "{why}"
        );
        assert_eq!(ids.define(&definition(0, 5, -8)), None, "it is said once");
        assert_eq!(ids.of(Instrument(0)), None);
        // Its quantities are multiples of a whole lot.
        let mut lots = definition(1, 6, -1);
        lots.reference.lot = Quantity(20);
        assert_eq!(ids.define(&lots), None);
        assert_eq!(ids.size(Instrument(1), Quantity(40)), Some(4));
        assert_eq!(ids.size(Instrument(1), Quantity(41)), None);
        let why = ids.refuse(Instrument(1), Some(&lots), Quantity(41));
        assert!(why.contains("no size 4.1"), "{why}");
        assert_eq!(ids.of(Instrument(1)), None);
        // Each state of the books repeats the definition: no further records come.
        ids.define(&lots);
        assert_eq!(ids.of(Instrument(1)), None);
        assert_eq!(ids.defined(Instrument(1)), None);
        // The lot comes with a second definition.
        let mut late = definition(0, 5, -8);
        late.reference.lot = Quantity(100_000_000);
        assert_eq!(ids.define(&late), None);
        assert_eq!(ids.of(Instrument(0)), Some(5));
        let left_out = &ids.remarks()["instruments_left_out"];
        let names: Vec<_> = left_out.as_object().expect("an object").keys().collect();
        assert_eq!(names, ["S1"]);
    }

    #[test]
    fn sizes_are_whole_numbers_below_the_undefined_one() {
        let mut ids = Ids::default();
        ids.define(&definition(0, 5, 3));
        let size = |quantity| ids.size(Instrument(0), Quantity(quantity));
        assert_eq!(size(7), Some(7_000));
        assert_eq!(size(4_294_967), Some(4_294_967_000));
        assert_eq!(size(4_294_968), None);
        assert_eq!(size(-1), None);
        assert_eq!(size(Quantity::NULL.0), Some(u32::MAX));
    }

    #[test]
    fn numbers_are_those_of_the_venue_where_they_fit_and_are_of_one_instrument() {
        let mut ids = Ids::default();
        for (index, security_id, id) in
            [(0, 7, 7), (1, 1 << 40, 2), (2, 7, 3), (3, -3, 4), (4, 2, 5)]
        {
            ids.define(&definition(index, security_id, 0));
            assert_eq!(ids.of(Instrument(index)), Some(id), "{security_id}");
        }
        // Another publication has other indexes for them.
        ids.restart();
        ids.define(&InstrumentDefinition {
            instrument: Instrument(9),
            ..definition(1, 1 << 40, 0)
        });
        assert_eq!(ids.of(Instrument(9)), Some(2));
        assert_eq!(ids.of(Instrument(1)), None);
    }

    /// A venue that knows symbols alone numbers them by the rows of a table: another run has another order.
    #[test]
    fn a_symbol_has_one_number_and_no_number_two_symbols() {
        let mut ids = Ids::default();
        let symbol = |text: &str, security_id| InstrumentDefinition {
            symbol: Symbol::new(text.as_bytes()),
            ..definition(0, security_id, 0)
        };
        let mut id = |definition: &InstrumentDefinition| {
            ids.define(definition);
            ids.of(Instrument(0)).expect("it is not left out")
        };
        assert_eq!([id(&symbol("A", 1)), id(&symbol("B", 2))], [1, 2]);
        // Another order, with a symbol more.
        let again = [("B", 1), ("C", 2), ("A", 3)].map(|(text, row)| id(&symbol(text, row)));
        assert_eq!(again, [2, 3, 1]);
        // An instrument that the venue takes back has no symbol; one that had none gets it.
        assert_eq!([id(&symbol("", 1)), id(&symbol("", 3))], [2, 1]);
        assert_eq!([id(&symbol("", 8)), id(&symbol("D", 8))], [8, 8]);
        let symbols = ids.symbols();
        let expected = [("A", 1), ("B", 2), ("C", 3), ("D", 8)];
        let expected = expected.map(|(text, id)| (text.to_owned(), id));
        assert_eq!(symbols, expected);
    }
}
