//! Value dates: a pair whose spot date has passed gets no more orders, and one alarm.

use super::carry::Core;
use super::landing::Landing;
use super::value_dates::ValueDates;
use super::{Incident, Trader};
use crate::compose::Source;
use crate::days::changed_day;
use crate::execution::config::Config;
use crate::execution::edge::{Link, Output};
use touchline_fx::input::Session;
use touchline_fx::setup::Setup;
use touchline_fx_days::{DayWatch, Rolls};
use touchline_fx_events::desk::{Day, Desk};
use touchline_types::ReceiveTime;

/// Interval of the comparison: the date turns at a full hour.
const COMPARE_NS: u64 = 1_000_000_000;

/// Most rolls of a process that did not run that are made up for.
const MISSED_MAX: usize = 64;

/// The dates of the run.
pub(super) struct Dates {
    by: By,
    due_ns: u64,
}

/// Day that a pair's spot date is compared with.
enum By {
    /// New York's.
    Today,
    /// The dates of the configuration, which is marked as a rehearsal.
    Rehearsal(ValueDates),
    /// The dates of the configuration, which are long past, with banks on this host, for pairs whose banks state the
    /// same value date: a simulated bank does, a live bank behind a proxy on this host does not.
    AsQuoted(ValueDates),
}

impl Dates {
    /// Compares at the first call; `wall_ns` is the wall clock.
    pub fn new(config: &Config, wall_ns: u64) -> Dates {
        let own = ValueDates::of_rehearsal(&config.date, wall_ns);
        let by = match (config.rehearsal, config.is_on_this_host()) {
            (true, _) => By::Rehearsal(own),
            (false, true) if own.is_long_ago() => By::AsQuoted(own),
            (false, _) => By::Today,
        };
        Dates { by, due_ns: 0 }
    }
}

impl Trader {
    /// The wall clock is this much ahead of the engine's; the days are those of the wall clock.
    pub(super) fn set_clocks(&mut self, rolls: Option<Rolls>, wall_ahead_ns: i64) {
        self.core.wall_ahead_ns = wall_ahead_ns;
        self.core.set_days(rolls, &self.setup);
        // The journal may have the day already: the banks' buses are read by it.
        // mutant: execution: quotes after a restart are read without the day
        let recovered = &self.core.engine.setup().pairs;
        self.setup.pairs.clone_from(recovered);
        for source in &mut self.sources {
            source.set_wall_ahead(wall_ahead_ns);
        }
    }

    /// Stops pairs whose spot date has passed.
    pub(super) fn watch_dates(&mut self, mono_ns: u64) {
        if mono_ns < self.dates.due_ns {
            return;
        }
        self.dates.due_ns = mono_ns + COMPARE_NS;
        if self.core.days.rolls().is_some() {
            let time = self.time(mono_ns);
            self.core.wake(time);
            return;
        }
        for pair in 0..self.setup.pairs.len() {
            if self.core.engine.trading().is_stopped(pair) || !self.has_passed(pair) {
                continue;
            }
            self.core.engine.stop(pair);
            let about = &self.setup.pairs[pair].config;
            self.core.incident(Incident::DatePassed {
                pair: about.symbol.clone(),
                spot_date: about.spot_date.clone(),
            });
        }
    }

    /// The banks' buses are read by the present days.
    pub(super) fn read_by_days(&mut self, began_ns: u64) {
        if self.core.begun.is_empty() {
            return;
        }
        let begun = std::mem::take(&mut self.core.begun);
        let time = self.time(began_ns);
        let Trader {
            core,
            setup,
            sources,
            ..
        } = self;
        let input = |_: &Setup, bank, session: Session<'_>| core.quotes(time, bank, session);
        Source::follow_days(sources, setup, begun, time.wall_ns, input);
    }

    fn has_passed(&mut self, pair: usize) -> bool {
        // The engine's clock does not follow a step of the wall clock, and the date of an order is that of the wall clock.
        let now_ns = self.clock.wall_ns();
        let spot_date = self.setup.pairs[pair].spot_date;
        // mutant: execution: orders leave with a value date that has passed
        let has_passed = |dates: &ValueDates| dates.has_passed(spot_date, now_ns);
        match &self.dates.by {
            By::Today => has_passed(&ValueDates::TODAY),
            By::Rehearsal(own) => has_passed(own),
            By::AsQuoted(own) if has_passed(own) => true,
            By::AsQuoted(_) if has_passed(&ValueDates::TODAY) => {
                let mut is_undated = false;
                for source in &mut self.sources {
                    is_undated |= source.require_dates(pair);
                }
                is_undated
            }
            By::AsQuoted(_) => false,
        }
    }
}

impl<O: Output, L: Link> Core<O, L> {
    /// The spot dates follow from calendars from now on, or are those of the configuration.
    pub fn set_days(&mut self, rolls: Option<Rolls>, setup: &Setup) {
        if rolls.is_none() {
            self.engine.forget_days(setup);
        }
        self.days = DayWatch::new(rolls);
        self.landing = Landing::default();
    }

