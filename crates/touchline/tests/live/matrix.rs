//! Fault matrix: R4 and R5 over sockets, with subscribers that join at any time.

use crate::expected_books::{equals, judge};
use crate::namespaces::Namespaces;
use crate::processes::{PATIENCE, Place, Process, Processes};
use crate::together;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, seeds};
use touchline_testing::until;

/// Each packet arrives on at least one line: no packet is lost, and every book stays live.
#[test]
fn loss_on_one_line_changes_no_book() {
    let _together = together();
    let mut struck = 0;
    for seed in seeds(3) {
        let faults = faults_of_one_line(&mut Random::from_seed(seed));
        // On a busy host the simulator may stop for a while between the lines.
        let link = Link {
            wait_ms: 500,
            ..LOOPBACK
        };
        let run = session(&Processes::new("one-line"), seed, link, &faults, || ());
        assert_eq!((run.lost, run.gaps), (0, 0), "seed {seed}: {faults:?}");
        struck += run.late_or_first_b;
    }
    assert!(struck > 0, "the other line was never first: no test");
}

/// Loss on both lines, with all other faults: detected, reported, recovered.
#[test]
fn loss_on_both_lines_is_recovered() {
    let _together = together();
    let mut gaps = 0;
    for seed in seeds(5) {
        let faults = faults_of_both_lines(&mut Random::from_seed(seed));
        gaps += session(
            &Processes::new("both-lines"),
            seed,
            LOOPBACK,
            &faults,
            || (),
        )
        .gaps;
    }
    assert!(gaps > 0, "nothing was lost: no test");
}

/// Loss on an Ethernet between exchange and gateway is recovered.
#[test]
fn loss_is_recovered_over_a_pair_of_ethernet_devices() {
    let Some(namespaces) = Namespaces::create_or_skip() else {
        return;
    };
    let _together = together();
    let mut gaps = 0;
    for seed in seeds(2) {
        // By the sockets of the kernel, and by a program at either place.
        for receive in ["sockets", "xdp", "xdp-generic"] {
            let faults = faults_of_both_lines(&mut Random::from_seed(seed));
            let processes = Processes::within("veth", namespaces.prefixes());
            gaps += session(&processes, seed, Link::of("veth", receive), &faults, || ()).gaps;
            assert_eq!(namespaces.programs(), 0, "{receive}");
        }
    }
    assert!(gaps > 0, "nothing was lost: no test");
}

/// The kernel detaches the program of a process that is killed, and the next one attaches its own.
#[test]
fn a_killed_gateway_leaves_no_program_attached() {
    let Some(namespaces) = Namespaces::create_or_skip() else {
        return;
    };
    let _together = together();
    let mut random = Random::from_seed(77);
    for receive in ["xdp", "xdp-generic"] {
        let processes = Processes::within("killed", namespaces.prefixes());
        let _exchange = exchange(&processes, 77, "veth", &[]);
        for _ in 0..5 {
            let gateway = gateway_by(&processes, Link::of("veth", receive));
            assert_eq!(namespaces.programs(), 1, "{receive}");
            thread::sleep(Duration::from_millis(random.below(200)));
            drop(gateway);
            assert_eq!(namespaces.programs(), 0, "{receive}");
        }
    }
}

/// The same at any moment of the start: while it reads its files, opens sockets, attaches its program.
#[test]
fn a_gateway_killed_at_its_start_leaves_no_program_attached() {
    let Some(namespaces) = Namespaces::create_or_skip() else {
        return;
    };
    let _together = together();
    let mut early = 0;
    for seed in seeds(1) {
        let mut random = Random::from_seed(seed);
        for receive in ["xdp", "xdp-generic"] {
            let link = Link::of("veth", receive);
            let processes = Processes::within("killed", namespaces.prefixes());
            let _exchange = exchange(&processes, seed, "veth", &[]);
            let start = Instant::now();
            drop(gateway_by(&processes, link));
            let whole = start.elapsed();
            for permille in [0; 12].map(|_| random.below(1_200) as u32) {
                let mut gateway = start_gateway(&processes, link);
                thread::sleep(whole * permille / 1_000);
                let is_early = !gateway.said("err").contains("listening");
                gateway.kill();
                println!("seed {seed}: {receive} killed at {permille} permille of {whole:?}");
                assert_eq!(
                    namespaces.programs(),
                    0,
                    "seed {seed}: {receive}, {permille}"
                );
                early += u32::from(is_early);
            }
            let gateway = gateway_by(&processes, link);
            assert_eq!(namespaces.programs(), 1, "seed {seed}: {receive}");
            drop(gateway);
        }
    }
    assert!(early > 0, "each was killed after its start: no test");
}

