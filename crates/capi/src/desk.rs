//! A trading engine: its events and positions, and the desk's commands.

#![allow(unsafe_code, reason = "pointers of C programs")]

use crate::bus::{FOREVER, TL_FOREVER, text};
use crate::event::TL_NONE;
use crate::sized;
use crate::status::{Failure, TL_OK, TL_STOPPED, TL_TIMED_OUT, guarded, tl_status};
use std::ffi::c_char;
use std::time::Duration;
use touchline_client::fx::{
    Desk, Error, Event, Options, Order, OrderRow, ParentRow, happened, lifetime, name, new_name,
    style, words,
};
use touchline_client::{Side, Stopper};

/// Bytes of a text of a desk, with the zero behind it.
pub const TL_TEXT: usize = 72;

/// How to join a trading engine. All NULL but `size` is the default.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_desk_options {
    /// The caller's `sizeof(tl_desk_options)`.
    pub size: u32,
    /// 0.
    pub reserved: u32,
    /// The client, as the engine's configuration names it; NULL: `desk`.
    pub client: *const c_char,
    /// Directory of the buses; NULL: `$TOUCHLINE_DIR`, else `/dev/shm/touchline-<uid>`.
    pub directory: *const c_char,
    /// Directory of the client's ring, if the engine's configuration names one.
    pub ring_directory: *const c_char,
    /// Directory of the engine's journal; NULL: that of its last start.
    pub journal: *const c_char,
    /// Group of the client's ring, if the engine's configuration names one.
    pub group: *const c_char,
}

sized::versioned!(tl_desk_options, 48);

/// A parent order. Zero and NULL are the defaults of `touchline fx send`.
#[repr(C)]
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_parent {
    /// The caller's `sizeof(tl_parent)`.
    pub size: u32,
    /// `TL_SIDE_BID` buys, `TL_SIDE_ASK` sells.
    pub side: u8,
    /// 1: the whole quantity at once, or nothing.
    pub whole: u8,
    /// 1 more than the urgency, so 1 to 3; 0: the default.
    pub urgency: u8,
    /// 0.
    pub reserved: u8,
    /// Base units.
    pub quantity: i64,
    /// Lifetime of a gtd order, milliseconds; 0: a minute.
    pub deadline_ms: u64,
    /// Symbol, as `EUR/USD`.
    pub pair: *const c_char,
    /// Name of the order; NULL: the time.
    pub id: *const c_char,
    /// Worst price, a decimal; NULL: none.
    pub limit: *const c_char,
    /// `gtd`, `ioc` or `fok`; NULL: `gtd`.
    pub tif: *const c_char,
    /// `best`, `full` or `sweep`; NULL: `best`.
    pub style: *const c_char,
}

sized::versioned!(tl_parent, 64);

/// An event of a desk, flat: numbers that its kind does not have are `TL_NONE`, texts empty.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_desk_event {
    /// The caller's `sizeof(tl_desk_event)`.
    pub size: u32,
    /// `TL_DESK_PARENT` and others.
    pub kind: u8,
    /// Side of a parent, an order or a fill.
    pub side: u8,
    /// 1 if a parent has ended.
    pub ended: u8,
    /// 1 if it has ended and has no open order.
    pub settled: u8,
    /// Base units of a parent, an order or a fill; the position of a pair; skipped events.
    pub quantity: i64,
    /// Base units filled of a parent or an order.
    pub filled: i64,
    /// Price of an order or a fill, in 1e-9.
    pub price: i64,
    /// Name of the parent.
    pub parent: [c_char; TL_TEXT],
    /// ClOrdID of the order.
    pub order: [c_char; TL_TEXT],
    /// Bank.
    pub bank: [c_char; TL_TEXT],
    /// Pair.
    pub pair: [c_char; TL_TEXT],
    /// State of a parent or an order, kind of a fill or an alarm, a sentence of the bus, the user of a kill.
    pub state: [c_char; TL_TEXT],
}

sized::versioned!(tl_desk_event, 392);

/// A joined trading engine, for one thread at a time.
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_desk {
    desk: Desk,
    stopper: Stopper,
}

