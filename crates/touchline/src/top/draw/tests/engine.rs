//! Screens of a trading engine and of a standby, in each state.

use super::{SIZES, around, frame, is_golden, style_of, text, words};
use crate::top::draw::{Around, Page};
use crate::top::model::{
    CopySource, Count, Engine, EngineBank, EngineState, Latency, Picture, Points, Rate, Standby,
};
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use std::time::Duration;

const STATES: [EngineState; 10] = [
    EngineState::Ended,
    EngineState::Died,
    EngineState::Stalled,
    EngineState::JournalFailed,
    EngineState::Killed,
    EngineState::Asking,
    EngineState::Held,
    EngineState::NoSession,
    EngineState::Closed,
    EngineState::Trading,
];

fn bank(number: usize, is_up: Option<bool>) -> EngineBank {
    EngineBank {
        name: format!("LP{number:02}"),
        is_up,
        closed_until_ns: None,
        orders: 1_234_567,
        fills: 900_000,
        rejects: 100_000 + number as u64,
        unknown: 3,
    }
}

/// An engine in this state; one bank of several is down.
fn picture(state: EngineState, banks: usize) -> Picture {
    let rate = |name, per_second, total| Rate {
        name,
        per_second,
        total,
        past: [0, 500, 12_400, 3_000].into(),
        counters: &[],
    };
    let event = |name: &str, recent, total| Count {
        name: name.to_owned(),
        recent,
        total,
        is_bad: true,
    };
    let points = |count| Points {
        count,
        at: [12_000, 48_000, 90_000, 3_200_000].map(Some),
    };
    let latency = |name: &str| Latency {
        name: name.to_owned(),
        unit: "ns".to_owned(),
        recent: points(6),
        total: points(1_234),
    };
    let is_up = |number: usize| state.is_current().then_some(number > 1 || banks == 1);
    let engine = Engine {
        state,
        pid: if matches!(state, EngineState::Ended | EngineState::Died) {
            0
        } else {
            4_711
        },
        build: None,
        age: (state != EngineState::Ended).then_some(Duration::from_millis(5_200)),
        banks: (1..=banks)
            .map(|number| bank(number, is_up(number)))
            .collect(),
        parents_open: 2,
        orders_open: 6,
        orders_unknown: 1,
        alarms: event("alarms", 0, 3),
        journal_bytes: 1_234_567_890,
        journal_lag_bytes: 12_288,
        rejects: vec![
            ("A-1", "last look, price", 12),
            ("N", "not known to the bank", 0),
        ],
        standby: None,
    };
    Picture {
        bus: "fx-run".to_owned(),
        uptime_ns: 11_525_000_000_000,
        rates: vec![
            rate("orders sent", 12.4, 1_234_567),
            rate("fills", 0.5, 9_182),
            rate("quotes of banks", 8_012.0, 12_345_678),
        ],
        lines: vec![
            event("kill switch set", 0, 1),
            event("alarms", 0, 3),
            event("rounds late", 1, 17),
            event("orders not sent", 0, 0),
        ],
        latencies: vec![
            latency("fx_quote_to_order_ns"),
            latency("fx_receive_to_order_ns"),
        ],
        engine: Some(engine),
        ..Picture::default()
    }
}

fn standby() -> Picture {
    let mut picture = picture(EngineState::Standby, 0);
    picture.bus = "fx-run-standby".to_owned();
    let engine = picture.engine.as_mut().expect("an engine");
    engine.standby = Some(Standby {
        engine: "fx-run".to_owned(),
        engine_state: EngineState::Trading,
        epoch: 3,
        records: 1_234_567,
        orders: 9_876,
        position: 1_234_555_602,
        lag_bytes: Some(12_288),
        source: None,
    });
    picture
}

#[test]
fn engine_frames_equal_the_reviewed_files() {
    let trading = picture(EngineState::Trading, 5);
    let killed = picture(EngineState::Killed, 5);
    let died = picture(EngineState::Died, 5);
    let standby = standby();
    let frames = [
        (
            "engine-80x24",
            include_str!("../goldens/engine-80x24.txt"),
            SIZES[0],
            &trading,
        ),
        (
            "engine-120x40",
            include_str!("../goldens/engine-120x40.txt"),
            SIZES[1],
            &trading,
        ),
        (
            "engine-60x15",
            include_str!("../goldens/engine-60x15.txt"),
            (60, 15),
            &killed,
        ),
        (
            "engine-died",
            include_str!("../goldens/engine-died.txt"),
            SIZES[0],
            &died,
        ),
        (
            "standby",
            include_str!("../goldens/standby.txt"),
            SIZES[0],
            &standby,
        ),
    ];
    let same = frames.map(|(name, golden, (width, height), picture)| {
        is_golden(name, golden, &frame(width, height, picture, &around()))
    });
    assert_eq!(same, [true; 5]);
}

