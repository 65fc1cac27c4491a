//! A bus between processes: `replay --publish` writes it, `tail`, `book` and `stat` read it.

use super::tailed::{Tail, written_books, written_orders};
use super::{Desk, Run, text, until};
use serde_json::Value;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::process::Stdio;
use std::time::Duration;
use touchline_testing::{PATIENCE, Process};

/// Joined before a session: the new publisher is reported, and all of the session's books are
/// correct.
#[test]
fn the_books_of_tail_equal_those_of_replay() {
    let desk = Desk::new("bus-tail");
    desk.publish("").done();
    let mut tail = Tail::of(desk.start("tail lab --json"));
    tail.read_until("publisher_gone", 1);
    desk.publish("--books books --orders orders").done();
    tail.read_until("publisher_gone", 2);
    let (books, status) = tail.interrupt();
    assert_eq!(status, Some(0));
    assert_eq!(books.times("restarted"), 1);
    assert_eq!(books.times("overrun") + books.times("corrupt"), 0);
    assert_eq!(books.books(), written_books(&desk.read("books")));
    assert_eq!(books.orders(), written_orders(&desk.read("orders")));
    let published = stat(&desk, "lab")["counters"]["messages_published"].as_u64();
    assert!(published > Some(100) && Some(books.messages) >= published);
}

/// A bus that does not exist, and one whose publisher has ended, is waited for, and the command says so.
#[test]
fn tail_waits_for_a_bus_and_for_its_next_publisher_and_says_so() {
    let desk = Desk::new("bus-waiting");
    let mut tail = desk.start("tail lab --json");
    let said = tail.wait_for_line("does not exist");
    assert!(said.contains("waiting for it"), "{said}");
    desk.publish("").done();
    let mut tail = Tail::of(tail);
    tail.read_until("publisher_gone", 1);
    assert_eq!(tail.interrupt().1, Some(0));
    // In words, of a bus whose publisher has ended; SIGTERM ends the wait.
    let mut child = desk.start("tail lab --no-images");
    let gone = child.wait_for_line("publisher gone");
    assert!(gone.ends_with("waiting for the next publisher"), "{gone}");
    assert_eq!(child.end("TERM"), Some(0));
    let mut absent = desk.start("tail nowhere");
    absent.wait_for_line("does not exist");
    assert_eq!(absent.end("TERM"), Some(0));
}

/// Joined during the session.
#[test]
fn a_tail_that_joins_in_the_middle_has_the_same_books_in_the_end() {
    let desk = Desk::new("bus-middle");
    let replay = "replay --config bus.toml --pcap session.pcap --publish --quiet --books books";
    let mut replay = desk.start(&format!("{replay} --speed {}", desk.speed_for(8.0)));
    desk.wait_for_messages(200);
    let mut tail = Tail::of(desk.start("tail lab --json"));
    tail.read_until("caught_up", 1);
    assert!(replay.is_running(), "it was over");
    let live = desk.run("book lab --json").done().stdout;
    assert!(live.contains("\"state\":\"live\""), "{live}");
    tail.read_until("publisher_gone", 1);
    assert!(replay.wait().success());
    let (books, status) = tail.interrupt();
    assert_eq!((status, books.times("restarted")), (Some(0), 0));
    assert_eq!(books.books(), written_books(&desk.read("books")));
}

