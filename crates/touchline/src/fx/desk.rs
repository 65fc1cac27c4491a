//! Commands of the desk: `touchline fx send`, `cancel`, `kill`, `lift`, `enable`, `resolve`, `book`.

use super::blotter::Live;
use super::follow::Source;
use super::lines::{Fields, field, trade, whole};
use super::numbers::{quantity, units};
use crate::missing;
use crate::output::{Failure, say};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use touchline_execution::desk::DeskClient;
use touchline_execution::{joined, standby_bus};
use touchline_fx::encoding::Decoder;
use touchline_fx::lines::{LineKind, lines_of};
use touchline_transport::boot_ns;
use touchline_transport::bus::{self, Polled, Root, SegmentError, Subscription};
use touchline_transport::clock::wall_ns;

/// Longest wait for the engine's answer; a promotion waits for order sessions up to 5 s.
const ANSWER: Duration = Duration::from_secs(8);
/// Longest wait for the ring: another process of the client has it while it writes a command.
const RING: Duration = Duration::from_secs(2);
/// Pause of a reader that finds nothing.
const PAUSE: Duration = Duration::from_micros(200);
/// Messages of the drop copy that are not lines, in one look for a line.
const SKIPPED_MAX: usize = 4_096;

/// Engine and client of a command.
#[derive(Debug, Args)]
pub struct To {
    /// Client, as the engine's configuration names it
    #[arg(long = "as", value_name = "CLIENT", default_value = "desk")]
    pub(super) client: String,
    #[command(flatten)]
    engine: Source,
}

/// Where a command goes.
#[derive(Clone)]
pub(super) struct Place {
    /// Directory and name of the bus of the answers.
    root: Root,
    pub(super) bus: String,
    /// Directory of the client's ring.
    pub(super) ring_root: Root,
}

impl To {
    /// The active engine.
    pub(super) fn place(&self) -> Result<Place, Failure> {
        let (root, bus, config) = self.engine.place()?;
        let mut ring_root = root.clone();
        if let Some(config) = config {
            let client = config
                .clients
                .iter()
                .find(|client| client.name == self.client);
            let client = client.ok_or_else(|| {
                let names = config.clients.iter().map(|client| client.name.as_str());
                let names = names.collect::<Vec<_>>().join(", ");
                Failure::usage(format!(
                    "{} is not a client of that configuration; give --as with one of: {names}",
                    self.client
                ))
            })?;
            if let Some(directory) = &client.directory {
                ring_root = Root::at(directory);
            }
        }
        Ok(Place {
            root,
            bus,
            ring_root,
        })
    }
}

impl Place {
    /// What has this bus, and the command that starts it.
    fn program(&self) -> (&'static str, &'static str) {
        match self.bus.ends_with(&standby_bus("")) {
            true => ("standby", "`touchline fx run --standby`"),
            false => ("engine", "`touchline fx run`"),
        }
    }
}

/// Send a parent order to the trading engine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx send EUR/USD buy 1000000 --limit 1.1005 --wait
  touchline fx send EUR/USD sell 2.5m --tif fok --style full