/// An interface takes one program, and another channel's has it: sockets receive, with a warning and a counter.
#[test]
fn a_gateway_whose_program_is_refused_receives_from_sockets() {
    let Some(namespaces) = Namespaces::create_or_skip() else {
        return;
    };
    let _together = together();
    let other = Processes::within("other", namespaces.prefixes());
    let _exchange = exchange(&other, 78, "veth", &[]);
    let first = gateway_by(&other, Link::of("veth", "xdp"));
    let either = Link::of("veth", "xdp-or-sockets");
    let processes = Processes::within("refused", namespaces.prefixes());
    let run = session(&processes, 79, either, &[], || ());
    assert_eq!((run.xdp_detached, namespaces.programs()), (1, 1));
    let log = processes.read("gateway.err");
    let warned = |line: &str| {
        line.contains("WARN socket_warning")
            && line.contains("packets come from sockets: AF_XDP on interface veth")
    };
    assert_eq!(log.lines().filter(|line| warned(line)).count(), 1, "{log}");
    assert!(log.contains("WARN xdp_detached"), "{log}");
    drop(first);
    let processes = Processes::within("granted", namespaces.prefixes());
    let granted = || assert_eq!(namespaces.programs(), 1);
    assert_eq!(
        session(&processes, 80, either, &[], granted).xdp_detached,
        0
    );
}

/// Lines A and B on an interface each: while either fails, no packet is lost.
#[test]
fn an_interface_of_two_that_fails_changes_no_book() {
    let Some(namespaces) = Namespaces::with_two_cards() else {
        touchline_testing::skip("network namespaces with a bridge are not allowed here");
        return;
    };
    let _together = together();
    for (receive, programs) in [("sockets", 0), ("xdp", 2)] {
        let processes = Processes::within("cards", namespaces.prefixes());
        let link = Link {
            interface_b: Some("veth-b"),
            ..Link::of("veth", receive)
        };
        let both_fail_in_turn = || {
            assert_eq!(namespaces.programs(), programs, "{receive}");
            for (card, own, other) in [
                ("veth-b", "packets_b", "packets_a"),
                ("veth-a", "packets_a", "packets_b"),
            ] {
                namespaces.set_card_up(card, false);
                // Packets that were under way have come: the first growth may be from before, and the second was written since.
                grows(&processes, other);
                grows(&processes, other);
                let before = counter(&processes, own);
                grows(&processes, other);
                assert_eq!(
                    counter(&processes, own),
                    before,
                    "{receive}: {card} is down"
                );
                namespaces.set_card_up(card, true);
                grows(&processes, own);
            }
        };
        let run = session(&processes, 81, link, &[], both_fail_in_turn);
        assert_eq!((run.lost, run.gaps), (0, 0), "{receive}");
        assert_eq!(namespaces.programs(), 0, "{receive}");
    }
}

/// A counter of the gateway, at most some 100 ms old.
fn counter(processes: &Processes, name: &str) -> u64 {
    let shown = processes.run("stat live --json").stdout;
    let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap_or_default();
    shown["counters"][name].as_u64().expect(name)
}

/// Waits until a counter has grown by a fair number.
#[track_caller]
fn grows(processes: &Processes, name: &str) {
    let before = counter(processes, name);
    until(name, PATIENCE, || counter(processes, name) >= before + 100);
}

