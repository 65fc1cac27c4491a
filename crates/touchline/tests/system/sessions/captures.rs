//! Recorded and independently generated captures, if available.
//!
//! They belong to others and are not part of the repository: `TOUCHLINE_CAPTURES` and
//! `TOUCHLINE_SCHEMAS` name their folders, and without these variables the tests report that they
//! were skipped.

mod channel_340;
mod generated;
mod recordings;

use crate::sessions::same;
use std::ops::ControlFlow;
use std::path::Path;
use touchline_feed::cme::{FeedType, Join, Line};
use touchline_gateway::replay::{Pace, Speed, replay};
use touchline_gateway::venues::cme::ChannelConfig;
use touchline_gateway::venues::cme::CmeConfig;
use touchline_gateway::venues::cme::CmeReport;
use touchline_gateway::venues::cme::{CmePipeline, pipeline};
use touchline_lab::capture::{self, Arrival};
use touchline_lab::picture::Picture;
use touchline_lab::reference::cme as slow;
use touchline_net::{PacketSource, PcapSource};
use touchline_testing::{captures, schemas};
use touchline_transport::{Local, Mirror, Subscribe};

/// The path as a gateway builds it from its configuration, fed from a capture as `replay` does.
fn replayed<S: Subscribe>(
    config: &CmeConfig,
    capture: &Path,
    subscriber: S,
) -> (CmePipeline<Local<(Mirror, S)>>, CmeReport) {
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .expect("the channel's file is right");
    let mirror = Mirror::new(config.limits.instruments_max, config.limits.orders_max);
    let mut path = pipeline(config, Local::new((mirror, subscriber)));
    let mut source = PcapSource::open([capture]).expect("the capture opens");
    let report = replay(
        &mut source,
        channel.routes(),
        &mut path,
        Pace::new(Speed::Max),
        &mut None,
        |_, _| ControlFlow::Continue(()),
    )
    .expect("a whole capture");
    assert_eq!(source.skipped().total(), 0, "a frame was passed over");
    (path, report)
}

/// Packets of a capture in order, in the reference's types.
fn arrivals(
    capture: &Path,
    route: impl Fn(std::net::SocketAddrV4) -> Option<(FeedType, Line)>,
) -> Vec<Arrival> {
    let mut source = PcapSource::open([capture]).expect("the capture opens");
    let mut arrivals = Vec::new();
    while let Some(packet) = source.receive().expect("a whole capture").packet() {
        let (feed, line) = route(packet.destination).expect("a destination of the channel");
        arrivals.push(Arrival {
            time_ns: packet.receive_ns,
            feed: match feed {
                FeedType::Incremental => capture::Feed::Incremental,
                FeedType::Definition => capture::Feed::Definitions,
                FeedType::Snapshot => capture::Feed::Snapshot,
                FeedType::SnapshotOrders => capture::Feed::OrderSnapshot,
                FeedType::Replay => panic!("no group of the channel carries it"),
            },
            line: match line {
                Line::A => capture::Line::A,
                Line::B => capture::Line::B,
            },
            payload: packet.payload.to_vec(),
        });
    }
    arrivals
}

/// Result of the slow reference for the same arrivals.
fn reference(arrivals: &[Arrival], join: Join) -> Picture {
    slow::run(
        arrivals,
        slow::Settings {
            natural: join == Join::Natural,
            ..slow::Settings::default()
        },
    )
}

/// Compares books and tops line by line, and the orders of a channel that has any.
#[track_caller]
fn pictures_agree(actual: &Picture, expected: &Picture, what: &str) {
    same(
        &actual.books_jsonl(),
        &expected.books_jsonl(),
        &format!("books, {what}"),
    );
    if !expected.orders.is_empty() {
        same(
            &actual.orders_jsonl(),
            &expected.orders_jsonl(),
            &format!("orders, {what}"),
        );
    }
    same(
        &actual.tops_jsonl(),
        &expected.tops_jsonl(),
        &format!("tops, {what}"),
    );
}
