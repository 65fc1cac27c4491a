//! Checks a release: unpacks, installs, starts and removes each archive, each in a root or container of its own.
//!
//! Each step prints its result. A step without its tool, its network or the rights to install prints that it is left out.

mod clients;
mod crates;
mod debian;
mod image;
mod ops;
mod root;

use super::report::Report;
use super::{Clients, Made, Packed, Program, sha256};
use crate::command::{must, said};
use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use root::Root;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Oldest release of Debian that its mirrors have: its glibc is older than the one that a program of this host needs.
const OLDEST: &str = "bullseye";

/// Runs every check on the archives in a folder.
pub fn run(
    root: &Path,
    folder: &Path,
    all: &[Made],
    clients: &Clients,
    report: &mut Report,
) -> Result<()> {
    report.part("checksums", |report| sums(folder, report))?;
    let work = folder.join("check");
    for made in all {
        let name = made.release.name(made.of);
        report.part(format!("tarball {name}"), |report| {
            tarball(made, &work, report)
        })?;
    }
    let packages = all.iter().filter_map(|made| match &made.packed {
        Packed::Debian(package) => Some((made, package.as_path())),
        Packed::Image(_) => None,
    });
    let images = all.iter().filter_map(|made| match &made.packed {
        Packed::Image(image) => Some((made, image.as_path())),
        Packed::Debian(_) => None,
    });
    let (packages, images): (Vec<_>, Vec<_>) = (packages.collect(), images.collect());
    let static_ones: Vec<_> = images.iter().map(|(made, _)| *made).collect();
    if !static_ones.is_empty() {
        report.part("static programs in an empty root", |report| {
            empty(&static_ones, &work.join("empty"), report)
        })?;
        report.part(format!("static programs in Debian {OLDEST}"), |report| {
            oldest(&static_ones, &work.join(OLDEST), report)
        })?;
        report.part("images", |report| {
            image::run(&images, &work.join("images"), report)
        })?;
    }
    report.part("Debian packages", |report| {
        debian::run(&packages, &clients.libraries, &work.join("debian"), report)
    })?;
    report.part("Python package", |report| {
        python(clients, all, &work, report)
    })?;
    report.part("crates of the client", |report| crates::run(root, report))?;
    report.part("compose file and Kubernetes manifests", |report| {
        ops::run(root, report)
    })?;
    fs::remove_dir_all(&work)?;
    Ok(())
}

/// Every archive has the checksum that is written beside it.
fn sums(folder: &Path, report: &Report) -> Result<()> {
    let sums = fs::read_to_string(folder.join("SHA256SUMS"))?;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").context("SHA256SUMS: another form")?;
        let bytes = fs::read(folder.join(name))?;
        ensure!(
            sha256(&bytes) == sum,
            "{name}: checksum differs from SHA256SUMS"
        );
    }
    report.seen(&format!("{} files match SHA256SUMS", sums.lines().count()));
    Ok(())
}

/// The tarball has every file, and its program runs here.
fn tarball(made: &Made, work: &Path, report: &mut Report) -> Result<()> {
    let packed = fs::read(&made.tarball)?;
    let mut archive = tar::Archive::new(GzDecoder::new(&packed[..]));
    archive
        .unpack(work)
        .context("the tarball cannot be unpacked")?;
    let top = work.join(made.release.name(made.of));
    let files = made.usr.iter().count();
    for (path, _) in made.usr.iter() {
        ensure!(top.join(path).exists(), "{path}: not in the tarball");
    }
    report.seen(&format!(
        "the tarball unpacks, {files} files and directories"
    ));
    let program = top.join("bin").join(made.of.name());
    version(&must(Command::new(&program).arg("--version"))?, report)?;
    commands(&program, made.of, report)?;
    pages(&top, made.of.name(), report)
}

fn version(said: &str, report: &Report) -> Result<()> {
    ensure!(said.starts_with("touchline "), "--version: {said}");
    let first = said.lines().next().unwrap_or_default();
    report.seen(&format!("it runs: {first}"));
    Ok(())
}

/// The deployed program has no command of the workshop, and names the program that has them; `touchline-lab` has these commands.
fn commands(program: &Path, of: Program, report: &Report) -> Result<()> {
    let output = Command::new(program)
        .args(["sim", "cme", "--help"])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_right = match of {
        Program::Deployed => !output.status.success() && said.contains("touchline-lab sim"),
        Program::Lab => output.status.success(),
    };
    ensure!(is_right, "sim cme: {said}");
    report.seen("its commands are those of its package");
    Ok(())
}

