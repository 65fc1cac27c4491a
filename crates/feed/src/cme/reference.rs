//! Definition messages: the fields that we use, of which most are reference data.
//!
//! Source: CME, MDP 3.0 - Security Definition (FIX tags in brackets below), and the schema of the messages.

use touchline_types::{
    Code, DisplayFactor, Leg, OptionRight, Price, PriceFraction, Quantity, ReferenceData,
    SecurityType, Side,
};
use touchline_wire::mdp3::{EventType, LegSide, MatchEventIndicator, Message, PutOrCall};
use touchline_wire::sbe::{Fields, TableGroup, Text, Value};

/// Venue name in every definition: with the SecurityID it identifies an instrument on every bus.
pub fn venue() -> Code {
    Code::lossy(b"cme")
}

/// A definition message of any template.
pub(super) struct Definition<'a> {
    pub last_update_ns: u64,
    pub indicator: MatchEventIndicator,
    pub security_id: i32,
    /// Messages in the cycle; `None` on the incremental feed.
    pub total: Option<u32>,
    pub symbol: Text<'a>,
    pub group: Text<'a>,
    pub asset: Text<'a>,
    /// Null if it states none; `None` if it is out of range.
    pub tick: Option<Price>,
    pub direct_depth: Option<i8>,
    pub implied_depth: Option<i8>,
    pub reference: ReferenceData,
}

impl<'a> Definition<'a> {
    /// Reads a message: of each template the fields that it has.
    pub fn read(message: &Message<'a>) -> Self {
        let mut definition = Definition {
            last_update_ns: 0,
            indicator: MatchEventIndicator::default(),
            security_id: 0,
            total: None,
            symbol: Text::default(),
            group: Text::default(),
            asset: Text::default(),
            tick: Some(Price::NULL),
            direct_depth: None,
            implied_depth: None,
            reference: ReferenceData {
                venue: venue(),
                ..ReferenceData::NULL
            },
        };
        let template = message.template_id();
        let (mut security_type, mut cfi) = (Text::default(), Text::default());
        let mut maturity = Maturity::default();
        for (field, value) in message.fields() {
            match field.tag {
                167 => security_type = value.text(),
                461 => cfi = value.text(),
                200 => maturity.member(field.name, value),
                tag => definition.field(tag, value),
            }
        }
        let reference = &mut definition.reference;
        reference.security_type = Some(self::security_type(template, security_type, cfi));
        if let Some(month) = maturity.date() {
            reference.maturity = month;
        }
        for group in message.groups() {
            definition.entries(template, group);
        }
        definition
    }

    /// Takes a field of the root.
    fn field(&mut self, tag: u16, value: Value<'a>) {
        let reference = &mut self.reference;
        match tag {
            779 => self.last_update_ns = value.unsigned().unwrap_or_default(),
            5799 => {
                self.indicator = MatchEventIndicator(value.unsigned().unwrap_or_default() as u8)
            }
            48 => self.security_id = value.signed().unwrap_or_default() as i32,
            911 => self.total = value.unsigned().map(|total| total as u32),
            55 => self.symbol = value.text(),
            1151 => self.group = value.text(),
            6937 => self.asset = value.text(),
            969 => self.tick = stated_price(value),
            15 => reference.currency = code(value),
            120 => reference.settlement_currency = code(value),
            9787 => reference.display_factor = display_factor(value),
            37702 => reference.price_fraction = main_fraction(value),
            37703 => {
                if let (Some(fraction), Some(sub)) =
                    (&mut reference.price_fraction, value.unsigned())
                {
                    fraction.sub = sub as u8;
                }
            }
            1147 => reference.multiplier = price(value),
            562 => reference.quantity_min = quantity(value),
            1140 => reference.quantity_max = quantity(value),
            541 => reference.maturity = value.unsigned().map_or(0, |days| date(days as u16)),
            202 => reference.strike = price(value),
            201 => reference.right = right(value),
            1149 => reference.high_limit = price(value),
            1148 => reference.low_limit = price(value),
            1682 => reference.status = value.unsigned().map_or(u8::MAX, |status| status as u8),
            _ => {}
        }
    }

    /// Takes the entries of a group.
    fn entries(&mut self, template: u16, mut group: TableGroup<'a>) {
        let reference = &mut self.reference;
        match (group.table.tag, template) {
            // NoEvents
            (864, _) => {
                let end = u64::from(EventType::LAST_ELIGIBLE_TRADE_DATE.0);
                reference.expiry_ns = group
                    .find(|event| get(event, 865).unsigned() == Some(end))
                    .and_then(|event| get(&event, 1145).unsigned())
                    .unwrap_or(0);
            }
            // NoMDFeedTypes
            (1141, _) => {
                let depth = |feed_type: &[u8]| {
                    let mut entries = group;
                    let entry =
                        entries.find(|entry| get(entry, 1022).text().as_bytes() == feed_type)?;
                    get(&entry, 264).signed().map(|levels| levels as i8)
                };
                (self.direct_depth, self.implied_depth) = (depth(b"GBX"), depth(b"GBI"));
            }
            // NoLotTypeRules
            (1234, _) => {
                reference.lot = group
                    .find(|rule| get(rule, 1093).signed() == Some(ROUND_LOT))
                    .map_or(Quantity::NULL, |rule| lot(get(&rule, 1231)));
            }
            // NoUnderlyings of options; the underlyings of a repo are its collateral.
            (711, 41 | 55) => {
                let underlying = group.next();
                reference.underlying =
                    underlying.and_then(|underlying| get(&underlying, 309).signed());
            }
            // NoLegs
            (555, _) => group.for_each(|leg| reference.legs.push(self::leg(&leg))),
            _ => {}
        }
    }
}