Exit status: 0 accepted (--wait: filled, in whole or in part), 1 refused, no answer (--wait: or
nothing filled), 2 bad arguments")]
pub struct SendArguments {
    /// Pair, such as EUR/USD
    pair: String,
    /// Side
    side: Side,
    /// Quantity, base units: 1000000, 1_000_000, 1m, 2.5m, 500k
    #[arg(value_parser = quantity)]
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
    /// Wait until the order has ended and has no open orders at banks; print its fills. Nothing filled is exit status 1
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
#[command(after_help = "\
Example:
  touchline fx cancel P17

Exit status: 0 done, 1 refused or no answer, 2 bad arguments")]
pub struct CancelArguments {
    /// Name of the order
    id: String,
    #[command(flatten)]
    to: To,
}

/// Lift the kill switch; two different users are required.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx lift && touchline fx lift --as chief

Exit status: 0 noted, and lifted with the second person; 1 refused or no answer, 2 bad arguments")]
pub struct LiftArguments {
    #[command(flatten)]
    to: To,
}

/// Enable a pair of a bank that was disabled by a reject.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx enable LP01 EUR/USD

Exit status: 0 done, 1 refused or no answer, 2 bad arguments")]
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
#[command(after_help = "\
Example:
  touchline fx resolve Te4-P17-1 500k --price 1.10021

Exit status: 0 done, 1 refused or no answer, 2 bad arguments")]
pub struct ResolveArguments {
    /// ClOrdID
    order: String,
    /// Filled quantity in total, base units: 0, 1000000, 2.5m, 500k
    #[arg(value_parser = quantity)]
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

Exit status: 0 promoted (--check: a standby runs), 1 refused (the message names the active engine)
or no standby, 2 bad arguments")]
pub struct PromoteArguments {
    /// Print what the standby has applied and which engine is active, and change nothing
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    to: To,
}

/// Book a trade that no order explains: an opening position, a reversal or a correction. Two persons of
/// `[risk] bookers` must give the same command.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  touchline fx book OPEN-1 EUR/USD buy 5m 1.10123 --value-date 20260107 --as chief

Exit status: 0 proposed, or booked with the second person; 1 refused or no answer, 2 bad arguments")]
pub struct BookArguments {
    /// Name of the booking; it is used once
    id: String,
    /// Pair, such as EUR/USD
    pair: String,
    /// Side
    side: Side,
    /// Quantity, base units: 1000000, 1_000_000, 1m
    #[arg(value_parser = quantity)]
    quantity: i64,
    /// Price
    price: String,
    /// Value date, YYYYMMDD
    #[arg(long, value_name = "DATE")]
    value_date: String,
    /// Bank, if the trade is with one
    #[arg(long, value_name = "BANK")]
    bank: Option<String>,
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
    let mut place = arguments.to.place()?;
    place.bus = standby_bus(&place.bus);
    let answer = Desk::open(&arguments.to.client, place)?.command(&json!({"op": op}))?;
    say(&format!("{answer}\n"))
}

/// `fx send`.
pub fn send(arguments: &SendArguments) -> Result<(), Failure> {
    let word = |value: &dyn ValueName| value.name();
    let id = arguments
        .id
        .clone()
        .unwrap_or_else(|| format!("P{}", wall_ns() / 1_000));
    let mut command = json!({
        "op": "parent", "id": id, "pair": arguments.pair, "side": word(&arguments.side), "qty": arguments.quantity,
        "limit": arguments.limit, "tif": word(&arguments.tif), "urgency": arguments.urgency,
        "style": word(&arguments.style), "partial": !arguments.whole,
    });
    if matches!(arguments.tif, Lifetime::Gtd) {
        command["deadline_ms"] = arguments.deadline_ms.into();
    }
    let mut desk = Desk::open(&arguments.to.client, arguments.to.place()?)?;
    desk.command(&command)?;
    match arguments.wait {
        false => say(&format!("accepted {id}\n")),
        true => desk.follow(&id, arguments.quantity),
    }
}

/// `fx cancel`.
pub fn cancel(arguments: &CancelArguments) -> Result<(), Failure> {
    once(&arguments.to, &json!({"op": "cancel", "id": arguments.id}))
}

/// `fx lift`.
pub fn lift(arguments: &LiftArguments) -> Result<(), Failure> {
    let mut desk = Desk::open(&arguments.to.client, arguments.to.place()?)?;
    let answer = desk.command(&json!({"op": "lift"}))?;
    // The decision was published before the answer.
    let mut lifts = desk.before.iter().filter(|(kind, line)| {
        *kind == LineKind::Decision && line.get("event").and_then(Value::as_str) == Some("lift")
    });
    let is_killed = lifts
        .next_back()
        .and_then(|(_, line)| line.get("killed")?.as_bool());
    say(match is_killed {
        Some(true) => {
            "noted; the kill switch is still set: another person must lift it, too\n".to_owned()
        }
        Some(false) => "lifted: the kill switch is not set any more\n".to_owned(),
        None => format!("{answer}\n"),
    }
    .as_str())
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

/// `fx book`.
pub fn book(arguments: &BookArguments) -> Result<(), Failure> {
    let command = json!({
        "op": "book", "id": arguments.id, "pair": arguments.pair, "side": arguments.side.name(), "qty": arguments.quantity,
        "price": arguments.price, "bank": arguments.bank, "value_date": arguments.value_date,
    });
    once(&arguments.to, &command)
}

fn once(to: &To, command: &Value) -> Result<(), Failure> {
    let answer = Desk::open(&to.client, to.place()?)?.command(command)?;
    say(&format!("{answer}\n"))
}

/// A client of the engine.
pub(super) struct Desk<'a> {
    /// Directory and name of the engine's bus.
    root: Root,
    bus: String,
    /// Directory of the client's ring.
    ring_root: Root,
    client: &'a str,
    answers: Subscription<0>,
    decoder: Decoder,
    /// Lines of the last message.
    lines: VecDeque<Line>,
    /// Lines that came before the answer to the command: they may be about it.
    before: VecDeque<Line>,
}

/// A line of the drop copy, with its kind.
type Line = (LineKind, Fields);

impl<'a> Desk<'a> {
    /// [`Desk::join`], past the lines that were published before.
    fn open(client: &'a str, place: Place) -> Result<Desk<'a>, Failure> {
        let mut desk = Desk::join(client, place)?;
        // Lines may arrive without end.
        let until = Instant::now() + RING;
        while desk.line().is_some() && Instant::now() < until {}
        Ok(desk)
    }

    /// Joins the drop copy before anything is sent, so that no answer is missed.
    pub(super) fn join(client: &'a str, place: Place) -> Result<Desk<'a>, Failure> {
        let (Place { root, bus, .. }, (what, start)) = (&place, place.program());
        let answers = Subscription::join(root, bus, [], false).map_err(|error| {
            let why = missing::words(root, bus, error);
            Failure::run(format!("no {what} on bus {bus}: {why}; start {start}"))
        })?;
        let has_engine = answers.publisher().map_err(Failure::run)?.is_some();
        if !has_engine {
            return Err(Failure::run(format!(
                "the {what} on bus {bus} has ended; start {start}",
            )));
        }
        let decoder = joined(root, bus);
        Ok(Desk {
            root: place.root,
            bus: place.bus,
            ring_root: place.ring_root,
            client,
            answers,
            decoder,
            lines: VecDeque::new(),
            before: VecDeque::new(),
        })
    }

    /// Sends a command, and waits for its answer.
    fn command(&mut self, command: &Value) -> Result<String, Failure> {
        let request = self.send(&command.to_string(), RING)?;
        self.answer(request, ANSWER)?.ok_or_else(|| {
            Failure::run(format!(
                "no answer within {} s: the engine is stopped, or does not know client {} of this user; whether the command was \
                 executed is in the journal",
                ANSWER.as_secs(),
                self.client
            ))
        })
    }

    /// Writes a command into the client's ring, for which it waits at most this long, and which is free again for its other processes
    /// when this returns. Returns the number.
    pub(super) fn send(&self, text: &str, within: Duration) -> Result<u64, Failure> {
        let until = Instant::now() + within;
        let mut ring = loop {
            match DeskClient::open(&self.ring_root, &self.bus, self.client) {
                Ok(ring) => break ring,
                Err(bus::Error::Segment(SegmentError::Busy { .. })) if Instant::now() < until => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(Failure::run(error)),
            }
        };
        // Numbers ascend in the order of the ring.
        let request = boot_ns();
        match ring.send(request, text) {
            true => Ok(request),
            false => Err(Failure::usage("the command is too long")),
        }
    }

    /// Waits for the answer to a command; none within the time.
    pub(super) fn answer(
        &mut self,
        request: u64,
        within: Duration,
    ) -> Result<Option<String>, Failure> {
        let until = Instant::now() + within;
        while Instant::now() < until {
            let Some((kind, line)) = self.line() else {
                std::thread::sleep(PAUSE);
                continue;
            };
            let is_mine = kind == LineKind::Answer
                && line.get("client").and_then(Value::as_str) == Some(self.client)
                && line.get("request").and_then(Value::as_u64) == Some(request);
            if !is_mine {
                self.before.push_back((kind, line));
                continue;
            }
            let text = |key: &str| line.get(key).and_then(Value::as_str).unwrap_or_default();
            return match text("answer") {
                "refused" => Err(Failure::run(match text("cause") {
                    "" => format!("refused: {}", text("reason")),
                    cause => format!("refused: {}: {cause}", text("reason")),
                })),
                answer => Ok(Some(answer.to_owned())),
            };
        }
        Ok(None)
    }

    /// Prints what becomes of an order of this quantity, until nothing of it is out.
    ///
    /// # Errors
    /// Among others: nothing of it was filled.
    fn follow(&mut self, id: &str, quantity: i64) -> Result<(), Failure> {
        let (mut waited, mut why) = (None, "-".to_owned());
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
                LineKind::Fill => say(&fill_text(&line))?,
                LineKind::Decision => {
                    let event = line.get("event").and_then(Value::as_str);
                    let out = line.get("out").and_then(Value::as_i64);
                    match event {
                        Some("waits") => {
                            let reason = field(&line, "reason");
                            say(&format!("waits: {reason}\n"))?;
                            waited = Some(reason);
                        }
                        Some("ended") => why = field(&line, "reason"),
                        _ => {}
                    }
                    let is_over =
                        event == Some("settled") || (event == Some("ended") && out == Some(0));
                    if is_over {
                        say(&end_text(id, quantity, &why, &line))?;
                        return match whole(&line, "filled") {
                            0 => Err(self.nothing_filled(id, &why, waited.as_deref())),
                            _ => Ok(()),
                        };
                    }
                }
                _ => {}
            }
        }
    }

