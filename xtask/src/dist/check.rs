//! Checks a release: unpacks it, installs it in a separate root, removes and purges it.
//!
//! Each step prints its result. A step without its tool, or without the rights to install, prints that it is left out.

use super::release::Release;
use super::tree::{Entry, Tree};
use super::{Made, Program, debian, sha256};
use anyhow::{Context, Result, bail, ensure};
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// Runs every check; `runs_here` tells whether the program is for this processor.
pub fn run(made: &Made, release: &Release, runs_here: bool) -> Result<()> {
    let folder = made.folder.join("check");
    fs::create_dir_all(&folder)?;
    println!("dist: {}", made.of.name());
    let unpacked = folder.join("tarball");
    tarball(made, release, &unpacked, runs_here)?;
    pages(&unpacked.join(release.name(made.of)), made.of.name())?;
    if made.of == Program::Deployed {
        package(made, &folder.join("root"), runs_here)?;
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Every archive has the checksum that is written beside it.
pub fn sums(folder: &Path) -> Result<()> {
    let sums = fs::read_to_string(folder.join("SHA256SUMS"))?;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").context("SHA256SUMS: another form")?;
        let bytes = fs::read(folder.join(name))?;
        ensure!(
            sha256(&bytes) == sum,
            "{name}: checksum differs from SHA256SUMS"
        );
    }
    seen(&format!("{} files match SHA256SUMS", sums.lines().count()));
    Ok(())
}

fn tarball(made: &Made, release: &Release, folder: &Path, runs_here: bool) -> Result<()> {
    let packed = fs::read(&made.tarball)?;
    let mut archive = tar::Archive::new(GzDecoder::new(&packed[..]));
    archive
        .unpack(folder)
        .context("the tarball cannot be unpacked")?;
    let top = folder.join(release.name(made.of));
    let files = made.usr.iter().count();
    for (path, _) in made.usr.iter() {
        ensure!(top.join(path).exists(), "{path}: not in the tarball");
    }
    seen(&format!(
        "the tarball unpacks, {files} files and directories"
    ));
    match runs_here {
        true => {
            let program = top.join("bin").join(made.of.name());
            version(&program)?;
            commands(&program, made.of)
        }
        false => left_out("the program is for another processor"),
    }
}

fn version(program: &Path) -> Result<()> {
    let said = said(Command::new(program).arg("--version"))?;
    let said = said.context("the program does not start")?;
    ensure!(said.starts_with("touchline "), "--version: {said}");
    seen(&format!(
        "it runs: {}",
        said.lines().next().unwrap_or_default()
    ));
    Ok(())
}

/// What is deployed has no command of the workshop, and says where it is; the other program has them.
fn commands(program: &Path, of: Program) -> Result<()> {
    let output = Command::new(program)
        .args(["sim", "cme", "--help"])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_right = match of {
        Program::Deployed => !output.status.success() && said.contains("touchline-lab sim"),
        Program::Lab => output.status.success(),
    };
    ensure!(is_right, "sim cme: {said}");
    seen("its commands are those of its package");
    Ok(())
}

/// The shells parse the completions, mandoc the man pages.
fn pages(usr: &Path, program: &str) -> Result<()> {
    for (shell, file) in [
        ("bash", format!("bash-completion/completions/{program}")),
        ("zsh", format!("zsh/site-functions/_{program}")),
        ("fish", format!("fish/vendor_completions.d/{program}.fish")),
    ] {
        let file = usr.join("share").join(file);
        match said(Command::new(shell).arg("-n").arg(file))? {
            Some(_) => seen(&format!("{shell} reads its completions")),
            None => left_out(&format!("no {shell} here"))?,
        }
    }
    let mut count = 0;
    for entry in fs::read_dir(usr.join("share/man/man1"))? {
        let mut mandoc = Command::new("mandoc");
        mandoc
            .args(["-T", "lint", "-W", "error"])
            .arg(entry?.path());
        if said(&mut mandoc)?.is_none() {
            return left_out("mandoc is missing: man pages are not checked");
        }
        count += 1;
    }
    seen(&format!("mandoc finds no error in {count} man pages"));
    Ok(())
}

/// Installs, removes and purges the package in a root that contains only a table of users.
fn package(made: &Made, root: &Path, runs_here: bool) -> Result<()> {
    if !rights_and_tools()? {
        return Ok(());
    }
    empty_root(made, root)?;
    let before = paths(root)?;
    dpkg(root, &["--install", &made.package.display().to_string()])?;
    let files = debian::files(&made.usr)?;
    installed(root, &files)?;
    user(root)?;
    if runs_here {
        version(&root.join("usr/bin/touchline"))?;
    }
    units(root)?;

    fs::write(
        root.join("etc/touchline/cme-340.toml"),
        "bus = \"cme-340\"\n",
    )?;
    fs::create_dir_all(root.join("var/lib/touchline/session"))?;
    dpkg(root, &["--remove", "touchline"])?;
    for (path, entry) in files.iter() {
        let is_file = matches!(entry, Entry::File(..));
        ensure!(
            !is_file || !root.join(path).exists(),
            "{path} is left after a removal"
        );
    }
    ensure!(
        root.join("etc/touchline/cme-340.toml").exists(),
        "a removal deletes a configuration"
    );
    ensure!(
        root.join("var/lib/touchline/session").exists(),
        "a removal deletes files of gateways"
    );
    seen("removed: configurations and session stores stay");
    fs::remove_file(root.join("etc/touchline/cme-340.toml"))?;
    dpkg(root, &["--purge", "touchline"])?;
    let left: Vec<_> = paths(root)?.difference(&before).cloned().collect();
    ensure!(left.is_empty(), "left after a purge: {}", left.join(", "));
    seen("purged: only the user is left");
    Ok(())
}

fn rights_and_tools() -> Result<bool> {
    for tool in ["dpkg", "systemd-sysusers", "systemd-tmpfiles"] {
        if said(Command::new(tool).arg("--version"))?.is_none() {
            left_out(&format!("{tool} is missing: the package is not installed"))?;
            return Ok(false);
        }
    }
    let is_root = fs::metadata("/proc/self")?.uid() == 0;
    if !is_root {
        left_out("installing the package needs root; run it in a container")?;
    }
    Ok(is_root)
}

/// A dpkg database in which only the package's dependencies are installed, in the required versions.
fn empty_root(made: &Made, root: &Path) -> Result<()> {
    for folder in [
        "etc",
        "var/lib/dpkg/info",
        "var/lib/dpkg/updates",
        "var/lib/dpkg/triggers",
        "var/log",
    ] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\n")?;
    fs::write(root.join("etc/group"), "root:x:0:\n")?;
    let (major, minor) = made.needs.glibc.unwrap_or((2, 0));
    let mut status = String::new();
    for (name, version) in [
        ("libc6", format!("{major}.{minor}-1")),
        ("libgcc-s1", "10".to_owned()),
        ("systemd", "247".to_owned()),
    ] {
        status += &format!(
            "Package: {name}\nStatus: install ok installed\nMaintainer: nobody\nArchitecture: {}\n\
             Version: {version}\nDescription: made up\n\n",
            said(Command::new("dpkg").arg("--print-architecture"))?
                .unwrap_or_default()
                .trim(),
        );
    }
    fs::write(root.join("var/lib/dpkg/status"), status)?;
    Ok(())
}

fn dpkg(root: &Path, arguments: &[&str]) -> Result<()> {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display()))
        .arg("--force-script-chrootless")
        .args(arguments);
    said(&mut dpkg)?.context("dpkg is missing")?;
    Ok(())
}

