//! Counters of a FIX market data feed.

touchline_types::counters! {
    /// Counters of the market data of one session. A counter with a unit that ends in `now` is a current value.
    pub struct Counters {
        messages: "messages" = "Market data messages processed: snapshots and updates.",
        snapshots: "messages" = "Snapshots of books received (35=W).",
        increments: "messages" = "Incremental messages received (35=X).",
        mass_quotes: "messages" = "Mass quotes received (35=i).",
        quotes_in_parts: "messages" = "Mass quotes that were not the last part of their quote set; published with the last part.",
        entries: "entries" = "Entries of these messages.",
        entries_unknown: "entries" = "Entries of a type or action that this version does not know, or did not request.",
        entries_empty: "entries" = "Entries of quantity zero that are no level or trade, and changes that leave such a level empty; left out.",
        trades_contained: "entries" = "Past trades in a snapshot; not published.",
        messages_unknown: "messages" = "Messages of types that market data does not use; ignored.",
        messages_malformed: "messages" = "Messages with an unreadable field: their book is requested again; an unreadable tick, contract size or leg is treated as absent, and a list is counted once.",
        messages_unasked: "messages" = "Market data of an instrument that was not requested; dropped.",
        numbers_refused: "entries" = "Prices or quantities that do not fit; their book is lost until its next snapshot.",
        before_snapshot: "messages" = "Changes that arrived before their book's snapshot, or while an inconsistent book waits to be requested again; dropped.",
        books_inconsistent: "times" = "A change contradicted its book; the book was requested again.",
        securities: "instruments" = "Instruments in the venue's lists.",
        instruments_refused: "instruments" = "Selected instruments that were refused: the name is longer than 32 bytes, or there are more than instruments_max.",
        instruments_changed: "times" = "The venue redefined an instrument with another currency, type or contract; its book was emptied and requested again.",
        requests: "messages" = "Requests for market data.",
        requests_rejected: "messages" = "Requests that the venue rejected (35=Y).",
        requests_refused: "messages" = "Our messages that the venue's session or application rejected (35=3, 35=j).",
        downloads: "times" = "Downloads completed: every instrument was defined, and every request for a book was answered.",
        downloading: "yes/no now" = "A download is in progress.",
        gaps: "times" = "A message was missing, unanswered or unreadable, and it is not known of which book: the gateway connects again.",
        feed_timeouts: "times" = "The venue sent no message for the feed timeout; books were marked stale.",
    }
}
