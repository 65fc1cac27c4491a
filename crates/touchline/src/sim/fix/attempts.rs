//! Log of an initiator's connections and Logons: result, address and fix in one line each.

use super::InitiatorArguments;
use crate::log::{Log, events};
use crate::output::{Failure, say};
use touchline_lab::fix::{End, News};
use touchline_net::stream::Error;
use touchline_session::fix::DisconnectReason;

impl InitiatorArguments {
    /// Reports a connection event: a Logon on standard output, everything in the log.
    pub fn report(&self, news: &News, log: &mut Log) -> Result<(), Failure> {
        let host = ("host", self.connect.to_string().into());
        let (event, reason, retry) = match news {
            News::LoggedOn => {
                log.write(&events::LOGON, [("count", 1.into()), host]);
                let (sender, target) = (&self.sender, &self.target);
                return say(&format!(
                    "logged on to {} as {sender} for {target}\n",
                    self.connect
                ));
            }
            News::NoConnection(error, retry) => (
                &events::CONNECTION_FAILED,
                self.no_connection(*error),
                retry,
            ),
            News::Ended(end, retry) if end.was_up && end.why.is_none() => {
                (&events::CONNECTION_LOST, self.ended(end), retry)
            }
            News::Ended(end, retry) => (&events::CONNECTION_CLOSED, self.ended(end), retry),
        };
        let retry_ms = ("retry_ms", (retry.as_millis() as u64).into());
        log.write(event, [host, ("reason", reason.into()), retry_ms]);
        Ok(())
    }

    fn no_connection(&self, error: Error) -> String {
        match error {
            Error::Refused => {
                "connection refused: no process listens there; start the acceptor, or correct --connect"
                    .into()
            }
            Error::TimedOut => {
                "connection timed out after 5 s; check that the host is up, and that no firewall drops packets"
                    .into()
            }
            other => format!("{other}; correct --connect, or the route to it"),
        }
    }

    fn ended(&self, end: &End) -> String {
        let (sender, target) = (&self.sender, &self.target);
        let text = match end.text.as_str() {
            "" => String::new(),
            text => format!(" ({text})"),
        };
        if end.was_up {
            return match end.why {
                None => "connection reset or closed by the other side".to_owned(),
                Some(why) => format!("session ended: {why}{text}"),
            };
        }
        match end.why {
            None => format!(
                "connection closed instead of an answer to the Logon of {sender} for {target}; \
                 check that the acceptor has this session (--sender, --target) and accepts Logons from this address"
            ),
            Some(DisconnectReason::LogonRejected) => format!(
                "Logon of {sender} for {target} rejected{text}; correct --sender, --target or what the text names"
            ),
            Some(DisconnectReason::NoLogon) => format!(
                "Logon of {sender} for {target} not answered in time; check that a FIX acceptor listens there"
            ),
            Some(DisconnectReason::BadLogon | DisconnectReason::NotLogon) => format!(
                "the answer was not a Logon of {target} for {sender}; correct --sender, --target or --begin-string"
            ),
            Some(DisconnectReason::SequenceTooLow) => format!(
                "MsgSeqNum of {target} is lower than in the store{text}; leave out --keep-numbers and --store to start at 1"
            ),
            Some(why) => format!("no session of {sender} for {target}: {why}{text}"),
        }
    }
}