#[test]
fn a_bus_without_publisher_can_be_read() {
    let desk = Desk::new("bus-after");
    desk.publish("--books books").done();
    let written = written_books(&desk.read("books"));
    let shown: Vec<Value> = lines(&desk.run("book lab --json").done());
    assert_eq!(shown.len(), written.len());
    for (mut shown, written) in shown.into_iter().zip(written) {
        assert_eq!(shown["state"], "stale", "its publisher is gone");
        shown["state"] = written["state"].clone();
        for key in ["sequence", "exchange_ns", "receive_ns"] {
            let removed = shown.as_object_mut().expect("an object").remove(key);
            assert!(removed.is_some(), "{key}");
        }
        assert_eq!(shown, written);
    }

    let list = desk.run("book lab").done().stdout;
    let first = list.lines().nth(1).expect("an instrument");
    let mut words = first.split_whitespace();
    let (symbol, id) = (
        words.next().expect("a symbol"),
        words.next().expect("an id"),
    );
    let by_symbol = desk.run(&format!("book lab {symbol}")).done().stdout;
    let by_id = desk.run(&format!("book lab {id}")).done().stdout;
    assert!(
        by_symbol.starts_with(&format!(" {symbol}, {id}, stale\n")),
        "{by_symbol}"
    );
    assert!(by_symbol.contains("by no process"), "{by_symbol}");
    assert_eq!(by_symbol.lines().next(), by_id.lines().next());
    let pattern = desk.run("book lab Z*").done().stdout;
    assert_eq!(pattern, list, "every symbol of the lab begins so");
    desk.run(&format!("book lab {symbol}9"))
        .refused(1, &["did you mean", symbol]);
}

