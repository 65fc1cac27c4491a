//! Quotes: effect of each message type, and usable quotes.

use crate::world::{World, fix};

const A: (&str, &str) = ("A", "");

#[test]
fn a_snapshot_replaces_what_its_request_set_and_nothing_else() {
    let mut world = World::up("", &[A]);
    world.quote(
        "A",
        "35=W|262=R1|55=EUR/USD|268=2|269=0|270=1.1|271=1000000|269=0|270=1.09999|271=1000000",
    );
    world.quote(
        "A",
        "35=W|262=R2|55=EUR/USD|268=1|269=0|270=1.09998|271=2000000",
    );
    assert_eq!(world.tops(), [Some((0, 1000)), None]);
    world.quote(
        "A",
        "35=W|262=R1|55=EUR/USD|268=1|269=0|270=1.09997|271=3000000",
    );
    assert_eq!(
        world.tops(),
        [Some((-2, 2000)), None],
        "the other band is there"
    );
    world.quote("A", "35=W|262=R2|55=EUR/USD|268=0");
    assert_eq!(world.tops(), [Some((-3, 3000)), None]);
}

#[test]
fn an_increment_keeps_what_it_leaves_out_and_deletes() {
    let mut world = World::up("", &[A]);
    world.quote("A", "35=X|262=R|268=2|279=0|278=1|55=EUR/USD|269=0|270=1.1|271=1000000|279=0|278=2|269=0|270=1.09999|271=5000000");
    world.quote("A", "35=X|262=R|268=1|279=1|278=1|55=EUR/USD|271=2000000");
    assert_eq!(world.tops(), [Some((0, 2000)), None], "the price stays");
    world.quote("A", "35=X|262=R|268=1|279=1|278=9|55=EUR/USD|271=2000000");
    world.quote(
        "A",
        "35=X|262=R|268=1|279=1|55=EUR/USD|269=0|270=1.2|271=2000000",
    );
    assert_eq!(
        world.tops(),
        [Some((0, 2000)), None],
        "an entry that is not known, or not named"
    );
    world.quote("A", "35=X|262=R|268=1|279=2|278=1|55=EUR/USD");
    assert_eq!(world.tops(), [Some((-1, 5000)), None]);
    assert_eq!(
        world.replay.engine().pricing().counters().entries_unknown,
        2
    );
}

/// Legal messages that were once counted as errors.
#[test]
fn a_side_of_zero_and_an_increment_without_entries_are_no_errors() {
    let mut world = World::up("", &[("A", "stale_ms = 100")]);
    world.quote(
        "A",
        "35=S|131=R|117=Q|55=EUR/USD|132=1.1|134=1000000|133=1.10002|135=1000000",
    );
    world.quote(
        "A",
        "35=S|131=R|117=Q|55=EUR/USD|132=1.1|134=1000000|133=0.000|135=1000000",
    );
    assert_eq!(world.tops(), [Some((0, 1000)), None]);
    world.at(99).quote("A", "35=X|262=R|268=0|55=EUR/USD");
    world.wait(150);
    assert_eq!(
        world.tops(),
        [Some((0, 1000)), None],
        "it is a quote message"
    );
    world.quote("A", "35=S|131=R|117=Q|55=EUR/USD|132=1.1|134=0");
    assert_eq!(world.tops(), [None, None]);
    let counters = world.replay.engine().pricing().counters();
    assert_eq!((counters.entries_refused, counters.entries_unknown), (0, 0));
}

/// A price that the bus cannot hold.
#[test]
fn a_price_beyond_the_type_of_prices_is_refused() {
    let mut world = World::up("", &[A]);
    let quote = |price: &str| format!("35=W|262=R|55=EUR/USD|268=1|269=0|270={price}|271=1000000");
    world.quote("A", &quote("9223372036.85477"));
    assert!(world.tops()[0].is_some());
    world.quote("A", &quote("9223372036.85478"));
    assert_eq!(world.tops(), [None, None]);
    assert_eq!(
        world.replay.engine().pricing().counters().entries_refused,
        1
    );
}

