//! One bus: join, read, look up, leave.

#![allow(unsafe_code, reason = "pointers of C programs")]

use crate::event::tl_event;
use crate::levels::{copy_levels, copy_orders, tl_level, tl_order};
use crate::sized;
use crate::status::{Failure, TL_OK, TL_STOPPED, TL_TIMED_OUT, guarded, tl_status};
use crate::text::{optional, text};
use std::ffi::{CString, c_char};
use std::ptr;
use std::time::Duration;
use touchline_client::{
    Bus, Error, Event, Events, Idle, Instrument, Next, Options, SecurityId, Side, Stopper,
    TapePlace, TouchSource,
};

/// Wait without end.
pub const TL_FOREVER: u64 = u64::MAX;
/// The longest wait of the client.
pub const FOREVER: Duration = Duration::from_secs(1 << 32);

/// Bytes of an allocated text beyond its letters, rounded up.
const SYMBOL_BYTES: usize = 32;

/// How to join a bus, or to open its tape. All zero but `size` is the default.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_options {
    /// The caller's `sizeof(tl_options)`.
    pub size: u32,
    /// `TL_JOIN_TOPS` and others, added; 0: tops and trades.
    pub events: u32,
    /// Directory of the buses; NULL: `$TOUCHLINE_DIR`, else `/dev/shm/touchline-<uid>`.
    pub directory: *const c_char,
    /// Name of this reader, as `touchline top` shows it; NULL: none.
    pub name: *const c_char,
    /// Symbols or patterns, such as `ES*`; NULL: all.
    pub symbols: *const *const c_char,
    /// Number of `symbols`.
    pub symbol_count: u32,
    /// Room for instruments; 0: the limit of the bus.
    pub instruments_max: u32,
    /// Wait for a bus that is not there, nanoseconds.
    pub wait_ns: u64,
    /// `TL_IDLE_BACKOFF` and others.
    pub idle: u8,
    /// 1: books are not kept.
    pub no_books: u8,
    /// 1: books that are not live are withheld; one that stops being live gives only its state, and returns as a whole book.
    pub live_only: u8,
    /// 1: the publisher waits for this reader, which needs a name.
    pub lossless: u8,
    /// 0.
    pub reserved: [u8; 4],
    /// Of `tl_open_journal`, and of `tl_join` with `tape`: first receive time, nanoseconds since 1970; 0: the begin of the tape. The books there come first, as after a join.
    pub from_ns: u64,
    /// Of `tl_open_journal`: receive time at which it ends; 0: the end of the tape.
    pub to_ns: u64,
    /// As `from_ns`, by the `sequence` of messages.
    pub from_sequence: u64,
    /// As `to_ns`, likewise.
    pub to_sequence: u64,
    /// Of `tl_join`: directory of a tape that `touchline record` writes of the bus. A reader that was overrun reads the lost messages from it; with
    /// `from_ns` or `from_sequence` it begins with the tape. NULL: none.
    pub tape: *const c_char,
    /// Wait for records of a tape that is behind the bus, and, also of `tl_open_journal`, for a recorder that starts again, nanoseconds; 0: one second.
    pub tape_wait_ns: u64,
}

sized::versioned!(tl_options, 56);

/// A joined bus. One thread at a time; `tl_stop` may be called by any.
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_bus {
    pub(crate) bus: Bus,
    stopper: Stopper,
    /// By index, made when asked for.
    symbols: Vec<CString>,
    /// Names of instruments before they had their symbols: programs may hold these.
    earlier: Vec<CString>,
}

/// Joins the bus of this name. On success `*bus` must be given to `tl_close`.
///
/// # Safety
/// `name` is a string; `options` is NULL or valid for its size; `bus` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_join(
    name: *const c_char,
    options: *const tl_options,
    bus: *mut *mut tl_bus,
) -> tl_status {
    guarded(|| {
        if bus.is_null() {
            return Err(Failure::argument("tl_join: bus is NULL"));
        }
        // SAFETY: the caller gives strings, and options that are NULL or valid.
        let (name, options) = unsafe { (text(name, "tl_join: name")?, join_options(options)?) };
        let made = tl_bus::over(options.join(name)?);
        // SAFETY: the caller's pointer is valid, and was checked to be none.
        unsafe { *bus = Box::into_raw(made) };
        Ok(TL_OK)
    })
}

