//! Places on a tape as people write them: a time, a number of a message, or a position.

use touchline_tape::TapePlace;
use touchline_wire::fix::timestamp;

/// Least number that is a time: ns since the Unix epoch, of 2001. Smaller ones are mistakes.
const TIME_MIN: u64 = 1_000_000_000_000_000_000;
const MINUTE_NS: u64 = 60_000_000_000;

/// A place: `2026-11-29T14:30:00Z`, `1764426600000000000`, `sequence:1200`, `position:65536`.
pub fn tape_place(text: &str) -> Result<TapePlace, String> {
    let number = |digits: &str| digits.parse::<u64>().ok();
    let place = if let Some(digits) = text.strip_prefix("sequence:") {
        number(digits).map(TapePlace::Sequence)
    } else if let Some(digits) = text.strip_prefix("position:") {
        number(digits).map(TapePlace::Position)
    } else {
        time_ns(text).map(TapePlace::Time)
    };
    place.ok_or_else(|| {
        "give a time such as 2026-11-29T14:30:00Z, nanoseconds since 1970, sequence:N or position:N".to_owned()
    })
}

/// A time of RFC 3339, or ns since the Unix epoch.
pub fn time_ns(text: &str) -> Option<u64> {
    if let Ok(ns) = text.parse::<u64>() {
        return Some(ns).filter(|ns| *ns >= TIME_MIN);
    }
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = date.split('-').collect::<Vec<_>>().try_into().ok()?;
    let (time, behind_utc) = without_offset(time)?;
    let local = timestamp(format!("{year}{month}{day}-{time}").as_bytes()).ok()?;
    local.checked_add_signed(behind_utc)
}

/// The time of day, and its distance to UTC, ns.
fn without_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let at = time.len().checked_sub("+00:00".len())?;
    let (time, offset) = time.split_at_checked(at)?;
    let sign = match offset.as_bytes()[0] {
        b'+' => -1,
        b'-' => 1,
        _ => return None,
    };
    let (hours, minutes) = offset[1..].split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let is_offset = hours < 24 && minutes < 60;
    is_offset.then_some((time, sign * ((hours * 60 + minutes) * MINUTE_NS) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_times_numbers_and_positions() {
        let at = TapePlace::Time(1_764_426_600_500_000_000);
        for text in [
            "2025-11-29T14:30:00.5Z",
            "2025-11-29t15:30:00.500000000+01:00",
            "2025-11-29 09:00:00.5-05:30",
            "1764426600500000000",
        ] {
            assert_eq!(tape_place(text), Ok(at), "{text}");
        }
        assert_eq!(tape_place("sequence:7"), Ok(TapePlace::Sequence(7)));
        assert_eq!(tape_place("position:0"), Ok(TapePlace::Position(0)));
        for text in [
            "",
            "7",
            "-1",
            "sequence:",
            "sequence:-1",
            "2025-11-29",
            "2025-11-29T14:30:00",
            "2025-02-30T14:30:00Z",
            "2025-11-29T24:00:00Z",
            "2025-11-29T14:30:00+24:00",
            "2025-11-29T14:30:00+é1:00",
            "25-11-29T14:30:00Z",
        ] {
            assert!(tape_place(text).is_err(), "{text}");
        }
    }
}
