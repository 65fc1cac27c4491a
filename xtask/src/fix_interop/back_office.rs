//! The drop copy for back offices, received by QuickFIX/J.
//!
//! ```text
//! sim bank ◄─► fx run ─► journal ─► fx report --follow ──► BackOffice.java, QuickFIX/J ─┐
//!    │                      └─────► fx report ─► fills.csv ────────────────────────────►│ compared
//!    └─► ledger ────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! QuickFIX/J validates every message with its dictionary of FIX 4.4. It loses its connection, its process, the numbers of
//! what it received, and its store; the reporting process is killed, too. Everything happens while the engine trades with
//! banks that reject, fill in parts, cancel, bust and correct.

mod judge;
mod market;
mod office;

use super::engine::Engine;
use anyhow::{Context, Result, ensure};
use judge::{Execution, Received, Repetition};
use market::Market;
use office::Office;
use std::path::Path;

/// Parents sent between two events.
const PARENTS: u64 = 12;

/// Runs the case, and checks that a changed price is detected.
///
/// # Errors
/// A message that QuickFIX/J rejects, or the first difference.
pub fn run(engine: &Engine, program: &Path, seed: u64) -> Result<()> {
    let folder = engine.empty_folder("back-office")?;
    session(engine, program, seed, &folder)
        .with_context(|| format!("drop copy (seed {seed}, files in {})", folder.display()))
}

fn session(engine: &Engine, program: &Path, seed: u64, folder: &Path) -> Result<()> {
    let mut market = Market::open(program, &folder.join("market"), seed)?;
    let report = market.report("report1")?;
    let at = folder.join("office");
    let mut office = Office::start(engine, market.port(), &at)?;
    market.trade(PARENTS)?;
    office.wait("the first reports", |received| received.len() > 10)?;
    office.tell("drop")?;
    market.trade(PARENTS)?;
    office.logged_on(2)?;
    say("its connection is cut, and it continues with its numbers");
    report.kill()?;
    market.trade(PARENTS)?;
    let report = market.report("report2")?;
    office.logged_on(3)?;
    say("the reporting process is killed and started again");
    market.trade(PARENTS)?;
    office.kill()?;
    market.trade(PARENTS)?;
    let mut office = Office::start(engine, market.port(), &at)?;
    market.trade(PARENTS)?;
    let (executions, ledger) = market.close()?;
    let is_complete = |received: &[Received]| judge::missing(&executions, received) == 0;
    let all = office.wait("every execution", is_complete)?;
    let totals = judge::agree(&executions, &all)?;
    totals.is_of(&ledger)?;
    say("QuickFIX/J is killed and continues with its store");
    say(&format!("it has every execution once: {totals}"));
    detects_a_change(&executions, &all)?;
    let reports = judge::once(&all)?;

    office.tell("forget")?;
    let again = office.wait_after(&all, "all reports again", reports.len())?;
    judge::repeats(&reports, &again, Repetition::Duplicate)?;
    say(&format!(
        "it forgets what it received: its resend request is answered with {} reports, marked PossDupFlag",
        again.len()
    ));
    office.end()?;

    let at = folder.join("empty-store");
    let mut office = Office::start(engine, market.port(), &at)?;
    office.said("logged out: MsgSeqNum too low")?;
    office.tell("reset")?;
    let again = office.wait("all reports again", |received| {
        received.len() >= reports.len()
    })?;
    judge::repeats(&reports, &again, Repetition::Resend)?;
    say(
        "with an empty store it is refused, and with ResetSeqNumFlag it has all reports again, marked PossResend",
    );
    office.end()?;
    report.end()
}

/// A changed price, a missing and an unknown execution must be detected.
fn detects_a_change(executions: &[Execution], received: &[Received]) -> Result<()> {
    let mut changed = executions.to_vec();
    changed[0].price.push('1');
    for executions in [&changed[..], &executions[1..]] {
        ensure!(
            judge::agree(executions, received).is_err(),
            "the expected executions were changed and the comparison did not detect it"
        );
    }
    ensure!(
        judge::missing(executions, &received[1..]) > 0,
        "a report was removed and the comparison did not detect it"
    );
    Ok(())
}

fn say(text: &str) {
    println!("fix-interop: drop copy: {text}");
}