/// Opens a tape of `touchline record` as the bus that it is of: `directory` is that of the tape, `name` that of a bus, or NULL for the first one that
/// the tape has. On success `*bus` must be given to `tl_close`. Its functions are those of a joined bus. At the end of the tape `tl_next` returns
/// `TL_STOPPED`; if it cannot be read to its end, an error. At the end of a tape that is recorded it waits. A tape has no readers with names and no
/// publisher that waits: of `options`, `directory`, `name`, `live_only` and `lossless` are not used.
///
/// # Safety
/// `directory` is a string, `name` NULL or a string; `options` is NULL or valid for its size; `bus` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_open_journal(
    directory: *const c_char,
    name: *const c_char,
    options: *const tl_options,
    bus: *mut *mut tl_bus,
) -> tl_status {
    guarded(|| {
        if bus.is_null() {
            return Err(Failure::argument("tl_open_journal: bus is NULL"));
        }
        // SAFETY: the caller gives strings, and options that are NULL or valid.
        let (directory, name, options) = unsafe {
            (
                text(directory, "tl_open_journal: directory")?,
                optional(name, "tl_open_journal: name")?,
                join_options(options)?,
            )
        };
        let made = tl_bus::over(options.open_journal(directory, name)?);
        // SAFETY: the caller's pointer is valid, and was checked to be none.
        unsafe { *bus = Box::into_raw(made) };
        Ok(TL_OK)
    })
}

/// The next event; waits up to `timeout_ns` (0: never, `TL_FOREVER`: without end). On a tape the time counts at its end: what it has is
/// read first, and `TL_TIMED_OUT` says that it has no more yet. On a bus it also comes behind 65,536 messages in a row
/// without an event. `event->size` must be set. In a forked child of the process that joined with a name or `lossless`: `TL_ERROR_FORKED`.
///
/// # Safety
/// `bus` is of `tl_join`; `event` is valid for its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_next(
    bus: *mut tl_bus,
    timeout_ns: u64,
    event: *mut tl_event,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus and event; an event that cannot be given is not taken.
        let bus = unsafe {
            sized::size(event)?;
            of(bus)?
        };
        bus.bus.check_process()?;
        let next = match timeout_ns {
            0 if bus.stopper.is_stopped() => Next::Stopped,
            // To the next event of a tape, or to its end: a loop over what there is ends with the tape.
            // mutant: capi: a loop that never waits ends within a tape
            0 if bus.bus.is_tape() => bus.bus.next_within(Duration::ZERO),
            0 => bus.bus.poll().map_or(Next::TimedOut, Next::Event),
            TL_FOREVER => bus.bus.next().map_or(Next::Stopped, Next::Event),
            ns => bus.bus.next_within(Duration::from_nanos(ns).min(FOREVER)),
        };
        match next {
            Next::Event(next) => {
                // SAFETY: the caller's event.
                unsafe { sized::give(&tl_event::of(&next), event)? };
                Ok(TL_OK)
            }
            Next::TimedOut => Ok(TL_TIMED_OUT),
            Next::Stopped => {
                // The end of a tape, or the reason why it is not read to its end.
                bus.bus.check_process()?;
                Ok(TL_STOPPED)
            }
        }
    })
}

/// Reads until every defined book is live, for at most `timeout_ns`; events are applied and not returned.
///
/// # Safety
/// `bus` is of `tl_join`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_ready(bus: *mut tl_bus, timeout_ns: u64) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { of(bus)? };
        bus.bus
            .ready(Duration::from_nanos(timeout_ns).min(FOREVER))?;
        Ok(TL_OK)
    })
}

