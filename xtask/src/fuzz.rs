//! Coverage-guided fuzzing with libFuzzer on the stable compiler: build, run, report.
//!
//! The targets live in `fuzz/`. Seeds and corpus are kept below the target folder, so that a search goes on where the
//! last one ended.

mod build;
mod report;

use anyhow::{Context, Result, bail};
use build::Program;
use report::Report;
use std::{
    env,
    fs::{self, File},
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Fails on purpose; the search is sound only if it finds this.
const MUST_FAIL: &str = "must_fail";

/// Time for the search to find the fault that is there; in practice it takes less than a second.
const MUST_FAIL_SECONDS: u32 = 60;

/// No input is longer, in bytes: above the size of any packet, and short enough to try many.
const INPUT_BYTES_MAX: u32 = 4096;

/// Most resident memory, in MiB: 64 for the target, above what libFuzzer takes for itself and its corpus.
const RESIDENT_MIB_MAX: u32 = 128;

/// AddressSanitizer keeps freed memory and shadows all of it.
const RESIDENT_MIB_MAX_ASAN: u32 = 2048;

/// What to fuzz, and how long.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// One target; all of them when `None`.
    target: Option<String>,
    /// Seconds for each target.
    seconds: u32,
    /// With AddressSanitizer, which finds what unsafe code and C code do to memory.
    asan: bool,
    /// Run this input alone and stop.
    replay: Option<PathBuf>,
}

impl Options {
    /// Reads `[TARGET] [--seconds N] [--asan] [--replay FILE]`.
    ///
    /// # Errors
    /// Names the argument that was not understood.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            target: None,
            seconds: 10,
            asan: false,
            replay: None,
        };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            match argument {
                "--asan" => options.asan = true,
                "--seconds" => {
                    let number = arguments
                        .next()
                        .and_then(|number| number.parse().ok())
                        .filter(|n| *n > 0);
                    options.seconds = number.context("--seconds needs a whole number above 0")?;
                }
                "--replay" => {
                    let file = arguments
                        .next()
                        .context("--replay needs the path of a file")?;
                    options.replay = Some(PathBuf::from(file));
                }
                name if !name.starts_with('-') && options.target.is_none() => {
                    options.target = Some(name.to_owned());
                }
                other => bail!(
                    "'{other}' is not understood; fuzz takes [TARGET] [--seconds N] [--asan] [--replay FILE]"
                ),
            }
        }
        if options.replay.is_some() && options.target.is_none() {
            bail!("--replay needs the target as well: cargo xtask fuzz TARGET --replay FILE");
        }
        Ok(options)
    }
}

/// Builds the targets and runs them, as many at once as there are processors. On a machine without a C++ compiler a run of all targets says
/// so and does what can be done there.
///
/// # Errors
/// When a target fails (with the input's path and how to replay it), when the fault that is there on purpose is not
/// found, or when the build fails.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if !options.asan && options.target.is_none() && !build::has_cxx() {
        return without_coverage(root);
    }
    let program = build::build(root, options.asan)?;
    let campaign = Campaign {
        program: &program,
        folder: &crate::target_folder(root).join("fuzz-corpus"),
        options,
    };
    if let (Some(target), Some(file)) = (&options.target, &options.replay) {
        return campaign.replay(target, file);
    }
    let targets = match &options.target {
        Some(target) => vec![target.clone()],
        None => program.targets()?,
    };
    campaign.find_the_fault_that_is_there()?;
    let failed = campaign.search_all(&targets)?;
    if failed > 0 {
        bail!(
            "{failed} of {} fuzz targets failed; each input stands above",
            targets.len()
        );
    }
    println!(
        "fuzz: {} targets, {} s each, nothing found",
        targets.len(),
        options.seconds
    );
    Ok(())
}

/// What any machine can do: every target over its seeds and their seeded mutations, in plain Rust.
fn without_coverage(root: &Path) -> Result<()> {
    println!(
        "fuzz: there is no C++ compiler here, which libFuzzer needs; the search that coverage leads is LEFT OUT, and \
         the seeded mutations of the tests of touchline-fuzz run instead"
    );
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "-p", "touchline-fuzz"])
        .current_dir(root)
        .status()
        .context("cannot run cargo test; is cargo on the PATH?")?;
    if !status.success() {
        bail!("a fuzz target failed; its input stands above");
    }
    Ok(())
}

