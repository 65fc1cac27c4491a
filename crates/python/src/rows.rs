//! Rows of arrays: one form in memory, its columns, and the object that numpy reads them from.

mod memory;
pub(crate) mod packet;

pub use memory::Rows;

use crate::number::{Form, Number, Time};
use crate::numpy::{Stored, numpy, stored};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::fmt;
use touchline_client::{
    BookChange, Code, ConsolidatedLevel, Level, LevelChange, Order, OrderChange, OrdersChange,
    StateChange, Statistic, Status, Times, Top, Trade,
};
use zerocopy::{Immutable, IntoBytes};

/// Number of orders that the venue does not state.
pub(crate) const NO_ORDERS: u32 = u32::MAX;
/// Book of a best price that is absent.
const NO_BOOK: u8 = u8::MAX;
/// Index for a status of a whole group.
const NO_INSTRUMENT: u32 = u32::MAX;
/// A text of numpy: letters of four bytes, zeros behind them.
type Text = [u32; 16];

/// A row of an array.
pub(crate) trait Row: IntoBytes + Immutable + Send + Sync + Sized + 'static {
    /// Columns in the order of memory, in numpy's words.
    fn columns(form: Form) -> Vec<Column>;

    /// Type of the array, numpy's `dtype`, once it is made. It is never given to a program, which could change it.
    fn kind(form: Form) -> &'static Stored;
}

/// Rows that are an array once a program asks for it.
pub(crate) struct Array {
    form: Form,
    rows: Rows,
    kind: fn(Python<'_>, Form) -> PyResult<Bound<'_, PyAny>>,
    made: Stored,
}

impl Array {
    /// Makes an array of rows.
    pub(crate) fn new<R: Row>(form: Form, rows: Vec<R>) -> Array {
        Array {
            form,
            rows: Rows::new(rows),
            kind: kind_of::<R>,
            made: Stored::new(),
        }
    }

    /// Makes an array of the bytes of rows of this release.
    ///
    /// # Errors
    /// The length is not a multiple of a row.
    pub(crate) fn of_bytes<R: Row>(form: Form, bytes: &[u8]) -> Result<Array, PyErr> {
        Ok(Array {
            rows: Rows::of_bytes(bytes, size_of::<R>())?,
            form,
            kind: kind_of::<R>,
            made: Stored::new(),
        })
    }

    /// Whether prices and quantities are integers.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// The bytes of the rows.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.rows.memory.bytes()
    }

    /// The array, each time the same one.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        stored(py, &self.made, || {
            let rows = Py::new(py, self.rows.clone())?;
            let rows = numpy(py)?.getattr("asarray")?.call1((rows,))?;
            let kind = (self.kind)(py, self.form)?;
            rows.call_method1("view", (kind,))
        })
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows.fmt(f)
    }
}

/// Type of an array, which no other array has.
fn kind_of<R: Row>(py: Python<'_>, form: Form) -> PyResult<Bound<'_, PyAny>> {
    let kind = stored(py, R::kind(form), || first_kind_of::<R>(py, form))?;
    // The same order of bytes: a copy, in half the time of another type from the columns.
    kind.call_method1("newbyteorder", ("|",))
}

fn first_kind_of<R: Row>(py: Python<'_>, form: Form) -> PyResult<Bound<'_, PyAny>> {
    let all = R::columns(form);
    let columns = PyDict::new(py);
    let names = all.iter().map(|column| column.name);
    let formats = all.iter().map(|column| column.format);
    let offsets = all.iter().map(|column| column.offset);
    columns.set_item("names", PyList::new(py, names)?)?;
    columns.set_item("formats", PyList::new(py, formats)?)?;
    columns.set_item("offsets", PyList::new(py, offsets)?)?;
    columns.set_item("itemsize", size_of::<R>())?;
    numpy(py)?.getattr("dtype")?.call1((columns,))
}

/// A column of an array.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    name: &'static str,
    format: &'static str,
    offset: usize,
}

/// A type that a column can have.
trait Field {
    fn format(form: Form) -> &'static str;
}

macro_rules! columns {
    ($($kind:ty => $format:expr,)*) => {$(
        impl Field for $kind {
            fn format(_: Form) -> &'static str {
                $format
            }
        }
    )*};
}

columns! {
    u64 => "<u8",
    u32 => "<u4",
    u16 => "<u2",
    u8 => "|u1",
    bool => "|b1",
    Text => "<U16",
}

impl Field for Time {
    fn format(_: Form) -> &'static str {
        "<i8"
    }
}

impl Field for Number {
    fn format(form: Form) -> &'static str {
        form.format()
    }
}

