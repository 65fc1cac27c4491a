//! Packets and messages as a person wants to read them: a line per packet, message and group entry.

use super::{Message, Packet, RawMessage};
use crate::sbe::calendar::write_time;
use crate::sbe::value::Lines;
use core::fmt;

/// ```text
/// packet 1044422 sent 2022-08-01T15:31:10.041719045Z
///   MDIncrementalRefreshBook46(46) TransactTime=... MatchEventIndicator=LastQuoteMsg|EndOfEvent
///     NoMDEntries[1] MDEntryPx=4500.25 MDEntrySize=12 ...
/// ```
///
/// Entries are counted from 1, as the venue's own references to them are.
impl fmt::Display for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {} sent ", self.header.sequence)?;
        write_time(f, self.header.sending_time_ns)?;
        self.messages()
            .try_for_each(|message| write!(f, "\n  {}", message.raw()))
    }
}

/// The message line and its entry lines. An unreadable template or body is printed as such.
impl fmt::Display for RawMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Message::parse(*self) {
            Ok(Some(message)) => write!(f, "{message}"),
            Ok(None) => write!(
                f,
                "unknown template({}) version={} bytes={}",
                self.header.template_id,
                self.header.version,
                self.body.len()
            ),
            Err(malformed) => write!(f, "malformed({}) {malformed}", self.header.template_id),
        }
    }
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.template_id())?;
        self.visit(&mut Lines {
            f,
            entry_begins: "\n    ",
        })
    }
}