fn installed(root: &Path, files: &Tree) -> Result<()> {
    for (path, entry) in files.iter() {
        let found = root.join(path);
        let metadata = fs::metadata(&found).with_context(|| format!("{path} is not installed"))?;
        let (mode, is_right) = match entry {
            Entry::Directory => (0o755, metadata.is_dir()),
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
    seen(&format!(
        "installed: {} files and directories, owner, contents and modes verified",
        files.iter().count()
    ));
    Ok(())
}

/// The user exists, and the directory of configurations is readable by its group only.
fn user(root: &Path) -> Result<()> {
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
    seen("the user touchline cannot log in, and only its group can read /etc/touchline");
    Ok(())
}

/// `systemd-analyze` accepts every line of the units. Units of the host that are missing in the root are ignored.
fn units(root: &Path) -> Result<()> {
    for unit in [
        "touchline-gateway@cme-340.service",
        "touchline-relay@links.service",
        "touchline-metrics.service",
    ] {
        let mut analyze = Command::new("systemd-analyze");
        analyze
            .arg("verify")
            .arg(format!("--root={}", root.display()))
            .arg("--recursive-errors=no")
            .arg(unit);
        let output = match analyze.output() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return left_out("no systemd-analyze here");
            }
            output => output?,
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{unit}: {said}");
        let own = said.lines().find(|line| line.contains("touchline"));
        ensure!(own.is_none(), "{unit}: {said}");
    }
    seen("systemd-analyze verifies both units");
    Ok(())
}

/// All files in a root except those of dpkg and the table of users.
fn paths(root: &Path) -> Result<BTreeSet<String>> {
    const OF_OTHERS: [&str; 7] = [
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

/// Output of a command; `None` if the command is missing.
fn said(command: &mut Command) -> Result<Option<String>> {
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        output => output.with_context(|| format!("{command:?}"))?,
    };
    if !output.status.success() {
        bail!(
            "{command:?} failed:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn seen(what: &str) {
    println!("dist: {what}");
}

fn left_out(why: &str) -> Result<()> {
    println!("dist: LEFT OUT: {why}");
    Ok(())
}
