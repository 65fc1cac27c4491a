//! Packets from one or several captures.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use crate::capture_order::CaptureOrder;
use crate::frame::{self, NotUdp};
use crate::pcap::{LinkType, Progress, Reader, Record};
use crate::{Error, Packet, PacketSource, Received, TimestampSource};

/// Lends the UDP packets of captures in capture order, line by line.
///
/// Packets to one destination (group and port) keep their file order, even if their time steps
/// back; their receive time then stands still. Packets to different destinations are merged by
/// capture time, within one file and across files; equal times keep the order of reading, that of
/// the first given file first. So both lines replay as they arrived. The merge looks ahead 1 ms or
/// 256 packets, whichever is less; larger disorder stays.
///
/// Frames that are not UDP over IPv4 are counted by reason and skipped. An error is returned after all packets before
/// it; the damaged file then counts as ended, and the next call continues with the others. The error of a truncated file
/// ([`Error::is_truncation`]) is returned after the packets of all files.
pub struct PcapSource<'a> {
    inputs: Vec<Input<'a>>,
    skipped: Skipped,
    order: CaptureOrder,
    /// Error to return after the packets read before it.
    error: Option<Error>,
    /// Errors to return after the last packet.
    truncations: VecDeque<Error>,
}

/// Counts of skipped frames, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// UDP over IPv6; market-data groups are IPv4.
    pub ipv6: u64,
    /// The unknown link layer that was met last.
    unknown_link: Option<LinkType>,
    not_udp: [u64; NotUdp::ALL.len()],
}

struct Input<'a> {
    reader: Reader<'a>,
    head: Head,
}

/// The next record of one file.
enum Head {
    /// Not read yet.
    Unread,
    /// In the reader's buffer, to be lent in its turn.
    At(Record),
    End,
}

impl PcapSource<'static> {
    /// Opens captures to merge; their order decides between equal times.
    ///
    /// # Errors
    /// One of the files cannot be opened or is not a capture.
    pub fn open(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Result<Self, Error> {
        let readers: Result<Vec<_>, _> = paths.into_iter().map(Reader::open).collect();
        Ok(Self::new(readers?))
    }
}

impl<'a> PcapSource<'a> {
    /// Merges open captures.
    pub fn new(readers: impl IntoIterator<Item = Reader<'a>>) -> Self {
        let inputs = readers.into_iter().map(|reader| Input {
            reader,
            head: Head::Unread,
        });
        Self {
            inputs: inputs.collect(),
            skipped: Skipped::default(),
            order: CaptureOrder::new(),
            error: None,
            truncations: VecDeque::new(),
        }
    }

    /// Frames skipped so far.
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// Read position of all files together, for a progress bar.
    pub fn progress(&self) -> Progress {
        let each = || self.inputs.iter().map(|input| input.reader.progress());
        Progress {
            consumed_bytes: each().map(|progress| progress.consumed_bytes).sum(),
            total_bytes: each().map(|progress| progress.total_bytes).sum(),
        }
    }

    /// Reads one frame into the merge. `false` if none is left.
    fn read(&mut self) -> Result<bool, Error> {
        let Some((input, record)) = self.earliest()? else {
            return Ok(false);
        };
        let frame = self.inputs[input].reader.frame(&record);
        match frame::locate(frame.link, frame.bytes) {
            Ok(located) => match (located.source, located.destination) {
                (SocketAddr::V4(source), SocketAddr::V4(destination)) => self.order.hold(&Packet {
                    receive_ns: frame.capture_ns,
                    timestamp: TimestampSource::Capture,
                    destination,
                    source,
                    payload: &frame.bytes[located.payload],
                }),
                _ => self.skipped.ipv6 += 1,
            },
            Err(reason) => {
                self.skipped.not_udp[reason as usize] += 1;
                if reason == NotUdp::Link {
                    self.skipped.unknown_link = Some(frame.link);
                }
            }
        }
        Ok(true)
    }

    /// Takes the earliest record of all files; each has its next one in its buffer.
    fn earliest(&mut self) -> Result<Option<(usize, Record)>, Error> {
        let mut earliest: Option<(usize, u64)> = None;
        for (index, input) in self.inputs.iter_mut().enumerate() {
            input.look()?;
            if let Head::At(record) = &input.head
                && earliest.is_none_or(|(_, capture_ns)| record.capture_ns < capture_ns)
            {
                earliest = Some((index, record.capture_ns));
            }
        }
        Ok(earliest.and_then(|(index, _)| Some((index, self.inputs[index].take()?))))
    }
}

impl PacketSource for PcapSource<'_> {
    /// The next packet in capture order, or [`Received::End`]; never [`Received::Nothing`].
    fn receive(&mut self) -> Result<Received<'_>, Error> {
        self.order.take_back();
        while self.error.is_none() && !self.order.is_due() {
            match self.read() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.is_truncation() => self.truncations.push_back(error),
                Err(error) => self.error = Some(error),
            }
        }
        match self.order.lend() {
            Some(packet) => Ok(Received::Packet(packet)),
            None => {
                let error = self.error.take().or_else(|| self.truncations.pop_front());
                error.map_or(Ok(Received::End), Err)
            }
        }
    }
}

impl Skipped {
    /// Frames skipped for this reason.
    pub fn not_udp(&self, reason: NotUdp) -> u64 {
        self.not_udp[reason as usize]
    }

    /// Reasons for skipped frames: the number of frames, their kind, and the remedy.
    pub fn reasons(&self) -> Vec<(u64, String)> {
        let text = |reason: NotUdp| {
            let link = self.unknown_link.filter(|_| reason == NotUdp::Link);
            let link = link.map_or(String::new(), |link| format!(" (link type {})", link.0));
            let remedy = reason.remedy();
            let remedy = remedy.map_or(String::new(), |remedy| format!("; {remedy}"));
            format!("{}{link}{remedy}", reason.describe())
        };
        let reasons = NotUdp::ALL
            .into_iter()
            .map(|reason| (self.not_udp(reason), text(reason)));
        let all = reasons.chain([(self.ipv6, "IPv6".to_owned())]);
        all.filter(|(frames, _)| *frames > 0).collect()
    }

    /// All skipped frames.
    pub fn total(&self) -> u64 {
        self.ipv6 + self.not_udp.iter().sum::<u64>()
    }
}

/// Skipped frames by reason, each with the remedy, for the end of a sentence; empty if no frame was skipped.
impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (frames, why) in self.reasons() {
            let plural = if frames == 1 { "" } else { "s" };
            write!(f, " ({frames} frame{plural} skipped: {why})")?;
        }
        Ok(())
    }
}

impl Input<'_> {
    /// Reads the next record into the buffer if it has none.
    fn look(&mut self) -> Result<(), Error> {
        if matches!(self.head, Head::Unread) {
            self.head = Head::End;
            if let Some(record) = self.reader.advance()? {
                self.head = Head::At(record);
            }
        }
        Ok(())
    }

    /// Takes the record; the buffer is unchanged until the next read.
    fn take(&mut self) -> Option<Record> {
        match std::mem::replace(&mut self.head, Head::Unread) {
            Head::At(record) => Some(record),
            Head::Unread | Head::End => None,
        }
    }
}