#[test]
fn a_side_that_a_quote_leaves_out_goes_away() {
    let mut world = World::up("", &[A]);
    world.quote(
        "A",
        "35=S|131=R|117=Q|55=EUR/USD|132=1.1|134=1000000|133=1.10002|135=1000000",
    );
    assert_eq!(world.tops(), [Some((0, 1000)), Some((2, 1000))]);
    world.quote("A", "35=S|131=R|117=Q|55=EUR/USD|133=1.10003|135=1000000");
    assert_eq!(world.tops(), [None, Some((3, 1000))]);
    world.quote("A", "35=S|131=R|117=Q|55=EUR/USD|133=1.10003|135=0");
    assert_eq!(world.tops(), [None, None], "a size of zero");
}

#[test]
fn a_mass_quote_leaves_what_it_does_not_name() {
    let mut world = World::up("", &[A]);
    world.quote(
        "A",
        "35=i|296=1|302=1|295=1|299=0|188=1.1|134=1000000|190=1.10002|135=2000000",
    );
    assert_eq!(world.tops(), [Some((0, 1000)), Some((2, 2000))]);
    world.quote("A", "35=i|296=1|302=1|295=1|299=0|188=1.09999");
    assert_eq!(
        world.tops(),
        [Some((-1, 1000)), Some((2, 2000))],
        "the ask and the size stay"
    );
    world.quote("A", "35=i|296=1|302=7|295=1|299=0|188=1.09|134=1");
    world.quote("A", "35=i|296=1|302=1|295=1|299=5|188=1.2");
    assert_eq!(
        world.tops(),
        [Some((-1, 1000)), Some((2, 2000))],
        "no such pair, no size"
    );
}

#[test]
fn canceled_quotes_go_away() {
    let withdrawals = [
        "35=Z|298=4",
        "35=Z|298=1|295=1|55=EUR/USD",
        "35=Z|298=5|117=Q",
        "35=AI|297=4",
        "35=AI|297=7|117=Q",
        // An int may have zeros before it.
        "35=Z|298=04",
        "35=Z|298=01|295=1|55=EUR/USD",
        "35=AI|297=05|117=Q",
        "35=AI|297=11|55=EUR/USD",
    ];
    for withdrawal in withdrawals {
        let mut world = World::up("", &[A]);
        world.quote("A", "35=S|131=R|117=Q|55=EUR/USD|132=1.1|134=1000000");
        world
            .quote("A", "35=AI|297=0|117=Q")
            .quote("A", "35=Z|298=5|117=P");
        assert!(world.tops()[0].is_some());
        world.quote("A", withdrawal);
        assert_eq!(world.tops(), [None, None], "{withdrawal}");
    }
}

#[test]
fn indicative_quotes_do_not_count() {
    for quote in [
        "35=S|131=R|117=Q|55=EUR/USD|537=0|132=1.1|134=1000000",
        "35=S|131=R|117=Q|55=EUR/USD|537=00|132=1.1|134=1000000",
        "35=W|262=R|55=EUR/USD|1070=00|268=1|269=0|270=1.1|271=1000000",
        "35=W|262=R|55=EUR/USD|268=1|269=0|270=1.1|271=1000000|1070=00",
        "35=W|262=R|55=EUR/USD|1070=0|268=1|269=0|270=1.1|271=1000000",
        "35=W|262=R|55=EUR/USD|268=1|269=0|270=1.1|271=1000000|1070=0",
        "35=W|262=R|55=EUR/USD|268=1|269=0|270=1.1|271=1000000|276=A B",
    ] {
        assert_eq!(
            World::up("", &[A]).quote("A", quote).tops(),
            [None, None],
            "{quote}"
        );
    }
}

#[test]
fn a_quote_is_gone_at_the_earlier_of_its_ends() {
    let quote = "35=S|131=R|117=Q|55=EUR/USD|132=1.1|134=1000000|62=20260105-09:00:02.000";
    for (bank, end_ms) in [("", 2000), ("ttl_ms = 500", 500), ("ttl_ms = 5000", 2000)] {
        let mut world = World::up("", &[("A", bank)]);
        world.quote("A", quote);
        world.wait(end_ms - 1);
        assert!(world.tops()[0].is_some(), "{bank}");
        world.wait(end_ms);
        assert_eq!(world.tops(), [None, None], "{bank}");
    }
}

