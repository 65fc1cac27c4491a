//! A client of the exchange: the session of gateways, and books as plain maps.

use ring::digest::{SHA256, digest};
use std::collections::BTreeMap;
use touchline_feed::ReceiveTime;
use touchline_lab::cme::expected_books::{Checker, hash};
use touchline_lab::deribit::{SERVER, base64};
use touchline_session::fix::{Event, Limits, Memory, Role, Session, Settings};
use touchline_wire::fix::{Field, Message, decimal, tag};

/// The fields of a Logon that identify a client: user, password, RawData.
pub fn proof(user: &str, secret: &str, time: ReceiveTime) -> [String; 3] {
    let nonce = digest(&SHA256, &time.wall_ns.to_le_bytes());
    let raw_data = format!("{}.{}", time.wall_ns / 1_000_000, base64(nonce.as_ref()));
    let password = digest(&SHA256, format!("{raw_data}{secret}").as_bytes());
    [user.to_owned(), base64(password.as_ref()), raw_data]
}

/// A book: quantity by price, in 1e-8 and 1e-9.
#[derive(Clone, Debug, Default)]
struct Book {
    sides: [BTreeMap<i64, i64>; 2],
    is_live: bool,
}

/// A client.
#[derive(Debug)]
pub struct Customer {
    pub session: Session<Memory>,
    pub symbols: Vec<String>,
    pub ticks: Vec<String>,
    pub refusals: Vec<String>,
    pub unsupported: u32,
    pub snapshots: u32,
    pub trades: u32,
    /// Entries that were announced and not there, or the other way round.
    pub miscounted: u32,
    /// Changes of books before their snapshot.
    pub early: u32,
    books: BTreeMap<String, Book>,
}

impl Customer {
    pub fn new(message_bytes_max: usize) -> Customer {
        let settings = Settings {
            reset_on_logon: true,
            limits: Limits {
                message_bytes_max,
                output_bytes: 4 * message_bytes_max,
                out_of_order_bytes: 1 << 20,
                // A message that is sent again may be lost again.
                resend_wait_ns: 50_000_000,
                ..Limits::default()
            },
            ..Settings::new(Role::Initiator, "TOUCHLINE", SERVER)
        };
        Customer {
            session: Session::new(settings, Memory::default()),
            symbols: Vec::new(),
            ticks: Vec::new(),
            refusals: Vec::new(),
            unsupported: 0,
            snapshots: 0,
            trades: 0,
            miscounted: 0,
            early: 0,
            books: BTreeMap::new(),
        }
    }

    pub fn connect(&mut self, [user, password, raw_data]: &[String; 3], time: ReceiveTime) {
        self.session.connected_with(time, |logon| {
            logon
                .unsigned(tag::RAW_DATA_LENGTH, raw_data.len() as u64)
                .bytes(tag::RAW_DATA, raw_data.as_bytes())
                .bytes(tag::USERNAME, user.as_bytes())
                .bytes(tag::PASSWORD, password.as_bytes());
        });
    }

    pub fn is_up(&self) -> bool {
        self.session.is_up()
    }

    pub fn advance(&mut self, time: ReceiveTime) {
        self.session.handle_timeout(time);
    }

    pub fn gives(&self) -> bool {
        !self.session.poll_transmit().is_empty()
    }

    /// Writes the session's output into `room`; returns its length.
    pub fn give(&mut self, room: &mut [u8]) -> usize {
        let outgoing = self.session.poll_transmit();
        let bytes = outgoing.len().min(room.len());
        room[..bytes].copy_from_slice(&outgoing[..bytes]);
        self.session.transmitted(bytes);
        bytes
    }

    pub fn send(&mut self, msg_type: &str, fields: &str, time: ReceiveTime) {
        let sent = self.session.send(msg_type.as_bytes(), time, |body| {
            for (tag, value) in fields.split('|').filter_map(|field| field.split_once('=')) {
                body.bytes(tag.parse().expect("a tag"), value.as_bytes());
            }
        });
        sent.expect("it is logged on");
    }

    pub fn ask_for_list(&mut self, time: ReceiveTime) {
        self.send("x", "320=1|559=4|263=0", time);
    }

    pub fn subscribe(&mut self, id: &str, symbols: &[&str], time: ReceiveTime) {
        let mut fields = format!(
            "262={id}|263=1|264=0|265=1|267=3|269=0|269=1|269=2|146={}",
            symbols.len()
        );
        for symbol in symbols {
            fields.push_str(&format!("|55={symbol}"));
        }
        self.send("V", &fields, time);
    }

