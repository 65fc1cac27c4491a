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

/// Messages of other pairs, of a pair that waits for a snapshot, and for another value date are not used, and end a bank's silence.
#[test]
fn messages_that_are_not_used_are_heard() {
    let config = config();
    let setup = config.setup().expect("a configuration");
    let (mut state, mut counters) = (joined(&config, &setup), Counters::default());
    let amounts = [band(false)];
    let changes = [QuoteChange {
        action: QuoteAction::Set,
        quote: amounts[0],
    }];
    let update = |stream| {
        Update::Quotes(QuoteUpdate {
            stream,
            changes: &changes,
        })
    };
    let other = QuoteStream {
        instrument: Instrument(7),
        ..stream(false)
    };
    let forward = QuoteStream {
        value_date: 20_260_207,
        ..stream(false)
    };
    let down = QuoteStream {
        validity: Validity::Stale,
        ..other
    };
    let told =
        &mut |update: &Update<'_>, state: &mut State| told(state, update, &setup, &mut counters);
    assert!(told(&update(other), &mut state).is_empty(), "not up");
    let all = Update::QuoteSnapshot(QuoteSnapshot {
        stream: stream(false),
        quotes: &amounts,
    });
    assert_eq!(told(&all, &mut state).len(), 2);
    assert_eq!(told(&update(other), &mut state), ["Heard"], "another pair");
    assert!(told(&update(down), &mut state).is_empty(), "not live");
    let dropped = told(&update(forward), &mut state);
    assert_eq!(dropped, ["cleared, unquoted: true"]);
    assert_eq!(
        told(&update(forward), &mut state),
        ["Heard"],
        "a value date"
    );
    let unsynced = told(&update(stream(false)), &mut state);
    assert_eq!(unsynced, ["Heard"], "a pair without a snapshot");
}

/// A gateway states a pair without quotes as unquoted when the bank refuses the request for them.
#[test]
fn a_pair_that_is_not_quoted_any_more_is_reported_once() {
    let config = config();
    let setup = config.setup().expect("a configuration");
    let (mut state, mut counters) = (joined(&config, &setup), Counters::default());
    let amounts = [band(false)];
    let all = |is_unquoted, quotes| {
        Update::QuoteSnapshot(QuoteSnapshot {
            stream: stream(is_unquoted),
            quotes,
        })
    };
    let mut told = |update: &Update<'_>| told(&mut state, update, &setup, &mut counters);
    assert_eq!(told(&all(false, &amounts)).len(), 2);
    assert_eq!(told(&all(true, &[])), ["cleared, unquoted: true"]);
    assert!(told(&all(true, &[])).is_empty());
    let changes = [QuoteChange {
        action: QuoteAction::Set,
        quote: amounts[0],
    }];
    let update = Update::Quotes(QuoteUpdate {
        stream: stream(false),
        changes: &changes,
    });
    assert_eq!(
        told(&update),
        ["quotes, unquoted: false"],
        "it counts again"
    );
    assert_eq!(told(&all(true, &[])), ["cleared, unquoted: true"]);
}

/// A loss of the reader is not the end of the session; the core learns of the end also behind a loss.
#[test]
fn a_loss_is_no_end_of_the_session() {
    let config = config();
    let setup = config.setup().expect("a configuration");
    let mut counters = Counters::default();
    let amounts = [band(false)];
    let all = Update::QuoteSnapshot(QuoteSnapshot {
        stream: stream(false),
        quotes: &amounts,
    });
    let ended = Update::Channel(&touchline_types::ChannelState {
        price: Validity::Stale,
        orders: Validity::Stale,
        sequence: 0,
    });
    let overrun = SubscriptionEvent::Overrun {
        messages: 1,
        bytes: 1,
    };
    for event in [
        Some(overrun),
        Some(SubscriptionEvent::PublisherStalled),
        Some(SubscriptionEvent::Restarted { generation: 2 }),
        // A feed timeout of the gateway, a gap of a relay, or the end of the session.
        None,
    ] {
        let mut state = joined(&config, &setup);
        assert_eq!(told(&mut state, &all, &setup, &mut counters).len(), 2);
        let mut events = Vec::new();
        for event in event.into_iter().chain(event) {
            let tell = &mut |session: Session<'_>| events.push(format!("{session:?}"));
            state.event(event, &mut counters, tell);
        }
        for _ in 0..2 {
            events.extend(told(&mut state, &ended, &setup, &mut counters));
        }
        assert_eq!(events, ["Missed"], "its session may go on");
    }
    assert_eq!(counters.banks_lost, 4);
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
