//! What a stream of a tape has: the messages of one publication of a bus.

use std::fmt;
use touchline_journal::records::Stream;
use touchline_types::native::{SCHEMA_ID, SCHEMA_VERSION};

/// Content of a stream with native messages.
const NATIVE: u16 = 1;

/// A publication of a bus, from the start of its publisher on: its instruments have the same numbers throughout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// Name of the bus.
    pub bus: String,
    /// Number of the publisher on this bus, from 1.
    pub generation: u64,
    /// Instruments that the bus has room for.
    pub instruments_max: usize,
    /// Orders that the bus has room for; 0 without order books.
    pub orders_max: usize,
}

impl Publication {
    /// The record that describes the stream.
    pub(crate) fn stream(&self) -> Stream {
        Stream {
            content: NATIVE,
            schema: SCHEMA_ID,
            version: SCHEMA_VERSION,
            name: self.to_string(),
        }
    }

    /// The publication of a stream; `None` if the stream has other content.
    pub fn of(stream: &Stream) -> Option<Publication> {
        if stream.content != NATIVE || stream.schema != SCHEMA_ID {
            return None;
        }
        let (bus, rest) = stream.name.split_once(' ')?;
        let mut publication = Publication {
            bus: bus.to_owned(),
            generation: 0,
            instruments_max: 0,
            orders_max: 0,
        };
        // Words that a later version adds are passed over.
        for word in rest.split(' ') {
            let (key, value) = word.split_once('=')?;
            let number = || value.parse::<u64>().ok();
            match key {
                "generation" => publication.generation = number()?,
                "instruments_max" => publication.instruments_max = number()? as usize,
                "orders_max" => publication.orders_max = number()? as usize,
                _ => {}
            }
        }
        Some(publication)
    }
}

impl fmt::Display for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Publication {
            bus,
            generation,
            instruments_max,
            orders_max,
        } = self;
        write!(
            f,
            "{bus} generation={generation} instruments_max={instruments_max} orders_max={orders_max}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_is_read_as_written() {
        let publication = Publication {
            bus: "cme-340".to_owned(),
            generation: 7,
            instruments_max: 5_000,
            orders_max: 1 << 20,
        };
        let stream = publication.stream();
        assert_eq!(Publication::of(&stream), Some(publication.clone()));
        let later = Stream {
            name: format!("{} colour=red", stream.name),
            ..stream.clone()
        };
        assert_eq!(Publication::of(&later), Some(publication));
        let orders = Stream {
            content: 4,
            ..stream
        };
        assert_eq!(Publication::of(&orders), None);
    }
}
