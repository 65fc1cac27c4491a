//! A trading engine: its events and positions, and the desk's commands.

#![allow(unsafe_code, reason = "pointers of C programs")]

use crate::bus::{FOREVER, TL_FOREVER};
use crate::desk_event::tl_desk_event;
use crate::sized;
use crate::status::{Failure, TL_OK, TL_STOPPED, TL_TIMED_OUT, guarded, tl_status};
use crate::text::{TL_TEXT, chars, optional, text};
use std::ffi::c_char;
use std::time::Duration;
use touchline_client::fx::{Desk, Error, Options, Order, lifetime, name, new_name, style};
use touchline_client::names::DeskEventKind;
use touchline_client::{Side, Stopper};

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
    /// Symbol, such as `EUR/USD`.
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
            let name = chars(order.id.as_str());
            // SAFETY: the caller's place, which is not NULL, and as long as the longest name in every version. Before the
            // order is sent: without an answer the program asks for it by this name, or sends it again under it, and the
            // engine executes it once.
            unsafe {
                id.cast::<c_char>()
                    .copy_from_nonoverlapping(name.as_ptr(), order.id.as_str().len() + 1)
            };
        }
        desk.send(&order)?;
        Ok(TL_OK)
    })
}

/// Ends the loop of another thread, within a millisecond; may be called from a signal handler.
///
/// # Safety
/// `desk` is of `tl_desk_join`, and `tl_desk_close` was not called.
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

/// The next event; waits up to `timeout_ns` (0: never, `TL_FOREVER`: without end). `TL_TIMED_OUT` if none came, `TL_STOPPED` after
/// `tl_desk_stop`. `event->size` must be set.
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
        let next = match timeout_ns {
            // Stopped, also a call that never waits ends a loop.
            0 if desk.is_stopped() => None,
            0 => desk.poll()?,
            TL_FOREVER => desk.next()?,
            ns => desk.next_within(Duration::from_nanos(ns).min(FOREVER))?,
        };
        let Some(next) = next else {
            return Ok(match desk.is_stopped() {
                true => TL_STOPPED,
                false => TL_TIMED_OUT,
            });
        };
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
        // SAFETY: the caller's event, which has room.
        unsafe { sized::give(&tl_desk_event::of_parent(row), event)? };
        Ok(TL_OK)
    })
}

/// Copies the rows of a kind, at most `room`; `*count` is how many there are. `TL_DESK_PARENT`: parents that work, and the last 50 that
/// have ended; `TL_DESK_ORDER`: orders that may still be filled; `TL_DESK_FILL`, `TL_DESK_ALARM`: the last 50; `TL_DESK_POSITION`:
/// positions, by pair. `rows->size`, of the first, must be set; the others get it.
///
/// # Safety
/// `desk` is of `tl_desk_join`; `rows` has `room` places of `rows->size` bytes; `count` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_desk_list(
    desk: *mut tl_desk,
    kind: u8,
    rows: *mut tl_desk_event,
    room: usize,
    count: *mut usize,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's desk.
        let desk = unsafe { of(desk)? };
        if count.is_null() {
            return Err(Failure::argument("tl_desk_list: count is NULL"));
        }
        let made = listed(desk, kind)?;
        // SAFETY: the caller's places and pointer, which is not NULL.
        unsafe {
            sized::give_rows(&made, rows, room)?;
            *count = made.len();
        }
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

fn listed(desk: &Desk, kind: u8) -> Result<Vec<tl_desk_event>, Failure> {
    let is = |other: DeskEventKind| kind == other as u8;
    let ledger = desk.ledger();
    let most = ledger.parents.len().max(desk.orders().len());
    let most = most.max(ledger.fills.len()).max(ledger.pairs.len());
    let most = most.max(ledger.alarms.len());
    let bytes = most * size_of::<tl_desk_event>();
    touchline_client::Error::check_room(bytes, "the rows of an engine")?;
    let all = if is(DeskEventKind::Parent) {
        ledger
            .parents
            .iter()
            .map(tl_desk_event::of_parent)
            .collect()
    } else if is(DeskEventKind::Order) {
        desk.orders()
            .map(|(_, row)| tl_desk_event::of_order(row))
            .collect()
    } else if is(DeskEventKind::Fill) {
        ledger.fills.iter().map(tl_desk_event::of_fill).collect()
    } else if is(DeskEventKind::Position) {
        let all = ledger.pairs.iter();
        all.map(|(pair, row)| tl_desk_event::of_position(pair, row))
            .collect()
    } else if is(DeskEventKind::Alarm) {
        let all = ledger.alarms.iter();
        all.map(tl_desk_event::of_alarm).collect()
    } else {
        return Err(Failure::argument(format!(
            "tl_desk_list: kind {kind}: give TL_DESK_PARENT, TL_DESK_ORDER, TL_DESK_FILL, TL_DESK_POSITION or TL_DESK_ALARM"
        )));
    };
    Ok(all)
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

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::of_desk(&error)
    }
}
