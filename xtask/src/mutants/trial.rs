//! Trying one mutant: a copy of the sources, one change, one test run.

use super::{
    Mutant,
    place::{NoPlace, Sources},
};
use anyhow::{Context, Result, bail, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fmt,
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// What is not copied: what was built, and version control.
pub const SKIPPED: &[&str] = &["target", ".git"];

/// Each mutant is built once and run once on few inputs: what counts is how long building takes.
const QUICK_TO_BUILD: [(&str, &str); 3] = [
    ("CARGO_INCREMENTAL", "1"),
    ("CARGO_PROFILE_TEST_OPT_LEVEL", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "0"),
];

/// How a mutant fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The test failed, as it should.
    Noticed,
    /// The test did not end in time, which nobody would overlook.
    Hung,
    /// The test passed on broken code.
    Survived,
    /// There is no place, or not one, that it changes.
    DoesNotApply(NoPlace),
    /// The change is not valid Rust, so nothing was tested.
    DoesNotCompile { output: String },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noticed => f.write_str("noticed"),
            Self::Hung => f.write_str("noticed (the test never ended)"),
            Self::Survived => f.write_str("SURVIVED: the test passes on broken code"),
            Self::DoesNotApply(reason) => write!(f, "DOES NOT APPLY: {reason}"),
            Self::DoesNotCompile { output } => write!(f, "DOES NOT COMPILE:\n{output}"),
        }
    }
}

/// A copy of the sources to break, and a build folder that all mutants share.
#[derive(Debug)]
pub struct Trial {
    folder: PathBuf,
    copy: PathBuf,
    sources: Sources,
    build: PathBuf,
    output: PathBuf,
    run_time_max: Duration,
}

