//! A session that continues: its store survives the process, and market data ignores resent messages of earlier
//! connections.

use crate::world::{World, settings};
use std::path::Path;
use touchline_feed::SessionFeed;
use touchline_feed::fix_md::{Dialect, FixFeed};
use touchline_session::file_store::{FileStore, Limits, Sync};
use touchline_session::fix::{Memory, Role, Session, Settings as SessionSettings, Store};
use touchline_testing::Folder;
use touchline_types::{Event, Instrument, Validity};

const EUR: Instrument = Instrument(0);
/// A snapshot, without the number of the request.
const W: &str = "55=EUR/USD|262=%|268=1|269=0|270=1.1|271=5|";

/// The feed of a new process.
fn feed(folder: &Path) -> FixFeed<FileStore> {
    let mut settings = settings(Dialect::Standard);
    settings.session.reset_on_logon = false;
    let store = FileStore::open(folder, "session", Limits::default(), Sync::Later);
    FixFeed::with_store(settings, store.expect("no other process has it"))
}

fn world(folder: &Path) -> World<FileStore> {
    let theirs = SessionSettings::new(Role::Acceptor, "DERIBITSERVER", "FIRM");
    World::with(feed(folder), Session::new(theirs, Memory::default()))
}

/// The process is killed, and another one starts.
fn restart(world: World<FileStore>, folder: &Path) -> World<FileStore> {
    let World {
        feed: old, venue, ..
    } = world;
    drop(old);
    World::with(feed(folder), venue)
}

/// Answers the last request for the book.
fn answer(world: &mut World<FileStore>) -> Vec<Event> {
    let asked = world.take_asked();
    let (kind, fields) = asked.last().expect("a request");
    assert_eq!(kind, "V", "{asked:?}");
    let id = fields
        .split('|')
        .find_map(|field| field.strip_prefix("262="));
    world.send("W", &W.replace('%', id.expect("its number")))
}

/// Numbers survive the process on both sides; a message that was lost with the process is resent, and does not change a
/// book.
#[test]
fn numbers_survive_the_process_and_missing_messages_are_resent() {
    let folder = Folder::new("numbers");
    let mut world = world(&folder);
    world.connect();
    answer(&mut world);
    assert_eq!(world.feed.validity(EUR), Validity::Live);
    let (out, theirs) = (
        world.feed.session().store().next_out(),
        world.venue.store().next_out(),
    );
    // A change and a reject are lost with the process: they belong to a subscription that has ended.
    world.send_and_lose(&[
        ("X", "262=1|268=1|279=0|269=0|55=EUR/USD|270=7.7|271=1|"),
        ("j", "372=V|380=0|"),
    ]);

    let mut world = restart(world, &folder);
    let store = world.feed.session().store();
    assert_eq!((store.next_out(), store.next_in()), (out, theirs));
    // A heartbeat is ahead of the missing messages, and does not cause a reset.
    let events = world.connect_hearing("0", "");
    assert!(!world.feed.is_over(), "{}", world.feed.reason());
    let is_old = |event: &Event| matches!(event, Event::Level(..) | Event::RebuildLevel(_));
    assert!(!events.iter().any(is_old), "{events:?}");
    // Our Logon, the resend request, and the request for the book.
    assert_eq!(
        world.venue.store().next_in(),
        out + 3,
        "no number restarted at 1"
    );
    let counters = world.feed.session().counters();
    assert_eq!(
        (counters.resends_requested, counters.sequence_resets),
        (1, 0)
    );
    assert_eq!(world.venue.counters().messages_resent, 2);
    assert_eq!(
        world.feed.session().store().next_in(),
        world.venue.store().next_out()
    );
    answer(&mut world);
    assert_eq!(world.feed.validity(EUR), Validity::Live);
    assert_eq!(world.feed.counters().gaps, 0);
}

/// No request has the number of a request of an earlier process: the venue would treat both as one.
#[test]
fn request_numbers_continue_after_a_restart() {
    let folder = Folder::new("requests");
    let mut world = world(&folder);
    let mut seen = Vec::new();
    for _ in 0..3 {
        world.connect();
        let asked = world.take_asked();
        let ids = asked.iter().filter(|(kind, _)| kind == "V");
        let id = |fields: &String| {
            let found = fields
                .split('|')
                .find_map(|field| field.strip_prefix("262="));
            found.expect("its number").to_owned()
        };
        seen.extend(ids.map(|(_, fields)| id(fields)));
        world.disconnect();
        world = restart(world, &folder);
    }
    let mut different = seen.clone();
    different.dedup();
    assert_eq!((seen.len(), different.len()), (3, 3), "{seen:?}");
}

/// A request of the earlier process that did not reach the venue is replaced by a gap fill, and only the current request
/// is open.
#[test]
fn an_old_request_is_not_resent() {
    let folder = Folder::new("old");
    let mut world = world(&folder);
    world.connect();
    answer(&mut world);
    world.disconnect();
    // The messages that the venue missed: a Logon that arrived, and a request that did not.
    let mut world = restart(world, &folder);
    world.connect_and_lose_requests();
    let mut world = restart(world, &folder);
    world.connect();
    let asked = world.take_asked();
    let requests = asked.iter().filter(|(kind, _)| kind == "V").count();
    assert_eq!(requests, 1, "{asked:?}");
    assert_eq!(world.feed.session().counters().messages_resent, 0);
    assert!(world.feed.session().counters().gap_fills_sent > 0);
}
