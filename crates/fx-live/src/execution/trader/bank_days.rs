//! Tests of banks' days: the credit of a bank, the days that a stopped process has missed, and orders near the end of a session.

use super::carry::Core;
use super::rig::{Host, Nothing, SECOND_NS, engine, order, show, show_received};
use crate::execution::config::Config;
use crate::execution::config::tests::text;
use crate::execution::order_session::{Said, Turn};
use touchline_fx::commands;
use touchline_fx::config::Credit;
use touchline_fx::input::{Input, Session};
use touchline_fx_events::command::Command;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::event::Event;
use touchline_types::{Id, ReceiveTime};

/// The week of New York, whose sessions end four minutes before the next one starts.
const HOURS: &str = "[sessions.schedule]\nzone = \"America/New_York\"\nstart = \"17:04\"\nend = \"17:00\"\n\
                     days = [\"SUN\", \"MON\", \"TUE\", \"WED\", \"THU\"]\n";
/// Monday, 5 January 2026, 22:00 UTC: the end of Sunday's session, and New York's roll.
const END_NS: u64 = 1_767_650_400 * SECOND_NS;
const START_NS: u64 = END_NS + 240 * SECOND_NS;
const DAY_NS: u64 = 86_400 * SECOND_NS;

const MS: u64 = 1_000_000;

type Engine = Core<Host, Nothing>;

/// An engine with calendars whose bank has these settings of its session, at noon of that Monday.
fn with_days(session: &str) -> Engine {
    with_text(&format!("{}{session}[calendars]\n", text()))
}

fn with_text(text: &str) -> Engine {
    let noon_ns = END_NS - 10 * 3_600 * SECOND_NS;
    let mut core = engine(text, [Nothing]);
    let config = Config::parse(text).expect("a configuration");
    let rolls = config.rolls().expect("calendars");
    let setup = config.setup().expect("a setup");
    core.set_days(rolls, &setup);
    core.engine.hold(false);
    go_to(&mut core, noon_ns);
    core
}

/// A round at a time without input.
fn go_to(core: &mut Engine, now_ns: u64) -> ReceiveTime {
    let time = core.time(now_ns, now_ns);
    core.wake(time);
    let wall = core.wall(time);
    while let Some(turn) = core.banks[0].session.turn(wall) {
        core.turned(0, turn, time);
    }
    time
}

fn buy(core: &mut Engine, id: &str, time: ReceiveTime) {
    let parent = commands::desk(core.engine.setup(), &Command::Parent(order(id, 1_000)));
    let parent = parent.expect("no command for a standby");
    core.handle(time, &Input::Desk(parent));
}

/// Number of orders that were made.
fn orders(core: &Engine) -> usize {
    core.engine.trading().orders().iter().count()
}

/// The credit of a bank with hours begins with its session, that of another bank with New York's trade date.
#[test]
fn the_credit_of_a_bank_begins_with_its_own_day() {
    for (session, before, at_roll, at_start) in [
        ("", 20_260_105, 20_260_106, 20_260_106),
        (HOURS, 20_260_105, 20_260_105, 20_260_106),
    ] {
        let mut core = with_days(session);
        let day = |core: &Engine| core.engine.trading().bank_day(0);
        assert_eq!(day(&core), before, "{session}");
        go_to(&mut core, END_NS);
        assert_eq!(day(&core), at_roll, "{session}");
        go_to(&mut core, START_NS - 1);
        assert_eq!(day(&core), at_roll, "{session}");
        go_to(&mut core, START_NS);
        assert_eq!(day(&core), at_start, "{session}");
    }
    // A session of a week has no days: those of New York.
    let week = HOURS.replace(
        "[\"SUN\", \"MON\", \"TUE\", \"WED\", \"THU\"]",
        "\"week\"\nstart_day = \"SUN\"\nend_day = \"FRI\"",
    );
    let mut core = with_days(&week);
    go_to(&mut core, END_NS);
    assert_eq!(core.engine.trading().bank_day(0), 20_260_106);
}

/// An engine with an order of this session's day, which has ended and uses credit.
fn with_used_credit(session: &str) -> Engine {
    let mut core = with_days(session);
    let time = go_to(&mut core, START_NS);
    core.said(0, Said::Up(false), time);
    core.quotes(time, 0, Session::Up);
    show(&mut core, time, 1_100_000_000);
    buy(&mut core, "P1", time);
    assert_eq!(orders(&core), 1, "{session}");
    let id = core.engine.trading().orders().get(0).terms.id;
    let resolve = Desk::Resolve {
        id: Some(id),
        cum: Some(1_000),
        price: Some(Id::lossy(b"1.1")),
    };
    core.said(0, Said::cut(), time);
    core.handle(time, &Input::Desk(resolve));
    assert_eq!(used(&core), 1_000, "{session}");
    core
}

