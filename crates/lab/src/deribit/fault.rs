//! What an exchange or the way to it may do wrong, by chance, from a seed; and how often it did.

use crate::random::Random;
use std::fmt;
use std::str::FromStr;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A message is not sent, and its number is used: a gap.
    Skip,
    /// A message is damaged.
    Malform(Malform),
    /// The connection is closed behind a message, without a word.
    Disconnect,
    /// From a message on nothing is sent for so many seconds; the connection stands.
    Silence(u64),
    /// From a message on nothing is read for so many seconds, and one byte is sent in each millisecond.
    Slow(u64),
    /// A snapshot comes so many milliseconds late, behind changes that it contains.
    SnapshotLate(u64),
    /// A snapshot does not come, and changes do.
    SnapshotNever,
    /// A right Logon is refused.
    RefuseLogon,
    /// A right request for market data is refused.
    RefuseRequest,
}

/// What is wrong with a message. But for the first two its length and checksum are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malform {
    /// CheckSum (10) is another number.
    Checksum,
    /// BodyLength (9) is too long by one.
    Length,
    /// A field whose tag is no number.
    Tag,
    /// SenderCompID (49) stands twice.
    Header,
    /// NoMDEntries (268) is too high by one.
    Count,
}

/// A fault, and the share of messages, snapshots, Logons or requests that it strikes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// What.
    pub fault: Fault,
    /// How often, 0 to 1.
    pub share: f64,
}

/// How often each fault happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// Messages that were not sent.
    pub skipped: u64,
    /// Messages that were damaged.
    pub malformed: u64,
    /// Connections that were closed.
    pub disconnected: u64,
    /// Times that nothing was sent for a while.
    pub silences: u64,
    /// Times that nothing was read for a while.
    pub slow: u64,
    /// Snapshots that came late.
    pub snapshots_late: u64,
    /// Snapshots that never came.
    pub snapshots_never: u64,
    /// Logons that were refused though they were right.
    pub logons_refused: u64,
    /// Requests that were refused though they were right.
    pub requests_refused: u64,
}

/// The faults that are set, and their chance.
#[derive(Debug)]
pub struct Faults {
    random: Random,
    settings: Vec<Setting>,
    /// How often each happened.
    pub happened: Happened,
}

impl Faults {
    /// These faults, with the chance of a seed.
    pub fn new(seed: u64, settings: Vec<Setting>) -> Faults {
        Faults {
            // Another stream than the market's of the same seed.
            random: Random::from_seed(seed ^ 0x6661_756c_7473),
            settings,
            happened: Happened::default(),
        }
    }

    /// One more fault.
    pub fn add(&mut self, setting: Setting) {
        self.settings.push(setting);
    }

    /// No faults any more.
    pub fn clear(&mut self) {
        self.settings.clear();
    }

    /// The first fault of those that `may` strike which does strike now.
    pub fn strike(&mut self, may: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let Faults {
            random, settings, ..
        } = self;
        let strikes = |setting: &&Setting| may(&setting.fault) && random.chance(setting.share);
        let struck = settings.iter().find(strikes).map(|setting| setting.fault);
        if let Some(fault) = struck {
            *self.count(fault) += 1;
        }
        struck
    }

    fn count(&mut self, fault: Fault) -> &mut u64 {
        let happened = &mut self.happened;
        match fault {
            Fault::Skip => &mut happened.skipped,
            Fault::Malform(_) => &mut happened.malformed,
            Fault::Disconnect => &mut happened.disconnected,
            Fault::Silence(_) => &mut happened.silences,
            Fault::Slow(_) => &mut happened.slow,
            Fault::SnapshotLate(_) => &mut happened.snapshots_late,
            Fault::SnapshotNever => &mut happened.snapshots_never,
            Fault::RefuseLogon => &mut happened.logons_refused,
            Fault::RefuseRequest => &mut happened.requests_refused,
        }
    }
}

impl Fault {
    /// Whether it strikes messages on their way.
    pub fn is_of_the_transport(&self) -> bool {
        matches!(
            self,
            Fault::Skip
                | Fault::Malform(_)
                | Fault::Disconnect
                | Fault::Silence(_)
                | Fault::Slow(_)
        )
    }

    /// Whether it strikes snapshots.
    pub fn is_of_snapshots(&self) -> bool {
        matches!(self, Fault::SnapshotLate(_) | Fault::SnapshotNever)
    }
}

impl Malform {
    /// The message with its damage. One without NoMDEntries (268) is damaged in its checksum in place
    /// of its count.
    pub fn apply(self, message: &[u8]) -> Vec<u8> {
        let body = body(message);
        match self {
            Malform::Checksum => wrong_checksum(message),
            Malform::Length => framed(&body, 1),
            Malform::Tag => framed(&[&body[..], b"x5=1\x01"].concat(), 0),
            Malform::Header => framed(&[&body[..], b"49=TWICE\x01"].concat(), 0),
            Malform::Count => match position(&body, b"\x01268=") {
                None => wrong_checksum(message),
                Some(at) => {
                    let (before, count) = body.split_at(at + b"\x01268=".len());
                    let end = position(count, b"\x01").unwrap_or(count.len());
                    let number = String::from_utf8_lossy(&count[..end]);
                    let number = number.parse().map_or(1, |count: u64| count + 1);
                    let number = number.to_string();
                    framed(&[before, number.as_bytes(), &count[end..]].concat(), 0)
                }
            },
        }
    }
}

