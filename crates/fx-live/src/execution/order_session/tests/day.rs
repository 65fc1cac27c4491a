//! Hours of a session: connections, resets and the end of the day.

use super::super::day::Day;
use super::*;
use crate::execution::config::Reset;

/// The week of New York, whose sessions end four minutes before the next one starts.
const HOURS: &str = "[sessions.schedule]\nzone = \"America/New_York\"\nstart = \"17:04\"\nend = \"17:00\"\n\
                     days = [\"SUN\", \"MON\", \"TUE\", \"WED\", \"THU\"]\n";
/// Monday, 5 January 2026, 22:00 UTC: the end of Sunday's session.
const END_NS: u64 = 1_767_650_400 * SECOND_NS;
const START_NS: u64 = END_NS + 240 * SECOND_NS;

/// TestReqID of the TestRequest among these messages.
fn id_of_test(sent: &str) -> Option<String> {
    let (_, of_test) = sent.split_once("|35=1|")?;
    let (_, id) = of_test.split_once("|112=")?;
    id.split_once('|').map(|(id, _)| id.to_owned())
}

impl Rig {
    fn with_hours(settings: &str) -> Rig {
        let mut rig = Rig::with(&format!("{HOURS}{settings}\n"), Numbers::new(9, 7));
        assert_eq!(rig.turns(), [Turn::Open]);
        rig
    }

    fn turns(&mut self) -> Vec<Turn> {
        std::iter::from_fn(|| self.session.turn(self.time)).collect()
    }

    /// Output of the session, and that behind the answer of the bank to a TestRequest, if there is one.
    fn settled(&mut self, number: u64) -> Vec<Said> {
        let mut said = self.said();
        if let Some(id) = id_of_test(&self.sent()) {
            self.put(number, "0", &[(112, &id)]);
            said.extend(self.said());
        }
        said
    }

    fn go_to(&mut self, wall_ns: u64) -> Vec<Turn> {
        self.time.mono_ns += wall_ns - self.time.wall_ns;
        self.time.wall_ns = wall_ns;
        self.turns()
    }
}

/// The first Logon of a session begins at 1 with 141=Y, and each further one goes on; a bank that begins at 1 without 141 is right.
/// Between two sessions there is no connection, and no failure.
#[test]
fn the_numbers_begin_again_once_a_session() {
    let mut rig = Rig::with_hours("reset = \"session\"");
    for day in [20_260_104, 20_260_105] {
        rig.log_on(1);
        let logon = rig.sent();
        assert!(
            logon.contains("|34=1|") && logon.contains("|141=Y|"),
            "{logon}"
        );
        assert_eq!(rig.said(), [Said::Up(false)]);
        assert_eq!(rig.session.take_day(), Some(day));
        assert!(matches!(
            rig.lose()[..],
            [Said::Down {
                retry_ms: Some(_),
                ..
            }]
        ));
        rig.log_on(2);
        let logon = rig.sent();
        assert!(
            logon.contains("|34=2|") && !logon.contains("|141="),
            "{logon}"
        );
        assert_eq!(rig.said(), [Said::Up(false)]);
        assert_eq!(rig.session.take_day(), None);
        if day == 20_260_105 {
            return;
        }
        assert_eq!(rig.go_to(END_NS - 10 * SECOND_NS - 1), []);
        assert_eq!(rig.go_to(END_NS - 10 * SECOND_NS), [Turn::Closing]);
        assert_eq!(rig.go_to(END_NS - 1), []);
        assert_eq!(rig.go_to(END_NS), [Turn::Closed(START_NS)]);
        assert!(rig.sent().contains("|35=5|"));
        rig.put(3, "5", &[]);
        assert!(matches!(
            rig.said()[..],
            [Said::Down { retry_ms: None, .. }]
        ));
        assert!(
            !rig.session
                .is_connecting(rig.time.mono_ns + 86_400 * SECOND_NS)
        );
        assert_eq!(rig.go_to(START_NS - 61 * SECOND_NS), []);
        assert_eq!(rig.go_to(START_NS), [Turn::Open]);
        assert!(rig.session.is_connecting(rig.time.mono_ns), "at once");
    }
}

