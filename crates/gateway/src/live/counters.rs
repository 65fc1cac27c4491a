//! Counters of a live gateway beside those of the path.

/// Counters of the present moment: tools report them as 0 for a gateway that has ended or stalled, and ignore the values
/// written last.
pub const OF_A_LIVE_GATEWAY: [&str; 3] = ["ready", "books_live", "order_books_live"];

touchline_types::counters! {
    /// Counters of the sockets and the duty cycle. A unit that ends in `now` is a gauge.
    pub struct LiveCounters {
        packets_received: "packets" = "Packets received.",
        bytes_received: "bytes" = "Payload bytes of these packets.",
        packets_dropped_kernel: "packets" = "Packets that the kernel dropped because a socket's buffer was full, or no frame of AF_XDP was free.",
        packets_foreign: "packets" = "Packets of a source that the venue does not publish; dropped.",
        packets_truncated: "packets" = "Packets longer than a receive buffer; dropped.",
        packets_without_timestamp: "packets" = "Packets without a timestamp of the card or the kernel: they have the time of the poll.",
        timestamps_implausible: "packets" = "Timestamps of the card that were far from the kernel's clock; the kernel's timestamp was taken.",
        timestamps_raised: "packets" = "Packets whose timestamp was before that of an earlier one, which they have instead.",
        receive_errors: "times" = "Receive calls that failed on a working socket, for example while its interface is down.",
        packets_damaged: "packets" = "Frames of AF_XDP with a wrong length or checksum; dropped, as the kernel does for sockets.",
        xdp_no_frame: "times" = "Times that the card found no free frame of AF_XDP: the gateway reads too slowly.",
        xdp_detached: "yes/no now" = "Sockets receive although AF_XDP is configured: its program was refused at the start, or is gone with its interface.",
        xdp_by_sockets: "packets" = "Packets of sockets while AF_XDP receives: fragments, IP options, queues of the card without a ring.",
        groups_lost: "groups now" = "Groups whose interface is gone; the gateway tries to join them again each second.",
        groups_rejoined: "groups" = "Groups joined again after their interface came back.",
        rounds_busy: "rounds" = "Rounds of the loop that found a packet.",
        rounds_idle: "rounds" = "Rounds of the loop that found none.",
        timers: "times" = "Runs of the loop's timers.",
        timer_late_ns_max: "ns now" = "Longest delay of the timers since the start.",
        stalls: "times" = "The loop stopped for longer than a quarter of the liveness timeout; readers show no book as live until it has caught up.",
        wall_clock_steps: "times" = "Steps of the host's wall clock by more than 100 ms; no age or timeout depends on it.",
        heartbeats: "messages" = "Heartbeats published because nothing else was published.",
        books_known: "books now" = "Instruments of the channel.",
        books_live: "books now" = "Price books that are live.",
        order_books_live: "books now" = "Order books that are live.",
        ready: "yes/no now" = "Every definition was received and every price book is live.",
    }
}
