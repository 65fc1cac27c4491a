//! Golden frames, reviewed by a person, and properties of every frame.

mod engine;
mod recorder;

use super::{Around, Page, draw};
use crate::top::model::{
    Condition, Count, InstrumentRow, Ladder, LadderLevel, Latency, List, Picture, Points, Quoted,
    Rate, Reader, STATES, State,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use std::collections::BTreeSet;
use std::time::Duration;
use touchline_client::State as BookState;
use touchline_transport::shm::{Holder, Overview};

fn picture(instruments: usize) -> Picture {
    let mut list = List::default();
    list.set((0..instruments).map(instrument).collect());
    list.step(-1_000);
    list.step(2);
    let mut books = [0; STATES.len() + 1];
    books[..2].copy_from_slice(&[instruments.saturating_sub(2), 2]);
    Picture {
        bus: "cme-340".to_owned(),
        overview: Some(overview()),
        state: State::Recovering,
        uptime_ns: 11_525_000_000_000,
        rates: rates(),
        lines: lines(),
        books,
        latencies: vec![
            latency("decode_ns", [310, 420, 800, 1_200]),
            latency("apply_and_resolve_the_book_ns", [210, 520, 900, 48_000]),
            latency("packet_ns", [1_020, 2_040, 9_800, 3_200_000]),
        ],
        readers: readers(),
        unnamed_readers: 2,
        list: list.shown().clone(),
        ladder: (instruments > 0).then(|| ladder(BookState::Live)),
        ..Picture::default()
    }
}

fn instrument(id: usize) -> InstrumentRow {
    let roots = [
        "ESU4",
        "ZNU4",
        "NQU4",
        "GEZ4-GEH5",
        "ESU4 C4500",
        "BTC-27SEP24-100000-C",
    ];
    let symbol = match id / roots.len() {
        0 => roots[id].to_owned(),
        round => format!("{}/{round}", roots[id % roots.len()]),
    };
    let quoted = |price: &str, quantity: &str| {
        Some(Quoted {
            price: price.to_owned(),
            quantity: quantity.to_owned(),
        })
    };
    let has_book = id % 7 != 6;
    InstrumentRow {
        id,
        symbol,
        security_id: 100_000 + id as i64,
        state: has_book.then_some(STATES[id % 3]),
        bid: quoted("4500.25", "12").filter(|_| has_book),
        ask: quoted("110.484375", "1,234").filter(|_| id % 5 != 4),
        last: quoted("59925.50", "0.015").filter(|_| id.is_multiple_of(3)),
        per_second: id as f64 * 1_234.5,
        age: (id % 4 != 3).then(|| Duration::from_millis(7 << (2 * (id % 12)))),
    }
}

fn overview() -> Overview {
    Overview {
        bus: "cme-340".to_owned(),
        publisher: Some(Holder {
            pid: 4_711,
            command: "touchline gateway".to_owned(),
            since_unix_s: 0,
            build: None,
        }),
        build: None,
        liveness: None,
        generation: 3,
        definitions: 1_206,
        books: 1_206,
        messages: 1_000_000,
        ring_bytes: 16 << 20,
        position: 70 << 20,
        message_bytes_max: 4_096,
        memory_bytes: 20 << 20,
        readers: None,
    }
}

fn rates() -> Vec<Rate> {
    let rate = |name, per_second, total, past: &[u64]| Rate {
        name,
        per_second,
        total,
        past: past.iter().copied().collect(),
        counters: &[],
    };
    vec![
        rate(
            "packets, line A",
            48_210.0,
            9_182_734,
            &[0, 1, 20, 80, 40, 60],
        ),
        rate("packets, line B", 48_198.0, 9_182_001, &[0; 6]),
        rate("published", 1_204_998.7, 918_273_645, &[7; 70]),
        rate(
            "bytes",
            84_234_234.0,
            84_234_234_000,
            &[1, 2, 3, 4, 5, 6, 7, 8],
        ),
    ]
}

fn lines() -> Vec<Count> {
    let count = |name: &str, recent, total, is_bad| Count {
        name: name.to_owned(),
        recent,
        total,
        is_bad,
    };
    vec![
        count("first on A", 24_000, 4_600_000, false),
        count("first on B", 100, 4_582_000, false),
        count("gaps", 0, 3, true),
        count("lost", 2, 17, true),
        count("kernel receive drops", 0, 0, true),
    ]
}

fn latency(name: &str, at: [u64; 4]) -> Latency {
    let points = |count, factor| Points {
        count,
        at: at.map(|value| Some(value * factor)),
    };
    Latency {
        name: name.to_owned(),
        unit: "ns".to_owned(),
        recent: points(24_100, 1),
        total: points(9_182_734, 2),
    }
}

fn readers() -> Vec<Reader> {
    let reader = |name: &str, condition, lag_bytes: u64, overruns| Reader {
        name: name.to_owned(),
        condition,
        pid: 1_234_567,
        lag_bytes,
        lag_share: lag_bytes as f64 / (16_u64 << 20) as f64,
        per_second: 1_200_000.0,
        overruns,
        lost: overruns * 91_234,
        consumed: Points {
            count: 5,
            at: [210, 900, 12_000, 50_000].map(Some),
        },
        received: Points {
            count: 5,
            at: [3_100, 9_400, 80_000, 90_000].map(Some),
        },
    };
    let unreadable = Condition::Unreadable("counters: damaged; start it again".to_owned());
    vec![
        reader("spoilt", unreadable, 0, 0),
        reader("risk-with-a-very-long-name", Condition::Slow, 15 << 20, 4),
        reader("recorder", Condition::HasLost, 4_096, 1),
        reader("strategy-1", Condition::Well, 0, 0),
        reader("gone", Condition::Dead, 8 << 20, 0),
    ]
}

fn ladder(state: BookState) -> Ladder {
    let level = |price: i64, quantity: &str, implied: &str| LadderLevel {
        price: format!("{price}.25"),
        quantity: quantity.to_owned(),
        implied: implied.to_owned(),
        orders: "3".to_owned(),
    };
    let details = [
        ("id", "118"),
        ("venue", "XCME"),
        ("type", "future"),
        ("currency", "USD"),
        ("tick", "0.25"),
        ("multiplier", "50"),
        ("display factor", "1/100"),
        ("expiry", "2024-09"),
    ];
    Ladder {
        symbol: "ESU4".to_owned(),
        state: Some(state),
        details: details
            .map(|(name, value)| (name, value.to_owned()))
            .to_vec(),
        levels: (0..60)
            .map(|row| [level(4_500 - row, "12", ""), level(4_501 + row, "7", "2")])
            .collect(),
        ..Ladder::default()
    }
}

fn frame(width: u16, height: u16, picture: &Picture, around: &Around) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is memory");
    let drawn = terminal.draw(|frame| draw(frame, picture, around));
    drawn.expect("it is memory");
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let rows = buffer.content().chunks(width);
    let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    rows.map(|row| format!("{}\n", row.trim_end())).collect()
}

