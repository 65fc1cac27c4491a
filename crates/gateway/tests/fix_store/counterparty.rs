//! A counterparty that keeps its own view of every number and order, in plain lists.

use std::collections::BTreeMap;
use touchline_lab::fix::scenario::filled;

/// Its side of the session; it goes on over all connections, and is never killed.
#[derive(Default)]
pub struct Counterparty {
    /// What came under each number, without what a repetition changes.
    contents: BTreeMap<u64, String>,
    /// Each order that came: its id, and whether it was marked as a repetition.
    pub orders: Vec<(String, bool)>,
    /// Bodies of what we sent, by number from 1; `None` for messages of the session.
    sent: Vec<Option<String>>,
    next_in: u64,
    /// Messages behind a hole.
    early: BTreeMap<u64, String>,
    buffer: Vec<u8>,
    pub out: Vec<u8>,
    pub is_on: bool,
    pub faults: Vec<String>,
}

impl Counterparty {
    pub fn connect(&mut self) {
        self.next_in = self.next_in.max(1);
        self.buffer.clear();
        self.out.clear();
        self.early.clear();
        self.is_on = false;
    }

    /// Sends an application message with this id.
    pub fn send(&mut self, id: &str) {
        self.say("D", &format!("11={id}|"), true);
    }

    fn say(&mut self, kind: &str, body: &str, is_kept: bool) {
        self.sent.push(is_kept.then(|| body.to_owned()));
        let number = self.sent.len();
        self.put(kind, number, "", body);
    }

    fn put(&mut self, kind: &str, number: usize, marks: &str, body: &str) {
        let text = format!("8=FIX.4.4|35={kind}|34={number}|49=THEM|56=US|52=<TIME>|{marks}{body}");
        let bytes = text.replace('|', "\x01").into_bytes();
        self.out.extend(filled(&bytes, super::kills::WALL_NS));
    }

    pub fn hear(&mut self, bytes: &[u8]) {
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
        let is_gap = kind == "4";
        if !is_gap {
            self.compare(number, message);
        }
        match kind {
            "A" => {
                self.is_on = true;
                self.say("A", "98=0|108=30|", false);
            }
            "2" => return self.resend(value(message, "7"), number),
            _ => {}
        }
        if number > self.next_in {
            let is_first = self.early.is_empty();
            self.early.insert(number, message.to_owned());
            if is_first {
                let body = format!("7={}|16=0|", self.next_in);
                self.say("2", &body, false);
            }
            return;
        }
        if number == self.next_in {
            self.process(message);
        } else if value(message, "43") != "Y" {
            self.faults.push(format!("too low: {message}"));
        }
    }

    /// No number is used for two contents.
    fn compare(&mut self, number: u64, message: &str) {
        let skipped = ["8", "9", "10", "43", "52", "122"];
        let fields = message.split('|').filter(|field| {
            let tag = field.split('=').next().unwrap_or_default();
            !skipped.contains(&tag)
        });
        let content: Vec<&str> = fields.collect();
        let content = content.join("|");
        let before = self
            .contents
            .entry(number)
            .or_insert_with(|| content.clone());
        if *before != content {
            self.faults
                .push(format!("{number} is {before} and {content}"));
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

fn value<'a>(message: &'a str, tag: &str) -> &'a str {
    let mut fields = message.split('|').filter_map(|field| field.split_once('='));
    fields
        .find(|(name, _)| *name == tag)
        .map_or("", |(_, value)| value)
}
