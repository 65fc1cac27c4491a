//! Scenarios of a FIX session: steps of a tester, and expected answers.
//!
//! One step a line: `iCONNECT`, `iDISCONNECT`, `eDISCONNECT`, `I` and `E` with a message to send or to expect, `#` a
//! comment; `i2,CONNECT` and so on for a second connection. `<TIME>` and `<TIME+n>` are the current second, or another.
//! Fields end with 0x01, or with `|` in a file without 0x01. This is the format of QuickFIX's published acceptance
//! tests. An extension of ours: `wait N` advances time by N seconds.
//!
//! Messages are compared field by field, in any order, without length, checksum, Text (58), the digits of times, and
//! the TestReqID, which engines choose; 16=0 matches any EndSeqNo, and a Reject may have a tag (371) that is not
//! expected.

use touchline_session::fix::Role;
use touchline_wire::fix::{Precision, write_timestamp};

/// One step, with its connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The tester connects, or accepts a connection.
    Connect(u8),
    /// The tester drops the connection.
    Drop(u8),
    /// The tester sends this message.
    Say(u8, Vec<u8>),
    /// This message must arrive.
    Expect(u8, Vec<u8>),
    /// The connection must be closed without a further message.
    ExpectEnd(u8),
    /// Time advances by this number of seconds.
    Wait(u64),
}

/// A scenario: steps with line numbers.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The steps.
    pub steps: Vec<(usize, Step)>,
}

/// Input of a tester.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A message.
    Message(Vec<u8>),
    /// The end of the connection.
    End,
    /// Nothing within the timeout.
    Nothing,
}

/// Test transport between a tester and the session under test.
pub trait TestTransport {
    /// Connects, or accepts a connection.
    fn connect(&mut self, line: u8);
    /// Drops the connection.
    fn drop(&mut self, line: u8);
    /// Sends bytes.
    fn say(&mut self, line: u8, bytes: &[u8]);
    /// Waits for input.
    fn hear(&mut self, line: u8) -> Heard;
    /// Advances time.
    fn wait(&mut self, seconds: u64);
    /// Current time, nanoseconds since the Unix epoch.
    fn wall_ns(&self) -> u64;
}

impl Scenario {
    /// Parses a scenario.
    ///
    /// # Errors
    /// A line is not a step; its number.
    pub fn parse(text: &[u8]) -> Result<Scenario, String> {
        let has_separators = text.contains(&1);
        let mut steps = Vec::new();
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let mut line = line.to_vec();
            if !has_separators {
                for byte in line.iter_mut().filter(|byte| **byte == b'|') {
                    *byte = 1;
                }
            }
            let step = step(&line).ok_or_else(|| format!("line {} is not a step", at + 1))?;
            steps.push((at + 1, step));
        }
        Ok(Scenario { steps })
    }

    /// Whether the scenario can test an initiator: one connection at a time, each starting with the tester's Logon and
    /// its answer.
    pub fn suits_initiator(&self) -> bool {
        let connects = self.steps.windows(3);
        let begins = |steps: &[(usize, Step)]| match steps {
            [
                (_, Step::Connect(_)),
                (_, Step::Say(_, said)),
                (_, Step::Expect(_, answer)),
            ] => {
                value(said, 35) == Some(b"A")
                    && value(answer, 35) == Some(b"A")
                    && value(said, 34) == value(answer, 34)
            }
            [(_, Step::Connect(_)), ..] => false,
            _ => true,
        };
        let is_one = self.steps.iter().all(|(_, step)| match step {
            Step::Connect(line) | Step::Drop(line) | Step::ExpectEnd(line) => *line == 1,
            Step::Say(line, _) | Step::Expect(line, _) => *line == 1,
            Step::Wait(_) => true,
        });
        is_one && connects.into_iter().all(begins)
    }

    /// HeartBtInt of the first Logon.
    pub fn heartbeat_s(&self) -> u32 {
        let said = self.steps.iter().find_map(|(_, step)| match step {
            Step::Say(_, said) if value(said, 35) == Some(b"A") => value(said, 108),
            _ => None,
        });
        let text = said.and_then(|said| std::str::from_utf8(said).ok());
        text.and_then(|text| text.parse().ok()).unwrap_or(30)
    }

    /// Runs the scenario. `role` is that of the session under test; an initiator's Logon comes before the tester's.
    ///
    /// # Errors
    /// The unexpected input, and the line of the step.
    pub fn run(&self, role: Role, transport: &mut impl TestTransport) -> Result<(), String> {
        let mut first = None;
        for (line, step) in &self.steps {
            let outcome = match step {
                Step::Connect(connection) => {
                    transport.connect(*connection);
                    if role == Role::Initiator {
                        first = Some(transport.hear(*connection));
                    }
                    Ok(())
                }
                Step::Drop(connection) => {
                    transport.drop(*connection);
                    Ok(())
                }
                Step::Say(connection, message) => {
                    transport.say(*connection, &filled(message, transport.wall_ns()));
                    Ok(())
                }
                Step::Expect(connection, message) => match first.take() {
                    Some(logon) => judge(message, &logon, true),
                    None => judge(message, &transport.hear(*connection), false),
                },
                Step::ExpectEnd(connection) => match transport.hear(*connection) {
                    Heard::End => Ok(()),
                    other => Err(format!("the end was expected, and not {}", shown(&other))),
                },
                Step::Wait(seconds) => {
                    transport.wait(*seconds);
                    Ok(())
                }
            };
            outcome.map_err(|what| format!("line {line}: {what}"))?;
        }
        Ok(())
    }
}

