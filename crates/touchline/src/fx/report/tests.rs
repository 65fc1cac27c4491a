use super::*;
use crate::fx::written::{BUS, MONDAY_NS, Written, accepted};
use serde_json::Value;
use touchline_fx_events::Batch;
use touchline_journal::Root;
use touchline_testing::{PATIENCE, until};

/// A day.
const DAY_NS: u64 = 86_400_000_000_000;

/// What the folder of a day says of the journal; none before there is a folder.
fn journal_of(written: &Written, day: &str) -> Value {
    let text = std::fs::read_to_string(written.folder.join("report").join(day).join("about.json"));
    let about = text.map(|text| serde_json::from_str::<Value>(&text).expect("JSON"));
    about.map_or(Value::Null, |about| about["journal"].clone())
}

/// Last segment of the chain that the folder of a day names.
fn covered(written: &Written, day: &str) -> Option<u64> {
    let journal = journal_of(written, day);
    let (_, to) = journal["chain"].as_str()?.split_once(" to=")?;
    to.split(' ').next()?.parse().ok()
}

fn refresh(shown: &mut Shown) {
    assert!(shown.read(None).is_ok() && shown.write().is_ok());
}

/// A report that runs since before there was a journal: the folder of a day names the journal once there is one, and a head of the chain
/// that covers its entries once their segment is closed. Later segments change nothing in it, so that a signature stays right.
#[test]
fn the_folder_of_a_day_names_a_head_that_covers_it() {
    let mut written = Written::new("report-chain");
    let (journal, root) = (written.directory(), Root::at(written.folder.join("bus")));
    let folder = written.folder.join("report");
    let mut shown = Shown {
        follower: Follower::new(&journal, &root, BUS),
        files: Files::new(Some(&folder), Origin::default(), Period::ALL),
        chain: ChainReader::new(&journal),
    };
    refresh(&mut shown);
    let [monday, tuesday] = ["20260105", "20260106"];
    for (number, parent, day) in [
        (0, "P0", monday),
        (1, "P1", monday),
        (2, "P2", tuesday),
        (3, "P3", tuesday),
        (4, "P4", tuesday),
    ] {
        if day == tuesday {
            written.at_ns = written.at_ns.max(MONDAY_NS + DAY_NS);
        }
        written.begin();
        written.events(vec![accepted(number, parent)], &Batch::default());
        until(parent, PATIENCE, || {
            refresh(&mut shown);
            let rows = std::fs::read_to_string(folder.join("parents.csv")).expect("a file");
            if rows.contains(parent) {
                Ok(())
            } else {
                Err(rows)
            }
        });
        let id = journal_of(&written, day)["id"].clone();
        assert_eq!(id.as_str().map(str::len), Some(32), "{id}");
        written.end();
        refresh(&mut shown);
        assert_eq!(covered(&written, day), Some(u64::from(number) + 1));
    }
    assert_eq!(
        covered(&written, monday),
        Some(3),
        "one segment more than its last"
    );
}
