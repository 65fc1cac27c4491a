//! A reader of DBN version 3, written from the format alone.

use std::collections::BTreeMap;
use std::path::Path;
use touchline_types::Price;

/// A file.
pub struct DbnFile {
    /// Symbols and their numbers.
    pub symbols: BTreeMap<String, u32>,
    pub records: Vec<Record>,
}

/// A record as bytes.
pub struct Record(Vec<u8>);

impl DbnFile {
    /// Reads a file that is not compressed.
    pub fn read(path: &Path) -> DbnFile {
        let bytes = std::fs::read(path).expect("the file");
        assert_eq!(&bytes[..4], b"DBN\x03");
        let end = 8 + number::<4>(&bytes, 4) as usize;
        assert_eq!(end % 8, 0, "records are aligned");
        let symbols = symbols(&bytes[..end]);
        let mut records = Vec::new();
        let mut rest = &bytes[end..];
        while let [words, ..] = rest {
            let (record, behind) = rest.split_at(usize::from(*words) * 4);
            records.push(Record(record.to_vec()));
            rest = behind;
        }
        DbnFile { symbols, records }
    }

    /// Last record of an instrument.
    pub fn last_of(&self, instrument: u32) -> Option<&Record> {
        let mut records = self.records.iter().rev();
        records.find(|record| record.instrument() == instrument)
    }
}

/// Symbols of the head, behind the fixed part.
fn symbols(head: &[u8]) -> BTreeMap<String, u32> {
    const CSTR: usize = 71;
    // Definition of the schema, then the symbols.
    let mut at = 8 + 100 + 4;
    let mut count = || {
        let count = number::<4>(head, at) as usize;
        at += 4;
        (count, at)
    };
    let (listed, from) = count();
    at = from + listed * CSTR;
    // None in part, none not found.
    at += 8;
    let text = |at: usize| {
        let text = head[at..at + CSTR].split(|byte| *byte == 0).next();
        String::from_utf8(text.expect("a part").to_vec()).expect("ASCII")
    };
    let mappings = number::<4>(head, at) as usize;
    assert_eq!(mappings, listed);
    at += 4;
    let mut symbols = BTreeMap::new();
    for _ in 0..mappings {
        let symbol = text(at);
        assert_eq!(number::<4>(head, at + CSTR), 1, "one interval");
        let id = text(at + CSTR + 4 + 8);
        symbols.insert(symbol, id.parse().expect("a number"));
        at += CSTR + 4 + 8 + CSTR;
    }
    symbols
}

impl Record {
    fn instrument(&self) -> u32 {
        number::<4>(&self.0, 4) as u32
    }

    /// Price, size and orders of the levels of a side, 0 bids.
    pub fn levels(&self, side: usize) -> Vec<(String, u64, u64)> {
        let levels = self.0[48..].chunks_exact(32);
        let levels = levels.map(|level| {
            let price = number::<8>(level, 8 * side) as i64;
            let word = |at| number::<4>(level, at + 4 * side);
            (Price(price), word(16), word(24))
        });
        let known = levels.take_while(|(price, ..)| !price.is_null());
        known
            .map(|(price, size, orders)| (price.to_string(), size, orders))
            .collect()
    }
}

/// A number of `BYTES` bytes, little-endian.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number[..BYTES].copy_from_slice(&bytes[at..at + BYTES]);
    u64::from_le_bytes(number)
}
