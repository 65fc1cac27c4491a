//! Counters of the pipeline.

touchline_types::counters! {
    /// Counters of one pipeline.
    pub struct Counters {
        events: "events" = "Venue events made visible.",
        events_cut: "events" = "Events cut short by a lost packet, or with more changes than event_changes_max: published as whole books at their end.",
        book_updates: "updates" = "Price-book updates published.",
        book_snapshots: "updates" = "Whole price books published after recovery.",
        order_updates: "updates" = "Order-book updates published.",
        order_snapshots: "updates" = "Whole order books published after recovery.",
        trades: "updates" = "Trades published.",
        statistics: "updates" = "Statistics published.",
        levels_unexpected: "changes" = "Changes that did not fit a book kept by price: a new level that was there, a change or a deletion of one that was not.",
        levels_beyond: "changes" = "Changes of books kept by price for which a level was left out: beyond levels_max, or at a price from which on levels are left out.",
        books_locked: "updates" = "Price-book updates after which the best bid and ask, direct or implied, were equal.",
        books_crossed: "updates" = "Price-book updates after which the best bid was above the best ask, direct or implied.",
    }
}
