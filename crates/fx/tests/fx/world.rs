//! Fixture: a configuration, a clock, and handwritten lines of a session.

use touchline_fx::Setup;
use touchline_fx::sessions::Replay;

/// 2026-01-05 09:00 UTC, nanoseconds since 1970.
pub const START_NS: u64 = 1_767_603_600_000_000_000;

/// One pair with lots of 1,000 and two sizes, and these banks with their settings.
pub fn config(extra: &str, banks: &[(&str, &str)]) -> String {
    let mut text = format!(
        "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n{extra}\n\
         [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nlot = 1000\nspot_date = \"20260107\"\n\
         sizes = [1000000, 3000000]\ncollar_ticks = 100\nmax_order = 50000000\n\
         [[pairs]]\nsymbol = \"USD/JPY\"\nprecision = 3\nlot = 1000\nspot_date = \"20260107\"\nsizes = []\n"
    );
    for (name, more) in banks {
        let pairs = "pairs = [\"EUR/USD\", \"USD/JPY\"]";
        text += &format!("[[banks]]\nname = \"{name}\"\n{pairs}\n{more}\n");
    }
    text
}

/// A replay whose lines are written by the test.
pub struct World {
    pub replay: Replay,
    now_ns: u64,
    /// Number of lines read from each file.
    seen: [usize; 6],
}

/// A FIX message from a body `35=…|…`, with length and checksum, and `|` as the separator.
pub fn fix(body: &str) -> String {
    let length = body.len() + 1;
    let text = format!("8=FIX.4.4|9={length}|{body}|");
    let byte = |byte: u8| if byte == b'|' { 1 } else { byte };
    let sum = text
        .bytes()
        .fold(0_u8, |sum, next| sum.wrapping_add(byte(next)));
    format!("{text}10={sum:03}|")
}

impl World {
    /// A world from a configuration; all sessions are down.
    pub fn new(config: &str) -> World {
        let setup = Setup::parse(config).unwrap_or_else(|error| panic!("{error}"));
        World {
            replay: Replay::new(setup),
            now_ns: START_NS,
            seen: [0; 6],
        }
    }

    /// A world with both sessions of these banks up.
    pub fn up(extra: &str, banks: &[(&str, &str)]) -> World {
        let mut world = World::new(&config(extra, banks));
        for (name, _) in banks {
            world.line(&format!("{name}.q !up"));
            world.line(&format!("{name}.o !up"));
        }
        world
    }

    /// Sets the clock, milliseconds since the start.
    pub fn at(&mut self, ms: u64) -> &mut World {
        self.now_ns = START_NS + ms * 1_000_000;
        self
    }

