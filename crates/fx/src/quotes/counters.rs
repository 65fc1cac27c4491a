//! Counters of quotes.

touchline_types::counters! {
    /// Counters of the banks' pricing sessions.
    pub struct Counters {
        quotes: "messages" = "Quote messages of banks applied: snapshots, increments, quotes, mass quotes.",
        withdrawals: "messages" = "Quote cancels and quote status reports of banks applied.",
        malformed: "messages" = "Messages of banks whose length, checksum or form is wrong; skipped.",
        session_down: "messages" = "Messages of a bank's session that is down; skipped.",
        entries_refused: "entries" = "Quotes of banks with a price, size, minimum, expiry or value date that is unreadable, out of range or not the pair's; the entry is absent.",
        entries_unknown: "entries" = "Entries of increments and mass quotes without required fields, or for an unknown entry; skipped.",
        entries_beyond: "entries" = "Entries beyond the 65,536 of a bank's pair; absent.",
        ids_refused: "entries" = "Entries of banks with an identifier that is longer than 64 bytes or not printable ASCII; absent.",
        pairs_unknown: "messages" = "Quote messages and entries of banks of a pair that is not configured for the bank; skipped.",
    }
}
