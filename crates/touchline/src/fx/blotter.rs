//! `touchline fx blotter`: parents, orders, positions, banks and alarms of a trading engine on a screen.

mod live;

use super::follow::{Source, open};
use super::numbers::{money, units};
use crate::format::{counted, time_of_day};
use crate::output::{Failure, say};
use crate::paint::Paint;
use crate::screen;
use clap::Args;
pub use live::Live;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::IsTerminal;
use touchline_fx_desk::ledger::{BankRow, FillRow, Ledger, LiveLedger};
use touchline_fx_events::lines::names::{fill_name, order_state_name, side_name};
use touchline_fx_events::orders::OrderState;
use touchline_fx_events::ticks;
use touchline_gateway::bus;
use touchline_types::Id;

/// Show parents, orders, fills, positions, banks and alarms of a trading engine.
///
/// Everything is read from the journal, the drop copy and the counters: the engine does not notice its readers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx blotter
  touchline fx blotter --config fx/run.toml --once

Exit status: 0 stopped by Ctrl-C, or --once; 1 the journal cannot be read, 2 bad arguments or
configuration")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Print it once, and end
    #[arg(long)]
    once: bool,
    /// Rows of each table; by default as many as the terminal has room for, at most 8
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
}

/// Most rows of a table by default.
const ROWS_MAX: usize = 8;
/// Columns of the codes of rejects; more codes take further lines.
const CODES_WIDTH: usize = 24;

/// Shows the blotter.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.source.settings()?;
    let root = bus::root(config.run.directory.as_deref());
    let mut follower = open(&config);
    let mut ledger = LiveLedger::default();
    let paint = Paint::for_stdout();
    let is_screen = !arguments.once && std::io::stdout().is_terminal();
    let mut picture = || {
        let polled = follower.poll_live(&mut |told| ledger.take(told));
        polled.map_err(Failure::run)?;
        let live = match follower.has_engine() {
            true => Live::read(&root, &config.run.bus),
            false => Live::default(),
        };
        let mut room = match is_screen {
            true => Room::of_terminal(ledger.now(), &live, 0),
            false => Room::default(),
        };
        room.rows = arguments.rows.unwrap_or(room.rows);
        Ok(draw(ledger.now(), &live, room, paint))
    };
    match arguments.once {
        true => say(&picture()?),
        false => screen::watch(picture),
    }
}

/// Room for the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Rows of each table that grows.
    rows: usize,
    /// Without empty lines between tables.
    is_dense: bool,
}

impl Default for Room {
    fn default() -> Room {
        Room {
            rows: ROWS_MAX,
            is_dense: false,
        }
    }
}

impl Room {
    /// Room of the terminal below this number of other lines.
    pub fn of_terminal(ledger: &Ledger, live: &Live, above: usize) -> Room {
        let (_, height) = screen::size();
        Room::of(height, ledger, live, above)
    }

    fn of(height: usize, ledger: &Ledger, live: &Live, above: usize) -> Room {
        /// Tables whose rows grow, and those with a heading and an empty line before it.
        const GROWING: usize = 4;
        const TABLES: usize = 6;
        // The state, the headings, and the last row of the terminal.
        let fixed =
            above + 1 + usize::from(live.down().is_some()) + live.closed().len() + TABLES + 1;
        let fixed = fixed + ledger.pairs.len() + bank_names(ledger, live).len();
        let rows = |fixed: usize| (height.saturating_sub(fixed) / GROWING).min(ROWS_MAX);
        let is_dense = rows(fixed + TABLES) < 3;
        let rows = match is_dense {
            true => rows(fixed).max(1),
            false => rows(fixed + TABLES),
        };
        Room { rows, is_dense }
    }
}

/// The ledger as text of at most 80 columns.
pub fn draw(ledger: &Ledger, live: &Live, room: Room, paint: Paint) -> String {
    let mut page = Page {
        text: String::new(),
        room,
        paint,
    };
    page.line(format_args!(
        "{}   {} UTC   {}, {} out with {}",
        live.state(ledger.killed.as_deref(), paint),
        time_of_day(ledger.at_ns),
        counted(ledger.fill_count, "fill"),
        counted(ledger.open().len() as u64, "order"),
        units(ledger.out()),
    ));
    if let Some(down) = live.down() {
        page.line(format_args!("{}", paint.red(down)));
    }
    for closed in live.closed() {
        page.line(format_args!("{closed}"));
    }
    page.positions(ledger);
    page.parents(ledger);
    page.orders(ledger);
    page.banks(ledger, live);
    page.last(ledger);
    page.text
}

/// Banks that have dealt or have a session, in their order by name.
fn bank_names<'b>(ledger: &'b Ledger, live: &'b Live) -> BTreeSet<&'b str> {
    let dealt = ledger.banks.keys().map(String::as_str);
    dealt.chain(live.banks()).collect()
}

/// The text so far.
struct Page {
    text: String,
    room: Room,
    paint: Paint,
}

