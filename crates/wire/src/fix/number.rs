//! Numbers, exactly.

use super::Malformed;

/// A decimal number, `mantissa * 10^-decimals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decimal {
    /// All digits.
    pub mantissa: i64,
    /// How many of them are behind the point.
    pub decimals: u8,
}

impl Decimal {
    /// The count of `10^-decimals` that this is.
    ///
    /// # Errors
    /// It is no whole count, or does not fit.
    pub fn scaled(self, decimals: u8) -> Result<i64, Malformed> {
        if decimals >= self.decimals {
            let factor = 10_i64.checked_pow(u32::from(decimals - self.decimals));
            let scaled = factor.and_then(|factor| self.mantissa.checked_mul(factor));
            return scaled.ok_or(Malformed::Overflow);
        }
        let divisor = 10_i64.checked_pow(u32::from(self.decimals - decimals));
        match divisor {
            Some(divisor) if self.mantissa % divisor == 0 => Ok(self.mantissa / divisor),
            None if self.mantissa == 0 => Ok(0),
            _ => Err(Malformed::Overflow),
        }
    }
}

/// A number of FIX's float type: `-12.340`, `12`, `.5`, `12.`. No exponent.
///
/// # Errors
/// It is none, or has more digits than fit.
pub fn decimal(text: &[u8]) -> Result<Decimal, Malformed> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        _ => (false, text),
    };
    let (mut mantissa, mut decimals, mut point, mut seen) = (0_i64, 0_u8, false, false);
    for byte in digits {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' => {
                let next = mantissa
                    .checked_mul(10)
                    .and_then(|m| m.checked_add(i64::from(byte - b'0')));
                mantissa = next.ok_or(Malformed::Overflow)?;
                decimals = decimals
                    .checked_add(u8::from(point))
                    .ok_or(Malformed::Overflow)?;
                seen = true;
            }
            _ => return Err(Malformed::Number),
        }
    }
    if !seen {
        return Err(Malformed::Number);
    }
    let mantissa = if negative { -mantissa } else { mantissa };
    Ok(Decimal { mantissa, decimals })
}

/// A number of FIX's int type.
///
/// # Errors
/// It is none, or does not fit.
pub fn integer(text: &[u8]) -> Result<i64, Malformed> {
    match decimal(text)? {
        Decimal {
            mantissa,
            decimals: 0,
        } if !text.ends_with(b".") => Ok(mantissa),
        _ => Err(Malformed::Number),
    }
}

/// A number that cannot be negative, as a sequence number.
///
/// # Errors
/// It is none, or does not fit.
pub fn unsigned(text: &[u8]) -> Result<u64, Malformed> {
    u64::try_from(integer(text)?).map_err(|_| Malformed::Number)
}

/// The same, of at most 32 bits.
pub(super) fn small(text: &[u8]) -> Result<u32, Malformed> {
    u32::try_from(unsigned(text)?).map_err(|_| Malformed::Overflow)
}

/// What [`unsigned`] gives for `bytes[start..end]`. Up to eight digits take one word.
#[inline(always)]
pub(super) fn unsigned_at(bytes: &[u8], start: usize, end: usize) -> Result<u64, Malformed> {
    let word = bytes.get(start..).and_then(<[u8]>::first_chunk);
    let count = end.wrapping_sub(start);
    match word.and_then(|word| digits(u64::from_le_bytes(*word), count)) {
        Some(number) => Ok(number as u64),
        None => unsigned(bytes.get(start..end).unwrap_or_default()),
    }
}

/// The decimal of `bytes[start..end]`, equal to [`decimal`] of it. What prices and sizes look like takes two words.
#[inline(always)]
pub(super) fn decimal_at(bytes: &[u8], start: usize, end: usize) -> Result<Decimal, Malformed> {
    match common(bytes, start, end) {
        Some(decimal) => Ok(decimal),
        None => decimal(bytes.get(start..end).unwrap_or_default()),
    }
}

/// At most eight bytes with a point behind the first digit or later, or without one; or one to seven digits, a point,
/// and one to eight digits.
#[inline(always)]
fn common(bytes: &[u8], start: usize, end: usize) -> Option<Decimal> {
    let length = end.checked_sub(start)?;
    let word = u64::from_le_bytes(*bytes.get(start..)?.first_chunk()?);
    let point = byte_of(word, b'.');
    if point >= length {
        let mantissa = digits(word, length)?;
        return Some(Decimal {
            mantissa,
            decimals: 0,
        });
    }
    let decimals = length - point - 1;
    if point == 0 || point == 8 || decimals == 0 {
        return None;
    }
    if length <= 8 {
        // The digits behind the point move up to those before it.
        let before = word & !(u64::MAX << (8 * point));
        let behind = (word >> (8 * point) >> 8) << (8 * point);
        let mantissa = digits(before | behind, length - 1)?;
        let decimals = decimals as u8;
        return Some(Decimal { mantissa, decimals });
    }
    let behind = u64::from_le_bytes(*bytes.get(start + point + 1..)?.first_chunk()?);
    let mantissa = digits(word, point)? * POWERS.get(decimals)? + digits(behind, decimals)?;
    let decimals = decimals as u8;
    Some(Decimal { mantissa, decimals })
}

/// Powers of ten, up to those of eight digits.
const POWERS: [i64; 9] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// Where the first such byte of a word is; 8 if none is.
#[inline(always)]
pub(super) fn byte_of(word: u64, wanted: u8) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let other = word ^ (LOW * u64::from(wanted));
    // Right up to the first byte that is zero, which is the one asked for.
    let zero = other.wrapping_sub(LOW) & !other & (LOW << 7);
    (zero.trailing_zeros() / 8) as usize
}

/// The first `count` bytes of a word as digits, one to eight of them.
#[inline(always)]
pub(super) fn digits(word: u64, count: usize) -> Option<i64> {
    if count.wrapping_sub(1) > 7 {
        return None;
    }
    // The first digit is the lowest byte; what is behind the digits is shifted out, zeros come in before them.
    let digits = (word ^ 0x3030_3030_3030_3030) << (64 - 8 * count);
    let more = digits.wrapping_add(0x0606_0606_0606_0606);
    if (digits | more) & 0xf0f0_f0f0_f0f0_f0f0 != 0 {
        return None;
    }
    let twos = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff) as i64)
}
