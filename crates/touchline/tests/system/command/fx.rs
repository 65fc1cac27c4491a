//! `touchline fx replay`: six files or none, and errors of a session; `fx compose` in `live`.

mod back_office;
mod books;
mod contradictions;
mod copied;
mod days;
mod deals;
mod desk_commands;
mod explain;
mod fortnight;
mod frozen;
mod frozen_readers;
mod full_disk;
mod hostile_commands;
mod kill_switch;
mod kills;
mod live;
mod lost_end;
mod penalty;
mod program;
mod program_lists;
mod program_unanswered;
mod report;
mod scripted_bank;
mod session_faults;
mod standby;
mod tls;
mod trade;
mod trade_hostile;
mod voids;

use super::Desk;
use std::fs;

/// Pairs of simulated banks.
const PAIRS: &str = r#"
[[pairs]]
symbol = "EUR/USD"
precision = 5
spot_date = "20260107"
mid_ticks = 110000
[[pairs]]
symbol = "USD/JPY"
precision = 3
spot_date = "20260107"
mid_ticks = 150000
"#;

const CONFIG: &str = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\n\
                      spot_date = \"20260107\"\n[[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\n";

/// A desk whose folder is the session.
fn desk(name: &str, config: &str, session: &str) -> Desk {
    let desk = Desk::bare(name);
    fs::write(desk.folder.join("config.toml"), config).expect("our folder");
    fs::write(desk.folder.join("session.txt"), session).expect("our folder");
    desk
}

#[test]
fn a_replayed_session_writes_six_files() {
    let desk = desk(
        "fx-six",
        CONFIG,
        "# nothing\n\n5 A.q !up\n7 - {\"op\":\"end\"}\n",
    );
    let run = desk.run("fx replay . --out out");
    assert_eq!(
        (run.status, run.stdout.as_str(), run.stderr.as_str()),
        (0, "", "")
    );
    let names = [
        "composite",
        "decisions",
        "orders",
        "fills",
        "positions",
        "scorecard",
    ];
    let lines = names.map(|name| {
        let text = fs::read_to_string(desk.folder.join("out").join(format!("{name}.jsonl")));
        text.expect("one of the six").lines().count()
    });
    assert_eq!(lines, [1, 0, 0, 0, 1, 1]);
}

#[test]
fn an_invalid_input_line_is_named_and_nothing_is_written() {
    for (session, said) in [
        ("5 A.q !up\nx", "line 2: not 'time source payload'"),
        ("5 A.q !up\n4 A.q !down", "line 2: time falls from 5 to 4"),
        ("5 Z.q !up", "line 1: 'Z.q' is not a source"),
        ("5 A.q !off", "line 1: '!off' is not a session event"),
        ("5 - {}", "line 1: '' is not a command"),
        ("5 - {", "line 1: not a JSON object of the desk"),
        ("-5 A.q !up", "line 1: '-5' is not a time"),
    ] {
        let desk = desk("fx-line", CONFIG, session);
        let run = desk.run("fx replay . --out out");
        assert_eq!(
            (run.status, run.stderr.lines().count()),
            (1, 1),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains(&format!("session.txt: {said}")),
            "{}",
            run.stderr
        );
        assert!(!desk.folder.join("out/composite.jsonl").exists());
    }
    let desk = desk("fx-config", &CONFIG.replace("account", "acount"), "");
    let run = desk.run("fx replay . --out out");
    assert_eq!(run.status, 2);
    assert!(
        run.stderr
            .contains("config.toml:3: unknown setting `acount` in the part above the first table; did you mean `account`?"),
        "{}",
        run.stderr
    );
}
