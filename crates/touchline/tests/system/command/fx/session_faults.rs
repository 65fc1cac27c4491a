//! Faults of an order session on the wire: a gap, a wrong checksum, a repeated report, a number that is too low. Each has its
//! documented answer and its log line.

use super::full_disk::{counter, logged};
use super::live::end;
use super::trade_hostile::{ENGINE, assert_lines, lines, open, order};
use crate::command::until;
use touchline_lab::bank::scripted::{Damage, Fields, acknowledged, trade, value};

const ALARM: &str = "WARN fx_alarm bus=fx-run ";

/// A lost message is a gap and one with a wrong checksum is skipped: both are requested again when the next message comes, and
/// everything is booked once. The log has one line for each.
#[test]
fn messages_that_are_lost_or_garbled_are_told_and_requested_again() {
    let (market, bank) = open("fx-gap");
    let engine = logged(&market.desk, ENGINE, "engine");
    let damages = [(Damage::Lost, "G"), (Damage::Checksum, "C")];
    for (fills, (damage, name)) in damages.into_iter().enumerate() {
        let order = order(&market, &bank);
        bank.send_damaged("8", &acknowledged(&order, name, "0"), damage);
        // Two messages behind the gap.
        bank.send("8", &trade(&order, &format!("{name}1"), &[]));
        bank.send(
            "8",
            &trade(&order, &format!("{name}2"), &[(11, "T-none-1")]),
        );
        assert_eq!(value(&bank.next("Q"), 17), format!("{name}2"));
        until("a fill", || {
            counter(&market.desk, "fx_fills") == fills as u64 + 1
        });
        let gap = [ALARM, "reason=sequence_gap bank=LP01 "];
        assert_lines(&market, &gap, fills + 1);
    }
    assert_lines(&market, &[ALARM, "reason=garbled bank=LP01 "], 1);
    assert_eq!(counter(&market.desk, "fx_messages_garbled"), 1);
    // Requested reports came marked as repeated, and no report came twice.
    assert_eq!(lines(&market, &["reason=report_repeated"]), 0);
    end(engine);
    let text = market.desk.read("engine.txt");
    assert!(
        text.contains(" 6 reports, 2 fills,") && text.contains("\"position\":4000}"),
        "{text}"
    );
}

/// A report that comes again without PossDupFlag or PossResend is ignored, counted, and one line a minute; one with a mark is
/// ignored.
#[test]
fn a_report_that_is_repeated_without_a_mark_is_counted_and_told_once() {
    let (market, bank) = open("fx-repeated");
    let engine = logged(&market.desk, ENGINE, "engine");
    let order = order(&market, &bank);
    let report = trade(&order, "R1", &[]);
    bank.send("8", &report);
    let mut marked = vec![(97, "Y".to_owned())];
    marked.extend(report.clone());
    bank.send("8", &marked);
    for _ in 0..3 {
        bank.send("8", &report);
    }
    until("all reports", || counter(&market.desk, "fx_reports") == 5);
    assert_eq!(counter(&market.desk, "fx_reports_repeated"), 3);
    let told = ["reason=report_repeated bank=LP01 ", "17=R1"];
    assert_lines(&market, &told, 1);
    end(engine);
    let text = market.desk.read("engine.txt");
    assert!(
        text.contains(" 1 fills,") && text.contains("\"position\":2000}"),
        "{text}"
    );
}

/// A number that is too low and not marked ends the session: the engine logs out with both numbers and connects again with its
/// own, and asks for its open order.
#[test]
fn a_number_that_is_too_low_ends_the_session_and_open_orders_are_asked_for() {
    let (market, bank) = open("fx-low");
    let engine = logged(&market.desk, ENGINE, "engine");
    let order = order(&market, &bank);
    let id = value(&order, 11);
    bank.send_numbered(1, "8", &trade(&order, "L1", &[]));
    let logout = bank.next("5");
    let text = value(&logout, 58);
    assert!(
        text.starts_with("MsgSeqNum too low, expecting ") && text.ends_with(" but received 1"),
        "{text}"
    );
    let mut asked = bank.next("H");
    while value(&asked, 11) != id {
        asked = bank.next("H");
    }
    let lost = [ALARM, "reason=session_lost bank=LP01 ", "too low"];
    assert_lines(&market, &lost, 1);
    // The trade was not taken under that number, and is under the next one.
    let request = value(&asked, 790);
    let status = [(150, "I"), (32, ""), (31, ""), (790, request)];
    bank.send("8", &trade(&order, "L2", &status));
    until("a fill", || counter(&market.desk, "fx_fills") == 1);
    end(engine);
    let text = market.desk.read("engine.txt");
    assert!(text.contains("\"position\":2000}"), "{text}");
}

