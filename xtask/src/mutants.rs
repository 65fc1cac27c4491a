//! Deliberate faults, each of which a test must notice.
//!
//! A test that passes on broken code tests nothing. Each mutant breaks one line that matters and names the test that
//! must then fail; a mutant that survives, that no longer applies, or that does not compile fails the run.

mod always;
mod believed;
mod bus;
mod doors;
mod first_use;
mod fix;
mod fix_session;
mod fix_store;
mod hash;
mod image;
mod list;
mod market;
mod names;
mod options;
mod place;
mod readiness;
mod ring;
mod simulator;
mod soaks;
mod sockets;
mod stalled;
mod trial;

use anyhow::{Result, bail};
pub use options::Options;
pub use place::MARKER;
use std::{
    collections::VecDeque,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use trial::{Outcome, Trial};

/// Beyond this a test run hangs, and that is noticing too.
const RUN_TIME_MAX: Duration = Duration::from_secs(180);

/// One deliberate fault.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// What is broken, in a few words; a line `// mutant: NAME` stands above the place.
    pub name: &'static str,
    /// What is replaced: the first text like this behind that line.
    pub find: &'static str,
    /// What stands there instead.
    pub replace: &'static str,
    /// What follows `cargo test`: the narrowest one that must fail; the last word is of its name. Words of the form
    /// `NAME=value` before it are set in its environment.
    pub test: &'static str,
}

/// Tries the mutants that `options` choose, two at a time.
///
/// # Errors
/// Names each mutant that was not noticed, with the reason; an empty list is an error as well.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let chosen = options.choose(all());
    if chosen.is_empty() {
        bail!(
            "no mutants to try: of the {} in xtask/src/mutants/list.rs none is {options:?}",
            all().count()
        );
    }
    let trial = Trial::new(
        root,
        &crate::target_folder(root).join("mutants/1"),
        RUN_TIME_MAX,
    )?;
    let unnoticed = try_all(&trial, &chosen)?;
    if unnoticed > 0 {
        bail!(
            "{unnoticed} of {} mutants were not noticed; mend the test, or the mutant, of each",
            chosen.len()
        );
    }
    println!(
        "mutants: all {} noticed, of {} there are",
        chosen.len(),
        all().count()
    );
    Ok(())
}

fn all() -> impl Iterator<Item = &'static Mutant> {
    list::ALL.iter().copied().flatten()
}

/// Tries each mutant, tells its outcome, and counts those that went unnoticed.
///
/// Neighbours have a test program in common, so that little is built from one to the next: one worker begins at the
/// front of the list, the other at its end.
fn try_all(trial: &Trial, mutants: &[&Mutant]) -> Result<usize> {
    let mut sorted = mutants.to_vec();
    sorted.sort_by_key(|mutant| mutant.test);
    trial.check_unbroken(&sorted)?;
    let waiting = Mutex::new(VecDeque::from(sorted));
    let second = trial.twin()?;
    thread::scope(|scope| {
        let other = scope.spawn(|| try_next(&second, || locked(&waiting).pop_back()));
        let unnoticed = try_next(trial, || locked(&waiting).pop_front())?;
        let other = other.join();
        Ok(unnoticed + other.unwrap_or_else(|_| bail!("a worker panicked; see above"))?)
    })
}

