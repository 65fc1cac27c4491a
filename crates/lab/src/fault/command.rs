//! Commands to a running simulator, one a line: faults and others.
//!
//! ```text
//! drop LINE SHARE              delay LINE SHARE MIN_MS MAX_MS     replay ok|refuse|half|slow|close|silent
//! burst LINE SHARE MAX         corrupt LINE SHARE                 clear
//! both SHARE MAX               outage LINE SECONDS                reset
//! duplicate LINE SHARE         rate EVENTS                        truth
//! reorder LINE SHARE BY        clock SECONDS                      quit
//!
//! forge LINE NUMBER SECONDS    forge-snapshot LINE NUMBER SECONDS
//! old LINE COUNT               restart [SECONDS]
//! ```
//!
//! LINE is `a`, `b` or `ab`. A fault may end with its feed in CME's letters: `i`, `n`, `s` or `smbo`; the default is
//! all feeds, `i` for `forge`, and `s` for `forge-snapshot`. The faults of the first block are settings and stay until
//! they are cleared; `forge`, `forge-snapshot` and `old` send packets once. NUMBER is a packet number, or with a sign
//! an offset from the newest one.

use super::Forged;
use super::forger::{Forgery, Injected, Injection, STORED_PACKETS_MAX};
use super::stream::{Begin, Fault, Setting};
use crate::capture::{Feed, Line};
use crate::cme::replay_server::Behaviour;
use std::str::FromStr;

/// A parsed line.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A fault on the lines.
    Fault(Setting),
    /// Sends additional packets, once.
    Inject(Injection),
    /// Steps the venue's clock by this number of nanoseconds.
    Clock(i64),
    /// Restarts the exchange process, with a clock this number of nanoseconds from the host's.
    Restart(i64),
    /// Sets the behaviour of the replay server.
    Replay(Behaviour),
    /// Removes all faults, of the lines and of the replay server.
    Clear,
    /// Sets the number of events a second; at 0 there are cycles and heartbeats only.
    Rate(f64),
    /// A channel reset.
    Reset,
    /// Writes the current expected books.
    ExpectedBooks,
    /// Ends the exchange.
    Quit,
}

/// Reason of a refused line: the mistake and the fix, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// Syntax of each fault.
const FAULT_FORMS: [(&str, &str); 8] = [
    ("drop", "drop LINE SHARE"),
    ("burst", "burst LINE SHARE MAX"),
    ("both", "both SHARE MAX"),
    ("duplicate", "duplicate LINE SHARE"),
    ("reorder", "reorder LINE SHARE BY"),
    ("delay", "delay LINE SHARE MIN_MS MAX_MS"),
    ("corrupt", "corrupt LINE SHARE"),
    ("outage", "outage LINE SECONDS"),
];

/// Syntax of each injection.
const INJECTION_FORMS: [(&str, &str); 3] = [
    ("forge", "forge LINE NUMBER SECONDS"),
    ("forge-snapshot", "forge-snapshot LINE NUMBER SECONDS"),
    ("old", "old LINE COUNT"),
];

/// Names of the other commands.
const OTHERS: &str = "clock, restart, replay, rate, clear, reset, truth, quit";

/// Largest error of a clock in either direction: it reaches 1970 and the year 2089.
const OFF_SECONDS_MAX: f64 = 2e9;

/// Longest delay and outage, so that no time overflows: a week.
const SECONDS_MAX: f64 = 604_800.0;

impl FromStr for Command {
    type Err = Refused;

    fn from_str(line: &str) -> Result<Self, Refused> {
        let mut words = Words {
            line: line.trim(),
            rest: line.split_whitespace().collect(),
            form: "",
        };
        let name = words.next("a command").map_err(|_| {
            Refused("an empty line is not a command; write for example `drop a 0.01`".to_owned())
        })?;
        let command = match name.to_ascii_lowercase().as_str() {
            "replay" => {
                words.form = "replay ok|refuse|half|slow|close|silent";
                Self::Replay(words.behaviour()?)
            }
            "rate" => {
                words.form = "rate EVENTS";
                Self::Rate(words.rate()?)
            }
            "clock" => {
                words.form = "clock SECONDS";
                Self::Clock(words.off()?)
            }
            "restart" => {
                words.form = "restart [SECONDS]";
                let is_off = !words.rest.is_empty();
                Self::Restart(if is_off { words.off()? } else { 0 })
            }
            "clear" => Self::Clear,
            "reset" => Self::Reset,
            "truth" => Self::ExpectedBooks,
            "quit" => Self::Quit,
            name => match INJECTION_FORMS.iter().find(|(known, _)| *known == name) {
                Some((name, form)) => {
                    words.form = form;
                    Self::Inject(words.injection(name)?)
                }
                None => Self::Fault(words.setting(name)?),
            },
        };
        match words.rest.first() {
            None => Ok(command),
            Some(word) => Err(words.refuse(format!("`{word}` is too much"))),
        }
    }
}

