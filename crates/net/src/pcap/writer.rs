//! Writes captures: classic pcap with nanoseconds, Ethernet, little-endian.

use std::io::{self, Write};

use super::classic::{FILE_HEADER_LEN, MAGIC_NANOSECONDS, RECORD_HEADER_LEN};
use super::{LinkType, PACKET_BYTES_MAX};

/// Writer of Ethernet frames as a classic pcap file with nanosecond time, which every tool reads.
///
/// It writes twice per frame: wrap the output in a `BufWriter` or a compressor.
pub struct Writer<W> {
    output: W,
    packets: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a capture by writing the file header.
    ///
    /// # Errors
    /// The output's own.
    pub fn new(mut output: W) -> io::Result<Self> {
        let mut header = [0; FILE_HEADER_LEN];
        header[0..4].copy_from_slice(&MAGIC_NANOSECONDS.to_le_bytes());
        header[4..6].copy_from_slice(&2u16.to_le_bytes());
        header[6..8].copy_from_slice(&4u16.to_le_bytes());
        header[16..20].copy_from_slice(&(PACKET_BYTES_MAX as u32).to_le_bytes());
        header[20..24].copy_from_slice(&u32::from(LinkType::ETHERNET.0).to_le_bytes());
        output.write_all(&header)?;
        Ok(Self { output, packets: 0 })
    }

    /// Appends a complete frame captured at `capture_ns`, nanoseconds since 1970-01-01 UTC.
    ///
    /// # Errors
    /// The output's own; `InvalidInput` for a frame of more than [`PACKET_BYTES_MAX`] bytes or a time
    /// after 2106-02-07, which the format cannot hold.
    pub fn write(&mut self, capture_ns: u64, frame: &[u8]) -> io::Result<()> {
        let invalid = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
        if frame.len() > PACKET_BYTES_MAX {
            return Err(invalid(
                "a frame of more than 256 KiB cannot be written to a capture",
            ));
        }
        let seconds = u32::try_from(capture_ns / 1_000_000_000)
            .map_err(|_| invalid("a pcap file cannot hold a time after 2106-02-07"))?;
        let nanoseconds = (capture_ns % 1_000_000_000) as u32;
        let len = (frame.len() as u32).to_le_bytes();
        let mut header = [0; RECORD_HEADER_LEN];
        header[0..4].copy_from_slice(&seconds.to_le_bytes());
        header[4..8].copy_from_slice(&nanoseconds.to_le_bytes());
        header[8..12].copy_from_slice(&len);
        header[12..16].copy_from_slice(&len);
        self.output.write_all(&header)?;
        self.output.write_all(frame)?;
        self.packets += 1;
        Ok(())
    }

    /// Number of frames written.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// The output's own; dropping the writer would hide it.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }
}