/// A bank whose clock is ahead logs out first: that is the end of the day. A Logout at noon is a loss.
#[test]
fn a_logout_of_the_bank_at_the_end_is_no_failure() {
    let mut rig = Rig::with_hours("");
    rig.log_on(7);
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.put(8, "5", &[(58, "bye")]);
    assert_eq!(rig.said(), []);
    assert!(rig.sent().contains("|35=5|"));
    assert!(matches!(
        rig.said()[..],
        [Said::Down {
            retry_ms: Some(_),
            ..
        }]
    ));
    rig.time.mono_ns += 10 * SECOND_NS;
    assert!(rig.session.is_connecting(rig.time.mono_ns), "it was a loss");
    rig.go_to(END_NS - 70 * SECOND_NS);
    rig.log_on(9);
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.go_to(END_NS - 2 * SECOND_NS);
    rig.put(10, "5", &[(58, "end of day")]);
    assert_eq!(rig.said(), []);
    rig.sent();
    assert!(matches!(
        rig.said()[..],
        [Said::Down { retry_ms: None, .. }]
    ));
    assert_eq!(rig.turns(), [Turn::Closed(START_NS)]);
    assert!(!rig.session.is_connecting(u64::MAX / 2));
    assert_eq!(rig.go_to(END_NS), []);
    assert_eq!(rig.go_to(START_NS), [Turn::Open]);
}

/// A start within a session goes on with its numbers; one in the next session begins again.
#[test]
fn the_day_of_the_numbers_outlives_the_process() {
    let config =
        Config::parse(&(text() + HOURS + "reset = \"session\"\n")).expect("a configuration");
    let hours = || {
        let session = config.session(&config.banks[0]).expect("its session");
        session
            .schedule()
            .expect("a schedule")
            .hours()
            .expect("hours")
    };
    for (numbered, is_resetting) in [(0, true), (20_260_102, true), (20_260_104, false)] {
        let mut day = Day::new(hours(), Reset::Session, numbered);
        let time = ReceiveTime::at(END_NS - 1);
        assert_eq!(day.turn(time, 0), Some(Turn::Open));
        assert_eq!(day.is_resetting(), is_resetting, "{numbered}");
    }
}

/// A session without a Logon at the end of its hours is cut, and counts as no failure.
#[test]
fn a_connection_without_a_logon_ends_with_the_hours() {
    let mut rig = Rig::with_hours("");
    rig.go_to(END_NS - 61 * SECOND_NS);
    rig.begin();
    assert_eq!(rig.go_to(END_NS), [Turn::Closed(START_NS)]);
    assert!(matches!(
        rig.said()[..],
        [Said::Down { retry_ms: None, .. }]
    ));
    assert!(rig.session.is_disconnected());
}

/// Sessions that follow each other without a pause have a Logout between them.
#[test]
fn a_session_ends_before_the_next_one_begins() {
    let hours = HOURS.replace("17:04", "17:00");
    let mut rig = Rig::with(&hours, Numbers::new(1, 1));
    assert_eq!(rig.turns(), [Turn::Open]);
    rig.log_on(1);
    assert_eq!(rig.said(), [Said::Up(false)]);
    assert_eq!(rig.go_to(END_NS), [Turn::Closed(END_NS), Turn::Open]);
    assert!(rig.sent().contains("|35=5|"));
    rig.put(2, "5", &[]);
    assert!(matches!(
        rig.said()[..],
        [Said::Down { retry_ms: None, .. }]
    ));
    assert!(rig.session.is_connecting(rig.time.mono_ns));
}

/// A bank that answers 141=Y to a session that never resets: both begin again at 1, which is news.
#[test]
fn a_reset_that_nobody_asked_for_is_met() {
    let mut rig = Rig::with_hours("reset = \"never\"");
    rig.log_on_with(1, &[(98, "0"), (108, "10"), (141, "Y")]);
    assert_eq!(rig.said(), [Said::Up(true)]);
    assert!(rig.session.is_up());
    let sent = rig.sent();
    assert!(sent.contains("|34=9|") && sent.contains("|34=1|"), "{sent}");
    assert_eq!(rig.session.unjournaled(), Some((2, 2)));
}

