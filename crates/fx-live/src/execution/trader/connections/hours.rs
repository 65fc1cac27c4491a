//! Days of order sessions: with banks that keep their numbers or forget them, and each way in which a day can end.

use super::*;
use crate::execution::order_session::Said;
use crate::execution::recovery::recover_from;
use touchline_fx::commands;
use touchline_fx::input::{Input, Session};
use touchline_fx::setup::Setup;
use touchline_fx_events::command::Command;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::orders::OrderState;
use touchline_lab::bank::scripted::{Damage, trade as trade_of};
use touchline_lab::bank::{Bank, Banks};

const SECOND_NS: u64 = 1_000 * MS;
/// Monday, 5 January 2026, 22:00 UTC: the end of Sunday's session.
const END_NS: u64 = 1_767_650_400 * SECOND_NS;
const START_NS: u64 = END_NS + 240 * SECOND_NS;
const DAY_NS: u64 = 86_400 * SECOND_NS;

/// Settings of a session with hours.
fn hours(reset: &str, more: &str) -> String {
    format!(
        "reconnect_ms = 1\nreconnect_ms_max = 5\n[sessions.schedule]\nzone = \"America/New_York\"\nstart = \"17:04\"\nend = \"17:00\"\n\
         days = [\"SUN\", \"MON\", \"TUE\", \"WED\", \"THU\"]\nreset = \"{reset}\"\n{more}\n"
    )
}

/// How a day ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Ours,
    LogoutOfBank,
    CloseOfBank,
}

/// Alarms of the engine, by number.
fn alarms(engine: &Engine) -> u64 {
    engine.core.alarms.iter().sum()
}

/// Goes to a time without a round in between: the test's clock is the only one.
fn go_to(engine: &mut Engine, bank: &mut ScriptedBank, now_ns: u64) {
    engine.now_ns = now_ns;
    for _ in 0..20 {
        engine.now_ns += MS;
        engine.round();
        bank.work(ReceiveTime::at(engine.now_ns));
    }
}

/// A session with a bank that drops open orders with a lost connection.
fn dropping() -> (ScriptedBank, Engine) {
    let mut bank = listen(None);
    let session =
        "reconnect_ms = 1\nreconnect_ms_max = 5\n[sessions.schedule]\nafter_loss = \"canceled\"\n";
    let mut engine = Engine::with(&[bank.address()], None, session);
    until("a session", &mut engine, &mut bank, Engine::is_up);
    (bank, engine)
}

/// The bank quotes, and the desk sends a parent.
fn trade(engine: &mut Engine) {
    let time = ReceiveTime::at(engine.now_ns);
    engine.core.quotes(time, 0, Session::Up);
    rig::show(&mut engine.core, time, 1_100_000_000);
    let parent = Command::Parent(rig::order("P1", 1_000));
    let parent = commands::desk(engine.core.engine.setup(), &parent).expect("a command");
    engine.core.handle(time, &Input::Desk(parent));
}

/// The connection is lost, and a message of the bank with it, which the bank skips when it sends missed ones again.
fn lose(engine: &mut Engine, bank: &mut ScriptedBank, is_skipped: bool) {
    if is_skipped {
        let nothing = Vec::new();
        let sent = bank.send_damaged("0", &nothing, Damage::Lost);
        sent.expect("a session");
    }
    bank.disconnect();
    until("an end", engine, bank, |engine| !engine.is_up());
}

fn pass_a_second(engine: &mut Engine, bank: &mut ScriptedBank) {
    for _ in 0..1_000 {
        engine.now_ns += MS;
        let time = ReceiveTime::at(engine.now_ns);
        engine.round();
        engine.core.wake(time);
        bank.work(time);
    }
}

