//! Sessions of an independent generator, with its expected books.

use super::{captures, replayed};
use crate::sessions::fold::Program;
use crate::sessions::path::{mirror_agrees, picture, subscriber};
use crate::sessions::same;
use crate::sessions::watch::Tops;
use std::collections::HashSet;
use std::path::Path;
use touchline_gateway::config::Config;
use touchline_lab::picture::Picture;

const CHANNEL: u32 = 999;
/// The first one without a fault.
const SESSIONS: [&str; 6] = [
    "v9-clean", "v9-lossy", "v9-gaps", "v9-late", "v9-all", "v13-gaps",
];

#[test]
fn a_clean_session_of_another_generator_is_reproduced_exactly() {
    let Some(captures) = captures("a clean session of another generator") else {
        return;
    };
    let folder = captures.join("cme-generated/v9-clean");
    let picture = picture_of(&folder);
    for (name, actual) in [
        ("books.jsonl", picture.books_jsonl()),
        ("orders.jsonl", picture.orders_jsonl()),
        ("tops.jsonl", picture.tops_jsonl()),
    ] {
        assert!(!actual.is_empty(), "{name} has nothing to compare");
        same(&actual, &expected(&folder, name), name);
    }
}

/// Loss, reordering, damage, resets: at the end every book is correct, and no wrong book was shown
/// before.
#[test]
fn books_of_damaged_sessions_of_another_generator_recover() {
    let Some(captures) = captures("damaged sessions of another generator") else {
        return;
    };
    for name in &SESSIONS[1..] {
        let folder = captures.join("cme-generated").join(name);
        let picture = picture_of(&folder);
        let books = expected(&folder, "books.jsonl");
        same(&picture.books_jsonl(), &books, &format!("books, {name}"));
        let orders = expected(&folder, "orders.jsonl");
        same(&picture.orders_jsonl(), &orders, &format!("orders, {name}"));
        let tops = expected(&folder, "tops.jsonl");
        let tops: HashSet<_> = tops.lines().collect();
        assert!(!picture.tops.is_empty(), "{name} has no tops to compare");
        for top in picture.tops_jsonl().lines() {
            assert!(tops.contains(top), "{name}: {top} was never true");
        }
    }
}

/// A program's own books are those of the client after each packet, and those of the path at the end.
#[test]
fn what_a_program_folds_from_sessions_of_another_generator_is_right() {
    let Some(captures) = captures("folded books of another generator") else {
        return;
    };
    let mut cleared = 0;
    for name in SESSIONS {
        let folder = captures.join("cme-generated").join(name);
        let config = Config::of_cme_channel(folder.join("config.xml"), CHANNEL);
        let program = Program::new(config.limits.instruments_max, config.limits.orders_max);
        let (path, _) = replayed(&config, &folder.join("session.pcap.gz"), program);
        mirror_agrees(&path, name);
        assert!(subscriber(&path).fold.checked > 1_000, "{name}");
        cleared += subscriber(&path).fold.cleared;
    }
    assert!(cleared > 0, "no list was emptied");
}

/// Books, orders and tops of the session; the subscriber's mirror has the same.
fn picture_of(folder: &Path) -> Picture {
    let config = Config::of_cme_channel(folder.join("config.xml"), CHANNEL);
    let (path, report) = replayed(&config, &folder.join("session.pcap.gz"), Tops::default());
    assert!(report.unrouted.is_empty(), "every group is the channel's");
    mirror_agrees(&path, &folder.display().to_string());
    picture(&path, subscriber(&path).0.clone())
}

fn expected(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect("the truth stands beside the session")
}
