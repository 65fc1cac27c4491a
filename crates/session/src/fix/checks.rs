//! Validation of received messages.

use super::parsed_header::{Fault, ParsedHeader};
use super::{Checks, Settings};
use touchline_wire::fix::{FIX44, Header, Message, SessionRejectReason as Reason, tag, validate};

/// Validates the message with the dictionary of the session.
pub fn dictionary(settings: &Settings, message: &Message<'_>) -> Option<Fault> {
    let options = &settings.check_options;
    let checked = match &settings.checks {
        Checks::Nothing => Ok(()),
        Checks::Standard => validate(message, &FIX44, options),
        Checks::Venue(tables) => validate(message, &tables.lend(), options),
    };
    checked.err().map(Fault::from)
}

/// Checks SendingTime and CompIDs.
#[inline]
pub fn time_or_name(settings: &Settings, wall_ns: u64, header: &Header<'_>) -> Option<Fault> {
    let sent_ns = header.sending_time_ns.unwrap_or(0);
    let most_ns = u64::from(settings.sending_time_s) * 1_000_000_000;
    if most_ns > 0 && sent_ns.abs_diff(wall_ns) > most_ns {
        return Some(Fault::whole(Reason::SendingTimeAccuracyProblem));
    }
    let is_ours = header.sender_comp_id == settings.target.as_bytes()
        && header.target_comp_id == settings.sender.as_bytes();
    (!is_ours).then_some(Fault::whole(Reason::CompIdProblem))
}

/// First fault of the header: an invalid or missing field.
pub fn header(parsed: &ParsedHeader<'_>) -> Option<Fault> {
    parsed.fault.or_else(|| missing(&parsed.header))
}

/// First missing field of the header.
#[inline]
pub fn missing(header: &Header<'_>) -> Option<Fault> {
    if header.sender_comp_id.is_empty() {
        Some(required(tag::SENDER_COMP_ID))
    } else if header.target_comp_id.is_empty() {
        Some(required(tag::TARGET_COMP_ID))
    } else if header.sending_time_ns.is_none() {
        Some(required(tag::SENDING_TIME))
    } else {
        None
    }
}

/// A field that is missing.
pub fn required(tag: u32) -> Fault {
    Fault::of(Reason::RequiredTagMissing, tag)
}

/// A field that is missing or has an invalid value.
pub fn faulty(is_missing: bool, tag: u32) -> Fault {
    match is_missing {
        true => required(tag),
        false => Fault::of(Reason::ValueIncorrect, tag),
    }
}
