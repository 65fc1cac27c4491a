//! Numbers, exactly.

use super::Malformed;

/// A decimal number, `mantissa * 10^-decimals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decimal {
    /// All digits.
    pub mantissa: i64,
    /// Number of digits after the point.
    pub decimals: u8,
}

impl Decimal {
    /// The count of `10^-decimals` that this is.
    ///
    /// # Errors
    /// The value is not a whole count, or does not fit.
    #[inline]
    pub fn scaled(self, decimals: u8) -> Result<i64, Malformed> {
        if decimals >= self.decimals {
            let factor = power(decimals - self.decimals);
            let scaled = factor.and_then(|factor| self.mantissa.checked_mul(factor));
            return scaled.ok_or(Malformed::Overflow);
        }
        let divisor = power(self.decimals - decimals);
        match divisor {
            Some(divisor) if self.mantissa % divisor == 0 => Ok(self.mantissa / divisor),
            None if self.mantissa == 0 => Ok(0),
            _ => Err(Malformed::Overflow),
        }
    }
}

/// A power of ten, if it fits.
#[inline]
fn power(of: u8) -> Option<i64> {
    const POWERS: [i64; 19] = {
        let (mut powers, mut at) = ([1; 19], 1);
        while at < powers.len() {
            powers[at] = powers[at - 1] * 10;
            at += 1;
        }
        powers
    };
    POWERS.get(usize::from(of)).copied()
}

/// A number of FIX's float type: `-12.340`, `12`, `.5`, `12.`, `0012.5000`. No exponent.
///
/// # Errors
/// The text is not a number, or has more digits than fit.
pub fn decimal(text: &[u8]) -> Result<Decimal, Malformed> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        _ => (false, text),
    };
    let (mut mantissa, mut decimals, mut point, mut seen) = (0_i64, 0_u8, false, false);
    for (place, byte) in digits.iter().enumerate() {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' => {
                let next = mantissa
                    .checked_mul(10)
                    .and_then(|m| m.checked_add(i64::from(byte - b'0')));
                mantissa = match next {
                    Some(next) => next,
                    // Zeros at the end of the decimals do not change the value.
                    None if point && digits[place..].iter().all(|byte| *byte == b'0') => break,
                    None => return Err(Malformed::Overflow),
                };
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

/// A number of FIX's int type without the zeros before it, as lists of values have it.
///
/// Source: FIX 4.4 volume 1, data types: an int "may contain leading zeros".
pub fn without_zeros(int: &[u8]) -> &[u8] {
    let zeros = int.iter().take_while(|digit| **digit == b'0').count();
    &int[zeros.min(int.len().saturating_sub(1))..]
}

/// A number of FIX's int type.
///
/// # Errors
/// The text is not a number, or is out of range.
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
/// The text is not a number, or is out of range.
pub fn unsigned(text: &[u8]) -> Result<u64, Malformed> {
    u64::try_from(integer(text)?).map_err(|_| Malformed::Number)
}

/// An unsigned number of at most 32 bits.
pub(super) fn small(text: &[u8]) -> Result<u32, Malformed> {
    u32::try_from(unsigned(text)?).map_err(|_| Malformed::Overflow)
}

/// The result of [`unsigned`] for the value of a field, behind a tag and equals sign of `width` bytes, seven at most. `head` is
/// the field's first eight bytes. Up to eight digits take one word.
#[inline(always)]
pub(super) fn unsigned_of(field: &[u8], head: u64, width: usize) -> Result<u64, Malformed> {
    let value = field.get(width..).ok_or(Malformed::Value)?;
    let short = (1..=8).contains(&value.len());
    match short.then(|| number(last_bytes(field, head, value.len()))) {
        Some(Some(number)) => Ok(number as u64),
        _ => unsigned(value),
    }
}

/// The result of [`decimal`] for the value of a field, with the arguments of [`unsigned_of`]. A typical price or size takes one word
/// or two.
#[inline(always)]
pub(super) fn decimal_of(field: &[u8], head: u64, width: usize) -> Result<Decimal, Malformed> {
    let value = field.get(width..).ok_or(Malformed::Value)?;
    let common = match value.len() {
        1 => of_one_byte(head, width),
        2..=8 => of_one_word(last_bytes(field, head, value.len())),
        9..=16 => of_two_words(field, head, value.len()),
        _ => None,
    };
    match common {
        Some(decimal) => Ok(decimal),
        None => decimal(value),
    }
}

/// A digit.
#[inline(always)]
fn of_one_byte(head: u64, width: usize) -> Option<Decimal> {
    let digit = (head >> (8 * width)) as u8;
    digit.is_ascii_digit().then(|| Decimal {
        mantissa: i64::from(digit - b'0'),
        decimals: 0,
    })
}

/// A number of two to eight bytes, which are digits but for a point.
#[inline(always)]
fn of_one_word(word: u64) -> Option<Decimal> {
    let others = not_digits(word);
    if others == 0 {
        let (mantissa, decimals) = (value(word), 0);
        return Some(Decimal { mantissa, decimals });
    }
    let point = the_point(word, others)?;
    let mantissa = value(without(word, point, 0));
    let decimals = 7 - (point / 8) as u8;
    Some(Decimal { mantissa, decimals })
}

/// A number of nine to sixteen bytes, which are digits but for a point.
#[inline(always)]
fn of_two_words(field: &[u8], head: u64, length: usize) -> Option<Decimal> {
    let (before, low) = field.split_last_chunk::<8>()?;
    let low = u64::from_le_bytes(*low) ^ ZEROS;
    let high = last_bytes(before, head, length - 8);
    let (high, low, decimals) = match (not_digits(high), not_digits(low)) {
        (0, 0) => (high, low, 0),
        (0, others) => {
            let point = the_point(low, others)?;
            let low = without(low, point, high >> 56);
            (high << 8, low, 7 - (point / 8) as u8)
        }
        (others, 0) => {
            let point = the_point(high, others)?;
            (without(high, point, 0), low, 15 - (point / 8) as u8)
        }
        _ => return None,
    };
    let mantissa = value(high) * 100_000_000 + value(low);
    Some(Decimal { mantissa, decimals })
}

const ZEROS: u64 = u64::from_le_bytes(*b"00000000");
/// A point among digits that were made numbers.
const POINT: u8 = b'.' ^ b'0';

/// The last `count` bytes of a field, one to eight, of which digits are made numbers. The last one is the highest, zeros
/// are below the first.
#[inline(always)]
fn last_bytes(field: &[u8], head: u64, count: usize) -> u64 {
    let word = match field.last_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        // All of a field as short as this is in its head.
        None => head << (64 - 8 * field.len()),
    };
    let below = 64 - 8 * count;
    (word ^ ZEROS) >> below << below
}

