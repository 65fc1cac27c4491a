//! Messages of a bank: quotes of each dialect, valid and malformed. Tags are numbers: the lab shares no table with the tested code.

use super::config::{BankConfig, Dialect};
use super::ladder::{Band, Ladder};
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
    fn bands(&self) -> impl Iterator<Item = (usize, &Band)> {
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
                self.entry(at, side, (price, band.size), fault, body);
            }
        }
        self.flood(body);
        // The second one holds: the same entries again, at the prices that the bank shows.
        for (at, band) in self.bands().take(twice) {
            for (side, price) in [(b'0', band.bid), (b'1', band.ask)] {
                self.entry(at, side, (price, band.size), None, body);
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

    fn entry(
        &self,
        at: usize,
        side: u8,
        (price, size): (i64, i64),
        fault: Option<Fault>,
        body: &mut Encoder<'_>,
    ) {
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
        let mut fields = Fields { fault, body };
        fields.price(270, price, self.precision);
        fields.size(271, size);
        fields.id(299, &self.id(at));
        fields.expiry(126, self.expires_ns);
        fields.date(64, "");
    }

    fn quote(&self, fault: Option<Fault>, body: &mut Encoder<'_>) {
        let at = self.band.unwrap_or(0);
        let Some(band) = self.ladder.bands.get(at) else {
            return;
        };
        body.bytes(131, self.request);
        let mut fields = Fields { fault, body };
        fields.id(117, &self.id(at));
        fields.body.bytes(55, self.symbol.as_bytes());
        fields.date(64, self.spot_date);
        fields.sides(band, self.precision);
        fields.expiry(62, self.expires_ns);
    }

    fn mass_quote(&self, fault: Option<Fault>, body: &mut Encoder<'_>) {
        let id = format!("{}", self.number);
        body.bytes(117, id.as_bytes())
            .unsigned(296, 1)
            .unsigned(302, self.set)
            .unsigned(304, self.ladder.bands.len() as u64)
            .unsigned(295, self.bands().count() as u64);
        for (at, band) in self.bands() {
            body.unsigned(299, at as u64);
            let fault = fault.filter(|fault| fault.is_void(self.bank.dialect));
            let mut fields = Fields { fault, body };
            fields.sides(band, self.precision);
            fields.expiry(62, self.expires_ns);
        }
    }

    /// The bank's name for an entry.
    fn id(&self, at: usize) -> String {
        format!("{}.{at}", self.number)
    }
}

/// Fields that a fault may spoil: the wrong value takes the place of the right one.
struct Fields<'f, 'e> {
    fault: Option<Fault>,
    body: &'f mut Encoder<'e>,
}

impl Fields<'_, '_> {
    /// Writes the value of the fault if it is among these. False: it is not.
    fn is_spoiled(&mut self, tag: u32, values: &[(Fault, &[u8])]) -> bool {
        let mut values = values.iter();
        let found = values.find(|(fault, _)| self.fault == Some(*fault));
        found
            .map(|(_, value)| self.body.bytes(tag, value))
            .is_some()
    }

    fn price(&mut self, tag: u32, price: i64, precision: u8) {
        let wrong: [(Fault, &[u8]); 5] = [
            (Fault::PriceText, b"n/a"),
            (Fault::PriceBetween, b"1.0000000000001"),
            (Fault::PriceZero, b"0"),
            (Fault::PriceNegative, b"-1.1"),
            (Fault::PriceHuge, b"99999999999999999999"),
        ];
        if !self.is_spoiled(tag, &wrong) {
            self.body.decimal(tag, price, precision);
        }
    }

    fn size(&mut self, tag: u32, size: i64) {
        let wrong: [(Fault, &[u8]); 4] = [
            (Fault::SizeZero, b"0"),
            (Fault::SizeNegative, b"-1000000"),
            (Fault::SizeFraction, b"1000000.5"),
            (Fault::SizeHuge, b"99999999999999999999"),
        ];
        if !self.is_spoiled(tag, &wrong) {
            self.body.unsigned(tag, size as u64);
        }
    }

    /// Both sides of a quote or of an entry of a mass quote.
    fn sides(&mut self, band: &Band, precision: u8) {
        self.price(132, band.bid, precision);
        self.price(133, band.ask, precision);
        self.size(134, band.size);
        self.size(135, band.size);
    }

    fn id(&mut self, tag: u32, id: &str) {
        if !self.is_spoiled(tag, &[(Fault::IdLong, &[b'X'; 100])]) {
            self.body.bytes(tag, id.as_bytes());
        }
    }

    /// The value date, if it is not empty.
    fn date(&mut self, tag: u32, date: &str) {
        if !self.is_spoiled(tag, &[(Fault::Forward, b"20991231")]) && !date.is_empty() {
            self.body.bytes(tag, date.as_bytes());
        }
    }

    /// The end of the quote, nanoseconds since 1970; 0: none.
    fn expiry(&mut self, tag: u32, expires_ns: u64) {
        if !self.is_spoiled(tag, &[(Fault::ExpiryText, b"tomorrow")]) && expires_ns > 0 {
            self.body
                .timestamp(tag, expires_ns, Precision::Milliseconds);
        }
    }
}