/// The first commands of a user: the version, and then what each program has for a start.
fn first_command(
    of: Program,
    report: &Report,
    run: impl Fn(&[&str]) -> Result<String>,
) -> Result<()> {
    version(&run(&["--version"])?, report)?;
    let first = match of {
        Program::Deployed => &["doctor"][..],
        Program::Lab => &["demo", "--plain", "--seconds", "3"],
    };
    let said = run(first)?;
    let last = said.lines().last().unwrap_or_default();
    report.seen(&format!("its {} runs: {last}", first[0]));
    Ok(())
}

/// Checks a root that contains only the program.
fn empty(all: &[&Made], path: &Path, report: &mut Report) -> Result<()> {
    let Some(root) = Root::empty(path, report)? else {
        return Ok(());
    };
    for made in all {
        let name = made.of.name();
        let place = root.path(name);
        fs::write(&place, made.program()?)?;
        must(Command::new("chmod").arg("755").arg(&place))?;
        first_command(made.of, report, |arguments| {
            root.run(&[&[&*format!("/{name}")], arguments].concat())
        })?;
    }
    Ok(())
}

/// The tarball as docs/install.md unpacks it, in the oldest Debian.
fn oldest(all: &[&Made], path: &Path, report: &mut Report) -> Result<()> {
    let Some(root) = Root::debian(path, OLDEST, "", report)? else {
        return Ok(());
    };
    for made in all {
        fs::copy(&made.tarball, root.path("tarball"))?;
        let unpack = ["tar", "-C", "/usr/local", "--strip-components=1", "-xzf"];
        root.run(&[&unpack[..], &["/tarball"]].concat())?;
        first_command(made.of, report, |arguments| {
            root.run(&[&[made.of.name()], arguments].concat())
        })?;
    }
    let tail = ["touchline", "tail", "demo"];
    let said = root.run(&clients::live("touchline-lab", &tail))?;
    clients::has_read("touchline tail", &said, report);
    Ok(())
}

/// The wheel without an index, so with nothing but Python.
pub fn wheel(wheel: &Path, lab: &Path, folder: &Path, report: &mut Report) -> Result<()> {
    let wheel = wheel.display().to_string();
    clients::python("the wheel", &["--no-index", &wheel], lab, folder, report)
}

/// The wheel, and the sources as pip builds them.
fn python(clients: &Clients, all: &[Made], work: &Path, report: &mut Report) -> Result<()> {
    let lab = all.iter().find(|made| made.of == Program::Lab);
    let lab = lab.context("no program with a demo")?;
    let lab = work
        .join(lab.release.name(lab.of))
        .join("bin/touchline-lab");
    wheel(&clients.wheel, &lab, &work.join("wheel"), report)?;
    if let Some(sources) = &clients.sources {
        let sources = sources.display().to_string();
        let folder = work.join("sources");
        clients::python("the package of sources", &[&sources], &lab, &folder, report)?;
    }
    Ok(())
}

/// The shells parse the completions, mandoc the man pages.
fn pages(usr: &Path, program: &str, report: &mut Report) -> Result<()> {
    for (shell, file) in [
        ("bash", format!("bash-completion/completions/{program}")),
        ("zsh", format!("zsh/site-functions/_{program}")),
        ("fish", format!("fish/vendor_completions.d/{program}.fish")),
    ] {
        let file = usr.join("share").join(file);
        match said(Command::new(shell).arg("-n").arg(file))? {
            Some(_) => report.seen(&format!("{shell} reads its completions")),
            None => report.left_out(format!("completions: no {shell} here")),
        }
    }
    let mut count = 0;
    for entry in fs::read_dir(usr.join("share/man/man1"))? {
        let mut mandoc = Command::new("mandoc");
        mandoc
            .args(["-T", "lint", "-W", "error"])
            .arg(entry?.path());
        if said(&mut mandoc)?.is_none() {
            report.left_out("man pages: no mandoc here");
            return Ok(());
        }
        count += 1;
    }
    report.seen(&format!("mandoc finds no error in {count} man pages"));
    Ok(())
}
