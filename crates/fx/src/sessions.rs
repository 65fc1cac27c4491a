//! Recorded sessions of the FX core: `session.txt` has one input a line, `time source payload`.
//!
//! | source | payload |
//! |---|---|
//! | `LP03.q` | the bank's pricing session: a FIX message with `\|` as the separator, or `!up`, `!down` |
//! | `LP03.q` | in recordings of a composer: `!quoted TIME MESSAGE`, a quote message with its receive time; `!taken TIME MESSAGE` and `!withdrawn MESSAGE`, which are not quote messages of the bank |
//! | `LP03.o` | the bank's order session, likewise |
//! | `-` | a JSON object of the desk |
//!
//! # Never
//! Contains a rule of the core; opens a file.
//!
//! # Path
//! [`LineReader`] reads a line as an input, [`Replay`] runs a session through the core. A live composer (crate `touchline-fx-live`) writes
//! such lines.
//!
//! # Tests
//! Recorded sessions with expected files, and random ones, are in `crates/fx/tests`; a composer's recordings in `crates/fx-live/tests`;
//! `fuzz` has a target.

mod desk;
mod replay;

pub use desk::{DeskError, read as read_desk};
pub use replay::{Replay, ReplayError};

use crate::input::{Input, Session};
use crate::setup::Setup;
use thiserror::Error;
use touchline_fx_events::setup::Bank;
use touchline_wire::fix::SOH;

/// Limit of times, so that later timers are representable.
const TIME_END_NS: u64 = 1 << 63;

/// An invalid line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LineError {
    /// Not three parts.
    #[error("not 'time source payload', with one space between them")]
    Form,
    /// Invalid time.
    #[error("'{0}' is not a time; give nanoseconds since 1970, before 2262")]
    Time(String),
    /// Neither a bank's session nor the desk.
    #[error("'{0}' is not a source; give '-', or a configured bank and '.q' or '.o'")]
    Source(String),
    /// `!` followed by another word.
    #[error("'{0}' is not a session event; give '!up' or '!down'")]
    Session(String),
    /// Invalid command of the desk.
    #[error(transparent)]
    Desk(#[from] DeskError),
}

/// Reader of lines, with reusable memory.
#[derive(Debug, Clone, Default)]
pub struct LineReader {
    message: Vec<u8>,
}

impl LineReader {
    /// Time and input of a line; none for an empty line or a comment.
    ///
    /// # Errors
    /// The line is invalid.
    pub fn read<'a>(
        &'a mut self,
        setup: &Setup,
        line: &str,
    ) -> Result<Option<(u64, Input<'a>)>, LineError> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let (time, rest) = line.split_once(' ').ok_or(LineError::Form)?;
        let (source, payload) = rest.split_once(' ').ok_or(LineError::Form)?;
        let is_number = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
        let at_ns = time
            .parse()
            .ok()
            .filter(|at_ns| is_number && *at_ns < TIME_END_NS);
        let at_ns = at_ns.ok_or_else(|| LineError::Time(time.to_owned()))?;
        if source == "-" {
            return Ok(Some((at_ns, Input::Desk(desk::read(setup, payload)?))));
        }
        let (bank, is_pricing) =
            source_of(setup, source).ok_or_else(|| LineError::Source(source.to_owned()))?;
        let session = match payload.strip_prefix('!') {
            Some("up") => Session::Up,
            Some("down") => Session::Down,
            Some("settled") if !is_pricing => Session::Settled,
            Some("doubted") if !is_pricing => Session::Doubted,
            Some("closing") if !is_pricing => Session::Closing,
            Some("closed") if !is_pricing => Session::Closed,
            Some(word) => {
                let session = self.recorded(word);
                session.ok_or_else(|| LineError::Session(payload.to_owned()))?
            }
            None => Session::Message(self.message(payload)),
        };
        let input = match is_pricing {
            true => Input::Pricing(bank, session),
            false => Input::Orders(bank, session),
        };
        Ok(Some((at_ns, input)))
    }
}

impl LineReader {
    /// Statement of a recording about a bus: a word, and a message.
    fn recorded(&mut self, payload: &str) -> Option<Session<'_>> {
        if let Some(message) = payload.strip_prefix("withdrawn ") {
            return Some(Session::Withdrawn(self.message(message)));
        }
        let (word, rest) = payload.split_once(' ')?;
        let (time, message) = rest.split_once(' ')?;
        let (at_ns, message) = (time.parse().ok()?, self.message(message));
        match word {
            "quoted" => Some(Session::QuotedAt(at_ns, message)),
            "taken" => Some(Session::TakenUp(at_ns, message)),
            _ => None,
        }
    }

    /// A message as received, with the separator of FIX.
    fn message(&mut self, text: &str) -> &[u8] {
        self.message.clear();
        let bytes = text.bytes();
        let bytes = bytes.map(|byte| if byte == b'|' { SOH } else { byte });
        self.message.extend(bytes);
        &self.message
    }
}

/// The bank, and whether it is its pricing session.
fn source_of(setup: &Setup, source: &str) -> Option<(Bank, bool)> {
    let (name, session) = source.rsplit_once('.')?;
    let is_pricing = match session {
        "q" => true,
        "o" => false,
        _ => return None,
    };
    Some((setup.bank(name)?, is_pricing))
}
