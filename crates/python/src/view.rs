//! Look-ups between two reads, on a joined bus and on a replay alike.

use crate::book::Book;
use crate::errors::{check_room, exception};
use crate::event::Event;
use crate::number::Form;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use touchline_client::{
    Bus, Definition, Error, Event as Happened, Instrument, Price, SecurityId, TouchSource,
};

/// Memory for the symbol of an instrument, bytes: the object, and its places in a list and in the table of the
/// interpreter.
const SYMBOL_BYTES: usize = 256;
/// Memory for the columns of a definition, bytes: their objects, and places in lists.
const DEFINITION_BYTES: usize = 1_536;

/// Symbols as objects, and the form of numbers.
#[derive(Debug)]
pub struct View {
    pub form: Form,
    /// Symbols by index; made when an instrument is defined.
    symbols: Vec<Py<PyString>>,
}

impl View {
    /// Without symbols.
    pub fn new(form: Form) -> View {
        View {
            form,
            symbols: Vec::new(),
        }
    }

    /// Takes the symbols of all instruments; one may get its symbol later.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn take_symbols(&mut self, py: Python<'_>, bus: &Bus) -> PyResult<()> {
        let count = bus.instruments().count();
        check_room(
            count * SYMBOL_BYTES,
            format_args!("the symbols of {count} instruments"),
        )?;
        self.take_all(py, bus);
        Ok(())
    }

    fn take_all(&mut self, py: Python<'_>, bus: &Bus) {
        let symbols = bus
            .instruments()
            .map(|instrument| PyString::intern(py, bus.symbol(instrument)).unbind());
        self.symbols = symbols.collect();
    }

    /// Takes the symbol of one instrument; those before it are known.
    fn take_symbol(&mut self, py: Python<'_>, bus: &Bus, instrument: Instrument) {
        if instrument.index() > self.symbols.len() {
            return self.take_all(py, bus);
        }
        let symbol = PyString::intern(py, bus.symbol(instrument)).unbind();
        match self.symbols.get_mut(instrument.index()) {
            Some(place) => *place = symbol,
            None => self.symbols.push(symbol),
        }
    }

    /// Symbols by index; `?` before one is known.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn symbols(&self, py: Python<'_>) -> PyResult<Vec<Py<PyString>>> {
        let symbols = self.symbols.iter();
        let bytes = symbols.len() * 2 * size_of::<Py<PyString>>();
        check_room(bytes, "a list of symbols")?;
        Ok(symbols.map(|symbol| symbol.clone_ref(py)).collect())
    }

    /// Security ids by index.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn security_ids(&self, bus: &Bus) -> PyResult<Vec<i64>> {
        let count = bus.instruments().count();
        check_room(count * SYMBOL_BYTES, "a list of security ids")?;
        let ids = bus.instruments().map(|instrument| {
            let definition = bus.definition(instrument);
            definition.map_or(0, |definition| definition.security_id)
        });
        Ok(ids.collect())
    }

    /// An event, with its symbol.
    pub fn event(&mut self, py: Python<'_>, bus: &Bus, event: Happened) -> Event {
        if let Happened::Defined(defined) = event {
            self.take_symbol(py, bus, defined.instrument);
        }
        if let Happened::Connection(what) = event {
            return Event::of_connection(self.form, what);
        }
        let symbol = event
            .instrument()
            .and_then(|instrument| self.symbols.get(instrument.index()));
        Event::new(self.form, event, symbol.map(|symbol| symbol.clone_ref(py)))
    }

    /// The best bid and ask of an instrument.
    pub fn top(&mut self, py: Python<'_>, bus: &Bus, which: &Which) -> PyResult<Event> {
        let top = bus.top(find(py, bus, which)?);
        let top = top.map_err(|error| exception(py, &error))?;
        Ok(self.event(py, bus, Happened::Top(top)))
    }

    /// The last trade of an instrument.
    pub fn last_trade(
        &mut self,
        py: Python<'_>,
        bus: &Bus,
        which: &Which,
    ) -> PyResult<Option<Event>> {
        let trade = bus.last_trade(find(py, bus, which)?);
        let trade = trade.map_err(|error| exception(py, &error))?;
        Ok(trade.map(|trade| self.event(py, bus, Happened::Trade(trade))))
    }

    /// A copy of the price book of an instrument.
    pub fn book(
        &self,
        py: Python<'_>,
        bus: &Bus,
        which: &Which,
        levels: Option<usize>,
        of: TouchSource,
    ) -> PyResult<Book> {
        let book = bus.book(find(py, bus, which)?);
        let book = book.map_err(|error| exception(py, &error))?;
        let levels = levels.unwrap_or(usize::MAX);
        Book::new(self.form, &book, levels, of)
    }

    /// A copy of the order book of an instrument.
    pub fn orders(&self, py: Python<'_>, bus: &Bus, which: &Which) -> PyResult<Book> {
        Book::of_orders(py, self.form, bus, find(py, bus, which)?)
    }

    /// Definitions as columns: a dictionary of lists, by index.
    pub fn definitions<'py>(&self, py: Python<'py>, bus: &Bus) -> PyResult<Bound<'py, PyDict>> {
        let count = bus.instruments().count();
        check_room(
            count * DEFINITION_BYTES,
            format_args!("the definitions of {count} instruments"),
        )?;
        let all = bus
            .instruments()
            .map(|instrument| bus.definition(instrument));
        let all: Result<Vec<&Definition>, _> = all.collect();
        let all = all.map_err(|error| exception(py, &error))?;
        definitions(py, self.form, &all)
    }
}

