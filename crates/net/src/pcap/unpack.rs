//! The bytes of a capture after decompression: gzip members and Zstandard frames, one after the other.

use std::io::{self, ErrorKind, Read};

use flate2::bufread::GzDecoder;

use super::error::Fault;
use super::input::Input;

/// Base-2 logarithm of the largest Zstandard window: 32 MiB, four times what level 19 uses.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

/// Bytes by which a compression is known.
const MAGIC_BYTES: usize = 4;

/// A file, unpacked. The first bytes of the file and those behind each member determine the compression.
pub(super) enum Unpacked<'a> {
    Plain(Input<'a>),
    Gzip(GzDecoder<Input<'a>>),
    Zstd(zstd::stream::read::Decoder<'static, Input<'a>>),
    /// Between two members, and after an error.
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

impl<'a> Unpacked<'a> {
    pub(super) fn new(mut input: Input<'a>) -> io::Result<Self> {
        match Compression::of(input.peek::<MAGIC_BYTES>()?) {
            Some(compression) => Self::member(compression, input),
            None => Ok(Self::Plain(input)),
        }
    }

    /// The compression's name for errors; `None` without one.
    pub(super) fn compression(&self) -> Option<&'static str> {
        match self {
            Self::Gzip(_) => Some("gzip"),
            Self::Zstd(_) => Some("Zstandard"),
            Self::Plain(_) | Self::Nothing => None,
        }
    }

    /// Bytes read from the file so far.
    pub(super) fn read_bytes(&self) -> u64 {
        match self {
            Self::Plain(input) => input.read_bytes(),
            Self::Gzip(decoder) => decoder.get_ref().read_bytes(),
            Self::Zstd(decoder) => decoder.get_ref().read_bytes(),
            Self::Nothing => 0,
        }
    }

    /// After the last byte: refuses bytes behind compressed data, except zeros, which fill the last block of a tape or of
    /// a copy by `dd`.
    pub(super) fn check_end(&mut self, offset: u64) -> Result<(), Fault> {
        let compression = self.compression();
        let (Some(input), Some(compression)) = (self.input(), compression) else {
            return Ok(());
        };
        match input.ends_in_zeros() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Fault::malformed(
                offset,
                format!(
                    "its {compression} data is followed by bytes that are neither {compression} data nor zeros"
                ),
            )),
            Err(error) => Err(Fault::io(offset, "cannot read it", &error)),
        }
    }

    fn member(compression: Compression, input: Input<'a>) -> io::Result<Self> {
        Ok(match compression {
            Compression::Gzip => Self::Gzip(GzDecoder::new(input)),
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(input)?;
                let mut decoder = decoder.single_frame();
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Self::Zstd(decoder)
            }
        })
    }

    /// Starts the member behind the one that has ended, if there is one.
    fn next_member(&mut self) -> io::Result<bool> {
        let Some(input) = self.input() else {
            return Ok(false);
        };
        let start = input.peek::<MAGIC_BYTES>()?;
        let Some(compression) = Compression::of(start) else {
            return match Compression::is_cut(start) {
                true => Err(ErrorKind::UnexpectedEof.into()),
                false => Ok(false),
            };
        };
        let input = match std::mem::replace(self, Self::Nothing) {
            Self::Plain(input) => input,
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.finish(),
            Self::Nothing => return Ok(false),
        };
        *self = Self::member(compression, input)?;
        Ok(true)
    }

    fn input(&mut self) -> Option<&mut Input<'a>> {
        match self {
            Self::Plain(input) => Some(input),
            Self::Gzip(decoder) => Some(decoder.get_mut()),
            Self::Zstd(decoder) => Some(decoder.get_mut()),
            Self::Nothing => None,
        }
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Plain(input) => return input.read(buffer),
                Self::Gzip(decoder) => decoder.read(buffer)?,
                Self::Zstd(decoder) => decoder.read(buffer)?,
                Self::Nothing => return Ok(0),
            };
            if read > 0 || !self.next_member()? {
                return Ok(read);
            }
        }
    }
}

impl Compression {
    /// The compression of data that starts like this: RFC 1952, section 2.3.1; RFC 8878, section 3.1, skippable frames
    /// included.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        match *start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Whether a file that ends like this is cut inside these bytes.
    fn is_cut(end: &[u8]) -> bool {
        matches!(
            *end,
            [0x1f | 0x28 | 0x50..=0x5f]
                | [0x28, 0xb5]
                | [0x28, 0xb5, 0x2f]
                | [0x50..=0x5f, 0x2a]
                | [0x50..=0x5f, 0x2a, 0x4d]
        )
    }
}
