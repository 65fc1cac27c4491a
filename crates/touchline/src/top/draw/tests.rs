//! Frames, compared with those that a person has looked at.

use super::{Around, draw};
use crate::top::model::{
    Condition, Count, Ladder, Latency, Picture, Points, Rate, Reader, STATES, State,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use touchline_transport::shm::{Holder, Overview};
use touchline_types::Validity;

fn picture() -> Picture {
    let mut books = [0; STATES.len() + 1];
    books[..2].copy_from_slice(&[1_204, 2]);
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
        ladder: Some(ladder(Validity::Live)),
        instruments: 1_206,
        ..Picture::default()
    }
}

fn overview() -> Overview {
    Overview {
        bus: "cme-340".to_owned(),
        publisher: Some(Holder {
            pid: 4_711,
            command: "touchline gateway".to_owned(),
            since_unix_s: 0,
        }),
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

fn ladder(validity: Validity) -> Ladder {
    let level = |bid: &str, ask: &str| {
        format!(
            " {:>6}{:>9}{:>11}{bid:>12} | {ask:<12}{:>10}{:>9}{:>7}",
            3, "", 12, 7, 2, 1
        )
    };
    let mut lines = vec![
        format!(" ESU4, 118, {}", validity.name()),
        " orders  implied     direct         bid | ask             direct  implied orders"
            .to_owned(),
    ];
    lines.extend((0..60).map(|row| level(&(4_500 - row).to_string(), &(4_501 + row).to_string())));
    Ladder {
        validity: Some(validity),
        lines,
        place: 7,
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

/// Whether a frame is as it was. If not it is left among the temporary files, to be looked at and taken over.
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

#[test]
fn frames_are_those_that_were_looked_at() {
    let (picture, around) = (picture(), around());
    let help = Around {
        help: true,
        ..around.clone()
    };
    let frames = [
        (
            "80x24",
            include_str!("goldens/80x24.txt"),
            (80, 24),
            &around,
        ),
        (
            "120x40",
            include_str!("goldens/120x40.txt"),
            (120, 40),
            &around,
        ),
        (
            "160x50",
            include_str!("goldens/160x50.txt"),
            (160, 50),
            &around,
        ),
        ("help", include_str!("goldens/help.txt"), (80, 24), &help),
    ];
    let same = frames.map(|(name, golden, (width, height), around)| {
        is_golden(name, golden, &frame(width, height, &picture, around))
    });
    assert_eq!(same, [true; 4]);
}

/// The cell where these words begin.
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
fn what_is_bad_is_red_and_what_is_not_live_is_grey_and_said() {
    let live = frame(160, 50, &picture(), &around());
    assert_eq!(style_of(&live, "risk-with").0, Color::Red);
    assert_eq!(style_of(&live, "recorder").0, Color::Yellow);
    assert_eq!(style_of(&live, "strategy-1").0, Color::Reset);
    assert!(style_of(&live, "gone").1.contains(Modifier::DIM));
    assert_eq!(
        style_of(&live, "lost        ").0,
        Color::Red,
        "some just now"
    );
    assert_eq!(
        style_of(&live, "gaps            ").0,
        Color::Yellow,
        "some before"
    );
    assert_eq!(style_of(&live, "4500 |").0, Color::Green);
    assert_eq!(style_of(&live, "| 4501").0, Color::Reset);
    assert!(!text(&live).contains("not to be traded on"));

    let gone = Picture {
        state: State::Gone,
        overview: Some(Overview {
            publisher: None,
            ..overview()
        }),
        ladder: Some(ladder(Validity::Stale)),
        ..picture()
    };
    let gone = frame(160, 50, &gone, &around());
    assert_eq!(style_of(&gone, "publisher gone").0, Color::Red);
    let (colour, modifier) = style_of(&gone, "4500 |");
    assert!(colour == Color::Reset && modifier.contains(Modifier::DIM));
    assert!(text(&gone).contains("stale: not to be traded on"));
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
    for width in [1, 2, 10, 39, 79, 80, 111, 157, 158, 300] {
        for height in [1, 2, 3, 5, 10, 23, 24, 100] {
            frame(width, height, &picture(), &around());
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
fn latencies_of_a_slim_screen_are_of_either_window() {
    let around = Around {
        totals: true,
        ..around()
    };
    let drawn = text(&frame(80, 24, &picture(), &around));
    assert!(
        drawn.contains("since start") && !drawn.contains("interval"),
        "{drawn}"
    );
    assert!(drawn.contains("9,182,734  620 ns"), "{drawn}");
}
