//! Legs of a combination in the venue's list: the group NoLegs (555).

use touchline_instruments::Instruments;
use touchline_types::{LEGS_MAX, Leg, Legs, Side};
use touchline_wire::fix::{decimal, unsigned};

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

    /// The legs, by the numbers of their instruments in the table. `None` if a leg is unreadable or their number is not
    /// the stated one: wrong legs are worse than no legs.
    pub fn resolve(&self, instruments: &Instruments) -> Option<Legs> {
        let is_complete = match (self.stated, self.received) {
            (b"", 0) => true,
            // mutant: fix market data: the stated number of legs is believed
            (stated, received) => unsigned(stated).ok() == Some(received as u64),
        };
        if !is_complete {
            return None;
        }
        let mut legs = Legs::NONE;
        for leg in self.legs.iter().take(self.received) {
            legs.push(leg.resolve(instruments)?);
        }
        legs.set_count(u8::try_from(self.received).unwrap_or(u8::MAX));
        Some(legs)
    }
}

impl ListedLeg<'_> {
    fn resolve(&self, instruments: &Instruments) -> Option<Leg> {
        let ratio = decimal(self.ratio).and_then(|ratio| ratio.scaled(0));
        let ratio = i32::try_from(ratio.ok()?)
            .ok()
            .filter(|ratio| *ratio != 0)?;
        let side = match (self.side, ratio > 0) {
            (b"1" | b"", true) => Side::Bid,
            // Deribit states no side: a negative ratio is sold.
            (b"2", true) | (b"", false) => Side::Ask,
            _ => return None,
        };
        let instrument = instruments.find_symbol(self.symbol);
        Some(Leg {
            security_id: instrument.map_or(Leg::NO_SECURITY_ID, |instrument| {
                instruments.definition(instrument).security_id
            }),
            ratio: ratio.checked_abs()?,
            side,
        })
    }
}
