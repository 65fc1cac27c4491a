//! The kill switch: while its own client waits for a fill, in a file that needs no ring, and the two persons who lift it.

use super::full_disk::logged;
use super::live::end;
use super::trade_hostile::{ENGINE, open, order};
use crate::command::until;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};
use touchline_fx_desk::DeskClient;
use touchline_lab::bank::scripted::{trade, value};
use touchline_testing::Process;
use touchline_transport::bus::Root;

/// The same client waits for a fill that does not come: its kill is answered, the bank is asked to cancel, and the command that
/// waited ends with status 1.
#[test]
fn a_kill_works_while_the_same_client_waits() {
    let (market, bank) = open("fx-kill-beside");
    let engine = logged(&market.desk, ENGINE, "engine");
    // Until here prices may be missing.
    let _ = order(&market, &bank);
    let line = "fx send EUR/USD buy 2000 --tif gtd --deadline-ms 60000 --wait";
    let mut waiting = market.desk.command(line);
    waiting.stdout(Stdio::null()).stderr(Stdio::null());
    let mut waiting = Process::with_streams(&mut waiting);
    let living = bank.next("D");
    let killed = market.desk.run("fx kill").done();
    assert!(killed.stdout.contains("done"), "{killed:?}");
    let mut cancel = bank.next("F");
    while value(&cancel, 41) != value(&living, 11) {
        cancel = bank.next("F");
    }
    let canceled = [
        (11, value(&cancel, 11)),
        (41, value(&living, 11)),
        (150, "4"),
        (39, "4"),
        (14, "0"),
        (6, "0"),
        (31, ""),
        (32, ""),
    ];
    bank.send("8", &trade(&living, "C1", &canceled));
    let ended = waiting.wait();
    assert_eq!(ended.code(), Some(1), "nothing was filled");
    market
        .send("EUR/USD buy 2000 --tif ioc")
        .refused(1, &["kill"]);
    end(engine);
}

/// A kill in a file is executed by an engine that stood still, and by one that starts later.
#[test]
fn a_kill_without_a_ring_waits_for_its_engine() {
    let (market, bank) = open("fx-kill-direct");
    let mut engine = logged(&market.desk, ENGINE, "engine");
    let _ = order(&market, &bank);
    let direct = "fx kill --direct";
    let written = "the kill is written, and no engine on bus fx-run has executed it yet";
    let refused = ["kill"];
    // The last engine was stopped in order: its file is of no use to the next.
    for is_running in [true, false] {
        if is_running {
            engine.signal("STOP");
            market.desk.run(direct).refused(1, &[written]);
            engine.signal("CONT");
        } else {
            end(engine);
            market.desk.run(direct).refused(1, &[written]);
            engine = logged(&market.desk, ENGINE, "engine");
        }
        until("an engine that is killed", || {
            let sent = market.send("EUR/USD buy 2000 --tif ioc");
            sleep(Duration::from_millis(50));
            sent.stderr.contains("kill")
        });
        // Within the second that the command waits, unless the host stops the engine.
        until("a kill that is repeated", || {
            market.desk.run(direct).stdout.contains("done")
        });
        for client in ["desk", "chief"] {
            market.desk.run(&format!("fx lift --as {client}")).done();
        }
        until("an engine that is lifted", || {
            market.send("EUR/USD buy 2000 --tif ioc").status == 0
        });
    }
    market.desk.run("fx kill --direct").done();
    market
        .send("EUR/USD buy 2000 --tif ioc")
        .refused(1, &refused);
    end(engine);
}

/// A kill does not wait for a ring that another process of the client has, and not long for an engine that does not answer: the file is
/// written within the time in which a person repeats the command.
#[test]
fn a_kill_that_its_ring_cannot_carry_is_quick() {
    let (market, bank) = open("fx-kill-quick");
    let engine = logged(&market.desk, ENGINE, "engine");
    let _ = order(&market, &bank);
    let root = Root::at(market.desk.path("buses"));
    let ring = DeskClient::open(&root, "fx-run", "desk").expect("the ring is free");
    // The host may stop one of them.
    let quick = (0..5).any(|_| {
        let asked = Instant::now();
        let said = market.desk.run("fx kill").done();
        assert!(said.stdout.contains("done"), "{said:?}");
        asked.elapsed() < Duration::from_millis(1_500)
    });
    assert!(quick, "a ring that is taken is waited for");
    drop(ring);
    engine.signal("STOP");
    let asked = Instant::now();
    let written = "the kill is written, and no engine on bus fx-run has executed it yet";
    market.desk.run("fx kill").refused(1, &[written]);
    let took = asked.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "an engine that stands still: {took:?}"
    );
    // Its bus is locked, and nothing leaves.
    until("a blotter that says so", || {
        let shown = market.desk.run("fx blotter --once").done().stdout;
        shown.starts_with("STALLED")
    });
    engine.signal("CONT");
    // Commands in the ring are lost if it was overrun meanwhile; the file is not.
    let said = market.desk.run("fx kill").done();
    assert!(said.stdout.contains("done"), "{said:?}");
    end(engine);
}

/// A kill lies where its engine looks for it, also without `--config` and from another folder: `directory` of the client begins at the
/// folder of the file. Where that file is gone, the command says what it lacks, and not that the engine will execute the kill.
#[test]
fn a_kill_goes_where_the_configuration_of_its_engine_says() {
    let (market, _bank) = open("fx-kill-place");
    let text = market.desk.read("fx/run.toml");
    let chief = "name = \"chief\"\n";
    assert!(text.contains(chief), "no test: {text}");
    let elsewhere = format!("{chief}directory = \"rings\"\n");
    market
        .desk
        .write("fx/run.toml", text.replace(chief, &elsewhere));
    let engine = logged(&market.desk, ENGINE, "engine");
    let config = market.desk.path("fx/run.toml");
    let stated = format!("--config {}", config.display());
    let killed = |more: &str| {
        let line = format!("fx kill --as chief {more}");
        let output = market.desk.command(&line).current_dir("/").output();
        let output = output.expect("the command starts");
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8(said).expect("it prints text")
    };
    until("an engine that is killed", || killed("") == "done\n");
    for more in ["--direct", &stated, &format!("--direct {stated}")] {
        until(&format!("killed {more}"), || killed(more) == "done\n");
    }
    std::fs::rename(&config, market.desk.path("fx/gone.toml")).expect("our folder");
    let file = market.desk.path("buses/.fx-run-chief.kill");
    let said = killed("");
    for part in [&file.display().to_string(), "--config FILE"] {
        assert!(said.contains(part), "{said}");
    }
    end(engine);
}

/// Two names of one user are one person, unless the configuration says in words that they are not.
#[test]
fn two_names_of_one_user_do_not_lift_a_kill() {
    let (market, bank) = open("fx-kill-lift");
    let text = market.desk.read("fx/run.toml");
    let [allowed, refused] = ["lift_by_one_user = true", "lift_by_one_user = false"];
    assert!(text.contains(allowed), "no test: {text}");
    market
        .desk
        .write("fx/run.toml", text.replace(allowed, refused));
    let engine = logged(&market.desk, ENGINE, "engine");
    let _ = order(&market, &bank);
    market.desk.run("fx kill").done();
    let noted = market.desk.run("fx lift").done();
    assert!(noted.stdout.starts_with("noted; "), "{noted:?}");
    market
        .desk
        .run("fx lift --as chief")
        .refused(1, &["one_user: ", "[risk] lift_by_one_user = true"]);
    market
        .send("EUR/USD buy 2000 --tif ioc")
        .refused(1, &["kill"]);
    end(engine);
}
