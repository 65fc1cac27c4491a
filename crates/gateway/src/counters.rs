//! Counters of the pipeline.

touchline_types::counters! {
    /// Counters of one pipeline.
    pub struct Counters {
        events: "events" = "Venue events published.",
        events_cut: "events" = "Events truncated by a lost packet, or with more changes than event_changes_max: published as whole books at their end.",
        book_updates: "updates" = "Price-book updates published.",
        book_snapshots: "updates" = "Whole price books published after recovery.",
        order_updates: "updates" = "Order-book updates published.",
        order_snapshots: "updates" = "Whole order books published after recovery.",
        trades: "updates" = "Trades published.",
        statistics: "updates" = "Statistics published.",
        levels_unexpected: "changes" = "Changes that contradicted a book kept by price: an insertion of an existing level, a change or deletion of a missing one, or one that left too little of a cut side.",
        levels_beyond: "changes" = "Changes of books kept by price for which a level was left out: beyond levels_max, or at a price from which on levels are left out.",
        books_locked: "updates" = "Price-book updates after which the best bid and ask, direct or implied, were equal.",
        books_crossed: "updates" = "Price-book updates after which the best bid was above the best ask, direct or implied.",
    }
}