/// A bank that reports orders that the engine never sent is disconnected before it fills the journal and the log.
#[test]
fn a_flood_of_foreign_reports_ends_the_session() {
    let (market, bank) = open("fx-flood");
    let engine = logged(&market.desk, ENGINE, "engine");
    // Each of these orders raises the limit of reports, by ten.
    const ORDERS: u64 = 20;
    let mut last = Fields::new();
    for number in 1..=ORDERS {
        last = order(&market, &bank);
        bank.send("8", &trade(&last, &format!("X{number}"), &[]));
        until("a fill", || counter(&market.desk, "fx_fills") == number);
    }
    let order = last;
    for number in 0..1_000 {
        let name = format!("F{number}");
        bank.send("8", &trade(&order, &name, &[(11, "T-none-1")]));
    }
    until("the end of the session", || {
        counter(&market.desk, "fx_report_floods") == 1
    });
    let reports = counter(&market.desk, "fx_reports");
    assert!(reports <= ORDERS + 200 + 10 * ORDERS + 5, "{reports}");
    for (reason, count) in [
        ("dk_D", 10),
        ("foreign_reports", 1),
        ("report_flood", 1),
        ("session_lost", 1),
    ] {
        assert_lines(&market, &[&format!("reason={reason} bank=LP01 ")], count);
    }
    end(engine);
    let text = market.desk.read("engine.txt");
    let position = format!("\"position\":{}}}", 2_000 * ORDERS);
    assert!(text.contains(&position), "{text}");
}

/// Test requests are answered, and each answer is a number in the journal: a flood of them ends the session. Rejects are lines one by
/// one, and then at intervals.
#[test]
fn floods_of_session_messages_fill_neither_journal_nor_log() {
    let (market, bank) = open("fx-flood-session");
    let engine = logged(&market.desk, ENGINE, "engine");
    let order = order(&market, &bank);
    bank.send("8", &trade(&order, "F", &[]));
    until("a fill", || counter(&market.desk, "fx_fills") == 1);
    for _ in 0..100 {
        bank.send("3", &vec![(45, "1".to_owned()), (58, "x".to_owned())]);
    }
    until("the end of the session", || {
        for _ in 0..50 {
            bank.send("1", &vec![(112, "x".to_owned())]);
        }
        counter(&market.desk, "fx_report_floods") == 1
    });
    for (reason, count) in [("rejected", 11), ("report_flood", 1), ("session_lost", 1)] {
        assert_lines(&market, &[&format!("reason={reason} bank=LP01 ")], count);
    }
    end(engine);
    let text = market.desk.read("engine.txt");
    assert!(text.contains("\"position\":2000}"), "{text}");
}

/// A bank that skips messages may have skipped a report: the order that it may be about is asked for.
#[test]
fn messages_that_a_bank_skips_are_told_and_its_orders_asked_for() {
    let (market, bank) = open("fx-skipped");
    let engine = logged(&market.desk, ENGINE, "engine");
    let order = order(&market, &bank);
    let skip = [(123, "Y".to_owned()), (36, "900".to_owned())];
    bank.send("4", &skip.to_vec());
    let asked = bank.next("H");
    assert_eq!(value(&asked, 11), value(&order, 11));
    let told = [ALARM, "reason=reports_skipped bank=LP01 ", "to 899"];
    until("the alarm", || lines(&market, &told) == 1);
    until("an unknown order", || {
        counter(&market.desk, "fx_orders_unknown") == 1
    });
    // The order still counts as filled, and its answer books it.
    let status = [(150, "I"), (32, ""), (31, ""), (790, value(&asked, 790))];
    bank.send_numbered(900, "8", &trade(&order, "S1", &status));
    until("a fill", || counter(&market.desk, "fx_fills") == 1);
    end(engine);
    let text = market.desk.read("engine.txt");
    assert!(text.contains("\"position\":2000}"), "{text}");
}
