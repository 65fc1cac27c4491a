//! UTC time stamps, `20191129-18:21:30.512`, to the nanosecond.

use super::Malformed;
use super::number::digits;

/// Number of digits of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// No digits.
    Seconds,
    /// Three.
    #[default]
    Milliseconds,
    /// Six.
    Microseconds,
    /// Nine.
    Nanoseconds,
}

/// Nanoseconds since the Unix epoch.
///
/// # Errors
/// The value is not a UTCTimestamp: years 1970 to 2261, second 60 is a leap second, at most twelve digits of a second.
pub fn timestamp(text: &[u8]) -> Result<u64, Malformed> {
    match text.split_first_chunk::<9>() {
        Some(([date @ .., b'-'], time)) => timestamp_of(date, time),
        _ => Err(Malformed::Time),
    }
}

/// A timestamp from a date `YYYYMMDD` and a time of day.
///
/// # Errors
/// Those of [`timestamp`].
pub(super) fn timestamp_of(date: &[u8], time: &[u8]) -> Result<u64, Malformed> {
    let [year, month, day] = date_parts(date).ok_or(Malformed::Time)?;
    if !(1970..=2261).contains(&year) {
        return Err(Malformed::Time);
    }
    Ok(days(year, month, day) * 86_400 * SECOND_NS + time_of_day(time)?)
}

const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds since midnight of `HH:MM:SS`, with or without a point and digits of a second. Digits below a nanosecond
/// are cut off: no rule here needs them.
fn time_of_day(text: &[u8]) -> Result<u64, Malformed> {
    let [h0, h1, b':', i0, i1, b':', s0, s1, rest @ ..] = text else {
        return Err(Malformed::Time);
    };
    let number = |digits: [u8; 2]| number(&digits).ok_or(Malformed::Time);
    let (hour, minute, second) = (
        number([*h0, *h1])?,
        number([*i0, *i1])?,
        number([*s0, *s1])?,
    );
    if hour >= 24 || minute >= 60 || second > 60 {
        return Err(Malformed::Time);
    }
    let fraction_ns = match rest {
        [] => 0,
        [b'.', digits @ ..] if !digits.is_empty() => fraction_ns(digits)?,
        _ => return Err(Malformed::Time),
    };
    Ok((hour * 3_600 + minute * 60 + second) * SECOND_NS + fraction_ns)
}

/// Most digits of a second: picoseconds (TagValue encoding, UTCTimestamp and UTCTimeOnly).
const DIGITS_MAX: usize = 12;

/// Digits of a second as nanoseconds.
fn fraction_ns(digits: &[u8]) -> Result<u64, Malformed> {
    let (kept, cut) = digits.split_at(digits.len().min(9));
    if digits.len() > DIGITS_MAX || !cut.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::Time);
    }
    let fraction = number(kept).ok_or(Malformed::Time)?;
    Ok(fraction * 10_u64.pow(9 - kept.len() as u32))
}

/// A number of a few digits.
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum, digit| match digit {
        b'0'..=b'9' => Some(sum * 10 + u64::from(digit - b'0')),
        _ => None,
    })
}

/// Year, month and day of `YYYYMMDD`.
fn date_parts(text: &[u8]) -> Option<[u64; 3]> {
    let (year, rest) = text.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2).filter(|_| rest.len() == 4)?;
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let is_day = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    is_day.then_some([year, month, day])
}

/// Date that venues write when they have none.
pub const NO_DATE: &[u8] = b"00000000";

/// Whether a text is a day of any year, `YYYYMMDD`, or [`NO_DATE`].
pub(super) fn is_date(text: &[u8]) -> bool {
    text == NO_DATE || date_parts(text).is_some()
}

/// Whether a text has the form of a UTCTimestamp: of any year, or of [`NO_DATE`]. Banks state a time that they do not have as one of year 1
/// or 9999.
pub fn is_timestamp(text: &[u8]) -> bool {
    match text.split_first_chunk::<9>() {
        Some(([date @ .., b'-'], time)) => is_date(date) && is_time(time),
        _ => false,
    }
}

/// Whether a text is a time of day, `HH:MM:SS` with or without digits of a second.
pub(super) fn is_time(text: &[u8]) -> bool {
    time_of_day(text).is_ok()
}

/// Days of a month.
fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the epoch; years begin in March, so that the leap day is the last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469
}

/// Writes a time stamp and gives its bytes, 17 to 27 of them.
pub fn write_timestamp(ns: u64, precision: Precision, room: &mut [u8; 27]) -> &[u8] {
    let (seconds, fraction) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let (days, second) = (seconds / 86_400, (seconds % 86_400) as u32);
    let (year, month, day) = civil(days as u32);
    for (place, value) in [
        (0, year / 100),
        (2, year % 100),
        (4, month),
        (6, day),
        (9, second / 3_600),
        (12, second / 60 % 60),
        (15, second % 60),
    ] {
        room[place] = b'0' + (value / 10) as u8;
        room[place + 1] = b'0' + (value % 10) as u8;
    }
    let fraction = fraction as u32;
    let (digits, mut value) = match precision {
        Precision::Seconds => (0, 0),
        Precision::Milliseconds => (3, fraction / 1_000_000),
        Precision::Microseconds => (6, fraction / 1_000),
        Precision::Nanoseconds => (9, fraction),
    };
    for byte in room[18..18 + digits].iter_mut().rev() {
        *byte = b'0' + (value % 10) as u8;
        value /= 10;
    }
    room[8] = b'-';
    room[11] = b':';
    room[14] = b':';
    room[17] = b'.';
    &room[..if digits == 0 { 17 } else { 18 + digits }]
}

