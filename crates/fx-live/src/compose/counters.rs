//! Counters of a composer beside quotes.

use touchline_types::CounterInfo;

touchline_types::counters! {
    /// Counters of a composer. A counter with a unit that ends in `now` is a current value.
    pub struct Counters {
        bank_updates: "messages" = "Quote messages applied from banks' buses.",
        bank_updates_unsynced: "messages" = "Quote messages of a pair whose state is incomplete; ignored until the next snapshot.",
        bank_snapshots: "messages" = "Snapshots that completed the state of a bank's pair.",
        banks_lost: "times" = "Banks whose quotes were withdrawn: the session was lost, or its gateway ended, stalled, restarted or overran the composer.",
        banks_live: "banks now" = "Banks with usable quotes in at least one pair.",
        composites_published: "messages" = "Composites that changed and were published.",
        value_dates_refused: "messages" = "Messages of a bank's bus for another value date than that of the pair, or without one where it must be stated; ignored.",
        kinds_refused: "messages" = "Bank messages whose kind (bands or amounts) contradicts the configured sweep or full; refused.",
        wall_clock_steps: "times" = "Steps of the wall clock by more than 100 ms; the banks' quotes count again when they are new.",
        buses_refused: "times" = "Failed attempts to join a bank's bus: it does not exist yet, or has another format.",
    }
}

touchline_types::counters! {
    /// Counters of a bank and a pair, each named `<name>:<bank>:<pair>`: the passive half of the scorecard.
    pub struct ScoreCounters {
        score_quotes: "messages" = "Quote messages of the bank in the pair.",
        score_up_ns: "ns" = "Time that the bank's pricing session was up.",
        score_best_bid_ns: "ns" = "Time that the bank was among those at the best bid.",
        score_best_ask_ns: "ns" = "Time that the bank was among those at the best ask.",
        score_quoting_ns: "ns" = "Time that both sides of the bank's quotes were usable.",
        score_spread_tick_us: "tick us" = "The bank's spread in ticks, multiplied by the microseconds with both sides usable.",
    }
}

touchline_types::counters! {
    /// Counters of a bank, each named `<name>:<bank>`.
    pub struct BankCounters {
        bank_closed_until: "ns now" = "Start of the bank's next session, nanoseconds since 1970, while its gateway says that it is closed by its hours; else 0.",
    }
}

/// The counters of a table for one label, each named `<name>:<label>`. Their names live as long as the process, which has one
/// composer or one engine.
pub fn labelled(table: &'static [CounterInfo], label: &str) -> impl Iterator<Item = CounterInfo> {
    table.iter().map(move |info| CounterInfo {
        name: format!("{}:{label}", info.name).leak(),
        ..*info
    })
}