/// Two days with every rule of the numbers: a bank that forgets its numbers at its end of day is met by a reset, one that keeps them
/// by every rule; and no end of a day is an alarm.
#[test]
fn a_session_outside_its_hours_is_closed_and_no_alarm() {
    for reset in ["never", "run", "session", "logon"] {
        for end in [End::Ours, End::LogoutOfBank, End::CloseOfBank] {
            for forgets in [false, true] {
                let case = format!("{reset} {end:?} {forgets}");
                let mut bank = listen(None);
                let mut engine = Engine::with(&[bank.address()], None, &hours(reset, ""));
                go_to(&mut engine, &mut bank, END_NS + SECOND_NS);
                assert_eq!(
                    engine.said,
                    ["order session of A is closed until 2026-01-05 22:04:00 UTC by its hours"],
                    "{case}"
                );
                assert_eq!(
                    engine.core.banks[0].session.closed_until_ns(),
                    Some(START_NS)
                );
                go_to(&mut engine, &mut bank, START_NS);
                until("a session", &mut engine, &mut bank, Engine::is_up);
                if end == End::LogoutOfBank {
                    go_to(&mut engine, &mut bank, END_NS + DAY_NS - SECOND_NS);
                    in_time("a session", &mut engine, &mut bank, Engine::is_up);
                    bank.log_out();
                }
                engine.said.clear();
                let before = (alarms(&engine), engine.core.totals.sessions_lost);
                go_to(&mut engine, &mut bank, END_NS + DAY_NS);
                if end == End::CloseOfBank {
                    bank.disconnect();
                }
                go_to(&mut engine, &mut bank, END_NS + DAY_NS + 10 * SECOND_NS);
                assert!(!engine.is_up(), "{case}");
                let after = (alarms(&engine), engine.core.totals.sessions_lost);
                assert_eq!(before, after, "{case}: {:?}", engine.said);
                if forgets {
                    bank.forget();
                }
                engine.said.clear();
                go_to(&mut engine, &mut bank, START_NS + DAY_NS);
                let is_met = !forgets || matches!(reset, "session" | "logon");
                go_to(&mut engine, &mut bank, START_NS + DAY_NS + SECOND_NS);
                if !is_met {
                    let is_told = engine.said.iter().any(|said| said.contains("is too low"));
                    assert!(is_told, "{case}: {:?}", engine.said);
                } else {
                    until(&case, &mut engine, &mut bank, Engine::is_up);
                    assert_eq!(engine.said, ["order session of A is up"], "{case}");
                }
            }
        }
    }
}

/// Friday's end is the week's, a closed date has no session, and both changes of time move the hours.
#[test]
fn the_session_opens_by_the_rules_of_its_zone() {
    // 2026: Friday 6 March, the Sunday of the spring change; Friday 30 October, that of the autumn; Wednesday, of which Thursday is closed.
    for (at_s, until) in [
        (1_772_834_400, "2026-03-08 21:04:00 UTC"),
        (1_793_394_000, "2026-11-01 22:04:00 UTC"),
        (1_782_421_200, "2026-06-28 21:04:00 UTC"),
    ] {
        let mut bank = listen(None);
        let more = "closed = [\"20260625\"]";
        let mut engine = Engine::with(&[bank.address()], None, &hours("session", more));
        go_to(&mut engine, &mut bank, at_s * SECOND_NS);
        let said = format!("order session of A is closed until {until} by its hours");
        assert_eq!(engine.said, [said]);
    }
}

/// A schedule changes the core's rule for lost orders and nothing else of its setup.
#[test]
fn the_rule_of_a_session_is_that_of_its_bank() {
    let of = |settings: &str| -> Setup {
        let bank = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 1);
        let config = Config::parse(&text_of(&[bank], settings)).expect("a configuration");
        config.setup().expect("a setup")
    };
    assert_eq!(of("").drops(), [false]);
    assert_eq!(of(&hours("session", "")).drops(), [false]);
    for rule in ["canceled", "ask_then_canceled"] {
        let rule = format!("after_loss = \"{rule}\"");
        assert_eq!(of(&hours("session", &rule)).drops(), [true]);
    }
}

