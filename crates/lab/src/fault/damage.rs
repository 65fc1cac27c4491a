//! Damage to the bytes of one packet.

use crate::cme::header;
use crate::random::Random;
use crate::reference::cme::packet;

/// Offset of the first message in a packet, and of fields and the root block in a message.
const MESSAGE: usize = 12;
const TEMPLATE: usize = 4;
const BLOCK: usize = 10;
const SCHEMA_ID: usize = 6;
/// Templates whose block begins with LastMsgSeqNumProcessed.
const SNAPSHOTS: [u16; 3] = [52, 53, 69];
/// The shortest payload that [`corrupt`] can take: one with the schema id of a message in it.
pub const CORRUPT_BYTES_MIN: usize = MESSAGE + SCHEMA_ID + 1;

/// Changes bytes so that the packet is not valid any more.
pub fn corrupt(payload: &mut [u8], random: &mut Random) {
    let whole = payload.to_vec();
    let field = *random.pick(&[0, 2, 3, SCHEMA_ID, 11, 20]);
    let offset = (MESSAGE + field).min(payload.len() - 1);
    payload[offset] ^= random.between(1, 255) as u8;
    if packet::read(payload).is_some() {
        // That byte did not matter to the form of the packet; another schema always does.
        payload.copy_from_slice(&whole);
        payload[MESSAGE + SCHEMA_ID] ^= 0xff;
    }
}

/// Changes any bytes.
pub fn flip(payload: &mut [u8], bytes_max: u64, random: &mut Random) {
    for _ in 0..random.below(bytes_max.max(1)) + 1 {
        let offset = random.index(payload.len());
        payload[offset] ^= random.between(1, 255) as u8;
    }
}

/// Cuts the end off so that the packet is not valid any more. A cut between two messages would leave a valid one.
pub fn truncate(payload: &mut Vec<u8>, random: &mut Random) {
    let length = random.index(payload.len());
    let invalid = (0..=length)
        .rev()
        .find(|&length| packet::read(&payload[..length]).is_none());
    payload.truncate(invalid.unwrap_or(0));
}

/// Moves the number of the last packet that it contains, in each message of a snapshot.
pub fn reach_further(payload: &mut [u8], ahead: u32) {
    let mut message = MESSAGE;
    while let Some(&size) = payload.get(message..).and_then(<[u8]>::first_chunk::<2>) {
        let size = usize::from(u16::from_le_bytes(size));
        let template = payload.get(message + TEMPLATE..message + TEMPLATE + 2);
        let is_snapshot = SNAPSHOTS
            .map(u16::to_le_bytes)
            .iter()
            .any(|known| template == Some(known));
        if is_snapshot && let Some(block) = payload.get_mut(message + BLOCK..) {
            header::renumber(block, ahead);
        }
        message += size.max(BLOCK);
    }
}
