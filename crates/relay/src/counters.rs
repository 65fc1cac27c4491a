//! Counters of a link, on either side.

touchline_types::counters! {
    /// Counters of the sending side of a link.
    pub struct SenderCounters {
        relay_messages_sent: "messages" = "Messages of the bus sent on the link, each once however many receivers there are.",
        relay_bytes_sent: "bytes" = "Bytes of batches handed to the link, heads and refreshes included.",
        relay_batches_sent: "batches" = "Batches handed to the link, refreshes and heartbeats included.",
        relay_refreshes_sent: "instruments" = "Refreshes of one instrument sent.",
        relay_rounds_sent: "rounds" = "Whole rounds of refreshes sent.",
        relay_refreshes_requested: "requests" = "Requests of receivers for a refresh, joins included.",
        relay_overruns: "times" = "Overruns of the relay on the bus: messages were lost before the link.",
        relay_overrun_messages: "messages" = "Messages lost in these overruns.",
        relay_source_down: "buses now" = "1 while the publisher of the bus is gone or stalled.",
        relay_back_pressure: "times" = "Times that the link accepted no batch, and messages waited in the ring of the bus.",
        relay_lag_bytes: "bytes now" = "Bytes of the bus that wait to be sent, exact to some tens of KiB.",
        relay_receivers: "receivers now" = "Receivers connected now; on Aeron those that send reports.",
        relay_queued_bytes: "bytes now" = "Bytes that wait for the slowest receiver.",
        relay_receivers_slow: "receivers" = "Slow receivers: disconnected because their queue was full; on Aeron a second behind, or without reports for two.",
        relay_slow_receiver: "address now" = "Slowest receiver now, else the last slow one: IPv4 address * 65536 + port; 0 if none.",
        relay_round_trip_ns: "ns now" = "Longest round trip to a receiver and back, from the latest reports, by the sender's clock; Aeron.",
        relay_receivers_refused: "receivers" = "Connections rejected: no request in time, another version, a failed TLS handshake, or too many receivers.",
        relay_naks: "reports" = "Reports of lost datagrams from receivers, of all Aeron links of the process.",
        relay_retransmits: "datagrams" = "Datagrams sent again, of all Aeron links of the process.",
        relay_flow_control_waits: "times" = "Times that Aeron's driver waited for receivers, of all Aeron links of the process.",
        relay_requests_invalid: "requests" = "Requests and reports of receivers that break the format, or are of another version; dropped; Aeron.",
        relay_packets_invalid: "datagrams" = "Datagrams that are not Aeron's, of all Aeron links of the process.",
    }
}

touchline_types::counters! {
    /// Counters of the receiving side of a link.
    pub struct ReceiverCounters {
        relay_up: "links now" = "1 while the link is up and its source publishes: books are as reliable as on the other side.",
        relay_messages: "messages" = "Messages received from the link, in sequence.",
        relay_bytes: "bytes" = "Bytes of batches received.",
        relay_batches: "batches" = "Batches received, refreshes and heartbeats included.",
        relay_position: "messages" = "Sequence number of the last message received from the link.",
        relay_duplicates: "batches" = "Duplicate or late batches; dropped.",
        relay_gaps: "gaps" = "Sequence gaps on the link.",
        relay_lost: "messages" = "Messages lost in these gaps.",
        relay_refreshes_taken: "instruments" = "Instruments recovered from a refresh.",
        relay_refreshes_passed: "batches" = "Refresh batches ignored, because none of their contents was lost here.",
        relay_refreshes_asked: "requests" = "Requests for a refresh.",
        relay_withheld: "updates" = "Updates of books that wait for a refresh; not published.",
        relay_timeouts: "times" = "No batch arrived for link_timeout_ms; books were marked stale.",
        relay_disconnects: "times" = "Connections to the sender that ended or failed.",
        relay_restarts: "times" = "Switches to another source or run of a sender; each restarted the bus.",
        relay_other_source: "batches" = "Batches of a second sender while the first one sends.",
        relay_refused_sources: "batches" = "Batches of a source that is not in the configuration.",
        relay_refused_hops: "batches" = "Batches that passed too many relays, or returned to their origin.",
        relay_malformed: "batches" = "Batches or messages that break the format.",
        relay_refused_versions: "batches" = "Batches of another version of the format.",
        relay_hops: "relays now" = "Relays that the data of this bus has passed, including this one.",
        relay_origin: "name now" = "Name of the origin, 8 characters as a little-endian number.",
        relay_latency_ns: "ns now" = "Latest transit time from the sender, by the clocks of both hosts; correct only if these are synchronised.",
        relay_instruments_refused: "messages" = "Messages of instruments beyond instruments_max; dropped.",
        relay_orders_full: "updates" = "Orders beyond orders_max; their book is recovering.",
        relay_naks_sent: "reports" = "Reports of lost datagrams to senders, of all Aeron links of the process.",
        relay_window_overruns: "datagrams" = "Datagrams beyond the receive window, dropped: this host is too slow; of all Aeron links of the process.",
        relay_packets_invalid: "datagrams" = "Datagrams that are not Aeron's, of all Aeron links of the process.",
    }
}
