//! Legs of a combination in the venue's list: the group NoLegs (555).

use touchline_instruments::{Instruments, Symbols};
use touchline_types::{LEGS_MAX, Leg, Legs, Side};
use touchline_wire::fix::{Malformed, decimal, unsigned};

pub const LEG_RATIO_QTY: u32 = 623;
pub const LEG_SIDE: u32 = 624;
/// The first field of each leg.
pub const LEG_SYMBOL: u32 = 600;
pub const NO_LEGS: u32 = 555;

/// Fields of the group, as they were received.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListedLegs<'a> {
    /// The number of legs as stated.
    stated: &'a [u8],
    legs: [ListedLeg<'a>; LEGS_MAX],
    /// Number of legs that were received, some of them beyond the limit.
    received: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct ListedLeg<'a> {
    symbol: &'a [u8],
    side: &'a [u8],
    ratio: &'a [u8],
}

impl<'a> ListedLegs<'a> {
    /// Reads a field of the group.
    pub fn read(&mut self, tag: u32, value: &'a [u8]) {
        if tag == NO_LEGS {
            self.stated = value;
            return;
        }
        self.received += usize::from(tag == LEG_SYMBOL);
        let place = self.received.checked_sub(1);
        // A leg beyond the limit is only counted.
        let Some(leg) = place.and_then(|place| self.legs.get_mut(place)) else {
            return;
        };
        match tag {
            LEG_SYMBOL => leg.symbol = value,
            LEG_SIDE => leg.side = value,
            _ => leg.ratio = value,
        }
    }

    /// The legs, by the numbers of their instruments in the table. None of them if the ratio of one is not stated: it is
    /// optional.
    ///
    /// # Errors
    /// A leg is unreadable, or their number is not the stated one.
    pub fn resolve(&self, instruments: &Instruments) -> Result<Legs, Malformed> {
        let is_complete = match (self.stated, self.received) {
            (b"", 0) => true,
            (stated, received) => unsigned(stated).ok() == Some(received as u64),
        };
        if !is_complete {
            return Err(Malformed::Group);
        }
        let mut legs = Legs::NONE;
        let mut has_ratios = true;
        for leg in self.legs.iter().take(self.received) {
            match leg.resolve(instruments)? {
                Some(leg) => legs.push(leg),
                None => has_ratios = false,
            }
        }
        if !has_ratios {
            return Ok(Legs::NONE);
        }
        legs.set_count(u8::try_from(self.received).unwrap_or(u8::MAX));
        Ok(legs)
    }

    /// Resolved legs whose instruments are selected, but not in the table yet.
    pub fn missing(&self, legs: &Legs, chosen: &Symbols) -> MissingLegs {
        let both = self.legs.iter().zip(legs.as_slice()).enumerate();
        let missing = both.filter_map(|(place, (listed, leg))| {
            let is_selected =
                std::str::from_utf8(listed.symbol).is_ok_and(|name| chosen.admit(name));
            let is_missing = leg.security_id == Leg::NO_SECURITY_ID && is_selected;
            is_missing.then(|| (place, listed.symbol.into()))
        });
        MissingLegs(missing.collect())
    }
}

/// Legs of a combination that was listed before their instruments: their places and symbols.
#[derive(Clone, Debug, Default)]
pub struct MissingLegs(Vec<(usize, Box<[u8]>)>);

impl MissingLegs {
    /// Sets the instruments of those legs that are in the table now; returns whether there are any.
    pub fn fill_in(&mut self, legs: &mut Legs, instruments: &Instruments) -> bool {
        let before = self.0.len();
        self.0.retain(|(place, symbol)| {
            let Some(instrument) = instruments.find_symbol(symbol) else {
                return true;
            };
            legs.set_security_id(*place, instruments.definition(instrument).security_id);
            false
        });
        self.0.len() < before
    }
}

impl ListedLeg<'_> {
    /// `None` if its ratio is not stated.
    fn resolve(&self, instruments: &Instruments) -> Result<Option<Leg>, Malformed> {
        let ratio = match self.ratio {
            b"" => None,
            text => Some(ratio(text)?),
        };
        let is_bought = ratio.is_none_or(|ratio| ratio > 0);
        let side = match (self.side, is_bought) {
            (b"1" | b"", true) => Side::Bid,
            // Deribit states no side: a negative ratio is sold.
            (b"2", true) | (b"", false) => Side::Ask,
            _ => return Err(Malformed::Number),
        };
        let Some(ratio) = ratio else {
            return Ok(None);
        };
        let instrument = instruments.find_symbol(self.symbol);
        Ok(Some(Leg {
            security_id: instrument.map_or(Leg::NO_SECURITY_ID, |instrument| {
                instruments.definition(instrument).security_id
            }),
            ratio: ratio.checked_abs().ok_or(Malformed::Overflow)?,
            side,
        }))
    }
}

/// A ratio: a whole number that is not 0.
fn ratio(text: &[u8]) -> Result<i32, Malformed> {
    match decimal(text)?.scaled(0)? {
        0 => Err(Malformed::Number),
        ratio => i32::try_from(ratio).map_err(|_| Malformed::Overflow),
    }
}
