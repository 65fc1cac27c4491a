//! A second reader, written from the description of the format alone: it shares no code with the crate.

use std::path::Path;

/// Result of the second reader for a journal without a break before its last segment.
#[derive(Debug, Default)]
pub struct Found {
    /// Bodies of stream 1.
    pub bodies: Vec<Vec<u8>>,
    /// Position behind the last frame.
    pub position: u64,
    /// Sequence of the next frame.
    pub next_sequence: u64,
}

/// CRC32C, bit by bit: polynomial 0x1EDC6F41, reflected.
fn crc(parts: &[&[u8]]) -> u32 {
    let mut crc = !0u32;
    for byte in parts.iter().flat_map(|part| part.iter()) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

fn number(bytes: &[u8], at: usize, count: usize) -> u64 {
    (0..count)
        .rev()
        .fold(0, |sum, place| sum << 8 | u64::from(bytes[at + place]))
}

struct Header {
    salt: u64,
    alignment: u64,
}

fn header(bytes: &[u8], index: u64) -> Result<Header, String> {
    for copy in [&bytes[..2048], &bytes[2048..4096]] {
        let holds = copy[..8] == *b"\x89TLJ\r\n\x1a\n"
            && number(copy, 8, 2) == 1
            && number(copy, 10, 2) == 4096
            && number(copy, 12, 4) == u64::from(crc(&[&copy[..12], &copy[16..]]))
            && number(copy, 24, 8) == index
            && number(copy, 64, 8) == bytes.len() as u64
            && number(copy, 72, 4) == 0
            && copy[116..].iter().all(|byte| *byte == 0);
        if holds {
            return Ok(Header {
                salt: number(copy, 16, 8),
                alignment: number(copy, 112, 4),
            });
        }
    }
    Err(format!("segment {index}: no copy of the header holds"))
}

/// Reads a journal. A break before the end of the last used segment, or anything behind it, is an error.
pub fn read(directory: &Path) -> Result<Found, String> {
    let mut found = Found::default();
    let mut end_crc = 0;
    let mut is_open = false;
    for index in 1.. {
        let Ok(bytes) = std::fs::read(directory.join(format!("{index:010}.tlj"))) else {
            break;
        };
        let header = header(&bytes, index)?;
        if number(&bytes, 4096, 4) == 0 {
            // Prepared.
            if bytes[4096..].iter().any(|byte| *byte != 0) {
                return Err(format!("segment {index}: bytes behind an empty place"));
            }
            continue;
        }
        if is_open {
            return Err(format!("segment {index}: the one before has no End"));
        }
        let (base, first) = (found.position, found.next_sequence);
        let mut offset = 4096;
        let mut count = 0;
        is_open = true;
        while is_open && offset + 32 <= bytes.len() && number(&bytes, offset, 4) != 0 {
            let head = &bytes[offset..offset + 32];
            let length = number(head, 0, 4) as usize;
            let body = bytes
                .get(offset + 32..offset + length)
                .ok_or("a frame beyond the file")?;
            let place = (offset as u64).to_le_bytes();
            let salt = header.salt.to_le_bytes();
            let bound = crc(&[&salt, &place, &head[..4], &head[8..]]);
            if number(head, 4, 4) != u64::from(bound)
                || number(head, 8, 4) != u64::from(crc(&[body]))
            {
                return Err(format!("segment {index} offset {offset}: a checksum"));
            }
            let kind = number(head, 30, 2);
            if number(head, 12, 4) != count || (kind == 1) != (count == 0) {
                return Err(format!("segment {index} offset {offset}: number or Begin"));
            }
            let begins = (number(body, 0, body.len().min(8)), kind);
            if kind == 1
                && (begins.0, number(body, 8, 8), number(body, 16, 4)) != (base, first, end_crc)
            {
                return Err(format!("segment {index}: Begin does not continue"));
            }
            if number(head, 28, 2) == 1 {
                found.bodies.push(body.to_vec());
            }
            count += 1;
            let padded = (length as u64).next_multiple_of(header.alignment) as usize;
            if bytes[offset + length..offset + padded]
                .iter()
                .any(|byte| *byte != 0)
            {
                return Err(format!("segment {index} offset {offset}: padding"));
            }
            offset += padded;
            if kind == 2 {
                if (number(body, 0, 8), number(body, 8, 8)) != (base + offset as u64, first + count)
                {
                    return Err(format!("segment {index}: End says another place"));
                }
                end_crc = number(head, 4, 4);
                is_open = false;
            }
        }
        if is_open && bytes[offset..].iter().any(|byte| *byte != 0) {
            return Err(format!(
                "segment {index} offset {offset}: bytes behind the last frame"
            ));
        }
        found.position = base + offset as u64;
        found.next_sequence = first + count;
    }
    Ok(found)
}