/// Compares a frame with its golden file; a different frame is left in the temporary folder for review.
fn is_golden(name: &str, golden: &str, buffer: &Buffer) -> bool {
    let text = text(buffer);
    if text != golden {
        let path = std::env::temp_dir().join(format!("touchline-top-{name}.txt"));
        std::fs::write(&path, &text).expect("a temporary file");
        println!("{name} is drawn otherwise: see {}\n{text}", path.display());
    }
    text == golden
}

fn around() -> Around {
    Around {
        place: (2, 3),
        interval_ms: 500,
        ..Around::default()
    }
}

/// Usual terminal sizes.
const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

#[test]
fn frames_equal_the_reviewed_files() {
    let (picture, around) = (picture(500), around());
    let help = Around {
        help: true,
        ..around.clone()
    };
    let publisher = Around {
        page: Page::Publisher,
        ..around.clone()
    };
    let frames = [
        (
            "80x24",
            include_str!("goldens/80x24.txt"),
            SIZES[0],
            &around,
        ),
        (
            "120x40",
            include_str!("goldens/120x40.txt"),
            SIZES[1],
            &around,
        ),
        (
            "200x60",
            include_str!("goldens/200x60.txt"),
            SIZES[2],
            &around,
        ),
        (
            "publisher",
            include_str!("goldens/publisher.txt"),
            SIZES[0],
            &publisher,
        ),
        ("help", include_str!("goldens/help.txt"), SIZES[0], &help),
    ];
    let same = frames.map(|(name, golden, (width, height), around)| {
        is_golden(name, golden, &frame(width, height, &picture, around))
    });
    assert_eq!(same, [true; 5]);
}

