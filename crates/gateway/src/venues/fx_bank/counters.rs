//! Counters of a bank's pricing session, except those of quotes.

touchline_types::counters! {
    /// Counters of a bank's pricing session.
    pub struct Counters {
        requests: "messages" = "Requests for quotes that were sent to the bank.",
        requests_rejected: "messages" = "Requests for quotes that the bank rejected (35=Y, AG, j); the pair is closed.",
        snapshots: "messages" = "Times that all quotes of a pair were published again, for readers that join.",
        sequence_gaps: "times" = "Messages of the bank were missing or rejected: every quote is withdrawn, and the connection opened again.",
        silences: "times" = "The bank was silent for silence_ms; its quotes did not count until it was heard again.",
        acknowledged: "messages" = "Mass quotes with a QuoteID, which were acknowledged (35=b).",
    }
}
