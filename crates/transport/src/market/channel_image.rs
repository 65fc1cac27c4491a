//! Snapshot of a channel: its state, the last reset, the last loss, and the venue's download.
//!
//! It is in the first slot of the price books. A slot older than a reset is an empty, live book
//! regardless of its content; one older than a loss is not live.

use std::sync::atomic::{AtomicU64, Ordering};
use touchline_types::{ChannelState, Gap, Phase, Validity};

/// Its slot among the price books; the instruments follow.
pub const SLOT: usize = 0;

/// Number of its words.
pub const WORDS: usize = 10;

/// State of the channel, last reset, last loss and download phase, each with its position in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelImage {
    /// Position after the last reset.
    pub reset: Option<u64>,
    /// Last loss, and the position after it.
    pub gap: Option<(u64, Gap)>,
    /// Last download phase, and the position after it.
    pub download: Option<(u64, Phase)>,
    /// Last published state, and the position after it.
    pub state: Option<(u64, ChannelState)>,
}

impl ChannelImage {
    /// Writes it as the content of a slot.
    pub fn write(&self, content: &[AtomicU64]) {
        let (gap_at, gap) = self.gap.unzip();
        let (first, last, orders) = gap.map_or((0, 0, 0), |gap: Gap| {
            (gap.first, gap.last, gap.orders as u64)
        });
        let gap_at = gap_at.unwrap_or(0);
        let (download_at, phase) = self.download.unwrap_or((0, Phase::Begun));
        let flags = u64::from(self.reset.is_some())
            | u64::from(self.gap.is_some()) << 1
            | u64::from(self.download.is_some()) << 2
            | u64::from(self.state.is_some()) << 3
            | (phase as u64) << 8;
        let reset = self.reset.unwrap_or(0);
        let (state_at, state) = self.state.unwrap_or_default();
        let validities = state.price as u64 | (state.orders as u64) << 8;
        let words = [
            flags,
            reset,
            gap_at,
            first,
            last,
            orders,
            download_at,
            state_at,
            validities,
            state.sequence,
        ];
        for (word, value) in content.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Reads it from the content of a slot.
    pub fn take(content: &[u64; WORDS]) -> ChannelImage {
        let [
            flags,
            reset,
            gap_at,
            first,
            last,
            orders,
            download_at,
            state_at,
            validities,
            sequence,
        ] = *content;
        let orders = Validity::from_code(orders as u8).unwrap_or(Validity::Recovering);
        let gap = Gap {
            first,
            last,
            orders,
        };
        // An invalid code is not trusted.
        let validity = |code| Validity::from_code(code).unwrap_or(Validity::Stale);
        let state = ChannelState {
            price: validity(validities as u8),
            orders: validity((validities >> 8) as u8),
            sequence,
        };
        ChannelImage {
            reset: (flags & 1 != 0).then_some(reset),
            gap: (flags & 2 != 0).then_some((gap_at, gap)),
            download: Phase::from_code((flags >> 8) as u8)
                .filter(|_| flags & 4 != 0)
                .map(|phase| (download_at, phase)),
            state: (flags & 8 != 0).then_some((state_at, state)),
        }
    }

    /// State of the channel; live if none was published.
    pub fn state(&self) -> ChannelState {
        self.state.map_or(ChannelState::LIVE, |(_, state)| state)
    }

    /// Whether a reset followed `position`.
    pub fn is_reset_since(&self, position: u64) -> bool {
        self.reset.is_some_and(|reset| is_before(position, reset))
    }

    /// Present validity of a book that had this validity at `position`.
    pub fn validity_since(&self, position: u64, validity: Validity) -> Validity {
        let validity = if self.is_reset_since(position) {
            Validity::Live
        } else {
            validity
        };
        let from = self
            .reset
            .filter(|_| self.is_reset_since(position))
            .unwrap_or(position);
        match self.gap {
            Some((gap, _)) if is_before(from, gap) && validity == Validity::Live => {
                Validity::Gapped
            }
            _ => validity,
        }
    }
}

/// Whether a position of the stream is before another; positions may wrap.
#[inline]
pub fn is_before(position: u64, other: u64) -> bool {
    (position.wrapping_sub(other) as i64) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Gap = Gap {
        first: 7,
        last: 0x1_0000_0009,
        orders: Validity::Natural,
    };

    const STATE: ChannelState = ChannelState {
        price: Validity::Stale,
        orders: Validity::Gapped,
        sequence: u64::MAX,
    };

    #[test]
    fn a_channel_state_is_read_back_from_its_slot() {
        for image in [
            ChannelImage::default(),
            ChannelImage {
                reset: Some(u64::MAX - 7),
                gap: Some((16, GAP)),
                download: Some((24, Phase::Ended)),
                state: Some((32, STATE)),
            },
            ChannelImage {
                download: Some((0, Phase::Begun)),
                ..ChannelImage::default()
            },
        ] {
            let content: [AtomicU64; WORDS] = std::array::from_fn(|_| AtomicU64::new(77));
            image.write(&content);
            let words = content.map(AtomicU64::into_inner);
            assert_eq!(ChannelImage::take(&words), image);
        }
    }

    #[test]
    fn the_validity_of_an_older_slot_includes_later_resets_and_gaps() {
        let state = ChannelImage {
            reset: Some(80),
            gap: Some((160, GAP)),
            ..ChannelImage::default()
        };
        let since = |position, validity| state.validity_since(position, validity);
        assert_eq!(
            since(40, Validity::Recovering),
            Validity::Gapped,
            "reset, then lost"
        );
        assert_eq!(since(120, Validity::Live), Validity::Gapped, "lost");
        assert_eq!(since(120, Validity::Natural), Validity::Natural);
        assert_eq!(
            since(160, Validity::Live),
            Validity::Live,
            "confirmed after the loss"
        );
        assert!(state.is_reset_since(79) && !state.is_reset_since(80));
        let late = ChannelImage {
            reset: Some(240),
            ..state
        };
        assert_eq!(
            late.validity_since(40, Validity::Recovering),
            Validity::Live
        );
    }
}
