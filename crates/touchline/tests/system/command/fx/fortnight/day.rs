//! A day of the real processes without kills: an hour passes between two times of trading. Memory, open descriptors and journal keep to
//! their limits, and the day ends with the positions and dates of the banks.
//!
//! `HOURS` is the number of hours, `TRADE` the seconds of trading in each of them, `BANKS` the number of banks. The whole day:
//! `HOURS=24 TRADE=60 BANKS=20 cargo test -p touchline --test system -- hours_of_the_day --nocapture`.

use super::stops::hours;
use super::{Fortnight, READ, kib};
use std::time::Instant;
use touchline_lab::random::amount;
use touchline_testing::skip;

const NAMES: [&str; 3] = ["engine", "composer", "gateways"];
/// Hours until every process has done everything once: the sessions that ended have started again.
const WARM: usize = 1;
/// A file may be open for a moment: a segment of the journal while it is closed, a configuration that is read again.
const OPEN_FOR_A_MOMENT: usize = 2;
/// Growth of a process since [`WARM`], KiB: what the allocator keeps.
const GROWTH_KIB: u64 = 4_096;
/// The engine keeps the orders and parents of its day in memory: bytes of each.
const MEMORY_BYTES: u64 = 2_048;
/// What an order or a parent takes in the journal: three records of a block each.
const JOURNAL_BYTES: u64 = 3 * 4_096;
/// Segments are allocated whole, and one ahead.
const SEGMENTS_KIB: u64 = 2 * 16 * 1_024;

/// What the processes use after an hour.
#[derive(Debug, Clone, Copy)]
struct Used {
    orders: u64,
    parents: u64,
    journal_kib: u64,
    /// Memory in KiB and descriptors, as in [`NAMES`].
    processes: [(u64, usize); 3],
}

impl Used {
    /// The most descriptors of a moment in which every connection is up.
    fn of(run: &Fortnight) -> Used {
        let mut processes = run.resources();
        let start = Instant::now();
        while start.elapsed() < 4 * READ {
            for (most, now) in processes.iter_mut().zip(run.resources()) {
                *most = (most.0.max(now.0), most.1.max(now.1));
            }
            std::thread::sleep(READ / 10);
        }
        Used {
            orders: run
                .account
                .ledger
                .banks
                .values()
                .map(|bank| bank.orders)
                .sum(),
            parents: run.load.wanted.len() as u64,
            journal_kib: kib(&run.desk.path("fx/journal")),
            processes,
        }
    }

    /// What exceeds its limit since the first hour.
    fn judge(&self, first: &Used) -> Result<(), String> {
        let traded = self.orders + self.parents - first.orders - first.parents;
        for (place, name) in NAMES.iter().enumerate() {
            let (memory, open) = self.processes[place];
            let (memory_before, open_before) = first.processes[place];
            if open > open_before + OPEN_FOR_A_MOMENT {
                return Err(format!(
                    "{name}: {open} descriptors, {open_before} in the first hour"
                ));
            }
            let own = if place == 0 {
                traded * MEMORY_BYTES / 1_024
            } else {
                0
            };
            if memory > memory_before + GROWTH_KIB + own {
                return Err(format!(
                    "{name}: {memory} KiB, {memory_before} in the first hour; {traded} orders and parents since"
                ));
            }
        }
        let most_kib = first.journal_kib + SEGMENTS_KIB + traded * JOURNAL_BYTES / 1_024;
        if self.journal_kib > most_kib {
            return Err(format!(
                "the journal: {} KiB of at most {most_kib}",
                self.journal_kib
            ));
        }
        Ok(())
    }
}

#[test]
fn hours_of_the_day_keep_memory_descriptors_and_journal_to_their_limits() {
    let (count, trade_s) = (amount("HOURS", 2) as usize, amount("TRADE", 2));
    let (seed, banks) = (amount("SEED", 1), amount("BANKS", 4) as usize);
    println!("SEED={seed} HOURS={count} TRADE={trade_s} BANKS={banks}");
    let stops = hours(count, trade_s);
    let Some(mut run) = Fortnight::before("fx-hours", &stops, seed, banks) else {
        return skip("no C compiler");
    };
    let mut first = None;
    for (number, stop) in stops.into_iter().enumerate() {
        let held = run.stop_at(stop, 0).and_then(|()| {
            let used = Used::of(&run);
            println!("{}: {used:?}", touchline_fx_days::utc(stop.from_ns));
            if number < WARM {
                return Ok(());
            }
            used.judge(first.get_or_insert(used))
        });
        run.held(held, &format!("seed {seed}, {stop:?}"));
    }
    let compared = run.compare();
    let ledgers = run.held(compared, &format!("seed {seed}"));
    println!(
        "{} orders, {} fills",
        ledgers.count("orders"),
        run.account.books.fills
    );
}

/// Each limit is one: what exceeds it is named.
#[test]
fn hours_that_exceed_a_limit_are_noticed() {
    let first = Used {
        orders: 10,
        parents: 5,
        journal_kib: 1_000,
        processes: [(100_000, 50); 3],
    };
    let with = |change: &dyn Fn(&mut Used)| {
        let mut later = first;
        change(&mut later);
        later.judge(&first)
    };
    assert_eq!(with(&|_| {}), Ok(()));
    let own_kib = MEMORY_BYTES / 1_024;
    assert_eq!(
        with(&|used| {
            used.orders += 1;
            used.processes[0].0 += GROWTH_KIB + own_kib;
        }),
        Ok(())
    );
    for (place, name) in NAMES.iter().enumerate() {
        let memory = with(&|used| used.processes[place].0 += GROWTH_KIB + 1);
        assert!(memory.is_err_and(|what| what.starts_with(name)));
        let open = with(&|used| used.processes[place].1 += OPEN_FOR_A_MOMENT + 1);
        assert!(open.is_err_and(|what| what.contains("descriptors")));
    }
    let journal = with(&|used| used.journal_kib += SEGMENTS_KIB + 1);
    assert!(journal.is_err_and(|what| what.starts_with("the journal")));
}