#[test]
fn a_quote_whose_end_is_stated_as_none_has_none() {
    for (end, is_one) in [
        ("99991231-23:59:59", true),
        ("22620101-00:00:00.000", true),
        ("00000000-00:00:00", true),
        ("00010101-00:00:00", false),
        ("99991331-23:59:59", false),
    ] {
        let mut world = World::up("", &[A]);
        let quote = format!("35=S|131=R|117=Q|55=EUR/USD|132=1.1|134=1000000|62={end}");
        world.quote("A", &quote).wait(1_000_000);
        assert_eq!(world.tops()[0].is_some(), is_one, "{end}");
    }
}

#[test]
fn a_silent_bank_does_not_count_until_it_is_heard() {
    let mut world = World::up("", &[("A", "silence_ms = 1000")]);
    world.book("A", &[(0, 1000)], &[]).wait(999);
    assert!(world.tops()[0].is_some());
    world.wait(1000);
    assert_eq!(world.tops(), [None, None]);
    world.at(1500).quote("A", "35=0");
    assert!(
        world.tops()[0].is_some(),
        "a heartbeat brings the old quotes back"
    );
    world.wait(2500);
    assert_eq!(world.tops(), [None, None]);
}

#[test]
fn a_stale_pair_does_not_count_until_it_is_quoted() {
    let mut world = World::up("", &[("A", "stale_ms = 1000")]);
    world.book("A", &[(0, 1000)], &[]).wait(999);
    assert!(world.tops()[0].is_some());
    world.at(1000).quote("A", "35=0");
    assert_eq!(world.tops(), [None, None], "a heartbeat is no quote");
    world
        .at(1100)
        .quote("A", "35=X|268=1|279=2|278=X|55=EUR/USD");
    assert!(world.tops()[0].is_some());
}

#[test]
fn an_inverted_bank_does_not_count() {
    let mut world = World::up("", &[A, ("B", "")]);
    world.book("B", &[(-5, 1000)], &[(5, 1000)]);
    world.book("A", &[(1, 1000)], &[(1, 1000)]);
    assert_eq!(
        world.tops(),
        [Some((1, 1000)), Some((1, 1000))],
        "a choice price is fine"
    );
    world.book("A", &[(2, 1000)], &[(1, 1000)]);
    assert_eq!(world.tops(), [Some((-5, 1000)), Some((5, 1000))]);
}

#[test]
fn a_session_that_comes_or_goes_takes_its_quotes_along() {
    for event in ["A.q !down", "A.q !up"] {
        let mut world = World::up("", &[A]);
        world.book("A", &[(0, 1000)], &[]).line(event);
        assert_eq!(world.tops(), [None, None], "{event}");
        world.line("A.q !up");
        assert_eq!(world.tops(), [None, None], "{event}");
    }
    let mut world = World::up("", &[A]);
    world.line("A.q !down").book("A", &[(0, 1000)], &[]);
    assert_eq!(world.replay.engine().pricing().counters().session_down, 1);
    world.line("A.q !up");
    assert_eq!(world.tops(), [None, None], "what came while it was down");
}

#[test]
fn quotes_that_are_no_deal_are_absent_and_counted() {
    let entry = |price: &str, size: &str, more: &str| {
        format!("35=W|262=R|55=EUR/USD|268=1|269=0|270={price}|271={size}{more}")
    };
    for wrong in [
        entry("1.100005", "1000000", ""),
        entry("x", "1000000", ""),
        entry("-1.1", "1000000", ""),
        entry("0", "1000000", ""),
        entry("1.1", "0", ""),
        entry("1.1", "-5", ""),
        entry("1.1", "1000000.5", ""),
        entry("99999999999999999999", "1000000", ""),
        entry("1.1", "99999999999999999999", ""),
        entry("1.1", "1000000", "|64=20260109"),
        entry("1.1", "1000000", "|63=2"),
        entry("1.1", "1000000", "|126=soon"),
        entry("1.1", "1000000", "|110=x"),
    ] {
        let mut world = World::up("", &[A]);
        world.quote("A", &entry("1.1", "1000000", ""));
        assert!(world.tops()[0].is_some());
        world.quote("A", &wrong);
        assert_eq!(world.tops(), [None, None], "{wrong}");
        assert_eq!(
            world.replay.engine().pricing().counters().entries_refused,
            1,
            "{wrong}"
        );
    }
    let mut world = World::up("", &[A]);
    world.quote("A", &entry("1.1", "1000000", "|63=0|64=20260107"));
    assert!(world.tops()[0].is_some(), "spot");
}

