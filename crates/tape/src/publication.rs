//! What a stream of a tape has: the messages of one publication of a bus.

use std::fmt;
use touchline_journal::records::Stream;
use touchline_transport::market::Subscriber;
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
    /// Start of the host of which it is: the first digits of the id of its boot; 0 if it is unknown.
    pub boot: u64,
    /// Number of the file of the ring, of its inode and the time at which it was made; 0 if it is unknown.
    pub ring: u64,
}

/// Place in a stream at which it is described.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StreamPlace {
    /// Number of the last message before it.
    pub sequence: u64,
    /// Time of the last record before it, ns since the Unix epoch.
    pub at_ns: u64,
}

/// Largest numbers that a reader makes room for.
const INSTRUMENTS_MAX: u64 = 1 << 20;
const ORDERS_MAX: u64 = 1 << 24;

impl Publication {
    /// The publication that a subscriber reads now.
    pub fn read_by(subscriber: &Subscriber) -> Publication {
        Publication {
            bus: subscriber.bus().to_owned(),
            generation: subscriber.generation(),
            instruments_max: subscriber.instruments_max(),
            orders_max: subscriber.orders_max(),
            boot: boot(),
            ring: subscriber.ring_file().unwrap_or(0),
        }
    }

    /// The record that describes the stream at a place of it.
    pub(crate) fn stream(&self, place: StreamPlace) -> Stream {
        let StreamPlace { sequence, at_ns } = place;
        Stream {
            content: NATIVE,
            schema: SCHEMA_ID,
            version: SCHEMA_VERSION,
            name: format!("{self} sequence={sequence} at={at_ns}"),
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
            boot: 0,
            ring: 0,
        };
        // Words that a later version adds are passed over.
        for word in rest.split(' ') {
            let (key, value) = word.split_once('=')?;
            let number = || value.parse::<u64>().ok();
            match key {
                "generation" => publication.generation = number()?,
                "ring" => publication.ring = number()?,
                "instruments_max" => {
                    publication.instruments_max = at_most(number()?, INSTRUMENTS_MAX)?;
                }
                "orders_max" => publication.orders_max = at_most(number()?, ORDERS_MAX)?,
                "boot" => publication.boot = u64::from_str_radix(value, 16).ok()?,
                _ => {}
            }
        }
        Some(publication)
    }

    /// Whether it is the same publication, whose messages go on: numbers of instruments and messages are of both. A bus that was removed
    /// and made again counts its publishers from 1 again, and is known by its file.
    pub fn is_same(&self, before: &Publication) -> bool {
        // mutant: tape: a bus that was made again is the one before
        self == before && self.boot != 0 && self.ring != 0
    }
}

impl StreamPlace {
    /// The place of a description.
    pub(crate) fn of(stream: &Stream) -> StreamPlace {
        let number = |key: &str| {
            let mut words = stream.name.split(' ');
            let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            value.and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        StreamPlace {
            sequence: number("sequence"),
            at_ns: number("at"),
        }
    }
}

/// First digits of the id of this boot; 0 if the system has none.
fn boot() -> u64 {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let digits = id.ok().and_then(|id| id.get(..8).map(str::to_owned));
    let number = digits.and_then(|digits| u64::from_str_radix(&digits, 16).ok());
    number.unwrap_or(0)
}

fn at_most(number: u64, most: u64) -> Option<usize> {
    (number <= most).then_some(number as usize)
}

impl fmt::Display for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Publication {
            bus,
            generation,
            instruments_max,
            orders_max,
            boot,
            ring,
        } = self;
        write!(
            f,
            "{bus} generation={generation} instruments_max={instruments_max} orders_max={orders_max} boot={boot:x} ring={ring}"
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
            boot: 0xabcd_1234,
            ring: 5,
        };
        let place = StreamPlace {
            sequence: 77,
            at_ns: 1_700_000_000_000_000_000,
        };
        let stream = publication.stream(place);
        assert_eq!(StreamPlace::of(&stream), place);
        assert_eq!(Publication::of(&stream), Some(publication.clone()));
        let later = Stream {
            name: format!("{} colour=red", stream.name),
            ..stream.clone()
        };
        assert_eq!(Publication::of(&later), Some(publication));
        let hostile = Stream {
            name: stream.name.replace("5000", "999999999999"),
            ..stream.clone()
        };
        assert_eq!(Publication::of(&hostile), None);
        let orders = Stream {
            content: 4,
            ..stream
        };
        assert_eq!(Publication::of(&orders), None);
    }
}
