//! Series over the events of a tape.

use super::*;
use crate::series::{Series, SeriesOutput};
use clap::Parser;
use touchline_testing::Folder;
use touchline_transport::market::Received;
use touchline_types::{
    BookSnapshot, ChannelState, Depth, Instrument, Level, PacketInfo, Price, Quantity, Symbol,
    Trade, UpdateAction,
};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

const FIRST: Instrument = Instrument(0);
const SECOND: Instrument = Instrument(1);

/// Rows of quotes of what `play` passes on: exchange and receive time, symbol, state, best bid.
fn rows(name: &str, play: impl FnOnce(&mut Play<'_>)) -> Vec<String> {
    let folder = Folder::new(name);
    let path = folder.join("quotes.csv");
    let command = Command::try_parse_from(["replay"]).expect("nothing must be given");
    let quotes = SeriesOutput::open(&path).expect("our folder");
    let series = Series::new(Some(quotes), None, Prices::displayed(false)).expect("room");
    let mut player = Play::new(&command.arguments, (None, Some(series)));
    play(&mut player);
    let series = player.writers.1.expect("it was given");
    for mut output in series.into_outputs().expect("room") {
        output.flush().expect("room");
        output.finish().expect("room");
    }
    let text = std::fs::read_to_string(&path).expect("it is complete");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        [0, 1, 4, 5, 6].map(|column| cells[column]).join(" ")
    };
    text.lines().skip(1).map(row).collect()
}

/// Times of an event of the exchange, received 1 ns later.
fn at(ns: u64) -> Timestamps {
    Timestamps {
        exchange_ns: ns,
        packet: PacketInfo {
            receive_ns: ns + 1,
            ..PacketInfo::default()
        },
        ..Timestamps::default()
    }
}

fn give(play: &mut Play<'_>, update: Update<'_>, timestamps: Timestamps, is_image: bool) {
    play.item(&Item::Update(Received {
        sequence: 1,
        timestamps,
        update,
        batch_end: true,
        is_image,
        bytes: None,
    }));
}

fn define(play: &mut Play<'_>, instrument: Instrument, symbol: &str, at_ns: u64, is_image: bool) {
    let depth = Depth {
        direct: 10,
        implied: 0,
    };
    let definition = InstrumentDefinition {
        symbol: Symbol::new(symbol.as_bytes()),
        defined: true,
        ..InstrumentDefinition::unknown(instrument, i64::from(instrument.0) + 1, depth)
    };
    give(play, Update::Definition(&definition), at(at_ns), is_image);
}

/// The book as an image, without times.
fn image(play: &mut Play<'_>, instrument: Instrument, bid: i64) {
    let level = Level {
        price: Price(bid * 1_000_000_000),
        quantity: Quantity(1),
        orders: 1,
        known: true,
    };
    let snapshot = BookSnapshot {
        instrument,
        validity: Validity::Live,
        bids: &[level],
        asks: &[],
        implied_bids: &[],
        implied_asks: &[],
    };
    let none = Timestamps::default();
    give(play, Update::BookSnapshot(snapshot), none, true);
}

fn happen(play: &mut Play<'_>, event: SubscriptionEvent) {
    play.item(&Item::SubscriptionEvent(event));
}

/// An event of the exchange that changes no quote.
fn trade(play: &mut Play<'_>, instrument: Instrument, ns: u64) {
    let trade = Trade {
        instrument,
        orders: -1,
        price: Price(1_000_000_000),
        quantity: Quantity(1),
        aggressor: None,
        action: UpdateAction::New,
        trade_id: 0,
    };
    give(play, Update::Trade(&trade), at(ns), false);
}

/// What the tape has behind a loss is of a later time: no row shows it with the time before the loss, and the loss has a row.
#[test]
fn books_behind_a_loss_have_the_times_of_the_next_event() {
    let rows = rows("series-loss", |play| {
        define(play, FIRST, "A", 5, true);
        image(play, FIRST, 10);
        happen(play, SubscriptionEvent::CaughtUp);
        trade(play, FIRST, 1_000);
        let lost = SubscriptionEvent::Overrun {
            messages: 7,
            bytes: 0,
        };
        happen(play, lost);
        give(
            play,
            Update::Channel(&ChannelState::LIVE),
            Timestamps::default(),
            true,
        );
        define(play, FIRST, "A", 5, true);
        image(play, FIRST, 30);
        happen(play, SubscriptionEvent::CaughtUp);
        trade(play, FIRST, 2_000);
    });
    let expected = [
        "1000 1001 A live 10",
        "1000 1001 A gapped 10",
        "2000 2001 A live 30",
    ];
    assert_eq!(rows, expected);
}

/// The recorder states that a publisher has ended, in a message without times.
#[test]
fn rows_of_the_recorder_have_the_last_known_times() {
    let rows = rows("series-recorder", |play| {
        define(play, FIRST, "A", 5, true);
        image(play, FIRST, 10);
        trade(play, FIRST, 1_000);
        let down = ChannelState {
            price: Validity::Stale,
            ..ChannelState::LIVE
        };
        give(play, Update::Channel(&down), Timestamps::default(), false);
    });
    assert_eq!(rows, ["1000 1001 A live 10", "1000 1001 A stale 10"]);
}

/// Another publication has other numbers of instruments, and its books begin empty.
#[test]
fn a_restart_of_the_gateway_ends_books_and_definitions() {
    let rows = rows("series-restart", |play| {
        define(play, FIRST, "A", 5, true);
        define(play, SECOND, "B", 5, true);
        image(play, FIRST, 10);
        image(play, SECOND, 20);
        trade(play, FIRST, 1_000);
        happen(play, SubscriptionEvent::Restarted { generation: 2 });
        define(play, FIRST, "B", 5, true);
        image(play, FIRST, 25);
        trade(play, FIRST, 2_000);
    });
    let expected = [
        "1000 1001 A live 10",
        "1000 1001 B live 20",
        "1000 1001 A gapped ",
        "1000 1001 B gapped ",
        "2000 2001 B live 25",
    ];
    assert_eq!(rows, expected);
}
