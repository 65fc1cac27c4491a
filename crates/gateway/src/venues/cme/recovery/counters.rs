//! Counters of TCP replay.

touchline_types::counters! {
    /// Counters of TCP replay, as its client.
    pub struct RecoveryCounters {
        replay_requests: "connections" = "Connections started to request packets over TCP.",
        replay_packets: "packets" = "Packets received over these connections.",
        replay_served: "times" = "All requested packets had arrived before the connection failed.",
        replay_short: "connections" = "The venue ended its answer while packets were still missing.",
        replay_rejected: "connections" = "The venue rejected the logon or the request.",
        replay_unreachable: "connections" = "No connection could be made, or it was closed before the answer ended.",
        replay_timed_out: "connections" = "The answer took too long.",
        replay_broken: "connections" = "The answer did not match the request.",
        replay_over_budget: "times" = "Packets were missing, and the day's connections were used up.",
        replay_fell_back: "times" = "The request was given up; snapshots recover the books.",
    }
}
