//! Reader of captures of any supported format.

use std::io::{self, Read};
use std::path::Path;

use super::classic::Classic;
use super::error::{Error, ErrorKind, Fault};
use super::input::Input;
use super::pcapng::Pcapng;
use super::record::Record;
use super::stream::Stream;
use super::unpack::{Compression, Unpacked};
use super::{LinkType, classic, pcapng};
use crate::input;

/// Reads the packets of one capture in the order of the file.
///
/// Packets are not allocated: frames are lent from a reusable buffer.
///
/// ```no_run
/// # fn main() -> Result<(), touchline_net::pcap::Error> {
/// let mut reader = touchline_net::pcap::Reader::open("session.pcap.gz")?;
/// while let Some(frame) = reader.next()? {
///     println!("{} {} bytes", frame.capture_ns, frame.bytes.len());
/// }
/// # Ok(())
/// # }
/// ```
pub struct Reader<'a> {
    name: String,
    stream: Stream<'a>,
    format: Format,
    packets: u64,
    total_bytes: Option<u64>,
    /// Set after the end or an error.
    done: bool,
}

/// One captured frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Capture time, nanoseconds since 1970-01-01 UTC. A pcapng Simple Packet Block has no time and
    /// takes that of the previous packet.
    pub capture_ns: u64,
    /// Header at the start of `bytes`.
    pub link: LinkType,
    /// Captured bytes; shorter than the frame if the capture's snap length truncated it.
    pub bytes: &'a [u8],
    /// Length of the frame on the wire, bytes, as stated by the file.
    pub original_len: u32,
}

/// Read position of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file read so far, before decompression.
    pub consumed_bytes: u64,
    /// Size of the file in bytes; `None` for a pipe or other stream.
    pub total_bytes: Option<u64>,
}

enum Format {
    Classic(Classic),
    Pcapng(Pcapng),
    /// The file ends before its first record, in the middle of its header or of its compressed data.
    Truncated(Option<Fault>),
}

impl Reader<'static> {
    /// Opens a capture file of any supported form.
    ///
    /// # Errors
    /// The file cannot be read, or does not start as a capture. One that ends inside its header is truncated: an error of the
    /// first read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let opened = input::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) =
            opened.map_err(|error| Error::new(&name, 0, Fault::io(0, "cannot open it", &error)))?;
        let total_bytes = metadata.is_file().then_some(metadata.len());
        Self::start(name, file, total_bytes)
    }
}

impl<'a> Reader<'a> {
    /// Reads a capture from any input. It needs no buffering of its own.
    ///
    /// # Errors
    /// The input cannot be read, or does not start as a capture.
    pub fn new(input: impl Read + Send + 'a) -> Result<Self, Error> {
        Self::start("<stream>".to_owned(), input, None)
    }

    /// [`Reader::new`] with a name of the input for errors.
    ///
    /// # Errors
    /// As [`Reader::new`].
    pub fn named(name: &str, input: impl Read + Send + 'a) -> Result<Self, Error> {
        Self::start(name.to_owned(), input, None)
    }

    /// Lends the next frame; `None` at the end of the capture.
    ///
    /// # Errors
    /// The file is damaged here. Afterwards the reader is at its end.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator cannot lend its items"
    )]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Error> {
        Ok(self.advance()?.map(|record| self.frame(&record)))
    }

    /// Number of packets read so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Read position, for a progress bar.
    pub fn progress(&self) -> Progress {
        Progress {
            consumed_bytes: self.stream.consumed_bytes(),
            total_bytes: self.total_bytes,
        }
    }

    /// Reads the next record and leaves its bytes in the buffer.
    pub(crate) fn advance(&mut self) -> Result<Option<Record>, Error> {
        if self.done {
            return Ok(None);
        }
        let record = match &mut self.format {
            Format::Classic(classic) => classic.next(&mut self.stream),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.stream),
            Format::Truncated(fault) => fault.take().map_or(Ok(None), Err),
        };
        match record {
            Ok(Some(_)) => self.packets += 1,
            Ok(None) | Err(_) => self.done = true,
        }
        record.map_err(|fault| Error::new(&self.name, self.packets, fault))
    }

    /// The frame of the record that [`Self::advance`] returned last.
    pub(crate) fn frame(&self, record: &Record) -> Frame<'_> {
        Frame {
            capture_ns: record.capture_ns,
            link: record.link,
            bytes: self.stream.held(record.held.clone()),
            original_len: record.original_len,
        }
    }

    fn start(
        name: String,
        input: impl Read + Send + 'a,
        total_bytes: Option<u64>,
    ) -> Result<Self, Error> {
        let started = Stream::new(input).and_then(|mut stream| {
            let format = Format::detect(&mut stream).or_else(|fault| match fault.kind {
                ErrorKind::Truncated => Ok(Format::Truncated(Some(fault))),
                _ => Err(fault),
            })?;
            Ok((stream, format))
        });
        match started {
            Ok((stream, format)) => Ok(Self {
                name,
                stream,
                format,
                packets: 0,
                total_bytes,
                done: false,
            }),
            Err(fault) => Err(Error::new(&name, 0, fault)),
        }
    }
}

/// Whether a file that starts like this is a capture, or packed as captures may be.
pub fn is_capture(start: &[u8]) -> bool {
    let magic = &start[..start.len().min(4)];
    let is_plain = |magic: [u8; 4]| magic == pcapng::SECTION_MAGIC || classic::is_magic(magic);
    Compression::of(magic).is_some() || magic.try_into().is_ok_and(is_plain)
}

/// The bytes of a file that may be packed as captures may be.
///
/// # Errors
/// The file cannot be read.
pub fn unpacked(file: impl Read + Send + 'static) -> io::Result<impl Read + Send> {
    Unpacked::new(Input::new(file))
}

impl Format {
    fn detect(stream: &mut Stream<'_>) -> Result<Self, Fault> {
        let magic: [u8; 4] = match stream.peek(4)? {
            [] => return Err(not_capture("it is empty")),
            start => match start.try_into() {
                Ok(magic) => magic,
                Err(_) => return Err(not_capture("it is shorter than any capture's header")),
            },
        };
        if magic == pcapng::SECTION_MAGIC {
            return Pcapng::open(stream).map(Self::Pcapng);
        }
        if classic::is_magic(magic) {
            return Classic::open(stream).map(Self::Classic);
        }
        Err(unknown_magic(magic))
    }
}

fn not_capture(what: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault {
        kind: ErrorKind::NotCapture,
        offset: 0,
        what: what.into(),
        fix: "give a pcap or pcapng file, plain or packed with gzip or zstd",
    }
}

fn unknown_magic(magic: [u8; 4]) -> Fault {
    let packed_by = match magic {
        [b'B', b'Z', b'h', _] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X'] => Some("xz"),
        [0x04, 0x22, 0x4d, 0x18] => Some("lz4"),
        [b'P', b'K', 3, 4] => Some("zip"),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd] => Some("a second compression"),
        _ => None,
    };
    match packed_by {
        Some(packer) => Fault::unsupported(
            0,
            format!("it is packed with {packer}"),
            "unpack it first, or pack it with gzip or zstd instead",
        ),
        None => not_capture(format!(
            "it starts with {magic:02x?}, which is no capture's"
        )),
    }
}
