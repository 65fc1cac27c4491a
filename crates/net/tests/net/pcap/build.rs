//! Builds captures field by field, valid and invalid.

/// The byte order that a capture is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub const ORDERS: [Order; 2] = [Order::Little, Order::Big];

/// A capture being built.
#[derive(Debug, Clone)]
pub struct Bytes {
    pub order: Order,
    pub bytes: Vec<u8>,
}

impl Bytes {
    pub fn new(order: Order) -> Self {
        Self {
            order,
            bytes: Vec::new(),
        }
    }

    pub fn u16(mut self, value: u16) -> Self {
        let raw = match self.order {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        };
        self.bytes.extend(raw);
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        let raw = match self.order {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        };
        self.bytes.extend(raw);
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// The header of a classic capture.
    pub fn classic(order: Order, magic: u32, link: u32) -> Self {
        Self::new(order)
            .u32(magic)
            .u16(2)
            .u16(4)
            .u32(0)
            .u32(0)
            .u32(65_535)
            .u32(link)
    }

    /// A record of a classic capture.
    pub fn record(self, seconds: u32, fraction: u32, frame: &[u8], original_len: u32) -> Self {
        let record = self
            .u32(seconds)
            .u32(fraction)
            .u32(frame.len() as u32)
            .u32(original_len);
        record.raw(frame)
    }

    /// A pcapng block of any type around a body, which is padded.
    pub fn block(self, kind: u32, body: &[u8]) -> Self {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let len = (12 + body.len() + padding.len()) as u32;
        self.u32(kind).u32(len).raw(body).raw(&padding).u32(len)
    }

    /// The first block of a pcapng capture or section.
    pub fn section(order: Order) -> Self {
        let body = Self::new(order)
            .u32(0x1a2b_3c4d)
            .u16(1)
            .u16(0)
            .u32(u32::MAX)
            .u32(u32::MAX);
        Self::new(order).block(0x0a0d_0d0a, &body.bytes)
    }

    /// An Interface Description Block with options.
    pub fn interface(self, link: u16, snap_len: u32, options: &[(u16, &[u8])]) -> Self {
        let mut body = Self::new(self.order).u16(link).u16(0).u32(snap_len);
        for (code, value) in options {
            let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
            body = body
                .u16(*code)
                .u16(value.len() as u16)
                .raw(value)
                .raw(&padding);
        }
        self.block(1, &body.bytes)
    }

    /// An Enhanced Packet Block.
    pub fn enhanced(self, interface: u32, ticks: u64, frame: &[u8], original_len: u32) -> Self {
        let body = Self::new(self.order)
            .u32(interface)
            .u32((ticks >> 32) as u32)
            .u32(ticks as u32)
            .u32(frame.len() as u32)
            .u32(original_len)
            .raw(frame);
        self.block(6, &body.bytes)
    }

    /// A Simple Packet Block.
    pub fn simple(self, original_len: u32, frame: &[u8]) -> Self {
        let body = Self::new(self.order).u32(original_len).raw(frame);
        self.block(3, &body.bytes)
    }

    /// The obsolete Packet Block.
    pub fn obsolete(self, interface: u16, ticks: u64, frame: &[u8], original_len: u32) -> Self {
        let body = Self::new(self.order)
            .u16(interface)
            .u16(0)
            .u32((ticks >> 32) as u32)
            .u32(ticks as u32)
            .u32(frame.len() as u32)
            .u32(original_len)
            .raw(frame);
        self.block(2, &body.bytes)
    }

    /// Sets a 32-bit field of the bytes built so far.
    pub fn with_u32(mut self, at: usize, value: u32) -> Self {
        let field = Self::new(self.order).u32(value).bytes;
        self.bytes[at..at + 4].copy_from_slice(&field);
        self
    }
}

pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;
