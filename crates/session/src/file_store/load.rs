//! Load of a store at start, with all checks.

use super::checksum::crc32;
use super::error::{Damage, Numbers};
use super::layout::{HEAD, MAGIC, MESSAGE_BYTES_MAX, RECORD_HEAD, RecordHead, SLOT, Slot};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Content of a file.
#[derive(Debug)]
pub struct Loaded {
    /// The current slot, with the number after the last record.
    pub slot: Slot,
    /// The next number stated by the slot.
    pub confirmed: u64,
    /// Number of the first record; that of the next message if there is none.
    pub first: u64,
    /// Position of the next record. Later bytes must be removed.
    pub end: u64,
}

/// Reason to refuse a file.
#[derive(Debug)]
pub enum Fault {
    System(std::io::Error),
    Version(u8),
    Damaged {
        at: u64,
        damage: Damage,
        numbers: Numbers,
    },
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Fault {
        Fault::System(error)
    }
}

fn damaged(at: u64, damage: Damage) -> Fault {
    let numbers = Numbers::default();
    Fault::Damaged {
        at,
        damage,
        numbers,
    }
}

/// Content at the position of an expected record.
enum Found {
    Record(RecordHead),
    /// A record from before the last reset; the process was killed before it removed them.
    Stale,
    /// End of the file.
    End,
    /// An incomplete record, ended by the end of the file or by zeros.
    Begun,
    Bad(Damage),
}

/// Reads and checks a file; `note` receives number, position and length of each record.
pub fn load(file: &File, mut note: impl FnMut(u64, u64, u32)) -> Result<Loaded, Fault> {
    let slot = current(file)?;
    let size = file.metadata()?.len();
    let (mut next, mut first, mut end) = (1, None, HEAD);
    let mut room = Vec::new();
    let bad = loop {
        match found(file, end, size, next, &slot, &mut room)? {
            Found::Record(head) => {
                // A rewritten file starts with an empty record that stands for all earlier messages.
                let begins = first.is_none() && head.length == 0 && head.number > 0;
                if head.number != next && !begins {
                    let (number, found) = (next, head.number);
                    break Some(Damage::Order { number, found });
                }
                first.get_or_insert(head.number);
                note(head.number, end, head.length);
                next = head.number + 1;
                end += head.record_bytes();
            }
            Found::Stale if first.is_none() && slot.next_out == 1 => break None,
            Found::Stale => break Some(Damage::Head { number: next }),
            Found::End if next < slot.next_out => break Some(missing(next, &slot)),
            Found::End => break None,
            // The slot is written after the record and before the message is sent: this message was not sent.
            Found::Begun if next == slot.next_out => break None,
            // mutant: fix store: a truncated record counts as not sent
            Found::Begun if next < slot.next_out => break Some(missing(next, &slot)),
            Found::Begun => break Some(Damage::Head { number: next }),
            Found::Bad(damage) => break Some(damage),
        }
    };
    match bad {
        Some(damage) => Err(Fault::Damaged {
            at: end,
            damage,
            numbers: Numbers {
                known: Some((slot.next_in, slot.next_out.max(next))),
            },
        }),
        None => Ok(Loaded {
            slot: Slot {
                next_out: next,
                ..slot
            },
            confirmed: slot.next_out,
            first: first.unwrap_or(next),
            end,
        }),
    }
}

fn missing(first: u64, slot: &Slot) -> Damage {
    let last = slot.next_out - 1;
    Damage::Missing { first, last }
}

/// The slot that was written last. Both are valid in every file of this program: a slot lies in one sector of the disk,
/// which is written atomically.
fn current(file: &File) -> Result<Slot, Fault> {
    let size = file.metadata()?.len();
    let mut head = [0; HEAD as usize];
    let there = size.min(HEAD) as usize;
    file.read_exact_at(&mut head[..there], 0)?;
    let (magic, version) = (&head[..7], head[7]);
    if there >= 8 && magic == &MAGIC[..7] && version == 1 {
        return Err(Fault::Version(version));
    }
    if size < HEAD {
        return Err(damaged(size, Damage::NoHead));
    }
    if head[..8] != MAGIC {
        return Err(damaged(0, Damage::Magic));
    }
    let sound = |number: u8| {
        let at = 8 + usize::from(number - 1) * SLOT;
        let slot = Slot::decode(&head[at..at + SLOT]);
        slot.ok_or_else(|| damaged(at as u64, Damage::Slot { slot: number }))
    };
    // mutant: fix store: one valid slot is accepted
    let (even, odd) = (sound(1)?, sound(2)?);
    let is_in_place = even.turn % 2 == 0 && odd.turn % 2 == 1;
    if is_in_place && odd.turn == even.turn.wrapping_add(1) {
        Ok(odd)
    } else if is_in_place && even.turn == odd.turn.wrapping_add(1) {
        Ok(even)
    } else {
        Err(damaged(8, Damage::Slots))
    }
}

/// Content at `at`, where the message `number` is expected.
fn found(
    file: &File,
    at: u64,
    size: u64,
    number: u64,
    slot: &Slot,
    room: &mut Vec<u8>,
) -> std::io::Result<Found> {
    if at == size {
        return Ok(Found::End);
    }
    if size - at < RECORD_HEAD as u64 {
        return Ok(Found::Begun);
    }
    let mut bytes = [0; RECORD_HEAD];
    file.read_exact_at(&mut bytes, at)?;
    let Some(head) = RecordHead::decode(&bytes) else {
        // After a power failure a file may have its new length without its new bytes.
        return Ok(match is_zero(file, at, size, room)? {
            true => Found::Begun,
            false => Found::Bad(Damage::Head { number }),
        });
    };
    if head.epoch == slot.epoch.wrapping_sub(1) as u16 {
        return Ok(Found::Stale);
    }
    if head.epoch != slot.epoch as u16 {
        return Ok(Found::Bad(Damage::Head { number }));
    }
    let behind = at + head.record_bytes();
    if behind > size {
        return Ok(Found::Begun);
    }
    room.resize(head.length as usize, 0);
    file.read_exact_at(room, at + RECORD_HEAD as u64)?;
    if crc32(room) == head.message_sum {
        return Ok(Found::Record(head));
    }
    // mutant: fix store: a damaged last sent message is removed
    let is_unsent_last = behind == size && number >= slot.next_out;
    Ok(match is_unsent_last {
        true => Found::Begun,
        false => Found::Bad(Damage::Message { number }),
    })
}

/// Whether only zeros follow from `at` on, at most one record long.
fn is_zero(file: &File, at: u64, size: u64, room: &mut Vec<u8>) -> std::io::Result<bool> {
    let most = (RECORD_HEAD + MESSAGE_BYTES_MAX as usize) as u64;
    if size - at > most {
        return Ok(false);
    }
    room.resize((size - at) as usize, 0);
    file.read_exact_at(room, at)?;
    Ok(room.iter().all(|byte| *byte == 0))
}
