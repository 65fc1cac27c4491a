//! CME's file of security definitions, `secdef.dat`: a FIX message 35=d a line, fields separated by SOH.
//!
//! Source: CME, MDP 3.0 - Security Definition; the fields are those of the messages of the definition feed.

use crate::venues::definitions::stated::Stated;
use touchline_instruments::KnownDefinition;
use touchline_types::{
    Code, DisplayFactor, Instrument, InstrumentDefinition, Leg, OptionRight, Price, PriceFraction,
    Quantity, ReferenceData, SecurityType, Side, Symbol,
};
use touchline_wire::fix::{decimal, timestamp};

const SOH: u8 = 1;

/// Whether a file that starts like this is one.
pub fn is_line(start: &[u8]) -> bool {
    start.starts_with(b"35=") && start.contains(&SOH)
}

/// Reads a line with its end.
///
/// # Errors
/// The field, its value, and what to give.
pub fn read_line(line: &[u8]) -> Result<Stated, String> {
    // A file that is cut in a line may end in the middle of a number, or lack the last fields.
    let fields = line.trim_ascii_end();
    let is_whole = line.ends_with(b"\n") && fields.last() == Some(&SOH);
    // mutant: gateway: a cut line of secdef.dat defines an instrument
    if !is_whole {
        return Err("the line does not end with SOH and a line feed, it is cut: take the file as CME publishes it, as a whole".to_owned());
    }
    let mut security = Security::default();
    for (place, field) in fields.split(|byte| *byte == SOH).enumerate() {
        if field.is_empty() {
            continue;
        }
        let equals = field.iter().position(|byte| *byte == b'=');
        let split = equals.and_then(|at| {
            let tag = std::str::from_utf8(&field[..at])
                .ok()?
                .parse::<u32>()
                .ok()?;
            Some((tag, &field[at + 1..]))
        });
        let Some((tag, value)) = split else {
            return Err(format!(
                "field {} is {}: give TAG=VALUE, separated by SOH, as CME writes it",
                place + 1,
                shown(field)
            ));
        };
        security.field(tag, value)?;
    }
    security.finish()
}

/// What the fields of a line state so far.
#[derive(Default)]
struct Security<'a> {
    message: &'a [u8],
    is_deleted: bool,
    channel: Option<u32>,
    security_id: Option<i64>,
    symbol: &'a [u8],
    group: &'a [u8],
    asset: &'a [u8],
    tick: Option<Price>,
    security_type: &'a [u8],
    cfi: &'a [u8],
    /// Entry of a group that is being read: type of an event, feed type of a depth, type of a lot.
    event: &'a [u8],
    feed_type: &'a [u8],
    lot_type: &'a [u8],
    direct_depth: Option<u16>,
    implied_depth: Option<u8>,
    leg: Option<Leg>,
    reference: Option<ReferenceData>,
}

impl<'a> Security<'a> {
    fn reference(&mut self) -> &mut ReferenceData {
        self.reference.get_or_insert(ReferenceData {
            venue: touchline_feed::cme::venue(),
            ..ReferenceData::NULL
        })
    }

    fn field(&mut self, tag: u32, value: &'a [u8]) -> Result<(), String> {
        match tag {
            35 => self.message = value,
            980 => self.is_deleted = value == b"D",
            1180 => self.channel = Some(number("MDP channel", tag, value)?),
            48 => self.security_id = Some(number("SecurityID", tag, value)?),
            55 => self.symbol = value,
            1151 => self.group = value,
            6937 => self.asset = value,
            167 => self.security_type = value,
            461 => self.cfi = value,
            969 => self.tick = Some(price("MinPriceIncrement", tag, value)?),
            865 => self.event = value,
            1145 if self.event == b"7" => self.reference().expiry_ns = event_time(tag, value)?,
            1022 => self.feed_type = value,
            264 => self.depth(number("MarketDepth", tag, value)?),
            1093 => self.lot_type = value,
            602 | 623 | 624 => self.leg(tag, value)?,
            _ => self.reference_field(tag, value)?,
        }
        Ok(())
    }

    fn depth(&mut self, levels: u16) {
        match self.feed_type {
            b"GBX" => self.direct_depth = Some(levels),
            b"GBI" => self.implied_depth = Some(levels.min(u8::MAX.into()) as u8),
            _ => {}
        }
    }

    fn leg(&mut self, tag: u32, value: &[u8]) -> Result<(), String> {
        if tag == 602 {
            self.end_leg();
            self.leg = Some(Leg {
                security_id: number("LegSecurityID", tag, value)?,
                ratio: 1,
                side: Side::Bid,
            });
        }
        if let Some(leg) = &mut self.leg {
            match tag {
                623 => leg.ratio = number("LegRatioQty", tag, value)?,
                624 if value == b"2" => leg.side = Side::Ask,
                _ => {}
            }
        }
        Ok(())
    }

    fn end_leg(&mut self) {
        if let Some(leg) = self.leg.take() {
            self.reference().legs.push(leg);
        }
    }

