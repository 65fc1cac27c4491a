//! Counters of a recorder.

touchline_types::counters! {
    /// Counters of a recorder.
    pub struct RecorderCounters {
        record_messages: "messages" = "Messages of the buses in the tape; packets of a raw recording.",
        record_bytes: "bytes" = "Bytes of these messages, or of the packets' payloads.",
        record_gaps: "gaps" = "Losses, each a Gap record of the tape; the start of a recorder that continues a tape is one.",
        record_lost: "messages" = "Messages or packets lost in these gaps, as far as their number is known.",
        record_in_states: "messages" = "Messages that the tape has in a state alone, because a join has read them from the tables of the bus.",
        record_refused: "rounds" = "Rounds in which the journal took no record: the disk is behind, or full. Messages wait in the rings of the buses meanwhile.",
        record_lag_bytes: "bytes now" = "Bytes of the buses that wait to be recorded, exact to some tens of KiB.",
        record_position: "bytes" = "Position in the tape behind the last record.",
        record_durable: "bytes" = "Position up to which the tape is on the disk; of files of pcapng the bytes of those that have ended.",
        record_segment: "segment now" = "Number of the segment that is written.",
        record_buses: "buses now" = "Buses that are recorded; sockets of a raw recording.",
        record_disk_errno: "errno now" = "Error of the system with which the next segment was refused, as 28 for a full disk; 0: it is there.",
        record_durable_age_ns: "ns now" = "Time for which the durable position has not moved while records wait for the disk; 0 of files of pcapng, which are synced at their end.",
        record_disk_state: "state now" = "0: the disk takes records; 1: none for a second; 2: no space for the next segment; 3: a write or sync failed, tried again each second.",
        record_failures: "failures" = "Writes or syncs that failed, and directories that were removed while they were recorded.",
        record_free_bytes: "bytes now" = "Bytes that are free on the file system of the tape or the files.",
        record_limited: "yes/no now" = "1 if a limit of size, age or free space removes the oldest segments.",
        record_segments_removed: "segments" = "Segments removed by the limits of size, age and free space.",
        record_segments_compressed: "segments" = "Segments that the recorder has compressed.",
        record_compressed_from: "bytes" = "Bytes of these segments before.",
        record_compressed_to: "bytes" = "Bytes of these segments compressed.",
    }
}