/// Numbers that begin again are a record of their own, also if the first messages behind them have one: it lacks the bank's number, and a
/// start would expect the number of before.
#[test]
fn a_record_of_a_message_does_not_hide_numbers_that_began_again() {
    let mut rig = Rig::with_hours("reset = \"never\"");
    rig.log_on_with(1, &[(98, "0"), (108, "10"), (141, "Y")]);
    assert_eq!(rig.said(), [Said::Up(true)]);
    let send = |rig: &mut Rig| {
        let number = rig.session.send("H", rig.time, |_| ());
        rig.session.note_recorded(number.expect("room"));
    };
    send(&mut rig);
    assert_eq!(rig.session.unjournaled(), Some((3, 2)));
    rig.session.note_journaled();
    send(&mut rig);
    assert_eq!(rig.session.unjournaled(), None);
    // The same within the session.
    rig.put(1, "A", &[(98, "0"), (108, "10"), (141, "Y")]);
    assert_eq!(rig.said(), []);
    (2..4).for_each(|_| send(&mut rig));
    assert_eq!(rig.session.unjournaled(), Some((4, 2)));
}

/// Each mistake names its key and the cure; a word of earlier versions is read.
#[test]
fn hours_that_cannot_be_are_refused() {
    let refused = |settings: &str| {
        let text = text() + settings;
        Config::parse(&text).expect_err(settings).to_string()
    };
    let hours = |from: &str, to: &str| HOURS.replacen(from, to, 1);
    for (settings, key) in [
        (hours("America/New_York", "New_York"), "schedule.zone"),
        (hours("17:04", "1704"), "schedule.start"),
        (hours("\"SUN\"", "\"SO\""), "schedule.days"),
        (hours("zone = \"America/New_York\"\n", ""), "all four"),
        (
            HOURS.to_owned() + "closed = [\"2026-12-25\"]\n",
            "schedule.closed",
        ),
        (
            HOURS.to_owned() + "start_day = \"SUN\"\n",
            "start_day and end_day are of",
        ),
        (
            HOURS.to_owned() + "ask_before_s = 1000\n",
            "schedule.ask_before_s",
        ),
        ("reset = \"session\"\n".to_owned(), "needs hours"),
        (
            "reset = \"run\"\n[sessions.schedule]\nreset = \"run\"\n".to_owned(),
            "given twice",
        ),
        (
            "[sessions.schedule]\nreset = \"daily\"\n".to_owned(),
            "daily",
        ),
    ] {
        let said = refused(&settings);
        assert!(said.contains(key) && !said.contains('\n'), "{said}");
    }
    let old = Config::parse(&(text() + "reset = \"start\"\n")).expect("the old word");
    assert_eq!(old.sessions[0].reset(), Reset::Run);
    assert_eq!(old.old_words().count(), 1);
    let week = HOURS.replace(
        "[\"SUN\", \"MON\", \"TUE\", \"WED\", \"THU\"]",
        "\"week\"\nstart_day = \"SUN\"\nend_day = \"FRI\"",
    );
    assert!(Config::parse(&(text() + &week)).is_ok());
}

/// Numbers that begin again take missed reports with them: the bank's rule ends no order then.
#[test]
fn numbers_that_begin_again_leave_orders_in_doubt() {
    for (reset, first, next) in [
        ("logon", Said::Doubted, Said::Doubted),
        ("run", Said::Doubted, Said::Settled),
        ("session", Said::Doubted, Said::Settled),
    ] {
        let mut rig = Rig::with_hours(&format!("reset = \"{reset}\"\nafter_loss = \"canceled\""));
        let mut number = 1;
        for expected in [first, next] {
            rig.log_on(number);
            rig.sent();
            assert_eq!(
                rig.settled(number + 1),
                [Said::Up(false), expected],
                "{reset}"
            );
            rig.lose();
            number = if reset == "logon" { 1 } else { 2 };
        }
    }
}