/// Index of the instrument of this symbol.
///
/// # Safety
/// `bus` is of `tl_join`, `symbol` a string, `instrument` valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_find(
    bus: *mut tl_bus,
    symbol: *const c_char,
    instrument: *mut u32,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus and string.
        let (bus, symbol) = unsafe { (of(bus)?, text(symbol, "tl_find: symbol")?) };
        if instrument.is_null() {
            return Err(Failure::argument("tl_find: instrument is NULL"));
        }
        let found = bus.bus.instrument(symbol)?;
        // SAFETY: the caller's pointer, which is not NULL.
        unsafe { *instrument = found.index() as u32 };
        Ok(TL_OK)
    })
}

/// Index of the instrument with this id of the venue, which may have no symbol; of several venues' instruments the one defined last.
/// Of a venue without ids the number holds until the publisher restarts: keep symbols, or indexes.
///
/// # Safety
/// `bus` is of `tl_join`, `instrument` valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_find_id(
    bus: *mut tl_bus,
    security_id: i64,
    instrument: *mut u32,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { of(bus)? };
        if instrument.is_null() {
            return Err(Failure::argument("tl_find_id: instrument is NULL"));
        }
        let found = bus.bus.instrument(SecurityId(security_id))?;
        // SAFETY: the caller's pointer, which is not NULL.
        unsafe { *instrument = found.index() as u32 };
        Ok(TL_OK)
    })
}

/// Symbol of an instrument, valid until `tl_close`; `?` before it is known, NULL if there is no such instrument.
///
/// # Safety
/// `bus` is of `tl_join`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_symbol(bus: *mut tl_bus, instrument: u32) -> *const c_char {
    let mut symbol = ptr::null();
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { of(bus)? };
        symbol = bus.symbol(instrument)?;
        Ok(TL_OK)
    });
    symbol
}

/// The best bid and ask of an instrument, as an event.
///
/// # Safety
/// `bus` is of `tl_join`; `event` is valid for its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_top(
    bus: *mut tl_bus,
    instrument: u32,
    event: *mut tl_event,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { of(bus)? };
        let top = bus.bus.top(bus.handle(instrument)?)?;
        // SAFETY: the caller's event.
        unsafe { sized::give(&tl_event::of(&Event::Top(top)), event)? };
        Ok(TL_OK)
    })
}

/// The last trade of an instrument, as an event; `TL_TIMED_OUT` before the first.
///
/// # Safety
/// `bus` is of `tl_join`; `event` is valid for its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_last_trade(
    bus: *mut tl_bus,
    instrument: u32,
    event: *mut tl_event,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { of(bus)? };
        let Some(trade) = bus.bus.last_trade(bus.handle(instrument)?)? else {
            return Ok(TL_TIMED_OUT);
        };
        // SAFETY: the caller's event.
        unsafe { sized::give(&tl_event::of(&Event::Trade(trade)), event)? };
        Ok(TL_OK)
    })
}

/// Copies the best levels of a side (`TL_SIDE_BID`, `TL_SIDE_ASK`), at most `room`; `*count` is how many, `*state` the state of the book.
/// `book` is `TL_BOOK_MERGED` for direct and implied levels by price, or one of them alone: `TL_BOOK_DIRECT`, `TL_BOOK_IMPLIED`.
/// The merged list leaves out levels that must exist and were never published; the lists of one book have them with `known` 0. So the
/// first level is the best price only if no better one is unknown: the best price is that of `tl_top`.
///
/// # Safety
/// `bus` is of `tl_join`, `levels` has `room` places, `count` and `state` are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_book(
    bus: *mut tl_bus,
    instrument: u32,
    side: u8,
    book: u8,
    levels: *mut tl_level,
    room: usize,
    count: *mut usize,
    state: *mut u8,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { of(bus)? };
        if count.is_null() || state.is_null() || (levels.is_null() && room > 0) {
            return Err(Failure::argument("tl_book: levels, count or state is NULL"));
        }
        let handle = bus.handle(instrument)?;
        let of = TouchSource::from_code(book).ok_or_else(|| {
            Failure::argument(format!(
                "tl_book: book is {book}: give TL_BOOK_MERGED, TL_BOOK_DIRECT or TL_BOOK_IMPLIED"
            ))
        })?;
        let book = bus.bus.book(handle)?;
        // SAFETY: the caller's places and pointers, which are not NULL.
        unsafe {
            *count = copy_levels(&book, side_of(side)?, of, levels, room);
            *state = book.state() as u8;
        }
        Ok(TL_OK)
    })
}

