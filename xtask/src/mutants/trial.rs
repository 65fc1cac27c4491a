//! Trying mutants: a copy of the sources with their switches, and a test run of each.

use super::{
    Mutant,
    place::{NoPlace, Place, Sources},
    programs::{Program, Programs, Selection},
    switch::{Plan, VARIABLE},
};
use anyhow::{Context, Result, bail};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsStr,
    fmt,
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Folders that are not copied: build outputs and version control.
pub const SKIPPED: &[&str] = &["target", ".git"];

/// Each mutant is built once and run once on few inputs, so build time dominates.
const OPTIMISATION: u8 = 0;

/// How a mutant fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The test failed, as it should.
    Noticed,
    /// The test did not end in time, which a test run shows as well.
    Hung,
    /// The test passed on broken code.
    Survived,
    /// There is no place, or not one, that it changes.
    DoesNotApply(NoPlace),
    /// The change is not valid Rust, so no test ran.
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

/// A copy of the sources to break, and its build folder.
#[derive(Debug)]
pub struct Trial<'a> {
    copy: PathBuf,
    /// Programs and outputs of the copy.
    build: PathBuf,
    /// Cargo's target folder: that of the workspace, since the dependencies are the same.
    compiled: PathBuf,
    /// Arguments of cargo for the optimisation.
    profile: Vec<String>,
    sources: &'a Sources,
    plan: &'a Plan<'a>,
    run_time_max: Duration,
    runs: AtomicU32,
}

impl<'a> Trial<'a> {
    /// Copies the sources below `root` into `folder`, which is inside the build folder of the workspace, with the switches of
    /// `plan`. Files that are equal already are left alone, so that cargo does not build them again.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn new(
        root: &Path,
        folder: &Path,
        sources: &'a Sources,
        plan: &'a Plan<'a>,
        run_time_max: Duration,
    ) -> Result<Self> {
        let copy = folder.join("copy");
        let build = folder.join("build");
        fs::create_dir_all(&build)?;
        mirror(root, &copy, Path::new(""), &plan.files(root, sources)?)?;
        Ok(Self {
            copy,
            build,
            profile: crate::optimised(root, OPTIMISATION)?,
            compiled: folder.parent().unwrap_or(folder).to_owned(),
            sources,
            plan,
            run_time_max,
            runs: AtomicU32::new(0),
        })
    }

    /// Builds the programs of the tests of `mutants`, and holds each test against the unbroken copy: it must run something
    /// and pass.
    ///
    /// # Errors
    /// Names the test that fails by itself or that does not exist.
    pub fn prepare<'m>(&self, mutants: &[&'m Mutant]) -> Result<Programs<'m>> {
        let tests: Vec<Selection> = mutants.iter().map(|m| Selection::of(m.test)).collect();
        let programs = Programs::build(|| self.cargo(), &tests)?;
        let mut names: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for test in &tests {
            let of_program = names.entry((test.variables, test.program));
            of_program.or_default().insert(test.name);
        }
        for ((variables, program), names) in names {
            let names: Vec<&str> = names.into_iter().collect();
            let test = Selection {
                variables,
                program,
                name: names[0],
            };
            let variables: Vec<(&str, &str)> = test.variables().collect();
            let run = self.run_programs(programs.of(&test), &names, &variables, None)?;
            if !run.succeeded() {
                let command = format!("cargo test {program} -- {}", names.join(" "));
                bail!(
                    "'{command}' fails without any mutant; mend that first:\n{}",
                    run.output
                );
            }
            if let Some(name) = names.iter().find(|name| !runs(&run.output, name)) {
                bail!(
                    "'cargo test {program} {name}' runs no test, so it cannot notice anything; correct its name"
                );
            }
        }
        Ok(programs)
    }

    /// Runs the test of a mutant that is switched.
    ///
    /// # Errors
    /// The test cannot be run.
    pub fn switched(&self, programs: &Programs, number: usize, mutant: &Mutant) -> Result<Outcome> {
        let test = Selection::of(mutant.test);
        let number = number.to_string();
        let variables: Vec<(&str, &str)> = test.variables().chain([(VARIABLE, &*number)]).collect();
        self.outcome(programs.of(&test), &test, &variables)
    }

    /// Breaks the copy with `mutant`, runs its test, and mends the copy again.
    ///
    /// # Errors
    /// A file cannot be read or written, or the test cannot be run.
    pub fn alone(&self, mutant: &Mutant, place: &Place) -> Result<Outcome> {
        let write = |broken| {
            let text = self.plan.text_of(&place.file, self.sources, broken);
            fs::write(self.copy.join(&place.file), text)
        };
        write(Some((place, mutant.replace)))?;
        let test = Selection::of(mutant.test);
        let outcome = match Programs::build(|| self.cargo(), &[test]) {
            Ok(programs) => {
                let variables: Vec<(&str, &str)> = test.variables().collect();
                self.outcome(programs.of(&test), &test, &variables)?
            }
            Err(error) => Outcome::DoesNotCompile {
                output: error.to_string(),
            },
        };
        write(None)?;
        Ok(outcome)
    }

    fn outcome(
        &self,
        programs: &[Program],
        test: &Selection,
        variables: &[(&str, &str)],
    ) -> Result<Outcome> {
        let limit = Some(self.run_time_max);
        let run = self.run_programs(programs, &[test.name], variables, limit)?;
        Ok(match run.status {
            None => Outcome::Hung,
            Some(status) if status.success() => Outcome::Survived,
            Some(_) => Outcome::Noticed,
        })
    }

    /// `cargo test` in the copy.
    fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .arg("test")
            .current_dir(&self.copy)
            .args(&self.profile)
            .env("CARGO_TARGET_DIR", &self.build)
            .env("CARGO_BUILD_BUILD_DIR", &self.compiled)
            .env("CARGO_INCREMENTAL", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs the tests with `names` in their own of each program, as cargo would, until one fails; each at most for `limit`.
    fn run_programs(
        &self,
        programs: &[Program],
        names: &[&str],
        variables: &[(&str, &str)],
        limit: Option<Duration>,
    ) -> Result<Run> {
        let mut all = Run::default();
        for program in programs {
            // Each run its own: two may be under way.
            let number = self.runs.fetch_add(1, Ordering::Relaxed);
            let path = self.build.join(format!("output-{number}.txt"));
            let output = File::create(&path)?;
            let mut child = Command::new(&program.file)
                .args(names)
                .current_dir(&program.folder)
                .env("CARGO_MANIFEST_DIR", &program.folder)
                .envs(variables.iter().copied())
                .stdin(Stdio::null())
                .stdout(output.try_clone()?)
                .stderr(output)
                // A separate process group: children of a hanging test must end with it.
                .process_group(0)
                .spawn()
                .with_context(|| format!("cannot run {}", program.file.display()))?;
            all.status = wait(&mut child, limit)?;
            all.output += &String::from_utf8_lossy(&fs::read(&path)?);
            fs::remove_file(&path)?;
            if !all.succeeded() {
                break;
            }
        }
        Ok(all)
    }
}

