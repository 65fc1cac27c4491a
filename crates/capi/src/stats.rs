//! Counts and lag of a reader.

#![allow(unsafe_code, reason = "a struct and pointers of C programs")]

use crate::bus::{of, tl_bus};
use crate::sized;
use crate::status::{Failure, TL_OK, guarded, tl_status};

/// Counts since a bus was joined.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_stats {
    /// The caller's `sizeof(tl_stats)`.
    pub size: u32,
    /// 0.
    pub reserved: u32,
    /// Returned events.
    pub events: u64,
    /// Overruns of this reader.
    pub overruns: u64,
    /// Messages lost in overruns.
    pub lost: u64,
    /// Publishers after the first.
    pub restarts: u64,
    /// Skipped messages of a newer schema.
    pub unknown: u64,
    /// Skipped messages of instruments without a definition.
    pub undefined: u64,
    /// Steps that did not fit their book: 0, unless library or publisher has a fault.
    pub inconsistent: u64,
    /// Messages read from the tape of the bus.
    pub tape_messages: u64,
    /// Overruns after which the reader continued with the tape.
    pub tape_fall_backs: u64,
    /// Readings of the tape that ended with a loss, which is an overrun.
    pub tape_losses: u64,
    /// 1: the next message comes from the tape, and the reader is behind the bus; else 0.
    pub on_tape: u64,
}

sized::versioned!(tl_stats, 64);

/// Counts since the bus was joined. `stats->size` must be set.
///
/// # Safety
/// `bus` is of `tl_join`; `stats` is valid for its size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_stats_of(bus: *mut tl_bus, stats: *mut tl_stats) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let bus = unsafe { &of(bus)?.bus };
        let counts = bus.stats();
        let made = tl_stats {
            size: size_of::<tl_stats>() as u32,
            reserved: 0,
            events: counts.events,
            overruns: counts.overruns,
            lost: counts.lost,
            restarts: counts.restarts,
            unknown: counts.unknown,
            undefined: counts.undefined,
            inconsistent: counts.inconsistent,
            tape_messages: counts.tape_messages,
            tape_fall_backs: counts.tape_fall_backs,
            tape_losses: counts.tape_losses,
            on_tape: bus.is_on_tape().into(),
        };
        // SAFETY: the caller's struct.
        unsafe { sized::give(&made, stats)? };
        Ok(TL_OK)
    })
}

/// Lag of this reader: unread messages and bytes, exact to some tens of KiB.
///
/// # Safety
/// `bus` is of `tl_join`; `messages` and `bytes` are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tl_lag(
    bus: *mut tl_bus,
    messages: *mut u64,
    bytes: *mut u64,
) -> tl_status {
    guarded(|| {
        // SAFETY: the caller's bus.
        let lag = unsafe { of(bus)? }.bus.lag();
        if messages.is_null() || bytes.is_null() {
            return Err(Failure::argument("tl_lag: messages or bytes is NULL"));
        }
        // SAFETY: the caller's pointers, which are not NULL.
        unsafe { (*messages, *bytes) = (lag.messages, lag.bytes) };
        Ok(TL_OK)
    })
}
