//! The benchmarks of the network, small: that every packet is accounted for, not how long it took.

use super::Desk;
use serde_json::Value;

fn lines(name: &str, arguments: &str) -> Vec<Value> {
    let run = Desk::bare(name).run(arguments).done();
    let line = |line: &str| serde_json::from_str(line).expect("a JSON object a line");
    run.stdout.lines().map(line).collect()
}

fn of<'a>(lines: &'a [Value], subject: &str, figure: &str) -> &'a Value {
    let found = lines.iter().find(|line| line["subject"] == subject);
    let found = found.unwrap_or_else(|| panic!("no {subject} in {lines:?}"));
    &found[figure]
}

#[test]
fn bench_feed_brings_every_packet_to_the_bus_and_the_consumer() {
    let lines = lines("feed", "bench feed --packets 300 --rate 1000 --json");
    assert_eq!(of(&lines, "touchline-lost-pause1000us", "value"), 0.0);
    assert_eq!(
        of(&lines, "touchline-application-pause1000us", "count"),
        300
    );
    let consumed = of(&lines, "touchline-consumer-pause1000us", "count");
    // Some packets change nothing that is published.
    let consumed = consumed.as_u64().expect("a number");
    assert!((200..=300).contains(&consumed), "{consumed}");
}

#[test]
fn bench_hash_measures_each_hash_and_a_change_of_an_order() {
    let arguments = "--orders 1000 --samples 50 --rounds 2 --json";
    let lines = lines("hash", &format!("bench hash {arguments}"));
    for subject in ["fixed", "keyed", "siphash", "order-change"] {
        assert_eq!(of(&lines, subject, "count"), 100);
        // Not optimised away.
        let shortest = of(&lines, subject, "min").as_f64();
        assert!(shortest > Some(0.0), "{subject}: {shortest:?}");
    }
}

#[test]
fn bench_receive_measures_each_way_of_receiving() {
    let arguments = "--rounds 1 --packets 5 --stream-packets 500 --batch 1,4 --json";
    let lines = lines("receive", &format!("bench receive {arguments}"));
    for way in ["recvmsg", "recvmmsg-4"] {
        assert_eq!(of(&lines, &format!("{way}-call"), "count"), 5);
        assert_eq!(of(&lines, &format!("{way}-lost"), "value"), 0.0);
        let rate = of(&lines, &format!("{way}-rate"), "value");
        assert!(rate.as_f64() > Some(0.0), "{rate}");
    }
}
