//! Start of the search: nearly valid inputs, from real captures if they are present.

use std::{
    env, fs,
    path::{Path, PathBuf},
};
use touchline_net::{frame, pcap::Reader};

/// The environment names the folder of real captures.
pub const CAPTURES: &str = "TOUCHLINE_CAPTURES";

/// Payloads of CME packets from every capture at hand, at most `max` spread evenly over each file.
pub fn mdp3_packets(max: usize) -> Vec<Vec<u8>> {
    let captures = files("cme-mdp3", "pcap");
    captures
        .iter()
        .flat_map(|path| spread(payloads(path), max))
        .collect()
}

/// The first `bytes_max` bytes of each file with that extension in a folder of the captures.
pub fn heads(folder: &str, extension: &str, bytes_max: usize) -> Vec<Vec<u8>> {
    let head = |path: &PathBuf| {
        let mut bytes = fs::read(path).unwrap_or_default();
        bytes.truncate(bytes_max);
        bytes
    };
    files(folder, extension).iter().map(head).collect()
}

/// Files with that extension, by name; none when there are no captures.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let Some(root) = env::var_os(CAPTURES) else {
        return Vec::new();
    };
    let entries = fs::read_dir(PathBuf::from(root).join(folder))
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

fn payloads(path: &Path) -> Vec<Vec<u8>> {
    let mut payloads = Vec::new();
    let Ok(mut reader) = Reader::open(path) else {
        return payloads;
    };
    while let Ok(Some(record)) = reader.next() {
        if let Ok(datagram) = frame::datagram(record.link, record.bytes) {
            payloads.push(datagram.payload.to_vec());
        }
    }
    payloads
}

fn spread(items: Vec<Vec<u8>>, max: usize) -> Vec<Vec<u8>> {
    let step = items.len().div_ceil(max).max(1);
    items.into_iter().step_by(step).collect()
}
