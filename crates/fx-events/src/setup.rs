//! Numbers of banks and pairs.

/// Rank of a bank.
pub type Bank = usize;

/// Index of a pair.
pub type Pair = usize;

/// Maximum number of banks: the capacity of a [`BankSet`](crate::composite::BankSet).
pub const BANKS_MAX: usize = 256;