fn used(core: &Engine) -> i64 {
    core.engine.trading().orders().used(0, 0).of(Credit::Gross)
}

/// A clock that is set back over a roll, and comes to it again, frees no credit a second time.
#[test]
fn a_clock_that_is_set_back_frees_no_credit() {
    for session in ["", HOURS] {
        let mut core = with_used_credit(session);
        let day = core.engine.trading().bank_day(0);
        // Four days back are Friday's date, which no run of this journal began.
        for ahead_s in [-3_600, 0, -90_000, 0, -4 * 86_400, 0] {
            core.wall_ahead_ns = ahead_s * SECOND_NS as i64;
            go_to(&mut core, START_NS + 60 * SECOND_NS);
            assert_eq!(used(&core), 1_000, "{session} {ahead_s}");
            assert_eq!(
                core.engine.trading().bank_day(0),
                day,
                "{session} {ahead_s}"
            );
        }
        core.wall_ahead_ns = 0;
        go_to(&mut core, START_NS + DAY_NS);
        assert_eq!(used(&core), 0, "{session}");
    }
}

/// The clock is days or a month ahead, or behind, for two seconds: no credit is free, and it is with the next day.
#[test]
fn a_clock_that_is_far_ahead_frees_no_credit() {
    for session in ["", HOURS] {
        for days in [2, 30, -30] {
            let mut core = with_used_credit(session);
            let step_ns = days * DAY_NS as i64;
            for (second, step_ns) in [(60, step_ns), (62, -step_ns)] {
                let now_ns = START_NS + second * SECOND_NS;
                let time = core.time(now_ns, now_ns);
                let ahead_ns = core.wall_ahead_ns + step_ns;
                core.wall_stepped(time, step_ns, ahead_ns);
                go_to(&mut core, now_ns);
                assert_eq!(used(&core), 1_000, "{session} {days} {second}");
            }
            go_to(&mut core, START_NS + DAY_NS);
            assert_eq!(used(&core), 0, "{session} {days}");
        }
    }
}

/// A clock that stays where it was set to by days begins the credit with the next date.
#[test]
fn a_clock_that_was_behind_for_days_begins_the_credit_with_the_next_date() {
    for session in ["", HOURS] {
        let mut core = with_used_credit(session);
        let time = go_to(&mut core, START_NS + 60 * SECOND_NS);
        let step_ns = 7 * DAY_NS as i64;
        core.wall_stepped(time, step_ns, step_ns);
        go_to(&mut core, START_NS + 120 * SECOND_NS);
        assert_eq!(core.engine.trading().bank_day(0), 20_260_106, "{session}");
        go_to(&mut core, START_NS + DAY_NS);
        assert_eq!(core.engine.trading().bank_day(0), 20_260_114, "{session}");
    }
}

/// A run whose clock was a month ahead began the credit with a date of then. Today's dates begin it all the same, the first one with the
/// roll behind the start.
#[test]
fn credit_begins_behind_a_run_whose_clock_was_far_ahead() {
    for session in ["", HOURS] {
        let mut core = with_days(session);
        let time = go_to(&mut core, START_NS + SECOND_NS);
        let ahead = Desk::BankDay {
            bank: 0,
            trade: 20_260_205,
        };
        core.handle(time, &Input::Desk(ahead));
        for (days, trade) in [(1, 20_260_107), (2, 20_260_108)] {
            go_to(&mut core, START_NS + days * DAY_NS);
            assert_eq!(core.engine.trading().bank_day(0), trade, "{session}");
        }
    }
}

/// A journal of an earlier release, which began the day of a bank with hours with New York's, within the session: the credit is free again
/// with the next session.
#[test]
fn an_update_within_a_session_frees_no_credit() {
    let mut core = with_days(HOURS);
    core.bank_days_ns[0] = START_NS + SECOND_NS;
    go_to(&mut core, START_NS + 60 * SECOND_NS);
    assert_eq!(core.engine.trading().bank_day(0), 20_260_105);
    go_to(&mut core, START_NS + DAY_NS);
    assert_eq!(core.engine.trading().bank_day(0), 20_260_107);
}

