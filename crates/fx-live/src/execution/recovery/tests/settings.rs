//! Settings that changed between two runs: the past is as the journal has it.

use super::*;

/// A kill is lifted as recorded: also if who lifted it may not any more, and not by who may only now.
#[test]
fn a_kill_is_lifted_by_who_could_lift_it_then() {
    let by = |name: &str| Some(Id::lossy(name.as_bytes()));
    let none = Batch::default();
    let labels = setup().labels;
    let lift = |name: &str, is_killed| {
        batch(40, 7, |record| {
            record.decision(&Desk::Lift { by: by(name) });
            let by = by(name);
            record.event(&labels, &none, &(40, Event::Lift { by, is_killed }), 0);
        })
    };
    let recovered = |lifters: &str, lifts: &[(&str, bool)]| {
        let mut all = journal_of(2_000);
        let kill = Event::Kill { by: by("eve") };
        all.push(batch(40, 6, |record| {
            record.event(&labels, &none, &(40, kill), 0);
        }));
        all.extend(lifts.iter().map(|(name, is_killed)| lift(name, *is_killed)));
        let setup = setup_with(&format!("[risk]\nkill_lifters = [{lifters}]\n"));
        let engine = read_by(&setup, &all).expect("a journal").engine;
        (
            engine.trading().is_killed(),
            engine.trading().first_lifter(),
        )
    };
    let lifts = [("ann", true), ("bob", false)];
    for lifters in ["\"ann\", \"bob\"", "\"bob\", \"carl\"", ""] {
        assert_eq!(recovered(lifters, &lifts), (false, None), "{lifters}");
    }
    let lifters = "\"ann\", \"carl\"";
    let lifts = [("ann", true), ("carl", true)];
    assert_eq!(recovered(lifters, &lifts), (true, by("ann")));
    assert_eq!(recovered("\"bob\", \"carl\"", &lifts[..1]), (true, None));
}

/// No kill and no end of a parent follows from limits that the run did not have: its orders fit as they were sent.
#[test]
fn limits_of_the_configuration_change_no_past() {
    let labels = setup().labels;
    let next = |all: &mut Vec<(u16, Vec<u8>)>| {
        all.push(batch(50, 7, |record| {
            record.event(&labels, &Batch::default(), &(50, sent(1, 50)), 3);
        }));
    };
    let with = |from: &str, to: &str| {
        let config: config::Config =
            toml::from_str(&CONFIG.replace(from, to)).expect("a configuration");
        Setup::new(config).expect("a setup")
    };
    let mut all = journal_of(2_000);
    next(&mut all);
    let setup = with("precision = 5", "precision = 5\nlot = 2000");
    assert_eq!(read_by(&setup, &all).expect("a journal").orders, 2);

    let mut unknown = journal_of(2_000);
    unknown.remove(3);
    unknown.push(batch(40, 6, |record| {
        record.session(0, SessionChange::Down)
    }));
    next(&mut unknown);
    let setup = setup_with("[risk]\nkill_unknown = 1\n");
    let recovered = read_by(&setup, &unknown).expect("a journal");
    assert_eq!(recovered.orders, 2);
    assert!(!recovered.engine.trading().is_killed());
}
