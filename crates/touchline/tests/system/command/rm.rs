//! Removed buses and counters: `rm` and `stat --prune`, which keep a bus in use and name its users.

use super::Desk;
use super::tailed::Tail;

#[test]
fn a_bus_in_use_is_kept_with_its_users_named_and_an_unused_one_removed() {
    let desk = Desk::new("rm");
    desk.run("rm lab").refused(1, &["does not exist"]);
    desk.publish("").done();
    let bus = desk.path("buses/lab");

    // Neither named nor registered: only the kernel knows that it reads.
    let child = desk.start("tail lab --json");
    let reader = format!("process {} (touchline)", child.id());
    let mut tail = Tail::of(child);
    tail.read_until("caught_up", 1);
    desk.run("rm lab")
        .refused(1, &["bus lab is read by", &reader]);
    let kept = desk.run("stat --prune").done().stdout;
    assert_eq!(kept, format!("bus lab kept: read by {reader}\n"));
    assert!(bus.exists());
    assert_eq!(tail.interrupt().1, Some(0));

    let removed = desk.run("rm lab").done().stdout;
    assert!(removed.starts_with("bus lab removed, "), "{removed}");
    assert!(removed.ends_with(" freed\n"), "{removed}");
    assert!(!bus.exists());
    assert!(desk.run("stat").done().stdout.starts_with("no bus in "));
    let page = desk.run("metrics --print").done().stdout;
    assert!(!page.contains("bus=\"lab\""), "{page}");
}

#[test]
fn a_published_bus_is_kept_and_prune_removes_the_others() {
    let desk = Desk::new("prune");
    desk.publish("").done();
    let other = desk
        .read("bus.toml")
        .replace("bus = \"lab\"", "bus = \"other\"");
    desk.write("other.toml", other);
    let speed = desk.speed_for(60.0);
    let replay = "replay --config other.toml --pcap session.pcap --publish --quiet";
    let mut publisher = desk.start(&format!("{replay} --speed {speed}"));
    let said = format!("published by process {} (touchline replay)", publisher.id());
    let is_published = || desk.run("stat other").stdout.contains("touchline replay");
    publisher.wait_for("the bus", |_| is_published().then_some(()));
    desk.run("rm other").refused(1, &["bus other is", &said]);
    let pruned = desk.run("stat --prune").done().stdout;
    let lines: Vec<&str> = pruned.lines().collect();
    assert_eq!(lines.len(), 2, "{pruned}");
    assert!(lines[0].starts_with("bus lab removed"), "{pruned}");
    assert!(
        lines[1].starts_with(&format!("bus other kept: {said}")),
        "{pruned}"
    );
    publisher.kill();
    // A refused bus does not keep the others from being removed.
    let run = desk.run("rm nowhere other");
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.stdout.starts_with("bus other removed"), "{run:?}");
    assert!(run.stderr.contains("nowhere does not exist"), "{run:?}");
}

/// A process that ends by itself with an error is shown, and an alert, until the next one of its name or until somebody removes its
/// counters. One that ends in order leaves none.
#[test]
fn a_process_that_fails_leaves_its_counters_until_they_are_removed() {
    let desk = Desk::new("rm-counters");
    desk.publish("").done();
    let recorded = desk.run("record lab --journal tape --seconds 1");
    assert_eq!(recorded.status, 0, "{recorded:?}");
    desk.run("stat record-lab").refused(1, &["does not exist"]);
    desk.write("copy", "no directory");
    let fail = || {
        let receive = "journal receive 127.0.0.1:1 copy --until-eof";
        desk.run(receive).refused(1, &["copy"]);
    };
    fail();
    let shown = desk.run("stat journal-receive").done().stdout;
    assert!(
        shown.contains("journal-receive writer gone since "),
        "{shown}"
    );
    let stale = "touchline_process_counters_stale{process=\"journal-receive\"} 1\n";
    let page = desk.run("metrics --print").done().stdout;
    assert!(page.contains(stale), "{page}");
    let removed = desk.run("rm journal-receive").done().stdout;
    assert_eq!(removed, "counters of journal-receive removed\n");
    desk.run("stat journal-receive")
        .refused(1, &["does not exist"]);
    fail();
    let pruned = desk.run("stat --prune").done().stdout;
    let lines: Vec<&str> = pruned.lines().collect();
    assert!(lines[0].starts_with("bus lab removed"), "{pruned}");
    assert_eq!(lines[1..], ["counters of journal-receive removed"]);

    let running = desk.start("journal receive 127.0.0.1:1 other");
    let said = format!("process {}", running.id());
    let is_there = || desk.run("stat journal-receive").status == 0;
    super::until("its counters", is_there);
    desk.run("rm journal-receive")
        .refused(1, &["counters of", &said, "stop that process first"]);
}
