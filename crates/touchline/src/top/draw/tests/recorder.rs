//! Frames of a recorder.

use super::{around, frame, style_of, text};
use crate::top::draw::style::{BAD, GOOD};
use crate::top::model::{Count, Picture, Rate, Recorder, RecorderState};
use std::collections::VecDeque;
use std::time::Duration;

fn picture(recorder: Recorder) -> Picture {
    let rate = |name, per_second, total| Rate {
        name,
        per_second,
        total,
        past: VecDeque::new(),
        counters: &[],
    };
    let count = |name: &str, total| Count {
        name: name.to_owned(),
        total,
        recent: 0,
        is_bad: true,
    };
    Picture {
        bus: "record-cme-340".to_owned(),
        uptime_ns: 3_700_000_000_000,
        rates: vec![
            rate("messages", 120_000.0, 9_000_000),
            rate("bytes", 13e6, 900_000_000),
        ],
        lines: vec![count("gaps", 2), count("messages lost", 731)],
        recorder: Some(recorder),
        ..Picture::default()
    }
}

fn recorder() -> Recorder {
    Recorder {
        state: RecorderState::Recording,
        pid: 4_711,
        age: Some(Duration::from_millis(40)),
        buses: 2,
        lag_bytes: 4_096,
        position: 5 << 30,
        unsynced_bytes: 2 << 20,
        durable_age_ns: 3_000_000,
        segment: 21,
        free_bytes: 200 << 30,
        compressed: (4 << 30, 1 << 30),
        ..Recorder::default()
    }
}

#[test]
fn a_recorder_shows_its_tape_its_disk_and_its_losses() {
    for (width, height) in [(160, 40), (80, 24), (60, 20)] {
        let buffer = frame(width, height, &picture(recorder()), &around());
        let shown = text(&buffer);
        for words in [
            "record-cme-340",
            "recording",
            "process 4711, up 1 h 1 min",
            "Records 2 buses",
            "segment 21",
            "position 5.0 GiB",
            "behind the buses 4.0 KiB",
            "free 200.0 GiB",
            "120,000",
            "731",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
    let wide = text(&frame(160, 40, &picture(recorder()), &around()));
    for words in [
        "not on the disk 2.0 MiB, no sync for 3.00 ms",
        "compressed 4.0 GiB to 25.0 %",
    ] {
        assert!(wide.contains(words), "{words}: {wide}");
    }
}

#[test]
fn the_trouble_of_a_recorder_is_red_and_says_what_to_do() {
    for (state, label, words) in [
        (RecorderState::Full, "disk full", "free some"),
        (RecorderState::Behind, "disk behind", "overrun"),
        (RecorderState::Failed, "disk failed", "record_failed"),
        (RecorderState::Died, "died", "Start it again"),
        (RecorderState::Stalled, "stalled", "stopped or hangs"),
    ] {
        let of = Recorder {
            state,
            ..recorder()
        };
        let buffer = frame(160, 40, &picture(of), &around());
        assert!(text(&buffer).contains(words), "{}", text(&buffer));
        assert_eq!(Some(style_of(&buffer, label).0), BAD.fg, "{label}");
    }
    let buffer = frame(160, 40, &picture(recorder()), &around());
    assert_eq!(Some(style_of(&buffer, "recording").0), GOOD.fg);
    let late = Recorder {
        durable_age_ns: 11_000_000_000,
        ..recorder()
    };
    let buffer = frame(160, 40, &picture(late), &around());
    assert_eq!(Some(style_of(&buffer, "no sync").0), BAD.fg);
}

/// The age of the durable position is 0 while no record waits for the disk, however long ago the last sync was.
#[test]
fn an_idle_recorder_shows_no_time_of_a_sync() {
    let idle = Recorder {
        unsynced_bytes: 0,
        durable_age_ns: 0,
        ..recorder()
    };
    let shown = text(&frame(160, 40, &picture(idle), &around()));
    assert!(shown.contains("not on the disk 0 bytes"), "{shown}");
    assert!(!shown.contains("sync"), "{shown}");
}