/// Interfaces and way of receiving of a gateway.
#[derive(Clone, Copy)]
struct Link<'a> {
    interface: &'a str,
    interface_b: Option<&'a str>,
    receive: &'a str,
    /// How long packets behind a gap wait.
    wait_ms: u64,
}

impl<'a> Link<'a> {
    /// Both lines on one interface.
    const fn of(interface: &'a str, receive: &'a str) -> Link<'a> {
        Link {
            interface,
            interface_b: None,
            receive,
            wait_ms: 20,
        }
    }
}

const LOOPBACK: Link<'static> = Link::of("127.0.0.1", "sockets");

/// Result of a session.
struct Run {
    lost: u64,
    gaps: u64,
    late_or_first_b: u64,
    xdp_detached: u64,
}

/// Duration of the market.
const SECONDS: u64 = 3;

/// Subscribers of a session.
const SUBSCRIBERS: usize = 3;

/// Runs a session; `trouble` is after the last subscriber has joined.
fn session(
    processes: &Processes,
    seed: u64,
    link: Link<'_>,
    faults: &[String],
    trouble: impl FnOnce(),
) -> Run {
    let mut random = Random::from_seed(seed ^ 0x6a6f_696e);
    let mut exchange = exchange(processes, seed, link.interface, faults);
    let mut gateway = gateway_by(processes, link);
    let mut subscribers: Vec<Process> = Vec::new();
    let reset_at = random.index(SUBSCRIBERS);
    let start = Instant::now();
    for number in 0..SUBSCRIBERS {
        let pause_ms = random.below(SECONDS * 1_000 / SUBSCRIBERS as u64);
        thread::sleep(Duration::from_millis(pause_ms));
        if number == reset_at {
            exchange.tell("reset");
        }
        subscribers.push(subscriber(processes, number));
    }
    trouble();
    thread::sleep(Duration::from_secs(SECONDS).saturating_sub(start.elapsed()));
    let counters_file = settled(processes, &mut exchange);
    exchange.tell("quit");
    exchange.ends_well();
    subscribers.into_iter().for_each(Process::close);
    assert!(gateway.runs(), "seed {seed}: {}", gateway.said("err"));
    gateway.close();
    let what = format!("seed {seed}, {faults:?}");
    for number in 0..SUBSCRIBERS {
        let name = format!("s{number}");
        assert!(equals(processes, &name, &what) > 0);
        let verdict = judge(processes, "truth.log", &format!("{name}.out"));
        assert_eq!(verdict.wrong, 0, "{what}: {name} was shown {verdict:?}");
        assert!(verdict.right > 0, "{what}: {name} was shown nothing live");
        let verdict = judge(processes, "truth.orders", &format!("{name}.orders"));
        assert_eq!(
            verdict.wrong, 0,
            "{what}: {name} was shown orders {verdict:?}"
        );
        assert!(verdict.right > 0, "{what}: {name} had no live order book");
    }
    let counter = |name: &str| counters_file["counters"][name].as_u64().expect(name);
    assert_eq!(
        counter("packets_dropped_kernel"),
        0,
        "{what}: the kernel lost some itself"
    );
    Run {
        lost: counter("packets_lost"),
        gaps: counter("gaps"),
        late_or_first_b: counter("packets_first_b"),
        xdp_detached: counter("xdp_detached"),
    }
}

