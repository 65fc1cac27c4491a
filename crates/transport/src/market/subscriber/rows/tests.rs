//! Rows of a subscriber.

use super::*;

/// The tables may be ahead of the ring: for a moment, or for ever if the publisher died between them and the message.
#[test]
fn the_end_of_a_dead_publishers_ring_is_the_end() {
    for (position, is_over, has_caught_up) in [
        (7_920, false, false),
        (8_000, false, true),
        (7_920, true, true),
    ] {
        let mut rows = Rows::new(false, false, 0);
        rows.begin_images(8_000, None);
        assert_eq!(rows.has_caught_up(position, is_over), has_caught_up);
        assert_eq!(rows.has_caught_up(8_000, is_over), !has_caught_up, "once");
    }
}
