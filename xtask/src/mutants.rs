//! Deliberate faults, each of which a test must notice.
//!
//! A test that passes on broken code tests nothing. Each mutant breaks one line that matters and names the test that
//! must then fail; a mutant that survives, that no longer applies, or that does not compile fails the run.

mod days;
mod feed;
mod fix;
mod journal;
mod place;
mod pricing;
mod programs;
mod readers;
mod relay;
mod shared_memory;
mod simulation;
mod switch;
mod tape;
mod trading;
mod trial;

use crate::changed;
use anyhow::{Result, bail};
pub use place::MARKER;
use place::Sources;
use programs::Selection;
use std::{
    collections::{BTreeSet, VecDeque},
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};
use switch::Plan;
use trial::{Outcome, Trial};

/// Beyond this a test run hangs, and that is noticing too.
const RUN_TIME_MAX: Duration = Duration::from_secs(180);

/// Mutants that are tried at a time: many of their tests wait for processes.
const WORKERS: usize = 4;

/// One deliberate fault. Entries of one name are one fault of several places, and have the same test.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// The fault, in a few words; a line `// mutant: NAME` is above the place.
    pub name: &'static str,
    /// Replaced text: its first occurrence behind that line.
    pub find: &'static str,
    /// Replacement.
    pub replace: &'static str,
    /// Arguments of `cargo test` for the narrowest test that must fail; the last word is of its name. Words of the form
    /// `NAME=value` before it are set in its environment.
    pub test: &'static str,
}

/// All of them. Their tests need nothing from outside the repository.
const ALL: [&[Mutant]; 11] = [
    shared_memory::SHARED_MEMORY,
    readers::READERS,
    feed::FEED,
    fix::FIX,
    journal::JOURNAL,
    pricing::PRICING,
    trading::TRADING,
    relay::RELAY,
    simulation::SIMULATION,
    tape::TAPE,
    days::DAYS,
];

/// Packages whose tests notice the mutants of a part; a commit tries one part. Each of these builds other programs, so that
/// four commits of five build only a part of the workspace. All other packages are the last part.
const PARTS: [&[&str]; 4] = [
    &["touchline"],
    &["touchline-gateway", "touchline-lab"],
    &[
        "touchline-feed",
        "touchline-book",
        "touchline-net",
        "touchline-client",
    ],
    &[
        "touchline-fx",
        "touchline-fx-desk",
        "touchline-fx-live",
        "touchline-journal",
        "touchline-tape",
    ],
];

/// Mutants with these words first in their names are tried with every commit: they break an order of memory or the protocol of
/// ring and last-value table, or a rule of journal or engine that only a simulation needs; no other tool finds such a fault.
const ALWAYS: [&str; 3] = ["ring", "image", "simulation"];

/// Which mutants to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<'a> {
    /// Mutants with this word in their names; all of them if it is empty.
    Word(&'a str),
    /// Mutants of shared memory and of the simulations, and of the others the part of this commit.
    Commit(&'a str),
}

impl Choice<'_> {
    fn of(self, mutants: impl Iterator<Item = &'static Mutant>) -> Result<Vec<&'static Mutant>> {
        Ok(match self {
            Choice::Word(word) => mutants
                .filter(|mutant| mutant.name.contains(word))
                .collect(),
            Choice::Commit(id) => {
                let part = changed::part_of(id, PARTS.len() + 1)?;
                let is_always =
                    |mutant: &Mutant| ALWAYS.iter().any(|word| mutant.name.starts_with(word));
                mutants
                    .filter(|mutant| part_of(mutant) == part || is_always(mutant))
                    .collect()
            }
        })
    }
}

/// The part of a mutant: that of the package whose test notices it.
fn part_of(mutant: &Mutant) -> usize {
    let package = Selection::of(mutant.test).package().unwrap_or_default();
    let listed = PARTS
        .iter()
        .position(|packages| packages.contains(&package));
    listed.unwrap_or(PARTS.len())
}

/// Tries the chosen mutants.
///
/// # Errors
/// Names each mutant that no test found, with the reason; an empty choice and a text that is not the id of a commit are errors as well.
pub fn run(root: &Path, choice: Choice) -> Result<()> {
    let chosen = choice.of(all())?;
    if chosen.is_empty() {
        bail!(
            "no mutants to try: of the {} in xtask/src/mutants none has the word in its name",
            count(all())
        );
    }
    let folder = crate::target_folder(root).join("mutants");
    let unnoticed = try_all(root, &folder, RUN_TIME_MAX, &chosen)?;
    let tried = count(chosen.iter().copied());
    if unnoticed > 0 {
        bail!(
            "{unnoticed} of {tried} mutants were not noticed; mend the test, or the mutant, of each"
        );
    }
    println!(
        "mutants: all {tried} noticed, of {} there are",
        count(all())
    );
    Ok(())
}

/// How many there are: several entries of one name are one.
fn count<'a>(mutants: impl Iterator<Item = &'a Mutant>) -> usize {
    let names: BTreeSet<&str> = mutants.map(|mutant| mutant.name).collect();
    names.len()
}

