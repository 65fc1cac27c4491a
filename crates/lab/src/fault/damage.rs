//! Damage to the bytes of one packet.

use crate::cme::header;
use crate::random::Random;
use crate::reference::cme::packet;

/// Offset of the first message in a packet, and of fields and the root block in a message.
const MESSAGE: usize = 12;
const TEMPLATE: usize = 4;
const BLOCK: usize = 10;
const SCHEMA_ID: usize = 6;
/// Templates whose block starts with LastMsgSeqNumProcessed.
const SNAPSHOTS: [u16; 3] = [52, 53, 69];
/// Shortest payload for [`corrupt`]: it contains the schema id of a message.
pub const CORRUPT_BYTES_MIN: usize = MESSAGE + SCHEMA_ID + 1;

/// Changes bytes so that the packet is invalid.
pub fn corrupt(payload: &mut [u8], random: &mut Random) {
    let whole = payload.to_vec();
    let field = *random.pick(&[0, 2, 3, SCHEMA_ID, 11, 20]);
    let offset = (MESSAGE + field).min(payload.len() - 1);
    payload[offset] ^= random.between(1, 255) as u8;
    if packet::read(payload).is_some() {
        // The changed byte did not invalidate the packet; another schema id always does.
        payload.copy_from_slice(&whole);
        payload[MESSAGE + SCHEMA_ID] ^= 0xff;
    }
}

/// Changes random bytes.
pub fn flip(payload: &mut [u8], bytes_max: u64, random: &mut Random) {
    for _ in 0..random.below(bytes_max.max(1)) + 1 {
        let offset = random.index(payload.len());
        payload[offset] ^= random.between(1, 255) as u8;
    }
}

/// Changes a byte of the messages so that the packet is still valid. False if none of some tries does.
pub fn tamper(payload: &mut [u8], random: &mut Random) -> bool {
    const TRIES: usize = 64;
    if payload.len() <= MESSAGE {
        return false;
    }
    (0..TRIES).any(|_| {
        let offset = MESSAGE + random.index(payload.len() - MESSAGE);
        let change = random.between(1, 255) as u8;
        payload[offset] ^= change;
        let is_valid = packet::read(payload).is_some();
        if !is_valid {
            payload[offset] ^= change;
        }
        is_valid
    })
}

/// Truncates the packet so that it is invalid. A cut between two messages would leave a valid one.
pub fn truncate(payload: &mut Vec<u8>, random: &mut Random) {
    let length = random.index(payload.len());
    let invalid = (0..=length)
        .rev()
        .find(|&length| packet::read(&payload[..length]).is_none());
    payload.truncate(invalid.unwrap_or(0));
}

/// Adds to LastMsgSeqNumProcessed in each message of a snapshot packet, wrapping.
pub fn reach_further(payload: &mut [u8], ahead: u32) {
    for_each_reach(payload, |block| header::renumber(block, ahead));
}

/// Sets LastMsgSeqNumProcessed in each message of a snapshot packet.
pub fn reach(payload: &mut [u8], last: u32) {
    for_each_reach(payload, |block| {
        if let Some(field) = block.first_chunk_mut::<4>() {
            *field = last.to_le_bytes();
        }
    });
}

/// LastMsgSeqNumProcessed of the first message of a snapshot packet.
pub fn reach_of(payload: &[u8]) -> Option<u32> {
    let template = u16::from_le_bytes(*payload.get(MESSAGE + TEMPLATE..)?.first_chunk()?);
    let block = payload.get(MESSAGE + BLOCK..)?;
    let is_snapshot = SNAPSHOTS.contains(&template);
    is_snapshot.then(|| header::number(block))
}

/// Calls `change` with the root block of each snapshot message, which starts with
/// LastMsgSeqNumProcessed.
fn for_each_reach(payload: &mut [u8], mut change: impl FnMut(&mut [u8])) {
    let mut message = MESSAGE;
    while let Some(&size) = payload.get(message..).and_then(<[u8]>::first_chunk::<2>) {
        let size = usize::from(u16::from_le_bytes(size));
        let template = payload.get(message + TEMPLATE..message + TEMPLATE + 2);
        let is_snapshot = SNAPSHOTS
            .map(u16::to_le_bytes)
            .iter()
            .any(|known| template == Some(known));
        if is_snapshot && let Some(block) = payload.get_mut(message + BLOCK..) {
            change(block);
        }
        message += size.max(BLOCK);
    }
}
