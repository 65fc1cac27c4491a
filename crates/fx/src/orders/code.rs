//! Reject codes: the Investment Association's categories, as in OrdRejReason (103) of FIX.

use crate::setup::BankSetup;

/// A category of the Investment Association, or `N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RejectCode {
    /// `A-1`: last look, the price check failed.
    LastLookPrice,
    /// `A-2`: last look, too slow.
    LastLookLatency,
    /// `B`: no last look; price or liquidity gone.
    Gone,
    /// `C`: credit.
    Credit,
    /// `D`: static data, entitlement, account.
    StaticData,
    /// `E`: anything else.
    Other,
    /// `F`: product not supported.
    Unsupported,
    /// `N`: the order never arrived.
    NeverArrived,
}

use RejectCode::{
    Credit, Gone, LastLookLatency, LastLookPrice, NeverArrived, Other, StaticData, Unsupported,
};

/// All of them, in the order of their names.
const NAMES: [(RejectCode, &str); 8] = [
    (LastLookPrice, "A-1"),
    (LastLookLatency, "A-2"),
    (Gone, "B"),
    (Credit, "C"),
    (StaticData, "D"),
    (Other, "E"),
    (Unsupported, "F"),
    (NeverArrived, "N"),
];

impl RejectCode {
    /// Number of codes.
    pub const COUNT: usize = NAMES.len();
    /// All of them, in the order of their names.
    pub const ALL: [RejectCode; RejectCode::COUNT] = [
        LastLookPrice,
        LastLookLatency,
        Gone,
        Credit,
        StaticData,
        Other,
        Unsupported,
        NeverArrived,
    ];

    /// Printed form.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The code with that name.
    pub fn of_name(name: &str) -> Option<RejectCode> {
        let mut names = NAMES.iter();
        names
            .find(|(_, other)| *other == name)
            .map(|(code, _)| *code)
    }

    /// Whether the code disables the bank until the desk enables it.
    pub fn disables(self) -> bool {
        matches!(self, StaticData | Unsupported)
    }

    /// The code of an end without a fill. `is_miss`: a cancel or expiry, which without a reason is a missed IOC.
    /// `never_arrived`: the bank answered a status request with "unknown order".
    pub fn of(
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_are_one_to_one_and_in_order() {
        for (place, (code, name)) in NAMES.iter().enumerate() {
            assert_eq!((*code as usize, code.name()), (place, *name));
            assert_eq!(RejectCode::of_name(name), Some(*code));
        }
        assert!(NAMES.is_sorted_by_key(|(_, name)| *name));
    }
}
