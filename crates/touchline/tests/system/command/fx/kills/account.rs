//! The engine as its journal states it, while it runs, dies and starts again.

use super::outcomes::Outcomes;
use crate::command::Desk;
use crate::command::fx::books::Books;
use std::time::{Duration, Instant};
use touchline_fx_desk::Follower;
use touchline_fx_desk::ledger::Ledger;
use touchline_fx_events::lines::LineKind;
use touchline_transport::bus::Root;

/// Answers of banks that are late, and fills after the end, come within a second.
const QUIET: Duration = Duration::from_millis(1_500);

/// Orders, positions and outcomes.
pub struct Account {
    follower: Follower,
    pub ledger: Ledger,
    pub books: Books,
    pub outcomes: Outcomes,
}

impl Account {
    pub fn of(desk: &Desk, root: &Root) -> Account {
        Account {
            follower: Follower::new(&desk.path("fx/journal"), root, "fx-run"),
            ledger: Ledger::default(),
            books: Books::default(),
            outcomes: Outcomes::default(),
        }
    }

    /// Takes the events of the engine since the last call; `each` gets its lines, too.
    pub fn follow(&mut self, mut each: impl FnMut(LineKind, &str)) -> Result<(), String> {
        let (ledger, books, outcomes) = (&mut self.ledger, &mut self.books, &mut self.outcomes);
        let (mut failed, mut line) = (None, String::new());
        let polled = self.follower.poll(&mut |told| {
            ledger.take(told);
            told.lines(&mut line, |kind, text| {
                outcomes.take(kind, text);
                each(kind, text);
                if let Err(what) = books.take(kind, text) {
                    failed.get_or_insert(what);
                }
            });
        });
        polled.map_err(|error| format!("its journal: {error}"))?;
        failed.map_or(Ok(()), Err)
    }

    /// Orders that are open or unknown, as a text; also if fills came after this number of them. `None` if neither holds.
    pub fn unsettled(&self, fills: u64) -> Option<String> {
        let is_open = self.ledger.out() > 0 || self.outcomes.open() > 0;
        (is_open || self.books.fills > fills).then(|| {
            format!(
                "orders are out at the end: {:?}, unknown: {:?}",
                self.ledger.open().collect::<Vec<_>>(),
                self.outcomes.ids()
            )
        })
    }
}

/// Waits until every order has been settled for a while. `turn` takes the events of the engine, and returns the unsettled orders.
pub fn settle(
    longest: Duration,
    mut turn: impl FnMut() -> Result<Option<String>, String>,
) -> Result<(), String> {
    let (start, mut quiet) = (Instant::now(), Instant::now());
    while quiet.elapsed() < QUIET {
        if let Some(unsettled) = turn()? {
            quiet = Instant::now();
            if start.elapsed() > longest {
                return Err(unsettled);
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
