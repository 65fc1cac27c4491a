//! `bench fx-trade --kill`: from the desk's command to the last cancel handed to the kernel.

use super::{Arguments, Place, end, failed, row};
use crate::bench::progress::with_progress;
use crate::bench::run::Run;
use crate::output::Failure;
use std::time::Duration;
use touchline_fx_events::command::Command;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::dealers::Answer;
use touchline_transport::clock::ticks;

/// Bytes of the journal that may wait for the disk while orders are made.
const BEHIND_MAX: u64 = 1 << 20;

/// Measures one kill in each round.
pub fn run(arguments: &Arguments, run: &Run) -> Result<(), Failure> {
    let clock = run.clock();
    let mut histogram = latency_histogram();
    for round in with_progress(0..arguments.rounds) {
        let place = Place::new(arguments, "kill")?;
        let mut rig = place.open(arguments, false, u64::from(round))?;
        rig.dealers.answer = Answer::Open;
        while (rig.trader.engine().trading().orders().live().len() as u64) < arguments.orders {
            rig.quote();
            rig.settle().map_err(failed)?;
            // Orders in a row are faster than a disk.
            while rig.trader.counters().fx_journal_behind > BEHIND_MAX {
                std::thread::sleep(Duration::from_millis(1));
                rig.trader.work().map_err(Failure::run)?;
            }
        }
        let out = rig.trader.engine().trading().orders().live().len();
        let begin = ticks();
        rig.command(&Command::Kill);
        while !rig.trader.engine().trading().is_killed() {
            rig.trader.work().map_err(Failure::run)?;
        }
        let canceled = rig.trader.last_canceled();
        histogram.saturating_record(clock.between_ns(begin, canceled));
        rig.settle().map_err(failed)?;
        if rig.dealers.cancels as usize != out {
            let arrived = rig.dealers.cancels;
            return Err(Failure::run(format!(
                "{arrived} cancels of {out} orders arrived"
            )));
        }
        end(rig)?;
    }
    let head = format!(
        "{} open orders at {} banks, one kill a round; from the command published to the last cancel handed to the kernel, on \
         processor {}",
        arguments.orders, arguments.banks, arguments.cpus.0
    );
    run.report(
        &head,
        &[row(format!("kill-{}", arguments.orders), histogram)],
    )
}
