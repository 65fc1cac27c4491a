//! `touchline replay --journal`: from a place, of an instrument, of several tapes, and on a schedule.

use super::Desk;
use super::tape::recorded;

/// Rows of a series without its head.
fn rows(text: &str) -> Vec<String> {
    text.lines().skip(1).map(str::to_owned).collect()
}

/// Place of a column.
fn column(text: &str, name: &str) -> usize {
    let head = text.lines().next().expect("a head");
    let mut names = head.split(',');
    names.position(|of| of == name).expect("a column")
}

fn cell(row: &str, column: usize) -> String {
    row.split(',').nth(column).expect("a cell").to_owned()
}

/// Trades and final books of a part of the tape.
fn played(desk: &Desk, more: &str) -> (String, String) {
    desk.run(&format!(
        "replay --journal tape --quiet --books books --trades trades.csv {more}"
    ))
    .done();
    (desk.read("trades.csv"), desk.read("books"))
}

#[test]
fn a_replay_from_a_place_is_the_tail_of_the_whole() {
    let desk = recorded("tape-from");
    let (whole, books) = played(&desk, "");
    let received = column(&whole, "receive_ns");
    let all = rows(&whole);
    assert!(all.len() > 10, "{whole}");
    for at in [1, all.len() / 2, all.len() - 1] {
        let ns = cell(&all[at], received);
        let is_behind = |row: &&String| cell(row, received) >= ns;
        let behind: Vec<_> = all.iter().filter(is_behind).cloned().collect();
        let (tail, books_of_tail) = played(&desk, &format!("--from {ns}"));
        assert_eq!(rows(&tail), behind);
        assert_eq!(books_of_tail, books, "from {ns}");
        let same = played(&desk, &format!("--from {ns} --speed 20 --spin"));
        assert_eq!(same, (tail, books_of_tail), "at another speed");
        let (head, _) = played(&desk, &format!("--to {ns}"));
        assert_eq!([rows(&head), behind].concat(), all);
    }
}

#[test]
fn an_instrument_has_the_same_rows_alone() {
    let desk = recorded("tape-instrument");
    let (whole, _) = played(&desk, "");
    let (id, symbol) = (column(&whole, "security_id"), column(&whole, "symbol"));
    let row = rows(&whole).pop().expect("a trade");
    let (id_of_row, symbol_of_row) = (cell(&row, id), cell(&row, symbol));
    let of_it = |row: &String| cell(row, id) == id_of_row;
    let expected: Vec<_> = rows(&whole).into_iter().filter(of_it).collect();
    for instrument in [&id_of_row, &symbol_of_row] {
        let (trades, _) = played(&desk, &format!("--instrument {instrument}"));
        assert_eq!(rows(&trades), expected);
    }
    desk.run("replay --journal tape --instrument NOTHING")
        .refused(1, &["no instrument of the tape is NOTHING"]);
}

/// Two tapes with the same messages give each row twice: in the order of time, and of the command line.
#[test]
fn several_tapes_are_merged_by_time() {
    let desk = recorded("tape-merged");
    let (whole, _) = played(&desk, "");
    std::fs::create_dir(desk.path("other")).expect("our folder");
    for file in std::fs::read_dir(desk.path("tape")).expect("a tape") {
        let file = file.expect("a file").path();
        let name = file.file_name().expect("a name");
        std::fs::copy(&file, desk.path("other").join(name)).expect("room");
    }
    let run = desk.run("replay --journal tape other --trades merged.csv");
    let said = run.done().stdout;
    assert!(said.contains("clock of tape: ") && said.contains("clock of other: "));
    assert!(
        said.contains("the tapes are of one host and one clock"),
        "{said}"
    );
    let merged = desk.read("merged.csv");
    let received = column(&merged, "receive_ns");
    let times: Vec<_> = rows(&merged)
        .iter()
        .map(|row| cell(row, received))
        .collect();
    assert!(times.is_sorted(), "{merged}");
    let mut sorted = rows(&merged);
    sorted.sort();
    let mut twice = [rows(&whole), rows(&whole)].concat();
    twice.sort();
    assert_eq!(sorted, twice);
    desk.run("replay --journal tape tape")
        .refused(2, &["given twice with --journal"]);
    desk.run("replay --journal tape other --publish --bus one")
        .refused(2, &["leave it out"]);
}

