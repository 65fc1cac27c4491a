use super::*;
use crate::Config;
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
    let notice = state.notice.take().expect("a line for the operator");
    assert!(
        notice.contains("stream = \"full\", and kind is \"sweep\""),
        "{notice}"
    );
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
        (counters.kinds_refused, state.notice),
        (2, None),
        "one notice for the operator"
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
