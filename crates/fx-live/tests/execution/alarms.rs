//! Alarms: the log and the drop copy have the same ones.

use crate::rig::{Rig, SMALL};
use touchline_fx_desk::ledger::LiveLedger;
use touchline_fx_desk::{Follower, PublishedEntry};
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{Alarm, Event};
use touchline_fx_live::execution::Incident;
use touchline_transport::shm::ProcessView;

/// Alarms as rows: name, bank, ClOrdID.
type Rows = Vec<[String; 3]>;

/// Alarms of the log that the drop copy must have, in order of their names.
fn logged(rig: &Rig) -> Rows {
    let incidents = rig.incidents.iter();
    let alarms = incidents.filter(|incident| {
        incident.is_urgent() && !Incident::OF_LOG.contains(&incident.reason().as_str())
    });
    let mut rows: Rows = alarms
        .map(|incident| {
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            [
                incident.reason(),
                text(incident.bank()),
                text(incident.order()),
            ]
        })
        .collect();
    rows.sort();
    rows
}

/// Alarms that a desk shows, in order of their names.
fn shown(ledger: &LiveLedger) -> Rows {
    let alarms = ledger.now().alarms.iter();
    let mut rows: Rows = alarms
        .map(|row| {
            [
                row.what.to_string(),
                row.bank.as_deref().unwrap_or_default().to_owned(),
                row.order.map_or_else(String::new, |id| id.to_string()),
            ]
        })
        .collect();
    rows.sort();
    rows
}

/// Alarms that `top` counts in the counters file by name: one row for each time, in order of their names.
fn counted(rig: &Rig) -> Vec<String> {
    let processes = ProcessView::all(&rig.root()).expect("a folder of ours");
    let engine = processes
        .into_iter()
        .find(|process| process.name == "fx-run");
    let view = engine.expect("an engine").counters_file;
    let view = view.expect("its counters").expect("an engine counts");
    let of_alarms = view.counters().filter_map(|(what, count)| {
        let name = what.name.strip_prefix("fx_alarm:")?;
        Some(vec![name.to_owned(); count as usize])
    });
    let mut names: Vec<String> = of_alarms.flatten().collect();
    names.sort();
    names
}

/// Each alarm of the log, also an alarm of a session, a client or the engine's process, is on the drop copy with its
/// bank and its order; an alarm of the run is not journaled. The counters that `top` shows have the same alarms.
#[test]
fn the_log_the_desk_and_top_have_the_same_alarms() {
    let mut rig = Rig::open(SMALL, "");
    let mut follower = Follower::new(&rig.folder.join("journal"), &rig.root(), "fx-run");
    let mut desk = LiveLedger::default();
    let mut take = |desk: &mut LiveLedger| {
        let polled = follower.poll_live(&mut |published: &PublishedEntry<'_>| {
            if let Entry::Event(Event::Alarm { what, .. }, _) = published.entry {
                let is_of_run = matches!(what, Alarm::Run(_));
                assert_eq!(published.is_journaled, !is_of_run, "{what}");
            }
            desk.take(published);
        });
        polled.expect("a journal");
    };
    take(&mut desk);
    let mut other = rig.order("P1");
    let place = other.iter().position(|(tag, _)| *tag == 11);
    other[place.expect("a ClOrdID")].1 = "X-1".to_owned();
    rig.bank.fill(&other, "E1");
    rig.kill_as_guest();
    rig.bank.disconnect();
    rig.until("a session that was lost", |rig| {
        rig.trader().totals().sessions_lost == 1
    });
    rig.until("an order session", |rig| rig.bank.is_on);
    // Published at the next look at the clock.
    let until = Rig::now_ns() + 20_000_000;
    rig.until("a look", |_| Rig::now_ns() > until);
    rig.rounds(1);
    take(&mut desk);
    let rows = logged(&rig);
    for reason in ["dk_D", "ring_refused", "session_lost"] {
        let is_there = rows.iter().any(|[name, ..]| name == reason);
        assert!(is_there, "no test without {reason}: {rows:?}");
    }
    assert_eq!(shown(&desk), rows);
    let total = rig.trader().totals().alarms;
    assert_eq!(total, rows.len() as u64, "{rows:?}");
    let names: Vec<String> = rows.into_iter().map(|[name, ..]| name).collect();
    // Counters are written at intervals.
    rig.until("the counters of all", |rig| {
        counted(rig).len() >= names.len()
    });
    assert_eq!(counted(&rig), names);
}
