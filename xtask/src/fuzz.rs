//! Coverage-guided fuzzing with libFuzzer on the stable compiler: build, run, report.
//!
//! The targets are in `fuzz/`. Seeds and corpus are below the target folder, so that a search continues from the last
//! one.

mod build;
mod report;

use crate::command::{self, cargo};
use anyhow::{Context, Result, bail};
use build::Program;
use report::Report;
use std::{
    fs::{self, File},
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Target with a deliberate fault, which the search must find.
const MUST_FAIL: &str = "must_fail";

/// Time limit for that; usually it takes less than a second.
const MUST_FAIL_SECONDS: u32 = 60;

/// Longest input, in bytes: longer than any packet, and short enough for many runs.
const INPUT_BYTES_MAX: u32 = 4096;

/// Limit of resident memory, in MiB: 64 for the target, above the needs of libFuzzer and its corpus.
const RESIDENT_MIB_MAX: u32 = 128;

/// AddressSanitizer keeps freed memory, and a shadow of all memory.
const RESIDENT_MIB_MAX_ASAN: u32 = 2048;

/// Options.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// One target; all if `None`.
    target: Option<String>,
    /// Seconds for each target.
    seconds: u32,
    /// With AddressSanitizer, which finds memory errors of unsafe code and C code.
    asan: bool,
    /// Run only this input.
    replay: Option<PathBuf>,
}

impl Options {
    /// Parses `[TARGET] [--seconds N] [--asan] [--replay FILE]`.
    ///
    /// # Errors
    /// Names the unknown argument.
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
                    "unknown argument '{other}'; fuzz takes [TARGET] [--seconds N] [--asan] [--replay FILE]"
                ),
            }
        }
        if options.replay.is_some() && options.target.is_none() {
            bail!("--replay needs the target as well: cargo xtask fuzz TARGET --replay FILE");
        }
        Ok(options)
    }
}

/// Builds the targets and runs as many in parallel as there are processors. Without a C++ compiler a run of all targets
/// reports that, and runs the seeded mutations instead.
///
/// # Errors
/// A target fails (with the input's path and the command to replay it), the deliberate fault is not found, or the
/// build fails.
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
            "{failed} of {} fuzz targets failed; their inputs are listed above",
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

/// Runs every target over its seeds and their seeded mutations, in plain Rust; needs no C++
/// compiler.
fn without_coverage(root: &Path) -> Result<()> {
    println!(
        "fuzz: there is no C++ compiler here, which libFuzzer needs; the search that coverage leads is LEFT OUT, and \
         the seeded mutations of the tests of touchline-fuzz run instead"
    );
    let mut tests = cargo(root);
    tests.args(["test", "-p", "touchline-fuzz"]);
    command::run(&mut tests, "a fuzz target failed, with its input")
}

/// A run of targets: the program, the folder of inputs, and the options.
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
                "the search did not find the deliberate fault of '{MUST_FAIL}' in {MUST_FAIL_SECONDS} s, so it would find no \
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

    /// Runs targets, as many in parallel as there are processors. Returns the number of failures.
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
