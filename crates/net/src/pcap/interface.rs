//! The Interface Description Block of pcapng: link type, snap length and time resolution.

use super::LinkType;
use super::byte_order::ByteOrder;
use super::error::Fault;

/// Option codes of section 4.2.
pub(super) const END_OF_OPTIONS: u16 = 0;
pub(super) const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

/// One interface of a section.
pub(super) struct Interface {
    pub(super) link: LinkType,
    /// Most bytes of a packet that are captured; 0 for no limit.
    pub(super) snap_len: u32,
    tick: Tick,
    /// Seconds added to each timestamp.
    offset_s: i64,
}

/// Unit of timestamps.
#[derive(Clone, Copy)]
enum Tick {
    /// This many nanoseconds.
    Nanoseconds(u64),
    /// One of this many parts of a nanosecond.
    PartOfNanosecond(u64),
    /// 2^-n seconds.
    PowerOfTwo(u32),
}

impl Interface {
    /// Reads the body of the block that starts at `offset`.
    pub(super) fn read(body: &[u8], order: ByteOrder, offset: u64) -> Result<Self, Fault> {
        let Some((fields, mut options)) = body.split_at_checked(8) else {
            return Err(Fault::malformed(
                offset,
                "an interface is too short for its fields",
            ));
        };
        let mut interface = Self {
            link: LinkType(order.u16(fields, 0)),
            snap_len: order.u32(fields, 4),
            tick: Tick::Nanoseconds(1000),
            offset_s: 0,
        };
        while let Some((head, rest)) = options.split_at_checked(4) {
            let (code, len) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
            if code == END_OF_OPTIONS {
                break;
            }
            let Some((padded, next)) = rest.split_at_checked(len.next_multiple_of(4)) else {
                return Err(Fault::malformed(
                    offset,
                    "an interface's option runs over its block",
                ));
            };
            interface.set(code, &padded[..len], order, offset)?;
            options = next;
        }
        Ok(interface)
    }

    /// A timestamp of this interface in nanoseconds since 1970; `None` if it is not representable.
    pub(super) fn nanoseconds(&self, ticks: u64) -> Option<u64> {
        let since_offset = match self.tick {
            Tick::Nanoseconds(1) if self.offset_s == 0 => return Some(ticks),
            Tick::Nanoseconds(each) => u128::from(ticks) * u128::from(each),
            Tick::PartOfNanosecond(parts) => u128::from(ticks / parts),
            Tick::PowerOfTwo(power) => (u128::from(ticks) * 1_000_000_000) >> power,
        };
        let offset_ns = i128::from(self.offset_s) * 1_000_000_000;
        // Both summands stay below 2^100, so the sum cannot overflow.
        u64::try_from(since_offset as i128 + offset_ns).ok()
    }

    fn set(&mut self, code: u16, value: &[u8], order: ByteOrder, offset: u64) -> Result<(), Fault> {
        match (code, value.len()) {
            (IF_TSRESOL, 1) => {
                self.tick = Tick::from_resolution(value[0]).ok_or_else(|| {
                    Fault::unsupported(
                        offset,
                        format!(
                            "an interface counts time in units of if_tsresol {:#04x}",
                            value[0]
                        ),
                        "rewrite it with `editcap -F nsecpcap FILE NEW`",
                    )
                })?;
            }
            (IF_TSOFFSET, 8) => self.offset_s = order.u64(value, 0).cast_signed(),
            (IF_TSRESOL | IF_TSOFFSET, len) => {
                let what = format!("an interface's time option {code} has {len} bytes");
                return Err(Fault::malformed(offset, what));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Tick {
    /// Decodes `if_tsresol`: 10^-n seconds, or with the top bit set 2^-n seconds. Units finer than a
    /// 64-bit stamp can count a second in are refused.
    fn from_resolution(resolution: u8) -> Option<Self> {
        match resolution {
            power @ 0..=9 => Some(Self::Nanoseconds(10u64.pow(9 - u32::from(power)))),
            power @ 10..=19 => Some(Self::PartOfNanosecond(10u64.pow(u32::from(power) - 9))),
            power @ 0x80..=0xbf => Some(Self::PowerOfTwo(u32::from(power & 0x7f))),
            _ => None,
        }
    }
}