/// Joins the engine on the bus of this name, and reads its journal. On success `*desk` must be given to `tl_desk_close`.
///
/// # Safety
/// `bus` is a string; `options` is NULL or valid for its size; `desk` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_join(
    bus: *const c_char,
    options: *const tl_desk_options,
    desk: *mut *mut tl_desk,
) -> tl_status {
    guarded(|| {
        if desk.is_null() {
            return Err(Failure::argument("tl_desk_join: desk is NULL"));
        }
        // SAFETY: the caller gives strings, and options that are NULL or valid.
        let (bus, options) = unsafe { (text(bus, "tl_desk_join: bus")?, options_of(options)?) };
        let joined = options.join(bus)?;
        let made = Box::new(tl_desk {
            stopper: joined.stopper(),
            desk: joined,
        });
        // SAFETY: the caller's pointer is valid, and was checked to be none.
        unsafe { *desk = Box::into_raw(made) };
        Ok(TL_OK)
    })
}

/// Sends a parent order; waits until the engine has accepted it. Its name is written to `id`, which has `TL_TEXT` bytes or is NULL,
/// before it is sent: after `TL_ERROR_NO_ANSWER` give it as `parent->id` to send the same order again.
/// `TL_ERROR_REFUSED`: `tl_error` has the engine's sentence.
///
/// # Safety
/// `desk` is of `tl_desk_join`; `parent` is valid, with strings; `id` is NULL or has `TL_TEXT` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_send(
    desk: *mut tl_desk,
    parent: *const tl_parent,
    id: *mut [c_char; TL_TEXT],
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's desk and order.
        let (desk, order) = unsafe { (of(desk)?, order_of(parent)?) };
        if !id.is_null() {
            // SAFETY: the caller's place, which is not NULL. Before the order is sent: without an answer the program asks
            // for it by this name, or sends it again under it, and the engine executes it once.
            unsafe { *id = chars(order.id.as_str()) };
        }
        desk.send(&order)?;
        Ok(TL_OK)
    })
}

/// Ends the loop of another thread, within a millisecond; may be called from a signal handler.
///
/// # Safety
/// `desk` is of `tl_desk_join`, and `tl_desk_close` has not been called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_stop(desk: *const tl_desk) {
    if !desk.is_null() {
        // SAFETY: the caller's desk; only the stopper is looked at, which any thread may do.
        unsafe { (*std::ptr::addr_of!((*desk).stopper)).stop() };
    }
}

/// Ends a parent and cancels its open orders.
///
/// # Safety
/// `desk` is of `tl_desk_join`, `parent` a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_cancel(desk: *mut tl_desk, parent: *const c_char) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's desk and string.
        let (desk, parent) = unsafe { (of(desk)?, text(parent, "tl_desk_cancel: parent")?) };
        desk.cancel(name(parent)?)?;
        Ok(TL_OK)
    })
}

/// Sets the kill switch, if need be without the ring.
///
/// # Safety
/// `desk` is of `tl_desk_join`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_kill(desk: *mut tl_desk) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's desk.
        unsafe { of(desk)? }.kill()?;
        Ok(TL_OK)
    })
}

/// The next event; waits up to `timeout_ns` (0: never, `TL_FOREVER`: without end). `event->size` must be set.
///
/// # Safety
/// `desk` is of `tl_desk_join`; `event` is valid for its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_next(
    desk: *mut tl_desk,
    timeout_ns: u64,
    event: *mut tl_desk_event,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's desk and event; an event that cannot be given is not taken.
        let desk = unsafe {
            sized::size(event)?;
            of(desk)?
        };
        let (next, none) = match timeout_ns {
            0 => (desk.poll()?, TL_TIMED_OUT),
            TL_FOREVER => (desk.next()?, TL_STOPPED),
            ns => (
                desk.next_within(Duration::from_nanos(ns).min(FOREVER))?,
                TL_TIMED_OUT,
            ),
        };
        let Some(next) = next else { return Ok(none) };
        // SAFETY: the caller's event, which has room.
        unsafe { sized::give(&tl_desk_event::of(&next), event)? };
        Ok(TL_OK)
    })
}