/// A run of targets: the program, where their inputs are kept, and what was asked for.
struct Campaign<'a> {
    program: &'a Program,
    folder: &'a Path,
    options: &'a Options,
}

impl Campaign<'_> {
    fn find_the_fault_that_is_there(&self) -> Result<()> {
        let _ = fs::remove_dir_all(self.folder.join(MUST_FAIL));
        let report = self.search(MUST_FAIL, MUST_FAIL_SECONDS)?;
        if report.failing_input.is_none() {
            bail!(
                "the search did not find the fault of '{MUST_FAIL}' in {MUST_FAIL_SECONDS} s, so it would find no \
                 other; is the code instrumented?\n{}",
                report.cause
            );
        }
        println!(
            "fuzz {MUST_FAIL}: found as it must be, after {} runs",
            report.runs
        );
        Ok(())
    }

    /// As many targets at once as there are processors. How many failed.
    fn search_all(&self, targets: &[String]) -> Result<usize> {
        let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let worker = || {
            while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                let report = self.search(target, self.options.seconds)?;
                let mut said = format!("fuzz {target}: {report}");
                if let Some(input) = &report.failing_input {
                    failed.fetch_add(1, Ordering::Relaxed);
                    let replay = self.replay_command(target, input);
                    said += &format!(
                        "\n{}\nfuzz {target}: FAILED on {input}\n  replay: {replay}",
                        report.cause
                    );
                }
                println!("{said}");
            }
            Ok(())
        };
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..processors).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().try_for_each(|worker| {
                let ended = worker.join();
                ended.unwrap_or_else(|_| bail!("a worker of the search panicked; see above"))
            })
        })?;
        Ok(failed.into_inner())
    }

    fn search(&self, target: &str, seconds: u32) -> Result<Report> {
        let folder = self.folder.join(target);
        let [seeds, corpus, failures] =
            ["seeds", "corpus", "failures"].map(|name| folder.join(name));
        for folder in [&seeds, &corpus, &failures] {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        self.program.write_seeds(target, &seeds)?;
        let log = folder.join("log.txt");
        let output = File::create(&log)?;
        let status = self
            .command(target)
            .args([&corpus, &seeds])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-artifact_prefix={}/", failures.display()))
            .arg("-print_final_stats=1")
            .stdout(output.try_clone()?)
            .stderr(output)
            .status()?;
        let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let report = Report::parse(&text);
        if !status.success() && report.failing_input.is_none() {
            bail!("the fuzz program ended with {status} and named no input:\n{text}");
        }
        Ok(report)
    }

    fn replay(&self, target: &str, file: &Path) -> Result<()> {
        if !file.is_file() {
            bail!(
                "{} is not a file; give the path of a failing input",
                file.display()
            );
        }
        let status = self.command(target).arg(file).status()?;
        if !status.success() {
            bail!("{target} still fails on {}", file.display());
        }
        println!("fuzz {target}: survives {}", file.display());
        Ok(())
    }

    fn command(&self, target: &str) -> Command {
        let resident = if self.options.asan {
            RESIDENT_MIB_MAX_ASAN
        } else {
            RESIDENT_MIB_MAX
        };
        let mut command = self.program.command(&format!("run:{target}"));
        command
            .arg(format!("-max_len={INPUT_BYTES_MAX}"))
            .arg(format!("-rss_limit_mb={resident}"))
            .arg("-timeout=1")
            .stdin(Stdio::null());
        command
    }

    fn replay_command(&self, target: &str, input: &str) -> String {
        let asan = if self.options.asan { " --asan" } else { "" };
        format!("cargo xtask fuzz {target}{asan} --replay {input}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let options = Options::parse(&["config", "--seconds", "5", "--asan"]).unwrap();
        let expected = Options {
            target: Some("config".into()),
            seconds: 5,
            asan: true,
            replay: None,
        };
        assert_eq!(options, expected);
        assert_eq!(Options::parse(&[]).unwrap().seconds, 10);
        for wrong in [
            &["--seconds"][..],
            &["--seconds", "0"],
            &["--seconds", "long"],
            &["a", "b"],
            &["--fast"],
            &["--replay", "file"],
            &["a", "--replay"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