/// Year, month and day of a day since the epoch.
fn civil(days: u32) -> (u32, u32, u32) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (year * 365 + year / 4 - year / 100);
    let month = (day * 5 + 2) / 153;
    let date = day - (month * 153 + 2) / 5 + 1;
    let (month, shift) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + shift, month, date)
}

/// The last parsed timestamp, to the second: the next one usually has the same second. Keep one when reading many
/// messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastSecond {
    /// `YYYYMMDD` and `HH:MM:SS`.
    text: [u64; 2],
    /// Value of the cached digits, nanoseconds.
    ns: u64,
}

/// The state after a read of the epoch itself.
impl Default for LastSecond {
    fn default() -> LastSecond {
        LastSecond {
            text: [
                u64::from_le_bytes(*b"19700101"),
                u64::from_le_bytes(*b"00:00:00"),
            ],
            ns: 0,
        }
    }
}

impl LastSecond {
    /// [`timestamp`] of `text`.
    #[inline(always)]
    pub(super) fn read(&mut self, text: &[u8]) -> Result<u64, Malformed> {
        if let Some(text) = text.first_chunk::<21>().filter(|_| text.len() == 21) {
            let [text @ .., a, b, c, d] = text;
            let fraction = u32::from_le_bytes([*a, *b, *c, *d]);
            if let Some(milliseconds) = milliseconds(fraction) {
                return Ok(self.seconds_ns(text)? + milliseconds * 1_000_000);
            }
        }
        self.unusual(text)
    }

    /// A time stamp with another number of digits of a second than three.
    #[cold]
    fn unusual(&mut self, text: &[u8]) -> Result<u64, Malformed> {
        match text.split_first_chunk() {
            Some((head, [])) => self.seconds_ns(head),
            Some((head, [b'.', digits @ ..])) if !digits.is_empty() => {
                Ok(self.seconds_ns(head)? + fraction_ns(digits)?)
            }
            _ => Err(Malformed::Time),
        }
    }

    #[inline(always)]
    fn seconds_ns(&mut self, text: &[u8; 17]) -> Result<u64, Malformed> {
        let [d0, d1, d2, d3, d4, d5, d6, d7, between, time @ ..] = *text;
        let date = [d0, d1, d2, d3, d4, d5, d6, d7];
        let seconds = [u64::from_le_bytes(date), u64::from_le_bytes(time)];
        if seconds == self.text && between == b'-' {
            return Ok(self.ns);
        }
        self.another(text, seconds)
    }

    #[inline(never)]
    fn another(&mut self, text: &[u8; 17], seconds: [u64; 2]) -> Result<u64, Malformed> {
        let ns = match whole_seconds(seconds, text[8]) {
            Some(seconds) => seconds * 1_000_000_000,
            None => timestamp(text)?,
        };
        *self = LastSecond { text: seconds, ns };
        Ok(ns)
    }
}

/// The three digits behind a point.
#[inline(always)]
fn milliseconds(text: u32) -> Option<u64> {
    let digits = text ^ u32::from_le_bytes(*b".000");
    if (digits | digits.wrapping_add(0x0606_0600)) & 0xf0f0_f0ff != 0 {
        return None;
    }
    let (a, b, c) = (digits >> 8 & 0xff, digits >> 16 & 0xff, digits >> 24);
    Some(u64::from(a * 100 + b * 10 + c))
}

/// Seconds since the epoch of `YYYYMMDD`, the byte behind it and `HH:MM:SS`; none for anything unusual.
#[inline]
fn whole_seconds([date, time]: [u64; 2], between: u8) -> Option<u64> {
    let date = u64::try_from(digits(date, 8)?).ok()?;
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    // Zero where the colons are, digits elsewhere.
    let time = time ^ u64::from_le_bytes(*b"00:00:00");
    let more = time.wrapping_add(0x0606_0006_0600_0606);
    let digits = (time | more) & 0xf0f0_fff0_f0ff_f0f0 == 0;
    let pairs = time.wrapping_mul(10).wrapping_add(time >> 8);
    let (hour, minute, second) = (pairs & 0xff, pairs >> 24 & 0xff, pairs >> 48 & 0xff);
    let usual = digits
        && between == b'-'
        && (1970..=2261).contains(&year)
        && (1..=12).contains(&month)
        && (1..=28).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    usual.then(|| days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_time_parser_has_cached_only_the_epoch() {
        let read = |text: &[u8]| LastSecond::default().read(text);
        assert_eq!(read(b"19700101-00:00:00.001"), Ok(1_000_000));
        let nothing = [0, 0, 0, 0, 0, 0, 0, 0, b'-', 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(read(&nothing), Err(Malformed::Time));
        assert_eq!(read(b"19700101x00:00:00"), Err(Malformed::Time));
    }
}
