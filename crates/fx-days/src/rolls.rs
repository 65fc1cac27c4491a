//! Dates of the pairs of a process, and the instants at which they change.

use crate::calendars::{Calendars, CalendarsConfig, NzdRoll};
use crate::holidays::plus;
use crate::number;
use crate::spot::{Pair, Spot};
use crate::trade_date::trade_date;
use crate::zones::{instant, known};
use jiff::Timestamp;
use jiff::civil::{Time, time};
use jiff::tz::TimeZone;
use std::ops::Range;
use touchline_settings::Mistakes;

/// Pairs with calendars.
#[derive(Debug, Clone)]
pub struct Rolls {
    /// Each pair, with its days from the trade date to the spot date.
    pairs: Vec<(Pair, u32)>,
    calendars: Calendars,
    nzd: NzdRoll,
    cross_usd: bool,
    /// Local times at which a day begins.
    turns: Vec<(TimeZone, Time)>,
    pace: Pace,
}

/// The instant of each time of a clock: a simulation lets days pass in less than a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// A time of the clock, nanoseconds since 1970.
    pub clock_ns: u64,
    /// The instant at that time.
    pub instant_ns: u64,
    /// Nanoseconds that pass in one of the clock.
    pub speed: u64,
}

impl Pace {
    /// The clock has the true time.
    const TRUE: Pace = Pace {
        clock_ns: 0,
        instant_ns: 0,
        speed: 1,
    };

    fn instant_ns(&self, clock_ns: u64) -> u64 {
        self.instant_ns + clock_ns.saturating_sub(self.clock_ns) * self.speed
    }

    /// The first time of the clock at or behind an instant.
    fn clock_ns(&self, instant_ns: u64) -> u64 {
        let passed_ns = instant_ns.saturating_sub(self.instant_ns);
        self.clock_ns + passed_ns.div_ceil(self.speed)
    }
}

/// A pair as a configuration has it.
#[derive(Debug, Clone, Copy)]
pub struct PairDates<'a> {
    /// `EUR/USD`.
    pub symbol: &'a str,
    /// Stated spot date, `YYYYMMDD`; empty: none is stated.
    pub spot_date: &'a str,
    /// Stated days from the trade date to the spot date.
    pub spot_days: Option<u32>,
}

/// Dates of a pair, as numbers `YYYYMMDD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dates {
    /// Trade date.
    pub trade: u32,
    /// Spot date; 0: a calendar ends before it.
    pub spot: u32,
}

