//! Texts of incidents of an order session: printable, shortened, without our password.

use crate::execution::config::Reset;
use touchline_session::Secret;
use touchline_session::fix::SequenceFault;
use touchline_types::text::is_visible;
use touchline_wire::fix::{Message, tag, unsigned};

/// Longest text of a bank in an incident.
const TEXT_BYTES_MAX: usize = 200;

/// A failure that repeats, with the message that causes it, and what to change.
pub(super) fn repeated(
    why: String,
    count: u32,
    evidence: &str,
    numbers: Option<SequenceFault>,
    reset: Reset,
) -> String {
    let mut text = format!("{why}; for the same reason {count} times in a row");
    if !evidence.is_empty() {
        text.push_str(&format!("; the bank sends {evidence}"));
    }
    if numbers.is_some() && reset == Reset::Never {
        text.push_str(
            "; if the bank's numbers begin again at 1 at its end of day, give its hours with reset = \"session\", or set reset = \"logon\" in its [[sessions]]",
        );
    }
    text
}

/// A text of the bank, unless it contains our password.
pub(super) fn withheld(text: String, password: Option<&Secret>) -> String {
    match password.is_some_and(|password| password.stands_in(text.as_bytes())) {
        true => "a text with our password, withheld".to_owned(),
        false => text,
    }
}

/// Text of a Reject (35=3), with the fields that identify the rejected message: its number and type, the tag, the
/// reason.
pub(super) fn reject_of(message: &Message<'_>) -> String {
    let mut text = text_of(message);
    for field in message.fields().map_while(Result::ok) {
        if matches!(
            field.tag,
            tag::REF_SEQ_NUM | tag::REF_TAG_ID | tag::REF_MSG_TYPE | tag::SESSION_REJECT_REASON
        ) && text.len() < 2 * TEXT_BYTES_MAX
        {
            let value = String::from_utf8_lossy(&field.value[..field.value.len().min(32)]);
            text.push_str(&format!(" {}={value}", field.tag));
        }
    }
    text.retain(is_visible);
    text.trim_start().to_owned()
}

/// Text (58) of a message, truncated and restricted to printable characters.
pub(super) fn text_of(message: &Message<'_>) -> String {
    let mut fields = message.fields().map_while(Result::ok);
    let text = fields.find(|field| field.tag == tag::TEXT);
    let text = text.map_or(&b""[..], |field| field.value);
    let text = String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]);
    text.chars().filter(|letter| is_visible(*letter)).collect()
}

/// Number of a message (34).
pub fn number_of(message: &Message<'_>) -> Option<u64> {
    let mut fields = message.fields().map_while(Result::ok);
    let number = fields.find(|field| field.tag == tag::MSG_SEQ_NUM)?;
    unsigned(number.value).ok()
}

/// The fields that name a message: type, number, ClOrdID, ExecID.
pub fn names_of(message: &Message<'_>) -> String {
    let mut text = String::new();
    for field in message.fields().map_while(Result::ok) {
        if matches!(field.tag, 35 | 34 | 11 | 17) && text.len() < TEXT_BYTES_MAX {
            let value = String::from_utf8_lossy(&field.value[..field.value.len().min(64)]);
            text.push_str(&format!("{}={value} ", field.tag));
        }
    }
    text.retain(is_visible);
    text.trim_end().to_owned()
}
