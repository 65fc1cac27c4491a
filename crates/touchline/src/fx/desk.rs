//! Commands of the desk: `touchline fx send`, `cancel`, `kill`, `lift`, `enable`, `resolve`.

use crate::output::{Failure, say};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_execution::desk::DeskClient;
use touchline_execution::records::LINE_KINDS;
use touchline_execution::{decode, standby_bus};
use touchline_transport::bus::{Polled, Root, Subscription};

/// Longest wait for the engine's answer; a promotion waits for order sessions up to 5 s.
const ANSWER: Duration = Duration::from_secs(8);
/// Pause of a reader that finds nothing.
const PAUSE: Duration = Duration::from_micros(200);

/// Engine and client of a command.
#[derive(Debug, Args)]
pub struct To {
    /// Bus of the engine
    #[arg(long, value_name = "BUS", default_value = "fx-run")]
    bus: String,
    /// Client, as the engine's configuration names it
    #[arg(long = "as", value_name = "CLIENT", default_value = "desk")]
    client: String,
    /// Directory of the buses. Default: /dev/shm/touchline-UID
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
}

impl To {
    /// What has this bus.
    fn program(&self) -> &'static str {
        match self.bus.ends_with(&standby_bus("")) {
            true => "`touchline fx run --standby`",
            false => "`touchline fx run`",
        }
    }
}

/// Send a parent order to the trading engine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx send EUR/USD buy 1000000 --limit 1.1005 --wait
  touchline fx send EUR/USD sell 5000000 --tif fok --style full

Exit status:
  0  accepted; with --wait: the order has ended and has no open orders at banks
  1  refused, or no answer
  2  bad arguments")]
pub struct SendArguments {
    /// Pair, such as EUR/USD
    pair: String,
    /// Side
    side: Side,
    /// Quantity, base units
    quantity: i64,
    /// Name of the order; by default the time
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Worst price
    #[arg(long, value_name = "PRICE")]
    limit: Option<String>,
    /// Lifetime
    #[arg(long, default_value = "gtd")]
    tif: Lifetime,
    /// Lifetime of a gtd order, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    deadline_ms: u64,
    /// Urgency, 0 to 2
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2))]
    urgency: u8,
    /// Execution style: best, full (one ticket) or sweep
    #[arg(long, default_value = "best")]
    style: Style,
    /// Fill the whole quantity at once or nothing
    #[arg(long)]
    whole: bool,
    /// Wait until the order has ended and has no open orders at banks; print its fills
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    to: To,
}

/// Side of an order.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Side {
    Buy,
    Sell,
}

/// Lifetime of an order.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Lifetime {
    Gtd,
    Ioc,
    Fok,
}

/// Style of an order.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Style {
    Best,
    Full,
    Sweep,
}

/// End a parent order, and cancel its open orders at banks.
#[derive(Debug, Args)]
pub struct CancelArguments {
    /// Name of the order
    id: String,
    #[command(flatten)]
    to: To,
}

/// Set the kill switch: every parent order ends, every order is canceled, nothing is sent.
#[derive(Debug, Args)]
pub struct KillArguments {
    #[command(flatten)]
    to: To,
}

/// Lift the kill switch; two different users are required.
#[derive(Debug, Args)]
pub struct LiftArguments {
    #[command(flatten)]
    to: To,
}

/// Enable a pair of a bank that was disabled by a reject.
#[derive(Debug, Args)]
pub struct EnableArguments {
    /// Bank
    bank: String,
    /// Pair
    pair: String,
    #[command(flatten)]
    to: To,
}

/// End an unknown or disputed order with the state that the bank reports.
#[derive(Debug, Args)]
pub struct ResolveArguments {
    /// ClOrdID
    order: String,
    /// Filled quantity in total, base units
    filled: i64,
    /// Price of the quantity that is not booked yet
    #[arg(long, value_name = "PRICE")]
    price: Option<String>,
    #[command(flatten)]
    to: To,
}

/// Make the standby the active engine; it is refused while another engine lives, also one that is frozen.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx promote --check
  touchline fx promote