fn all() -> impl Iterator<Item = &'static Mutant> {
    ALL.iter().copied().flatten()
}

/// Tries each mutant, tells its outcome, and counts those that went unnoticed: first those that share a build, several at
/// a time, then each that needs one of its own.
fn try_all(
    root: &Path,
    folder: &Path,
    run_time_max: Duration,
    mutants: &[&Mutant],
) -> Result<usize> {
    let sources = Sources::read(root)?;
    let plan = Plan::new(&sources, mutants)?;
    let trial = Trial::new(root, folder, &sources, &plan, run_time_max)?;
    println!(
        "mutants: {} in one build, {} each in one of its own",
        plan.switched().len(),
        plan.alone.len()
    );
    let mut unnoticed = 0;
    for (mutant, reason) in &plan.without_place {
        unnoticed += tell(mutant, &Outcome::DoesNotApply(reason.clone()));
    }
    let programs = trial.prepare(mutants)?;
    let waiting = Mutex::new(VecDeque::from(plan.switched()));
    unnoticed += thread::scope(|scope| {
        let try_next = || -> Result<usize> {
            let mut unnoticed = 0;
            while let Some((number, mutant)) = next(&waiting) {
                unnoticed += tell(mutant, &trial.switched(&programs, number, mutant)?);
            }
            Ok(unnoticed)
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(try_next)).collect();
        workers.into_iter().try_fold(0, |unnoticed, worker| {
            let of_worker = worker.join();
            let of_worker = of_worker.unwrap_or_else(|_| bail!("a worker panicked; see above"));
            anyhow::Ok(unnoticed + of_worker?)
        })
    })?;
    for (mutant, place) in &plan.alone {
        unnoticed += tell(mutant, &trial.alone(mutant, place)?);
    }
    Ok(unnoticed)
}

fn next<T>(waiting: &Mutex<VecDeque<T>>) -> Option<T> {
    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.pop_front()
}

/// Says how a mutant fared; 1 if it went unnoticed.
fn tell(mutant: &Mutant, outcome: &Outcome) -> usize {
    println!("mutant '{}': {outcome}", mutant.name);
    usize::from(!matches!(outcome, Outcome::Noticed | Outcome::Hung))
}

#[cfg(test)]
mod tests {
    use super::*;
    use place::NoPlace;
    use std::{fs, path::PathBuf};

    const MANIFEST: &str =
        "[package]\nname = \"miniature\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    const SOURCE: &str = "\
/// Counts up to `to`.
// mutant: n > to
// mutant: n < to
// mutant: n += 1
// mutant: { true }
// mutant: < 9
// mutant: < 8
// mutant: < 7
// mutant: absent
pub fn count(to: u32) -> u32 {
    let mut n = 0;
    while n < to {
        n += 1;
    }
    n
}
pub fn untested() -> bool { true }
pub const fn is_small(n: u32) -> bool { n < 9 }
pub const fn is_tiny(n: u32) -> bool { n < 8 }
pub const fn is_least(n: u32) -> bool { n < 7 }
// mutant: both
pub fn is_first(n: u32) -> bool { n == 1 }
// mutant: both
pub fn is_last(n: u32) -> bool { n == 2 }
#[test]
fn counts() {
    assert_eq!(count(3), 3);
    assert!(is_small(4));
    assert!(is_first(1) || is_last(2));
}
";