/// The market has stopped and faults are cleared. Waits until the gateway has every book, and every subscriber has read
/// it.
pub fn settled(processes: &Processes, exchange: &mut Process) -> serde_json::Value {
    exchange.tell("clear");
    exchange.tell("rate 0");
    let start = Instant::now();
    loop {
        let counters_file = processes.run("stat live --json").stdout;
        let counters_file: serde_json::Value =
            serde_json::from_slice(&counters_file).unwrap_or_default();
        let counter = |name: &str| counters_file["counters"][name].as_u64().unwrap_or(0);
        let known = counter("books_known");
        let is_whole = counter("ready") == 1 && counter("order_books_live") == known;
        if is_whole {
            // The last publication is read, or waits only for the reader.
            thread::sleep(Duration::from_millis(300));
            return counters_file;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "the gateway is not whole: {counters_file:#}"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

fn exchange(processes: &Processes, seed: u64, interface: &str, faults: &[String]) -> Process {
    let line = format!(
        "sim cme --groups {} --seed {seed} --instruments 6 --events-per-second 600 --commands \
         --interface {interface} --write @ --truth-books @/truth-books.jsonl \
         --truth-orders @/truth-orders.jsonl --truth-log @/truth.log \
         --truth-order-log @/truth.orders",
        processes.groups()
    );
    let faults: Vec<&str> = faults
        .iter()
        .flat_map(|fault| ["--fault", fault.as_str()])
        .collect();
    let mut exchange = processes.start(Place::Exchange, "exchange", &line, &faults);
    exchange.wait_for("sending");
    exchange
}

pub fn gateway(processes: &Processes, interface: &str) -> Process {
    gateway_by(processes, Link::of(interface, "sockets"))
}

fn gateway_by(processes: &Processes, link: Link<'_>) -> Process {
    let mut gateway = start_gateway(processes, link);
    gateway.wait_for("listening");
    gateway
}

fn start_gateway(processes: &Processes, link: Link<'_>) -> Process {
    let Link {
        interface,
        receive,
        wait_ms,
        ..
    } = link;
    let of_b = |name| format!("interface_b = \"{name}\"\n");
    let line_b = link.interface_b.map(of_b).unwrap_or_default();
    let config = format!(
        "bus = \"live\"\n[venue]\nkind = \"cme\"\nchannel = 998\nconfig_xml = \"config.xml\"\n\
         interface = \"{interface}\"\nwait_ms = {wait_ms}\n{line_b}[limits]\ninstruments_max = 256\norders_max = 65536\n\
         hold_packets_max = 1024\n[network]\nreceive = \"{receive}\"\n[publication]\nring_bytes = 4194304\n"
    );
    std::fs::write(processes.path("live.toml"), config).expect("the session's folder");
    let line = "gateway --until-eof --config @/live.toml";
    processes.start(Place::Firm, "gateway", line, &[])
}

/// A subscriber that prints each live price book, and writes each live order book to `sN.orders` at its end.
pub fn subscriber(processes: &Processes, number: usize) -> Process {
    let line = format!(
        "follow live --until-eof --wait 30 --quiet --name s{number} --states - \
         --order-states @/s{number}.orders --books @/s{number}-books.jsonl --orders @/s{number}-orders.jsonl"
    );
    processes.start(Place::Firm, &format!("s{number}"), &line, &[])
}

/// Faults on one line only.
fn faults_of_one_line(random: &mut Random) -> Vec<String> {
    let line = *random.pick(&["a", "b"]);
    let share = |random: &mut Random, most: f64| random.below(1_000) as f64 / 1_000.0 * most;
    vec![
        format!("drop {line} {:.3}", share(random, 0.3)),
        format!("burst {line} 0.002 {}", random.between(1, 500)),
        format!("duplicate {line} {:.3}", share(random, 0.5)),
        format!(
            "reorder {line} {:.3} {}",
            share(random, 0.2),
            random.between(1, 64)
        ),
        format!("delay {line} 0.05 1 {}", random.between(2, 30)),
        format!("corrupt {line} {:.3}", share(random, 0.05)),
    ]
}

/// Faults on each line, some of them on both at once.
fn faults_of_both_lines(random: &mut Random) -> Vec<String> {
    let share = |random: &mut Random, most: f64| random.below(1_000) as f64 / 1_000.0 * most;
    vec![
        format!("drop ab {:.3}", share(random, 0.3)),
        format!("burst a 0.002 {}", random.between(1, 200)),
        format!("both 0.003 {}", random.between(1, 20)),
        format!("duplicate ab {:.3}", share(random, 0.5)),
        format!(
            "reorder ab {:.3} {}",
            share(random, 0.1),
            random.between(1, 16)
        ),
        format!("delay ab 0.02 1 {}", random.between(2, 40)),
        format!("corrupt ab {:.3}", share(random, 0.05)),
        format!("outage {} 0.4", random.pick(&["a", "b", "ab"])),
    ]
}
