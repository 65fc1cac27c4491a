//! Days of the pairs of a process: they begin by the wall clock, the core learns of them as numbers.

use touchline_credentials::read_file;
use touchline_fx::config::PairConfig;
use touchline_fx::input::Session;
use touchline_fx::setup::Setup;
use touchline_fx_days::{Calendars, CalendarsConfig, Dates, PairDates, Rolls};
use touchline_fx_events::desk::Day;
use touchline_settings::Mistakes;

/// The calendars of a configuration, read from their files.
///
/// # Errors
/// Every mistake of a calendar.
pub fn rolls_of(config: &CalendarsConfig, pairs: &[PairConfig]) -> Result<Rolls, Mistakes> {
    let config = config.resolved(read_file)?;
    let calendars = Calendars::of(&config, read_file)?;
    Rolls::new(&config, calendars, pairs.iter().map(pair_dates))
}

/// The calendars at a start, a time of the wall clock.
///
/// # Errors
/// Every mistake of a calendar; a stated spot date that differs from the calendars.
pub fn rolls_at_start(
    config: &CalendarsConfig,
    pairs: &[PairConfig],
    wall_ns: u64,
) -> Result<Rolls, Mistakes> {
    let rolls = rolls_of(config, pairs)?;
    rolls.check(pairs.iter().map(pair_dates), wall_ns)?;
    Ok(rolls)
}

fn pair_dates(pair: &PairConfig) -> PairDates<'_> {
    PairDates {
        symbol: &pair.symbol,
        spot_date: &pair.spot_date,
        spot_days: pair.spot_days,
    }
}

/// The dates of a pair, if they are not those that it has.
pub fn changed_day(rolls: &Rolls, setup: &Setup, pair: usize, wall_ns: u64) -> Option<Day> {
    let has = Dates {
        trade: setup.pairs[pair].trade_date,
        spot: setup.pairs[pair].spot_date,
    };
    let Dates { trade, spot } = rolls.changed(pair, wall_ns, has)?;
    Some(Day { pair, trade, spot })
}

/// Whether an input is a quote message of the day before: a gateway received it before the day of its pair began, or its value date
/// was judged by the dates of the day before. `unread` has the new days that the readers of the banks' buses do not have yet.
pub fn is_of_old_day(setup: &Setup, unread: &[(Day, u64)], session: &Session<'_>) -> bool {
    let Session::Quotes(quotes) = session else {
        return false;
    };
    // mutant: execution: a quote of yesterday counts today
    let is_old = quotes.receive_ns < setup.pairs[quotes.pair].began_ns;
    // mutant: execution: a value date that was judged by yesterday's dates counts today
    let is_misread = unread.iter().any(|(day, _)| day.pair == quotes.pair);
    !quotes.is_unquoted && (is_old || is_misread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_fx::quotes::{BusQuotes, Quoted};

    /// Quotes that a gateway received before the roll are of the old day, and those whose bus is still read by the old day; a withdrawal
    /// never is.
    #[test]
    fn quotes_are_of_the_day_in_which_they_came() {
        let text = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\n\
                    spot_date = \"20260107\"\n[[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\n";
        let mut setup = Setup::parse(text).expect("a configuration");
        let day = Day {
            pair: 0,
            trade: 20_260_106,
            spot: 20_260_108,
        };
        setup.begin_day(&day, 100);
        for (receive_ns, is_unquoted, begun, is_old) in [
            (99, false, vec![], true),
            (100, false, vec![], false),
            (99, true, vec![], false),
            (100, false, vec![(day, 100)], true),
            (100, true, vec![(day, 100)], false),
            (100, false, vec![(Day { pair: 1, ..day }, 100)], false),
        ] {
            let quotes = BusQuotes {
                pair: 0,
                receive_ns,
                bank_ns: [0; 2],
                is_unquoted,
                quoted: Quoted::All(&[]),
            };
            let session = Session::Quotes(quotes);
            let is = is_of_old_day(&setup, &begun, &session);
            assert_eq!(is, is_old, "{receive_ns} {is_unquoted} {begun:?}");
        }
    }
}
