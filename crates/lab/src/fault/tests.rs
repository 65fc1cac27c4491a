use super::*;
use crate::capture::Line;
use crate::cme::{Options, generate};
use crate::reference::cme::packet;
use std::collections::BTreeSet;

fn session() -> Session {
    generate(
        &Options {
            events: 300,
            ..Options::default()
        },
        3,
    )
}

fn count(delivery: &Delivery, name: &str) -> u64 {
    delivery.report.struck[name]
}

#[test]
fn no_fault_delivers_everything_on_both_lines_in_order() {
    let session = session();
    let delivery = deliver(&session, &FaultPlan::default(), 1);
    assert_eq!(delivery.arrivals.len(), 2 * session.packets.len());
    assert!(
        delivery
            .arrivals
            .is_sorted_by_key(|arrival| arrival.time_ns)
    );
    assert_eq!(delivery.report, Report::default());
    for line in Line::BOTH {
        for feed in Feed::ALL {
            let arrived: Vec<_> = delivery
                .arrivals
                .iter()
                .filter(|a| a.line == line && a.feed == feed)
                .collect();
            let sent: Vec<_> = session.packets.iter().filter(|p| p.feed == feed).collect();
            assert!(
                arrived
                    .iter()
                    .map(|a| &a.payload)
                    .eq(sent.iter().map(|p| &p.payload))
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_arrivals() {
    let session = session();
    let plan = FaultPlan::all_feeds([
        Fault::Drop { share: 0.1 },
        Fault::Flip {
            share: 0.1,
            bytes_max: 3,
        },
    ]);
    assert_eq!(deliver(&session, &plan, 9), deliver(&session, &plan, 9));
    assert_ne!(deliver(&session, &plan, 9), deliver(&session, &plan, 10));
}

#[test]
fn counts_add_up() {
    let session = session();
    let plan = FaultPlan::all_feeds([
        Fault::Drop { share: 0.05 },
        Fault::DropBurst {
            share: 0.01,
            packets_max: 9,
        },
        Fault::DropOnAllLines {
            share: 0.01,
            packets_max: 9,
        },
        Fault::Outage { packets: 20 },
        Fault::Duplicate { share: 0.1 },
        Fault::Forge {
            share: 0.02,
            ahead: 1 << 31,
        },
        Fault::Replay { share: 0.05 },
        Fault::Reorder {
            share: 0.1,
            by_max: 8,
        },
        Fault::Delay {
            share: 0.1,
            min_ns: 1_000,
            max_ns: 9_000_000,
        },
    ]);
    let delivery = deliver(&session, &plan, 5);
    let removed: u64 = ["drop", "drop burst", "drop on all lines", "outage"]
        .map(|name| count(&delivery, name))
        .iter()
        .sum();
    let added: u64 = ["duplicate", "forge", "replay"]
        .map(|name| count(&delivery, name))
        .iter()
        .sum();
    let expected = 2 * session.packets.len() as u64 - removed + added;
    assert_eq!(
        delivery.arrivals.len() as u64,
        expected,
        "{:?}",
        delivery.report
    );
    assert!(
        delivery.report.struck.values().all(|&struck| struck > 0),
        "{:?}",
        delivery.report
    );
    assert_eq!(
        count(&delivery, "outage"),
        40,
        "twenty packets on each line"
    );
}

#[test]
fn packets_lost_on_both_lines_are_reported() {
    let session = session();
    let faults = [
        Fault::Drop { share: 0.2 },
        Fault::Corrupt { share: 0.2 },
        Fault::DropOnAllLines {
            share: 0.02,
            packets_max: 5,
        },
    ];
    let delivery = deliver(&session, &FaultPlan::incremental(faults), 8);
    let arrived: BTreeSet<u32> = delivery
        .arrivals
        .iter()
        .filter(|arrival| arrival.feed == Feed::Incremental)
        .filter_map(|arrival| Some(packet::read(&arrival.payload)?.sequence))
        .collect();
    let sent = session
        .packets
        .iter()
        .filter(|packet| packet.feed == Feed::Incremental);
    let lost: Vec<u32> = sent
        .map(|packet| packet.sequence)
        .filter(|sequence| !arrived.contains(sequence))
        .collect();
    assert!(!lost.is_empty());
    assert_eq!(delivery.report.lost_on_both, lost);
}

#[test]
fn corrupt_and_cut_packets_are_never_valid() {
    let session = session();
    for fault in [
        Fault::Corrupt { share: 1.0 },
        Fault::Truncate { share: 1.0 },
    ] {
        let delivery = deliver(&session, &FaultPlan::all_feeds([fault]), 2);
        let spared = session
            .packets
            .iter()
            .filter(|packet| packet.spared)
            .count();
        let valid = delivery
            .arrivals
            .iter()
            .filter(|arrival| packet::read(&arrival.payload).is_some())
            .count();
        assert_eq!(
            valid,
            2 * spared,
            "only the quiet end of the session is left alone"
        );
    }
}

/// No copy of the silent feeds and lines arrives for the time, and each other one does.
#[test]
fn a_silence_is_one_time_on_all_its_lines() {
    const DURATION_NS: u64 = 40_000_000;
    let session = generate(&Options::default(), 3);
    let clean = deliver(&session, &FaultPlan::default(), 5);
    let plan = FaultPlan::incremental([Fault::Silence {
        duration_ns: DURATION_NS,
    }]);
    let delivery = deliver(&session, &plan, 5);
    assert_eq!(
        delivery.report.struck["silence"],
        count(&delivery, "silence")
    );
    let of = |delivery: &Delivery, line| -> Vec<(u64, Vec<u8>)> {
        let arrivals = delivery.arrivals.iter();
        arrivals
            .filter(|arrival| arrival.feed == Feed::Incremental && arrival.line == line)
            .map(|arrival| (arrival.time_ns, arrival.payload.clone()))
            .collect()
    };
    let lost = Line::BOTH.map(|line| {
        let arrived = of(&delivery, line);
        let mut lost = of(&clean, line);
        lost.retain(|copy| !arrived.contains(copy));
        lost
    });
    let times = || lost.iter().flatten().map(|(time_ns, _)| *time_ns);
    let (first_ns, last_ns) = (times().min().expect("some"), times().max().expect("some"));
    assert!(last_ns - first_ns < DURATION_NS, "{first_ns} {last_ns}");
    assert!(lost.iter().all(|line| line.len() > 5), "{lost:?}");
    let inside = |arrival: &&Arrival| (first_ns..=last_ns).contains(&arrival.time_ns);
    let inside = delivery.arrivals.iter().filter(inside);
    assert!(
        inside
            .clone()
            .all(|arrival| arrival.feed != Feed::Incremental)
    );
    assert!(inside.count() > 5, "the other feeds go on");
}