/// Copies the orders of a side (`TL_SIDE_BID`, `TL_SIDE_ASK`) in order of priority, at most `room`; `*count` is how many there are.
///
/// # Safety
/// `bus` is of `tl_join`, `orders` has `room` places, `count` and `state` are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_orders(
    bus: *mut tl_bus,
    instrument: u32,
    side: u8,
    orders: *mut tl_order,
    room: usize,
    count: *mut usize,
    state: *mut u8,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { of(bus)? };
        if count.is_null() || state.is_null() || (orders.is_null() && room > 0) {
            return Err(Failure::argument(
                "tl_orders: orders, count or state is NULL",
            ));
        }
        let handle = bus.handle(instrument)?;
        // SAFETY: the caller's places and pointers, which are not NULL.
        unsafe {
            *count = copy_orders(&bus.bus, handle, side_of(side)?, orders, room)?;
            *state = bus.bus.orders_state(handle)? as u8;
        }
        Ok(TL_OK)
    })
}

/// Ends the loop of another thread, within a millisecond; may be called from a signal handler.
///
/// # Safety
/// `bus` is of `tl_join`, and `tl_close` was not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_stop(bus: *const tl_bus) {
    if !bus.is_null() {
        // SAFETY: the caller's bus; only the stopper is looked at, which any thread may do.
        unsafe { (*ptr::addr_of!((*bus).stopper)).stop() };
    }
}

/// Leaves a bus; NULL is allowed.
///
/// # Safety
/// `bus` is of `tl_join`, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_close(bus: *mut tl_bus) {
    guarded(|| {
        if !bus.is_null() {
            // SAFETY: made by `Box::into_raw` in `tl_join`, given back once.
            drop(unsafe { Box::from_raw(bus) });
        }
        Ok(TL_OK)
    });
}

impl tl_bus {
    fn over(bus: Bus) -> Box<tl_bus> {
        Box::new(tl_bus {
            stopper: bus.stopper(),
            bus,
            symbols: Vec::new(),
            earlier: Vec::new(),
        })
    }

    /// The handle of an index.
    pub(crate) fn handle(&self, index: u32) -> Result<Instrument, Failure> {
        let found = self.bus.instruments().nth(index as usize);
        found.ok_or_else(|| {
            Failure::argument(format!(
                "instrument {index}: bus {} has none of it",
                self.bus.name()
            ))
        })
    }

    fn symbol(&mut self, index: u32) -> Result<*const c_char, Failure> {
        let handle = self.handle(index)?;
        let known = self.symbols.len();
        let more = self.bus.instruments().skip(known);
        let count = more.size_hint().0;
        if count > 0 {
            let bytes = (known + count) * 2 * size_of::<CString>() + count * SYMBOL_BYTES;
            Error::check_room(bytes, format_args!("the symbols of {count} instruments"))?;
            self.symbols.extend(more.map(|_| CString::default()));
        }
        let kept = &mut self.symbols[index as usize];
        let symbol = self.bus.symbol(handle);
        if kept.as_bytes() != symbol.as_bytes() {
            let symbol = CString::new(symbol).unwrap_or_default();
            self.earlier.push(std::mem::replace(kept, symbol));
        }
        Ok(kept.as_ptr())
    }
}

/// # Safety
/// `bus` is NULL or of `tl_join`, and of this thread alone.
pub unsafe fn of<'a>(bus: *mut tl_bus) -> Result<&'a mut tl_bus, Failure> {
    // SAFETY: as above.
    unsafe { bus.as_mut() }.ok_or_else(|| Failure::argument("the bus is NULL"))
}

