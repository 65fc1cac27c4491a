//! Counters of a composer beside quotes.

touchline_types::counters! {
    /// Counters of a composer. A counter with a unit that ends in `now` is a current value.
    pub struct Counters {
        bank_updates: "messages" = "Messages with quotes taken from banks' buses.",
        bank_updates_unsynced: "messages" = "Messages with quotes of a pair whose state is incomplete; ignored until the next snapshot.",
        bank_snapshots: "messages" = "Snapshots from which a bank's pair was taken up.",
        banks_lost: "times" = "Banks whose quotes were withdrawn: the session or its gateway was lost, stopped, overran or was replaced.",
        banks_live: "banks now" = "Banks whose quotes count, in at least one pair.",
        composites_published: "messages" = "Composites that changed and were published.",
        value_dates_refused: "messages" = "Messages of a bank's bus for another value date than that of the pair; ignored.",
        buses_refused: "times" = "Times that a bank's bus could not be joined: it does not exist yet, or is of another format.",
    }
}
