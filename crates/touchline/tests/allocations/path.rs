//! The path allocates at start only.
//!
//! Goal: after construction the path does not allocate, for any input. Method: this program's
//! allocator counts the allocations of a frozen thread. The thread is frozen when the path is
//! built, before its first packet: there is no warm-up. One test shows that an allocation on the
//! path is counted, so that the others can fail.

use std::ops::ControlFlow;
use std::path::Path;
use touchline_feed::Request;
use touchline_feed::cme::{CmeFeed, FeedType, Join, Line, Replay, Settings};
use touchline_gateway::config::{Config, LockMemory, Symbols};
use touchline_gateway::replay::{Pace, Speed, replay};
use touchline_gateway::venues::cme::{ChannelConfig, CmeConfig};
use touchline_gateway::venues::cme::{CmePipeline, build, pipeline};
use touchline_gateway::{CountersFile, Limits, bus};
use touchline_lab::capture::{self, Arrival, write_pcap};
use touchline_lab::cme::config::{CHANNEL, config_xml};
use touchline_lab::cme::{Options, Session, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_lab::frozen::{Count, Frozen};
use touchline_net::{Packet, PcapSource};
use touchline_testing::Folder;
use touchline_transport::clock::Clock;
use touchline_transport::shm::{self, Lock, Publisher, Root};
use touchline_transport::{Envelope, Local, Mirror, Publish, Subscribe};

#[test]
fn a_clean_session_does_not_allocate() {
    for seed in 0..8 {
        let arrivals = deliver(&long(seed), &FaultPlan::default(), seed).arrivals;
        for join in [Join::Snapshot, Join::Natural] {
            let (path, count) = counted(&arrivals, settings(join), 16_384, Local::new(()));
            assert_eq!(count, Count::default(), "seed {seed}, {join:?}");
            assert!(path.counters().book_updates > 1000, "too little happened");
        }
    }
}

/// Every kind of recovery, many times.
#[test]
fn a_session_with_faults_does_not_allocate() {
    let (mut recovered, mut restarted) = (0, 0);
    for seed in 0..16 {
        let arrivals = deliver(&long(seed), &hardest(), seed).arrivals;
        for join in [Join::Snapshot, Join::Natural] {
            let (path, count) = counted(&arrivals, settings(join), 16_384, Local::new(()));
            assert_eq!(count, Count::default(), "seed {seed}, {join:?}");
            let counters = path.feed().counters();
            recovered += counters.snapshots_used.min(counters.order_snapshots_used);
            restarted += counters.numbering_restarts.min(counters.channel_resets);
        }
    }
    assert!(
        recovered > 100 && restarted > 0,
        "{recovered} recoveries and {restarted} restarts: no test"
    );
}

/// Gaps that wait for replay: filled, given up in time, or given up because the server lacks the
/// packets.
#[test]
fn a_session_with_tcp_replay_does_not_allocate() {
    let (mut asked, mut filled, mut failed) = (0, 0, 0);
    for seed in 0..8 {
        let arrivals = deliver(&long(seed), &hardest(), seed).arrivals;
        let asking = Settings {
            replay: Some(Replay {
                wait_ns: 50_000_000,
                packets_max: 2_000,
            }),
            ..settings(Join::Snapshot)
        };
        let (path, count) = counted(&arrivals, asking, 16_384, Local::new(()));
        assert_eq!(count, Count::default(), "seed {seed}");
        let counters = path.feed().counters();
        asked += counters.replays_requested;
        filled += counters.replays_filled;
        failed += counters.packets_replay_unused;
    }
    let happened = [asked, filled, failed];
    assert!(happened.iter().all(|times| *times > 10), "{happened:?}");
}

/// Input beyond a limit is dropped and counted, without an allocation.
#[test]
fn reached_limits_do_not_allocate() {
    let (mut queue, mut instruments, mut orders, mut cut) = (0, 0, 0, 0);
    for seed in 0..16 {
        let arrivals = deliver(&long(seed), &hardest(), seed).arrivals;
        let small = Settings {
            hold_packets_max: 8,
            instruments_max: 8,
            queue_entries_max: 64,
            snapshot_orders_max: 32,
            ..settings(Join::Natural)
        };
        let (path, count) = counted(&arrivals, small, 64, Local::new(()));
        assert_eq!(count, Count::default(), "seed {seed}");
        let counters = path.feed().counters();
        queue += counters.queue_full;
        instruments += counters.instruments_full;
        orders += counters.orders_overflowed;
        cut += path.counters().events_cut;
    }
    let reached = [queue, instruments, orders, cut];
    assert!(reached.iter().all(|times| *times > 0), "{reached:?}");
}

/// A subscriber that keeps books allocates at start only, too.
#[test]
fn a_mirror_does_not_allocate() {
    for seed in 0..8 {
        let arrivals = deliver(&long(seed), &hardest(), seed).arrivals;
        let mirror = Local::new(Mirror::new(INSTRUMENTS_MAX, 16_384));
        let (path, count) = counted(&arrivals, settings(Join::Snapshot), 16_384, mirror);
        assert_eq!(count, Count::default(), "seed {seed}");
        assert_eq!(
            path.publisher().inner().subscriber.inconsistent_updates(),
            0
        );
    }
}

/// Publishing on a bus uses memory allocated when it was opened: tops, parts, last-value tables,
/// definitions, and input beyond their limits.
#[test]
fn publishing_on_a_bus_does_not_allocate() {
    let (mut messages, mut cut, mut refused) = (0, 0, 0);
    for seed in 0..12 {
        let arrivals = deliver(&long(seed), &hardest(), seed).arrivals;
        let place = Folder::new(&format!("bus-{seed}"));
        let bus = shm::Settings {
            ring_bytes: 1 << 16,
            instruments_max: if seed % 3 == 0 { 4 } else { INSTRUMENTS_MAX },
            image_levels_max: if seed % 3 == 1 { 2 } else { 16 },
            lock: Lock::No,
            ..shm::Settings::default()
        };
        let publisher = Publisher::open(&Root::at(&place), "bus", &bus).expect("a new bus");
        let (path, count) = counted(&arrivals, settings(Join::Snapshot), 16_384, publisher);
        assert_eq!(count, Count::default(), "seed {seed}");
        let counters = path.publisher().inner().counters();
        messages += counters.messages_published;
        cut += counters.images_cut;
        refused += counters.images_refused;
    }
    let happened = [messages, cut, refused];
    assert!(happened.iter().all(|times| *times > 0), "{happened:?}");
}

/// From a file, with a gateway's default limits, also with a bus and its reader stats.
#[test]
fn a_replayed_capture_does_not_allocate() {
    let place = Folder::new("replay");
    let file = |name| place.join(name);
    let (capture, channel_file) = (file("session.pcap"), file("config.xml"));
    let arrivals = deliver(&long(1), &hardest(), 1).arrivals;
    write_pcap(&arrivals, &capture).expect("a capture can be written");
    std::fs::write(&channel_file, config_xml()).expect("a file can be written");
    let mut config = Config::of_cme_channel(&channel_file, CHANNEL.into());
    config.publication.directory = Some(file("buses"));
    config.publication.lock_memory = LockMemory::No;
    let bus = bus::open(&config).expect("a new bus");
    for bus in [None, Some(bus)] {
        let count = counted_replay(&config, &capture, arrivals.len(), bus);
        assert_eq!(count, Count::default());
    }
}

#[test]
fn a_recorded_capture_does_not_allocate() {
    let what = "a recorded channel";
    let (Some(captures), Some(schemas)) = (
        touchline_testing::captures(what),
        touchline_testing::schemas(what),
    ) else {
        return;
    };
    let capture = "cme-mdp3/mdp3-v6_ch340-feedAB_2016-11-12_part1_6000frames.pcap";
    for join in [Join::Snapshot, Join::Natural] {
        let file = schemas.join("cme/config_PROD_2023-08-14.xml");
        let mut config = Config::of_cme_channel(file, 340);
        config.venue.join = join;
        let count = counted_replay(&config, &captures.join(capture), 6000, None);
        assert_eq!(count, Count::default(), "{join:?}");
    }
}

/// The same harness over a subscriber that allocates once in a session.
#[test]
fn an_allocation_is_detected() {
    struct Once(u32);
    impl Subscribe for Once {
        fn update(&mut self, _: &Envelope<'_>) {
            self.0 += 1;
            if self.0 == 1000 {
                drop(std::hint::black_box(Box::new(self.0)));
            }
        }
    }
    let arrivals = deliver(&long(0), &FaultPlan::default(), 0).arrivals;
    let (_, count) = counted(
        &arrivals,
        settings(Join::Snapshot),
        16_384,
        Local::new(Once(0)),
    );
    assert_eq!((count.allocations, count.bytes, count.frees), (1, 4, 1));
}

const INSTRUMENTS_MAX: usize = 256;

fn settings(join: Join) -> Settings {
    Settings {
        join,
        hold_packets_max: 1024,
        packet_bytes_max: 2048,
        instruments_max: INSTRUMENTS_MAX,
        queue_entries_max: 65_536,
        snapshot_orders_max: 4096,
        ..Settings::default()
    }
}

fn long(seed: u64) -> Session {
    let options = Options {
        events: 2500,
        ..Options::varied(seed)
    };
    generate(&options, seed)
}

/// Loss, damage, reordering, forgery and an outage on every feed, and a late join.
fn hardest() -> FaultPlan {
    FaultPlan::all_feeds([
        Fault::JoinLate { share: 0.05 },
        Fault::Drop { share: 0.1 },
        Fault::DropBurst {
            share: 0.01,
            packets_max: 50,
        },
        Fault::DropOnAllLines {
            share: 0.02,
            packets_max: 30,
        },
        Fault::Corrupt { share: 0.02 },
        Fault::Truncate { share: 0.02 },
        Fault::Flip {
            share: 0.02,
            bytes_max: 8,
        },
        Fault::Forge {
            share: 0.01,
            ahead: 1 << 31,
        },
        Fault::Duplicate { share: 0.2 },
        Fault::Replay { share: 0.05 },
        Fault::Reorder {
            share: 0.1,
            by_max: 64,
        },
        Fault::Delay {
            share: 0.05,
            min_ns: 1_000,
            max_ns: 60_000_000,
        },
        Fault::Outage { packets: 200 },
    ])
}

/// Runs arrivals through a path like a duty cycle, and counts the allocations of its thread.
fn counted<P: Publish>(
    arrivals: &[Arrival],
    settings: Settings,
    orders_max: usize,
    publisher: P,
) -> (CmePipeline<P>, Count) {
    let limits = Limits {
        instruments_max: settings.instruments_max,
        orders_max,
        event_changes_max: 64,
        default_depth: settings.default_depth,
        levels_max: 0,
    };
    let mut path = build(settings, limits, Symbols::default(), publisher);
    Frozen::freeze();
    for arrival in arrivals {
        path.advance(arrival.time_ns);
        path.packet(channel(arrival), &arrival.payload, arrival.time_ns, 0);
        answer(&mut path, arrivals, arrival.time_ns);
    }
    path.finish();
    (path, Frozen::thaw())
}

/// A replay server with every packet that arrives on either line, some of them too late.
fn answer<P: Publish>(path: &mut CmePipeline<P>, arrivals: &[Arrival], now_ns: u64) {
    let Some(Request::Retransmit { first, last }) = path.request() else {
        return;
    };
    if last - first > 20 {
        return path.request_failed(now_ns);
    }
    let has = |arrival: &&Arrival| {
        let sequence = arrival.payload.first_chunk().copied();
        let sequence = sequence.map_or(0, u32::from_le_bytes);
        arrival.feed == capture::Feed::Incremental && (first..=last).contains(&u64::from(sequence))
    };
    for arrival in arrivals.iter().filter(has) {
        path.packet((FeedType::Replay, Line::A), &arrival.payload, now_ns, 0);
    }
}

/// Replays a capture of `packets` packets, frozen from its second packet on: the first one starts
/// the report's table of packets by feed and line, which is not part of the path.
fn counted_replay(
    config: &CmeConfig,
    capture: &Path,
    packets: usize,
    bus: Option<Publisher>,
) -> Count {
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .expect("the channel's file is right");
    let counters_file = |bus| {
        CountersFile::create::<CmeFeed>(bus, Clock::calibrated(), std::iter::empty())
            .expect("there is room")
    };
    let mut counters_file = bus.as_ref().map(counters_file);
    let mut path = pipeline(config, (Local::new(()), bus));
    let mut source = PcapSource::open([capture]).expect("the capture opens");
    let mut seen = 0;
    let observe = |_: &Packet<'_>, _| {
        seen += 1;
        if seen == 2 {
            Frozen::freeze();
        }
        ControlFlow::Continue(())
    };
    let report = replay(
        &mut source,
        channel.routes(),
        &mut path,
        Pace::new(Speed::Max),
        &mut counters_file,
        observe,
    );
    let count = Frozen::thaw();
    assert_eq!(report.expect("a whole capture").routed(), packets as u64);
    count
}

/// Feed and line in the path's types.
fn channel(arrival: &Arrival) -> (FeedType, Line) {
    let feed = match arrival.feed {
        capture::Feed::Incremental => FeedType::Incremental,
        capture::Feed::Definitions => FeedType::Definition,
        capture::Feed::Snapshot => FeedType::Snapshot,
        capture::Feed::OrderSnapshot => FeedType::SnapshotOrders,
    };
    let line = match arrival.line {
        capture::Line::A => Line::A,
        capture::Line::B => Line::B,
    };
    (feed, line)
}