/// A field of the message that is behind the entries looks like one of the last entry: it is of all of them, unless another entry has it, too.
#[test]
fn fields_behind_the_entries_hold_for_all_of_them() {
    let book = |first: &str, behind: &str| {
        format!(
            "35=W|262=R|55=EUR/USD|268=2|269=0|270=1.1|271=1000000{first}|269=1|270=1.2|271=1000000{behind}"
        )
    };
    for (first, behind, expected) in [
        ("", "", [true, true]),
        ("", "|64=20260107", [true, true]),
        // No date.
        ("", "|64=00000000", [true, true]),
        ("", "|64=20260301", [false, false]),
        ("", "|63=6", [false, false]),
        ("", "|1070=0", [false, false]),
        // An entry may have its own end.
        ("", "|126=20260105-09:00:00.001", [true, false]),
        ("|64=20260107", "|64=20260301", [true, false]),
        ("|1070=1", "|1070=0", [true, false]),
    ] {
        let mut world = World::up("", &[A]);
        world.quote("A", &book(first, behind)).wait(1_000);
        let tops = world.tops().map(|top| top.is_some());
        assert_eq!(tops, expected, "{first} {behind}");
    }
}

/// A message with a field twice in one place, or with other entries than it states, has no effect: a book that is perhaps cut off is not the
/// whole one.
#[test]
fn a_message_of_another_form_changes_nothing() {
    let entry = "269=0|270=1.09|271=1000000";
    let change = "279=1|278=1|269=0|270=1.09|271=1000000";
    for wrong in [
        format!("35=W|262=R|55=EUR/USD|268=4|{entry}|{entry}"),
        format!("35=W|262=R|55=EUR/USD|268=1|{entry}|{entry}"),
        format!("35=W|262=R|55=EUR/USD|268=0|{entry}"),
        format!("35=W|262=R|55=EUR/USD|{entry}"),
        format!("35=W|262=R|55=EUR/USD|270=1|268=1|{entry}"),
        format!("35=W|262=R|55=EUR/USD|268=1|268=1|{entry}"),
        format!("35=W|262=R|55=EUR/USD|268=1|{entry}|270=1.08"),
        format!("35=W|262=R|55=EUR/USD|55=USD/JPY|268=1|{entry}"),
        "35=W|262=R|55=EUR/USD|268=x".to_owned(),
        "35=W|262=R|55=EUR/USD".to_owned(),
        format!("35=X|262=R|55=EUR/USD|{change}"),
        format!("35=X|262=R|55=EUR/USD|268=2|{change}"),
        format!("35=X|262=R|55=EUR/USD|268=1|{change}|55=USD/JPY|55=EUR/USD"),
        "35=S|131=R|117=Q|55=EUR/USD|132=1.09|134=1000000|132=1.08".to_owned(),
        "35=i|296=1|302=1|295=2|299=0|188=1.09|134=1000000".to_owned(),
        "35=i|296=2|302=1|295=1|299=0|188=1.09|134=1000000".to_owned(),
        "35=i|296=1|302=1|299=0|188=1.09|134=1000000".to_owned(),
        "35=i|296=1|302=1|295=2|299=0|188=1.09|302=2|295=1|299=1".to_owned(),
        "35=i|302=1|295=1|299=0|188=1.09|134=1000000".to_owned(),
        "35=i|296=1|302=1|295=1|299=0|188=1.09|134=1000000|188=1.08".to_owned(),
    ] {
        let mut world = World::up("", &[A]);
        world.quote(
            "A",
            "35=W|262=R|55=EUR/USD|268=1|269=0|278=1|270=1.1|271=1000000",
        );
        world.quote("A", &wrong);
        assert_eq!(world.tops(), [Some((0, 1000)), None], "{wrong}");
        let counters = world.replay.engine().pricing().counters();
        assert_eq!(counters.malformed, 1, "{wrong}");
    }
}