/// Declares a row once: the memory, and the columns by the same names. `rest` are bytes without a name up to the next eight.
macro_rules! row {
    ($(#[$doc:meta])* $name:ident, rest $rest:literal { $($field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, IntoBytes, Immutable)]
        #[repr(C)]
        pub struct $name {
            $($field: $kind,)*
            rest: [u8; $rest],
        }

        impl Row for $name {
            fn columns(form: Form) -> Vec<Column> {
                vec![$(Column {
                    name: stringify!($field),
                    format: <$kind as Field>::format(form),
                    offset: std::mem::offset_of!($name, $field),
                },)*]
            }

            fn kind(form: Form) -> &'static Stored {
                static KIND: [Stored; 2] = [const { Stored::new() }; 2];
                &KIND[form as usize]
            }
        }
    };
}

mod derived;
pub use derived::{LEVELS, MbpRow, SideLevels, TbboRow};

row! {
    /// Best bid and ask.
    TopRow, rest 0 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        bid: Number,
        bid_size: Number,
        ask: Number,
        ask_size: Number,
        instrument: u32,
        state: u8,
        end_of_batch: bool,
        bid_book: u8,
        ask_book: u8,
    }
}

row! {
    /// A trade.
    TradeRow, rest 5 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        trade_id: u64,
        price: Number,
        size: Number,
        instrument: u32,
        orders: u32,
        aggressor: u8,
        action: u8,
        end_of_batch: bool,
    }
}

row! {
    /// A step of a price book.
    LevelRow, rest 0 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        price: Number,
        size: Number,
        instrument: u32,
        orders: u32,
        index: u16,
        side: u8,
        book: u8,
        action: u8,
        state: u8,
        whole: bool,
        end_of_batch: bool,
    }
}

row! {
    /// A step of an order book.
    OrderRow, rest 7 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        order_id: u64,
        priority: u64,
        price: Number,
        size: Number,
        instrument: u32,
        side: u8,
        action: u8,
        state: u8,
        whole: bool,
        end_of_batch: bool,
    }
}

row! {
    /// A statistic.
    StatisticRow, rest 1 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        price: Number,
        size: Number,
        instrument: u32,
        kind: u8,
        action: u8,
        end_of_batch: bool,
    }
}

row! {
    /// A trading status.
    StatusRow, rest 0 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        group: Text,
        instrument: u32,
        status: u8,
        reason: u8,
        event: u8,
        end_of_batch: bool,
    }
}

row! {
    /// Another state of a book.
    StateRow, rest 2 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        instrument: u32,
        state: u8,
        end_of_batch: bool,
    }
}

row! {
    /// A level of both books of an instrument, merged by price.
    MergedRow, rest 4 {
        price: Number,
        size: Number,
        direct: Number,
        implied: Number,
        orders: u32,
    }
}

row! {
    /// A level of the direct or the implied book.
    BookRow, rest 3 {
        price: Number,
        size: Number,
        orders: u32,
        known: bool,
    }
}

row! {
    /// An order of a kept book.
    StoredOrderRow, rest 0 {
        order_id: u64,
        priority: u64,
        price: Number,
        size: Number,
    }
}

impl TopRow {
    /// Row of an event.
    pub fn new(form: Form, top: &Top) -> TopRow {
        let Times {
            exchange_ns,
            receive_ns,
            ..
        } = top.times;
        let price = |quote: Option<touchline_client::Quote>| {
            quote.map_or(form.none(), |quote| form.price(quote.price))
        };
        let size = |quote: Option<touchline_client::Quote>| {
            quote.map_or(form.none(), |quote| form.quantity(quote.quantity))
        };
        let book = |quote: Option<touchline_client::Quote>| {
            quote.map_or(NO_BOOK, |quote| quote.source as u8)
        };
        TopRow {
            sequence: top.sequence,
            exchange_ns: Time::new(exchange_ns),
            receive_ns: Time::new(receive_ns),
            bid: price(top.bid),
            bid_size: size(top.bid),
            ask: price(top.ask),
            ask_size: size(top.ask),
            instrument: top.instrument.index() as u32,
            state: top.state as u8,
            end_of_batch: top.end_of_batch,
            bid_book: book(top.bid),
            ask_book: book(top.ask),
            rest: [],
        }
    }
}

impl TradeRow {
    /// Row of an event.
    pub fn new(form: Form, trade: &Trade) -> TradeRow {
        TradeRow {
            sequence: trade.sequence,
            exchange_ns: Time::new(trade.times.exchange_ns),
            receive_ns: Time::new(trade.times.receive_ns),
            trade_id: trade.trade_id,
            price: form.price(trade.price),
            size: form.quantity(trade.quantity),
            instrument: trade.instrument.index() as u32,
            orders: trade.orders.unwrap_or(NO_ORDERS),
            aggressor: trade.aggressor as u8,
            action: trade.action as u8,
            end_of_batch: trade.end_of_batch,
            rest: [0; 5],
        }
    }
}

