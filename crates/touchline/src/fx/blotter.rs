//! `touchline fx blotter`: parents, orders, positions, banks and alarms of a trading engine on a screen.

use super::follow::{Source, open, settings};
use crate::format::{count, time_of_day};
use crate::output::{Failure, say};
use crate::paint::Paint;
use crate::screen;
use clap::Args;
use serde_json::{Map, Value};
use std::fmt::Write;
use touchline_execution::blotter::{Blotter, LiveBlotter};

/// Show parents, orders, fills, positions, banks and alarms of a trading engine.
///
/// Everything is read from the journal and the drop copy: the engine does not notice its readers.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx blotter --config fx/run.toml
  touchline fx blotter --config fx/run.toml --once

Exit status:
  0  stopped by Ctrl-C, or --once
  1  the journal cannot be read
  2  bad arguments or configuration")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Print it once, and end
    #[arg(long)]
    once: bool,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 8)]
    rows: usize,
}

/// Shows the blotter.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut follower = open(&settings(&arguments.source)?);
    let mut blotter = LiveBlotter::default();
    let paint = Paint::for_stdout();
    let mut picture = || {
        let polled = follower.poll_live(&mut |line| blotter.take(line));
        polled.map_err(Failure::run)?;
        Ok(draw(
            blotter.now(),
            follower.has_engine(),
            arguments.rows,
            paint,
        ))
    };
    match arguments.once {
        true => say(&picture()?),
        false => screen::watch(picture),
    }
}

/// The blotter as text, with so many rows of each table.
pub fn draw(blotter: &Blotter, has_engine: bool, rows: usize, paint: Paint) -> String {
    let mut text = String::new();
    let state = match (has_engine, &blotter.killed) {
        (false, _) => paint.yellow("no engine").to_string(),
        (true, Some(by)) => paint.red(format!("KILLED by {by}")).to_string(),
        (true, None) => paint.green("trading").to_string(),
    };
    // Writing into a string does not fail.
    let _ = writeln!(
        text,
        "{state}   {} UTC   {} fills, {} orders out with {}",
        time_of_day(blotter.at_ns),
        blotter.fill_count,
        blotter.orders.len(),
        count(blotter.out().unsigned_abs()),
    );
    positions(blotter, &mut text, paint);
    parents(blotter, rows, &mut text, paint);
    orders(blotter, rows, &mut text, paint);
    banks(blotter, &mut text, paint);
    last(blotter, rows, &mut text, paint);
    text
}

fn head(text: &mut String, paint: Paint, title: &str) {
    let _ = writeln!(text, "\n{}", paint.bold(title));
}

fn positions(blotter: &Blotter, text: &mut String, paint: Paint) {
    head(
        text,
        paint,
        "pair           position              cash    worst long   worst short            pnl",
    );
    for (pair, row) in &blotter.pairs {
        let _ = writeln!(
            text,
            "{pair:<10} {:>12} {:>17} {:>13} {:>13} {:>14}",
            row.position,
            row.cash,
            row.worst[0],
            row.worst[1],
            row.pnl.as_deref().unwrap_or("-"),
        );
    }
}

fn parents(blotter: &Blotter, rows: usize, text: &mut String, paint: Paint) {
    head(
        text,
        paint,
        "parent                pair       side     quantity       filled      limit  state",
    );
    let skipped = blotter.parents.len().saturating_sub(rows);
    for parent in blotter.parents.iter().skip(skipped) {
        let _ = writeln!(
            text,
            "{:<21} {:<10} {:<4} {:>12} {:>12} {:>10}  {}",
            parent.id,
            parent.pair,
            parent.side,
            parent.quantity,
            parent.filled,
            parent.limit.as_deref().unwrap_or("-"),
            parent.state,
        );
    }
}

fn orders(blotter: &Blotter, rows: usize, text: &mut String, paint: Paint) {
    head(
        text,
        paint,
        "order out                        bank         filled       leaves  state",
    );
    for (id, order) in blotter.orders.iter().take(rows) {
        let state = match order.state.as_str() {
            state @ ("unknown" | "disputed") => paint.yellow(state).to_string(),
            state => state.to_owned(),
        };
        let _ = writeln!(
            text,
            "{id:<32} {:<8} {:>12} {:>12}  {state}",
            order.bank, order.cum, order.leaves
        );
    }
    let more = blotter.orders.len().saturating_sub(rows);
    if more > 0 {
        let _ = writeln!(text, "{more} more");
    }
}

fn banks(blotter: &Blotter, text: &mut String, paint: Paint) {
    head(
        text,
        paint,
        "bank       orders    fills        filled  unknown  rejects by code",
    );
    for (bank, row) in &blotter.banks {
        let mut rejects: Vec<String> = row
            .rejects
            .iter()
            .map(|(code, count)| format!("{code} {count}"))
            .collect();
        if row.cooling_until_ns > blotter.at_ns {
            rejects.push("cooling down".to_owned());
        }
        if !row.disabled.is_empty() {
            rejects.push(format!("disabled: {}", row.disabled.join(" ")));
        }
        let _ = writeln!(
            text,
            "{bank:<8} {:>8} {:>8} {:>13} {:>8}  {}",
            row.orders,
            row.fills,
            row.filled,
            row.unknown,
            rejects.join(", ")
        );
    }
}

fn last(blotter: &Blotter, rows: usize, text: &mut String, paint: Paint) {
    head(text, paint, "last fills");
    let value = |line: &Map<String, Value>, key: &str| match line.get(key) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let time = |line: &Map<String, Value>| {
        let at_ns = line.get("t").and_then(Value::as_u64).unwrap_or(0);
        time_of_day(at_ns)
    };
    for line in blotter.fills.iter().rev().take(rows) {
        let _ = writeln!(
            text,
            "{}  {} {} {} at {} by {} ({})",
            time(line),
            value(line, "side"),
            value(line, "qty"),
            value(line, "pair"),
            value(line, "price"),
            value(line, "bank"),
            value(line, "kind"),
        );
    }
    if blotter.alarms.is_empty() {
        return;
    }
    head(text, paint, "last alarms");
    for line in blotter.alarms.iter().rev().take(rows) {
        let alarm = format!(
            "{}  {} {}",
            time(line),
            value(line, "what"),
            value(line, "clordid")
        );
        let _ = writeln!(text, "{}", paint.red(alarm));
    }
}