/// The unread words of a line.
struct Words<'a> {
    line: &'a str,
    rest: Vec<&'a str>,
    form: &'static str,
}

impl<'a> Words<'a> {
    fn setting(&mut self, name: &str) -> Result<Setting, Refused> {
        let form = FAULT_FORMS.iter().find(|(known, _)| *known == name);
        let Some((_, form)) = form else {
            let known = FAULT_FORMS.iter().chain(&INJECTION_FORMS);
            let known: Vec<_> = known.map(|(known, _)| *known).collect();
            return Err(Refused(format!(
                "`{}`: there is no command `{name}`; the faults are {}, the others {OTHERS}",
                self.line,
                known.join(", ")
            )));
        };
        self.form = form;
        let lines = match name {
            "both" => Line::BOTH.to_vec(),
            _ => self.lines()?,
        };
        let fault = match name {
            "drop" => Fault::Drop {
                share: self.share()?,
            },
            "burst" => Fault::Burst {
                begin: self.begin()?,
            },
            "both" => Fault::Both {
                begin: self.begin()?,
            },
            "duplicate" => Fault::Duplicate {
                share: self.share()?,
            },
            "reorder" => Fault::Reorder {
                share: self.share()?,
                by_max: self.count("BY")?,
            },
            "delay" => self.delay()?,
            "corrupt" => Fault::Corrupt {
                share: self.share()?,
            },
            _ => Fault::Outage {
                duration_ns: self.time("SECONDS", 1e9)?,
            },
        };
        let feeds = self.feeds(&Feed::ALL)?;
        Ok(Setting {
            lines,
            feeds,
            fault,
        })
    }

    fn injection(&mut self, name: &str) -> Result<Injection, Refused> {
        let lines = self.lines()?;
        let (packets, feeds) = match name {
            "old" => {
                let count = self.whole("COUNT", STORED_PACKETS_MAX as u64)? as usize;
                (Injected::Old { count }, self.feeds(&Feed::ALL)?)
            }
            "forge" => {
                let forgery = self.forgery()?;
                let feeds = self.feeds(&[Feed::Incremental])?;
                (Injected::Heartbeat(forgery), feeds)
            }
            _ => {
                let forgery = self.forgery()?;
                let feeds = self.feeds(&[Feed::Snapshot])?;
                if let [Feed::Incremental | Feed::Definitions] = feeds[..] {
                    return Err(self.refuse("the feed has no snapshots, s and smbo do".to_owned()));
                }
                (Injected::Snapshot(forgery), feeds)
            }
        };
        Ok(Injection {
            lines,
            feeds,
            packets,
        })
    }

    fn forgery(&mut self) -> Result<Forgery, Refused> {
        Ok(Forgery {
            number: self.number()?,
            off_ns: self.off()?,
        })
    }

    fn delay(&mut self) -> Result<Fault, Refused> {
        let share = self.share()?;
        let (min_ns, max_ns) = (self.time("MIN_MS", 1e6)?, self.time("MAX_MS", 1e6)?);
        if min_ns > max_ns {
            return Err(self.refuse("MIN_MS is more than MAX_MS".to_owned()));
        }
        Ok(Fault::Delay {
            share,
            min_ns,
            max_ns,
        })
    }

    fn begin(&mut self) -> Result<Begin, Refused> {
        Ok(Begin {
            share: self.share()?,
            packets_max: self.count("MAX")?,
        })
    }

    fn lines(&mut self) -> Result<Vec<Line>, Refused> {
        let word = self.next("LINE")?;
        match word.to_ascii_lowercase().as_str() {
            "a" => Ok(vec![Line::A]),
            "b" => Ok(vec![Line::B]),
            "ab" => Ok(Line::BOTH.to_vec()),
            _ => Err(self.refuse(format!("LINE is `{word}`, not a, b or ab"))),
        }
    }