fn step(line: &[u8]) -> Option<Step> {
    if let Some(seconds) = line.strip_prefix(b"wait ") {
        return Some(Step::Wait(
            std::str::from_utf8(seconds).ok()?.trim().parse().ok()?,
        ));
    }
    let (kind, rest) = line.split_first()?;
    let (connection, rest) = match rest {
        [digit @ b'1'..=b'9', b',', rest @ ..] => (digit - b'0', rest),
        _ => (1, rest),
    };
    Some(match (kind, rest) {
        (b'i', b"CONNECT") => Step::Connect(connection),
        (b'i', b"DISCONNECT") => Step::Drop(connection),
        (b'e', b"DISCONNECT") => Step::ExpectEnd(connection),
        (b'I', message) => Step::Say(connection, message.to_vec()),
        (b'E', message) => Step::Expect(connection, message.to_vec()),
        _ => return None,
    })
}

/// Tag and value of each field.
fn fields(message: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut fields = Vec::new();
    let mut rest = message;
    while let Some(end) = rest.iter().position(|byte| *byte == 1) {
        let (tag, value) = split(&rest[..end]);
        rest = &rest[end + 1..];
        fields.push((tag, value));
    }
    fields
}

fn split(field: &[u8]) -> (&[u8], &[u8]) {
    match field.iter().position(|byte| *byte == b'=') {
        Some(equals) => (&field[..equals], &field[equals + 1..]),
        None => (field, &[]),
    }
}

fn value(message: &[u8], tag: u32) -> Option<&[u8]> {
    let tag = tag.to_string();
    let found = fields(message)
        .into_iter()
        .find(|(name, _)| *name == tag.as_bytes());
    found.map(|(_, value)| value)
}

/// A message with times filled in, and length and checksum if absent.
pub fn filled(message: &[u8], wall_ns: u64) -> Vec<u8> {
    let mut message = with_times(message, wall_ns);
    if !message.ends_with(b"\x01") {
        message.push(1);
    }
    let last = message[..message.len() - 1]
        .iter()
        .rposition(|byte| *byte == 1);
    let trailer = last
        .map(|place| place + 1)
        .filter(|place| message[*place..].starts_with(b"10="));
    let has_length = find(&message, b"\x019=").is_some();
    if !has_length && let Some(first) = message.iter().position(|byte| *byte == 1) {
        let length = trailer.unwrap_or(message.len()) - first - 1;
        let field = format!("9={length}\x01");
        message.splice(first + 1..first + 1, field.into_bytes());
    }
    if trailer.is_none() {
        let sum: u32 = message.iter().map(|byte| u32::from(*byte)).sum();
        message.extend(format!("10={:03}\x01", sum % 256).into_bytes());
    }
    message
}

