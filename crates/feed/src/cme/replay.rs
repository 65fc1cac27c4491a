//! A session of CME's TCP replay: logon, one request, packets, logout. Input and output are bytes.
//!
//! Our messages are plain FIX without BeginString; the venue sends packets as on a multicast group, each preceded by
//! its length, two bytes little-endian:
//!
//! ```text
//! we     9=…|35=A|553=user|554=password|10=…|
//! venue  | length | packet: AdminLogin |
//! we     9=…|35=V|1180=channel|262=channel-n|1182=first|1183=last|10=…|
//! venue  | length | packet first | … | length | packet last |
//! venue  | length | packet: AdminLogout, with the reason if it refuses |
//! ```
//!
//! Source: CME client systems wiki, "TCP Recovery".

mod credentials;
mod fix;

pub use credentials::Credentials;

use touchline_wire::mdp3::{AdminLogin15, AdminLogout16, Packet, PacketHeader};

/// Bytes of the length field.
const LENGTH_BYTES: usize = 2;

/// Receive buffer: more than one packet.
const INPUT_BYTES: usize = 64 * 1024 + LENGTH_BYTES;

/// Heartbeats allowed between the packets of one answer.
const HEARTBEATS_MAX: u32 = 1_000;

/// One request and its answer. The next request needs a new connection.
#[derive(Debug)]
pub struct Session {
    credentials: Credentials,
    channel: u32,
    packet_bytes_max: usize,
    state: State,
    asked: Asked,
    /// Number of requests so far, which is in the id of the next request.
    requests: u32,
    output: fix::Output,
    input: Box<[u8]>,
    /// Start and end of the received bytes that were not processed yet.
    start: usize,
    end: usize,
    reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not started, or ended.
    Idle,
    /// The logon is sent.
    LoggingOn,
    /// The request is sent.
    Receiving,
}

/// The request, and the number of received packets.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    first: u32,
    last: u32,
    packets: u32,
    heartbeats: u32,
}

/// Result of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A requested packet, complete and valid.
    Packet(&'a [u8]),
    /// The session has ended.
    Over(End),
}

/// Reason of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The venue logged us out after packets; the caller checks whether all requested ones arrived.
    Served,
    /// The venue logged us out before any packet; [`Session::reason`] has its text.
    Refused,
    /// The answer does not match the request.
    Broken(Fault),
}

/// Error of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A length outside the limits.
    Length,
    /// A packet that breaks the packet rules.
    Packet,
    /// A message before the answer to the logon, or a second logon or logout.
    Logon,
    /// A packet that was not requested, or more packets than were requested.
    Unasked,
}

/// Text of the venue's refusal, truncated to the length of the field.
#[derive(Clone, Copy, Debug)]
struct Reason {
    bytes: [u8; REASON_BYTES],
    len: usize,
}

const REASON_BYTES: usize = 180;

/// Kind of a packet in the session.
enum Judged {
    Packet,
    Nothing,
    Over(End),
}

impl Session {
    /// A session for one channel. Allocates all memory.
    pub fn new(credentials: Credentials, channel: u32, packet_bytes_max: usize) -> Session {
        Session {
            credentials,
            channel,
            packet_bytes_max: packet_bytes_max.min(INPUT_BYTES - LENGTH_BYTES),
            state: State::Idle,
            asked: Asked::default(),
            requests: 0,
            output: fix::Output::default(),
            input: vec![0; INPUT_BYTES].into(),
            start: 0,
            end: 0,
            reason: Reason {
                bytes: [0; REASON_BYTES],
                len: 0,
            },
        }
    }

    /// Restarts, on a new connection, for the packets `first..=last`.
    pub fn begin(&mut self, first: u32, last: u32) {
        self.asked = Asked {
            first,
            last,
            ..Asked::default()
        };
        (self.start, self.end, self.reason.len) = (0, 0, 0);
        self.state = State::LoggingOn;
        self.output.logon(&self.credentials);
    }

    /// Ends the session: wipes unsent bytes, and ignores received ones.
    pub fn cancel(&mut self) {
        self.state = State::Idle;
        self.output.clear();
    }

    /// Bytes to send.
    pub fn output(&self) -> &[u8] {
        self.output.rest()
    }