/// A process that was stopped over several rolls gives each day once, in their order, and then goes on.
#[test]
fn each_missed_day_is_given_once() {
    let mut core = with_days("");
    core.begun.clear();
    let trades = |core: &mut Engine| -> Vec<u32> {
        let begun = std::mem::take(&mut core.begun);
        begun.iter().map(|(day, _)| day.trade).collect()
    };
    go_to(&mut core, END_NS + 2 * DAY_NS + SECOND_NS);
    assert_eq!(trades(&mut core), [20_260_106, 20_260_107, 20_260_108]);
    go_to(&mut core, END_NS + 2 * DAY_NS + 2 * SECOND_NS);
    assert_eq!(trades(&mut core), [0; 0]);
    // Friday, and the weekend, which has no day.
    go_to(&mut core, END_NS + 6 * DAY_NS);
    assert_eq!(trades(&mut core), [20_260_109, 20_260_112]);
    core.engine.finish(&mut core.batch);
    let is_day = |(_, event): &(u64, Event)| matches!(event, Event::Day(_));
    assert!(!core.batch.events.iter().any(is_day));
}

/// Each start, and each later day, says that a pair lacks a spot date: also a start within a day that is in the journal.
#[test]
fn each_start_says_that_a_calendar_has_ended() {
    let mut core = with_days("");
    let told = |core: &mut Engine| {
        let said = core.incidents.drain(..);
        said.filter(|incident| incident.reason() == "calendar_ends")
            .count()
    };
    assert_eq!(told(&mut core), 0);
    // 6 January 2031, behind the end of the built-in calendars.
    let ended_ns = 1_925_467_200 * SECOND_NS;
    go_to(&mut core, ended_ns);
    let of_days = told(&mut core);
    assert!(of_days > 0, "the days begin without a date");
    let config = Config::parse(&format!("{}[calendars]\n", text())).expect("a configuration");
    let setup = config.setup().expect("a setup");
    let rolls = config.rolls().expect("calendars");
    core.set_days(rolls, &setup);
    core.begun.clear();
    go_to(&mut core, ended_ns + SECOND_NS);
    assert!(core.begun.is_empty(), "the journal has the day");
    assert_eq!(told(&mut core), 1);
    go_to(&mut core, ended_ns + 2 * SECOND_NS);
    assert_eq!(told(&mut core), 0);
    go_to(&mut core, ended_ns + DAY_NS);
    assert_eq!(told(&mut core), 1);
}

/// A session that was lost in the seconds before its end, in which its orders are asked for, comes up without an order; the next
/// session has orders again.
#[test]
fn no_order_is_sent_in_the_last_seconds_of_a_session_that_came_up_in_them() {
    for is_down_before in [false, true] {
        let mut core = with_days(&format!("{HOURS}reset = \"session\"\n"));
        let time = go_to(&mut core, END_NS - 3_600 * SECOND_NS);
        core.said(0, Said::Up(false), time);
        core.quotes(time, 0, Session::Up);
        if is_down_before {
            core.said(0, Said::cut(), time);
        }
        let time = go_to(&mut core, END_NS - 9 * SECOND_NS);
        if !is_down_before {
            core.said(0, Said::cut(), time);
        }
        let time = go_to(&mut core, END_NS - 5 * SECOND_NS);
        core.said(0, Said::Up(false), time);
        show(&mut core, time, 1_100_000_000);
        buy(&mut core, "P1", time);
        let time = go_to(&mut core, END_NS - SECOND_NS);
        show(&mut core, time, 1_100_000_000);
        assert_eq!(orders(&core), 0, "before the end");
        next_session(&mut core);
    }
}

/// A clock that was fast until a second before the end of a session is corrected: the bank gets orders again.
#[test]
fn a_bank_gets_orders_again_when_a_fast_clock_is_corrected() {
    for after_loss in ["ask", "canceled"] {
        let session = format!("{HOURS}reset = \"session\"\nafter_loss = \"{after_loss}\"\n");
        let mut core = with_days(&session);
        let now_ns = END_NS - 3_600 * SECOND_NS;
        let time = go_to(&mut core, now_ns);
        core.said(0, Said::Up(false), time);
        core.quotes(time, 0, Session::Up);
        core.wall_ahead_ns = 3_590 * SECOND_NS as i64;
        let time = go_to(&mut core, now_ns + 9 * SECOND_NS);
        show(&mut core, time, 1_100_000_000);
        buy(&mut core, "P1", time);
        assert_eq!(orders(&core), 0, "{after_loss}: before the end");
        core.wall_ahead_ns = 0;
        let time = go_to(&mut core, now_ns + 10 * SECOND_NS);
        show(&mut core, time, 1_100_000_000);
        assert_eq!(orders(&core), 1, "{after_loss}");
    }
}

