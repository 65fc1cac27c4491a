//! Random faults of an exchange and of the transport to it, from a seed, with counts.

use crate::random::Random;
use std::fmt;
use std::str::FromStr;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A message is not sent although its number is used: a gap.
    Skip,
    /// A message is damaged.
    Malform(Malform),
    /// The connection is closed after a message, without a Logout.
    Disconnect,
    /// After a message the venue sends no byte for this number of seconds; the connection stays open.
    Silence(u64),
    /// After a message the venue reads no byte for this number of seconds, and sends one byte in each millisecond.
    Slow(u64),
    /// A snapshot is sent this number of milliseconds late, after changes that it contains.
    SnapshotLate(u64),
    /// A snapshot is not sent, but its changes are.
    SnapshotNever,
    /// A correct Logon is rejected.
    RefuseLogon,
    /// A correct request for market data is rejected.
    RefuseRequest,
}

/// Damage of a message. Except for the first two kinds, its length and checksum are correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malform {
    /// CheckSum (10) is wrong.
    Checksum,
    /// BodyLength (9) is too long by one.
    Length,
    /// A field with a tag that is not a number.
    Tag,
    /// SenderCompID (49) occurs twice.
    Header,
    /// NoMDEntries (268) is too high by one.
    Count,
}

/// A fault, and the share of messages, snapshots, Logons or requests that it affects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The fault.
    pub fault: Fault,
    /// Its share, 0 to 1.
    pub share: f64,
}

/// Counts of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// Messages not sent.
    pub skipped: u64,
    /// Damaged messages.
    pub malformed: u64,
    /// Closed connections.
    pub disconnected: u64,
    /// Periods without sending.
    pub silences: u64,
    /// Periods without reading.
    pub slow: u64,
    /// Late snapshots.
    pub snapshots_late: u64,
    /// Snapshots never sent.
    pub snapshots_never: u64,
    /// Rejected correct Logons.
    pub logons_refused: u64,
    /// Rejected correct requests.
    pub requests_refused: u64,
}

/// Active faults with their random numbers.
#[derive(Debug)]
pub struct Faults {
    random: Random,
    settings: Vec<Setting>,
    /// Counts of faults.
    pub happened: Happened,
}

impl Faults {
    /// These faults, with the random numbers of a seed.
    pub fn new(seed: u64, settings: Vec<Setting>) -> Faults {
        Faults {
            // Another random stream than the market's of the same seed.
            random: Random::from_seed(seed ^ 0x6661_756c_7473),
            settings,
            happened: Happened::default(),
        }
    }

    /// Adds a fault.
    pub fn add(&mut self, setting: Setting) {
        self.settings.push(setting);
    }

    /// Removes all faults.
    pub fn clear(&mut self) {
        self.settings.clear();
    }

    /// The first of the eligible faults that occurs now.
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
    /// Whether the fault affects messages in the transport.
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

    /// Whether the fault affects snapshots.
    pub fn is_of_snapshots(&self) -> bool {
        matches!(self, Fault::SnapshotLate(_) | Fault::SnapshotNever)
    }
}

impl Malform {
    /// The damaged message. Without NoMDEntries (268) its checksum is damaged instead of its count.
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

/// Bytes between BodyLength and CheckSum.
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

/// Error: a text is not a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Parses `KIND [HOW] SHARE [TIME]`, as in the simulator's help.
impl FromStr for Setting {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Setting, Refused> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let share = |text: &str| match text.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err(Refused(format!("{text:?} is not a share from 0 to 1"))),
        };
        let time = |text: &str| match text.parse() {
            Ok(time) if (1..=3_600_000).contains(&time) => Ok(time),
            _ => Err(Refused(format!("{text:?} is not a time from 1 to 3600000"))),
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
                    "{text:?} is not a fault; see --help for their names and parameters"
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
    fn each_kind_of_damage_does_what_its_name_says() {
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
    fn faults_are_read_back_and_invalid_ones_refused() {
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
    fn faults_occur_at_their_share_and_are_counted() {
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