/// One run of tests.
#[derive(Default)]
struct Run {
    /// How it ended; `None` when it was ended after its limit.
    status: Option<ExitStatus>,
    output: String,
}

impl Run {
    fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Waits for a process, and ends it after `limit`; then ends its remaining children: a failed test leaves some.
fn wait(child: &mut Child, limit: Option<Duration>) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if limit.is_some_and(|limit| started.elapsed() > limit) {
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    Command::new("kill")
        .args(["-KILL", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status()?;
    child.wait()?;
    Ok(status)
}

/// Whether the output of a test program has a passed test whose name contains `name`.
fn runs(output: &str, name: &str) -> bool {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"))
        .any(|test| test.contains(name))
}

/// Makes `copy` a copy of the files below `from` and of nothing else, with `instead` in place of the files of these names; `below` is
/// where both are, seen from the roots.
fn mirror(
    from: &Path,
    copy: &Path,
    below: &Path,
    instead: &BTreeMap<PathBuf, String>,
) -> Result<()> {
    let (from_here, copy_here) = (from.join(below), copy.join(below));
    fs::create_dir_all(&copy_here)?;
    let mut names = BTreeSet::new();
    let entries = fs::read_dir(&from_here);
    for entry in entries.with_context(|| format!("cannot list {}", from_here.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let path = below.join(&name);
        if entry.file_type()?.is_dir() {
            mirror(from, copy, &path, instead)?;
        } else {
            let bytes = match instead.get(&path) {
                Some(text) => text.as_bytes().to_vec(),
                None => fs::read(entry.path())?,
            };
            write_new(&copy.join(&path), &bytes)?;
        }
        names.insert(name);
    }
    if below.as_os_str().is_empty() {
        for (path, text) in instead.iter().filter(|(path, _)| !from.join(path).exists()) {
            write_new(&copy.join(path), text.as_bytes())?;
            names.extend(path.iter().next().map(OsStr::to_owned));
        }
    }
    for entry in fs::read_dir(&copy_here)? {
        let entry = entry?;
        if !names.contains(&entry.file_name()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Writes a file, unless it is there and equal.
fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, bytes)?)
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)?
    } else {
        fs::remove_file(path)?
    }
    Ok(())
}