impl Trial {
    /// Copies the sources below `root` into `folder`. What is there already and equal is left alone, so that cargo
    /// does not build it again.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn new(root: &Path, folder: &Path, run_time_max: Duration) -> Result<Self> {
        mirror(root, &folder.join("copy"))?;
        Self::of(folder.to_owned(), run_time_max)
    }

    fn of(folder: PathBuf, run_time_max: Duration) -> Result<Self> {
        let copy = folder.join("copy");
        Ok(Self {
            sources: Sources::read(&copy)?,
            copy,
            build: folder.join("build"),
            output: folder.join("output.txt"),
            folder,
            run_time_max,
        })
    }

    /// The same in a folder of its own beside this one, with all that is built here: cargo builds nothing twice.
    ///
    /// # Errors
    /// When the files cannot be copied.
    pub fn twin(&self) -> Result<Self> {
        let folder = self.folder.with_file_name("2");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        // With the times of the files, by which cargo tells what is new.
        let status = Command::new("cp")
            .arg("--archive")
            .args([&self.folder, &folder])
            .status()
            .context("cannot run cp")?;
        ensure!(status.success(), "cannot copy {}", self.folder.display());
        Self::of(folder, self.run_time_max)
    }

    /// Holds the tests of `mutants` against the unbroken copy: each must run something and pass.
    ///
    /// # Errors
    /// Names the test that fails by itself or that does not exist.
    pub fn check_unbroken(&self, mutants: &[&Mutant]) -> Result<()> {
        let mut programs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for mutant in mutants {
            let (program, name) = mutant.test.rsplit_once(' ').unwrap_or(("", mutant.test));
            programs.entry(program).or_default().insert(name);
        }
        for (program, names) in programs {
            let names: Vec<&str> = names.into_iter().collect();
            let command = format!("cargo test {program} -- {}", names.join(" "));
            let arguments = [&["--"], &names[..]].concat();
            if !self
                .cargo(program, &arguments, None)?
                .is_some_and(|status| status.success())
            {
                bail!(
                    "'{command}' fails without any mutant; mend that first:\n{}",
                    self.last_output()
                );
            }
            let output = self.last_output();
            if let Some(name) = names.iter().find(|name| !runs(&output, name)) {
                bail!(
                    "'cargo test {program} {name}' runs no test, so it cannot notice anything; correct its name"
                );
            }
        }
        Ok(())
    }

    /// Breaks the copy with `mutant`, runs its test, and mends the copy again.
    ///
    /// # Errors
    /// When a file cannot be read or written or cargo cannot be run.
    pub fn outcome(&self, mutant: &Mutant) -> Result<Outcome> {
        let place = match self.sources.place(mutant) {
            Ok(place) => place,
            Err(reason) => return Ok(Outcome::DoesNotApply(reason)),
        };
        let file = self.copy.join(&place.file);
        let text = fs::read_to_string(&file)?;
        let mut broken = text.clone();
        broken.replace_range(place.bytes, mutant.replace);
        fs::write(&file, broken)?;
        let outcome = self.test(mutant);
        fs::write(&file, text)?;
        outcome
    }

    fn test(&self, mutant: &Mutant) -> Result<Outcome> {
        if !self
            .cargo(mutant.test, &["--no-run"], None)?
            .is_some_and(|status| status.success())
        {
            return Ok(Outcome::DoesNotCompile {
                output: self.last_output(),
            });
        }
        Ok(
            match self.cargo(mutant.test, &[], Some(self.run_time_max))? {
                None => Outcome::Hung,
                Some(status) if status.success() => Outcome::Survived,
                Some(_) => Outcome::Noticed,
            },
        )
    }

    /// Runs `cargo test` in the copy; `None` when it was ended after `limit`.
    fn cargo(
        &self,
        test: &str,
        more: &[&str],
        limit: Option<Duration>,
    ) -> Result<Option<ExitStatus>> {
        let is_variable = |word: &&str| word.contains('=');
        let variables = test.split_whitespace().take_while(is_variable);
        let arguments = test.split_whitespace().skip_while(is_variable);
        let output = File::create(&self.output)?;
        let mut child = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .arg("test")
            .args(in_view(test))
            .args(arguments)
            .args(more)
            .envs(variables.filter_map(|word| word.split_once('=')))
            .current_dir(&self.copy)
            .env("CARGO_TARGET_DIR", &self.build)
            .envs(QUICK_TO_BUILD)
            .stdin(std::process::Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            // A group of its own: cargo starts the test, and a hanging test must end with it.
            .process_group(0)
            .spawn()
            .context("cannot run cargo test; is cargo on the PATH?")?;
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if limit.is_some_and(|limit| started.elapsed() > limit) {
                Command::new("kill")
                    .args(["-KILL", "--", &format!("-{}", child.id())])
                    .status()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn last_output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap_or_default()).into_owned()
    }
}

/// The command beside the package that is tested. It depends on every other, so with it in view each package is built with
/// the same features, and all tests share what is built.
fn in_view(test: &str) -> &'static [&'static str] {
    match test.contains("-p touchline-") {
        true => &["-p", "touchline"],
        false => &[],
    }
}

/// Whether a test program said that a test with `name` in its own passed.
fn runs(output: &str, name: &str) -> bool {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"))
        .any(|test| test.contains(name))
}

/// Makes `copy` hold the sources of `from` and nothing else.
fn mirror(from: &Path, copy: &Path) -> Result<()> {
    fs::create_dir_all(copy)?;
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let (source, target) = (entry.path(), copy.join(&name));
        if entry.file_type()?.is_dir() {
            mirror(&source, &target)?;
        } else {
            let bytes = fs::read(&source)?;
            if fs::read(&target).ok().as_ref() != Some(&bytes) {
                fs::write(&target, bytes)?;
            }
        }
        names.insert(name);
    }
    for entry in fs::read_dir(copy)? {
        let entry = entry?;
        if !names.contains(&entry.file_name()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)?
    } else {
        fs::remove_file(path)?
    }
    Ok(())
}
