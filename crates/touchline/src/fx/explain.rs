//! `touchline fx explain`: the story of one parent, from the journal of its engine.

mod seen;
mod step;
mod story;

use super::follow::Source;
use crate::output::{Failure, say};
use clap::Args;
use std::path::{Path, PathBuf};
use story::Story;
use touchline_fx_desk::records;
use touchline_journal::is_journal;

/// Tell the story of one parent: command, market as seen, plans, messages, fills, slippage.
///
/// Each plan is made again from what its record says that it saw; the line `recomputed` says whether it is the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx explain P17
  touchline fx explain P17 --journal fx/journal --json

Steps, in the order of the journal:
  command     of a person, with the answer; cancels and other commands that changed the parent
  accepted    or refused; `arrival` has the mid and the average price of the whole quantity then
  plan        with its orders; then what it saw:
    entry       the first entries of each side that counted, and all that the plan used
    limit       a bank's cap, penalty, or orders that name a quote
    left_out    a bank without an entry that counted, and why
    hit         the bank's and the gateway's times of the quote that an order is on
    recomputed  whether the same plan follows from these
  sent        a message to a bank: its body, and its MsgSeqNum
  received    a message of a bank about an order of the parent, as it came
  order, fill, ended, settled, alarm
  slippage    against the mid at arrival, and duration, as in `fx report`: a cost is positive

Journals of earlier releases have no `arrival` and not what plans saw; `entry` says so.

Exit status: 0 done, 1 no such parent, no journal, or the journal is damaged or of another version,
2 bad arguments or configuration")]
pub struct Arguments {
    /// Name of the parent
    #[arg(value_name = "PARENT")]
    parent: String,
    /// Directory of the journal; default: that of the engine
    #[arg(long, value_name = "DIR", conflicts_with_all = ["config", "bus"])]
    journal: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
    /// Print each step as a JSON object on a line of its own
    #[arg(long)]
    json: bool,
}

/// Prints the story.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let journal = match &arguments.journal {
        Some(journal) => journal.clone(),
        None => arguments.source.settings()?.run.journal,
    };
    let story = read(&journal, &arguments.parent)?;
    let mut text = String::new();
    for step in story.steps() {
        match arguments.json {
            true => step.json(&mut text),
            false => step.text(&mut text),
        }
    }
    say(&text)
}

/// Reads the story of a parent.
fn read(journal: &Path, parent: &str) -> Result<Story, Failure> {
    let path = journal.display();
    let found = is_journal(journal).map_err(|error| {
        Failure::run(format!("{path}: {error}; give the directory of a journal"))
    })?;
    if !found {
        return Err(Failure::run(format!(
            "{path}: no segment of a journal; give the directory that has the files 0000000001.tlj and on"
        )));
    }
    let mut story = Story::of(parent);
    let read = records::read(journal, |number, labels, at_ns, entry, batch| {
        story.begin(number);
        story.take(labels, at_ns, &entry, batch);
    });
    read.map_err(Failure::run)?;
    if !story.is_known() {
        return Err(Failure::run(format!(
            "{path}: no parent {parent:?} among its {}; `touchline fx blotter` lists parents",
            crate::format::counted(story.parents(), "parent")
        )));
    }
    story.end();
    Ok(story)
}

#[cfg(test)]
mod tests;