Exit status:
  0  promoted; with --check: a standby runs
  1  refused: the message names the active engine; or there is no standby
  2  bad arguments")]
pub struct PromoteArguments {
    /// Print what the standby has applied and which engine is active, and change nothing
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    to: To,
}

/// `fx promote`.
pub fn promote(arguments: &PromoteArguments) -> Result<(), Failure> {
    let op = if arguments.check {
        "standby"
    } else {
        "promote"
    };
    let to = To {
        bus: standby_bus(&arguments.to.bus),
        client: arguments.to.client.clone(),
        dir: arguments.to.dir.clone(),
    };
    once(&to, &json!({"op": op}))
}

/// `fx send`.
pub fn send(arguments: &SendArguments) -> Result<(), Failure> {
    let word = |value: &dyn ValueName| value.name();
    let id = arguments
        .id
        .clone()
        .unwrap_or_else(|| format!("P{}", now_ns() / 1_000));
    let mut command = json!({
        "op": "parent", "id": id, "pair": arguments.pair, "side": word(&arguments.side), "qty": arguments.quantity,
        "limit": arguments.limit, "tif": word(&arguments.tif), "urgency": arguments.urgency,
        "style": word(&arguments.style), "partial": !arguments.whole,
    });
    if matches!(arguments.tif, Lifetime::Gtd) {
        command["deadline_ms"] = arguments.deadline_ms.into();
    }
    let mut desk = Desk::open(&arguments.to)?;
    desk.command(&command)?;
    match arguments.wait {
        false => say(&format!("accepted {id}\n")),
        true => desk.follow(&id),
    }
}

/// `fx cancel`.
pub fn cancel(arguments: &CancelArguments) -> Result<(), Failure> {
    once(&arguments.to, &json!({"op": "cancel", "id": arguments.id}))
}

/// `fx kill`.
pub fn kill(arguments: &KillArguments) -> Result<(), Failure> {
    once(&arguments.to, &json!({"op": "kill"}))
}

/// `fx lift`.
pub fn lift(arguments: &LiftArguments) -> Result<(), Failure> {
    once(&arguments.to, &json!({"op": "lift"}))
}

/// `fx enable`.
pub fn enable(arguments: &EnableArguments) -> Result<(), Failure> {
    let command = json!({"op": "enable", "bank": arguments.bank, "pair": arguments.pair});
    once(&arguments.to, &command)
}

/// `fx resolve`.
pub fn resolve(arguments: &ResolveArguments) -> Result<(), Failure> {
    let command = json!({
        "op": "resolve", "clordid": arguments.order, "cum": arguments.filled, "price": arguments.price,
    });
    once(&arguments.to, &command)
}

fn once(to: &To, command: &Value) -> Result<(), Failure> {
    let answer = Desk::open(to)?.command(command)?;
    say(&format!("{answer}\n"))
}

/// A client of the engine.
struct Desk<'a> {
    to: &'a To,
    answers: Subscription<0>,
    ring: DeskClient,
    /// Lines that came before the answer to the command: they may be about it.
    before: VecDeque<Line>,
}

