//! Banks and a desk with random behaviour.

use crate::world::{START_NS, fix};
use std::collections::BTreeMap;
use touchline_fx_events::Batch;
use touchline_fx_events::event::{Event, Message, OrderEvent};

/// Random numbers from a seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Splitmix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in `times` on average.
    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A bank's state of an order, reported or not.
#[derive(Debug, Clone)]
struct Held {
    bank: usize,
    id: String,
    pair: usize,
    quantity: i64,
    price: i64,
    cum: i64,
    /// Numbers in the ExecIDs of its reported fills.
    execs: Vec<u64>,
}

/// All banks and the desk.
pub struct Banks {
    random: Random,
    config: String,
    now_ns: u64,
    mid: [i64; 2],
    held: Vec<Held>,
    /// Reports that may be repeated.
    told: Vec<String>,
    /// Messages waiting to be sent.
    answers: Vec<String>,
    numbers: u64,
    parents: u64,
    /// Reports with a contradiction, by its tag.
    pub contradictions: BTreeMap<u32, u64>,
}

/// Tags in which reports contradict themselves, the order or the booked quantities.
pub const CONTRADICTED: [u32; 8] = [14, 17, 31, 32, 38, 39, 64, 151];

const NAMES: [&str; 5] = ["W", "X", "S", "I", "F"];
const SYMBOLS: [&str; 2] = ["EUR/USD", "USD/JPY"];
const SCALES: [i64; 2] = [100_000, 1_000];

impl Banks {
    pub fn new(seed: u64) -> Banks {
        let mut random = Random::new(seed);
        let conflate = random.of(&["0", "0", "70"]);
        let combine = random.of(&["true", "false"]);
        let kill = random.of(&["1000000", "1000000", "3"]);
        let mut config = format!(
            "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\nconflate_ms = {conflate}\n\
             [router]\ncombine = {combine}\ncooldown_ms = 40\n\
             [risk]\nkill_lifters = [\"ann\", \"bob\"]\nkill_unknown = {kill}\nkill_rejects_per_s = 40\nmax_parents_per_s = 20\nmin_banks = 1\n"
        );
        for (symbol, precision) in SYMBOLS.iter().zip([5, 3]) {
            let spot = "spot_date = \"20260107\"\nsizes = [1000000, 3000000]\ncollar_ticks = 40\ncrossed_max_ticks = 5";
            config += &format!(
                "[[pairs]]\nsymbol = \"{symbol}\"\nprecision = {precision}\nlot = 1000\n{spot}\n"
            );
        }
        for name in NAMES {
            let kind = if matches!(name, "S" | "F") {
                "full"
            } else {
                "sweep"
            };
            let orders = random.of(&["limit", "quoted"]);
            let recover = random.of(&["H", "AF"]);
            let times = random.of(&["", "ttl_ms = 300", "silence_ms = 400", "stale_ms = 500"]);
            let min_qty = random.of(&["0", "100000", "500000"]);
            config += &format!(
                "[[banks]]\nname = \"{name}\"\npairs = [\"EUR/USD\", \"USD/JPY\"]\nkind = \"{kind}\"\norders = \"{orders}\"\n\
                 recover = \"{recover}\"\nmin_qty = {min_qty}\nmax_qty = 5000000\nanswer_ms = 60\nstatus_ms = 40\nstatus_tries = 2\n\
                 max_orders_per_s = 15\n{times}\n"
            );
        }
        let now_ns = START_NS + random.below(1_000_000_000);
        let mut banks = Banks {
            random,
            config,
            now_ns,
            mid: [110_000, 150_000],
            held: Vec::new(),
            told: Vec::new(),
            answers: Vec::new(),
            numbers: 0,
            parents: 0,
            contradictions: BTreeMap::new(),
        };
        for name in NAMES {
            banks.answers.push(format!("{name}.q !up"));
            banks.answers.push(format!("{name}.o !up"));
        }
        banks
    }

    pub fn config(&self) -> &str {
        &self.config
    }

