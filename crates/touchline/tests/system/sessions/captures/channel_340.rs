//! A recording of a real channel, both lines, from the middle of a session.

use super::{arrivals, captures, pictures_agree, reference, replayed, schemas};
use crate::sessions::path::{mirror_agrees, picture, run, subscriber};
use crate::sessions::watch::Tops;
use std::path::{Path, PathBuf};
use touchline_feed::cme::{FeedType, Join, Line};
use touchline_gateway::venues::cme::ChannelConfig;
use touchline_gateway::venues::cme::CmeConfig;
use touchline_lab::bench::endless::Endless;
use touchline_lab::capture::{self, Arrival};
use touchline_lab::picture::State;

const FILE: &str = "cme-mdp3/mdp3-v6_ch340-feedAB_2016-11-12_part1_6000frames.pcap";
const CHANNEL: u32 = 340;
/// The recording has 127 of them.
const INSTRUMENTS: usize = 107;

/// Counts of the recording by other means, and the same books as the slow reference.
#[test]
fn a_recorded_channel_is_complete_and_agrees_with_the_reference() {
    let Some((capture, config)) = recording() else {
        return;
    };
    let arrivals = channel_arrivals(&capture, &config);
    for join in [Join::Snapshot, Join::Natural] {
        let mut config = config.clone();
        config.venue.join = join;
        let (path, report) = replayed(&config, &capture, Tops::default());
        for line in [Line::A, Line::B] {
            assert_eq!(
                report.packets.get(&(FeedType::Incremental, line)),
                Some(&3000)
            );
        }
        assert_eq!((report.routed(), report.unrouted.len()), (6000, 0));
        let counters = path.feed().counters();
        assert_eq!(
            (counters.packets_first_a, counters.packets_first_b),
            (118, 2882)
        );
        assert_eq!(
            (counters.packets_delivered, counters.packets_duplicate),
            (3000, 3000)
        );
        let last_error = [
            counters.packets_invalid,
            counters.packets_lost,
            counters.gaps,
            counters.messages_unknown,
            counters.entries_unknown,
            counters.queue_full,
        ];
        assert_eq!(last_error, [0; 6], "{counters:?}");
        let templates: Vec<_> = path.feed().templates().counts().collect();
        let templates = templates
            .iter()
            .map(|count| (count.template_id, count.messages));
        let expected = [(12, 9), (32, 5738), (35, 243), (37, 111), (42, 111)];
        assert_eq!(templates.collect::<Vec<_>>(), expected);

        let picture = picture(&path, subscriber(&path).0.clone());
        assert_eq!(picture.books.len(), INSTRUMENTS);
        pictures_agree(&picture, &reference(&arrivals, join), &format!("{join:?}"));
        mirror_agrees(&path, &format!("{join:?}"));
    }
}

/// The recording has no snapshots, so no book becomes live. With generated snapshots every
/// instrument is live from the first packet, and the usual path is compared, too.
#[test]
fn a_recorded_channel_that_is_live_agrees_with_the_reference() {
    let Some((capture, config)) = recording() else {
        return;
    };
    let recorded = channel_arrivals(&capture, &config);
    let arrivals = with_snapshots(recorded);
    let path = run(&arrivals, Join::Snapshot, Tops::default());
    assert_eq!(path.feed().counters().instrument_gaps, 0);
    let picture = picture(&path, subscriber(&path).0.clone());
    assert!(!picture.tops.is_empty());
    for book in &picture.books {
        assert_eq!(book.state, State::Live, "{}", book.security_id);
    }
    pictures_agree(&picture, &reference(&arrivals, Join::Snapshot), "live");
    mirror_agrees(&path, "live");
}

/// The capture and the configuration of its channel, if both are available.
fn recording() -> Option<(PathBuf, CmeConfig)> {
    let capture = captures("a recorded channel")?.join(FILE);
    let config_xml = schemas("a recorded channel")?.join("cme/config_PROD_2023-08-14.xml");
    Some((capture, CmeConfig::of_cme_channel(config_xml, CHANNEL)))
}

fn channel_arrivals(capture: &Path, config: &CmeConfig) -> Vec<Arrival> {
    let channel = ChannelConfig::read(&config.venue.config_xml, CHANNEL).expect("CME's file");
    arrivals(capture, |destination| channel.routes().find(destination))
}

/// The recording behind snapshots that let every instrument start live.
fn with_snapshots(recorded: Vec<Arrival>) -> Vec<Arrival> {
    let mut stretch = Endless::new();
    for arrival in &recorded {
        assert!(stretch.add((), arrival.time_ns, &arrival.payload));
    }
    let snapshots = stretch.snapshots().into_iter().map(|payload| Arrival {
        time_ns: recorded[0].time_ns,
        feed: capture::Feed::Snapshot,
        line: capture::Line::A,
        payload,
    });
    snapshots.chain(recorded.iter().cloned()).collect()
}
