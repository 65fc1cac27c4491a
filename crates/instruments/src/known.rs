//! Definitions that were known before: of a file, for a capture or a tape that has none.

use std::collections::HashMap;
use touchline_types::{Code, Depth, InstrumentDefinition, ReferenceData};

/// Definition of an instrument that a file states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownDefinition {
    /// What the file states; `instrument` and `depth` have no meaning.
    pub definition: InstrumentDefinition,
    /// Levels of the direct book, [`Depth::ALL`] for every level; `None` if the file states none.
    pub direct_depth: Option<u16>,
    /// Levels of the implied book; `None` if the file states none.
    pub implied_depth: Option<u8>,
}

impl KnownDefinition {
    /// The definition of an instrument that has been without one: it keeps its index and venue, and the depths that the file does not state.
    pub fn of(&self, undefined: &InstrumentDefinition) -> InstrumentDefinition {
        InstrumentDefinition {
            instrument: undefined.instrument,
            security_id: undefined.security_id,
            depth: Depth {
                direct: self.direct_depth.unwrap_or(undefined.depth.direct),
                implied: self.implied_depth.unwrap_or(undefined.depth.implied),
            },
            defined: true,
            reference: ReferenceData {
                venue: undefined.reference.venue,
                ..self.definition.reference
            },
            ..self.definition
        }
    }
}

/// Definitions of files, in the order of the files, found by venue and security id.
#[derive(Clone, Debug, Default)]
pub struct KnownDefinitions {
    rows: Vec<KnownDefinition>,
    places: HashMap<(Code, i64), usize>,
}

impl KnownDefinitions {
    /// Adds a definition. A definition of the same venue and security id that is there already is replaced in its place; then `false`.
    pub fn add(&mut self, known: KnownDefinition) -> bool {
        let definition = &known.definition;
        let key = (definition.reference.venue, definition.security_id);
        match self.places.get(&key) {
            Some(place) => {
                self.rows[*place] = known;
                false
            }
            None => {
                self.places.insert(key, self.rows.len());
                self.rows.push(known);
                true
            }
        }
    }

    /// The definition of an instrument; one that states no venue is for any.
    pub fn find(&self, venue: Code, security_id: i64) -> Option<&KnownDefinition> {
        let of = |venue| self.places.get(&(venue, security_id));
        let place = of(venue).or_else(|| of(Code::EMPTY))?;
        self.rows.get(*place)
    }

    /// All of a venue, and those that state no venue, in the order of the files.
    pub fn of_venue(&self, venue: Code) -> impl Iterator<Item = &KnownDefinition> {
        self.rows.iter().filter(move |known| {
            let stated = known.definition.reference.venue;
            stated == venue || stated.is_empty()
        })
    }

    /// Number of definitions.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Instrument, Symbol};

    fn known(venue: &[u8], security_id: i64, symbol: &[u8]) -> KnownDefinition {
        let depth = Depth {
            direct: 0,
            implied: 0,
        };
        let mut definition = InstrumentDefinition::unknown(Instrument(0), security_id, depth);
        definition.symbol = Symbol::new(symbol);
        definition.reference.venue = Code::lossy(venue);
        KnownDefinition {
            definition,
            direct_depth: None,
            implied_depth: Some(3),
        }
    }

    /// The venue's own definition is found before one for any venue, and an instrument keeps what the file does not state.
    #[test]
    fn a_definition_is_found_by_venue_and_security_id() {
        let mut all = KnownDefinitions::default();
        assert!(all.add(known(b"", 7, b"ANY")));
        assert!(all.add(known(b"cme", 7, b"OLD")));
        assert!(
            !all.add(known(b"cme", 7, b"ESU4")),
            "it replaces the one before"
        );
        let symbol = |venue: &[u8]| {
            let found = all.find(Code::lossy(venue), 7);
            found.map(|known| known.definition.symbol.as_str().to_owned())
        };
        assert_eq!(symbol(b"cme").as_deref(), Some("ESU4"));
        assert_eq!(symbol(b"other").as_deref(), Some("ANY"));
        assert_eq!(all.find(Code::lossy(b"cme"), 8), None);
        assert_eq!(
            (all.len(), all.of_venue(Code::lossy(b"cme")).count()),
            (2, 2)
        );
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        let mut undefined = InstrumentDefinition::unknown(Instrument(4), 7, depth);
        undefined.reference.venue = Code::lossy(b"cme");
        let defined = all.find(Code::lossy(b"cme"), 7).expect("it is there");
        let defined = defined.of(&undefined);
        assert_eq!(defined.instrument, Instrument(4));
        assert_eq!(defined.reference.venue.as_str(), "cme");
        assert_eq!((defined.depth.direct, defined.depth.implied), (10, 3));
        assert!(defined.defined);
    }
}
