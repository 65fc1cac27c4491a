//! Definition of an instrument, one field a line.

use crate::format::{maturity, utc};
use std::fmt::{Display, Write};
use touchline_client::{Definition, Leg, OptionRight, SecurityType, Side};

/// The definition of an instrument; absent fields are left out.
pub fn details(definition: &Definition) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = writeln!(text, " {name:<20} {value}");
        }
    };
    let text_of = |text: &str| Some(text.to_owned());
    row("symbol", text_of(definition.symbol.as_str()));
    row("venue", text_of(definition.venue.as_str()));
    row("security id", shown(Some(definition.security_id)));
    row(
        "security type",
        text_of(definition.security_type.map_or("", SecurityType::name)),
    );
    row("product", text_of(definition.asset.as_str()));
    row("product group", text_of(definition.group.as_str()));
    row("currency", text_of(definition.currency.as_str()));
    row(
        "settled in",
        text_of(definition.settlement_currency.as_str()),
    );
    row("tick", shown(definition.tick));
    row("display factor", shown(definition.display_factor));
    row("quoted in", shown(definition.price_fraction));
    row("contract size", shown(definition.multiplier));
    row("lot", shown(definition.lot));
    row("smallest order", shown(definition.quantity_min));
    row("largest order", shown(definition.quantity_max));
    row(
        "maturity",
        (definition.maturity != 0).then(|| maturity(definition.maturity)),
    );
    let expiry = (definition.expiry_ns != 0).then(|| utc(definition.expiry_ns));
    row("trading ends", expiry);
    row("strike", shown(definition.strike));
    row(
        "right",
        text_of(definition.right.map_or("", OptionRight::name)),
    );
    row("underlying", shown(definition.underlying));
    row("upper price limit", shown(definition.high_limit));
    row("lower price limit", shown(definition.low_limit));
    row("status", status(definition));
    row("depth", Some(depth(definition)));
    for (number, leg) in definition.legs().iter().enumerate() {
        let does = match leg.side {
            Side::Bid => "buys",
            Side::Ask => "sells",
        };
        let name = format!("leg {} of {}", number + 1, definition.leg_count());
        let what = match leg.security_id {
            Leg::NO_SECURITY_ID => "an instrument that is not on this bus".to_owned(),
            security_id => security_id.to_string(),
        };
        row(&name, Some(format!("{does} {} of {what}", leg.ratio)));
    }
    if !definition.is_defined {
        text.push_str(" the venue has not defined it yet\n");
    }
    text
}

fn shown(value: Option<impl Display>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn status(definition: &Definition) -> Option<String> {
    match (definition.status_name(), definition.status) {
        (Some(name), _) => Some(name.to_owned()),
        (None, u8::MAX) => None,
        (None, code) => Some(format!("code {code}")),
    }
}

fn depth(definition: &Definition) -> String {
    let depth = definition.depth;
    match depth.is_all() {
        true => "every level".to_owned(),
        false => format!("{} direct, {} implied", depth.direct, depth.implied),
    }
}