    /// Gives each pair and each bank the day of the wall clock, if it has another one: at the instant of the roll, before all later
    /// inputs, pairs first. Rolls that the process missed come first: an order that the journal lost is of one of these days.
    pub(super) fn begin_days(&mut self, time: ReceiveTime) {
        let wall_ns = self.wall(time).wall_ns;
        let Some((began_ns, rolls)) = self.days.renew(wall_ns) else {
            return;
        };
        let setup = self.engine.setup();
        let mut begun = Vec::new();
        for roll_ns in missed(rolls, setup, wall_ns, self.boot.lacks) {
            begun.extend(days_at(rolls, setup, roll_ns).map(|day| (day, roll_ns)));
        }
        let is_new = |(day, _): &(Day, u64)| day.trade > setup.pairs[day.pair].trade_date;
        begun.retain(is_new);
        begun.extend(days_at(rolls, setup, wall_ns).map(|day| (day, began_ns)));
        let is_first = self.landing.at_ns == 0;
        if is_first {
            self.landing.at_ns = wall_ns;
        }
        let trade = rolls.bank_trade_date(wall_ns);
        let is_landed = trade == rolls.bank_trade_date(self.landing.at_ns);
        let of_banks = self.credit_days(trade, is_landed);
        // Due timers of the old day run here, and the pairs begin their days in turn: an order that is planned now would leave in the new
        // day with an old date.
        let is_held = self.engine.trading().is_held();
        // mutant: execution: an order of the old day leaves while the new one begins
        self.engine.hold(true);
        for (day, began_ns) in begun {
            // At a roll of another pair this one has the day of its own roll.
            let has = &self.engine.setup().pairs[day.pair];
            if (has.trade_date, has.spot_date) == (day.trade, day.spot) {
                continue;
            }
            if day.spot == 0 && !is_first {
                self.tell_calendar_ends(day.pair, day.trade);
            }
            let at = self.began_at(began_ns, time);
            // mutant: execution: a missed day is given twice
            self.begin_day(at, Desk::Day(day));
            self.begun.push((day, at.wall_ns));
        }
        for day in of_banks {
            self.begin_day(self.began_at(began_ns, time), day);
        }
        self.engine.hold(is_held);
        if is_first {
            self.tell_undated();
        }
    }

    /// Pairs without a spot date get no orders: each start says so, also if the journal has their day.
    fn tell_undated(&mut self) {
        let pairs = self.engine.setup().pairs.iter().enumerate();
        let undated = pairs.filter(|(_, of)| of.spot_date == 0);
        let undated: Vec<_> = undated.map(|(pair, of)| (pair, of.trade_date)).collect();
        for (pair, trade_date) in undated {
            self.tell_calendar_ends(pair, trade_date);
        }
    }

    fn tell_calendar_ends(&mut self, pair: usize, trade_date: u32) {
        let pair = self.engine.setup().pairs[pair].config.symbol.clone();
        self.incident(Incident::CalendarEnds { pair, trade_date });
    }

    /// A time of the wall clock by the engine's clock: a start has its own time, and the clock may have been set.
    fn began_at(&self, wall_ns: u64, now: ReceiveTime) -> ReceiveTime {
        let at_ns = wall_ns.saturating_add_signed(-self.wall_ahead_ns);
        self.time(now.mono_ns, at_ns.min(now.wall_ns))
    }

    /// The wall clock when an order leaves whose journal record may have taken a while.
    pub(super) fn sending_ns(&self, time: ReceiveTime) -> u64 {
        let wall_ns = self.wall(time).wall_ns;
        match self.days.rolls() {
            None => wall_ns,
            Some(_) => wall_ns + self.recorder.out().since_ns(time.mono_ns),
        }
    }
}

/// Rolls before the present day that a pair has missed, ascending; of a journal that may lack its first day too, all.
fn missed(rolls: &Rolls, setup: &Setup, wall_ns: u64, lacks: bool) -> Vec<u64> {
    let is_behind = |at_ns: u64| {
        let mut pairs = setup.pairs.iter().enumerate();
        pairs.any(|(pair, of)| {
            (of.trade_date > 0 || lacks) && of.trade_date < rolls.dates(pair, at_ns).trade
        })
    };
    let mut roll_ns = rolls.around(wall_ns).start;
    let mut missed = Vec::new();
    while missed.len() < MISSED_MAX && roll_ns > 0 && is_behind(roll_ns - 1) {
        roll_ns = rolls.around(roll_ns - 1).start;
        missed.push(roll_ns);
    }
    missed.reverse();
    missed
}

/// Days of pairs at a time that are not those which they have.
fn days_at<'a>(
    rolls: &'a Rolls,
    setup: &'a Setup,
    wall_ns: u64,
) -> impl Iterator<Item = Day> + use<'a> {
    let pairs = 0..setup.pairs.len();
    pairs.filter_map(move |pair| changed_day(rolls, setup, pair, wall_ns))
}
