//! Whole messages out of what was received, and what is skipped.

use super::core::{Core, State};
use super::input::Input;
use super::{DisconnectReason, Store};
use touchline_wire::fix::{Frame, Message, frame, resync};

impl<S: Store> Core<S> {
    /// The next whole message. What is none is skipped; before the Logon it ends the connection.
    pub fn take<'a>(&mut self, input: &'a Input) -> Option<Message<'a>> {
        let limits = self.settings.limits;
        loop {
            let is_new = matches!(self.state, State::Awaiting | State::LoggingOn);
            if !is_new && !self.is_logged_on() {
                return None;
            }
            let most = match self.state {
                State::Awaiting => limits.logon_bytes_max,
                _ => limits.message_bytes_max,
            };
            let rest = input.rest();
            match frame(rest, most) {
                Ok(Frame::Whole(message)) => {
                    input.skip(message.len());
                    return Some(message);
                }
                Ok(Frame::Incomplete(_)) => return None,
                Err(_) if is_new => {
                    self.counters.messages_garbled += 1;
                    self.close(DisconnectReason::NotLogon);
                }
                Err(_) => {
                    let skipped = resync(rest, most)?;
                    self.counters.messages_garbled += 1;
                    input.skip(skipped);
                }
            }
        }
    }
}