impl LevelRow {
    /// Step of a change.
    pub fn new(form: Form, change: &BookChange, step: &LevelChange) -> LevelRow {
        LevelRow {
            sequence: change.sequence,
            exchange_ns: Time::new(change.times.exchange_ns),
            receive_ns: Time::new(change.times.receive_ns),
            price: form.price(step.level.price),
            size: form.quantity(step.level.quantity),
            instrument: change.instrument.index() as u32,
            orders: step.level.orders.unwrap_or(NO_ORDERS),
            index: step.index,
            side: step.side as u8,
            book: step.book as u8,
            action: step.action as u8,
            state: change.state as u8,
            whole: change.is_whole,
            end_of_batch: change.end_of_batch,
            rest: [],
        }
    }
}

impl OrderRow {
    /// Step of a change.
    pub fn new(form: Form, change: &OrdersChange, step: &OrderChange) -> OrderRow {
        OrderRow {
            sequence: change.sequence,
            exchange_ns: Time::new(change.times.exchange_ns),
            receive_ns: Time::new(change.times.receive_ns),
            order_id: step.order_id,
            priority: step.priority,
            price: form.price(step.price),
            size: form.quantity(step.quantity),
            instrument: change.instrument.index() as u32,
            side: step.side as u8,
            action: step.action as u8,
            state: change.state as u8,
            whole: change.is_whole,
            end_of_batch: change.end_of_batch,
            rest: [0; 7],
        }
    }
}

impl StatisticRow {
    /// Row of an event.
    pub fn new(form: Form, statistic: &Statistic) -> StatisticRow {
        let price = statistic.price.map(|price| form.price(price));
        let size = statistic.quantity.map(|quantity| form.quantity(quantity));
        StatisticRow {
            sequence: statistic.sequence,
            exchange_ns: Time::new(statistic.times.exchange_ns),
            receive_ns: Time::new(statistic.times.receive_ns),
            price: price.unwrap_or(form.none()),
            size: size.unwrap_or(form.none()),
            instrument: statistic.instrument.index() as u32,
            kind: statistic.kind as u8,
            action: statistic.action as u8,
            end_of_batch: statistic.end_of_batch,
            rest: [0; 1],
        }
    }
}

impl StatusRow {
    /// Row of an event.
    pub fn new(status: &Status) -> StatusRow {
        let instrument = status
            .instrument
            .map(|instrument| instrument.index() as u32);
        StatusRow {
            sequence: status.sequence,
            exchange_ns: Time::new(status.times.exchange_ns),
            receive_ns: Time::new(status.times.receive_ns),
            group: text(&status.group),
            instrument: instrument.unwrap_or(NO_INSTRUMENT),
            status: status.status,
            reason: status.reason,
            event: status.event,
            end_of_batch: status.end_of_batch,
            rest: [],
        }
    }
}

fn text(code: &Code) -> Text {
    let mut text = Text::default();
    for (letter, byte) in text.iter_mut().zip(code.as_str().bytes()) {
        *letter = byte.into();
    }
    text
}

impl StateRow {
    /// Row of an event.
    pub fn new(change: &StateChange) -> StateRow {
        StateRow {
            sequence: change.sequence,
            exchange_ns: Time::new(change.times.exchange_ns),
            receive_ns: Time::new(change.times.receive_ns),
            instrument: change.instrument.index() as u32,
            state: change.state as u8,
            end_of_batch: change.end_of_batch,
            rest: [0; 2],
        }
    }

    /// Row of a change of a price book without a step.
    pub fn of_book(change: &BookChange) -> StateRow {
        StateRow::new(&StateChange {
            instrument: change.instrument,
            state: change.state,
            times: change.times,
            sequence: change.sequence,
            end_of_batch: change.end_of_batch,
        })
    }

    /// Row of a change of an order book without a step.
    pub fn of_orders(change: &OrdersChange) -> StateRow {
        StateRow::new(&StateChange {
            instrument: change.instrument,
            state: change.state,
            times: change.times,
            sequence: change.sequence,
            end_of_batch: change.end_of_batch,
        })
    }
}

impl MergedRow {
    /// Row of a level.
    pub fn new(form: Form, level: &ConsolidatedLevel) -> MergedRow {
        MergedRow {
            price: form.price(level.price),
            size: form.quantity(level.quantity),
            direct: form.quantity(level.direct),
            implied: form.quantity(level.implied),
            orders: level.orders.unwrap_or(NO_ORDERS),
            rest: [0; 4],
        }
    }
}

impl BookRow {
    /// Row of a level.
    pub fn new(form: Form, level: &Level) -> BookRow {
        BookRow {
            price: form.price(level.price),
            size: form.quantity(level.quantity),
            orders: level.orders.unwrap_or(NO_ORDERS),
            known: level.is_known,
            rest: [0; 3],
        }
    }
}

impl StoredOrderRow {
    /// Row of an order.
    pub fn new(form: Form, order: &Order) -> StoredOrderRow {
        StoredOrderRow {
            order_id: order.order_id,
            priority: order.priority,
            price: form.price(order.price),
            size: form.quantity(order.quantity),
            rest: [],
        }
    }
}
