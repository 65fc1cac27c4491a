//! Messages of a bank: quotes of each dialect, valid and malformed. Tags are numbers: the lab shares no table with the tested code.

use super::config::{BankConfig, Dialect};
use super::ladder::Ladder;
use crate::random::Random;
use touchline_wire::fix::{Encoder, Precision};

/// A quote to be written.
#[derive(Debug)]
pub struct Quote<'a> {
    pub bank: &'a BankConfig,
    pub symbol: &'a str,
    /// Number of the pair in the bank's list, from 1.
    pub set: u64,
    pub precision: u8,
    pub spot_date: &'a str,
    pub ladder: &'a Ladder,
    /// The request that it answers.
    pub request: &'a [u8],
    /// Which band alone; all, if none.
    pub band: Option<usize>,
    /// Number of the quote.
    pub number: u64,
    /// Expiry, nanoseconds since 1970 by the bank's clock; 0 without one.
    pub expires_ns: u64,
    /// Whether the subscription has had a whole book.
    pub is_change: bool,
    /// Further entries, far from the best, each with an id of its own.
    pub flood: usize,
}

impl Fault {
    /// Whether the entries of the message are gone by it, in a dialect.
    pub fn is_void(self, dialect: Dialect) -> bool {
        !matches!(
            (self, dialect),
            (Fault::Twice, _) | (Fault::IdLong | Fault::Forward, Dialect::MassQuotes)
        )
    }
}

/// How a malformed quote is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A price that is not a number.
    PriceText,
    /// A price between two ticks.
    PriceBetween,
    /// A price of zero.
    PriceZero,
    /// A negative price.
    PriceNegative,
    /// A price beyond every range.
    PriceHuge,
    /// A size of zero.
    SizeZero,
    /// A negative size.
    SizeNegative,
    /// A size with a fraction.
    SizeFraction,
    /// A size beyond every range.
    SizeHuge,
    /// An id of 100 bytes.
    IdLong,
    /// A value date that is not spot.
    Forward,
    /// An expiry that is not a time.
    ExpiryText,
    /// One entry id twice, with different prices.
    Twice,
}

const FAULTS: [Fault; 13] = [
    Fault::PriceText,
    Fault::PriceBetween,
    Fault::PriceZero,
    Fault::PriceNegative,
    Fault::PriceHuge,
    Fault::SizeZero,
    Fault::SizeNegative,
    Fault::SizeFraction,
    Fault::SizeHuge,
    Fault::IdLong,
    Fault::Forward,
    Fault::ExpiryText,
    Fault::Twice,
];

impl Fault {
    /// One of them.
    pub fn any(random: &mut Random) -> Fault {
        *random.pick(&FAULTS)
    }
}