#[test]
fn a_schedule_is_measured_and_a_late_one_refused() {
    let desk = recorded("tape-schedule");
    let run = desk.run("replay --journal tape --speed 20 --spin").done();
    assert!(run.stdout.contains("schedule: late by "), "{run:?}");
    desk.run("replay --journal tape --quiet --speed 20 --max-late 0us")
        .refused(1, &["late by", "--spin"]);
    let capture = desk.replay("--speed 20").done();
    assert!(capture.stdout.contains("schedule: late by "), "{capture:?}");
}

#[test]
fn places_that_a_tape_does_not_have_are_refused() {
    let desk = recorded("tape-places");
    desk.run("replay --journal tape --from sequence:99999999")
        .refused(1, &["the tape ends before --from"]);
    desk.run("export --journal tape --from sequence:99999999 --csv trades --out out")
        .refused(1, &["the tape ends before --from"]);
    assert!(!desk.path("out/trades.csv").exists());
    for place in ["yesterday", "7", "sequence:x"] {
        desk.run(&format!("replay --journal tape --from {place}"))
            .refused(2, &["sequence:N"]);
    }
    // A tape that was only copied has no index, and a wrong one is not used.
    let from = "replay --journal tape --from sequence:20 --quiet";
    // The recorder has written it.
    assert_eq!(desk.run(from).done().stderr, "");
    let verified = || desk.run("journal verify tape").done().stdout;
    let is_right = verified().contains("index: 1 of 1 closed segment");
    assert!(is_right, "{}", verified());
    let file = desk.path("tape/0000000001.tli");
    std::fs::write(&file, "no index").expect("room");
    let is_wrong = verified().contains("index 0000000001.tli: damaged");
    assert!(is_wrong, "{}", verified());
    assert!(desk.run(from).stderr.contains("journal index"));
    std::fs::remove_file(&file).expect("it is there");
    assert!(!verified().contains("index"), "{}", verified());
    assert!(desk.run(from).stderr.contains("journal index"));
    let written = desk.run("journal index tape").done();
    assert!(written.stdout.contains("1 segment"), "{written:?}");
    assert_eq!(desk.run(from).done().stderr, "");
}

/// A folder of captures is played by name and time.
#[test]
fn a_folder_of_captures_is_the_capture() {
    let desk = Desk::new("captures-folder");
    let pcap = std::fs::read(desk.path("session.pcap")).expect("our capture");
    let length = |at: usize| u32::from_le_bytes(pcap[at + 8..at + 12].try_into().expect("four"));
    let mut middle = 24;
    while middle < pcap.len() / 2 {
        middle += 16 + length(middle) as usize;
    }
    std::fs::create_dir(desk.path("folder")).expect("our folder");
    desk.write("folder/1.pcap", &pcap[..middle]);
    desk.write("folder/2.pcap", [&pcap[..24], &pcap[middle..]].concat());
    desk.write("folder/notes.txt", "no capture");
    let replay = |captures: &str| {
        let files = "--quiet --books books --trades trades.csv";
        desk.run(&format!(
            "replay --config cme.toml --pcap {captures} {files}"
        ))
        .done();
        (desk.read("books"), desk.read("trades.csv"))
    };
    assert_eq!(replay("folder"), replay("session.pcap"));
    std::fs::create_dir(desk.path("empty")).expect("our folder");
    desk.run("replay --config cme.toml --pcap empty")
        .refused(2, &["the folder has no capture"]);
}
