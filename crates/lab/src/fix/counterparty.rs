//! Counterparty with its own record of every number and order, in plain lists.
//!
//! Tests kill the side under test and never this one. The counterparty shares only the message format with the
//! session, and records every contradiction to earlier messages as a fault.

use super::scenario::filled;
use std::collections::BTreeMap;

/// Its side of the session, over all connections.
#[derive(Debug)]
pub struct Counterparty {
    sender: String,
    target: String,
    wall_ns: u64,
    /// Content of each number, without the fields that differ in a resent message.
    contents: BTreeMap<u64, Content>,
    /// The highest number of a message that was not resent.
    highest: u64,
    /// Orders received in sequence: id, and whether marked as a possible duplicate.
    pub orders: Vec<(String, bool)>,
    /// Resent messages.
    pub repeated: u64,
    /// Bodies of sent messages, by number from 1; `None` for session messages.
    sent: Vec<Option<String>>,
    next_in: u64,
    /// Messages behind a gap.
    early: BTreeMap<u64, String>,
    buffer: Vec<u8>,
    /// Bytes to send.
    pub out: Vec<u8>,
    /// The Logon of the other side has arrived.
    pub is_on: bool,
    /// This side has sent the Logon.
    has_begun: bool,
    /// Contradictions.
    pub faults: Vec<String>,
}

/// Record of a number.
#[derive(Debug)]
struct Content {
    fields: String,
    /// SendingTime of a message that is resent on request; `None` if the number was gap-filled.
    sending_time: Option<String>,
}

impl Counterparty {
    /// A counterparty of this name, in a session with `target`.
    pub fn new(sender: &str, target: &str) -> Counterparty {
        Counterparty {
            sender: sender.to_owned(),
            target: target.to_owned(),
            wall_ns: 0,
            contents: BTreeMap::new(),
            highest: 0,
            orders: Vec::new(),
            repeated: 0,
            sent: Vec::new(),
            next_in: 1,
            early: BTreeMap::new(),
            buffer: Vec::new(),
            out: Vec::new(),
            is_on: false,
            has_begun: false,
            faults: Vec::new(),
        }
    }

    /// Starts a connection; an initiator then calls [`Counterparty::log_on`].
    pub fn connect(&mut self, wall_ns: u64) {
        self.wall_ns = wall_ns;
        self.buffer.clear();
        self.out.clear();
        self.early.clear();
        (self.is_on, self.has_begun) = (false, false);
    }

    /// Sends the Logon.
    pub fn log_on(&mut self) {
        self.has_begun = true;
        self.say("A", "98=0|108=30|", false);
    }

    /// Sends an order with this id and further fields, each followed by `|`.
    pub fn send(&mut self, id: &str, more: &str) {
        self.say("D", &format!("11={id}|{more}"), true);
    }

    /// Requests all messages from a number on, including received ones.
    pub fn ask_again(&mut self, first: u64) {
        self.say("2", &format!("7={first}|16=0|"), false);
    }