    /// Takes bytes, and shows the checker each live book that a message changes.
    pub fn take(&mut self, bytes: &[u8], time: ReceiveTime, checker: &mut Checker) -> usize {
        let taken = self.session.handle(bytes, time);
        // The session lends messages: their content is read first, and applied then.
        loop {
            let read = match self.session.poll() {
                None => break,
                Some(Event::Application(message, ..)) => Read::of(&message),
                Some(_) => continue,
            };
            self.apply(read, checker);
        }
        taken
    }

    /// The hash of a book, if it is live.
    pub fn hash(&self, symbol: &str) -> Option<u64> {
        let book = self.books.get(symbol).filter(|book| book.is_live)?;
        let level = |(price, quantity): (&i64, &i64)| (*price, *quantity, -1);
        let [bids, offers] = &book.sides;
        Some(hash([
            bids.iter().rev().map(level).collect::<Vec<_>>(),
            offers.iter().map(level).collect(),
            Vec::new(),
            Vec::new(),
        ]))
    }

    /// Numbers of levels.
    pub fn levels(&self, symbol: &str) -> (usize, usize) {
        let [bids, offers] = &self.books[symbol].sides;
        (bids.len(), offers.len())
    }

    /// Prices of the bids, lowest first.
    pub fn bids(&self, symbol: &str) -> Vec<i64> {
        let book = self.books.get(symbol);
        let prices = book.map(|book| book.sides[0].keys().map(|price| price / 1_000_000_000));
        prices.into_iter().flatten().collect()
    }

    fn apply(&mut self, read: Read, checker: &mut Checker) {
        match read.msg_type.as_slice() {
            b"y" => (self.symbols, self.ticks) = (read.symbols, read.ticks),
            b"Y" => self.refusals.push(read.reason),
            b"j" => self.unsupported += 1,
            b"W" | b"X" => self.refresh(read, checker),
            _ => {}
        }
    }

    fn refresh(&mut self, read: Read, checker: &mut Checker) {
        let Some(symbol) = read.symbols.first().cloned() else {
            return;
        };
        self.miscounted += u32::from(read.stated != read.entries.len());
        let book = self.books.entry(symbol.clone()).or_default();
        if read.msg_type == b"W" {
            *book = Book::default();
            book.is_live = true;
            self.snapshots += 1;
        }
        let mut is_changed = read.msg_type == b"W";
        for entry in &read.entries {
            let side = match entry.kind {
                b'0' => 0,
                b'1' => 1,
                _ => {
                    self.trades += 1;
                    continue;
                }
            };
            self.early += u32::from(!book.is_live);
            is_changed = true;
            match entry.action {
                b'2' => book.sides[side].remove(&entry.price),
                _ => book.sides[side].insert(entry.price, entry.quantity),
            };
        }
        let number = self.symbols.iter().position(|known| *known == symbol);
        if let (true, Some(hash), Some(number)) = (is_changed, self.hash(&symbol), number) {
            checker.seen(number as i32 + 1, hash);
        }
    }
}

/// Text of a message.
#[derive(Debug, Default)]
struct Read {
    msg_type: Vec<u8>,
    symbols: Vec<String>,
    ticks: Vec<String>,
    reason: String,
    stated: usize,
    entries: Vec<Entry>,
}

#[derive(Debug, Default)]
struct Entry {
    action: u8,
    kind: u8,
    price: i64,
    quantity: i64,
}

impl Read {
    fn of(message: &Message<'_>) -> Read {
        let mut read = Read {
            msg_type: message.msg_type().to_vec(),
            ..Read::default()
        };
        let is_whole = message.msg_type() == b"W";
        for Field { tag, value } in message.fields().filter_map(Result::ok) {
            let text = || String::from_utf8_lossy(value).into_owned();
            let number = |decimals| {
                let number = decimal(value).and_then(|number| number.scaled(decimals));
                number.expect("an exact number")
            };
            let begins = match is_whole {
                true => tag == tag::MD_ENTRY_TYPE,
                false => tag == tag::MD_UPDATE_ACTION,
            };
            if begins {
                read.entries.push(Entry::default());
            }
            let last = read.entries.last_mut();
            match (tag, last) {
                (tag::SYMBOL, _) => read.symbols.push(text()),
                (969, _) => read.ticks.push(text()),
                (281, _) => read.reason = text(),
                (tag::NO_MD_ENTRIES, _) => read.stated = text().parse().expect("a number"),
                (tag::MD_UPDATE_ACTION, Some(entry)) => entry.action = value[0],
                (tag::MD_ENTRY_TYPE, Some(entry)) => entry.kind = value[0],
                (tag::MD_ENTRY_PX, Some(entry)) => entry.price = number(9),
                (tag::MD_ENTRY_SIZE, Some(entry)) => entry.quantity = number(8),
                _ => {}
            }
        }
        read
    }
}