/// The state of a parent, as an event; `TL_TIMED_OUT` if it is not known, or not any more.
///
/// # Safety
/// `desk` is of `tl_desk_join`, `parent` a string; `event` is valid for its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_parent(
    desk: *mut tl_desk,
    parent: *const c_char,
    event: *mut tl_desk_event,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's desk, string and event.
        let (desk, parent) = unsafe {
            sized::size(event)?;
            (of(desk)?, text(parent, "tl_desk_parent: parent")?)
        };
        let Some(row) = desk.parent(name(parent)?) else {
            return Ok(TL_TIMED_OUT);
        };
        let made = tl_desk_event::of(&Event::Parent(row.clone()));
        // SAFETY: the caller's event, which has room.
        unsafe { sized::give(&made, event)? };
        Ok(TL_OK)
    })
}

/// The position of a pair, base units; `TL_TIMED_OUT` if the engine has none of it.
///
/// # Safety
/// `desk` is of `tl_desk_join`, `pair` a string, `units` valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_position(
    desk: *mut tl_desk,
    pair: *const c_char,
    units: *mut i64,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's desk and string.
        let (desk, pair) = unsafe { (of(desk)?, text(pair, "tl_desk_position: pair")?) };
        if units.is_null() {
            return Err(Failure::argument("tl_desk_position: units is NULL"));
        }
        let Some(row) = desk.positions().get(pair) else {
            return Ok(TL_TIMED_OUT);
        };
        // SAFETY: the caller's pointer, which is not NULL.
        unsafe { *units = row.position };
        Ok(TL_OK)
    })
}

/// Leaves an engine; NULL is allowed.
///
/// # Safety
/// `desk` is of `tl_desk_join`, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_close(desk: *mut tl_desk) {
    guarded(|| {
        if !desk.is_null() {
            // SAFETY: made by `Box::into_raw` in `tl_desk_join`, given back once.
            drop(unsafe { Box::from_raw(desk) });
        }
        Ok(TL_OK)
    });
}

/// # Safety
/// `desk` is NULL or of `tl_desk_join`, and of this thread alone.
unsafe fn of<'a>(desk: *mut tl_desk) -> Result<&'a mut Desk, Failure> {
    // SAFETY: as above.
    let desk = unsafe { desk.as_mut() };
    let desk = desk.ok_or_else(|| Failure::argument("the desk is NULL"))?;
    Ok(&mut desk.desk)
}

/// # Safety
/// `options` is NULL or valid for its size, with strings.
unsafe fn options_of(options: *const tl_desk_options) -> Result<Options, Failure> {
    let mut made = Desk::options();
    if options.is_null() {
        return Ok(made);
    }
    // SAFETY: not NULL, and of the size of this version; its texts are NULL or strings.
    unsafe {
        let options = sized::take(options)?;
        if options.reserved != 0 {
            return Err(Failure::argument("tl_desk_options.reserved is not 0"));
        }
        if let Some(client) = optional(options.client, "tl_desk_options.client")? {
            made = made.client(client);
        }
        if let Some(path) = optional(options.directory, "tl_desk_options.directory")? {
            made = made.directory(path);
        }
        if let Some(path) = optional(options.ring_directory, "tl_desk_options.ring_directory")? {
            made = made.ring_directory(path);
        }
        if let Some(group) = optional(options.group, "tl_desk_options.group")? {
            made = made.group(group);
        }
        if let Some(path) = optional(options.journal, "tl_desk_options.journal")? {
            made = made.journal(path);
        }
    }
    Ok(made)
}