/// A bank that resets the numbers and logs out behind its Logon, in the same bytes, leaves the orders of before in doubt; the next Logon
/// goes on with the numbers, and settles its own session only.
#[test]
fn a_doubt_is_said_before_the_session_ends() {
    let mut rig = Rig::with_hours("reset = \"never\"\nafter_loss = \"canceled\"");
    rig.log_on_with(1, &[(98, "0"), (108, "10"), (141, "Y")]);
    rig.put(2, "5", &[]);
    assert_eq!(rig.said(), [Said::Up(true), Said::Doubted]);
    rig.sent();
    assert!(matches!(rig.said()[..], [Said::Down { .. }]));
    rig.log_on(3);
    rig.sent();
    assert_eq!(rig.settled(4), [Said::Up(false), Said::Settled]);
}

/// A session that ended with both Logouts has no message that is missing, and its orders were asked for. One that was lost at noon, or
/// whose Logout shows a gap, may have filled an order since: its numbers begin again, and the report is lost.
#[test]
fn only_a_session_that_ended_whole_leaves_no_order_in_doubt() {
    for (logout, expected) in [
        (None, Said::Doubted),
        (Some(2), Said::Settled),
        (Some(3), Said::Doubted),
    ] {
        let mut rig = Rig::with_hours("reset = \"session\"\nafter_loss = \"canceled\"");
        rig.log_on(1);
        rig.sent();
        assert_eq!(rig.said(), [Said::Up(false), Said::Doubted]);
        if logout.is_none() {
            rig.lose();
        }
        rig.go_to(END_NS - 10 * SECOND_NS);
        rig.go_to(END_NS);
        rig.sent();
        if let Some(number) = logout {
            rig.put(number, "5", &[]);
            assert!(matches!(
                rig.said()[..],
                [Said::Down { retry_ms: None, .. }]
            ));
        }
        rig.go_to(START_NS);
        rig.log_on(1);
        rig.sent();
        assert_eq!(rig.settled(2), [Said::Up(false), expected], "{logout:?}");
    }
}

/// A last look may be open at the end if the orders were not asked for before it, or a shorter time before it than a last look takes: its
/// report has an old number, and is lost. By the host's clock: the wall clock may be set forward over that time.
#[test]
fn a_last_look_that_may_be_open_at_the_end_leaves_orders_in_doubt() {
    for (ask_before_s, asked_s, answer_ms, step_s, expected) in [
        (10, 10, 10_000, 0, Said::Settled),
        (10, 10, 10_001, 0, Said::Doubted),
        (10, 10, 2_000, 9, Said::Doubted),
        (10, 0, 1_000, 0, Said::Doubted),
        (0, 0, 1_000, 0, Said::Doubted),
    ] {
        let case = format!("{ask_before_s} {asked_s} {answer_ms} {step_s}");
        let mut rig = Rig::with_hours(&format!(
            "reset = \"session\"\nafter_loss = \"canceled\"\nask_before_s = {ask_before_s}"
        ));
        rig.session.set_answer_ms(answer_ms);
        rig.log_on(1);
        rig.sent();
        assert_eq!(rig.said(), [Said::Up(false), Said::Doubted], "{case}");
        if asked_s > 0 {
            let turns = rig.go_to(END_NS - asked_s * SECOND_NS);
            assert_eq!(turns, [Turn::Closing], "{case}");
        }
        rig.time.wall_ns += step_s * SECOND_NS;
        assert_eq!(rig.go_to(END_NS), [Turn::Closed(START_NS)], "{case}");
        rig.sent();
        rig.put(2, "5", &[]);
        rig.said();
        rig.go_to(START_NS);
        rig.log_on(1);
        let mut said = rig.said();
        rig.sent();
        rig.time.mono_ns += answer_ms * 1_000_000;
        said.extend(rig.settled(2));
        assert_eq!(said, [Said::Up(false), expected], "{case}");
    }
}

