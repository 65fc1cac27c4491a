//! Each line is parsed, or refused with the mistake and the fix.

use super::*;

#[track_caller]
fn fault(line: &str) -> (Fault, usize, usize) {
    match line.parse() {
        Ok(Command::Fault(setting)) => (setting.fault, setting.lines.len(), setting.feeds.len()),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn each_command_is_understood() {
    let begin = Begin {
        share: 0.25,
        packets_max: 6,
    };
    for (line, expected) in [
        ("drop a 0.25", (Fault::Drop { share: 0.25 }, 1, 4)),
        (" DROP AB 1 I ", (Fault::Drop { share: 1.0 }, 2, 1)),
        ("burst b 0.25 6", (Fault::Burst { begin }, 1, 4)),
        ("both 0.25 6 smbo", (Fault::Both { begin }, 2, 1)),
        ("duplicate ab 0", (Fault::Duplicate { share: 0.0 }, 2, 4)),
        (
            "reorder a 0.5 3 n",
            (
                Fault::Reorder {
                    share: 0.5,
                    by_max: 3,
                },
                1,
                1,
            ),
        ),
        (
            "delay a .5 0.5 20",
            (
                Fault::Delay {
                    share: 0.5,
                    min_ns: 500_000,
                    max_ns: 20_000_000,
                },
                1,
                4,
            ),
        ),
        ("corrupt b 0.001", (Fault::Corrupt { share: 0.001 }, 1, 4)),
        (
            "outage a 1.5",
            (
                Fault::Outage {
                    duration_ns: 1_500_000_000,
                },
                1,
                4,
            ),
        ),
    ] {
        assert_eq!(fault(line), expected, "{line}");
    }
    for (line, expected) in [
        ("clear", Command::Clear),
        ("reset", Command::Reset),
        ("rate 0", Command::Rate(0.0)),
        ("truth", Command::ExpectedBooks),
        ("Quit", Command::Quit),
        ("replay half", Command::Replay(Behaviour::Half)),
        ("clock -3600", Command::Clock(-3_600_000_000_000)),
        ("clock .25", Command::Clock(250_000_000)),
        ("restart", Command::Restart(0)),
        ("Restart 31536000", Command::Restart(31_536_000_000_000_000)),
    ] {
        assert_eq!(line.parse(), Ok(expected), "{line}");
    }
}

#[test]
fn each_injection_is_understood() {
    let forgery = |number, off_ns| Forgery { number, off_ns };
    let heartbeat = |number, off_ns| Injected::Heartbeat(forgery(number, off_ns));
    let snapshot = |number, off_ns| Injected::Snapshot(forgery(number, off_ns));
    let (at, by) = (Forged::At, Forged::By);
    for (line, packets, lines, feeds) in [
        (
            "forge a 1 30",
            heartbeat(at(1), 30_000_000_000),
            1,
            &[Feed::Incremental][..],
        ),
        (
            "FORGE ab 4294967295 -0.5 SMBO",
            heartbeat(at(u32::MAX), -500_000_000),
            2,
            &[Feed::OrderSnapshot],
        ),
        ("forge b +1 0", heartbeat(by(1), 0), 1, &[Feed::Incremental]),
        (
            "forge b -100 0 n",
            heartbeat(by(-100), 0),
            1,
            &[Feed::Definitions],
        ),
        (
            "forge b +2147483648 0",
            heartbeat(by(i32::MIN), 0),
            1,
            &[Feed::Incremental],
        ),
        (
            "forge b +4294967295 0",
            heartbeat(by(-1), 0),
            1,
            &[Feed::Incremental],
        ),
        (
            "forge b -4294967295 0",
            heartbeat(by(1), 0),
            1,
            &[Feed::Incremental],
        ),
        (
            "forge-snapshot a 9 -1",
            snapshot(at(9), -1_000_000_000),
            1,
            &[Feed::Snapshot],
        ),
        (
            "forge-snapshot ab +9 0 smbo",
            snapshot(by(9), 0),
            2,
            &[Feed::OrderSnapshot],
        ),
        (
            "old ab 12 s",
            Injected::Old { count: 12 },
            2,
            &[Feed::Snapshot],
        ),
        ("old a 2048", Injected::Old { count: 2_048 }, 1, &Feed::ALL),
    ] {
        let expected = Command::Inject(Injection {
            lines: [Line::A, Line::B]
                .into_iter()
                .skip(usize::from(line.contains(" b ")))
                .take(lines)
                .collect(),
            feeds: feeds.to_vec(),
            packets,
        });
        assert_eq!(line.parse(), Ok(expected), "{line}");
    }
}

#[test]
fn an_invalid_command_is_answered_with_the_error_and_the_valid_form() {
    for (line, words) in [
        ("", "an empty line"),
        ("drp a 0.1", "there is no command `drp`"),
        ("drop", "LINE is missing; write `drop LINE SHARE`"),
        ("drop c 0.1", "LINE is `c`, not a, b or ab"),
        ("drop a", "SHARE is missing"),
        ("drop a 1.01", "SHARE is `1.01`, not a number from 0 to 1"),
        ("drop a NaN", "SHARE is `NaN`"),
        ("drop a -0.1", "SHARE is `-0.1`"),
        ("drop a 0.1 x", "the feed is `x`, not i, n, s or smbo"),
        ("drop a 0.1 i i", "`i` is too much"),
        ("burst a 0.1 0", "MAX is `0`"),
        ("reorder a 0.1 1.5", "BY is `1.5`"),
        ("delay a 0.1 5 4", "MIN_MS is more than MAX_MS"),
        (
            "delay a 0.1 0 1e300",
            "MAX_MS is `1e300`, not a number from 0 to 604800000",
        ),
        ("outage a inf", "SECONDS is `inf`"),
        ("replay nice", "there is no behaviour `nice`"),
        ("clear all", "`all` is too much; leave the rest out"),
        (
            "forge a",
            "NUMBER is missing; write `forge LINE NUMBER SECONDS`",
        ),
        ("forge a 1", "SECONDS is missing"),
        (
            "forge a 4294967296 0",
            "NUMBER is `4294967296`, not a number from 0 to 4294967295, nor one with + or -",
        ),
        ("forge a ++1 0", "NUMBER is `++1`"),
        ("forge a -+1 0", "NUMBER is `-+1`"),
        ("forge a + 0", "NUMBER is `+`"),
        ("forge a 1.5 0", "NUMBER is `1.5`"),
        (
            "forge a 1 nan",
            "SECONDS is `nan`, not a number from -2000000000 to 2000000000",
        ),
        ("forge a 1 0 i 5", "`5` is too much"),
        (
            "forge-snapshot a +1 0 i",
            "the feed has no snapshots, s and smbo do; write `forge-snapshot LINE NUMBER SECONDS`",
        ),
        ("forge-snapshot a +1 0 x", "the feed is `x`"),
        ("old a 0", "COUNT is `0`, not a whole number from 1 to 2048"),
        ("old a 2049", "COUNT is `2049`"),
        ("clock", "SECONDS is missing; write `clock SECONDS`"),
        ("clock 2000000001", "SECONDS is `2000000001`"),
        ("restart now", "SECONDS is `now`"),
        ("restart 0 0", "`0` is too much; write `restart [SECONDS]`"),
    ] {
        let refused = line.parse::<Command>().expect_err(line).to_string();
        assert!(refused.contains(words), "{line}: {refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
}

#[test]
fn any_text_gets_an_answer_without_a_panic() {
    for seed in crate::random::seeds(2_000) {
        let mut random = crate::random::Random::from_seed(seed);
        let words = [
            "drop",
            "delay",
            "a",
            "ab",
            "0.5",
            "-1",
            "1e9",
            "outage",
            "é",
            "replay",
            "\u{0}",
            "i",
            "forge",
            "forge-snapshot",
            "old",
            "clock",
            "restart",
            "+9",
        ];
        let line: Vec<&str> = (0..random.below(7)).map(|_| *random.pick(&words)).collect();
        if let Err(refused) = line.join(" ").parse::<Command>() {
            assert_eq!(
                refused.to_string().lines().count(),
                1,
                "seed {seed}: {refused}"
            );
        }
    }
}