/// A start loses the orders of the run that died by the rule of that run, and its own by the configured one.
#[test]
fn a_start_loses_the_orders_of_a_crash_by_the_rule_of_before() {
    for (drops, expected) in [(false, OrderState::Unknown), (true, OrderState::Canceled)] {
        let text = text() + "[sessions.schedule]\nafter_loss = \"canceled\"\n";
        let config = Config::parse(&text).expect("a configuration");
        let (mut core, time) = rig::with_a_price(&text);
        let parent = Command::Parent(rig::order("P1", 1_000));
        let parent = commands::desk(core.engine.setup(), &parent).expect("a command");
        core.handle(time, &Input::Desk(parent));
        core.engine.set_drops(0, drops);
        let setup = config.setup().expect("a setup");
        let mut recovered = recover_from(&setup, |_| Ok(())).expect("an empty journal");
        recovered.engine = core.engine;
        let mut core = Core::new(&config, Host::default(), [rig::Nothing], recovered, 2);
        let at_s = |seconds: u64| ReceiveTime::at(seconds * SECOND_NS);
        core.begin(&config, 2, at_s(10)).expect("room");
        core.said(0, Said::Up(false), at_s(10));
        core.said(0, Said::Settled, at_s(10));
        core.wake(at_s(1_000));
        let order = core.engine.trading().orders().get(0);
        assert_eq!(order.state(), expected, "{drops}");
    }
}

/// Ten days of two simulated banks over the spring change of New York, one of which begins its numbers at 1 at each end: every
/// session is up in its hours and closed outside of them, on a holiday of both as well. Each hour the clock jumps, so that both sides lose
/// the connection by their heartbeats: within a session the numbers go on.
#[test]
fn ten_days_of_simulated_banks_over_a_change_of_time_are_met() {
    let day = |numbers: &str| {
        format!(
            "[banks.day]\nzone = \"America/New_York\"\nstart = \"17:04\"\nend = \"17:00\"\n\
             days = [\"SUN\", \"MON\", \"TUE\", \"WED\", \"THU\"]\nclosed = [\"20260305\"]\nnumbers = \"{numbers}\"\n[banks.orders]\n"
        )
    };
    let config = format!(
        "[[pairs]]\nsymbol = \"EUR/USD\"\nspot_date = \"20260310\"\nmid_ticks = 110000\n\
         [[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\n{}[[banks]]\nname = \"B\"\npairs = [\"EUR/USD\"]\n{}",
        day("keep"),
        day("begin"),
    );
    let config = touchline_lab::bank::Config::parse(&config).expect("banks");
    let mut banks = Banks::listen(config, None, None).expect("free ports");
    let addresses: Vec<_> = banks
        .banks()
        .iter()
        .filter_map(Bank::orders_address)
        .collect();
    let session = hours("session", "closed = [\"20260305\"]");
    let mut engine = Engine::with(&addresses, None, &session);
    // 4 March, 22:10 UTC: in Wednesday's session. From the 8th on the sessions begin an hour earlier in UTC.
    let first_ns = 1_772_662_200 * SECOND_NS;
    let hour_ns = 3_600 * SECOND_NS;
    let mut opened = 0;
    for hour in 0..240 {
        let at_ns = first_ns + hour * hour_ns;
        // Since Sunday, 1 March, 00:10 UTC.
        let hour = hour + 94;
        let is_open = match hour {
            // Thursday's end at 22:00, and no session before Sunday, 21:04.
            118..=188 => false,
            // The second Friday ends at 21:00.
            309.. => false,
            _ => true,
        };
        engine.now_ns = at_ns.max(engine.now_ns);
        let until_ns = at_ns + 10 * SECOND_NS;
        while engine.now_ns < until_ns {
            engine.now_ns += 50 * MS;
            engine.round();
            banks.work(ReceiveTime::at(engine.now_ns));
        }
        let up = engine
            .core
            .banks
            .sessions()
            .filter(|session| session.is_up());
        assert_eq!(
            up.count(),
            if is_open { 2 } else { 0 },
            "hour {hour}: {:?}",
            engine.said
        );
        opened += u64::from(is_open);
        let is_closed = engine.core.banks[0].session.closed_until_ns().is_some();
        assert_eq!(is_closed, !is_open, "hour {hour}");
    }
    assert!(opened > 100);
    let wrong = engine
        .said
        .iter()
        .find(|said| said.contains("MsgSeqNum") || said.contains("cannot connect"));
    assert_eq!(wrong, None, "{:?}", engine.said);
}