    /// The optional feed at the end; `otherwise` if absent.
    fn feeds(&mut self, otherwise: &[Feed]) -> Result<Vec<Feed>, Refused> {
        if self.rest.is_empty() {
            return Ok(otherwise.to_vec());
        }
        let word = self.next("FEED")?;
        let feed = Feed::ALL
            .into_iter()
            .find(|feed| feed.code().eq_ignore_ascii_case(word));
        feed.map(|feed| vec![feed])
            .ok_or_else(|| self.refuse(format!("the feed is `{word}`, not i, n, s or smbo")))
    }

    fn share(&mut self) -> Result<f64, Refused> {
        let word = self.next("SHARE")?;
        match word.parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err(self.refuse(format!("SHARE is `{word}`, not a number from 0 to 1"))),
        }
    }

    fn count(&mut self, name: &str) -> Result<u64, Refused> {
        self.whole(name, 1_000_000)
    }

    fn whole(&mut self, name: &str, most: u64) -> Result<u64, Refused> {
        let word = self.next(name)?;
        match word.parse() {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => Err(self.refuse(format!(
                "{name} is `{word}`, not a whole number from 1 to {most}"
            ))),
        }
    }

    /// A number, or with a sign an offset from the newest one; numbers wrap.
    fn number(&mut self) -> Result<Forged, Refused> {
        let word = self.next("NUMBER")?;
        let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
        let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        match (word.chars().next(), digits.parse::<u32>()) {
            (Some('+'), Ok(by)) if is_digits => Ok(Forged::By(by as i32)),
            (Some('-'), Ok(by)) if is_digits => Ok(Forged::By(by.wrapping_neg() as i32)),
            (_, Ok(number)) if is_digits => Ok(Forged::At(number)),
            _ => Err(self.refuse(format!(
                "NUMBER is `{word}`, not a number from 0 to {}, nor one with + or -",
                u32::MAX
            ))),
        }
    }

    /// Error of a clock, nanoseconds.
    fn off(&mut self) -> Result<i64, Refused> {
        let word = self.next("SECONDS")?;
        match word.parse::<f64>() {
            Ok(off) if off.abs() <= OFF_SECONDS_MAX => Ok((off * 1e9).round() as i64),
            _ => Err(self.refuse(format!(
                "SECONDS is `{word}`, not a number from -{OFF_SECONDS_MAX} to {OFF_SECONDS_MAX}"
            ))),
        }
    }

    fn time(&mut self, name: &str, unit_ns: f64) -> Result<u64, Refused> {
        let word = self.next(name)?;
        let most = SECONDS_MAX * 1e9 / unit_ns;
        match word.parse::<f64>() {
            Ok(time) if (0.0..=most).contains(&time) => Ok((time * unit_ns) as u64),
            _ => Err(self.refuse(format!("{name} is `{word}`, not a number from 0 to {most}"))),
        }
    }

    fn rate(&mut self) -> Result<f64, Refused> {
        let word = self.next("EVENTS")?;
        match word.parse::<f64>() {
            Ok(rate) if (0.0..=1e6).contains(&rate) => Ok(rate),
            _ => Err(self.refuse(format!(
                "EVENTS is `{word}`, not a number a second from 0 to 1000000"
            ))),
        }
    }

    fn behaviour(&mut self) -> Result<Behaviour, Refused> {
        let word = self.next("a behaviour")?;
        Behaviour::ALL
            .into_iter()
            .find(|behaviour| behaviour.name().eq_ignore_ascii_case(word))
            .ok_or_else(|| self.refuse(format!("there is no behaviour `{word}`")))
    }

    fn next(&mut self, what: &str) -> Result<&'a str, Refused> {
        if self.rest.is_empty() {
            return Err(self.refuse(format!("{what} is missing")));
        }
        Ok(self.rest.remove(0))
    }

    fn refuse(&self, what: String) -> Refused {
        let form = match self.form {
            "" => "leave the rest out".to_owned(),
            form => format!("write `{form}`"),
        };
        Refused(format!("`{}`: {what}; {form}", self.line))
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests;
