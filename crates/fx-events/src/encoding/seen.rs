//! What a plan saw: an entry behind that of the plan.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use super::bytes::{Put, Rest};
use super::codes::Coded;
use crate::seen::{BankLimit, Hit, LeftOut, Seen, SeenEntry, SeenLists};

/// Bits of an entry.
const TAKEN_SIDE: u8 = 1;
const FULL: u8 = 2;
const USED: u8 = 4;
/// Bytes of an entry.
const SEEN_BYTES: usize = 16;

/// Writes it; `price` makes 1e-9 of ticks. Entries state their prices as ticks from that of the first one, their sizes in lots, and share
/// its minimum; the few that differ more are written whole behind them.
pub(super) fn put(out: &mut Vec<u8>, seen: &Seen, lists: &SeenLists, price: impl Fn(i64) -> i64) {
    out.u32(seen.parent);
    out.u16(seen.pair as u16);
    out.i64(seen.lot);
    out.u8(u8::from(seen.combine));
    out.u16(seen.counted);
    let entries = &lists.entries[seen.entries.clone()];
    let (base, minimum) = entries
        .first()
        .map_or((0, 0), |first| (first.price, first.minimum));
    out.i64(price(base));
    out.i64(minimum);
    out.u16(entries.len() as u16);
    let mut whole = 0;
    for entry in entries {
        let short = short(entry, seen.lot, (base, minimum));
        out.put(entry_bytes(entry, short.unwrap_or_default()));
        whole += u16::from(short.is_none());
    }
    out.u16(whole);
    if whole > 0 {
        for (place, entry) in entries.iter().enumerate() {
            if short(entry, seen.lot, (base, minimum)).is_none() {
                out.u16(place as u16);
                out.i64(price(entry.price));
                out.i64(entry.size);
                out.i64(entry.minimum);
            }
        }
    }
    let limits = &lists.limits[seen.limits.clone()];
    out.u16(limits.len() as u16);
    let mut capped = 0;
    for limit in limits {
        out.u8(limit.bank as u8);
        out.u8(u8::from(limit.is_quoted));
        // A plan never uses a bank with a penalty of 200 million ticks.
        let penalty = limit
            .penalty
            .clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        out.u32(penalty as i32 as u32);
        capped += u16::from(limit.cap.is_some());
    }
    out.u16(capped);
    for (place, limit) in limits.iter().enumerate() {
        if let Some(cap) = limit.cap {
            out.u16(place as u16);
            out.i64(cap);
        }
    }
    out.u16(seen.left_out.len() as u16);
    for left in &lists.left_out[seen.left_out.clone()] {
        out.u8(left.bank as u8);
        out.u8(left.why.code());
    }
    out.u16(seen.hits.len() as u16);
    for hit in &lists.hits[seen.hits.clone()] {
        let times = [hit.sending_ns, hit.exchange_ns, hit.receive_ns, hit.set_ns];
        times.into_iter().for_each(|time| out.u64(time));
    }
}

/// Ticks from the base and size in lots, if they fit and the entry has the shared minimum.
fn short(entry: &SeenEntry, lot: i64, (base, minimum): (i64, i64)) -> Option<(i32, u32)> {
    let ticks = i32::try_from(entry.price.checked_sub(base)?).ok()?;
    let lots = u32::try_from(entry.size / lot.max(1)).ok()?;
    let is_exact = entry.minimum == minimum && i64::from(lots) * lot == entry.size;
    is_exact.then_some((ticks, lots))
}

fn entry_bytes(entry: &SeenEntry, (ticks, lots): (i32, u32)) -> [u8; SEEN_BYTES] {
    let flags = [
        (entry.is_taken_side, TAKEN_SIDE),
        (entry.is_full, FULL),
        (entry.is_used, USED),
    ];
    let flags = flags.map(|(is_set, bit)| if is_set { bit } else { 0 });
    let mut bytes = [0; SEEN_BYTES];
    bytes[0..4].copy_from_slice(&ticks.to_le_bytes());
    bytes[4..8].copy_from_slice(&lots.to_le_bytes());
    bytes[8..12].copy_from_slice(&entry.age_us.to_le_bytes());
    bytes[12..14].copy_from_slice(&entry.setting.to_le_bytes());
    // There are 256 banks at most.
    bytes[14] = entry.bank as u8;
    bytes[15] = flags[0] | flags[1] | flags[2];
    bytes
}

/// Reads the lists behind the head; `price` makes ticks of 1e-9, `banks` is the number of banks.
pub(super) fn lists(
    rest: &mut Rest<'_>,
    seen: &mut Seen,
    lists: &mut SeenLists,
    banks: usize,
    price: impl Fn(i64) -> Option<i64>,
) -> Option<()> {
    let known = |bank: usize| (bank < banks).then_some(bank);
    let from = lists.entries.len();
    let (base, minimum) = (price(rest.i64()?)?, rest.i64()?);
    for _ in 0..rest.u16()? {
        let (ticks, lots) = (rest.u32()? as i32, rest.u32()?);
        let (age_us, setting) = (rest.u32()?, rest.u16()?);
        let (bank, flags) = (known(usize::from(rest.u8()?))?, rest.u8()?);
        if flags & !(TAKEN_SIDE | FULL | USED) != 0 {
            return None;
        }
        lists.entries.push(SeenEntry {
            bank,
            is_taken_side: flags & TAKEN_SIDE != 0,
            is_full: flags & FULL != 0,
            is_used: flags & USED != 0,
            price: base.checked_add(i64::from(ticks))?,
            size: i64::from(lots).checked_mul(seen.lot)?,
            minimum,
            age_us,
            setting,
        });
    }
    seen.entries = from..lists.entries.len();
    for _ in 0..rest.u16()? {
        let entry = lists.entries[from..].get_mut(usize::from(rest.u16()?))?;
        entry.price = price(rest.i64()?)?;
        (entry.size, entry.minimum) = (rest.i64()?, rest.i64()?);
    }
    let from = lists.limits.len();
    for _ in 0..rest.u16()? {
        lists.limits.push(BankLimit {
            bank: known(usize::from(rest.u8()?))?,
            is_quoted: rest.flag()?,
            penalty: i64::from(rest.u32()? as i32),
            cap: None,
        });
    }
    for _ in 0..rest.u16()? {
        let limit = lists.limits[from..].get_mut(usize::from(rest.u16()?))?;
        limit.cap = Some(rest.i64()?);
    }
    seen.limits = from..lists.limits.len();
    let from = lists.left_out.len();
    for _ in 0..rest.u16()? {
        let bank = known(usize::from(rest.u8()?))?;
        let why = rest.word()?;
        lists.left_out.push(LeftOut { bank, why });
    }
    seen.left_out = from..lists.left_out.len();
    let from = lists.hits.len();
    for _ in 0..rest.u16()? {
        lists.hits.push(Hit {
            sending_ns: rest.u64()?,
            exchange_ns: rest.u64()?,
            receive_ns: rest.u64()?,
            set_ns: rest.u64()?,
        });
    }
    seen.hits = from..lists.hits.len();
    Some(())
}
