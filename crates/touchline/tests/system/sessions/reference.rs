//! R6: the path against the slow reference that shares no code with it.

use crate::sessions::path::{picture, run, subscriber};
use crate::sessions::watch::Tops;
use crate::sessions::{same, seeds};
use touchline_feed::cme::Join;
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_lab::reference::cme as slow;

/// Sessions under faults without recovery at the end: states, queues and partly known books must
/// agree.
#[test]
fn the_reference_implementation_agrees_under_every_fault() {
    let mut messages = 0;
    for seed in seeds(600) {
        let options = Options {
            spare_resets: seed % 2 == 0,
            ..Options::varied(seed)
        };
        let session = generate(&options, seed);
        let plan = FaultPlan::all_feeds([
            Fault::Drop { share: 0.1 },
            Fault::DropOnAllLines {
                share: 0.02,
                packets_max: 30,
            },
            Fault::Corrupt { share: 0.02 },
            Fault::Duplicate { share: 0.1 },
            Fault::Reorder {
                share: 0.1,
                by_max: 8,
            },
            Fault::Delay {
                share: 0.05,
                min_ns: 1_000,
                max_ns: 60_000_000,
            },
        ]);
        let mut arrivals = deliver(&session, &plan, seed).arrivals;
        // Without the recovering end of the session, so that partly known books are compared, too.
        arrivals.truncate(arrivals.len() * 2 / 3);
        for join in [Join::Snapshot, Join::Natural] {
            let natural = join == Join::Natural;
            let reference = slow::run(
                &arrivals,
                slow::Settings {
                    natural,
                    ..slow::Settings::default()
                },
            );
            let path = run(&arrivals, join, Tops::default());
            messages += path.feed().counters().messages;
            let picture = picture(&path, subscriber(&path).0.clone());
            same(
                &picture.books_jsonl(),
                &reference.books_jsonl(),
                &format!("books, seed {seed}, {join:?}"),
            );
            if !reference.orders.is_empty() {
                same(
                    &picture.orders_jsonl(),
                    &reference.orders_jsonl(),
                    &format!("orders, seed {seed}, {join:?}"),
                );
            }
            same(
                &picture.tops_jsonl(),
                &reference.tops_jsonl(),
                &format!("tops, seed {seed}, {join:?}"),
            );
        }
    }
    println!("{messages} messages compared");
}