fn locked<'a, T>(waiting: &'a Mutex<T>) -> MutexGuard<'a, T> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_next<'a>(trial: &Trial, mut next: impl FnMut() -> Option<&'a Mutant>) -> Result<usize> {
    let mut unnoticed = 0;
    while let Some(mutant) = next() {
        let outcome = trial.outcome(mutant)?;
        println!("mutant '{}': {outcome}", mutant.name);
        unnoticed += usize::from(!matches!(outcome, Outcome::Noticed | Outcome::Hung));
    }
    Ok(unnoticed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use place::{NoPlace, Sources};
    use std::{fs, path::PathBuf};

    const MANIFEST: &str =
        "[package]\nname = \"miniature\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    const SOURCE: &str = "\
/// Counts up to `to`.
// mutant: m
pub fn count(to: u32) -> u32 {
    let mut n = 0;
    while n < to {
        n += 1;
    }
    n
}
pub fn untested() -> bool { true }
#[test]
fn counts() {
    assert_eq!(count(3), 3);
}
";

    fn mutant(find: &'static str, replace: &'static str) -> Mutant {
        Mutant {
            name: "m",
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
        fs::write(root.join("Cargo.toml"), MANIFEST).unwrap();
        fs::write(root.join("src/lib.rs"), SOURCE).unwrap();
        root
    }

    fn trial(name: &str, limit: Duration) -> Trial {
        let root = miniature(name);
        Trial::new(&root, &root.join("target/mutants/1"), limit).unwrap()
    }

    #[test]
    fn each_outcome_is_told_from_the_others() {
        let trial = trial("outcomes", RUN_TIME_MAX);
        let outcome = |find, replace| trial.outcome(&mutant(find, replace)).unwrap();
        assert_eq!(outcome("n < to", "n + 1 < to"), Outcome::Noticed);
        assert_eq!(outcome("{ true }", "{ false }"), Outcome::Survived);
        assert!(matches!(
            outcome("n > to", "n"),
            Outcome::DoesNotApply(NoPlace::NoText(_))
        ));
        assert!(matches!(
            outcome("n < to", "n < too"),
            Outcome::DoesNotCompile { .. }
        ));
        // The copy is whole again, and the original was never touched.
        trial.check_unbroken(&[&mutant("", "")]).unwrap();
        assert_eq!(
            fs::read_to_string(miniature("outcomes").join("src/lib.rs")).unwrap(),
            SOURCE
        );
    }

    #[test]
    fn a_test_that_never_ends_has_noticed() {
        let outcome = trial("hang", Duration::from_secs(2))
            .outcome(&mutant("n += 1", "n += 0"))
            .unwrap();
        assert_eq!(outcome, Outcome::Hung);
    }

    #[test]
    fn every_unnoticed_mutant_is_counted() {
        let mutants = [
            mutant("n < to", "n <= to"),
            mutant("{ true }", "{ false }"),
            mutant("absent", ""),
        ];
        let list: Vec<&Mutant> = mutants.iter().collect();
        assert_eq!(try_all(&trial("count", RUN_TIME_MAX), &list).unwrap(), 2);
    }

    #[test]
    fn a_test_that_does_not_exist_or_fails_by_itself_is_refused() {
        let trial = trial("unbroken", RUN_TIME_MAX);
        let absent = Mutant {
            test: "no_such_test",
            ..mutant("", "")
        };
        let error = trial.check_unbroken(&[&absent]).unwrap_err().to_string();
        assert!(error.contains("runs no test"), "{error}");
        fs::write(
            miniature("failing").join("src/lib.rs"),
            SOURCE.replace("n < to", "n <= to"),
        )
        .unwrap();
        let root = crate::target_folder(&crate::root()).join("miniature/failing");
        let trial = Trial::new(&root, &root.join("target/mutants/1"), RUN_TIME_MAX).unwrap();
        let error = trial
            .check_unbroken(&[&mutant("", "")])
            .unwrap_err()
            .to_string();
        assert!(error.contains("fails without any mutant"), "{error}");
    }

    #[test]
    fn no_mutants_is_an_error() {
        let options = Options::parse(&["no mutant has this name"]).unwrap();
        assert!(run(&crate::root(), &options).is_err());
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
        for name in sources.names() {
            assert!(
                all().any(|mutant| mutant.name == name),
                "no mutant in xtask/src/mutants is called '{name}', as a marker says"
            );
        }
    }

    /// As cheap: where the test of a mutant went elsewhere, the run would end before it tries anything.
    #[test]
    fn the_test_of_every_mutant_is_where_it_says() {
        for mutant in all() {
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