    #[test]
    fn every_mutant_is_of_one_part_and_those_that_nothing_else_shows_are_of_all() {
        let of = |part: usize| {
            Choice::Commit(["00000000", "00000001", "00000002", "00000003", "00000004"][part])
                .of(all())
        };
        let parts = [0, 1, 2, 3, 4].map(|part| of(part).unwrap());
        for mutant in all() {
            let has_it = |part: &&Vec<&Mutant>| part.iter().any(|one| one.name == mutant.name);
            let times = parts.iter().filter(has_it).count();
            let always = ["ring", "image", "simulation"];
            let is_always = always.iter().any(|word| mutant.name.starts_with(word));
            assert_eq!(
                times,
                if is_always { PARTS.len() + 1 } else { 1 },
                "{}",
                mutant.name
            );
        }
        assert!(Choice::Commit("main").of(all()).is_err());
    }

    fn mutant(find: &'static str, replace: &'static str) -> Mutant {
        Mutant {
            name: find,
            find,
            replace,
            test: "counts",
        }
    }

    /// A crate of one file, in a folder of its own.
    fn miniature(name: &str) -> PathBuf {
        let root = crate::target_folder(&crate::root())
            .join("miniature")
            .join(name);
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(root.join("crates")).unwrap();
        fs::write(root.join("Cargo.toml"), MANIFEST).unwrap();
        fs::write(root.join("src/lib.rs"), SOURCE).unwrap();
        root
    }

    /// How each of `mutants` fares in the crate of one file.
    fn outcomes(name: &str, limit: Duration, mutants: &[Mutant]) -> Result<Vec<Outcome>> {
        let root = miniature(name);
        let sources = Sources::read(&root)?;
        let list: Vec<&Mutant> = mutants.iter().collect();
        let plan = Plan::new(&sources, &list)?;
        let trial = Trial::new(&root, &root.join("target/mutants"), &sources, &plan, limit)?;
        let programs = trial.prepare(&list)?;
        let reasons = plan.without_place.iter();
        let mut outcomes: Vec<Outcome> = reasons
            .map(|(_, reason)| Outcome::DoesNotApply(reason.clone()))
            .collect();
        for (number, mutant) in plan.switched() {
            outcomes.push(trial.switched(&programs, number, mutant)?);
        }
        for (mutant, place) in &plan.alone {
            outcomes.push(trial.alone(mutant, place)?);
        }
        Ok(outcomes)
    }

    #[test]
    fn the_outcomes_are_distinguished() {
        let mutants = [
            mutant("n > to", "n"),
            mutant("n < to", "n + 1 < to"),
            mutant("{ true }", "{ false }"),
            mutant("< 9", "< 4"),
            mutant("< 8", "< 9"),
            mutant("< 7", "< nine"),
        ];
        let outcomes = outcomes("outcomes", RUN_TIME_MAX, &mutants).unwrap();
        assert!(matches!(
            outcomes[0],
            Outcome::DoesNotApply(NoPlace::NoText(_))
        ));
        assert_eq!(
            outcomes[1..5],
            [
                Outcome::Noticed,
                Outcome::Survived,
                Outcome::Noticed,
                Outcome::Survived
            ]
        );
        assert!(matches!(outcomes[5], Outcome::DoesNotCompile { .. }));
        // The original was never touched.
        assert_eq!(
            fs::read_to_string(miniature("outcomes").join("src/lib.rs")).unwrap(),
            SOURCE
        );
    }

    /// A mutant of several places: each place alone has no effect that the test finds.
    #[test]
    fn a_mutant_of_several_places_breaks_all_of_them_at_once() {
        let both = |find| Mutant {
            name: "both",
            ..mutant(find, "false")
        };
        let of = |mutants: &[Mutant]| outcomes("several", RUN_TIME_MAX, mutants).unwrap();
        assert_eq!(of(&[both("n == 1")]), [Outcome::Survived]);
        assert_eq!(of(&[both("n == 2")]), [Outcome::Survived]);
        assert_eq!(of(&[both("n == 1"), both("n == 2")]), [Outcome::Noticed]);
    }