#[test]
fn counters_can_be_read_after_the_end() {
    let desk = Desk::new("bus-stat");
    assert!(desk.run("stat").done().stdout.starts_with("no bus in "));
    desk.publish("").done();
    let summary = desk.replay("").done().stdout;
    let stat = stat(&desk, "lab");
    assert_eq!(stat["publisher"], Value::Null);
    assert_eq!(stat["generation"], 1);
    assert_eq!(stat["ring_bytes"], 4_194_304);
    assert_eq!(stat["readers"], Value::Null);
    let counter = |name: &str| stat["counters"][name].as_u64().expect(name);
    let delivered = counter("packets_delivered");
    assert!(
        summary.contains(&format!("{delivered}  processed, each once")),
        "{summary}"
    );
    assert_eq!(stat["messages"], counter("messages_published"));
    let packets = &stat["histograms"]["packet_ns"];
    assert!(packets["count"].as_u64() <= Some(delivered));
    assert!(packets["p50"].as_u64() <= packets["max"].as_u64() && packets["p50"] != Value::Null);

    let text = desk.run("stat lab").done().stdout;
    for words in [
        "publisher    none",
        "packet_ns",
        "Incremental packets received on line A.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Zero counters are printed on request only.
    let has_gaps = |text: &str| text.lines().any(|line| line.starts_with("gaps "));
    assert!(!has_gaps(&text), "{text}");
    assert!(text.contains("at 0 not shown; --all shows them"), "{text}");
    let all = desk.run("stat lab --all").done().stdout;
    assert!(has_gaps(&all), "{all}");
    let filtered = desk.run("stat lab --filter GAP").done().stdout;
    assert!(has_gaps(&filtered), "{filtered}");
    assert!(
        !filtered.contains("packets_a") && !filtered.contains("publisher  "),
        "{filtered}"
    );
    let json: Vec<Value> = lines(&desk.run("stat lab --json --filter packets_a").done());
    let counters = json[0]["counters"].as_object().expect("an object");
    assert_eq!(counters.keys().collect::<Vec<_>>(), ["packets_a"]);

    let list = desk.run("stat").done().stdout;
    assert!(
        list.lines()
            .any(|line| line.starts_with("lab ") && line.ends_with("none")),
        "{list}"
    );
    let list: Vec<Value> = lines(&desk.run("stat --json").done());
    assert_eq!((list.len(), &list[0]["bus"]), (1, &Value::from("lab")));
}

/// A publisher may die at any instant: its bus can be joined, and published on again.
#[test]
fn a_killed_publisher_leaves_a_bus_that_can_be_joined() {
    let desk = Desk::new("bus-killed");
    let replay = "replay --config bus.toml --pcap session.pcap --publish --quiet";
    // Not INT: if a shell started these tests in the background, it is ignored, here and in the child.
    for name in ["TERM", "KILL"] {
        let mut child = desk.start(&format!("{replay} --speed {}", desk.speed_for(20.0)));
        desk.wait_for_messages(300);
        let counted_by = stat(&desk, "lab")["counted_by"].take();
        assert_eq!(counted_by["stale"], false, "{counted_by}");
        let text = desk.run("stat lab").done().stdout;
        assert!(text.contains(", written "), "{text}");
        assert_ne!(child.end(name), Some(0), "{name}");
        // Its last counters stay readable, marked as not current.
        let counted_by = stat(&desk, "lab")["counted_by"].take();
        assert_eq!(counted_by["stale"], true, "{counted_by}");
        assert!(counted_by["age_ms"].is_u64(), "{counted_by}");
        let text = desk.run("stat lab").done().stdout;
        assert!(text.contains(", writer gone since "), "{text}");
        let mut tail = Tail::of(desk.start("tail lab --json"));
        tail.read_until("caught_up", 1);
        let (books, status) = tail.interrupt();
        assert_eq!(status, Some(0), "{name}");
        assert_eq!(books.times("publisher_gone"), 1, "{name}");
        assert!(books.books().len() > 1, "{name}");
        assert!(
            desk.run("book lab --json").done().stdout.contains("stale"),
            "{name}"
        );
        assert!(
            stat(&desk, "lab")["counters"]["messages"].as_u64() > Some(0),
            "{name}"
        );
        std::fs::remove_dir_all(desk.path("buses")).expect("our folder");
    }
}

/// A process that is stopped does not write its counters, and is not shown as one that runs.
#[test]
fn counters_of_a_stopped_process_are_shown_as_old() {
    let desk = Desk::new("stat-process");
    let mut process = desk.start("journal receive 127.0.0.1:1 copy");
    let name = "stat journal-receive";
    let until_stale = |is_stale: bool| {
        until("the age of its counters", || {
            let run = desk.run(&format!("{name} --json"));
            run.status == 0 && lines(&run)[0]["stale"] == is_stale
        });
        let of_list = lines(&desk.run("stat --json").done());
        assert_eq!(of_list[0]["stale"], is_stale, "{of_list:?}");
        assert!(of_list[0]["age_ms"].is_u64(), "{of_list:?}");
    };
    until_stale(false);
    let shown = desk.run(name).done().stdout;
    assert!(
        shown.contains(", written ") && !shown.contains("stuck"),
        "{shown}"
    );
    process.signal("STOP");
    until_stale(true);
    for line in [name, "stat"] {
        let shown = desk.run(line).done().stdout;
        assert!(
            shown.contains(" ago: its process is stopped or stuck"),
            "{shown}"
        );
    }
    process.kill();
    let shown = desk.run(name).done().stdout;
    assert!(shown.contains("writer gone since "), "{shown}");
}

#[test]
fn a_second_publisher_is_refused_with_the_process_of_the_first() {
    let desk = Desk::new("bus-busy");
    let replay = "replay --config bus.toml --pcap session.pcap --publish --quiet";
    let mut first = desk.start(&format!("{replay} --speed {}", desk.speed_for(60.0)));
    desk.wait_for_messages(1);
    let (pid, command) = (first.id().to_string(), "(touchline replay)");
    desk.publish("")
        .refused(1, &["bus lab is being written by process", &pid, command]);
    desk.publish("--bus other").done();
    let holder = &stat(&desk, "lab")["publisher"];
    assert_eq!(holder["pid"], first.id());
    first.kill();
    desk.publish("").done();
    assert_eq!(stat(&desk, "lab")["generation"], 2);
}

#[test]
fn a_lossless_bus_names_the_reader_that_lags() {
    let desk = Desk::new("bus-named");
    let lossless = "[publication.lossless]\nreaders_max = 3\nwait_ms = 60000\n";
    let config = desk.read("bus.toml") + lossless;
    desk.write("lossless.toml", config);
    let replay = "replay --config lossless.toml --pcap session.pcap --publish --quiet";
    desk.run(replay).done();
    let mut tail = Tail::of(desk.start("tail lab --json --named"));
    tail.read_until("publisher_gone", 1);
    let readers = stat(&desk, "lab")["readers"].clone();
    assert_eq!(readers.as_array().map(Vec::len), Some(1), "{readers}");
    assert_eq!(readers[0]["alive"], true);
    let text = desk.run("stat lab").done().stdout;
    assert!(text.contains("reader       0: "), "{text}");
    desk.run(&format!("{replay} --books books")).done();
    tail.read_until("publisher_gone", 2);
    let (books, status) = tail.interrupt();
    assert_eq!(status, Some(0));
    assert_eq!(books.books(), written_books(&desk.read("books")));
    assert_eq!(stat(&desk, "lab")["readers"], Value::Array(Vec::new()));
}

/// Shown by name while it reads, and not after it left.
#[test]
fn a_named_reader_is_shown_by_stat_and_top() {
    let desk = Desk::new("bus-seen");
    desk.publish("").done();
    let mut tail = Tail::of(desk.start("tail lab --json --name risk-1"));
    tail.read_until("publisher_gone", 1);
    desk.publish("").done();
    tail.read_until("publisher_gone", 2);
    let seen = stat(&desk, "lab");
    let reader = &seen["readers_by_name"][0];
    assert_eq!(
        (&reader["name"], &reader["behind_bytes"]),
        (&"risk-1".into(), &0.into())
    );
    let counters = &reader["counters"];
    assert_eq!(counters["position"], seen["position"]);
    assert_eq!(
        (&counters["restarts"], &counters["overruns"]),
        (&1.into(), &0.into())
    );
    let consumed = &reader["histograms"]["published_to_consumed_ns"];
    assert!(consumed["count"].as_u64() > Some(10), "{reader}");
    assert_eq!(consumed["count"], counters["batches"], "the path has marks");
    // A recording is old, so no latency is measured.
    assert_eq!(counters["receive_timestamps_far"], counters["batches"]);
    for shows in ["stat lab", "top lab --once --interval-ms 50"] {
        let text = desk.run(shows).done().stdout;
        let has_name = |line: &str| line.split_whitespace().any(|word| word == "risk-1");
        assert!(text.lines().any(has_name), "{text}");
    }
    desk.run("tail lab --name risk-1")
        .refused(1, &["has a reader called risk-1 already", "touchline tail"]);
    desk.run("tail lab --name ../x")
        .refused(1, &["cannot be the name of a reader"]);
    assert_eq!(tail.interrupt().1, Some(0));
    assert_eq!(
        stat(&desk, "lab")["readers_by_name"],
        Value::Array(Vec::new())
    );
}

#[test]
fn top_prints_one_frame_and_draws_only_on_a_terminal() {
    let desk = Desk::new("bus-top");
    desk.run("top --once")
        .refused(1, &["no bus in", "replay --publish"]);
    desk.run("top").refused(2, &["terminal", "--once"]);
    desk.publish("").done();
    desk.run("top nowhere --once")
        .refused(1, &["nowhere does not exist"]);
    let text = desk
        .run("top --once --interval-ms 50 --symbol ZQ")
        .done()
        .stdout;
    for words in [
        "lab  publisher gone",
        "packets, line A",
        "packet_ns",
        "do not trade on it",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.lines().all(|line| line == line.trim_end()) && !text.contains('\u{1b}'));
    let small = desk
        .run("top lab --once --interval-ms 50 --size 80x24")
        .done()
        .stdout;
    assert!(small.lines().count() <= 24, "{small}");
    assert!(
        small.lines().all(|line| line.chars().count() <= 80),
        "{small}"
    );
    assert!(
        small.contains("instruments") && small.contains("ZQA0"),
        "{small}"
    );
    desk.run("top lab --once --size 80")
        .refused(2, &["80", "120x40"]);
}

#[test]
fn tail_prints_only_the_selected_events() {
    let desk = Desk::new("bus-asked");
    desk.publish("").done();
    let all = desk.run("tail lab --count 12").done().stdout;
    let messages = all.lines().filter(|line| !line.starts_with("--"));
    assert_eq!(messages.count(), 12, "{all}");
    assert!(
        all.contains("definition") && all.contains("whole book of"),
        "{all}"
    );
    let one = desk.run("tail lab --json --symbol ZQA* --count 2").done();
    let messages = lines(&one).into_iter();
    let messages: Vec<_> = messages.filter(|line| line["notice"].is_null()).collect();
    assert_eq!(messages.len(), 2);
    for line in messages {
        assert_eq!(line["symbol"], "ZQA0", "{line}");
    }
    let mut tail = Tail::of(desk.start("tail lab --json --no-images --symbol NOTHING"));
    tail.read_until("caught_up", 1);
    let (books, _) = tail.interrupt();
    assert_eq!(books.messages, 0);
    let mut tail = Tail::of(desk.start("tail lab --json --live-only"));
    tail.read_until("caught_up", 1);
    desk.publish("").done();
    tail.read_until("publisher_gone", 2);
    assert!(tail.interrupt().0.messages > 100);
}

/// Like `head`.
#[test]
fn tail_ends_quietly_when_its_pipe_is_closed() {
    let desk = Desk::new("bus-pipe");
    desk.publish("").done();
    let mut tail = Process::with_streams(desk.command("tail lab").stdout(Stdio::piped()));
    drop(tail.pipe());
    // Its output so far is small and no message follows: the next publisher makes it write.
    desk.publish("").done();
    assert!(tail.wait().success());
}

#[test]
fn a_path_that_is_not_a_bus_is_reported() {
    let desk = Desk::new("bus-refused");
    let fix = "buses does not exist, and there is no other bus; start a gateway, `touchline gateway --config FILE` or \
               `touchline demo`, as the same user and with the same --dir";
    for command in ["book", "stat", "follow", "top --once"] {
        desk.run(&format!("{command} lab")).refused(1, &[fix]);
    }
    desk.run("follow lab")
        .refused(1, &[" (--wait N waits for it)\n"]);
    desk.run("follow lab --wait 1")
        .refused(1, &[" with the same --dir, after 1 s\n"]);
    desk.publish("").done();
    std::fs::write(desk.path("buses").join("fx-run-kills"), "").expect("our folder");
    for command in ["book", "stat", "follow", "top --once"] {
        for (bus, words) in [
            (
                "lob",
                "buses/lob does not exist; did you mean lab? buses in that directory: lab",
            ),
            (
                "other",
                "buses/other does not exist; buses in that directory: lab",
            ),
        ] {
            desk.run(&format!("{command} {bus}")).refused(1, &[words]);
        }
    }
    // More than one line.
    for number in 10..30 {
        std::fs::create_dir(desk.path("buses").join(format!("bus-{number}"))).expect("our folder");
    }
    desk.run("stat nowhere")
        .refused(1, &[": bus-10, bus-11,", ", bus-21 and 9 more\n"]);
    for command in ["tail", "book", "stat"] {
        if command != "tail" {
            desk.run(&format!("{command} other"))
                .refused(1, &["buses/other does not exist"]);
        }
        desk.run(&format!("{command} ../lab"))
            .refused(2, &["is not a bus name"]);
        desk.run(&format!("{command} lab --dri x"))
            .refused(2, &["--dri"]);
    }
    desk.run("tail").refused(2, &["BUS"]);
    desk.run("tail lab --count 0").refused(2, &["--count"]);
    desk.run("tail lab --named").refused(1, &["not lossless"]);
    desk.run("book lab --rows 0").refused(2, &["--rows"]);
    desk.replay("--bus x").refused(2, &["--publish"]);
    desk.publish("--bus a/b").refused(2, &["is not a bus name"]);
    desk.publish("--dir nowhere/buses").refused(
        1,
        &[
            "nowhere does not exist, so nowhere/buses cannot",
            "above it first",
        ],
    );
}

#[test]
fn untrusted_files_are_refused_and_not_changed() {
    let desk = Desk::new("bus-planted");
    desk.publish("").done();
    let (buses, lab) = (desk.path("buses"), desk.path("buses/lab"));
    let read = ["tail lab", "book lab", "stat lab"];

    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&lab, open.clone()).expect("our folder");
    for command in read {
        desk.run(command)
            .refused(1, &[text(&lab), "0777", "not trusted"]);
    }
    desk.publish("").refused(1, &["not trusted"]);
    let list = desk.run("stat").done().stdout;
    assert!(list.contains("not trusted"), "the list goes on: {list}");
    std::fs::set_permissions(&lab, std::fs::Permissions::from_mode(0o700)).expect("our folder");

    std::fs::set_permissions(&buses, open).expect("our folder");
    // The directory is refused, and no bus.
    let refused = format!("touchline: {} has mode 0777", text(&buses));
    for command in ["stat", "top --once"] {
        desk.run(command).refused(1, &[&refused]);
    }
    std::fs::set_permissions(&buses, std::fs::Permissions::from_mode(0o700)).expect("our folder");

    std::fs::remove_file(lab.join("images")).expect("our file");
    symlink(desk.path("session.pcap"), lab.join("images")).expect("our folder");
    for command in read {
        desk.run(command).refused(1, &["images is a symlink"]);
    }
    let capture = desk.path("session.pcap");
    let bytes = std::fs::metadata(&capture).expect("the capture").len();
    desk.publish("").done();
    assert_eq!(
        std::fs::metadata(&capture).expect("the capture").len(),
        bytes
    );

    std::fs::write(lab.join("ring"), [0; 8192]).expect("our file");
    for command in read {
        desk.run(command).refused(1, &["ring"]);
    }
    desk.publish("").done();
    desk.run("tail lab --count 1").done();

    symlink(&lab, buses.join("link")).expect("our folder");
    desk.run("tail link").refused(1, &["symlink"]);
}

