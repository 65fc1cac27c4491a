//! Counters of a bank's pricing session, except those of quotes.

touchline_types::counters! {
    /// Counters of a bank's pricing session.
    pub struct Counters {
        requests: "messages" = "Requests for quotes sent to the bank.",
        requests_rejected: "messages" = "Requests for quotes that the bank rejected (35=Y, AG, j); the pair is closed, and its quotes are withdrawn.",
        snapshots: "messages" = "Periodic publications of all quotes of a pair, for readers that join.",
        sequence_gaps: "times" = "Messages of the bank were missing, rejected or malformed: every quote was withdrawn, and the gateway reconnected.",
        silences: "times" = "Feed timeouts: no message of the bank for silence_ms; its quotes were unusable until the next message.",
        acknowledged: "messages" = "Mass quotes with a QuoteID, acknowledged (35=b).",
    }
}