/// Each word of an engine's frame is a word of a frame with room for everything.
#[test]
fn engine_frames_cut_no_word_at_any_size() {
    for state in [EngineState::Trading, EngineState::Killed, EngineState::Died] {
        for banks in [1, 5, 40] {
            let shown = picture(state, banks);
            for page in [Page::Market, Page::Publisher] {
                let around = Around { page, ..around() };
                let other = Around {
                    page: page.other(),
                    ..around.clone()
                };
                let mut known = words(&frame(300, 120, &shown, &around));
                known.extend(words(&frame(300, 120, &shown, &other)));
                let sizes = [
                    (60, 15),
                    (75, 20),
                    (76, 24),
                    (109, 50),
                    (110, 32),
                    (300, 20),
                ];
                for (width, height) in SIZES.into_iter().chain(sizes) {
                    let drawn = frame(width, height, &shown, &around);
                    let unknown: Vec<_> = words(&drawn).difference(&known).cloned().collect();
                    let text = text(&drawn);
                    assert!(
                        unknown.is_empty(),
                        "{state:?} {width}x{height}: {unknown:?}\n{text}"
                    );
                }
            }
        }
    }
}

/// State, sessions, open orders and the first bank are on the smallest screen, in every state.
#[test]
fn the_smallest_screen_has_state_sessions_open_orders_and_banks() {
    for state in STATES.into_iter().filter(|state| state.is_current()) {
        let drawn = text(&frame(60, 15, &picture(state, 5), &around()));
        for words in [
            state.name(),
            "sessions 4 of 5 up",
            "open: 2 parents, 6 orders",
            "unknown 1",
            "LP01",
            "LP05",
        ] {
            assert!(drawn.contains(words), "{state:?} {words}: {drawn}");
        }
    }
    let many = text(&frame(
        60,
        15,
        &picture(EngineState::Trading, 40),
        &around(),
    ));
    assert!(
        many.contains(" more rows") && many.contains("LP01"),
        "{many}"
    );
}

/// Values of an engine that does not run are marked as its last, and no session is shown as up.
#[test]
fn an_engine_that_does_not_run_shows_no_session_as_up() {
    for state in [EngineState::Died, EngineState::Stalled] {
        let drawn = text(&frame(120, 40, &picture(state, 5), &around()));
        assert!(drawn.contains("last values"), "{drawn}");
        assert!(
            !drawn.contains("sessions ") && drawn.contains(" LP02  - "),
            "{drawn}"
        );
    }
    let ended = text(&frame(80, 24, &picture(EngineState::Ended, 0), &around()));
    assert!(
        ended.contains("No engine runs") && !ended.contains("journal"),
        "{ended}"
    );
}

#[test]
fn engine_faults_are_red_and_also_marked_without_colours() {
    let colour =
        |state, words: &str| style_of(&frame(120, 40, &picture(state, 5), &around()), words);
    assert_eq!(colour(EngineState::Trading, "trading").0, Color::Green);
    assert_eq!(
        colour(EngineState::Killed, "kill switch set  process").0,
        Color::Red
    );
    assert_eq!(colour(EngineState::Held, "held").0, Color::Yellow);
    assert_eq!(
        colour(EngineState::Trading, "Orders are sent to 4 of 5").0,
        Color::Yellow
    );
    assert_eq!(
        colour(EngineState::Trading, "sessions 4 of 5 up").0,
        Color::Red
    );
    assert_eq!(colour(EngineState::Trading, "unknown 1").0, Color::Red);
    assert_eq!(colour(EngineState::Trading, "down").0, Color::Red);
    assert_eq!(
        colour(EngineState::Trading, "rounds late").0,
        Color::Red,
        "some just now"
    );
    assert_eq!(
        colour(EngineState::Trading, "3 alarms").0,
        Color::Yellow,
        "some before"
    );
    let plain = Around {
        no_colour: true,
        ..around()
    };
    for (width, height) in SIZES {
        let drawn = frame(width, height, &picture(EngineState::Killed, 5), &plain);
        let is_plain = |cell: &Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
        assert!(drawn.content().iter().all(is_plain));
        assert!(
            style_of(&drawn, "kill switch set")
                .1
                .contains(Modifier::BOLD)
        );
        assert!(style_of(&drawn, "down").1.contains(Modifier::BOLD));
    }
}

/// The standby of a copied journal shows what a promotion would lack, and of which age that is.
#[test]
fn the_standby_of_a_copy_shows_what_the_copy_lacks() {
    for (missing_bytes, age_ns, words, colour) in [
        (12_288, 3_000_000_000, "missing 12.0 KiB", Color::Red),
        (0, 3_000_000_000, "missing 0 bytes", Color::Green),
        (0, 3_000_000_000, "source heard 3.00 s ago", Color::Reset),
        (0, 11_000_000_000, "source heard 11.0 s ago", Color::Red),
        (0, 0, "its source was never heard", Color::Red),
    ] {
        let mut picture = standby();
        let engine = picture.engine.as_mut().expect("an engine");
        let standby = engine.standby.as_mut().expect("a standby");
        standby.source = Some(CopySource {
            missing_bytes,
            age_ns,
        });
        let drawn = frame(60, 15, &picture, &around());
        assert_eq!(style_of(&drawn, words).0, colour, "{words}");
    }
}
