//! Counters of a publisher.

touchline_types::counters! {
    /// Counters of a publisher.
    pub struct PublisherCounters {
        messages_published: "messages" = "Messages committed to the ring, tops of book and parts included.",
        bytes_published: "bytes" = "Bytes of these messages.",
        batches_published: "batches" = "Batches: all messages caused by one packet.",
        tops_published: "messages" = "Tops of book, each because it changed.",
        images_cut: "updates" = "A book was deeper than its last-value entry, or an order had no row: joining readers wait for its next whole publication.",
        images_refused: "updates" = "An instrument beyond the limit or the memory of the tables: it has no last-value entry; refused memory is asked for again once a second.",
        waits: "waits" = "Messages for which the writer of a lossless bus waited for a reader, each once, however long.",
        readers_dead: "readers" = "Registered readers that died; the publisher no longer waits for them.",
        readers_left_behind: "readers" = "Registered readers that were too slow for longer than the limit.",
        dead_place: "place" = "Slot of the last registered reader that died, from 1; 0: none.",
        left_behind_place: "place" = "Slot of the last registered reader that was left behind, from 1; 0: none.",
        cursors_renewed: "times" = "Another process changed the length of the file with the readers' cursors, and the publisher made it again.",
        bytes_not_locked: "bytes" = "Memory of the ring that could not be locked: it may be swapped out.",
        huge_pages_refused: "times" = "Huge pages were requested, and the system has none.",
    }
}
