//! Installs, removes and purges the packages in a fresh Debian of this host's release, since the programs need its glibc.

use super::{Root, clients, first_command};
use crate::dist::report::Report;
use crate::dist::tree::{Entry, Tree};
use crate::dist::{Made, Program, debian, library};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Path of a program that has the demo, which no package installs.
const LAB: &str = "/lab";

/// Files that a package leaves behind at a removal.
const KEPT: [&str; 2] = ["etc/touchline/cme-340.toml", "var/lib/touchline/session"];

/// Checks the packages. dpkg refuses a package whose dependencies the distribution does not have.
pub fn run(
    all: &[(&Made, &Path)],
    libraries: &[library::Package],
    path: &Path,
    report: &mut Report,
) -> Result<()> {
    let Some(release) = codename() else {
        report.left_out("Debian packages: this host is no Debian");
        return Ok(());
    };
    const TOOLS: &str = "systemd,gcc,g++,cmake,make,libc6-dev,pkg-config";
    let Some(root) = Root::debian(path, &release, TOOLS, report)? else {
        return Ok(());
    };
    for (made, package) in all {
        fs::copy(package, root.path("package.deb"))?;
        let before = paths(&root.path(""))?;
        root.run(&["dpkg", "--install", "/package.deb"])?;
        let files = debian::files(&made.usr)?;
        installed(&root.path(""), &files, report)?;
        let name = made.of.name();
        first_command(made.of, report, |arguments| {
            root.run(&[&[name], arguments].concat())
        })?;
        if made.of == Program::Deployed {
            user(&root.path(""), report)?;
            units(&root, report)?;
            removed(&root, &files, report)?;
        }
        root.run(&["dpkg", "--purge", name])?;
        nothing_left(&root, &before)?;
        report.seen(&format!(
            "{name} in Debian {release}: purged, nothing is left"
        ));
    }
    let lab = all.iter().find(|(made, _)| made.of == Program::Lab);
    let (lab, _) = lab.context("no program with a demo")?;
    fs::write(root.path(LAB), lab.program()?)?;
    fs::set_permissions(root.path(LAB), fs::Permissions::from_mode(0o755))?;
    clients_of_c(&root, libraries, report)
}

/// The library and its development files, and a program that is compiled with them.
fn clients_of_c(root: &Root, libraries: &[library::Package], report: &Report) -> Result<()> {
    let before = paths(&root.path(""))?;
    for library in libraries {
        fs::copy(&library.path, root.path("package.deb"))?;
        root.run(&["dpkg", "--install", "/package.deb"])?;
        installed(&root.path(""), &library.files, report)?;
    }
    clients::c_program(root, LAB, report)?;
    clients::cpp_program(root, LAB, report)?;
    for library in libraries.iter().rev() {
        root.run(&["dpkg", "--purge", library.name])?;
    }
    nothing_left(root, &before)
}

/// A purge restores the files that were there before.
fn nothing_left(root: &Root, before: &BTreeSet<String>) -> Result<()> {
    let now = paths(&root.path(""))?;
    let left: Vec<_> = now.difference(before).cloned().collect();
    ensure!(left.is_empty(), "left after a purge: {}", left.join(", "));
    Ok(())
}

/// The release of Debian that runs here.
fn codename() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let value = |key: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.strip_prefix(key)?.trim_matches('"').to_owned()))
    };
    (value("ID=")? == "debian").then(|| value("VERSION_CODENAME="))?
}

/// A removal keeps configurations and session stores.
fn removed(root: &Root, files: &Tree, report: &Report) -> Result<()> {
    fs::write(root.path(KEPT[0]), "bus = \"cme-340\"\n")?;
    fs::create_dir_all(root.path(KEPT[1]))?;
    root.run(&["dpkg", "--remove", "touchline"])?;
    for (path, entry) in files.iter() {
        ensure!(
            matches!(entry, Entry::Directory) || !root.path(path).exists(),
            "{path} is left after a removal"
        );
    }
    for kept in KEPT {
        ensure!(root.path(kept).exists(), "a removal deletes {kept}");
    }
    report.seen("removed: configurations and session stores stay");
    fs::remove_file(root.path(KEPT[0]))?;
    Ok(())
}

/// `systemd-analyze` accepts every line of the units.
fn units(root: &Root, report: &Report) -> Result<()> {
    for unit in [
        "touchline-gateway@cme-340.service",
        "touchline-record@cme-340.service",
        "touchline-relay@links.service",
        "touchline-metrics.service",
    ] {
        let analyze = ["systemd-analyze", "verify", "--recursive-errors=no", unit];
        root.run(&analyze)?;
    }
    report.seen("systemd-analyze verifies the units");
    Ok(())
}

fn installed(root: &Path, files: &Tree, report: &Report) -> Result<()> {
    for (path, entry) in files.iter() {
        let found = root.join(path);
        let metadata = fs::metadata(&found).with_context(|| format!("{path} is not installed"))?;
        let (mode, is_right) = match entry {
            Entry::Directory => (0o755, metadata.is_dir()),
            Entry::Link(to) => {
                ensure!(fs::read_link(&found)?.ends_with(to), "{path}: another link");
                continue;
            }
            Entry::File(mode, bytes) => (*mode, fs::read(&found)? == *bytes),
        };
        ensure!(is_right, "{path}: installed with different contents");
        ensure!(
            metadata.permissions().mode() & 0o7777 == mode,
            "{path} has another mode"
        );
        ensure!(
            (metadata.uid(), metadata.gid()) == (0, 0),
            "{path} is not owned by root"
        );
    }
    report.seen(&format!(
        "installed: {} files and directories, owner, contents and modes verified",
        files.iter().count()
    ));
    Ok(())
}

/// The user exists, and the directory of configurations is readable by its group only.
fn user(root: &Path, report: &Report) -> Result<()> {
    let passwd = fs::read_to_string(root.join("etc/passwd"))?;
    let line = passwd.lines().find(|line| line.starts_with("touchline:"));
    let line = line.context("no user touchline in /etc/passwd")?;
    ensure!(line.ends_with("/nologin"), "the user can log in: {line}");
    let gid: u32 = line.split(':').nth(3).unwrap_or_default().parse()?;
    let metadata = fs::metadata(root.join("etc/touchline")).context("no /etc/touchline")?;
    let mode = metadata.permissions().mode() & 0o7777;
    ensure!(
        (mode, metadata.uid(), metadata.gid()) == (0o750, 0, gid),
        "/etc/touchline: mode {mode:o}, owner {}:{}",
        metadata.uid(),
        metadata.gid()
    );
    report.seen("the user touchline cannot log in, and only its group can read /etc/touchline");
    Ok(())
}

/// All files in a root except those of dpkg and the table of users.
fn paths(root: &Path) -> Result<BTreeSet<String>> {
    const OF_OTHERS: [&str; 8] = [
        "run/",
        "var/lib/dpkg/",
        "var/log/",
        "etc/passwd",
        "etc/group",
        "etc/shadow",
        "etc/gshadow",
        "etc/.pwd.lock",
    ];
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(root)?.display().to_string();
            if !OF_OTHERS.iter().any(|start| name.starts_with(start)) {
                found.insert(name);
            }
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}
