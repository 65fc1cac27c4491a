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

/// Whether an input is a quote message that a gateway received before the day of its pair began.
pub fn is_of_old_day(setup: &Setup, session: &Session<'_>) -> bool {
    match session {
        // mutant: execution: a quote of yesterday counts today
        Session::Quotes(quotes) => {
            !quotes.is_unquoted && quotes.receive_ns < setup.pairs[quotes.pair].began_ns
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_fx::quotes::{BusQuotes, Quoted};

    /// Quotes that a gateway received before the roll are of the old day; a withdrawal never is.
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
        for (receive_ns, is_unquoted, is_old) in
            [(99, false, true), (100, false, false), (99, true, false)]
        {
            let quotes = BusQuotes {
                pair: 0,
                receive_ns,
                bank_ns: [0; 2],
                is_unquoted,
                quoted: Quoted::All(&[]),
            };
            let session = Session::Quotes(quotes);
            assert_eq!(is_of_old_day(&setup, &session), is_old, "{receive_ns}");
        }
    }
}