impl Quote<'_> {
    /// Type of the message.
    pub fn msg_type(&self) -> &'static [u8] {
        match self.bank.dialect {
            Dialect::WX if self.is_change => b"X",
            Dialect::W | Dialect::WX => b"W",
            Dialect::S => b"S",
            Dialect::MassQuotes => b"i",
        }
    }

    /// Writes the body.
    pub fn write(&self, fault: Option<Fault>, body: &mut Encoder<'_>) {
        match self.bank.dialect {
            Dialect::W | Dialect::WX => self.market_data(fault, body),
            Dialect::S => self.quote(fault, body),
            Dialect::MassQuotes => self.mass_quote(fault, body),
        }
    }

    /// The bands that the message is about, each with its place in the ladder.
    fn bands(&self) -> impl Iterator<Item = (usize, &super::Band)> {
        let all = self.ladder.bands.iter().enumerate();
        all.filter(|(at, _)| self.band.is_none_or(|band| band == *at))
    }

    fn market_data(&self, fault: Option<Fault>, body: &mut Encoder<'_>) {
        let is_change = self.msg_type() == b"X";
        body.bytes(262, self.request);
        if !is_change {
            body.bytes(55, self.symbol.as_bytes())
                .bytes(64, self.spot_date.as_bytes());
        }
        let twice = usize::from(fault == Some(Fault::Twice));
        let entries = 2 * (self.bands().count() + twice) + self.flood;
        body.unsigned(268, entries as u64);
        for (at, band) in self.bands() {
            for (side, price) in [(b'0', band.bid), (b'1', band.ask)] {
                self.entry(at, side, (price, band.size), body);
                self.tail(fault, body);
            }
        }
        self.flood(body);
        // The second one holds: the same entries again, at the prices that the bank shows.
        for (at, band) in self.bands().take(twice) {
            for (side, price) in [(b'0', band.bid), (b'1', band.ask)] {
                self.entry(at, side, (price, band.size), body);
            }
        }
    }

    /// Entries of indicative prices.
    fn flood(&self, body: &mut Encoder<'_>) {
        let Some(worst) = self.ladder.bands.iter().map(|band| band.bid).min() else {
            return;
        };
        for number in 0..self.flood {
            let id = format!("F{number}");
            let price = (worst - 1 - number as i64 % 500).max(1);
            body.char(269, b'0')
                .decimal(270, price, self.precision)
                .unsigned(271, 1_000)
                .bytes(299, id.as_bytes());
        }
    }

    fn entry(&self, at: usize, side: u8, (price, size): (i64, i64), body: &mut Encoder<'_>) {
        let is_change = self.msg_type() == b"X";
        if is_change {
            body.char(279, b'1').char(269, side);
        } else {
            body.char(269, side);
        }
        if self.bank.dialect == Dialect::WX {
            let id = format!("{}-{}-{at}", self.symbol, char::from(side));
            body.bytes(278, id.as_bytes());
        }
        if is_change {
            body.bytes(55, self.symbol.as_bytes());
        }
        body.decimal(270, price, self.precision)
            .unsigned(271, size as u64)
            .bytes(299, self.id(at).as_bytes());
        if self.expires_ns > 0 {
            body.timestamp(126, self.expires_ns, Precision::Milliseconds);
        }
    }

    /// The invalid field follows the entry: the last field of a tag applies.
    fn tail(&self, fault: Option<Fault>, body: &mut Encoder<'_>) {
        let Some(fault) = fault else { return };
        self.spoil(fault, [270, 271, 299, 126], body);
    }

    /// Writes a field that cannot be read, by the tags of price, size, id and expiry.
    fn spoil(&self, fault: Fault, [price, size, id, expiry]: [u32; 4], body: &mut Encoder<'_>) {
        match fault {
            Fault::PriceText => body.bytes(price, b"n/a"),
            Fault::PriceBetween => body.bytes(price, b"1.0000000000001"),
            Fault::PriceZero => body.bytes(price, b"0"),
            Fault::PriceNegative => body.bytes(price, b"-1.1"),
            Fault::PriceHuge => body.bytes(price, b"99999999999999999999"),
            Fault::SizeZero => body.bytes(size, b"0"),
            Fault::SizeNegative => body.bytes(size, b"-1000000"),
            Fault::SizeFraction => body.bytes(size, b"1000000.5"),
            Fault::SizeHuge => body.bytes(size, b"99999999999999999999"),
            Fault::IdLong => body.bytes(id, &[b'X'; 100]),
            Fault::Forward => body.bytes(64, b"20991231"),
            Fault::ExpiryText => body.bytes(expiry, b"tomorrow"),
            Fault::Twice => body,
        };
    }

    fn quote(&self, fault: Option<Fault>, body: &mut Encoder<'_>) {
        let at = self.band.unwrap_or(0);
        let Some(band) = self.ladder.bands.get(at) else {
            return;
        };
        // The first field of a tag holds here.
        if let Some(fault) = fault {
            self.spoil(fault, [132, 134, 117, 62], body);
            self.spoil(fault, [133, 135, 117, 62], body);
        }
        body.bytes(131, self.request)
            .bytes(117, self.id(at).as_bytes())
            .bytes(55, self.symbol.as_bytes())
            .bytes(64, self.spot_date.as_bytes())
            .decimal(132, band.bid, self.precision)
            .decimal(133, band.ask, self.precision)
            .unsigned(134, band.size as u64)
            .unsigned(135, band.size as u64);
        if self.expires_ns > 0 {
            body.timestamp(62, self.expires_ns, Precision::Milliseconds);
        }
    }

    fn mass_quote(&self, fault: Option<Fault>, body: &mut Encoder<'_>) {
        let id = format!("{}", self.number);
        body.bytes(117, id.as_bytes())
            .unsigned(296, 1)
            .unsigned(302, self.set)
            .unsigned(304, self.ladder.bands.len() as u64)
            .unsigned(295, self.bands().count() as u64);
        for (at, band) in self.bands() {
            body.unsigned(299, at as u64)
                .decimal(132, band.bid, self.precision)
                .decimal(133, band.ask, self.precision)
                .unsigned(134, band.size as u64)
                .unsigned(135, band.size as u64);
            if self.expires_ns > 0 {
                body.timestamp(62, self.expires_ns, Precision::Milliseconds);
            }
            if let Some(fault) = fault.filter(|fault| fault.is_void(self.bank.dialect)) {
                self.spoil(fault, [132, 134, 299, 62], body);
                self.spoil(fault, [133, 135, 299, 62], body);
            }
        }
    }

    /// The bank's name for an entry.
    fn id(&self, at: usize) -> String {
        format!("{}.{at}", self.number)
    }
}