    fn reference_field(&mut self, tag: u32, value: &[u8]) -> Result<(), String> {
        let is_round_lot = self.lot_type == b"2";
        let reference = self.reference();
        match tag {
            15 => reference.currency = Code::lossy(value),
            120 => reference.settlement_currency = Code::lossy(value),
            9787 => reference.display_factor = Some(display_factor(tag, value)?),
            37702 => {
                let main: u8 = number("MainFraction", tag, value)?;
                let fraction = PriceFraction { main, sub: 0 };
                reference.price_fraction = (main > 1).then_some(fraction);
            }
            37703 => {
                if let Some(fraction) = &mut reference.price_fraction {
                    fraction.sub = number("SubFraction", tag, value)?;
                }
            }
            1147 => reference.multiplier = price("ContractMultiplier", tag, value)?,
            562 => reference.quantity_min = volume("MinTradeVol", tag, value)?,
            1140 => reference.quantity_max = volume("MaxTradeVol", tag, value)?,
            // MaturityMonthYear stands before MaturityDate, which is the more exact one.
            200 | 541 => reference.maturity = maturity(value).unwrap_or(reference.maturity),
            202 => reference.strike = price("StrikePrice", tag, value)?,
            201 => {
                reference.right = match value {
                    b"0" => Some(OptionRight::Put),
                    b"1" => Some(OptionRight::Call),
                    _ => None,
                }
            }
            309 if reference.underlying.is_none() => {
                reference.underlying = Some(number("UnderlyingSecurityID", tag, value)?);
            }
            1149 => reference.high_limit = price("HighLimitPrice", tag, value)?,
            1148 => reference.low_limit = price("LowLimitPrice", tag, value)?,
            1682 => reference.status = number("MDSecurityTradingStatus", tag, value)?,
            1231 if is_round_lot => {
                let lot = decimal(value).ok().and_then(|lot| lot.scaled(0).ok());
                let lot = lot.filter(|lot| *lot > 0);
                reference.lot = lot.map_or(Quantity::NULL, Quantity);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Stated, String> {
        if self.message != b"d" {
            return Err(format!(
                "message type (35) is {}: give security definitions, 35=d",
                shown(self.message)
            ));
        }
        if self.is_deleted {
            return Ok(Stated::Nothing);
        }
        let security_id = (self.security_id)
            .ok_or("SecurityID (48) is missing: take the file as CME publishes it")?;
        if self.symbol.is_empty() {
            return Err("Symbol (55) is missing: take the file as CME publishes it".to_owned());
        }
        self.end_leg();
        let is_option = self.cfi.first() == Some(&b'O');
        let security_type = match (self.security_type, self.reference().legs.count() > 0) {
            (_, true) if is_option => SecurityType::OptionSpread,
            (_, true) => SecurityType::FutureSpread,
            (b"FUT", false) => SecurityType::Future,
            (b"OOF", false) => SecurityType::Option,
            (b"FXSPOT", false) => SecurityType::Spot,
            (b"FXFWD" | b"FXNDF", false) => SecurityType::Forward,
            _ => SecurityType::Other,
        };
        self.reference().security_type = Some(security_type);
        let depth = touchline_types::Depth {
            direct: 0,
            implied: 0,
        };
        let definition = InstrumentDefinition {
            symbol: Symbol::new(self.symbol),
            group: Symbol::new(self.group),
            asset: Symbol::new(self.asset),
            tick: self.tick.unwrap_or(Price::NULL),
            defined: true,
            reference: *self.reference(),
            ..InstrumentDefinition::unknown(Instrument(0), security_id, depth)
        };
        let known = KnownDefinition {
            definition,
            direct_depth: self.direct_depth,
            implied_depth: self.implied_depth,
        };
        Ok(Stated::Definition(Box::new(known), self.channel))
    }
}

fn shown(value: &[u8]) -> String {
    format!(
        "{:?}",
        String::from_utf8_lossy(&value[..value.len().min(64)])
    )
}

fn wrong(name: &str, tag: u32, value: &[u8], form: &str) -> String {
    format!("{name} ({tag}) is {}: give {form}", shown(value))
}

fn number<T: std::str::FromStr>(name: &str, tag: u32, value: &[u8]) -> Result<T, String> {
    let parsed = std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| wrong(name, tag, value, "a whole number of its range"))
}

fn price(name: &str, tag: u32, value: &[u8]) -> Result<Price, String> {
    let count = decimal(value).ok().and_then(|price| price.scaled(9).ok());
    let form = "a decimal with at most nine digits behind the point";
    count
        .map(Price)
        .ok_or_else(|| wrong(name, tag, value, form))
}

/// A volume; 0 means unlimited.
fn volume(name: &str, tag: u32, value: &[u8]) -> Result<Quantity, String> {
    match number(name, tag, value)? {
        0 => Ok(Quantity::NULL),
        volume => Ok(Quantity(volume)),
    }
}

fn display_factor(tag: u32, value: &[u8]) -> Result<DisplayFactor, String> {
    let factor = decimal(value).ok().and_then(|factor| {
        let denominator = 10_u64.checked_pow(factor.decimals.into())?;
        DisplayFactor::new(u64::try_from(factor.mantissa).ok()?, denominator)
    });
    factor.ok_or_else(|| wrong("DisplayFactor", tag, value, "a decimal above 0"))
}

/// `YYYYMM`, with day 00, or `YYYYMMDD`; a week of a month is not a date.
fn maturity(value: &[u8]) -> Option<u32> {
    let number: u32 = std::str::from_utf8(value).ok()?.parse().ok()?;
    match value.len() {
        6 => Some(number * 100),
        8 => Some(number),
        _ => None,
    }
}

/// `YYYYMMDDHHMMSS` and nine digits of a second.
fn event_time(tag: u32, value: &[u8]) -> Result<u64, String> {
    let ns = value.split_at_checked(14).and_then(|(time, fraction)| {
        let part = |range| std::str::from_utf8(&time[range]).ok();
        let (date, hours, minutes, seconds) =
            (part(0..8)?, part(8..10)?, part(10..12)?, part(12..14)?);
        let fraction = std::str::from_utf8(fraction).ok()?;
        let point = if fraction.is_empty() { "" } else { "." };
        let text = format!("{date}-{hours}:{minutes}:{seconds}{point}{fraction}");
        timestamp(text.as_bytes()).ok()
    });
    ns.ok_or_else(|| wrong("EventTime", tag, value, "a time as 20240920133000000000000"))
}