/// Key of an instrument in a program.
#[derive(Debug)]
pub enum Which {
    /// The instrument's symbol.
    Symbol(String),
    /// The instrument's index, as in arrays.
    Index(usize),
    /// The venue's identifier.
    SecurityId(i64),
}

/// A symbol or an index, as a Python program gives it.
#[derive(Debug, FromPyObject)]
pub enum Named {
    /// A symbol.
    Symbol(String),
    /// An index.
    Index(usize),
}

impl Which {
    /// The key in the arguments of a call.
    ///
    /// # Errors
    /// Neither or both arguments are given.
    pub fn new(named: Option<Named>, security_id: Option<i64>) -> PyResult<Which> {
        match (named, security_id) {
            (Some(Named::Symbol(symbol)), None) => Ok(Which::Symbol(symbol)),
            (Some(Named::Index(index)), None) => Ok(Which::Index(index)),
            (None, Some(id)) => Ok(Which::SecurityId(id)),
            _ => Err(PyValueError::new_err(
                "which instrument? give a symbol, an index as in arrays, or security_id=",
            )),
        }
    }
}

fn find(py: Python<'_>, bus: &Bus, which: &Which) -> PyResult<Instrument> {
    let found = match which {
        Which::Symbol(symbol) => bus.instrument(symbol.as_str()),
        Which::SecurityId(id) => bus.instrument(SecurityId(*id)),
        Which::Index(index) => {
            let mut all = bus.instruments();
            all.nth(*index).ok_or_else(|| Error::NoInstrument {
                bus: bus.name().to_owned(),
                wanted: index.to_string(),
                defined: bus.instruments().count(),
                meant: None,
            })
        }
    };
    found.map_err(|error| exception(py, &error))
}

/// A number that the client has as 0 if the venue does not state it.
fn stated(number: i64) -> Option<i64> {
    (number != 0).then_some(number)
}

/// Columns of definitions; what the venue does not state is `None`.
fn definitions<'py>(
    py: Python<'py>,
    form: Form,
    all: &[&Definition],
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let text = |name: &str, of: fn(&Definition) -> String| {
        table.set_item(name, PyList::new(py, all.iter().map(|one| of(one)))?)
    };
    text("symbol", |one| one.symbol.to_string())?;
    text("venue", |one| one.venue.to_string())?;
    text("group", |one| one.group.to_string())?;
    text("asset", |one| one.asset.to_string())?;
    text("currency", |one| one.currency.to_string())?;
    let whole = |name: &str, of: fn(&Definition) -> Option<i64>| {
        table.set_item(name, PyList::new(py, all.iter().map(|one| of(one)))?)
    };
    whole("security_id", |one| Some(one.security_id))?;
    whole("expiry_ns", |one| stated(one.expiry_ns as i64))?;
    whole("maturity", |one| stated(one.maturity.into()))?;
    whole("quantity_exponent", |one| {
        Some(one.quantity_exponent.into())
    })?;
    let price = |name: &str, of: fn(&Definition) -> Option<Price>| {
        let prices = all
            .iter()
            .map(|one| form.price_object(py, of(one).unwrap_or(Price::NULL)));
        let prices: PyResult<Vec<_>> = prices.collect();
        table.set_item(name, PyList::new(py, prices?)?)
    };
    price("tick", |one| one.tick)?;
    price("multiplier", |one| one.multiplier)?;
    price("strike", |one| one.strike)?;
    Ok(table)
}