fn with_times(message: &[u8], wall_ns: u64) -> Vec<u8> {
    const TIME: &[u8] = b"<TIME";
    let mut filled = Vec::new();
    let mut rest = message;
    while let Some(place) = find(rest, TIME) {
        filled.extend_from_slice(&rest[..place]);
        let behind = &rest[place + TIME.len()..];
        let Some(end) = behind.iter().position(|byte| *byte == b'>') else {
            filled.extend_from_slice(TIME);
            rest = behind;
            continue;
        };
        let offset: i64 = std::str::from_utf8(&behind[..end])
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let ns = wall_ns.saturating_add_signed(offset.saturating_mul(1_000_000_000));
        let mut room = [0; 27];
        filled.extend_from_slice(write_timestamp(ns, Precision::Seconds, &mut room));
        rest = &behind[end + 1..];
    }
    filled.extend_from_slice(rest);
    filled
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

fn judge(expected: &[u8], heard: &Heard, is_first: bool) -> Result<(), String> {
    let Heard::Message(came) = heard else {
        return Err(format!(
            "{} was expected, and not {}",
            bars(expected),
            shown(heard)
        ));
    };
    well_formed(came).map_err(|what| format!("{}: {what}", bars(came)))?;
    let (mut wanted, mut found) = (comparable(expected), comparable(came));
    if is_first {
        // An initiator that starts at 1 sends ResetSeqNumFlag.
        found.retain(|(tag, _)| tag != "141");
        wanted.retain(|(tag, _)| tag != "141");
    }
    let named = |fields: &[(String, String)], tag: &str| fields.iter().any(|(name, _)| name == tag);
    if !named(&wanted, "371") {
        found.retain(|(tag, _)| tag != "371");
    }
    if found.contains(&("16".to_owned(), "0".to_owned()))
        && let Some(end) = wanted.iter_mut().find(|(tag, _)| tag == "16")
    {
        end.1 = "0".to_owned();
    }
    wanted.sort();
    found.sort();
    match wanted == found {
        true => Ok(()),
        false => Err(format!(
            "{} was expected, and not {}",
            bars(expected),
            bars(came)
        )),
    }
}

/// The compared fields, with the compared part of their values.
fn comparable(message: &[u8]) -> Vec<(String, String)> {
    let is_test = value(message, 35) == Some(b"1");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    fields(message)
        .into_iter()
        .filter(|(tag, _)| !matches!(*tag, b"9" | b"10" | b"58"))
        .map(|(tag, value)| match tag {
            b"52" | b"122" | b"60" => (text(tag), "a time".to_owned()),
            b"112" if is_test => (text(tag), "made up".to_owned()),
            _ => (text(tag), text(value)),
        })
        .collect()
}

fn well_formed(message: &[u8]) -> Result<(), String> {
    let fields = fields(message);
    let tags: Vec<&[u8]> = fields.iter().map(|(tag, _)| *tag).collect();
    if !tags.starts_with(&[b"8", b"9", b"35"]) || tags.last() != Some(&b"10".as_slice()) {
        return Err("the first three fields or the last are not what they must be".to_owned());
    }
    let length: usize = fields[..2]
        .iter()
        .map(|(tag, value)| tag.len() + value.len() + 2)
        .sum();
    let body = message.len() - length - 7;
    if fields[1].1 != body.to_string().as_bytes() {
        return Err(format!("the length is {body}"));
    }
    let sum: u32 = message[..message.len() - 7]
        .iter()
        .map(|byte| u32::from(*byte))
        .sum();
    if fields[fields.len() - 1].1 != format!("{:03}", sum % 256).as_bytes() {
        return Err(format!("the sum is {}", sum % 256));
    }
    Ok(())
}

fn shown(heard: &Heard) -> String {
    match heard {
        Heard::Message(message) => bars(message),
        Heard::End => "the end".to_owned(),
        Heard::Nothing => "nothing".to_owned(),
    }
}

fn bars(message: &[u8]) -> String {
    String::from_utf8_lossy(message).replace('\x01', "|")
}
