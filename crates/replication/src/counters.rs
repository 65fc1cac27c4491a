//! Counters of both sides, each in a counters file of its process.

touchline_types::counters! {
    /// Counters of `touchline journal receive`.
    pub struct CopyCounters {
        journal_copy_connected: "sources now" = "1 while the copy is connected to its source.",
        journal_copy_connections: "times" = "Connections on which the source was heard.",
        journal_copy_position: "bytes now" = "Position up to which the copy is on the disk.",
        journal_copy_source_position: "bytes now" = "Position behind the last record of the source's journal, as of its last status; 0 if it was never heard.",
        journal_copy_behind: "bytes now" = "Bytes of the source's journal that are not on the disk here, as of the source's last status.",
        journal_copy_silent_ns: "ns now" = "Time since the last status of the source, or since the start.",
    }
}

touchline_types::counters! {
    /// Counters of `touchline journal send`.
    pub struct SourceCounters {
        journal_source_position: "bytes now" = "Position behind the last record of the journal that was read for a copy.",
        journal_copies: "copies now" = "Copies that are connected.",
        journal_copies_behind: "bytes now" = "Bytes of the journal that are not on the disk of the connected copy that is most behind.",
        journal_copies_behind_ns: "ns now" = "Time since the oldest of these bytes was read here, to 10 ms.",
        journal_copies_lost: "times" = "Connections of copies that ended.",
        journal_copies_refused: "times" = "Connections that were refused, or ended before they were those of a copy.",
    }
}
