//! What became of an initiator's attempts to connect and log on: what, where, what to do, in one line each.

use super::InitiatorArguments;
use crate::output::{Failure, say};
use std::io::Write;
use touchline_lab::fix::{End, News};
use touchline_net::stream::Error;
use touchline_session::fix::DisconnectReason;

impl InitiatorArguments {
    /// Says what became of a connection.
    pub fn report(&self, news: &News) -> Result<(), Failure> {
        let (what, rest) = match news {
            News::LoggedOn => {
                let (sender, target) = (&self.sender, &self.target);
                return say(&format!(
                    "logged on to {} as {sender} for {target}\n",
                    self.connect
                ));
            }
            News::NoConnection(error, rest) => (self.no_connection(*error), rest),
            News::Ended(end, rest) => (self.ended(end), rest),
        };
        let rest = rest.as_secs_f64();
        // Where nobody can be told any more, it goes on all the same.
        let _ = writeln!(
            std::io::stderr(),
            "touchline: {}: {what}; next attempt in {rest} s",
            self.connect
        );
        Ok(())
    }

    fn no_connection(&self, error: Error) -> String {
        match error {
            Error::Refused => {
                "connection refused, nobody listens there; start the acceptor, or correct --connect"
                    .into()
            }
            Error::TimedOut => {
                "no connection within 5 s; check that the host is up, and no firewall in between"
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
                None => "connection closed by the other side".to_owned(),
                Some(why) => format!("session ended: {why}{text}"),
            };
        }
        match end.why {
            None => format!(
                "connection closed in place of an answer to the Logon of {sender} for {target}; \
                 check that it has this session (--sender, --target) and takes Logons from here"
            ),
            Some(DisconnectReason::LogonRejected) => format!(
                "Logon of {sender} for {target} refused{text}; correct --sender, --target or what the text names"
            ),
            Some(DisconnectReason::NoLogon) => format!(
                "Logon of {sender} for {target} not answered in time; check that a FIX acceptor listens there"
            ),
            Some(DisconnectReason::BadLogon | DisconnectReason::NotLogon) => format!(
                "no Logon of {target} for {sender} came back; correct --sender, --target or --begin-string"
            ),
            Some(DisconnectReason::SequenceTooLow) => format!(
                "MsgSeqNum of {target} is lower than in the store{text}; leave --keep-numbers and --store out to begin at 1"
            ),
            Some(why) => format!("no session of {sender} for {target}: {why}{text}"),
        }
    }
}