    /// The next lines.
    pub fn next(&mut self) -> Vec<String> {
        let step_ns = match self.random.below(12) {
            0 => 0,
            1 => 100_000_000,
            2 => 1_000_000,
            _ => 1 + self.random.below(9_000_000),
        };
        self.now_ns += step_ns;
        let mut lines = std::mem::take(&mut self.answers);
        match self.random.below(20) {
            0..=8 => lines.push(self.quote()),
            9..=11 => lines.extend(self.answer()),
            12..=14 => lines.push(self.parent()),
            15 => lines.push(self.desk()),
            16 if self.random.one_in(3) => lines.push(self.session()),
            17 => lines.extend(self.nonsense()),
            _ => lines.extend(self.answer()),
        }
        lines
            .iter()
            .map(|line| format!("{} {line}", self.now_ns))
            .collect()
    }

    /// Takes the messages of the core.
    pub fn hear(&mut self, batch: &Batch) {
        for (_, event) in &batch.events {
            let Event::Order(line) = event else {
                continue;
            };
            match (line.what, &line.message) {
                (OrderEvent::Sent, Some(Message::Order(terms))) => self.held.push(Held {
                    bank: terms.bank,
                    id: terms.id.as_str().to_owned(),
                    pair: terms.pair,
                    quantity: terms.quantity,
                    price: terms.price,
                    cum: 0,
                    execs: Vec::new(),
                }),
                (OrderEvent::Sent, Some(Message::Status { request, order }))
                    if !self.random.one_in(3) =>
                {
                    let more = format!("790=T-H{request}");
                    self.status(line.bank, order.id.as_str(), &more);
                }
                (OrderEvent::Sent, Some(Message::MassStatus { request })) => {
                    let own = self.held.iter().filter(|held| held.bank == line.bank);
                    let ids: Vec<String> = own.map(|held| held.id.clone()).collect();
                    for id in ids {
                        if !self.random.one_in(4) {
                            self.status(line.bank, &id, &format!("584=T-M{request}"));
                        }
                    }
                    self.status(line.bank, "none", &format!("584=T-M{request}|912=Y"));
                }
                (OrderEvent::Sent, Some(Message::Cancel { id, order, .. }))
                    if self.random.one_in(2) =>
                {
                    let reason = self.random.of(&["0", "1"]);
                    let body = format!(
                        "35=9|11={}|41={}|39=0|102={reason}",
                        id.as_str(),
                        order.id.as_str()
                    );
                    self.answers
                        .push(format!("{}.o {}", NAMES[line.bank], fix(&body)));
                }
                _ => {}
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn price(&self, pair: usize, ticks: i64) -> String {
        let (scale, digits) = (SCALES[pair], [5, 3][pair]);
        format!("{}.{:0digits$}", ticks / scale, ticks % scale)
    }

    fn quote(&mut self) -> String {
        let bank = self.random.below(5) as usize;
        let pair = self.random.below(2) as usize;
        self.mid[pair] += self.random.below(5) as i64 - 2;
        let body = match NAMES[bank] {
            "S" => self.one_quote(pair),
            "I" => self.mass_quote(pair),
            "X" if self.random.one_in(2) => self.increment(pair),
            _ => self.snapshot(pair),
        };
        format!("{}.q {}", NAMES[bank], fix(&body))
    }

    /// A price of a side, mostly near the mid.
    fn level(&mut self, pair: usize, side: usize) -> (String, u64) {
        let away = self.random.below(8) as i64 - 1;
        let ticks = if side == 0 {
            self.mid[pair] - away
        } else {
            self.mid[pair] + away
        };
        let size = (1 + self.random.below(30)) * 100_000 + self.random.below(3) * 250;
        (self.price(pair, ticks), size)
    }

    fn snapshot(&mut self, pair: usize) -> String {
        let count = self.random.below(7);
        let mut body = format!("35=W|262=R{pair}|55={}|268={count}", SYMBOLS[pair]);
        for number in 0..count {
            let side = (number % 2) as usize;
            let (price, size) = self.level(pair, side);
            let quote = self.number();
            body += &format!("|269={side}|278=E{pair}{number}|270={price}|271={size}|299=Q{quote}");
        }
        body
    }

    fn increment(&mut self, pair: usize) -> String {
        let mut body = format!("35=X|262=R{pair}|268=2");
        for _ in 0..2 {
            let (number, action) = (self.random.below(7), self.random.below(3));
            // Some move to the other side.
            let side = (number + u64::from(self.random.one_in(4))) % 2;
            let (price, size) = self.level(pair, side as usize);
            let quote = self.number();
            body += &format!(
                "|279={action}|278=E{pair}{number}|55={}|269={side}",
                SYMBOLS[pair]
            );
            body += &format!("|270={price}|271={size}|299=Q{quote}");
        }
        body
    }

    fn one_quote(&mut self, pair: usize) -> String {
        let ((bid, bid_size), (ask, ask_size)) = (self.level(pair, 0), self.level(pair, 1));
        let (request, quote) = (self.random.below(3), self.number());
        let kind = self.random.of(&["1", "1", "1", "0"]);
        format!(
            "35=S|131=R{pair}{request}|117=Q{quote}|55={}|537={kind}|132={bid}|133={ask}|134={bid_size}|135={ask_size}",
            SYMBOLS[pair]
        )
    }

    fn mass_quote(&mut self, pair: usize) -> String {
        let mut body = format!("35=i|296=1|302={}|304=2|295=2", pair + 1);
        for _ in 0..2 {
            let entry = self.random.below(3);
            let ((bid, bid_size), (ask, ask_size)) = (self.level(pair, 0), self.level(pair, 1));
            body += &format!("|299={entry}|188={bid}|134={bid_size}");
            if self.random.one_in(2) {
                body += &format!("|190={ask}|135={ask_size}");
            }
        }
        body
    }

    fn parent(&mut self) -> String {
        self.parents += 1;
        let pair = self.random.below(2) as usize;
        let side = self.random.of(&["buy", "sell"]);
        let quantity = (1 + self.random.below(60)) * 100_000;
        let tif = self.random.of(&["gtd", "gtd", "ioc", "fok"]);
        let style = self.random.of(&["best", "best", "full", "sweep"]);
        let (urgency, partial) = (self.random.below(3), self.random.one_in(2));
        let deadline_ms = self.random.below(900);
        let limit = match self.random.one_in(3) {
            true => {
                let ticks = self.mid[pair] + self.random.below(9) as i64 - 4;
                format!("\"{}\"", self.price(pair, ticks))
            }
            false => "null".to_owned(),
        };
        format!(
            "- {{\"op\":\"parent\",\"id\":\"P{}\",\"pair\":\"{}\",\"side\":\"{side}\",\"qty\":{quantity},\"limit\":{limit},\
             \"tif\":\"{tif}\",\"deadline_ms\":{deadline_ms},\"urgency\":{urgency},\"style\":\"{style}\",\"partial\":{partial}}}",
            self.parents, SYMBOLS[pair]
        )
    }

    fn desk(&mut self) -> String {
        let parent = 1 + self.random.below(self.parents.max(1));
        let (bank, by) = (
            self.random.of(&NAMES),
            self.random.of(&["ann", "bob", "eve"]),
        );
        match self.random.below(14) {
            0 if self.random.one_in(2) => "- {\"op\":\"kill\",\"by\":\"ann\"}".to_owned(),
            1..=5 => format!("- {{\"op\":\"lift\",\"by\":\"{by}\"}}"),
            6..=7 => format!("- {{\"op\":\"enable\",\"bank\":\"{bank}\",\"pair\":\"EUR/USD\"}}"),
            8 if self.random.one_in(4) => "- {\"op\":\"restart\"}".to_owned(),
            9..=10 => match self.some_order() {
                Some(held) => {
                    let price = self.price(held.pair, held.price);
                    let (id, cum) = (held.id, held.cum);
                    format!(
                        "- {{\"op\":\"resolve\",\"clordid\":\"{id}\",\"cum\":{cum},\"price\":\"{price}\"}}"
                    )
                }
                None => format!("- {{\"op\":\"cancel\",\"id\":\"P{parent}\"}}"),
            },
            _ => format!("- {{\"op\":\"cancel\",\"id\":\"P{parent}\"}}"),
        }
    }

    fn session(&mut self) -> String {
        let bank = self.random.of(&NAMES);
        let (session, event) = (
            self.random.of(&["q", "o"]),
            self.random.of(&["!down", "!up"]),
        );
        if event == "!down" {
            self.answers.push(format!("{bank}.{session} !up"));
        }
        format!("{bank}.{session} {event}")
    }

    fn some_order(&mut self) -> Option<Held> {
        if self.held.is_empty() {
            return None;
        }
        // Mostly one of the last.
        let last = self.held.len() as u64;
        let back = if self.random.one_in(5) {
            last
        } else {
            last.min(4)
        };
        let at = (last - 1 - self.random.below(back)) as usize;
        Some(self.held[at].clone())
    }

    /// A random report of an order.
    fn answer(&mut self) -> Vec<String> {
        let Some(held) = self.some_order() else {
            return Vec::new();
        };
        let fill =
            ((1 + self.random.below(10) as i64) * held.quantity / 10).min(held.quantity - held.cum);
        let exec = self.number();
        let price = self.price(held.pair, held.price);
        let (id, cum) = (&held.id, held.cum);
        let report = |kind: &str, status: &str, cum: i64, more: &str| {
            format!("35=8|11={id}|17=E{exec}|150={kind}|39={status}|14={cum}{more}")
        };
        let dead = "|151=0";
        let body = match self.random.below(12) {
            0 => report("A", "A", cum, ""),
            1 => report("0", "0", cum, ""),
            2 => report("4", "4", cum, dead),
            3 => report("C", "C", cum, dead),
            4 => {
                let reason = self.random.of(&["30", "31", "32", "3", "15", "99"]);
                report("8", "8", cum, &format!("|103={reason}"))
            }
            5 if fill > 0 => {
                // The bank keeps the fill, and its report is lost.
                self.fill(&held.id, fill);
                return Vec::new();
            }
            _ if fill > 0 => {
                let total = cum + fill;
                self.fill(&held.id, fill);
                self.executed(&held.id, exec);
                let (status, left) = if total == held.quantity {
                    ("2", 0)
                } else {
                    ("1", held.quantity - total)
                };
                let left = if self.random.one_in(4) { 0 } else { left };
                let avg = self.random.of(&["", "|6=1.1", "|6=150.0015"]);
                report(
                    "F",
                    status,
                    total,
                    &format!("|32={fill}|31={price}|151={left}{avg}"),
                )
            }
            _ => report("0", "2", cum, dead),
        };
        self.tell(held.bank, &body)
    }

    /// Repeated reports, busts, corrections, other banks' orders, impossible trades, damaged messages.
    fn nonsense(&mut self) -> Vec<String> {
        let exec = self.number();
        match self.random.below(10) {
            8 | 9 => self.contradicted(),
            0 if !self.told.is_empty() => {
                let at = self.random.below(self.told.len() as u64) as usize;
                vec![self.told[at].clone()]
            }
            1 | 2 => {
                let kind = self.random.of(&["H", "G"]);
                let reversed = self.some_order().filter(|held| !held.execs.is_empty());
                let (bank, id, of) = match reversed {
                    Some(held) => {
                        let of = held.execs[self.random.below(held.execs.len() as u64) as usize];
                        (held.bank, held.id, of)
                    }
                    None => (self.random.below(5) as usize, "x".to_owned(), exec),
                };
                let body =
                    format!("35=8|11={id}|17=E{exec}|150={kind}|39=2|19=E{of}|32=1000|31=1.1");
                self.tell(bank, &body)
            }
            3 | 4 => {
                let Some(held) = self.some_order() else {
                    return Vec::new();
                };
                let wrong =
                    self.random
                        .of(&["|55=GBP/USD", "|54=9", "|14=99999999999", "|31=9999"]);
                let bank = if self.random.one_in(2) {
                    held.bank
                } else {
                    self.random.below(5) as usize
                };
                let id = &held.id;
                self.tell(
                    bank,
                    &format!("35=8|11={id}|17=E{exec}|150=F|39=1{wrong}|32=1000"),
                )
            }
            5 => {
                let Some(held) = self.some_order() else {
                    return Vec::new();
                };
                self.tell(held.bank, &format!("35=j|372=D|379={}", held.id))
            }
            6 => vec![format!("{}.q {}", self.random.of(&NAMES), fix("35=0"))],
            _ => vec![format!(
                "{}.q 8=FIX.4.4|9=5|35=0|10=000|",
                self.random.of(&NAMES)
            )],
        }
    }

    /// A report of an order in which one field is wrong.
    fn contradicted(&mut self) -> Vec<String> {
        let Some(held) = self.some_order() else {
            return Vec::new();
        };
        let rest = held.quantity - held.cum;
        let fill = (rest / 2).max(1_000).min(rest.max(1));
        let total = held.cum + fill;
        let is_trade = self.random.one_in(2);
        let tag = CONTRADICTED[self.random.below(8) as usize];
        *self.contradictions.entry(tag).or_default() += 1;
        let wrong = match tag {
            14 => self.random.of(&["0", "-1", "x", "999999999999"]),
            17 => self.random.of(&["", "0", "E1"]),
            31 => self
                .random
                .of(&["0", "-1", "x", "11.0001", "1.1000001", "0.00001"]),
            32 => self.random.of(&["0", "-1", "x", "999999999"]),
            38 => self.random.of(&["1000", "0", "-1"]),
            39 => self.random.of(&["2", "4", "8", "C", "Z"]),
            64 => self.random.of(&["20260108", "00000000", "x"]),
            _ => self
                .random
                .of(&["-1", "99999999999", "99999999999999999999", "x"]),
        };
        let (exec, kind) = (self.number(), if is_trade { "F" } else { "0" });
        let mut fields = vec![
            (17, format!("E{exec}")),
            (150, kind.to_owned()),
            (39, "1".to_owned()),
            (14, total.to_string()),
            (151, (held.quantity - total).to_string()),
            (38, held.quantity.to_string()),
            (64, "20260107".to_owned()),
            (32, fill.to_string()),
            (31, self.price(held.pair, held.price)),
        ];
        let mut fields = fields
            .drain(..)
            .filter(|(of, _)| is_trade || !matches!(of, 31 | 32));
        let body = fields.by_ref().map(|(of, value)| match of == tag {
            true => format!("|{of}={wrong}"),
            false => format!("|{of}={value}"),
        });
        let body: String = body.filter(|field| !field.ends_with('=')).collect();
        let id = &held.id;
        self.tell(held.bank, &format!("35=8|11={id}{body}"))
    }

    fn fill(&mut self, id: &str, quantity: i64) {
        if let Some(held) = self.held.iter_mut().find(|held| held.id == id) {
            held.cum += quantity;
        }
    }

    fn executed(&mut self, id: &str, exec: u64) {
        if let Some(held) = self.held.iter_mut().find(|held| held.id == id) {
            held.execs.push(exec);
        }
    }

    fn status(&mut self, bank: usize, id: &str, more: &str) {
        let held = self.held.iter().find(|held| held.id == id);
        let (cum, quantity) = held.map_or((0, 0), |held| (held.cum, held.quantity));
        let status = match (cum, self.random.below(4)) {
            (0, 0) => "8|103=5|151=0".to_owned(),
            (_, 1) => format!("0|151={}", quantity - cum),
            _ if cum == quantity => "2|151=0".to_owned(),
            _ => "4|151=0".to_owned(),
        };
        let body = format!("35=8|11={id}|17=0|150=I|39={status}|14={cum}|{more}");
        self.answers
            .push(format!("{}.o {}", NAMES[bank], fix(&body)));
    }

    fn tell(&mut self, bank: usize, body: &str) -> Vec<String> {
        let line = format!("{}.o {}", NAMES[bank], fix(body));
        self.told.push(line.clone());
        vec![line]
    }
}