/// A clock that was an hour fast has ended the session, or was about to, and is corrected: the bank gets orders again, and they are asked
/// for at the true end.
#[test]
fn a_session_goes_on_when_a_fast_clock_is_corrected() {
    for fast_s in [5, 0] {
        for is_bank_first in [false, true] {
            let mut rig = Rig::with_hours("reset = \"session\"");
            rig.log_on(1);
            rig.sent();
            assert_eq!(rig.said(), [Said::Up(false)]);
            rig.go_to(END_NS - 10 * SECOND_NS);
            assert!(rig.session.is_closing());
            rig.go_to(END_NS - fast_s * SECOND_NS);
            let is_down = is_bank_first || fast_s == 0;
            if is_down {
                rig.put(2, "5", &[]);
                rig.said();
                rig.sent();
                rig.said();
                rig.turns();
                assert!(!rig.session.is_up() && rig.session.closed_until_ns().is_some());
            }
            rig.time.wall_ns -= 3_600 * SECOND_NS;
            assert_eq!(rig.turns(), [Turn::Open], "{fast_s} {is_bank_first}");
            assert!(!rig.session.is_closing(), "{fast_s} {is_bank_first}");
            if is_down {
                rig.log_on(3);
                rig.sent();
                assert_eq!(rig.said(), [Said::Up(false)]);
            }
            assert_eq!(rig.go_to(END_NS - 11 * SECOND_NS), []);
            assert_eq!(rig.go_to(END_NS - 10 * SECOND_NS), [Turn::Closing]);
            assert_eq!(rig.go_to(END_NS), [Turn::Closed(START_NS)]);
        }
    }
}

/// Once a last look that outlived the connection must be over, a TestRequest is sent: its answer comes behind the report, however long
/// both are on their way. A Heartbeat that answers nothing shows nothing, and neither does an answer behind a gap.
#[test]
fn a_session_settles_with_the_answer_to_a_test_request() {
    let mut rig = Rig::with(
        "[sessions.schedule]\nafter_loss = \"canceled\"\n",
        Numbers::new(9, 7),
    );
    rig.session.set_answer_ms(1_000);
    rig.log_on(7);
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.time.mono_ns += SECOND_NS - 1;
    assert_eq!(rig.said(), []);
    assert_eq!(id_of_test(&rig.sent()), None);
    rig.time.mono_ns += 1;
    assert!(rig.session.is_due(rig.time.mono_ns));
    assert_eq!(rig.said(), []);
    let id = id_of_test(&rig.sent()).expect("a TestRequest");
    rig.put(8, "0", &[]);
    assert_eq!(rig.said(), []);
    rig.put(10, "0", &[(112, &id)]);
    assert_eq!(rig.said(), [gap(9, 9, false)]);
    rig.put(9, "8", &REPORT);
    assert_eq!(rig.said(), [Said::Message, Said::Settled]);
    rig.time.mono_ns += 60 * SECOND_NS;
    assert_eq!(rig.said(), []);
}

/// A bank that answers no TestRequest leaves its orders in doubt: they are asked for, and then the desk is called.
#[test]
fn a_bank_that_answers_no_test_request_leaves_orders_in_doubt() {
    let mut rig = Rig::with(
        "[sessions.schedule]\nafter_loss = \"canceled\"\n",
        Numbers::new(9, 7),
    );
    rig.log_on(7);
    assert_eq!(rig.said(), [Said::Up(false)]);
    let mut tests = 0;
    for number in 8.. {
        tests += rig.sent().matches("|35=1|").count();
        rig.time.mono_ns += 5 * SECOND_NS;
        rig.time.wall_ns += 5 * SECOND_NS;
        rig.put(number, "0", &[]);
        match &rig.said()[..] {
            [] => assert!(number < 100, "no end"),
            said => {
                assert_eq!(said, [Said::Doubted]);
                break;
            }
        }
    }
    assert_eq!(tests, 3);
}