    #[test]
    fn a_test_that_does_not_end_detects_the_mutant() {
        let mutants = [mutant("n += 1", "n += 0")];
        let outcomes = outcomes("hang", Duration::from_secs(2), &mutants).unwrap();
        assert_eq!(outcomes, [Outcome::Hung]);
    }

    #[test]
    fn every_undetected_mutant_is_counted() {
        let mutants = [
            mutant("n < to", "n <= to"),
            mutant("{ true }", "{ false }"),
            mutant("absent", ""),
        ];
        let list: Vec<&Mutant> = mutants.iter().collect();
        let root = miniature("count");
        let folder = root.join("target/mutants");
        assert_eq!(try_all(&root, &folder, RUN_TIME_MAX, &list).unwrap(), 2);
    }

    #[test]
    fn a_test_that_does_not_exist_or_fails_without_the_mutant_is_refused() {
        let absent = Mutant {
            test: "no_such_test",
            ..mutant("{ true }", "")
        };
        let error = outcomes("unbroken", RUN_TIME_MAX, &[absent]).unwrap_err();
        assert!(error.to_string().contains("runs no test"), "{error}");
        let failing = SOURCE.replace("n < to", "n <= to");
        let root = miniature("failing");
        fs::write(root.join("src/lib.rs"), failing).unwrap();
        let folder = root.join("target/mutants");
        let error = try_all(&root, &folder, RUN_TIME_MAX, &[&mutant("{ true }", "")]).unwrap_err();
        assert!(
            error.to_string().contains("fails without any mutant"),
            "{error}"
        );
    }

    #[test]
    fn no_mutants_is_an_error() {
        assert!(run(&crate::root(), Choice::Word("no mutant has this name")).is_err());
    }

    /// Cheap, so that a mutant that went stale is noticed long before the mutants run.
    #[test]
    fn every_mutant_still_applies_and_every_marker_names_one() {
        let sources = Sources::read(&crate::root()).unwrap();
        let stale: Vec<String> = all()
            .filter_map(|mutant| Some((mutant, sources.place(mutant).err()?)))
            .map(|(mutant, reason)| format!("mutant '{}': {reason}", mutant.name))
            .collect();
        assert!(stale.is_empty(), "{}", stale.join("\n"));
        let names: Vec<&str> = sources.names().collect();
        for name in &names {
            let markers = names.iter().filter(|other| *other == name).count();
            let places = all().filter(|mutant| mutant.name == *name).count();
            assert_eq!(
                markers, places,
                "{markers} markers, and {places} entries in xtask/src/mutants, of the name '{name}'"
            );
        }
    }

    /// As cheap: where the test of a mutant went elsewhere, the run would end before it tries anything.
    #[test]
    fn the_test_of_every_mutant_exists() {
        for mutant in all() {
            let mut places = all().filter(|place| place.name == mutant.name);
            assert!(
                places.all(|place| place.test == mutant.test),
                "{}",
                mutant.name
            );
            let words: Vec<&str> = mutant.test.split(' ').collect();
            let package = words.iter().position(|word| *word == "-p").unwrap() + 1;
            let folder = match words[package].strip_prefix("touchline-") {
                Some(folder) => format!("crates/{folder}"),
                None => "crates/touchline".to_owned(),
            };
            let test = words.last().and_then(|test| test.rsplit("::").next());
            let test = test.unwrap_or_default();
            assert!(
                has_function(&crate::root().join(folder), test),
                "no test of {} has '{test}' in its name, as mutant '{}' says",
                words[package],
                mutant.name
            );
        }
    }

    /// Whether a source file below `folder` defines a function with `part` in its name.
    fn has_function(folder: &Path, part: &str) -> bool {
        fs::read_dir(folder).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() {
                return has_function(&path, part);
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let defines = |line: &str| {
                let name = line.trim_start().strip_prefix("fn ");
                name.and_then(|name| name.split('(').next())
                    .is_some_and(|name| name.contains(part))
            };
            path.extension().is_some_and(|extension| extension == "rs") && text.lines().any(defines)
        })
    }
}
