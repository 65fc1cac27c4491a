//! Packet header: sequence and sending time.

/// Offset of the sending time.
const SENDING_TIME: usize = 4;

/// Sequence of a packet.
pub fn number(payload: &[u8]) -> u32 {
    payload
        .first_chunk()
        .map_or(0, |field| u32::from_le_bytes(*field))
}

/// Sending time of a packet.
pub fn sending_time(payload: &[u8]) -> u64 {
    let field = payload.get(SENDING_TIME..).and_then(<[u8]>::first_chunk);
    field.map_or(0, |field| u64::from_le_bytes(*field))
}

/// Sets the sending time.
pub fn set_sending_time(payload: &mut [u8], sending_ns: u64) {
    let field = payload
        .get_mut(SENDING_TIME..)
        .and_then(<[u8]>::first_chunk_mut);
    if let Some(field) = field {
        *field = sending_ns.to_le_bytes();
    }
}

/// Moves the sending time by this number of seconds.
pub fn retime(payload: &mut [u8], seconds: i64) {
    set_sending_time(payload, moved(sending_time(payload), seconds));
}

/// A time moved by this number of seconds, saturating.
pub fn moved(time_ns: u64, seconds: i64) -> u64 {
    let by_ns = seconds.unsigned_abs().saturating_mul(1_000_000_000);
    match seconds < 0 {
        true => time_ns.saturating_sub(by_ns),
        false => time_ns.saturating_add(by_ns),
    }
}

/// A time moved by this number of nanoseconds, saturating.
pub fn moved_ns(time_ns: u64, by_ns: i64) -> u64 {
    time_ns.saturating_add_signed(by_ns)
}

/// Adds to the sequence, wrapping.
pub fn renumber(payload: &mut [u8], ahead: u32) {
    if let Some(field) = payload.first_chunk_mut::<4>() {
        *field = u32::from_le_bytes(*field).wrapping_add(ahead).to_le_bytes();
    }
}
