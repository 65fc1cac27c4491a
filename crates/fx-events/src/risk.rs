//! Why a parent is refused.

/// Reason to refuse a parent, in the order of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The kill switch is set.
    Kill,
    /// A parent of this name was accepted.
    DuplicateId,
    /// Invalid: unknown pair or word, quantity that is not a positive multiple of the lot, limit that is not a price of
    /// the pair, missing deadline.
    BadOrder,
    /// An equal parent was accepted shortly before.
    Duplicate,
    /// Larger than `max_order`.
    OrderQty,
    /// Too many parents per second.
    Rate,
    /// A limit price without a mid to check it against.
    NoMid,
    /// A limit price without a reference to check it against.
    NoReference,
    /// A limit price too far beyond the reference.
    Collar,
    /// The pair's worst case would exceed its limit.
    Net,
    /// The sum of all worst cases would exceed its limit.
    Gross,
}

impl Refusal {
    /// Name of the reason, as in a line and an answer.
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Kill => "kill",
            Refusal::DuplicateId => "duplicate_id",
            Refusal::BadOrder => "bad_order",
            Refusal::Duplicate => "duplicate",
            Refusal::OrderQty => "order_qty",
            Refusal::Rate => "rate",
            Refusal::NoMid => "no_mid",
            Refusal::NoReference => "no_reference",
            Refusal::Collar => "collar",
            Refusal::Net => "net",
            Refusal::Gross => "gross",
        }
    }
}
