use super::*;
use crate::compose::Config;
use touchline_fx::setup::Setup;
use touchline_types::{Code, Depth, Instrument, Price, QuoteSnapshot, QuoteUpdate, Symbol};

fn config() -> Config {
    let text = "bus = \"fx\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n\
                [[banks]]\nname = \"LP01\"\nstale_ms = 600\nsilence_ms = 0\n";
    Config::parse(text).expect("a configuration")
}

/// A bank whose bus is joined and current.
fn joined(config: &Config, setup: &Setup) -> State {
    let mut state = Source::new(0, &config.banks[0], setup).state;
    (state.is_live, state.is_trusted, state.is_current) = (true, true, true);
    let mut definition = InstrumentDefinition::unknown(
        Instrument(0),
        1,
        Depth {
            direct: 1,
            implied: 0,
        },
    );
    definition.symbol = Symbol::new(b"EUR/USD");
    state.define(&definition, setup);
    state
}

fn stream(is_unquoted: bool) -> QuoteStream {
    QuoteStream {
        instrument: Instrument(0),
        security_id: 1,
        provider: Code::lossy(b"LP01"),
        value_date: 20_260_107,
        validity: Validity::Live,
        is_unquoted,
    }
}

fn band(is_full_amount: bool) -> Quote {
    Quote {
        price: Price(1_100_000_000),
        is_full_amount,
        ..Quote::NULL
    }
}

/// Session events that the core receives for an update, as text.
fn told(
    state: &mut State,
    update: &Update<'_>,
    setup: &Setup,
    counters: &mut Counters,
) -> Vec<String> {
    let mut told = Vec::new();
    state.update(
        update,
        (1_000_000_000, 1_000_000_000),
        setup,
        counters,
        &mut |session| {
            told.push(match session {
                Session::Quotes(quotes) => {
                    let kind = if quotes.is_cleared() {
                        "cleared"
                    } else {
                        "quotes"
                    };
                    format!("{kind}, unquoted: {}", quotes.is_unquoted)
                }
                other => format!("{other:?}"),
            });
        },
    );
    told
}

#[test]
fn the_bus_of_a_bank_is_not_that_of_the_composite() {
    let text = "bus = \"lp01\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n\
                [[banks]]\nname = \"LP01\"\nstale_ms = 0\nsilence_ms = 0\n";
    let error = Config::parse(text)
        .expect_err("it would read itself")
        .to_string();
    assert!(
        error.ends_with("give the composite another name"),
        "{error}"
    );
}

#[test]
fn bands_are_refused_where_the_configuration_says_sweep() {
    let config = config();
    let setup = config.setup().expect("a configuration");
    let (mut state, mut counters) = (joined(&config, &setup), Counters::default());
    let (bands, amounts) = ([band(true)], [band(false)]);
    let all = |quotes| {
        Update::QuoteSnapshot(QuoteSnapshot {
            stream: stream(false),
            quotes,
        })
    };
    assert!(told(&mut state, &all(&bands), &setup, &mut counters).is_empty());
    let refusal = state.refusal.take().expect("an event for the operator");
    assert!(refusal.is_full);
    let text = refusal.to_string();
    let said = "stream = \"full\", and kind is \"sweep\"";
    assert!(text.contains(said), "{text}");
    let known = told(&mut state, &all(&amounts), &setup, &mut counters);
    assert_eq!(known, ["Up", "quotes, unquoted: false"]);
    let changes = [QuoteChange {
        action: QuoteAction::Set,
        quote: bands[0],
    }];
    let update = Update::Quotes(QuoteUpdate {
        stream: stream(false),
        changes: &changes,
    });
    let known = told(&mut state, &update, &setup, &mut counters);
    assert_eq!(
        known,
        ["cleared, unquoted: true"],
        "the pair has no quotes until it is taken up again"
    );
    assert!(!state.is_synced[0]);
    assert_eq!(
        (counters.kinds_refused, state.refusal),
        (2, None),
        "one refusal for the operator"
    );
}

#[test]
fn a_message_that_is_not_a_quote_is_reported() {
    let config = config();
    let setup = config.setup().expect("a configuration");
    let (mut state, mut counters) = (joined(&config, &setup), Counters::default());
    let before = Update::QuoteSnapshot(QuoteSnapshot {
        stream: stream(true),
        quotes: &[],
    });
    let known = told(&mut state, &before, &setup, &mut counters);
    assert_eq!(known, ["Up", "cleared, unquoted: true"]);
    for is_unquoted in [true, false] {
        let changes = [QuoteChange {
            action: QuoteAction::Remove,
            quote: Quote::NULL,
        }];
        let update = Update::Quotes(QuoteUpdate {
            stream: stream(is_unquoted),
            changes: &changes,
        });
        let known = told(&mut state, &update, &setup, &mut counters);
        assert_eq!(known, [format!("quotes, unquoted: {is_unquoted}")]);
    }
}

/// Quotes without a required value date do not count, and are reported; quotes that end are accepted.
#[test]
fn quotes_without_a_required_value_date_do_not_count() {
    let config = config();
    let setup = config.setup().expect("a configuration");
    let mut counters = Counters::default();
    let undated = || QuoteStream {
        value_date: 0,
        ..stream(false)
    };
    let amounts = [band(false)];
    let all = |stream, quotes| Update::QuoteSnapshot(QuoteSnapshot { stream, quotes });
    let changes = |action| {
        [QuoteChange {
            action,
            quote: amounts[0],
        }]
    };
    let mut state = joined(&config, &setup);
    state.must_be_dated[0] = true;
    assert!(told(&mut state, &all(undated(), &amounts), &setup, &mut counters).is_empty());
    assert!(state.is_undated[0]);
    state.is_undated[0] = false;
    let known = told(
        &mut state,
        &all(stream(false), &amounts),
        &setup,
        &mut counters,
    );
    assert_eq!(known, ["Up", "quotes, unquoted: false"]);
    let update = |changes| {
        Update::Quotes(QuoteUpdate {
            stream: undated(),
            changes,
        })
    };
    let removed = changes(QuoteAction::Remove);
    let known = told(&mut state, &update(&removed), &setup, &mut counters);
    assert_eq!((known.len(), state.is_undated[0]), (1, false), "{known:?}");
    let set = changes(QuoteAction::Set);
    let known = told(&mut state, &update(&set), &setup, &mut counters);
    assert_eq!(known, ["cleared, unquoted: true"]);
    assert!(state.is_undated[0] && !state.is_synced[0]);
    assert_eq!(counters.value_dates_refused, 2);
}
