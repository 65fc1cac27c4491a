//! A session outside its hours: no connection, and no failure.

use super::*;
use touchline_fx_days::{Days, Hours, Schedule};

/// Monday, 5 January 2026, 22:00 UTC: 17:00 in New York.
const END_NS: u64 = 1_767_650_400_000 * MILLISECOND;
const START_NS: u64 = END_NS + 240_000 * MILLISECOND;

fn hours(start: &str) -> Hours {
    let days = Days::read("SUN MON TUE WED THU").expect("days");
    Hours::new(Schedule::new("America/New_York", start, "17:00", days).expect("hours"))
}

/// Takes the incidents so far, each the end of a session.
fn closed(transport: &mut TestTransport) -> Vec<u64> {
    let incidents = std::mem::take(&mut transport.others).into_iter();
    incidents
        .map(|incident| match incident {
            Incident::SessionClosed { until_ns } => until_ns,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_session_outside_its_hours_has_no_connection_and_no_failure() {
    let venue = listener();
    let dial = dial(vec![plain(name(&venue))]);
    let mut transport = TestTransport::with_hours(dial, 3, Some(hours("17:04")));
    transport.wall_ns = Some(END_NS);
    transport.pass(10 * BACKOFF_MS_MAX);
    assert_eq!(transport.counter("connection_closed_until"), START_NS);
    assert_eq!(transport.counter("sessions_ended_by_hours"), 0);
    assert_eq!(transport.counter("connections_failed"), 0);
    assert!(venue.accept().is_err(), "it connects outside its hours");
    transport.wall_ns = Some(START_NS);
    drop(transport.until_accepted(&venue));
    assert_eq!(transport.counter("connection_closed_until"), 0);
    transport.until("a loss", |transport| {
        transport.counter("connections_lost") == 1
    });
    // A connection without a Logon is closed at the end.
    let stream = transport.until_accepted(&venue);
    transport.wall_ns = Some(END_NS + 86_400_000 * MILLISECOND);
    transport.pass(10);
    transport.pass(3_000);
    assert_eq!(transport.counter("connected"), 0);
    assert_eq!(transport.counter("connections_closed"), 1);
    assert_eq!(transport.counter("connections_lost"), 1);
    drop(stream);
    assert_eq!(transport.counter("sessions_ended_by_hours"), 1);
    let expected = [START_NS, START_NS + 86_400_000 * MILLISECOND];
    assert_eq!(closed(&mut transport), expected);
}

/// It waits for the end of the Logouts, or for as long as they may take.
#[test]
fn a_session_that_another_one_follows_at_once_is_closed_and_connects_again() {
    let venue = listener();
    let dial = dial(vec![plain(name(&venue))]);
    let mut transport = TestTransport::with_hours(dial, 3, Some(hours("17:00")));
    transport.wall_ns = Some(END_NS - MILLISECOND);
    let first = transport.until_accepted(&venue);
    transport.wall_ns = Some(END_NS);
    transport.pass(10);
    transport.pass(3_000);
    let second = transport.until_accepted(&venue);
    assert_eq!(transport.counter("connections_closed"), 1);
    assert_eq!(transport.counter("connections_lost"), 0);
    assert_eq!(transport.counter("connections_failed"), 0);
    assert_eq!(transport.counter("connection_closed_until"), 0);
    assert_eq!(transport.counter("sessions_ended_by_hours"), 1);
    assert_eq!(closed(&mut transport), [END_NS]);
    drop((first, second));
}