    /// Number of sent messages, session messages included.
    pub fn sent(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Highest received number.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether no gap is known.
    pub fn is_whole(&self) -> bool {
        self.early.is_empty() && self.next_in > self.highest
    }

    /// Numbers of the orders with each id, resent ones not counted.
    pub fn numbers_by_id(&self) -> BTreeMap<&str, Vec<u64>> {
        let mut numbers: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (number, content) in &self.contents {
            if value(&content.fields, "35") == "D" {
                let id = value(&content.fields, "11");
                numbers.entry(id).or_default().push(*number);
            }
        }
        numbers
    }

    /// Whether a message that another side stored under a number equals the received one.
    pub fn is_what_came(&self, number: u64, message: &[u8]) -> bool {
        let message = String::from_utf8_lossy(message).replace('\x01', "|");
        self.contents
            .get(&number)
            .is_none_or(|content| content.fields == lasting(&message))
    }

    /// Numbers of received messages that must be resent on request.
    pub fn lasting_numbers(&self) -> impl Iterator<Item = u64> {
        let lasting = self
            .contents
            .iter()
            .filter(|(_, content)| content.sending_time.is_some());
        lasting.map(|(number, _)| *number)
    }

    fn say(&mut self, kind: &str, body: &str, is_kept: bool) {
        self.sent.push(is_kept.then(|| body.to_owned()));
        let number = self.sent.len();
        self.put(kind, number, "", body);
    }

    fn put(&mut self, kind: &str, number: usize, marks: &str, body: &str) {
        let (sender, target) = (&self.sender, &self.target);
        let text = format!(
            "8=FIX.4.4|35={kind}|34={number}|49={sender}|56={target}|52=<TIME>|{marks}{body}"
        );
        let bytes = text.replace('|', "\x01").into_bytes();
        self.out.extend(filled(&bytes, self.wall_ns));
    }

    /// Processes received bytes at this time.
    ///
    /// # Panics
    /// The bytes are not a message.
    pub fn hear(&mut self, bytes: &[u8], wall_ns: u64) {
        self.wall_ns = wall_ns;
        self.buffer.extend(bytes);
        while let Some(place) = self
            .buffer
            .windows(4)
            .position(|window| window == b"\x0110=")
        {
            if self.buffer.len() < place + 8 {
                return;
            }
            let message: Vec<u8> = self.buffer.drain(..place + 8).collect();
            let text = String::from_utf8(message)
                .expect("text")
                .replace('\x01', "|");
            self.take(&text);
        }
    }

    fn take(&mut self, message: &str) {
        let number: u64 = value(message, "34").parse().expect("a number");
        let kind = value(message, "35");
        let is_again = value(message, "43") == "Y";
        if !is_again && number <= self.highest {
            let highest = self.highest;
            self.faults.push(format!("behind {highest}: {message}"));
        }
        if !is_again {
            self.highest = number;
        }
        self.repeated += u64::from(is_again && kind != "4");
        match kind {
            "4" => self.compare_fill(number, message),
            _ => self.compare(number, message),
        }
        match kind {
            "A" => {
                self.is_on = true;
                if !self.has_begun {
                    self.log_on();
                }
            }
            "2" => return self.resend(value(message, "7"), number),
            "3" | "5" => self.faults.push(format!("rejected by {message}")),
            _ => {}
        }
        if number > self.next_in {
            let is_first = self.early.is_empty();
            self.early.insert(number, message.to_owned());
            if is_first {
                self.ask_again(self.next_in);
            }
            return;
        }
        if number == self.next_in {
            self.process(message);
        } else if !is_again {
            self.faults.push(format!("too low: {message}"));
        }
    }

    /// Checks that no number has two contents, and that a resent message has its original time.
    fn compare(&mut self, number: u64, message: &str) {
        let fields = lasting(message);
        let is_again = value(message, "43") == "Y";
        let time = value(message, if is_again { "122" } else { "52" }).to_owned();
        let is_admin = ["0", "1", "2", "3", "4", "5", "A"].contains(&value(message, "35"));
        let before = self.contents.entry(number).or_insert_with(|| Content {
            fields: fields.clone(),
            sending_time: (!is_admin).then(|| time.clone()),
        });
        if before.fields != fields {
            let before = &before.fields;
            self.faults
                .push(format!("{number} is {before} and {fields}"));
        } else if before
            .sending_time
            .as_ref()
            .is_some_and(|sent| *sent != time)
        {
            self.faults.push(format!("another time: {message}"));
        }
    }

    /// Checks that no received message's number is gap-filled.
    fn compare_fill(&mut self, number: u64, message: &str) {
        let next: u64 = value(message, "36").parse().expect("a number");
        for filled in number..next {
            let before = self.contents.entry(filled).or_insert(Content {
                fields: "no message that is resent".to_owned(),
                sending_time: None,
            });
            if before.sending_time.is_some() {
                self.faults
                    .push(format!("{filled} came and is filled: {message}"));
            }
        }
    }

    fn process(&mut self, message: &str) {
        match value(message, "35") {
            "4" => self.next_in = value(message, "36").parse().expect("a number"),
            kind => {
                if kind == "D" {
                    let id = value(message, "11").to_owned();
                    self.orders.push((id, value(message, "43") == "Y"));
                }
                self.next_in += 1;
            }
        }
        self.early = self.early.split_off(&self.next_in);
        if let Some(next) = self.early.remove(&self.next_in) {
            self.process(&next);
        }
    }

    fn resend(&mut self, first: &str, number: u64) {
        if number == self.next_in {
            self.next_in += 1;
        }
        let first: usize = first.parse().expect("a number");
        let sent = self.sent.clone();
        for (at, body) in sent.iter().enumerate().skip(first - 1) {
            let marks = "43=Y|122=<TIME>|";
            match body {
                Some(body) => self.put("D", at + 1, marks, body),
                None => self.put("4", at + 1, marks, &format!("123=Y|36={}|", at + 2)),
            }
        }
    }
}

/// A message without the fields that differ in a resent message.
fn lasting(message: &str) -> String {
    let skipped = ["8", "9", "10", "43", "52", "122"];
    let fields = message.split('|').filter(|field| {
        let tag = field.split('=').next().unwrap_or_default();
        !skipped.contains(&tag)
    });
    fields.collect::<Vec<&str>>().join("|")
}

fn value<'a>(message: &'a str, tag: &str) -> &'a str {
    let mut fields = message.split('|').filter_map(|field| field.split_once('='));
    fields
        .find(|(name, _)| *name == tag)
        .map_or("", |(_, value)| value)
}