    /// Reports that this number of bytes was sent.
    pub fn sent(&mut self, bytes: usize) {
        self.output.sent(bytes);
    }

    /// Free part of the receive buffer. It is not empty when [`Session::step`] has returned `None`.
    pub fn room(&mut self) -> &mut [u8] {
        self.input.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.input[self.end..]
    }

    /// Reports that this number of bytes was received.
    pub fn received(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.input.len());
    }

    /// Next result of the received bytes; `None` until more bytes arrive.
    pub fn step(&mut self) -> Option<Step<'_>> {
        while self.state != State::Idle {
            let bytes = &self.input[self.start..self.end];
            let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
            let length = usize::from(u16::from_le_bytes(*length));
            if length < PacketHeader::SIZE || length > self.packet_bytes_max {
                return Some(self.over(End::Broken(Fault::Length)));
            }
            if rest.len() < length {
                return None;
            }
            let start = self.start + LENGTH_BYTES;
            self.start = start + length;
            match self.judge(start, length) {
                Judged::Packet => return Some(Step::Packet(&self.input[start..start + length])),
                Judged::Over(end) => return Some(self.over(end)),
                Judged::Nothing => {}
            }
        }
        None
    }

    /// Text of the last refusal: any bytes, to be escaped for display.
    pub fn reason(&self) -> &[u8] {
        &self.reason.bytes[..self.reason.len]
    }

    fn over(&mut self, end: End) -> Step<'static> {
        self.cancel();
        Step::Over(end)
    }

    fn judge(&mut self, start: usize, length: usize) -> Judged {
        let Ok(packet) = Packet::parse(&self.input[start..start + length]) else {
            return Judged::Over(End::Broken(Fault::Packet));
        };
        for raw in packet.messages() {
            match raw.header.template_id {
                AdminLogin15::TEMPLATE_ID => return self.logged_on(),
                AdminLogout16::TEMPLATE_ID => {
                    let logout = AdminLogout16::of(raw);
                    self.reason = Reason::of(logout.text().as_bytes());
                    return Judged::Over(match self.asked.packets {
                        0 => End::Refused,
                        _ => End::Served,
                    });
                }
                _ => {}
            }
        }
        self.judge_content(packet.header.sequence, is_heartbeat(&packet))
    }

    fn logged_on(&mut self) -> Judged {
        if self.state != State::LoggingOn {
            return Judged::Over(End::Broken(Fault::Logon));
        }
        self.state = State::Receiving;
        self.requests = self.requests.wrapping_add(1);
        let Asked { first, last, .. } = self.asked;
        self.output
            .request(self.channel, self.requests, first, last);
        Judged::Nothing
    }

    /// A packet that is neither logon nor logout. Heartbeats have numbers of the incremental feed: in the requested range a
    /// heartbeat is a packet of the answer, outside of the range it belongs to the session.
    fn judge_content(&mut self, sequence: u32, is_heartbeat: bool) -> Judged {
        let asked = &mut self.asked;
        let receiving = self.state == State::Receiving;
        if receiving && (asked.first..=asked.last).contains(&sequence) {
            asked.packets += 1;
            return match asked.packets - 1 > asked.last - asked.first {
                true => Judged::Over(End::Broken(Fault::Unasked)),
                false => Judged::Packet,
            };
        }
        asked.heartbeats += 1;
        match is_heartbeat && asked.heartbeats <= HEARTBEATS_MAX {
            true => Judged::Nothing,
            false if receiving => Judged::Over(End::Broken(Fault::Unasked)),
            false => Judged::Over(End::Broken(Fault::Logon)),
        }
    }
}

impl Reason {
    fn of(text: &[u8]) -> Reason {
        let mut bytes = [0; REASON_BYTES];
        let len = text.len().min(REASON_BYTES);
        bytes[..len].copy_from_slice(&text[..len]);
        Reason { bytes, len }
    }
}

/// Whether a packet contains only heartbeats.
fn is_heartbeat(packet: &Packet<'_>) -> bool {
    const HEARTBEAT: u16 = touchline_wire::mdp3::AdminHeartbeat12::TEMPLATE_ID;
    packet
        .messages()
        .all(|message| message.header.template_id == HEARTBEAT)
}

#[cfg(test)]
mod tests;
