//! What is counted of asking for lost packets.

touchline_types::counters! {
    /// Counters of TCP replay, as its client.
    pub struct RecoveryCounters {
        replay_requests: "connections" = "Connections begun to ask for packets again, over TCP.",
        replay_packets: "packets" = "Packets that came over them.",
        replay_served: "times" = "All packets that were awaited were there before the connection failed.",
        replay_short: "connections" = "The venue ended its answer, and packets were still missing.",
        replay_rejected: "connections" = "The venue rejected the logon or the request.",
        replay_unreachable: "connections" = "No connection could be made, or it was closed before the answer ended.",
        replay_timed_out: "connections" = "The answer took too long.",
        replay_broken: "connections" = "What came was no answer to what was asked.",
        replay_over_budget: "times" = "Packets were awaited, and the connections of the day were used up.",
        replay_fell_back: "times" = "Packets that were awaited were given up; snapshots heal what they would have told.",
    }
}