/// What stands between BodyLength and CheckSum.
fn body(message: &[u8]) -> Vec<u8> {
    let begin = position(message, b"\x0135=").map_or(0, |at| at + 1);
    let end = message.len().saturating_sub(b"10=000\x01".len());
    message.get(begin..end).unwrap_or_default().to_vec()
}

fn framed(body: &[u8], too_long: usize) -> Vec<u8> {
    let length = body.len() + too_long;
    let mut message = format!("8=FIX.4.4\x019={length}\x01").into_bytes();
    message.extend(body);
    let sum = message
        .iter()
        .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    message.extend(format!("10={sum:03}\x01").bytes());
    message
}

fn wrong_checksum(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    if let Some(at) = message.len().checked_sub(2) {
        message[at] = if message[at] == b'9' {
            b'0'
        } else {
            message[at] + 1
        };
    }
    message
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Why a text is no fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// `KIND [HOW] SHARE [TIME]`, as the simulator's help lists them.
impl FromStr for Setting {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Setting, Refused> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let share = |text: &str| match text.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err(Refused(format!("{text:?} is no share from 0 to 1"))),
        };
        let time = |text: &str| match text.parse() {
            Ok(time) if (1..=3_600_000).contains(&time) => Ok(time),
            _ => Err(Refused(format!("{text:?} is no time from 1 to 3600000"))),
        };
        let (fault, share) = match words[..] {
            ["skip", often] => (Fault::Skip, share(often)?),
            ["malform", how, often] => (Fault::Malform(how.parse()?), share(often)?),
            ["disconnect", often] => (Fault::Disconnect, share(often)?),
            ["silence", often, seconds] => (Fault::Silence(time(seconds)?), share(often)?),
            ["slow", often, seconds] => (Fault::Slow(time(seconds)?), share(often)?),
            ["snapshot-late", often, ms] => (Fault::SnapshotLate(time(ms)?), share(often)?),
            ["snapshot-never", often] => (Fault::SnapshotNever, share(often)?),
            ["refuse-logon", often] => (Fault::RefuseLogon, share(often)?),
            ["refuse-request", often] => (Fault::RefuseRequest, share(often)?),
            _ => {
                return Err(Refused(format!(
                    "{text:?} is no fault; see --help for their names and what follows them"
                )));
            }
        };
        Ok(Setting { fault, share })
    }
}

impl FromStr for Malform {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Malform, Refused> {
        match text {
            "checksum" => Ok(Malform::Checksum),
            "length" => Ok(Malform::Length),
            "tag" => Ok(Malform::Tag),
            "header" => Ok(Malform::Header),
            "count" => Ok(Malform::Count),
            _ => Err(Refused(format!(
                "{text:?} is none of checksum, length, tag, header, count"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_wire::fix::{Frame, frame};

    const MESSAGE: &[u8] =
        b"8=FIX.4.4\x019=37\x0135=X\x0149=A\x0156=B\x0134=9\x01268=9\x01279=0\x0155=C\x0110=143\x01";

    fn right() -> Vec<u8> {
        framed(&body(MESSAGE), 0)
    }

    #[test]
    fn each_damage_is_the_one_that_it_is_called() {
        assert!(matches!(frame(&right(), 1_000), Ok(Frame::Whole(_))));
        let has = |bytes: &[u8], part: &[u8]| position(bytes, part).is_some();
        for (malform, is_framed, part) in [
            (Malform::Checksum, false, &b"268=9"[..]),
            (Malform::Length, false, b"268=9"),
            (Malform::Tag, true, b"\x01x5=1\x01"),
            (Malform::Header, true, b"\x0149=TWICE\x01"),
            (Malform::Count, true, b"\x01268=10\x01"),
        ] {
            let damaged = malform.apply(&right());
            assert_ne!(damaged, right());
            assert!(has(&damaged, part), "{malform:?}");
            let is_whole = matches!(frame(&damaged, 1_000), Ok(Frame::Whole(_)));
            assert_eq!(is_whole, is_framed, "{malform:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_none_is_refused() {
        for (text, fault, share) in [
            ("skip 0.5", Fault::Skip, 0.5),
            ("malform count 1", Fault::Malform(Malform::Count), 1.0),
            ("silence 0.1 5", Fault::Silence(5), 0.1),
            ("snapshot-late 1 300", Fault::SnapshotLate(300), 1.0),
        ] {
            assert_eq!(text.parse(), Ok(Setting { fault, share }));
        }
        for wrong in [
            "",
            "skip",
            "skip 2",
            "skip x",
            "malform x 1",
            "silence 1 0",
            "skip 1 1",
        ] {
            assert!(wrong.parse::<Setting>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_share_is_a_share_and_is_counted() {
        let settings = vec![Setting {
            fault: Fault::Skip,
            share: 0.25,
        }];
        let mut faults = Faults::new(1, settings);
        let struck = (0..10_000)
            .filter(|_| faults.strike(Fault::is_of_the_transport).is_some())
            .count() as u64;
        assert!((2_200..2_800).contains(&struck), "{struck}");
        assert_eq!(faults.happened.skipped, struck);
        assert_eq!(faults.strike(Fault::is_of_snapshots), None);
        faults.clear();
        assert_eq!(faults.strike(Fault::is_of_the_transport), None);
    }
}