/// # Safety
/// `parent` is NULL or valid for its size, with strings.
unsafe fn order_of(parent: *const tl_parent) -> Result<Order, Failure> {
    // SAFETY: not NULL, and of the size of this version; its texts are NULL or strings.
    let (parent, [id, limit, tif, how], pair) = unsafe {
        let parent = sized::take(parent)?;
        if parent.reserved != 0 {
            return Err(Failure::argument("tl_parent.reserved is not 0"));
        }
        let texts = [
            optional(parent.id, "tl_parent.id")?,
            optional(parent.limit, "tl_parent.limit")?,
            optional(parent.tif, "tl_parent.tif")?,
            optional(parent.style, "tl_parent.style")?,
        ];
        let pair = text(parent.pair, "tl_parent.pair")?;
        (parent, texts, pair)
    };
    let side = match parent.side {
        0 => Side::Bid,
        1 => Side::Ask,
        _ => {
            return Err(Failure::argument(
                "tl_parent.side: give TL_SIDE_BID or TL_SIDE_ASK",
            ));
        }
    };
    let id = id.map_or_else(|| Ok(new_name()), name)?;
    let mut order = Order::new(id, name(pair)?, side, parent.quantity);
    order.limit = limit.map(name).transpose()?;
    order.lifetime = lifetime(tif.unwrap_or("gtd"))?;
    order.style = style(how.unwrap_or("best"))?;
    order.partial = parent.whole == 0;
    if parent.deadline_ms != 0 {
        order.deadline_ms = parent.deadline_ms;
    }
    if parent.urgency != 0 {
        order.urgency = parent.urgency - 1;
    }
    Ok(order)
}

/// # Safety
/// `given` is NULL or a string.
unsafe fn optional<'a>(given: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    // SAFETY: as above.
    (!given.is_null())
        .then(|| unsafe { text(given, what) })
        .transpose()
}

/// A text that fits, or its begin, with a zero behind it.
fn chars(from: &str) -> [c_char; TL_TEXT] {
    let mut made = [0; TL_TEXT];
    for (place, byte) in made[..TL_TEXT - 1].iter_mut().zip(from.bytes()) {
        *place = byte as c_char;
    }
    made
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::of_desk(&error)
    }
}

impl tl_desk_event {
    /// Of an event of the client.
    fn of(event: &Event) -> tl_desk_event {
        let mut flat = tl_desk_event {
            size: size_of::<tl_desk_event>() as u32,
            kind: event.kind() as u8,
            side: 0,
            ended: 0,
            settled: 0,
            quantity: TL_NONE,
            filled: TL_NONE,
            price: TL_NONE,
            parent: chars(""),
            order: chars(""),
            bank: chars(""),
            pair: chars(""),
            state: chars(""),
        };
        match event {
            Event::Parent(row) => flat.parent(row),
            Event::Order(row) => flat.order(row),
            Event::Fill(row) => {
                let of = &row.fill;
                (flat.side, flat.quantity, flat.price) = (of.side as u8, of.quantity, of.price.0);
                flat.parent = of.parent.map_or(flat.parent, |id| chars(id.as_str()));
                flat.order = of
                    .order
                    .map_or(flat.order, |order| chars(order.id.as_str()));
                flat.bank = chars(row.bank.as_deref().unwrap_or_default());
                flat.pair = chars(&row.pair);
                flat.state = chars(words::fill_name(of.kind));
            }
            Event::Position { pair, position } => {
                flat.quantity = position.position;
                flat.pair = chars(pair);
            }
            Event::Alarm(row) => {
                flat.order = row.order.map_or(flat.order, |id| chars(id.as_str()));
                flat.state = chars(&row.what.to_string());
            }
            Event::Killed { by } => flat.state = by.map_or(flat.state, |by| chars(by.as_str())),
            Event::Bus(event) => flat.state = chars(&happened(event)),
            Event::Skipped(events) => flat.quantity = *events as i64,
            _ => {}
        }
        flat
    }

    fn parent(&mut self, row: &ParentRow) {
        (self.side, self.quantity, self.filled) = (row.side as u8, row.quantity, row.filled);
        (self.ended, self.settled) = (u8::from(row.is_ended), u8::from(row.is_settled));
        self.parent = chars(row.id.as_str());
        self.pair = chars(&row.pair);
        self.state = chars(&row.state);
    }

    fn order(&mut self, row: &OrderRow) {
        let terms = &row.terms;
        (self.side, self.quantity, self.filled) = (terms.side as u8, terms.quantity, row.cum);
        self.price = terms.price.0;
        self.parent = chars(row.parent.as_str());
        self.order = chars(row.id.as_str());
        self.bank = chars(&row.bank);
        self.pair = chars(&terms.pair);
        self.state = chars(words::order_state_name(row.state));
    }
}