/// A line of the drop copy, with its kind.
type Line = (&'static str, Map<String, Value>);

impl<'a> Desk<'a> {
    /// Joins the drop copy before anything is sent, so that no answer is missed.
    fn open(to: &'a To) -> Result<Desk<'a>, Failure> {
        let root = match &to.dir {
            Some(directory) => Root::at(directory),
            None => Root::of_this_user(),
        };
        let answers = Subscription::join(&root, &to.bus, [], false).map_err(|error| {
            Failure::run(format!(
                "no engine on bus {}: {error}; start {}",
                to.bus,
                to.program(),
            ))
        })?;
        let has_engine = answers.publisher().map_err(Failure::run)?.is_some();
        if !has_engine {
            return Err(Failure::run(format!(
                "the engine on bus {} has ended; start {}",
                to.bus,
                to.program(),
            )));
        }
        let ring = DeskClient::open(&root, &to.bus, &to.client).map_err(Failure::run)?;
        let mut desk = Desk {
            to,
            answers,
            ring,
            before: VecDeque::new(),
        };
        // What was published before is of no interest.
        while desk.line().is_some() {}
        Ok(desk)
    }

    /// Sends a command, and waits for its answer.
    fn command(&mut self, command: &Value) -> Result<String, Failure> {
        let request = now_ns();
        if !self.ring.send(request, &command.to_string()) {
            return Err(Failure::usage("the command is too long"));
        }
        let until = Instant::now() + ANSWER;
        while Instant::now() < until {
            let Some((kind, line)) = self.line() else {
                std::thread::sleep(PAUSE);
                continue;
            };
            let is_mine = kind == "answers"
                && line.get("client").and_then(Value::as_str) == Some(&self.to.client)
                && line.get("request").and_then(Value::as_u64) == Some(request);
            if !is_mine {
                self.before.push_back((kind, line));
                continue;
            }
            let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
            return match text("answer") {
                "refused" => Err(Failure::run(format!("refused: {}", text("reason")))),
                answer => Ok(answer.to_owned()),
            };
        }
        Err(Failure::run(format!(
            "no answer within {} s: the engine is stopped, or does not know client {} of this user; whether the command was \
             executed is in the journal",
            ANSWER.as_secs(),
            self.to.client
        )))
    }

    /// Prints what becomes of an order, until nothing of it is out.
    fn follow(&mut self, id: &str) -> Result<(), Failure> {
        loop {
            let next = self.before.pop_front();
            let Some((kind, line)) = next.or_else(|| self.line()) else {
                let has_ended = self.answers.publisher().map_err(Failure::run)?.is_none();
                if has_ended {
                    return Err(Failure::run(
                        "the engine has ended; the journal has what became of the order",
                    ));
                }
                std::thread::sleep(PAUSE);
                continue;
            };
            if line.get("parent").and_then(Value::as_str) != Some(id) {
                continue;
            }
            match kind {
                "fills" => say(&fill_text(&line))?,
                "decisions" => {
                    let event = line.get("event").and_then(Value::as_str);
                    let out = line.get("out").and_then(Value::as_i64);
                    if event == Some("waits") {
                        say(&format!("waits: {}\n", plain(line.get("reason"))))?;
                    }
                    let is_over =
                        event == Some("settled") || (event == Some("ended") && out == Some(0));
                    if is_over {
                        return say(&end_text(id, &line));
                    }
                }
                _ => {}
            }
        }
    }

    /// The next line of the drop copy, with its kind.
    fn line(&mut self) -> Option<Line> {
        loop {
            let polled = self.answers.poll(|message| {
                let (kind, _, text) = decode(message.bytes)?;
                let kind = *LINE_KINDS.get(usize::from(kind))?;
                Some((kind, serde_json::from_str(text).ok()?))
            });
            match polled {
                Ok(Polled::Given(Some(line))) => return Some(line),
                Ok(Polled::Nothing) => return None,
                Ok(Polled::Given(None) | Polled::Passed(_)) | Err(_) => {}
            }
        }
    }
}

fn fill_text(line: &Map<String, Value>) -> String {
    format!(
        "{} {} {} at {} by {} ({} {})\n",
        plain(line.get("side")),
        plain(line.get("qty")),
        plain(line.get("pair")),
        plain(line.get("price")),
        plain(line.get("bank")),
        plain(line.get("kind")),
        plain(line.get("exec_id")),
    )
}

fn end_text(id: &str, line: &Map<String, Value>) -> String {
    let average = match line.get("avg") {
        None | Some(Value::Null) => String::new(),
        average => format!(" at {}", plain(average)),
    };
    format!("{id}: {} filled{average}\n", plain(line.get("filled")))
}

/// A value without quotation marks.
fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The word of a choice.
trait ValueName {
    fn name(&self) -> String;
}

impl<T: ValueEnum> ValueName for T {
    fn name(&self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