impl Rolls {
    /// The pairs of a configuration, in its order.
    ///
    /// # Errors
    /// A symbol that is not a pair of two currencies, and a currency without a calendar.
    pub fn new<'a>(
        config: &CalendarsConfig,
        calendars: Calendars,
        pairs: impl IntoIterator<Item = PairDates<'a>>,
    ) -> Result<Rolls, Mistakes> {
        let mut wrong = Mistakes::default();
        let mut rolls = Rolls {
            pairs: Vec::new(),
            calendars,
            nzd: config.nzd_roll,
            cross_usd: config.cross_usd,
            turns: vec![(known("America/New_York"), time(17, 0, 0, 0))],
            pace: Pace::TRUE,
        };
        for (at, of) in pairs.into_iter().enumerate() {
            let mut section = wrong.section(format!("pairs.{at}"), format!("pair {}: ", of.symbol));
            let pair = match Pair::read(of.symbol) {
                Ok(pair) => pair,
                Err(error) => {
                    section.push("symbol", &error.to_string());
                    continue;
                }
            };
            let days = of.spot_days.unwrap_or_else(|| pair.spot_days());
            let noon = Timestamp::UNIX_EPOCH;
            let trade = trade_date(&pair, noon, rolls.nzd);
            if let Err(currency) = Spot::of(&pair, trade, days, rolls.cross_usd, &rolls.calendars) {
                let text = format!(
                    "{currency} has no built-in calendar; give one in files of [calendars]"
                );
                section.push("symbol", &text);
            }
            rolls.pairs.push((pair, days));
        }
        let is_of_auckland = |(pair, _): &(Pair, u32)| pair.has("NZD");
        if rolls.nzd == NzdRoll::Auckland && rolls.pairs.iter().any(is_of_auckland) {
            rolls
                .turns
                .push((known("Pacific/Auckland"), time(7, 0, 0, 0)));
        }
        wrong.none_or(rolls)
    }

    /// The same pairs by a clock that has another pace.
    #[must_use]
    pub fn paced(self, pace: Pace) -> Rolls {
        Rolls { pace, ..self }
    }

    fn stamp(&self, clock_ns: u64) -> Timestamp {
        let instant_ns = self.pace.instant_ns(clock_ns);
        Timestamp::from_nanosecond(i128::from(instant_ns)).unwrap_or(Timestamp::MAX)
    }

    /// Whether each stated spot date is that of the calendars at an instant, nanoseconds since 1970.
    ///
    /// # Errors
    /// Each one that differs, with both dates.
    pub fn check<'a>(
        &self,
        stated: impl IntoIterator<Item = PairDates<'a>>,
        at_ns: u64,
    ) -> Result<(), Mistakes> {
        let mut wrong = Mistakes::default();
        for (at, of) in stated.into_iter().enumerate() {
            let Dates { trade, spot } = self.dates(at, at_ns);
            // mutant: fx days: a stated spot date that differs is taken
            if of.spot_date.is_empty() || of.spot_date.parse() == Ok(spot) {
                continue;
            }
            let ours = match spot {
                0 => "none".to_owned(),
                spot => spot.to_string(),
            };
            let text = format!(
                "{} is not the spot date of the calendars, which is {ours} of trade date {trade}; leave it out, or correct a calendar",
                of.spot_date
            );
            let mut section = wrong.section(format!("pairs.{at}"), format!("pair {}: ", of.symbol));
            section.push("spot_date", &text);
        }
        wrong.none_or(())
    }

    /// Dates of a pair at an instant, nanoseconds since 1970.
    #[must_use]
    pub fn dates(&self, pair: usize, at_ns: u64) -> Dates {
        let (pair, days) = &self.pairs[pair];
        let trade = trade_date(pair, self.stamp(at_ns), self.nzd);
        let spot = Spot::of(pair, trade, *days, self.cross_usd, &self.calendars);
        let spot = spot.ok().and_then(|spot| spot.date);
        Dates {
            trade: number(trade),
            spot: spot.map_or(0, number),
        }
    }

    /// Dates of a pair at an instant, if they are others than those that it has.
    #[must_use]
    pub fn changed(&self, pair: usize, at_ns: u64, has: Dates) -> Option<Dates> {
        Some(self.dates(pair, at_ns)).filter(|dates| *dates != has)
    }

    /// The trade date in New York, `YYYYMMDD`: that of the banks.
    #[must_use]
    pub fn bank_trade_date(&self, at_ns: u64) -> u32 {
        let dollar = Pair::read("EUR/USD").expect("it is a pair");
        number(trade_date(&dollar, self.stamp(at_ns), self.nzd))
    }

    /// Days of a pair behind an instant until a calendar ends before the spot date; none if that is more than `most` days ahead.
    #[must_use]
    pub fn ends_within(&self, pair: usize, at_ns: u64, most: u32) -> Option<u32> {
        const DAY_NS: u64 = 86_400_000_000_000;
        (0..=most).find(|days| self.dates(pair, at_ns + u64::from(*days) * DAY_NS).spot == 0)
    }

    /// Time in which no date changes around an instant, nanoseconds since 1970: from the last roll to the next one.
    #[must_use]
    pub fn around(&self, at_ns: u64) -> Range<u64> {
        let at = self.stamp(at_ns);
        let turns = self.turns.iter().flat_map(|(zone, time)| {
            let today = zone.to_datetime(at).date();
            let on = |day: i32| instant(zone, plus(today, day).to_datetime(*time));
            (-1..=1).filter_map(on).collect::<Vec<_>>()
        });
        let (mut last_ns, mut next_ns) = (0, u64::MAX);
        for turn in turns {
            let turn_ns = u64::try_from(turn.as_nanosecond()).unwrap_or(0);
            let turn_ns = self.pace.clock_ns(turn_ns);
            match turn_ns <= at_ns {
                true => last_ns = turn_ns.max(last_ns),
                false => next_ns = turn_ns.min(next_ns),
            }
        }
        last_ns..next_ns
    }
}

/// Days of the pairs of a process, by the wall clock.
#[derive(Debug)]
pub struct DayWatch {
    rolls: Option<Rolls>,
    /// Time of the wall clock in which no date changes.
    lasts: Range<u64>,
}

impl DayWatch {
    /// Days that begin with the first look; without calendars no date ever changes.
    #[must_use]
    pub fn new(rolls: Option<Rolls>) -> DayWatch {
        DayWatch {
            lasts: match rolls {
                Some(_) => 0..0,
                None => 0..u64::MAX,
            },
            rolls,
        }
    }

    /// Whether dates may have changed at a time of the wall clock; also back, when the clock was set.
    #[must_use]
    pub fn are_due(&self, wall_ns: u64) -> bool {
        !self.lasts.contains(&wall_ns)
    }

    /// The instant at which the present days began, and the dates; the next look is at the next roll.
    pub fn renew(&mut self, wall_ns: u64) -> Option<(u64, &Rolls)> {
        let rolls = self.rolls.as_ref()?;
        let is_first = self.lasts.is_empty();
        self.lasts = rolls.around(wall_ns);
        let began_ns = if is_first { wall_ns } else { self.lasts.start };
        Some((began_ns, rolls))
    }

    /// The calendars.
    #[must_use]
    pub fn rolls(&self) -> Option<&Rolls> {
        self.rolls.as_ref()
    }

    /// Time of the wall clock of the next look.
    #[must_use]
    pub fn due_ns(&self) -> u64 {
        self.lasts.end
    }
}
