//! Reject codes: the Investment Association's categories, as in OrdRejReason (103) of FIX.

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
