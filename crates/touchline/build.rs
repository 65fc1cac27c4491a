//! The commit and its date, for `touchline --version`. Why this is a build script: `docs/design/packages.md`.
//!
//! Sets `TOUCHLINE_BUILD` for the compiler, and `TOUCHLINE_COMMIT` where the commit is known. `TOUCHLINE_COMMIT` and
//! `TOUCHLINE_COMMIT_DATE` of the environment come first; else git is asked, in release builds. `TOUCHLINE_PROFILE` is the name of the profile, and `TOUCHLINE_OPTIMISED` is set if
//! this crate is compiled at the highest level, as the profiles `release` and `dist` do.
use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["TOUCHLINE_COMMIT", "TOUCHLINE_COMMIT_DATE"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let stated = env::var("TOUCHLINE_COMMIT").ok();
    let stated = stated.zip(env::var("TOUCHLINE_COMMIT_DATE").ok());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let build = match (stated, is_release) {
        (Some(stated), _) => Some(stated),
        (None, true) => of_git(),
        // It would be compiled again after each commit.
        (None, false) => None,
    };
    let is_optimised = env::var("OPT_LEVEL").is_ok_and(|level| level == "3");
    let text = match &build {
        Some((commit, date)) => format!("{commit} {date}"),
        None if is_release => "commit not known".to_owned(),
        None => "debug build".to_owned(),
    };
    println!("cargo::rustc-env=TOUCHLINE_PROFILE={}", profile());
    if is_optimised {
        println!("cargo::rustc-env=TOUCHLINE_OPTIMISED=yes");
    }
    println!("cargo::rustc-env=TOUCHLINE_BUILD={text}");
    if let Some((commit, _)) = build {
        println!("cargo::rustc-env=TOUCHLINE_COMMIT={commit}");
    }
}

/// Name of the profile: that of its folder, since cargo names only the profile that a custom one inherits.
fn profile() -> String {
    // target/PROFILE/build/PACKAGE/out
    let out = env::var_os("OUT_DIR").map(std::path::PathBuf::from);
    let folder = out.as_deref().and_then(|out| out.ancestors().nth(3));
    let name = folder.and_then(|folder| folder.file_name());
    match name.and_then(|name| name.to_str()) {
        Some("debug") => "dev".to_owned(),
        Some(name) => name.to_owned(),
        None => "unknown".to_owned(),
    }
}

/// The commit that is checked out, with `-modified` behind it if a file differs from it, and its date.
fn of_git() -> Option<(String, String)> {
    // Runs again after a commit, and after a change of what the command is built from.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    for path in [log.as_str(), "..", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let describe = ["describe", "--always", "--exclude=*", "--abbrev=10"];
    let commit = git(&[&describe[..], &["--dirty=-modified"]].concat())?;
    let date = git(&["show", "--no-patch", "--format=%cs", "HEAD"])?;
    Some((commit, date))
}

/// Output of git on one line; `None` on failure or without output.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !said.is_empty()).then_some(said)
}
