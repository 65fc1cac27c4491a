//! Messages whose header differs from that of the others.

use super::*;

/// A report that was under way while the process stood still is used: a rejected one would count as received.
#[test]
fn a_report_of_an_old_time_is_used() {
    let mut rig = Rig::open();
    rig.log_on(1);
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.put(2, "8", &REPORT);
    rig.time.wall_ns += 600 * SECOND_NS;
    rig.time.mono_ns += 600 * SECOND_NS;
    assert_eq!(rig.said(), [Said::Message]);
}

/// A report of another version is not used, and counts as received: the session says so, as of each rejected report.
#[test]
fn a_report_of_another_version_is_told() {
    let mut rig = Rig::open();
    rig.log_on(1);
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.put_of(("FIX.4.2", "A"), 2, "8", &REPORT);
    assert_eq!(rig.said(), [invalid("34=2 17=X1")]);
}

/// A message with the CompID of another session is rejected, and the session logs out.
#[test]
fn a_message_of_another_session_is_rejected_and_ends_this_one() {
    let mut rig = Rig::open();
    rig.log_on(1);
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.put_as("B", 2, "8", &REPORT);
    assert_eq!(rig.said(), [invalid("34=2 17=X1")]);
    rig.put(3, "5", &[]);
    assert_eq!(rig.said(), []);
    rig.time.mono_ns += 2 * FLUSH_NS;
    let down = Said::Down {
        why: "logout".to_owned(),
        numbers: None,
        retry_ms: Some(100),
    };
    assert_eq!(rig.said(), [down]);
}