#[test]
fn a_damaged_message_changes_nothing() {
    let mut world = World::up("", &[A]);
    world.book("A", &[(0, 1000)], &[]);
    let sound = fix("35=Z|298=4");
    let empty_field = fix("35=Z|58=|298=4");
    for wrong in [
        sound.replace("9=", "9=1"),
        sound.replace("298=4", "298=3"),
        empty_field,
        "8=FIX.4.4".into(),
    ] {
        world.line(&format!("A.q {wrong}"));
        assert!(world.tops()[0].is_some(), "{wrong}");
    }
    assert_eq!(world.replay.engine().pricing().counters().malformed, 4);
    world.line(&format!("A.q {sound}"));
    assert_eq!(world.tops(), [None, None]);
}

#[test]
fn sizes_are_cut_to_lots_and_bands_are_not_added_up() {
    let mut world = World::up("", &[A, ("F", "kind = \"full\"")]);
    world.quote(
        "A",
        "35=W|262=R|55=EUR/USD|268=2|269=0|270=1.1|271=1000900|269=0|270=1.1|271=1000900",
    );
    assert_eq!(world.tops()[0], Some((0, 2000)));
    world.book("F", &[(0, 1500), (0, 1800)], &[]);
    assert_eq!(
        world.tops()[0],
        Some((0, 2000)),
        "bands are not added to amounts, nor to each other"
    );
    world.book("F", &[(0, 1500), (0, 2500)], &[]);
    assert_eq!(world.tops()[0], Some((0, 2500)));
}

#[test]
fn ten_thousand_entries_and_the_same_id_twice_are_taken_as_they_are() {
    let mut world = World::up("", &[A]);
    let mut body = "35=W|262=R|55=EUR/USD|268=10000".to_owned();
    for number in 0..10_000 {
        body += &format!("|269=0|278=E{number}|270=1.1|271=1000");
    }
    world.quote("A", &body);
    assert_eq!(world.tops()[0], Some((0, 10_000)));
    world.quote(
        "A",
        "35=W|262=R|55=EUR/USD|268=2|269=0|278=E|270=1.1|271=1000|269=0|278=E|270=1.09999|271=2000",
    );
    assert_eq!(world.tops()[0], Some((-1, 2)), "the second is the entry");
    let long = "x".repeat(65);
    world.quote(
        "A",
        &format!("35=W|262=R|55=EUR/USD|268=1|269=0|278={long}|270=1.1|271=1000"),
    );
    assert_eq!(
        (
            world.tops()[0],
            world.replay.engine().pricing().counters().ids_refused
        ),
        (None, 1)
    );
}

#[test]
fn composites_are_published_when_they_differ() {
    let mut world = World::up("", &[A]);
    assert_eq!(
        world.composites().len(),
        2,
        "every pair after the first input, empty"
    );
    world.book("A", &[(0, 1000)], &[(2, 2000)]);
    assert_eq!(
        world.composites(),
        [format!(
            "{{\"t\":{},\"pair\":\"EUR/USD\",\"state\":\"normal\",\"bid\":[\"1.1\",1000000,[\"A\"]],\
             \"ask\":[\"1.10002\",2000000,[\"A\"]],\"sizes\":[[1000000,\"1.1\",\"1.10002\"],[3000000,null,null]]}}",
            crate::world::START_NS
        )]
    );
    world
        .book("A", &[(0, 1000)], &[(2, 2000)])
        .quote("A", "35=0");
    assert!(world.composites().is_empty());
}

#[test]
fn conflated_composites_are_published_at_multiples_of_the_period() {
    let mut world = World::up("conflate_ms = 100", &[A]);
    world
        .at(10)
        .book("A", &[(0, 1000)], &[])
        .at(20)
        .book("A", &[(1, 1000)], &[]);
    assert!(world.composites().is_empty());
    world.at(150).book("A", &[(2, 1000)], &[]);
    let lines = world.composites();
    assert_eq!(lines.len(), 2, "both pairs, once");
    assert!(
        lines[0].starts_with("{\"t\":1767603600100000000,\"pair\":\"EUR/USD\""),
        "{lines:?}"
    );
    assert!(
        lines[0].contains("[\"1.10001\",1000000,"),
        "as of that time: {lines:?}"
    );
}
