//! The lag of a copied journal, with an engine, `journal send` and `journal receive` as a user starts them.

use super::live::{end, start};
use super::standby::number_behind;
use super::trade::Market;
use crate::command::Desk;
use crate::command::until;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use touchline_testing::Process;
use touchline_testing::free_address;

/// A counter of a process; `None` if it does not run.
fn counter(desk: &Desk, process: &str, name: &str) -> Option<u64> {
    let shown = desk.run(&format!("stat {process} --json")).stdout;
    let shown: Value = serde_json::from_str(shown.trim()).ok()?;
    shown["counters"][name].as_u64()
}

/// Position of the end of a journal.
fn position(desk: &Desk, journal: &str) -> u64 {
    let said = desk.run(&format!("journal verify {journal}")).stdout;
    number_behind(&said, "position=") as u64
}

/// Starts `journal send` of the engine's journal.
fn source(desk: &Desk, address: SocketAddrV4) -> Process {
    let line = format!("journal send fx/journal --listen {address} --allow 127.0.0.1 --until-eof");
    start(desk, &line, "source.txt")
}

/// Starts `journal receive` from this address, with its log in a file.
fn copy(desk: &Desk, address: SocketAddrV4) -> Process {
    let line = format!("journal receive {address} fx/copy --every-s 1 --until-eof");
    let mut command = desk.command(&line);
    let file = |name: &str| std::fs::File::create(desk.path(name)).expect("our folder");
    command.stdin(std::process::Stdio::piped());
    command.stdout(file("copy.txt")).stderr(file("copy.log"));
    Process::with_streams(&mut command)
}

/// The copy is stopped while the engine trades: the source shows bytes that are not on the copy's disk, and an age, and both
/// are 0 when the copy has them.
#[test]
fn the_lag_of_a_stopped_copy_is_shown_and_gone_when_it_has_caught_up() {
    let market = Market::open("fx-lag", &["[banks.orders]"]);
    let desk = &market.desk;
    let address = free_address();
    let source = source(desk, address);
    let active = market.engine("active.txt");
    let copy = copy(desk, address);
    let of_source = |name: &str| counter(desk, "journal-send", name);
    let of_copy = |name: &str| counter(desk, "journal-receive", name);
    let is_complete = || {
        of_copy("journal_copy_position") == Some(position(desk, "fx/journal"))
            && of_source("journal_copies_behind") == Some(0)
    };
    until("a copy", is_complete);
    // A copy that is silent for 5 s is disconnected: on a slow host before the counters are read.
    let mut shown = (0, 0);
    until("a copy that is behind", || {
        copy.signal("STOP");
        market.send_to_its_end("EUR/USD buy 500000 --tif ioc --wait");
        let behind = of_source("journal_copies_behind").expect("it runs");
        let behind_ns = of_source("journal_copies_behind_ns").expect("it runs");
        shown = (behind, behind_ns);
        if behind == 0 || behind_ns == 0 {
            copy.signal("CONT");
            until("the copy again", || of_source("journal_copies") == Some(1));
        }
        behind > 0 && behind_ns > 0
    });
    assert!(shown.0 <= position(desk, "fx/journal"), "{shown:?}");
    copy.signal("CONT");
    until("everything copied", is_complete);
    until("no lag", || of_copy("journal_copy_behind") == Some(0));
    assert_eq!(of_copy("journal_copy_connected"), Some(1));
    assert_eq!(of_source("journal_copies_behind_ns"), Some(0));
    let page = desk.run("stat journal-receive").done().stdout;
    assert!(page.contains("journal_copy_position"), "{page}");
    end(copy);
    end(source);
    end(active);
}

