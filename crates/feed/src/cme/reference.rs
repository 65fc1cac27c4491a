//! Reference data from definition messages.
//!
//! Source: CME, MDP 3.0 - Security Definition (FIX tags in brackets below), and the schema of the messages.

use touchline_types::{
    Code, DisplayFactor, Leg, Legs, OptionRight, Price, PriceFraction, Quantity, SecurityType, Side,
};
use touchline_wire::mdp3::{LegSide, MaturityMonthYear, PutOrCall};
use touchline_wire::sbe::{Decimal, Text};

/// Venue name in every definition: with the SecurityID it identifies an instrument on every bus.
pub(super) fn venue() -> Code {
    Code::lossy(b"cme")
}

/// LotType (1093) of round lots.
pub(super) const ROUND_LOT: i8 = 2;

/// Reference data of a definition message, as [`ReferenceData`](touchline_types::ReferenceData): the fields of all
/// templates, and the groups that this template has.
macro_rules! reference {
    ($message:ident, $template:expr, [$($part:ident)*]) => {{
        let mut reference = ReferenceData {
            venue: reference::venue(),
            security_type: Some(reference::security_type(
                $template,
                $message.security_type(),
                $message.cfi_code(),
            )),
            currency: reference::code($message.currency()),
            display_factor: reference::display_factor($message.display_factor()),
            quantity_min: reference::quantity($message.min_trade_vol()),
            quantity_max: reference::quantity($message.max_trade_vol()),
            high_limit: reference::price($message.high_limit_price()),
            low_limit: reference::price($message.low_limit_price()),
            status: $message.md_security_trading_status().map_or(u8::MAX, |status| status.0),
            expiry_ns: $message
                .no_events()
                .iter()
                .find(|event| event.event_type() == EventType::LAST_ELIGIBLE_TRADE_DATE)
                .map_or(0, |event| event.event_time()),
            ..ReferenceData::NULL
        };
        $(part!($part, $message, reference);)*
        reference
    }};
}

/// Groups that only some templates have.
macro_rules! part {
    (contract, $message:ident, $reference:ident) => {
        $reference.settlement_currency = reference::code($message.settl_currency());
        $reference.multiplier = reference::price($message.unit_of_measure_qty());
    };
    (fraction, $message:ident, $reference:ident) => {
        $reference.price_fraction =
            reference::fraction($message.main_fraction(), $message.sub_fraction());
    };
    (month, $message:ident, $reference:ident) => {
        $reference.maturity = reference::month($message.maturity_month_year());
    };
    (date, $message:ident, $reference:ident) => {
        $reference.maturity = $message.maturity_date().map_or(0, reference::date);
    };
    (lot, $message:ident, $reference:ident) => {
        let mut rules = $message.no_lot_type_rules().iter();
        $reference.lot = rules
            .find(|rule| rule.lot_type() == reference::ROUND_LOT)
            .map_or(Quantity::NULL, |rule| reference::lot(rule.min_lot_size()));
    };
    (option, $message:ident, $reference:ident) => {
        $reference.strike = reference::price($message.strike_price());
        $reference.right = reference::right($message.put_or_call());
        let mut underlyings = $message.no_underlyings().iter();
        $reference.underlying = underlyings
            .next()
            .map(|underlying| i64::from(underlying.underlying_security_id()));
    };
    (legs, $message:ident, $reference:ident) => {
        $reference.legs = reference::legs(
            $message
                .no_legs()
                .iter()
                .map(|leg| (leg.leg_security_id(), leg.leg_ratio_qty(), leg.leg_side())),
        );
    };
}

pub(super) use {part, reference};

/// Security type: from the template, and for templates of several types from SecurityType (167) and CFICode (461).
pub(super) fn security_type(template: u16, name: Text<'_>, cfi: Text<'_>) -> SecurityType {
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
pub(super) fn code(text: Text<'_>) -> Code {
    Code::new(text.as_bytes()).unwrap_or_default()
}

/// A reference price; null if out of range.
pub(super) fn price<const EXPONENT: i8>(price: impl Into<Option<Decimal<EXPONENT>>>) -> Price {
    let price = price.into().map(|price| price.mantissa);
    price
        .and_then(|mantissa| Price::from_decimal(mantissa, EXPONENT))
        .unwrap_or(Price::NULL)
}

/// DisplayFactor (9787), exact.
pub(super) fn display_factor<const EXPONENT: i8>(
    factor: Decimal<EXPONENT>,
) -> Option<DisplayFactor> {
    let denominator = 10_u64.pow(u32::from(EXPONENT.unsigned_abs()));
    DisplayFactor::new(u64::try_from(factor.mantissa).ok()?, denominator)
}

/// MainFraction (37702), SubFraction (37703).
pub(super) fn fraction(main: Option<u8>, sub: Option<u8>) -> Option<PriceFraction> {
    let main = main.filter(|main| *main > 1)?;
    Some(PriceFraction {
        main,
        sub: sub.unwrap_or(0),
    })
}

/// MinTradeVol (562), MaxTradeVol (1140): 0 is no limit.
pub(super) fn quantity(volume: u32) -> Quantity {
    match volume {
        0 => Quantity::NULL,
        volume => Quantity(volume.into()),
    }
}

/// MinLotSize (1231); none if it is not an integer number of contracts.
pub(super) fn lot(size: Option<Decimal<-4>>) -> Quantity {
    match size {
        Some(size) if size.mantissa > 0 && size.mantissa % 10_000 == 0 => {
            Quantity(size.mantissa / 10_000)
        }
        _ => Quantity::NULL,
    }
}

/// PutOrCall (201).
pub(super) fn right(right: PutOrCall) -> Option<OptionRight> {
    match right {
        PutOrCall::PUT => Some(OptionRight::Put),
        PutOrCall::CALL => Some(OptionRight::Call),
        _ => None,
    }
}

/// MaturityMonthYear (200) as `YYYYMMDD`, with day 00 for a month; 0 if absent.
pub(super) fn month(maturity: MaturityMonthYear) -> u32 {
    let (Some(year), Some(month)) = (maturity.year, maturity.month) else {
        return 0;
    };
    u32::from(year) * 10_000 + u32::from(month) * 100 + u32::from(maturity.day.unwrap_or(0))
}

/// A LocalMktDate, days since 1970, as `YYYYMMDD`.
pub(super) fn date(days: u16) -> u32 {
    let mut room = [0; 27];
    let ns = u64::from(days) * 86_400_000_000_000;
    let text = touchline_wire::fix::write_timestamp(ns, Default::default(), &mut room);
    text[..8]
        .iter()
        .fold(0, |date, digit| date * 10 + u32::from(digit - b'0'))
}

/// The legs: LegSecurityID (602), LegRatioQty (623), LegSide (624).
pub(super) fn legs(stated: impl Iterator<Item = (i32, i8, LegSide)>) -> Legs {
    let mut legs = Legs::NONE;
    for (security_id, ratio, side) in stated {
        legs.push(Leg {
            security_id: security_id.into(),
            ratio: ratio.into(),
            side: match side {
                LegSide::SELL_SIDE => Side::Ask,
                _ => Side::Bid,
            },
        });
    }
    legs
}
