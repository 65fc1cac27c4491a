//! Gap fills of a bank.

use super::*;

/// A gap fill that answers our request stands for its own number, too: one of a single number may hide a fill. That of the Logon, and a
/// gap fill that is sent as a new message, hide nothing.
#[test]
fn a_gap_fill_of_one_number_is_a_skip() {
    const AGAIN: (u32, &str) = (43, "Y");
    let skipped = |first, last| Said::Skipped(Gap::new(first, last, true));
    for (fill, next, expected) in [
        (57, "58", vec![skipped(57, 57)]),
        (57, "59", vec![skipped(57, 58)]),
        (57, "61", vec![skipped(57, 60)]),
        (58, "59", vec![Said::Message]),
    ] {
        let mut rig = Rig::with("", Numbers::new(1, 57));
        rig.log_on(58);
        assert_eq!(rig.said(), [Said::Up(false)]);
        let at = "20260105-08:00:00";
        if fill == 58 {
            rig.put(57, "8", &[&[AGAIN, (122, at)], &REPORT[..]].concat());
        }
        rig.put(fill, "4", &[AGAIN, (122, at), (123, "Y"), (36, next)]);
        assert_eq!(rig.said(), expected, "{fill} {next}");
        assert!(rig.session.is_whole());
        let (_, number) = rig.session.numbers();
        // Behind it the same in the session.
        rig.put(number + 1, "0", &[]);
        assert_eq!(rig.said(), [gap(number, number, false)]);
        let behind = (number + 1).to_string();
        rig.put(number, "4", &[AGAIN, (122, at), (123, "Y"), (36, &behind)]);
        let lost = Said::Skipped(Gap::new(number, number, false));
        assert_eq!(rig.said(), [lost]);
        let behind = (number + 3).to_string();
        rig.put(number + 2, "4", &[(123, "Y"), (36, &behind)]);
        assert_eq!(rig.said(), []);
        assert_eq!(rig.session.numbers().1, number + 3);
    }
}