/// # Safety
/// `options` is NULL or valid for its size.
unsafe fn join_options(options: *const tl_options) -> Result<Options, Failure> {
    let made = Bus::options();
    if options.is_null() {
        return Ok(made);
    }
    // SAFETY: the caller's options.
    let options = unsafe { sized::take(options)? };
    if options.reserved != [0; 4] {
        return Err(Failure::argument("tl_options.reserved is not 0"));
    }
    let mut made = made
        .events(events_of(options.events)?)
        .keep_books(options.no_books == 0)
        .live_only(options.live_only != 0)
        .idle(idle_of(options.idle)?)
        .wait(Duration::from_nanos(options.wait_ns).min(FOREVER));
    // SAFETY: strings of the caller, and as many symbols as the count says.
    unsafe {
        if !options.directory.is_null() {
            made = made.directory(text(options.directory, "tl_options.directory")?);
        }
        if !options.name.is_null() {
            made = made.name(text(options.name, "tl_options.name")?);
        }
        made = made.symbols(symbols_of(&options)?);
        if !options.tape.is_null() {
            made = made.tape(text(options.tape, "tl_options.tape")?);
        }
    }
    if options.tape_wait_ns != 0 {
        made = made.tape_wait(Duration::from_nanos(options.tape_wait_ns).min(FOREVER));
    }
    if options.lossless != 0 {
        made = made.lossless();
    }
    if options.instruments_max != 0 {
        made = made.instruments_max(options.instruments_max as usize);
    }
    if let Some(place) = place("from", options.from_ns, options.from_sequence)? {
        made = made.tape_from(place);
    }
    if let Some(place) = place("to", options.to_ns, options.to_sequence)? {
        made = made.tape_to(place);
    }
    Ok(made)
}

/// Place on a tape by one of two numbers, or none.
fn place(which: &str, ns: u64, sequence: u64) -> Result<Option<TapePlace>, Failure> {
    match (ns, sequence) {
        (0, 0) => Ok(None),
        (ns, 0) => Ok(Some(TapePlace::Time(ns))),
        (0, sequence) => Ok(Some(TapePlace::Sequence(sequence))),
        _ => Err(Failure::argument(format!(
            "tl_options.{which}_ns and {which}_sequence are both set: give one of them"
        ))),
    }
}

/// # Safety
/// `symbols` has `symbol_count` strings.
unsafe fn symbols_of(options: &tl_options) -> Result<Vec<String>, Failure> {
    let count = options.symbol_count as usize;
    if options.symbols.is_null() && count > 0 {
        return Err(Failure::argument(
            "tl_options.symbols is NULL, its count is not 0",
        ));
    }
    let symbol = |at: usize| {
        // SAFETY: as above.
        unsafe { text(*options.symbols.add(at), "tl_options.symbols") }
    };
    let mut bytes = count * size_of::<String>();
    for at in 0..count {
        bytes += SYMBOL_BYTES + symbol(at)?.len();
    }
    Error::check_room(bytes, format_args!("{count} symbols"))?;
    (0..count).map(|at| Ok(symbol(at)?.to_owned())).collect()
}

fn events_of(bits: u32) -> Result<Events, Failure> {
    if bits == 0 {
        return Ok(Events::TOPS | Events::TRADES);
    }
    Events::from_bits(bits).ok_or_else(|| {
        Failure::argument(format!(
            "tl_options.events is {bits:#x}: give TL_JOIN_TOPS and others, added"
        ))
    })
}

fn idle_of(idle: u8) -> Result<Idle, Failure> {
    match idle {
        0 => Ok(Idle::BackOff),
        1 => Ok(Idle::Yield),
        2 => Ok(Idle::Spin),
        _ => Err(Failure::argument(format!(
            "tl_options.idle is {idle}: give TL_IDLE_BACKOFF, TL_IDLE_YIELD or TL_IDLE_SPIN"
        ))),
    }
}

fn side_of(side: u8) -> Result<Side, Failure> {
    match side {
        0 => Ok(Side::Bid),
        1 => Ok(Side::Ask),
        _ => Err(Failure::argument(format!(
            "side {side}: give TL_SIDE_BID or TL_SIDE_ASK"
        ))),
    }
}