impl Page {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing into a string does not fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn head(&mut self, title: &str) {
        let gap = if self.room.is_dense { "" } else { "\n" };
        let title = self.paint.bold(title);
        self.line(format_args!("{gap}{title}"));
    }

    fn positions(&mut self, ledger: &Ledger) {
        self.head("pair        position              cash   worst long  worst short           pnl");
        for (pair, row) in &ledger.pairs {
            let [long, short] = row.worst.map(units);
            self.line(format_args!(
                "{pair:<7} {:>12} {:>17} {long:>12} {short:>12} {:>13}",
                units(row.position),
                money(&row.cash),
                row.pnl.as_deref().map_or("-".to_owned(), money),
            ));
        }
    }

    fn parents(&mut self, ledger: &Ledger) {
        self.head("parent            pair    side   quantity     filled    limit state");
        let skipped = ledger.parents.len().saturating_sub(self.room.rows);
        for parent in ledger.parents.iter().skip(skipped) {
            self.line(format_args!(
                "{:<17} {:<7} {:<4} {:>10} {:>10} {:>8} {}",
                parent.id.as_str(),
                parent.pair,
                side_name(parent.side),
                units(parent.quantity),
                units(parent.filled),
                parent.limit.as_deref().unwrap_or("-"),
                parent.state.replacen(": ", " ", 1),
            ));
        }
    }

    fn orders(&mut self, ledger: &Ledger) {
        self.head("order out                        bank         filled       leaves  state");
        for (id, order) in ledger.open().take(self.room.rows) {
            let state = order_state_name(order.state);
            let state = match order.state {
                OrderState::Unknown | OrderState::Disputed => self.paint.yellow(state).to_string(),
                _ => state.to_owned(),
            };
            let (filled, leaves) = (units(order.cum), units(order.leaves));
            let bank = &order.bank;
            self.line(format_args!(
                "{id:<32} {bank:<8} {filled:>12} {leaves:>12}  {state}"
            ));
        }
        let more = ledger.open().len().saturating_sub(self.room.rows);
        if more > 0 {
            self.line(format_args!("{more} more"));
        }
    }

    fn banks(&mut self, ledger: &Ledger, live: &Live) {
        self.head("bank     session  orders   fills        filled unknown  rejects by code");
        let none = BankRow::default();
        for bank in bank_names(ledger, live) {
            let row = ledger.banks.get(bank).unwrap_or(&none);
            // Padded before it is coloured: colours have no width.
            let session = live.session(bank);
            let session = session.map(|of_bank| (of_bank.is_up, of_bank.closed_until_ns));
            let session = match session.unwrap_or_default() {
                (None, _) => "-      ".to_owned(),
                (Some(true), _) => "up     ".to_owned(),
                (Some(false), Some(_)) => "closed ".to_owned(),
                (Some(false), None) => self.paint.red("down   "),
            };
            let mut codes = coded(row, ledger.at_ns).into_iter();
            self.line(format_args!(
                "{bank:<8} {session} {:>7} {:>7} {:>13} {:>7}  {}",
                row.orders,
                row.fills,
                units(row.filled),
                row.unknown,
                codes.next().unwrap_or_default(),
            ));
            for more in codes {
                self.line(format_args!("{:56}{more}", ""));
            }
        }
    }

    fn last(&mut self, ledger: &Ledger) {
        self.head("last fills");
        let rows = self.room.rows;
        for row in ledger.fills.iter().rev().take(rows) {
            let (time, kind) = (time_of_day(row.at_ns), fill_name(row.fill.kind));
            self.line(format_args!("{time}  {} ({kind})", traded(row)));
        }
        if ledger.alarms.is_empty() {
            return;
        }
        self.head("last alarms");
        for row in ledger.alarms.iter().rev().take(rows) {
            let mut alarm = format!("{}  {}", time_of_day(row.at_ns), row.what);
            for about in [row.bank.as_deref(), row.order.as_ref().map(Id::as_str)] {
                alarm.extend(about.map(|about| format!(" {about}")));
            }
            self.line(format_args!("{}", self.paint.red(alarm)));
        }
    }
}

/// A trade as text: `buy 1,000,000 EUR/USD at 1.10001 by LP02`.
fn traded(row: &FillRow) -> String {
    let fill = &row.fill;
    let price = ticks::text(i128::from(fill.price.0), ticks::PRICE_DECIMALS);
    format!(
        "{} {} {} at {price} by {}",
        side_name(fill.side),
        units(fill.quantity),
        row.pair,
        row.bank.as_deref().unwrap_or("-")
    )
}

/// Rejects by code and what keeps a bank from orders, in lines of [`CODES_WIDTH`] as far as its words allow.
fn coded(row: &BankRow, at_ns: u64) -> Vec<String> {
    let codes = row.rejects.iter();
    let mut words: Vec<String> = codes
        .map(|(code, count)| format!("{code} {count}"))
        .collect();
    if row.cooling_until_ns > at_ns {
        words.push("cooling down".to_owned());
    }
    words.extend(row.disabled.iter().map(|pair| format!("{pair} disabled")));
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 2 + word.len() <= CODES_WIDTH => {
                line.push_str(", ");
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