/// A mark behind a quantity is explained above the list; without one, or without quantities, there is no legend.
#[test]
fn the_marks_of_quantities_have_a_legend() {
    let legend = "i: implied, +i: direct and implied";
    let mut picture = picture(3);
    assert!(!text(&frame(200, 60, &picture, &around())).contains(legend));
    if let Some(bid) = &mut picture.list.rows[0].bid {
        bid.quantity = "9+i".to_owned();
    }
    for (width, is_shown) in [(200, true), (60, false)] {
        let frame = text(&frame(width, 60, &picture, &around()));
        let has = [frame.contains("9+i"), frame.contains(legend)];
        assert_eq!(has, [is_shown; 2], "{frame}");
    }
}

/// Words of a frame, without the sparklines, whose length depends on the width.
fn words(buffer: &Buffer) -> BTreeSet<String> {
    let text = text(buffer);
    let lines = text.lines().filter(|line| !line.contains("more rows"));
    let words = lines.flat_map(str::split_whitespace);
    let is_past = |word: &str| word.chars().all(|letter| "·▁▂▃▄▅▆▇█".contains(letter));
    words
        .filter(|word| !is_past(word))
        .map(str::to_owned)
        .collect()
}

/// Each word of a frame is a word of a frame with room for everything: none is cut, and no two touch.
#[test]
fn words_are_neither_cut_nor_joined_at_any_size() {
    for instruments in [0, 1, 5, 500] {
        let picture = picture(instruments);
        for page in [Page::Market, Page::Publisher] {
            let around = Around { page, ..around() };
            let other = Around {
                page: page.other(),
                ..around.clone()
            };
            let totals = Around {
                totals: true,
                ..around.clone()
            };
            let mut known = words(&frame(500, 700, &picture, &around));
            known.extend(words(&frame(500, 700, &picture, &other)));
            for (width, height) in
                SIZES
                    .into_iter()
                    .chain([(60, 15), (79, 31), (109, 50), (110, 32), (300, 20)])
            {
                for around in [&around, &totals] {
                    let drawn = frame(width, height, &picture, around);
                    let unknown: Vec<_> = words(&drawn).difference(&known).cloned().collect();
                    let text = text(&drawn);
                    assert!(
                        unknown.is_empty(),
                        "{width}x{height}, {instruments}: {unknown:?}\n{text}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_small_screen_has_totals_instruments_and_the_ladder() {
    let drawn = text(&frame(80, 24, &picture(5), &around()));
    for words in [
        "packets/s",
        "17 packets lost",
        "slow: risk-with",
        "5 instruments",
        "ZNU4",
        "110.484375",
        "4499.25",
    ] {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
}

#[test]
fn the_selected_instrument_is_always_visible() {
    let mut list = List::default();
    list.set((0..500).map(instrument).collect());
    for place in [0, 1, 250, 498, 499] {
        list.step(-1_000);
        list.step(place);
        let shown = Picture {
            list: list.shown().clone(),
            ..picture(5)
        };
        let symbol = &list.shown().rows[place as usize].symbol;
        for (width, height) in SIZES {
            let drawn = frame(width, height, &shown, &around());
            let (_, modifier) = style_of(&drawn, &format!("> {symbol} "));
            assert!(
                modifier.contains(Modifier::REVERSED),
                "{place} at {width}x{height}"
            );
        }
    }
}

#[test]
fn a_filter_without_a_match_shows_how_to_clear_it() {
    let mut list = List::default();
    list.set((0..5).map(instrument).collect());
    list.filter("XYZ");
    let shown = Picture {
        list: list.shown().clone(),
        ..picture(5)
    };
    let drawn = text(&frame(80, 24, &shown, &around()));
    assert!(
        drawn.contains("0 of 5 instruments  with \"XYZ\""),
        "{drawn}"
    );
    assert!(drawn.contains("Esc shows all"), "{drawn}");
}

#[test]
fn a_screen_that_is_too_small_shows_the_minimum_size() {
    for (width, height) in [(59, 15), (60, 14), (30, 5)] {
        let drawn = text(&frame(width, height, &picture(5), &around()));
        let words: Vec<_> = drawn.split_whitespace().collect();
        let said = words.join(" ");
        let expected = format!("this terminal has {width}x{height} characters; top needs 60x15");
        assert_eq!(said, expected);
    }
    assert!(!text(&frame(60, 15, &picture(5), &around())).contains("needs"));
}

/// Style of the cell where these words start.
#[track_caller]
fn style_of(buffer: &Buffer, words: &str) -> (Color, Modifier) {
    let text = text(buffer);
    let row = text
        .lines()
        .position(|line| line.contains(words))
        .expect(words);
    let line = text.lines().nth(row).expect(words);
    let (before, _) = line.split_once(words).expect(words);
    let cell = &buffer[(before.chars().count() as u16, row as u16)];
    (cell.fg, cell.modifier)
}

#[test]
fn faults_are_red_and_books_that_are_not_live_are_dim_and_labelled() {
    let live = frame(200, 60, &picture(500), &around());
    assert_eq!(style_of(&live, "slow: risk-with").0, Color::Red);
    assert_eq!(
        style_of(&live, "risk-with-a-very-long-name  slow").0,
        Color::Red
    );
    assert_eq!(style_of(&live, "recorder  ").0, Color::Yellow);
    assert_eq!(style_of(&live, "strategy-1  ").0, Color::Reset);
    assert!(style_of(&live, "gone  ").1.contains(Modifier::DIM));
    assert_eq!(
        style_of(&live, "17 packets lost in 3 gaps").0,
        Color::Red,
        "some just now"
    );
    assert_eq!(
        style_of(&live, "gaps                        0").0,
        Color::Yellow,
        "some before"
    );
    assert_eq!(style_of(&live, "4499.25").0, Color::Green);
    assert_eq!(style_of(&live, "4502.25").0, Color::Red);
    assert!(!text(&live).contains("do not trade"));

    let gone = Picture {
        state: State::Gone,
        overview: Some(Overview {
            publisher: None,
            ..overview()
        }),
        ladder: Some(ladder(BookState::Stale)),
        ..picture(500)
    };
    let gone = frame(200, 60, &gone, &around());
    assert_eq!(style_of(&gone, "publisher gone").0, Color::Red);
    let (colour, modifier) = style_of(&gone, "4499.25");
    assert!(colour == Color::Reset && modifier.contains(Modifier::DIM));
    assert!(text(&gone).contains("stale: do not trade on it"));
}

#[test]
fn every_size_can_be_drawn() {
    let last_error = Picture {
        bus: "cme-340".to_owned(),
        last_error: Some("the bus is not there; start it ".repeat(9)),
        ..Picture::default()
    };
    let typing = Around {
        typing: Some("ES".to_owned()),
        help: true,
        ..around()
    };
    for width in [1, 2, 10, 59, 60, 79, 80, 109, 110, 300] {
        for height in [1, 2, 14, 15, 16, 23, 24, 31, 32, 100] {
            frame(width, height, &picture(5), &around());
            frame(width, height, &last_error, &typing);
            frame(width, height, &Picture::default(), &typing);
        }
    }
    let said = text(&frame(80, 24, &last_error, &around()));
    assert!(
        said.contains("not there") && said.contains("start it"),
        "{said}"
    );
}

#[test]
fn an_introduction_is_wrapped_above_all_other_parts() {
    let around = Around {
        introduction: Some(
            "This is a demo. Enter shows latencies and readers; q ends the demo.".to_owned(),
        ),
        ..around()
    };
    let drawn = text(&frame(60, 15, &picture(5), &around));
    let lines: Vec<_> = drawn.lines().collect();
    assert_eq!(
        lines[1],
        " This is a demo. Enter shows latencies and readers; q ends"
    );
    assert_eq!(lines[2], " the demo.");
    assert!(
        lines[3].contains("updates/s") || lines[3].contains("packets/s"),
        "{drawn}"
    );
}

#[test]
fn without_colours_faults_are_still_marked() {
    let plain = Around {
        no_colour: true,
        ..around()
    };
    for instruments in [5, 500] {
        for (width, height) in SIZES {
            let coloured = frame(width, height, &picture(instruments), &around());
            let drawn = frame(width, height, &picture(instruments), &plain);
            let is_plain =
                |cell: &ratatui::buffer::Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
            assert!(
                drawn.content().iter().all(is_plain) && !coloured.content().iter().all(is_plain)
            );
            assert_eq!(text(&drawn), text(&coloured));
            let slow = style_of(&drawn, "slow: risk-with").1;
            assert!(slow.contains(Modifier::BOLD));
        }
    }
}

#[test]
fn a_narrow_screen_shows_latencies_of_one_window() {
    let around = Around {
        totals: true,
        page: Page::Publisher,
        ..around()
    };
    let drawn = text(&frame(80, 24, &picture(5), &around));
    assert!(
        drawn.contains("since start") && !drawn.contains("interval  "),
        "{drawn}"
    );
    assert!(drawn.contains("9,182,734   620 ns"), "{drawn}");
}
