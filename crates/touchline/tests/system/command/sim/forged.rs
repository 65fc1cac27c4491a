//! Forged and old packets, clock steps, a restarted exchange.

use super::{Ears, Exchange, count};
use crate::command::Desk;
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::cme::header::{number, sending_time};

#[test]
fn forged_and_old_packets_are_sent_once_and_printed() {
    let desk = Desk::new("sim-forged");
    let mut ears = Ears::open(&desk);
    let mut exchange = Exchange::start(
        &desk,
        "--commands --events-per-second 200 --instruments 3 --truth-books b --fault forge~a~5000000~-86400 --fault clock~3600",
    );
    ears.hear_until(|arrivals| count(arrivals, Feed::Incremental, Line::A) > 100);
    let incremental = |ears: &Ears, line| -> Vec<Vec<u8>> {
        let of = |arrival: &&Arrival| (arrival.feed, arrival.line) == (Feed::Incremental, line);
        let packets = ears.arrivals.iter().filter(of);
        packets.map(|arrival| arrival.payload.clone()).collect()
    };
    let packets = incremental(&ears, Line::A);
    assert_eq!([number(&packets[0]), number(&packets[1])], [5_000_000, 1]);
    // The forged packet is a day off the stepped clock.
    let [forged_ns, first_ns] = [&packets[0], &packets[1]].map(|payload| sending_time(payload));
    let apart_s = (first_ns - forged_ns) / 1_000_000_000;
    assert!((86_400..86_410).contains(&apart_s), "{apart_s}");
    let heard = ears
        .arrivals
        .iter()
        .find(|arrival| arrival.payload == packets[1]);
    let hour_ns = first_ns.saturating_sub(heard.expect("it was heard").time_ns);
    assert!(
        (3_500_000_000_000..=3_600_000_000_000).contains(&hour_ns),
        "{hour_ns}"
    );

    let said = exchange.say("forge b 4000000000 30");
    let said = said
        .strip_prefix("ok: heartbeat 4000000000 of i, sending time ")
        .expect(&said);
    let sent_ns: u64 = said.parse().expect("a time");
    let is_it =
        |payload: &[u8]| number(payload) == 4_000_000_000 && sending_time(payload) == sent_ns;
    ears.hear_until(|arrivals| arrivals.iter().any(|arrival| is_it(&arrival.payload)));
    assert!(
        !incremental(&ears, Line::A)
            .iter()
            .any(|payload| is_it(payload)),
        "on line B alone"
    );

    let said = exchange.say("old a 5 i");
    assert!(
        said.starts_with("ok: 5 of i, 1 to 5, sending times "),
        "{said}"
    );
    ears.hear_until(|arrivals| {
        let first = arrivals
            .iter()
            .filter(|arrival| arrival.payload == packets[5]);
        first.count() > 2
    });
    let packets = incremental(&ears, Line::A);
    let again = packets
        .iter()
        .rposition(|payload| number(payload) == 1)
        .expect("sent again");
    assert_eq!(packets[again..again + 5], packets[1..6], "byte for byte");

    let said = exchange.say("forge-snapshot a 4294967280 0 smbo");
    assert!(
        said.starts_with("ok: packet 1 of smbo, LastMsgSeqNumProcessed 4294967280, sending time "),
        "{said}"
    );
    assert_eq!(
        exchange.say("clock -3600.5"),
        "ok: the exchange's clock is -0.5 s off this host's"
    );
    assert_eq!(exchange.say("rate 0"), "ok");
    let said = exchange.say("restart -60");
    let (last, clock) = said.split_once(" was the last one; ").expect(&said);
    assert_eq!(clock, "the exchange's clock is -60 s off this host's");
    let last: u32 = last
        .strip_prefix("ok: packet ")
        .expect(&said)
        .parse()
        .expect("a number");
    let said = exchange.say("old b 1 i");
    assert!(
        said.starts_with(&format!("ok: 1 of i, {last} to {last}, ")),
        "{said}"
    );
    let said = exchange.say("truth");
    let now: u32 = said
        .strip_prefix("ok: expected books after packet ")
        .expect(&said)
        .parse()
        .expect("a number");
    assert!(now < last, "numbers start again: {said}");
    let refused = exchange.say("forge a ++1 0");
    assert!(
        refused.starts_with("refused: `forge a ++1 0`: NUMBER is `++1`"),
        "{refused}"
    );
    assert_eq!(exchange.say("quit"), "ok");
    let summary = exchange.end(&mut ears);
    for line in [
        "\n  forge                            1             1",
        "\n  forge-snapshot                   1             0",
        "\n  old                              5             1",
        "\nthe exchange started again 1 time\n",
    ] {
        assert!(summary.contains(line), "{line}: {summary}");
    }
}