/// LotType (1093) of round lots.
const ROUND_LOT: i64 = 2;

/// The field of an entry; null if it has none.
fn get<'a>(entry: &Fields<'a>, tag: u16) -> Value<'a> {
    let mut fields = entry.clone();
    let field = fields.find(|(field, _)| field.tag == tag);
    field.map_or(Value::Null, |(_, value)| value)
}

/// MaturityMonthYear (200), member by member.
#[derive(Default)]
struct Maturity {
    year: Option<u64>,
    month: Option<u64>,
    day: Option<u64>,
}

impl Maturity {
    fn member(&mut self, name: &str, value: Value<'_>) {
        match name {
            "MaturityMonthYear.year" => self.year = value.unsigned(),
            "MaturityMonthYear.month" => self.month = value.unsigned(),
            "MaturityMonthYear.day" => self.day = value.unsigned(),
            _ => {}
        }
    }

    /// As `YYYYMMDD`, with day 00 for a month.
    fn date(&self) -> Option<u32> {
        let date = self.year? * 10_000 + self.month? * 100 + self.day.unwrap_or(0);
        Some(date as u32)
    }
}

/// Security type: from the template, and for templates of several types from SecurityType (167) and CFICode (461).
fn security_type(template: u16, name: Text<'_>, cfi: Text<'_>) -> SecurityType {
    match (template, name.as_bytes()) {
        (27 | 54, b"FUT") => SecurityType::Future,
        (41 | 55, _) => SecurityType::Option,
        // The first letter of the CFI code of a combination is the category of its legs.
        (29 | 56, _) if cfi.as_bytes().first() == Some(&b'O') => SecurityType::OptionSpread,
        (29 | 56, _) => SecurityType::FutureSpread,
        (57, _) => SecurityType::Bond,
        (58, _) => SecurityType::Repo,
        (63, b"FXSPOT") => SecurityType::Spot,
        (63, b"FXFWD" | b"FXNDF") => SecurityType::Forward,
        _ => SecurityType::Other,
    }
}

/// A short text; none if it is not printable.
fn code(value: Value<'_>) -> Code {
    Code::new(value.text().as_bytes()).unwrap_or_default()
}

/// A price, null if none is stated; `None` if it is out of range.
fn stated_price(value: Value<'_>) -> Option<Price> {
    match value {
        Value::Decimal { mantissa, exponent } => Price::from_decimal(mantissa, exponent),
        _ => Some(Price::NULL),
    }
}

/// A reference price; null if out of range.
fn price(value: Value<'_>) -> Price {
    stated_price(value).unwrap_or(Price::NULL)
}

/// DisplayFactor (9787), exact.
fn display_factor(value: Value<'_>) -> Option<DisplayFactor> {
    let Value::Decimal { mantissa, exponent } = value else {
        return None;
    };
    let denominator = 10_u64.pow(u32::from(exponent.unsigned_abs()));
    DisplayFactor::new(u64::try_from(mantissa).ok()?, denominator)
}

/// MainFraction (37702); SubFraction (37703) follows it.
fn main_fraction(value: Value<'_>) -> Option<PriceFraction> {
    let main = value.unsigned().filter(|main| *main > 1)?;
    Some(PriceFraction {
        main: main as u8,
        sub: 0,
    })
}

/// MinTradeVol (562), MaxTradeVol (1140): 0 means unlimited.
fn quantity(value: Value<'_>) -> Quantity {
    match value.unsigned() {
        None | Some(0) => Quantity::NULL,
        Some(volume) => Quantity(volume as i64),
    }
}

/// MinLotSize (1231); none if it is not an integer number of contracts.
fn lot(value: Value<'_>) -> Quantity {
    match value {
        Value::Decimal { mantissa, .. } if mantissa > 0 && mantissa % 10_000 == 0 => {
            Quantity(mantissa / 10_000)
        }
        _ => Quantity::NULL,
    }
}

/// PutOrCall (201).
fn right(value: Value<'_>) -> Option<OptionRight> {
    match PutOrCall(value.unsigned()? as u8) {
        PutOrCall::PUT => Some(OptionRight::Put),
        PutOrCall::CALL => Some(OptionRight::Call),
        _ => None,
    }
}

/// A LocalMktDate, days since 1970, as `YYYYMMDD`.
fn date(days: u16) -> u32 {
    let mut room = [0; 27];
    let ns = u64::from(days) * 86_400_000_000_000;
    let text = touchline_wire::fix::write_timestamp(ns, Default::default(), &mut room);
    text[..8]
        .iter()
        .fold(0, |date, digit| date * 10 + u32::from(digit - b'0'))
}

/// A leg: LegSecurityID (602), LegRatioQty (623), LegSide (624).
fn leg(entry: &Fields<'_>) -> Leg {
    let sell = Some(u64::from(LegSide::SELL_SIDE.0));
    Leg {
        security_id: get(entry, 602).signed().unwrap_or_default(),
        ratio: get(entry, 623).signed().unwrap_or_default() as i32,
        side: match get(entry, 624).unsigned() == sell {
            true => Side::Ask,
            false => Side::Bid,
        },
    }
}