impl Desk {
    /// The speed at which the session takes this number of seconds.
    pub fn speed_for(&self, seconds: f64) -> f64 {
        let time_ns =
            |arrival: Option<&touchline_lab::capture::Arrival>| arrival.expect("a session").time_ns;
        let span_ns = time_ns(self.arrivals.last()) - time_ns(self.arrivals.first());
        span_ns as f64 / 1e9 / seconds
    }

    /// Waits until this number of messages is on the bus.
    pub fn wait_for_messages(&self, messages: u64) {
        touchline_testing::until("messages", 2 * PATIENCE, || {
            let run = self.run("stat lab --json");
            match run.status == 0 && lines(&run)[0]["messages"].as_u64() >= Some(messages) {
                true => Ok(()),
                false => Err(run),
            }
        });
    }
}

fn stat(desk: &Desk, bus: &str) -> Value {
    let run = desk.run(&format!("stat {bus} --json")).done();
    lines(&run).remove(0)
}

fn lines(run: &Run) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).expect("a JSON object a line");
    run.stdout.lines().map(line).collect()
}

/// A ring overwritten in any way: each command that reads its bus ends on SIGTERM.
#[test]
fn every_reader_of_an_overwritten_ring_ends_on_sigterm() {
    for begin in [64, 4_096] {
        let desk = Desk::new("bus-overwritten");
        desk.publish("").done();
        let readers = [
            "tail lab",
            "tail lab --json --symbol Z*",
            "follow lab --quiet",
            "book lab --watch",
            "stat lab --watch",
            "relay lab --to tcp://127.0.0.1:0",
        ];
        let mut children = readers.map(|command| desk.start(command));
        std::thread::sleep(Duration::from_millis(500));
        let ring = desk.path("buses").join("lab/ring");
        let ring = std::fs::File::options().write(true).open(ring);
        let ring = ring.expect("our file");
        let length = ring.metadata().expect("our file").len();
        ring.write_all_at(&vec![0; (length - begin) as usize], begin)
            .expect("our file");
        std::thread::sleep(Duration::from_millis(300));
        for (child, command) in children.iter_mut().zip(readers) {
            child.signal("TERM");
            touchline_testing::until(command, PATIENCE, || !child.is_running());
        }
    }
}
