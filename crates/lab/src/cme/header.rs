//! The head of a packet: its number and when it says that it was sent.

/// Offset of the sending time.
const SENDING_TIME: usize = 4;

/// The number of a packet.
pub fn number(payload: &[u8]) -> u32 {
    payload
        .first_chunk()
        .map_or(0, |field| u32::from_le_bytes(*field))
}

/// When a packet says that it was sent.
pub fn sending_time(payload: &[u8]) -> u64 {
    let field = payload.get(SENDING_TIME..).and_then(<[u8]>::first_chunk);
    field.map_or(0, |field| u64::from_le_bytes(*field))
}

/// Gives the packet another sending time.
pub fn set_sending_time(payload: &mut [u8], sending_ns: u64) {
    let field = payload
        .get_mut(SENDING_TIME..)
        .and_then(<[u8]>::first_chunk_mut);
    if let Some(field) = field {
        *field = sending_ns.to_le_bytes();
    }
}

/// Gives the packet a sending time so many seconds away.
pub fn retime(payload: &mut [u8], seconds: i64) {
    set_sending_time(payload, moved(sending_time(payload), seconds));
}

/// A time so many seconds away; those before 1970 and behind the last one are these.
pub fn moved(time_ns: u64, seconds: i64) -> u64 {
    let by_ns = seconds.unsigned_abs().saturating_mul(1_000_000_000);
    match seconds < 0 {
        true => time_ns.saturating_sub(by_ns),
        false => time_ns.saturating_add(by_ns),
    }
}

/// A time so many nanoseconds away; those before 1970 and behind the last one are these.
pub fn moved_ns(time_ns: u64, by_ns: i64) -> u64 {
    time_ns.saturating_add_signed(by_ns)
}

/// Moves the number; it wraps.
pub fn renumber(payload: &mut [u8], ahead: u32) {
    if let Some(field) = payload.first_chunk_mut::<4>() {
        *field = u32::from_le_bytes(*field).wrapping_add(ahead).to_le_bytes();
    }
}
