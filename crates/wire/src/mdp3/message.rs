//! Messages of any template, read through the tables of the schema.

use super::generated::{TEMPLATES, check};
use super::{CheckedMessage, RawMessage};
use crate::sbe::{Malformed, Message, Template};

#[cfg(test)]
pub(super) mod tests;

/// The table of a template. `None` if it is not known.
fn template(id: u16) -> Option<&'static Template> {
    let index = TEMPLATES.binary_search_by_key(&id, |template| template.id);
    index.ok().map(|index| &TEMPLATES[index])
}

impl<'a> Message<'a> {
    /// Checks a message as a whole. `None` if the template is not known.
    ///
    /// # Errors
    /// A block or group that does not lie inside the message, is shorter than its template, or leaves bytes over.
    pub fn parse(raw: RawMessage<'a>) -> Result<Option<Self>, Malformed> {
        let header = raw.header;
        template(header.template_id)
            .map(|template| Self::split(template, header.block_length, header.version, raw.body))
            .transpose()
    }

    /// A message that was checked. `None` if the template is not known.
    pub fn of(message: CheckedMessage<'a>) -> Option<Self> {
        Self::parse(message.raw()).expect("a checked message has its block and groups")
    }

    /// Whether the template is known.
    pub fn is_known(template_id: u16) -> bool {
        template(template_id).is_some()
    }

    /// The check alone. A template that is not known has nothing to be checked.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    #[inline(always)]
    pub fn check(raw: RawMessage<'a>) -> Result<(), Malformed> {
        check(raw)
    }
}

/// As [`Message::check`], for the templates that have no view.
#[inline(never)]
pub(super) fn check_by_table(raw: RawMessage<'_>) -> Result<(), Malformed> {
    Message::parse(raw).map(drop)
}
