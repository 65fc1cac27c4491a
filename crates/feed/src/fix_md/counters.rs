//! What such a feed counts.

touchline_types::counters! {
    /// Counters of the market data of one session. A unit that ends in `now` goes up and down.
    pub struct Counters {
        messages: "messages" = "Market data messages taken in: snapshots and updates.",
        snapshots: "messages" = "Whole books received (35=W).",
        increments: "messages" = "Messages of changes received (35=X).",
        mass_quotes: "messages" = "Mass quotes received (35=i).",
        quotes_in_parts: "messages" = "Mass quotes that were not the last part of their quote set; shown with the last one.",
        entries: "entries" = "Entries of them.",
        entries_unknown: "entries" = "Entries of a type or action that this version does not know, or did not ask for.",
        trades_contained: "entries" = "Trades of the past that came with a snapshot; not published.",
        messages_unknown: "messages" = "Messages that are of no use here.",
        messages_malformed: "messages" = "Messages with a field that cannot be read: the book that they are of is asked for anew; a tick or contract size that cannot be read counts as not stated.",
        messages_unasked: "messages" = "Market data of an instrument that was not asked for; dropped.",
        numbers_refused: "entries" = "Prices or quantities that do not fit; the book that they are of is lost until its next snapshot.",
        before_snapshot: "messages" = "Changes of a book whose snapshot has not come; dropped.",
        books_inconsistent: "times" = "A change did not fit its book, which was requested again.",
        securities: "instruments" = "Instruments in the venue's lists.",
        instruments_refused: "instruments" = "Instruments that were chosen and are not taken: their name is longer than 32 bytes, or there are more than instruments_max.",
        instruments_changed: "times" = "The venue defined an instrument as something else: another currency, type or contract; its book was emptied, and asked for anew.",
        requests: "messages" = "Requests for market data.",
        requests_rejected: "messages" = "Requests that the venue rejected (35=Y).",
        requests_refused: "messages" = "Messages of ours that the venue's session or application refused (35=3, 35=j).",
        downloads: "times" = "Every instrument was defined and its book asked for and answered.",
        downloading: "yes/no now" = "A download has begun and not ended.",
        gaps: "times" = "Something of the venue is missing, unanswered or unreadable, and it is not known which book it is of: the connection is begun anew.",
        feed_timeouts: "times" = "Nothing came from the venue for the feed timeout; books were marked stale.",
    }
}
