//! What a running simulator is told, a line each: faults, and a few orders beside them.
//!
//! ```text
//! drop LINE SHARE              delay LINE SHARE MIN_MS MAX_MS     replay ok|refuse|half|slow|close|silent
//! burst LINE SHARE MAX         corrupt LINE SHARE                 clear
//! both SHARE MAX               outage LINE SECONDS                reset
//! duplicate LINE SHARE         rate EVENTS                        truth
//! reorder LINE SHARE BY                                           quit
//! ```
//!
//! LINE is `a`, `b` or `ab`. Behind a fault may stand the feed that it is for, by CME's letters: `i`, `n`, `s` or
//! `smbo`; otherwise it is for all.

use super::stream::{Begin, Fault, Setting};
use crate::capture::{Feed, Line};
use crate::cme::replay_server::Behaviour;
use std::str::FromStr;

/// One line that was understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A fault on the lines.
    Fault(Setting),
    /// How the replay server behaves from now on.
    Replay(Behaviour),
    /// Lifts all faults, of the lines and of the replay server.
    Clear,
    /// So many events a second from now on; 0 leaves loops and heartbeats.
    Rate(f64),
    /// A channel reset.
    Reset,
    /// Writes the truth as it is now.
    Truth,
    /// Ends the exchange.
    Quit,
}

/// Why a line is refused: what is wrong and what would be right, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// How each fault is written.
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
            Refused("an empty line is no command; say for example `drop a 0.01`".to_owned())
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
            "clear" => Self::Clear,
            "reset" => Self::Reset,
            "truth" => Self::Truth,
            "quit" => Self::Quit,
            name => Self::Fault(words.setting(name)?),
        };
        match words.rest.first() {
            None => Ok(command),
            Some(word) => Err(words.refuse(format!("`{word}` is too much"))),
        }
    }
}

/// The words of a line that are still to be read, from the front.
struct Words<'a> {
    line: &'a str,
    rest: Vec<&'a str>,
    form: &'static str,
}

impl<'a> Words<'a> {
    fn setting(&mut self, name: &str) -> Result<Setting, Refused> {
        let form = FAULT_FORMS.iter().find(|(known, _)| *known == name);
        let Some((_, form)) = form else {
            let known: Vec<_> = FAULT_FORMS.iter().map(|(known, _)| *known).collect();
            return Err(Refused(format!(
                "`{}`: there is no command `{name}`; the faults are {}, the others replay, rate, clear, reset, truth, quit",
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
        let feeds = self.feeds()?;
        Ok(Setting {
            lines,
            feeds,
            fault,
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

    /// The feed that may stand at the end; all of them where none does.
    fn feeds(&mut self) -> Result<Vec<Feed>, Refused> {
        if self.rest.is_empty() {
            return Ok(Feed::ALL.to_vec());
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
        let word = self.next(name)?;
        match word.parse() {
            Ok(count @ 1..=1_000_000) => Ok(count),
            _ => Err(self.refuse(format!(
                "{name} is `{word}`, not a whole number from 1 to 1000000"
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
mod tests {
    use super::*;

    #[track_caller]
    fn fault(line: &str) -> (Fault, usize, usize) {
        match line.parse() {
            Ok(Command::Fault(setting)) => {
                (setting.fault, setting.lines.len(), setting.feeds.len())
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn each_command_is_understood() {
        let begin = Begin {
            share: 0.25,
            packets_max: 6,
        };
        for (line, expected) in [
            ("drop a 0.25", (Fault::Drop { share: 0.25 }, 1, 4)),
            (" DROP AB 1 I ", (Fault::Drop { share: 1.0 }, 2, 1)),
            ("burst b 0.25 6", (Fault::Burst { begin }, 1, 4)),
            ("both 0.25 6 smbo", (Fault::Both { begin }, 2, 1)),
            ("duplicate ab 0", (Fault::Duplicate { share: 0.0 }, 2, 4)),
            (
                "reorder a 0.5 3 n",
                (
                    Fault::Reorder {
                        share: 0.5,
                        by_max: 3,
                    },
                    1,
                    1,
                ),
            ),
            (
                "delay a .5 0.5 20",
                (
                    Fault::Delay {
                        share: 0.5,
                        min_ns: 500_000,
                        max_ns: 20_000_000,
                    },
                    1,
                    4,
                ),
            ),
            ("corrupt b 0.001", (Fault::Corrupt { share: 0.001 }, 1, 4)),
            (
                "outage a 1.5",
                (
                    Fault::Outage {
                        duration_ns: 1_500_000_000,
                    },
                    1,
                    4,
                ),
            ),
        ] {
            assert_eq!(fault(line), expected, "{line}");
        }
        for (line, expected) in [
            ("clear", Command::Clear),
            ("reset", Command::Reset),
            ("rate 0", Command::Rate(0.0)),
            ("truth", Command::Truth),
            ("Quit", Command::Quit),
            ("replay half", Command::Replay(Behaviour::Half)),
        ] {
            assert_eq!(line.parse(), Ok(expected), "{line}");
        }
    }

    #[test]
    fn a_wrong_line_is_answered_with_what_is_wrong_and_what_is_right() {
        for (line, words) in [
            ("", "an empty line"),
            ("drp a 0.1", "there is no command `drp`"),
            ("drop", "LINE is missing; write `drop LINE SHARE`"),
            ("drop c 0.1", "LINE is `c`, not a, b or ab"),
            ("drop a", "SHARE is missing"),
            ("drop a 1.01", "SHARE is `1.01`, not a number from 0 to 1"),
            ("drop a NaN", "SHARE is `NaN`"),
            ("drop a -0.1", "SHARE is `-0.1`"),
            ("drop a 0.1 x", "the feed is `x`, not i, n, s or smbo"),
            ("drop a 0.1 i i", "`i` is too much"),
            ("burst a 0.1 0", "MAX is `0`"),
            ("reorder a 0.1 1.5", "BY is `1.5`"),
            ("delay a 0.1 5 4", "MIN_MS is more than MAX_MS"),
            (
                "delay a 0.1 0 1e300",
                "MAX_MS is `1e300`, not a number from 0 to 604800000",
            ),
            ("outage a inf", "SECONDS is `inf`"),
            ("replay nice", "there is no behaviour `nice`"),
            ("clear all", "`all` is too much; leave the rest out"),
        ] {
            let refused = line.parse::<Command>().expect_err(line).to_string();
            assert!(refused.contains(words), "{line}: {refused}");
            assert_eq!(refused.lines().count(), 1, "{refused}");
        }
    }

    #[test]
    fn any_text_is_answered() {
        for seed in crate::random::seeds(2_000) {
            let mut random = crate::random::Random::from_seed(seed);
            let words = [
                "drop", "delay", "a", "ab", "0.5", "-1", "1e9", "outage", "é", "replay", "\u{0}",
                "i",
            ];
            let line: Vec<&str> = (0..random.below(7)).map(|_| *random.pick(&words)).collect();
            if let Err(refused) = line.join(" ").parse::<Command>() {
                assert_eq!(
                    refused.to_string().lines().count(),
                    1,
                    "seed {seed}: {refused}"
                );
            }
        }
    }
}
