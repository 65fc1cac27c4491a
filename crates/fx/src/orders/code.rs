//! Reject codes of ends, by a bank's texts and reasons.

use crate::setup::BankSetup;
use touchline_fx_events::orders::RejectCode::{
    self, Credit, Gone, LastLookLatency, LastLookPrice, NeverArrived, Other, StaticData,
    Unsupported,
};

/// The code of an end without a fill. `is_miss`: a cancel or expiry, which without a reason is a missed IOC.
/// `never_arrived`: the bank answered a status request with "unknown order".
pub fn code_of(
    bank: &BankSetup,
    text: Option<&[u8]>,
    reason: Option<&[u8]>,
    is_miss: bool,
    never_arrived: bool,
) -> RejectCode {
    let mapped = |key: Option<&[u8]>| {
        let found = bank
            .reject_map
            .iter()
            .find(|(own, _)| Some(own.as_bytes()) == key);
        found.map(|(_, code)| *code)
    };
    if let Some(code) = mapped(text).or_else(|| mapped(reason)) {
        return code;
    }
    match reason {
        _ if never_arrived => NeverArrived,
        Some(b"30") => LastLookPrice,
        Some(b"31") => LastLookLatency,
        Some(b"32" | b"2" | b"4" | b"8" | b"16") => Gone,
        Some(b"25" | b"3") => Credit,
        Some(b"15" | b"33") => StaticData,
        Some(b"1") => Unsupported,
        None if is_miss => Gone,
        _ => Other,
    }
}
