//! Fields of a bank's messages beside the quotes, and the instruments.

use super::requests::Requests;
use super::settings::Settings;
use crate::ReceiveTime;
use touchline_instruments::Instruments;
use touchline_session::Secret;
use touchline_session::fix::printed_message;
use touchline_types::{Code, Depth, Id, PacketInfo, Price, ReferenceData, SecurityType, Symbol};
use touchline_wire::fix::{Header, Message, tag};

/// Head of a quote message.
pub(super) fn info(header: &Header<'_>, time: ReceiveTime) -> PacketInfo {
    PacketInfo {
        sequence: header.msg_seq_num.unwrap_or(0),
        sending_ns: header.sending_time_ns.unwrap_or(0),
        receive_ns: time.wall_ns,
    }
}

/// A text of the bank, unless it contains our password.
pub(super) fn withheld(text: String, password: Option<&Secret>) -> String {
    match password.is_some_and(|password| password.stands_in(text.as_bytes())) {
        true => "a text with our password, withheld".to_owned(),
        false => text,
    }
}

/// The pair of a request that the bank rejects.
pub(super) fn rejected_pair(requests: Requests, message: &Message<'_>) -> Option<usize> {
    let mut fields = message.fields().filter_map(Result::ok);
    let id = fields.find(|field| {
        matches!(
            field.tag,
            tag::MD_REQ_ID | tag::QUOTE_REQ_ID | tag::BUSINESS_REJECT_REF_ID
        )
    });
    requests.pair_of(id?.value)
}

/// QuoteID of a mass quote that asks for an acknowledgement.
pub(super) fn quote_id(message: &Message<'_>) -> Option<Id> {
    if message.msg_type() != b"i" {
        return None;
    }
    let mut fields = message.fields().filter_map(Result::ok);
    let id = fields.find(|field| field.tag == tag::QUOTE_ID)?;
    Id::new(id.value)
}

/// Text (58) of a message, shortened.
pub(super) fn text(message: &Message<'_>) -> String {
    let mut fields = message.fields().map_while(Result::ok);
    let text = fields.find(|field| field.tag == tag::TEXT);
    let text = text.map_or(&b""[..], |field| field.value);
    printed_message(&text[..text.len().min(200)])
}

/// The instruments: one for each configured pair.
pub(super) fn named(settings: &Settings) -> Instruments {
    let mut instruments = Instruments::by_symbol(settings.bank, settings.instruments_max);
    for pair in &settings.stream.setup().pairs {
        let depth = Depth {
            direct: Depth::ALL,
            implied: 0,
        };
        let symbol = pair.config.symbol.as_bytes();
        let Some(instrument) = instruments.add_symbol(symbol, depth) else {
            continue;
        };
        let definition = instruments.definition_mut(instrument);
        definition.defined = true;
        definition.asset = Symbol::new(pair.base.as_str().as_bytes());
        definition.tick = touchline_fx::ladder::price_of(1, pair.config.precision);
        definition.reference = ReferenceData {
            security_type: Some(SecurityType::Spot),
            currency: Code::lossy(symbol.rsplit(|byte| *byte == b'/').next().unwrap_or(b"")),
            multiplier: Price(1_000_000_000),
            ..definition.reference
        };
    }
    instruments
}
