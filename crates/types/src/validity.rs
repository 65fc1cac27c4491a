//! How far a book may be trusted; it travels with the data, end to end.

coded! {
    /// The validity of one instrument's book.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Validity {
        /// Complete, and confirmed after the last lost packet.
        Live = 0,
        /// Complete as far as seen, but a packet was lost since the instrument was last confirmed.
        Gapped = 1,
        /// Known to miss something; emptied, waiting for a snapshot.
        Recovering = 2,
        /// Emptied and refilled from live updates alone: its levels are right, but not complete.
        Natural = 3,
        /// The connection is down; contents are those of the last moment.
        Stale = 4,
        /// The instrument is closed, according to the venue.
        Closed = 5,
    }
}

impl Validity {
    /// The word used in output, counters and screens.
    pub const fn name(self) -> &'static str {
        match self {
            Validity::Live => "live",
            Validity::Gapped => "gapped",
            Validity::Recovering => "recovering",
            Validity::Natural => "natural",
            Validity::Stale => "stale",
            Validity::Closed => "closed",
        }
    }
}

/// Validity that a reader shows for a book: the worse of the book's and the channel's.
///
/// The state of a channel only affects live books: a book that is `Gapped`, `Recovering` or `Natural` by itself stays
/// so under a channel that is `Stale`, since its own state is more precise, and stays so when the channel is live
/// again.
#[inline]
pub const fn worse_of(instrument: Validity, channel: Validity) -> Validity {
    match instrument {
        Validity::Live => channel,
        own => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_state_can_only_lower_the_validity_of_a_book() {
        use Validity::{Gapped, Live, Natural, Recovering, Stale};
        for (own, channel, seen) in [
            (Live, Live, Live),
            (Live, Gapped, Gapped),
            (Live, Stale, Stale),
            (Gapped, Stale, Gapped),
            (Gapped, Live, Gapped),
            (Recovering, Stale, Recovering),
            (Natural, Gapped, Natural),
        ] {
            assert_eq!(
                worse_of(own, channel),
                seen,
                "{own:?} on a {channel:?} channel"
            );
        }
    }
}
