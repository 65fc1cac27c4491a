//! Content of `NAME.json` beside each file: source, counts and gaps.

use crate::column::NULL;
use crate::message::Message;
use crate::tables::{CAUSES, Cause, GapRow};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use touchline_types::Gap;

/// Gaps that are listed one by one; further ones are counted.
const GAPS_MAX: usize = 10_000;

/// Source of the messages of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Bus, or channel of a capture.
    pub bus: String,
    /// Id of the journal in hexadecimal digits; empty for captures.
    pub journal: String,
    /// Positions in the journal between which the messages of the last unit are.
    pub positions: Option<(u64, u64)>,
    /// Position at which the first unit begins.
    pub begin: u64,
    /// Captures.
    pub captures: Vec<String>,
}

impl Origin {
    /// The source of a file of all units.
    pub fn whole(&self) -> Origin {
        Origin {
            positions: self.positions.map(|(_, to)| (self.begin, to)),
            ..self.clone()
        }
    }
}

/// A loss in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Cause.
    pub cause: Cause,
    /// First lost number, of packets or messages; 0 if unknown.
    pub first: u64,
    /// Last lost number.
    pub last: u64,
    /// Lost packets or messages; `None` if unknown.
    pub count: Option<u64>,
    /// Number of the last message before it.
    pub after: u64,
}

/// Counts of the messages since the file began.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    messages: BTreeMap<&'static str, u64>,
    images: u64,
    sequences: Option<(u64, u64)>,
    gaps: Vec<Loss>,
    gaps_count: u64,
    left_out: LeftOut,
}

/// Messages that a reader of a tape passes over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// No state of the books came before them.
    pub without_state: u64,
    /// They are of a newer schema.
    pub unknown: u64,
}

impl Counts {
    /// Counts a message.
    pub fn message(&mut self, message: &Message<'_>) {
        if message.is_image {
            self.images += 1;
            return;
        }
        *self.messages.entry(message.name()).or_default() += 1;
        // Messages of a recorder have the number 0.
        if message.sequence != 0 {
            let first = self.sequences.map_or(message.sequence, |(first, _)| first);
            self.sequences = Some((first, message.sequence));
        }
    }

    /// Notes a loss.
    pub fn gap(&mut self, loss: Loss) {
        self.gaps_count += 1;
        if self.gaps.len() < GAPS_MAX {
            self.gaps.push(loss);
        }
    }

    /// Messages that are passed over.
    pub fn leave_out(&mut self, more: LeftOut) {
        self.left_out.without_state += more.without_state;
        self.left_out.unknown += more.unknown;
    }

    /// Messages that were passed over so far.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Messages, states left out.
    pub fn total(&self) -> u64 {
        self.messages.values().sum()
    }

    /// Losses.
    pub fn gaps(&self) -> u64 {
        self.gaps_count
    }

    /// First and last number of the messages.
    pub fn sequences(&self) -> Option<(u64, u64)> {
        self.sequences
    }

    /// Number of the last message; 0 before the first.
    pub fn last(&self) -> u64 {
        self.sequences.map_or(0, |(_, last)| last)
    }

    /// Content of `NAME.json`.
    pub fn json(&self, origin: &Origin) -> Value {
        let gaps: Vec<Value> = self.gaps.iter().map(Loss::json).collect();
        let pair = |pair: Option<(u64, u64)>| pair.map(|(first, last)| json!([first, last]));
        json!({
            "bus": origin.bus,
            "journal": origin.journal,
            "positions": pair(origin.positions),
            "captures": origin.captures,
            "sequences": pair(self.sequences),
            "messages": self.messages,
            "messages_in_states": self.images,
            "messages_without_state": self.left_out.without_state,
            "messages_unknown": self.left_out.unknown,
            "gaps": self.gaps_count,
            "gaps_listed": gaps,
        })
    }
}

impl Loss {
    /// Packets that the gateway lost, as the message with this number says; a gap without numbers is of an unknown number.
    pub fn of_packets(gap: &Gap, sequence: u64) -> Loss {
        let count = gap.last.saturating_sub(gap.first).saturating_add(1);
        Loss {
            cause: Cause::Packets,
            first: gap.first,
            last: gap.last,
            // mutant: export: an unknown number of lost packets is one
            count: (gap.last > 0).then_some(count),
            after: sequence,
        }
    }

    /// Cells of the table of losses.
    pub fn row(&self) -> GapRow {
        GapRow {
            cause: self.cause as i64,
            first: self.first as i64,
            last: self.last as i64,
            count: self
                .count
                .and_then(|count| i64::try_from(count).ok())
                .unwrap_or(NULL),
        }
    }

    fn json(&self) -> Value {
        json!({
            "cause": CAUSES[self.cause as usize],
            "after": self.after,
            "first": self.first,
            "last": self.last,
            "count": self.count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::Validity;

    #[test]
    fn an_unknown_number_of_lost_packets_is_absent() {
        for (first, last, count) in [(0, 0, None), (7, 7, Some(1)), (1, 9, Some(9))] {
            let orders = Validity::Recovering;
            let loss = Loss::of_packets(
                &Gap {
                    first,
                    last,
                    orders,
                },
                3,
            );
            assert_eq!(loss.count, count, "{first} to {last}");
            assert_eq!(loss.row().count == NULL, count.is_none());
        }
    }
}
