//! Counters of a FIX session.

touchline_types::counters! {
    /// Counters of one session.
    pub struct Counters {
        messages_received: "messages" = "Complete messages received, of every type.",
        messages_sent: "messages" = "Messages sent for the first time, of every type.",
        messages_resent: "messages" = "Messages sent again on a resend request of the counterparty.",
        messages_garbled: "messages" = "Bytes that are not a FIX message, or a message with a wrong length or checksum; skipped.",
        messages_too_long: "messages" = "Messages longer than the limit (message_bytes_max); skipped, with the bytes up to the next message.",
        messages_rejected: "messages" = "Messages answered with a Reject (35=3).",
        messages_duplicate: "messages" = "Messages with PossDupFlag whose number was seen before, and repeated answers to a reset; ignored.",
        messages_out_of_order: "messages" = "Messages whose sequence number was too high; buffered behind the gap or requested again.",
        messages_out_of_order_dropped: "messages" = "Messages behind a gap for which there was no room; they are requested again.",
        gap_fills_sent: "messages" = "Gap fills sent in place of messages that are not sent again.",
        resends_requested: "times" = "Resend requests (ResendRequest) sent for gaps in the counterparty's numbers.",
        resends_served: "times" = "Resend requests of the counterparty that were answered.",
        test_requests: "times" = "Test requests (TestRequest) sent because the counterparty sent no message.",
        logons: "times" = "Sessions that were logged on.",
        disconnects: "times" = "Connections that the session closed.",
        sequence_resets: "times" = "The counterparty skipped sequence numbers with a SequenceReset.",
        resets: "times" = "Both sequence numbers were reset to 1.",
    }
}
