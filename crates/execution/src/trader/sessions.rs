//! What order sessions say: their state and their messages into the core, the journal first, and incidents for the log.

use super::Incident;
use super::carry::Core;
use crate::edge::{Link, Output};
use crate::order_session::Said;
use crate::records::Record;
use crate::variant::Variant;
use touchline_fx::input::{Input, Session};
use touchline_fx::setup::Bank;
use touchline_types::ReceiveTime;

impl<O: Output, L: Link> Core<O, L> {
    /// What an order session says.
    pub fn said(&mut self, bank: Bank, said: Said, time: ReceiveTime) {
        if said == Said::Message {
            return self.report(bank, time);
        }
        let is_up = match said {
            Said::Up(_) => Some(true),
            Said::Down(..) => Some(false),
            _ => None,
        };
        let is_asked = self.sessions[bank].is_stopping();
        self.totals.sessions_lost += u64::from(is_up == Some(false) && !is_asked);
        let name = self.engine.setup().banks[bank].config.name.clone();
        if let Some(incident) = incident(name, said, is_asked) {
            self.incident(incident);
        }
        if let Some(is_up) = is_up {
            self.session(bank, is_up, time);
        }
    }

    fn session(&mut self, bank: Bank, is_up: bool, time: ReceiveTime) {
        self.wake(time);
        let at_ns = time.wall_ns;
        let record = Record::Session {
            at_ns,
            bank: bank as u16,
            is_up,
        };
        let appended = self.append(at_ns, &record);
        self.check(appended, time);
        let session = if is_up { Session::Up } else { Session::Down };
        self.handle(time, &Input::Orders(bank, session));
        #[cfg(test)]
        if is_up {
            self.send_unknown_again(bank, time);
        }
    }

    /// The message that a session handed out: in the journal before it changes anything.
    fn report(&mut self, bank: Bank, time: ReceiveTime) {
        self.wake(time);
        self.totals.reports += 1;
        self.banks[bank].reports += 1;
        let at_ns = time.wall_ns;
        let message = std::mem::take(self.sessions[bank].message_mut());
        let record = Record::Report {
            at_ns,
            bank: bank as u16,
            bytes: &message,
        };
        if !Variant::ReportNotJournaled.is_on() {
            // mutant: execution: a report is not in the journal
            let appended = self.append(at_ns, &record);
            self.check(appended, time);
        }
        self.handle(time, &Input::Orders(bank, Session::Message(&message)));
        *self.sessions[bank].message_mut() = message;
    }
}

/// The incident of what a session of a bank says, if it is one.
fn incident(bank: String, said: Said, is_asked: bool) -> Option<Incident> {
    let rejected = |bank, is_ours, text| Incident::Rejected {
        bank,
        is_ours,
        text,
    };
    Some(match said {
        Said::Nothing | Said::Message => return None,
        Said::Up(is_restarted) => Incident::SessionUp { bank, is_restarted },
        Said::Down(why, retry_ms) => Incident::SessionDown {
            bank,
            why,
            retry_ms: (!is_asked).then_some(retry_ms),
        },
        Said::NotConnected(why, retry_ms) => Incident::NotConnected {
            bank,
            why,
            retry_ms,
        },
        Said::Rejected(text) => rejected(bank, false, text),
        Said::Invalid(text) => rejected(bank, true, text),
        Said::Gap(first, last) => Incident::Gap { bank, first, last },
    })
}