/// From our Logout at the end of the hours on the bank gets no order, also before its own Logout.
#[test]
fn no_order_is_planned_between_the_logouts() {
    for reset in ["never", "session"] {
        let mut core = with_days(&format!("{HOURS}reset = \"{reset}\"\nask_before_s = 0\n"));
        let time = go_to(&mut core, END_NS - SECOND_NS);
        core.said(0, Said::Up(false), time);
        core.quotes(time, 0, Session::Up);
        let time = core.time(END_NS, END_NS);
        let turn = core.banks[0].session.turn(time);
        assert_eq!(turn, Some(Turn::Closed(START_NS)));
        core.turned(0, Turn::Closed(START_NS), time);
        show(&mut core, time, 1_100_000_000);
        buy(&mut core, "P1", time);
        // As messages that the bank skips behind our Logout.
        core.said(0, Said::cut(), time);
        core.said(0, Said::Up(false), time);
        show(&mut core, time, 1_100_000_000);
        assert_eq!(orders(&core), 0, "{reset}");
        next_session(&mut core);
    }
}

/// The bank's session and its quotes are up at a time.
fn come_up(core: &mut Engine, now_ns: u64) -> ReceiveTime {
    let time = go_to(core, now_ns);
    core.said(0, Said::Up(false), time);
    core.quotes(time, 0, Session::Up);
    time
}

/// A day begins between two messages of a bus: quotes of the old day make no order, be it by their time or because their bus is still
/// read by the old dates.
#[test]
fn a_quote_that_begins_the_day_is_of_the_day_before() {
    let mut core = with_days("");
    let time = come_up(&mut core, END_NS - MS);
    buy(&mut core, "P1", time);
    core.begun.clear();
    let time = core.time(END_NS + MS, END_NS + MS);
    for receive_ns in [END_NS - 1, END_NS + 1] {
        show_received(&mut core, time, (receive_ns, 1_100_000_000));
        assert_eq!(core.begun.len(), 1, "the day has begun");
        let entries = core.engine.pricing().quotes().book(0).entries();
        assert!(entries.is_empty(), "{receive_ns}: {entries:?}");
        assert_eq!(orders(&core), 0, "{receive_ns}");
    }
    show(&mut core, time, 1_100_000_000);
    let order = core.engine.trading().orders().get(0);
    assert_eq!(order.terms.value_date, 20_260_108);
}

/// A parent whose wait ends shortly before a roll, in a process that wakes behind it: no order leaves with the date of the day before.
#[test]
fn a_timer_of_the_old_day_that_runs_behind_the_roll_makes_no_order() {
    let rate = "status_final = true\nmax_orders_per_s = 1\nanswer_ms = 60000\n";
    let text = text().replace("status_final = true\n", rate);
    for wakes_ns in [END_NS - 5 * MS, END_NS + MS] {
        let mut core = with_text(&format!("{text}[calendars]\n"));
        let time = come_up(&mut core, END_NS - SECOND_NS - 10 * MS);
        show(&mut core, time, 1_100_000_000);
        buy(&mut core, "P1", time);
        show(&mut core, time, 1_100_000_000);
        buy(&mut core, "P2", time);
        go_to(&mut core, END_NS - 20 * MS);
        assert_eq!(orders(&core), 1, "the second one waits for the bank's rate");
        let time = go_to(&mut core, wakes_ns);
        let is_late = wakes_ns > END_NS;
        assert_eq!(orders(&core), if is_late { 1 } else { 2 }, "{wakes_ns}");
        show(&mut core, time, 1_100_000_000);
        let value_date = if is_late { 20_260_108 } else { 20_260_107 };
        let order = core.engine.trading().orders().get(1);
        assert_eq!(order.terms.value_date, value_date, "{wakes_ns}");
    }
}

/// The session ends, and in the next one an order is sent.
fn next_session(core: &mut Engine) {
    let time = go_to(core, END_NS + SECOND_NS);
    let end = Said::Down {
        why: "it has ended".to_owned(),
        numbers: None,
        retry_ms: None,
    };
    core.said(0, end, time);
    let time = go_to(core, START_NS);
    core.said(0, Said::Up(false), time);
    show(core, time, 1_100_000_000);
    buy(core, "P2", time);
    assert_eq!(orders(core), 1, "in the next session");
}