/// The bank skips messages while it sends missed ones again: a report may be among them, so its rule ends no order, which is asked for.
#[test]
fn messages_that_are_skipped_while_catching_up_leave_an_order_in_doubt() {
    for is_skipped in [false, true] {
        let (mut bank, mut engine) = dropping();
        engine.core.engine.hold(false);
        trade(&mut engine);
        let now_ns = engine.now_ns;
        go_to(&mut engine, &mut bank, now_ns);
        bank.take("D");
        lose(&mut engine, &mut bank, is_skipped);
        in_time("a session", &mut engine, &mut bank, Engine::is_up);
        let state = |engine: &Engine| engine.core.engine.trading().orders().get(0).state();
        assert_eq!(state(&engine), OrderState::Unknown, "{:?}", engine.said);
        pass_a_second(&mut engine, &mut bank);
        let is_told = engine.said.iter().any(|said| said.contains("skipped"));
        assert_eq!(is_told, is_skipped, "{:?}", engine.said);
        let expected = match is_skipped {
            true => OrderState::Unknown,
            false => OrderState::Canceled,
        };
        assert_eq!(state(&engine), expected, "{:?}", engine.said);
        assert_eq!(bank.count("H") > 0, is_skipped, "{:?}", engine.said);
    }
}

/// The bank fills an order with a report that lacks a field, before or behind a loss of the connection: we reject the report, and it does
/// not come again, so no rule ends the order.
#[test]
fn a_report_that_is_rejected_leaves_an_order_in_doubt() {
    for rejected in [None, Some("before"), Some("behind")] {
        let (mut bank, mut engine) = dropping();
        engine.core.engine.hold(false);
        trade(&mut engine);
        let now_ns = engine.now_ns;
        go_to(&mut engine, &mut bank, now_ns);
        let order = bank.take("D");
        let send = |engine: &mut Engine, bank: &mut ScriptedBank, when: &str| {
            if rejected == Some(when) {
                // Without AvgPx (6).
                bank.report(&trade_of(&order, "E1", &[(6, "")]));
                in_time("a reject", engine, bank, |engine| {
                    engine.said.iter().any(|said| said.contains("17=E1"))
                });
            }
        };
        send(&mut engine, &mut bank, "before");
        lose(&mut engine, &mut bank, false);
        in_time("a session", &mut engine, &mut bank, Engine::is_up);
        send(&mut engine, &mut bank, "behind");
        pass_a_second(&mut engine, &mut bank);
        let expected = match rejected {
            Some(_) => OrderState::Unknown,
            None => OrderState::Canceled,
        };
        let state = engine.core.engine.trading().orders().get(0).state();
        assert_eq!(state, expected, "{rejected:?}: {:?}", engine.said);
        assert_eq!(bank.count("H") > 0, rejected.is_some(), "{rejected:?}");
    }
}

/// The bank skips messages while it sends missed ones again: a fill of an order that the journal lost may be among them, so its rule
/// answers for no such order, also not behind a further loss, and no order leaves before the desk has asked.
#[test]
fn messages_that_are_skipped_answer_for_no_order_that_the_journal_lost() {
    for is_skipped in [false, true] {
        let (mut bank, mut engine) = dropping();
        engine.core.engine.hold(false);
        lose(&mut engine, &mut bank, is_skipped);
        let time = ReceiveTime::at(engine.now_ns);
        let reboot = Input::Desk(Desk::Reboot { epoch: 2 });
        engine.core.handle(time, &reboot);
        in_time("a session", &mut engine, &mut bank, Engine::is_up);
        trade(&mut engine);
        for is_lost_again in [false, true] {
            if is_lost_again {
                bank.disconnect();
                until("an end", &mut engine, &mut bank, |engine| !engine.is_up());
                in_time("a session", &mut engine, &mut bank, Engine::is_up);
            }
            pass_a_second(&mut engine, &mut bank);
            let is_asking = engine.core.engine.trading().is_asking();
            assert_eq!(is_asking, is_skipped, "{:?}", engine.said);
        }
        let orders = engine.core.engine.trading().orders().count();
        let expected = if is_skipped { 0 } else { 1 };
        assert_eq!(orders, expected, "{:?}", engine.said);
    }
}