/// Passes a connection on until this many bytes have come from the source, and accepts no other: a link that is cut in the middle
/// of a burst.
fn cut_link(from: SocketAddrV4, to: SocketAddrV4, bytes: u64) {
    let listener = TcpListener::bind(from).expect("a free port");
    thread::spawn(move || {
        let (copy, _) = listener.accept().expect("a copy");
        drop(listener);
        let source = TcpStream::connect(to).expect("a source");
        let both = || (copy.try_clone(), source.try_clone());
        let (Ok(mut from_copy), Ok(mut to_source)) = both() else {
            panic!("no descriptors");
        };
        thread::spawn(move || std::io::copy(&mut from_copy, &mut to_source));
        let (mut left, mut room) = (bytes, [0; 1_000]);
        while left > 0 {
            let most = room.len().min(left as usize);
            let count = (&source).read(&mut room[..most]).expect("it sends");
            (&copy).write_all(&room[..count]).expect("it reads");
            left -= count as u64;
        }
        for side in [copy, source] {
            // The other side may have closed it.
            let _ = side.shutdown(Shutdown::Both);
        }
    });
}

/// The source's host is lost in the middle of a burst. Before and after a promotion the command prints how many bytes the copy
/// lacks, and as of when; the promotion is not refused.
#[test]
fn a_promotion_says_what_its_copy_lacks() {
    let market = Market::open("fx-incomplete", &["[banks.orders]"]);
    let desk = &market.desk;
    let active = market.engine("active.txt");
    for _ in 0..5 {
        market.send_to_its_end("EUR/USD buy 500000 --tif ioc --wait");
    }
    let (address, link) = (free_address(), free_address());
    let source = source(desk, address);
    until("a source", || {
        counter(desk, "journal-send", "journal_copies") == Some(0)
    });
    // The position, the header of a segment and a few of its records.
    cut_link(link, address, 6_000);
    let copy = copy(desk, link);
    until("a copy that lost its source", || {
        let log = desk.read("copy.log");
        log.contains("INFO journal_receive_connected") && log.contains("WARN journal_receive_lost")
    });
    until("a line about it", || {
        let lines = desk.read("copy.txt");
        lines.contains("not connected") && lines.contains("bytes behind the source of 20")
    });
    let config = desk.read("fx/run.toml");
    let config = config.replace("journal = \"journal\"", "journal = \"copy\"");
    desk.write("fx/other.toml", config);
    let other = "fx run --config fx/other.toml --standby --until-eof";
    let waiting = start(desk, other, "standby.txt");
    let copied = position(desk, "fx/copy");
    let mut check = String::new();
    until("a standby", || {
        let run = desk.run("fx promote --check");
        check = run.stdout;
        run.status == 0 && check.contains(&format!("the copy has {copied};"))
    });
    let line = check
        .lines()
        .find(|line| line.starts_with("INCOMPLETE COPY: "));
    let line = line.unwrap_or_else(|| panic!("{check}"));
    let had = number_behind(line, &format!("{link} had position ")) as u64;
    let missing = number_behind(line, "INCOMPLETE COPY: ") as u64;
    assert!(missing > 0 && had == copied + missing, "{line}");
    assert!(had <= position(desk, "fx/journal"), "{line}");
    let of_standby = |name: &str| counter(desk, "fx-run-standby", name);
    until("counters", || {
        of_standby("fx_standby_missing") == Some(missing)
    });
    assert_eq!(of_standby("fx_standby_copied"), Some(1));
    let top = desk.run("top fx-run-standby --once --size 80x24");
    assert!(top.stdout.contains("copied journal  missing "), "{top:?}");

    active.signal("KILL");
    drop(active);
    // Another host has no tail of this journal in its shared memory.
    let tail = desk.path("buses/fx-run/tail");
    std::fs::remove_file(tail).expect("the engine's tail");
    end(copy);
    let promoted = desk.run("fx promote").done();
    assert!(
        promoted.stdout.starts_with("promoted: epoch "),
        "{promoted:?}"
    );
    assert!(promoted.stdout.contains(line), "{line}: {promoted:?}");
    end(waiting);
    end(source);
}
