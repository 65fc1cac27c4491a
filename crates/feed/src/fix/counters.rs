//! What a FIX session counts.

touchline_types::counters! {
    /// Counters of one session.
    pub struct Counters {
        messages_received: "messages" = "Messages received whole, of every type.",
        messages_sent: "messages" = "Messages sent for the first time, of every type.",
        messages_resent: "messages" = "Messages sent again because the counterparty asked.",
        messages_garbled: "messages" = "Bytes that are no FIX message, or one with a wrong length or checksum; skipped.",
        messages_rejected: "messages" = "Messages answered with a Reject (35=3).",
        messages_duplicate: "messages" = "Messages with PossDupFlag whose number was seen before; ignored.",
        messages_early: "messages" = "Messages whose number was too high; kept behind the hole or asked for again.",
        messages_early_dropped: "messages" = "Messages behind a hole for which there was no room; they are asked for again.",
        gap_fills_sent: "messages" = "Gap fills sent in place of messages that are not sent again.",
        resends_asked: "times" = "Holes in the counterparty's numbers that were asked for with a ResendRequest.",
        resends_served: "times" = "Requests of the counterparty to send messages again that were served.",
        test_requests: "times" = "The counterparty was silent and was asked for a sign of life.",
        logons: "times" = "Sessions that were logged on.",
        closed: "times" = "Connections that the session wished to be closed.",
        clock_steps: "times" = "The host's clock was set by more than ten seconds while connected; time stamps go on as before.",
        skips: "times" = "The counterparty skipped numbers of its own with a SequenceReset.",
        resets: "times" = "Both sequence numbers began again at 1.",
    }
}