    /// Adds a line of the session at the present time.
    pub fn line(&mut self, text: &str) -> &mut World {
        let line = format!("{} {text}", self.now_ns);
        self.replay
            .line(&line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        self
    }

    /// A message of a bank's pricing session.
    pub fn quote(&mut self, bank: &str, body: &str) -> &mut World {
        self.line(&format!("{bank}.q {}", fix(body)))
    }

    /// A message of a bank's order session.
    pub fn report(&mut self, bank: &str, body: &str) -> &mut World {
        self.line(&format!("{bank}.o {}", fix(body)))
    }

    /// A snapshot of EUR/USD: prices above 1.10, in ticks, and sizes in thousands, by side.
    pub fn book(&mut self, bank: &str, bids: &[(i64, i64)], asks: &[(i64, i64)]) -> &mut World {
        let entries = bids
            .iter()
            .map(|entry| (0, entry))
            .chain(asks.iter().map(|entry| (1, entry)));
        let mut body = format!("35=W|262=R|55=EUR/USD|268={}", bids.len() + asks.len());
        for (number, (side, (price, size))) in entries.enumerate() {
            let price = 110_000 + price;
            let price = format!("{}.{:05}", price / 100_000, price % 100_000);
            body += &format!(
                "|269={side}|278={bank}{number}|270={price}|271={size}000|299=Q{bank}{number}@{}",
                self.now_ns
            );
        }
        self.quote(bank, &body)
    }

    /// Advances the time, as with a heartbeat.
    pub fn wait(&mut self, ms: u64) -> &mut World {
        self.at(ms);
        self.replay.wake(self.now_ns);
        self
    }

    /// A parent of EUR/USD with additional fields.
    pub fn parent(&mut self, id: &str, side: &str, quantity: i64, more: &str) -> &mut World {
        self.desk(&format!(
            "{{\"op\":\"parent\",\"id\":\"{id}\",\"pair\":\"EUR/USD\",\"side\":\"{side}\",\"qty\":{quantity}{more}}}"
        ))
    }

    /// A command of the desk.
    pub fn desk(&mut self, json: &str) -> &mut World {
        self.line(&format!("- {json}"))
    }

    /// A report of an order: ExecID, ExecType, OrdStatus, CumQty and further fields.
    pub fn execution(
        &mut self,
        bank: &str,
        order: &str,
        exec: (&str, &str, &str, i64),
        more: &str,
    ) -> &mut World {
        let (exec_id, exec_type, status, cum) = exec;
        self.report(
            bank,
            &format!("35=8|11={order}|17={exec_id}|150={exec_type}|39={status}|14={cum}{more}"),
        )
    }

    /// New lines of a file, by its index.
    fn new_lines(&mut self, file: usize) -> Vec<String> {
        let text = self.replay.files().named()[file].1;
        let lines = text[self.seen[file]..]
            .lines()
            .map(ToOwned::to_owned)
            .collect();
        self.seen[file] = text.len();
        lines
    }

    /// Drops the lines written so far: only later lines count.
    pub fn read(&mut self) {
        (1..=4).for_each(|file| drop(self.new_lines(file)));
    }

    /// Lines of alarms among the new decisions.
    pub fn alarm_lines(&mut self) -> Vec<String> {
        let mut lines = self.decisions();
        lines.retain(|line| line.contains("\"alarm\""));
        lines
    }

    /// Names of these.
    pub fn alarms(&mut self) -> Vec<String> {
        values(&self.alarm_lines(), &["what"])
    }

    pub fn composites(&mut self) -> Vec<String> {
        self.new_lines(0)
    }

    pub fn decisions(&mut self) -> Vec<String> {
        self.new_lines(1)
    }

    pub fn orders(&mut self) -> Vec<String> {
        self.new_lines(2)
    }

    pub fn fills(&mut self) -> Vec<String> {
        self.new_lines(3)
    }

    pub fn positions(&mut self) -> Vec<String> {
        self.new_lines(4)
    }

    /// Best bid and ask of EUR/USD, as ticks above 1.10 with the quantity in thousands.
    pub fn tops(&self) -> [Option<(i64, i64)>; 2] {
        let tops = &self.replay.engine().pricing().composites().of(0).tops;
        [0, 1].map(|side| tops[side].map(|top| (top.price - 110_000, top.quantity / 1000)))
    }

    /// Number of sent orders.
    pub fn sent(&self) -> usize {
        self.replay.engine().trading().orders().iter().count()
    }

    /// State, filled and open quantity of an order by its number in the run.
    pub fn order(&self, number: usize) -> (String, i64, i64) {
        let order = self.replay.engine().trading().orders().get(number);
        (format!("{:?}", order.state()), order.cum(), order.leaves())
    }
}

/// Value of a key in a line, up to the next comma or end outside of text.
pub fn value<'a>(line: &'a str, key: &str) -> &'a str {
    let key = format!("\"{key}\":");
    let from = line
        .find(&key)
        .unwrap_or_else(|| panic!("no {key} in {line}"))
        + key.len();
    let rest = &line[from..];
    let end = rest.find([',', '}']).unwrap_or(rest.len());
    &rest[..end]
}

/// Values of keys in each line, separated by spaces.
pub fn values(lines: &[String], keys: &[&str]) -> Vec<String> {
    let of = |line: &String| {
        let found = keys.iter().map(|key| value(line, key).trim_matches('"'));
        found.collect::<Vec<_>>().join(" ")
    };
    lines.iter().map(of).collect()
}
