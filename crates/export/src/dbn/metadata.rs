//! Head of a file: dataset, schema, times, and which number is which symbol.

use super::layout::UNDEFINED_TIME;
use super::schema::Schema;

/// Bytes of a symbol.
const SYMBOL_BYTES: usize = 71;
/// Bytes of the dataset.
const DATASET_BYTES: usize = 16;
const RESERVED_BYTES: usize = 53;
/// Symbols of records: as the venue writes them.
const RAW_SYMBOL: u8 = 1;
/// Numbers of records.
const INSTRUMENT_ID: u8 = 0;

/// A name of the dataset in at most 15 characters of ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset(String);

impl Dataset {
    /// Checks a name.
    ///
    /// # Errors
    /// It is empty, too long, or has other characters.
    pub fn new(name: &str) -> Result<Dataset, String> {
        let fits = !name.is_empty() && name.len() < DATASET_BYTES;
        match fits && name.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Dataset(name.to_owned())),
            false => Err(format!(
                "{name:?}: a dataset of DBN has 1 to {} characters of ASCII without spaces",
                DATASET_BYTES - 1
            )),
        }
    }
}

/// Head of a file.
#[derive(Clone, Debug)]
pub struct Metadata<'a> {
    /// Name of the dataset.
    pub dataset: &'a Dataset,
    /// Schema.
    pub schema: Schema,
    /// First and last receive time; `None` without records.
    pub span_ns: Option<(u64, u64)>,
    /// Symbols and their numbers.
    pub symbols: Vec<(String, u32)>,
}

impl Metadata<'_> {
    /// The head as bytes: a multiple of 8.
    pub fn bytes(&self) -> Vec<u8> {
        let (start, end) = match self.span_ns {
            Some((first, last)) => (first, last.saturating_add(1)),
            None => (0, UNDEFINED_TIME),
        };
        let mut bytes = b"DBN\x03\0\0\0\0".to_vec();
        text(&mut bytes, &self.dataset.0, DATASET_BYTES);
        bytes.extend(self.schema.number().to_le_bytes());
        // No limit of the number of records.
        for number in [start, end, 0] {
            bytes.extend(number.to_le_bytes());
        }
        // No sending times of a server.
        bytes.extend([RAW_SYMBOL, INSTRUMENT_ID, 0]);
        bytes.extend((SYMBOL_BYTES as u16).to_le_bytes());
        bytes.resize(bytes.len() + RESERVED_BYTES, 0);
        // No definition of the schema.
        count(&mut bytes, 0);
        count(&mut bytes, self.symbols.len());
        for (symbol, _) in &self.symbols {
            text(&mut bytes, symbol, SYMBOL_BYTES);
        }
        // No symbol was found in part, or not at all.
        count(&mut bytes, 0);
        count(&mut bytes, 0);
        count(&mut bytes, self.symbols.len());
        for (symbol, id) in &self.symbols {
            text(&mut bytes, symbol, SYMBOL_BYTES);
            count(&mut bytes, 1);
            let (from, until) = days(start, end);
            bytes.extend(from.to_le_bytes());
            bytes.extend(until.to_le_bytes());
            text(&mut bytes, &id.to_string(), SYMBOL_BYTES);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let length = (bytes.len() - 8) as u32;
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        bytes
    }
}

/// The day of the start, and the day behind that of the end, as `YYYYMMDD`.
fn days(start_ns: u64, end_ns: u64) -> (u32, u32) {
    const DAY_NS: u64 = 86_400 * 1_000_000_000;
    let end_ns = match end_ns {
        UNDEFINED_TIME => start_ns,
        end => end.saturating_sub(1),
    };
    (
        crate::day::number(start_ns),
        crate::day::number(end_ns.saturating_add(DAY_NS)),
    )
}

fn count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend((count as u32).to_le_bytes());
}

fn text(bytes: &mut Vec<u8>, text: &str, length: usize) {
    let text = &text.as_bytes()[..text.len().min(length - 1)];
    bytes.extend_from_slice(text);
    bytes.resize(bytes.len() + length - text.len(), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_has_at_most_15_characters() {
        assert!(Dataset::new("TOUCHLINE.LOCAL").is_ok());
        for name in ["", "TOUCHLINE.LOCALE", "a b", "é"] {
            assert!(Dataset::new(name).is_err(), "{name}");
        }
    }
}
