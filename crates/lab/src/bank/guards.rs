//! Guards of a live configuration with values that mean off, for tests and measurements of something else. A configuration that
//! people use has other values: `touchline fx preset`.

/// Keys of a `[[pairs]]`.
pub const PAIR_OFF: &str = "collar_ticks = 1000000\ncrossed_max_ticks = 1000000\noff_market_ticks = 1000000\nmax_order = 1000000000\nmax_net = 1000000000000\n";

/// Keys of a `[[banks]]`.
pub const BANK_OFF: &str = "stale_ms = 0\nsilence_ms = 0\n";

/// The keys of `[risk]`.
pub const RISK_OFF: &str = "max_gross_usd = 1000000000000\nduplicate_ms = 0\nkill_unknown = 1000000\nkill_rejects_per_s = 1000000\n\
                            kill_lifters = [\"desk\", \"chief\"]\nbookers = [\"desk\", \"chief\"]\nreference_ttl_ms = 0\nwithout_reference = \"composite\"\n";
