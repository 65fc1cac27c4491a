//! Framing: complete messages from received bytes.

use super::input::Input;
use super::link::Link;
use super::phase::State;
use super::{DisconnectReason, Store};
use touchline_wire::fix::{Frame, Message, frame, resync};

/// The next complete message. Garbage is skipped; before the Logon it ends the connection.
#[inline]
pub fn take<'a, S: Store>(link: &mut Link<S>, input: &'a Input) -> Option<Message<'a>> {
    let limits = link.settings().limits;
    loop {
        let state = link.phase().state();
        let is_new = matches!(state, State::Awaiting | State::LoggingOn);
        if !is_new && !link.phase().is_logged_on() {
            return None;
        }
        let most = match state {
            State::Awaiting => limits.logon_bytes_max,
            _ => limits.message_bytes_max,
        };
        let rest = input.rest();
        if rest.is_empty() {
            return None;
        }
        match frame(rest, most) {
            Ok(Frame::Whole(message)) => {
                input.skip(message.len());
                return Some(message);
            }
            Ok(Frame::Incomplete(_)) => return None,
            Err(_) if is_new => {
                link.count().messages_garbled += 1;
                link.close(DisconnectReason::NotLogon);
            }
            Err(_) => {
                let skipped = resync(rest, most)?;
                link.count().messages_garbled += 1;
                input.skip(skipped);
            }
        }
    }
}