/// Mask of the bytes of a word that are not digits.
#[inline(always)]
fn not_digits(word: u64) -> u64 {
    (word | word.wrapping_add(0x0606_0606_0606_0606)) & 0xf0f0_f0f0_f0f0_f0f0
}

/// The lowest bit of the only byte that is not a digit, if it is a point.
#[inline(always)]
fn the_point(word: u64, others: u64) -> Option<u32> {
    let place = others.trailing_zeros() & !7;
    let is_alone = others >> place >> 8 == 0;
    (is_alone && (word >> place) as u8 == POINT).then_some(place)
}

/// A word without one of its bytes: the bytes below move up, and another byte comes in.
#[inline(always)]
fn without(word: u64, place: u32, first: u64) -> u64 {
    let above = u64::MAX << place;
    (word & (above << 8)) | (word & !above) << 8 | first
}

/// Index of the first byte of a word that equals `wanted`; 8 if there is no such byte.
#[inline(always)]
pub(super) fn byte_of(word: u64, wanted: u8) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let other = word ^ (LOW * u64::from(wanted));
    // Exact up to the first zero byte, which is the result.
    let zero = other.wrapping_sub(LOW) & !other & (LOW << 7);
    (zero.trailing_zeros() / 8) as usize
}

/// The first `count` bytes of a word as digits, one to eight of them.
#[inline(always)]
pub(super) fn digits(word: u64, count: usize) -> Option<i64> {
    if count.wrapping_sub(1) > 7 {
        return None;
    }
    // The first digit is the lowest byte; the shift drops the bytes after the digits and puts zeros before them.
    number((word ^ ZEROS) << (64 - 8 * count))
}

/// The number of eight digits, of which the highest byte is the last.
#[inline(always)]
fn number(digits: u64) -> Option<i64> {
    (not_digits(digits) == 0).then(|| value(digits))
}

/// The number of eight bytes that are known to be digits.
#[inline(always)]
fn value(digits: u64) -> i64 {
    let twos = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(100).wrapping_add(twos >> 16) & 0x0000_ffff_0000_ffff;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff) as i64
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// A field of market data with such a value, read in words, and its value byte by byte.
    fn both(value: &[u8]) -> (Result<Decimal, Malformed>, Result<Decimal, Malformed>) {
        let field = [b"270=", value].concat();
        let behind = [&field[..], b"\x01271=9\x01"].concat();
        let head = behind.first_chunk().expect("eight bytes");
        let in_words = decimal_of(&field, u64::from_le_bytes(*head), 4);
        (in_words, decimal(value))
    }

    /// Each byte in each place of numbers of each length, with a point and without one.
    #[test]
    fn parsing_by_words_equals_parsing_by_bytes() {
        let digits = b"98765432101234567";
        for length in 1..=digits.len() {
            let plain = digits[..length].to_vec();
            let points = (0..length).map(|place| {
                let mut number = plain.clone();
                number[place] = b'.';
                number
            });
            let numbers: Vec<Vec<u8>> = points.chain([plain.clone()]).collect();
            for number in numbers {
                for place in 0..length {
                    for byte in (0..=255).filter(|byte| *byte != super::super::SOH) {
                        let mut number = number.clone();
                        number[place] = byte;
                        let (in_words, in_bytes) = both(&number);
                        assert_eq!(in_words, in_bytes, "{number:?}");
                    }
                }
            }
        }
        assert_eq!(both(b"").0, Err(Malformed::Number));
    }
}
