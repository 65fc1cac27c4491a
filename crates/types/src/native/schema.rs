//! Constants of the schema.

use crate::Instrument;

/// Id of the schema: the letters `TL` in a dump.
pub const SCHEMA_ID: u16 = u16::from_le_bytes(*b"TL");

/// Version of the schema that is written. A newer one has longer blocks, more groups or more
/// templates, and its known parts are read.
pub const SCHEMA_VERSION: u16 = 3;

/// Minimum for the maximum length: every block fits, with one entry of a group, or all legs of a definition.
pub const PART_BYTES_MIN: usize = 512;

/// Maximum length of a message: the largest 16-bit length in whole words.
pub const PART_BYTES_MAX: usize = 0xFFF8;

/// Null of the instrument on the wire.
pub(super) const NO_INSTRUMENT: Instrument = Instrument(u32::MAX);

/// Null of an optional instrument identifier.
pub(super) const NO_SECURITY_ID: i64 = i64::MAX;