    /// The failure of an order of which nothing was filled, with what may be the cause.
    fn nothing_filled(&self, id: &str, why: &str, waited: Option<&str>) -> Failure {
        let mut text = format!("nothing of {id} was filled: {why}");
        if let Some(reason) = waited {
            text += &format!("; it waited last: {reason}");
        }
        if let Some(down) = Live::read(&self.root, &self.bus).down() {
            text += &format!("; {down}");
        }
        Failure::run(text)
    }

    /// The next line of the drop copy, with its kind; `None` also after [`SKIPPED_MAX`] messages that are not lines.
    fn line(&mut self) -> Option<Line> {
        let (decoder, lines) = (&mut self.decoder, &mut self.lines);
        for _ in 0..SKIPPED_MAX {
            if let Some(line) = lines.pop_front() {
                return Some(line);
            }
            let polled = self.answers.poll(|message| {
                let mut text = String::new();
                // What is no batch of this version is left out.
                let _ = decoder.read(message.bytes, |labels, at_ns, entry, batch| {
                    lines_of((labels, batch), at_ns, &entry, &mut text, |kind, text| {
                        lines.extend(serde_json::from_str(text).ok().map(|line| (kind, line)));
                    });
                });
            });
            if matches!(polled, Ok(Polled::Nothing)) {
                return None;
            }
        }
        None
    }
}

fn fill_text(line: &Fields) -> String {
    let what = trade(line, &field(line, "qty"));
    let (kind, id) = (field(line, "kind"), field(line, "exec_id"));
    format!("{what} ({kind} {id})\n")
}

fn end_text(id: &str, quantity: i64, why: &str, line: &Fields) -> String {
    let average = match field(line, "avg").as_str() {
        "-" => String::new(),
        average => format!(" at {average}"),
    };
    let filled = whole(line, "filled");
    let rest = match quantity - filled {
        0 => String::new(),
        rest => format!(", {} not filled: {why}", units(rest)),
    };
    format!("{id}: {filled} filled{average}{rest}\n")
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
