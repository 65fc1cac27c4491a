//! Framing: complete messages from received bytes.

use super::input::Input;
use super::link::Link;
use super::phase::State;
use super::{DisconnectReason, MessageTooLong, Store};
use touchline_wire::fix::{Frame, Malformed, Message, frame, resync, stated};

/// Consumes the next complete message.
#[inline]
pub fn take<'a, S: Store>(link: &mut Link<S>, input: &'a Input) -> Option<Message<'a>> {
    let message = next(link, input)?;
    input.skip(message.len());
    Some(message)
}

/// The next complete message. Garbage before it is skipped; before the Logon it ends the connection.
#[inline]
pub fn next<'a, S: Store>(link: &mut Link<S>, input: &'a Input) -> Option<Message<'a>> {
    loop {
        let rest = input.rest();
        if rest.is_empty() {
            return None;
        }
        let state = link.phase().state();
        let is_new = matches!(state, State::Awaiting | State::LoggingOn);
        if !is_new && !link.phase().is_logged_on() {
            return None;
        }
        let limits = &link.settings().limits;
        let most = match state {
            State::Awaiting => limits.logon_bytes_max,
            _ => limits.message_bytes_max,
        };
        match frame(rest, most) {
            Ok(Frame::Whole(message)) => return Some(message),
            Ok(Frame::Incomplete(_)) => return None,
            Err(Malformed::TooLong) => {
                too_long(link, input, is_new, most);
                return None;
            }
            Err(_) => garbled(link, input, is_new, most)?,
        }
    }
}

/// A message that is longer than the limit: noted, and skipped up to where the next one may begin, because its length may be
/// wrong. Before the Logon it ends the connection.
#[cold]
fn too_long<S: Store>(link: &mut Link<S>, input: &Input, is_new: bool, most: usize) {
    let Some((bytes, msg_type)) = stated(input.rest()) else {
        // The type of the message is not received yet.
        return;
    };
    let message = MessageTooLong::new(msg_type, bytes, most);
    link.note_too_long(message);
    if is_new {
        link.take_too_long();
        return link.close(DisconnectReason::TooLong(message));
    }
    input.skip(resync(input.rest(), most).unwrap_or(1));
}

/// Bytes that are not a message are skipped; before the Logon they end the connection. `None`: more bytes are needed.
#[cold]
fn garbled<S: Store>(link: &mut Link<S>, input: &Input, is_new: bool, most: usize) -> Option<()> {
    if is_new {
        link.count().messages_garbled += 1;
        link.close(DisconnectReason::NotLogon);
        return Some(());
    }
    let skipped = resync(input.rest(), most)?;
    // The rest of a message that was too long is counted with it.
    if !link.is_behind_too_long() {
        link.count().messages_garbled += 1;
    }
    input.skip(skipped);
    Some(())
}
