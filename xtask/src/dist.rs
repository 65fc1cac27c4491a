//! Builds a release: tarballs, Debian packages and images of each program, the C library, the Python package, release
//! notes and checksums.
//!
//! `touchline` is the deployed program: it links no simulator, no fault injection and no benchmark. `touchline-lab` has every
//! command. A program linked with glibc is for hosts, a static one (musl) for every Linux and for images:
//!
//! ```text
//!             ┌─ glibc ─► tarball, Debian package
//! a program ──┤
//!             └─ musl ──► tarball, image
//! the client ──── glibc ─► Debian packages of the C library, Python wheel, sources for pip
//! ```
//!
//! Everything is generated from the sources: man pages and completions from the definition of the arguments, licences
//! and the bill of materials from cargo. The same commit and compiler give the same archives. Only the archives for pip, and
//! `--check`, need tools and a network; an archive left out because a tool is missing is printed.

mod check;
mod debian;
mod files;
mod image;
mod library;
mod linked;
mod notes;
mod program;
mod release;
mod report;
mod sbom;
mod tools;
mod tree;
mod wheel;
mod zip;

use crate::command::{self, cargo};
use crate::cross::Cross;
use anyhow::{Context, Result, bail};
use linked::Built;
use program::Needs;
use release::Release;
use report::Report;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use tools::Tools;
use tree::Tree;

/// Options of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the archives are unpacked, installed, started and removed again in separate roots.
    pub is_checked: bool,
    /// Whether only the wheel is made, for this host, and checked: short enough for each change.
    pub is_wheel: bool,
    /// Profile of the build.
    pub profile: String,
}

impl Options {
    /// Parses `[--check] [--wheel] [--profile NAME]`.
    ///
    /// # Errors
    /// Names the unknown argument.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options {
            is_checked: false,
            is_wheel: false,
            profile: "dist".to_owned(),
        };
        let mut rest = arguments;
        loop {
            rest = match rest {
                [] if options.is_checked && options.is_wheel => {
                    bail!("dist: --wheel checks the wheel; give --check for the whole release")
                }
                [] => return Ok(options),
                ["--check", rest @ ..] => {
                    options.is_checked = true;
                    rest
                }
                ["--wheel", rest @ ..] => {
                    options.is_wheel = true;
                    rest
                }
                ["--profile", profile, rest @ ..] => {
                    options.profile = (*profile).to_owned();
                    rest
                }
                [other, ..] => bail!("dist: unexpected {other}"),
            }
        }
    }
}

/// A program of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `touchline`, the deployed program.
    Deployed,
    /// Every command.
    Lab,
}

impl Program {
    /// Name of program and package.
    pub fn name(self) -> &'static str {
        match self {
            Program::Deployed => "touchline",
            Program::Lab => "touchline-lab",
        }
    }

    /// Package and features that cargo builds.
    fn built(self) -> Built {
        Built {
            package: "touchline",
            features: match self {
                Program::Deployed => &["--no-default-features", "--features", "parquet"],
                Program::Lab => &["--features", "parquet"],
            },
        }
    }

    /// Place of a file of its documentation.
    fn doc(self, file: &str) -> String {
        format!("share/doc/{}/{file}", self.name())
    }

    /// Place of its bill of materials.
    fn sbom(self) -> String {
        self.doc(&format!("{}.cdx.json", self.name()))
    }
}

/// Archives of a program for a platform.
#[derive(Debug)]
struct Made {
    of: Program,
    release: Release,
    /// Files below `/usr` of a host.
    usr: Tree,
    tarball: PathBuf,
    packed: Packed,
}

impl Made {
    /// The program itself.
    fn program(&self) -> Result<&[u8]> {
        let path = format!("bin/{}", self.of.name());
        self.usr.bytes(&path).context("a release without a program")
    }
}

/// The archive besides the tarball.
#[derive(Debug)]
enum Packed {
    /// A Debian package of a program that is linked with glibc.
    Debian(PathBuf),
    /// An image of a static program, as OCI archive.
    Image(PathBuf),
}

/// Builds the archives in `target/packages`.
///
/// # Errors
/// A build or a write failed, or a check of `--check`.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let name = if options.is_wheel {
        "wheel"
    } else {
        "packages"
    };
    let folder = crate::target_folder(root).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).context("an older release cannot be removed")?;
    }
    fs::create_dir_all(&folder)?;
    let notes = notes::of(root, &Release::of(root, &crate::host()?)?)?;
    fs::write(folder.join(notes::FILE), notes)?;
    let mut report = Report::default();
    if options.is_wheel {
        return only_wheel(root, &options.profile, &folder, &mut report);
    }
    let clients = report.part("C library and Python package", |report| {
        clients(root, &options.profile, &folder, report)
    })?;
    let targets = targets(&mut report)?;
    let mut all = Vec::new();
    for of in [Program::Lab, Program::Deployed] {
        let name = of.name();
        let pages = report.part(format!("man pages and completions of {name}"), |_| {
            files::pages(root, of, &folder.join("pages"))
        })?;
        for target in &targets {
            let part = format!("build {name} for {target}");
            let built = report.part(part, |_| {
                build(root, &options.profile, of.built(), target, &[])
            })?;
            let program = built.join("touchline");
            let release = Release::of(root, target)?;
            all.push(report.part(format!("pack {name} for {target}"), |_| {
                make(root, release, of, &program, &pages, &folder)
            })?);
        }
    }
    fs::write(folder.join("SHA256SUMS"), sums(&folder)?)?;
    if options.is_checked {
        check::run(root, &folder, &all, &clients, &mut report)?;
    }
    report.print();
    println!("dist: the release is in {}", folder.display());
    Ok(())
}

/// The client in other languages, for programs of hosts with glibc.
#[derive(Debug)]
struct Clients {
    libraries: [library::Package; 2],
    wheel: PathBuf,
    /// Sources for pip, without its tools none.
    sources: Option<PathBuf>,
}

fn clients(root: &Path, profile: &str, folder: &Path, report: &mut Report) -> Result<Clients> {
    let host = crate::host()?;
    let release = Release::of(root, &host)?;
    let built = build(root, profile, library::BUILT, &host, &library::RUSTC)?;
    let libraries = library::packages(root, &release, &built, folder)?;
    let tools = Tools::install(root);
    if let Err(error) = &tools {
        let error = format!("{error:#}");
        let why = error.lines().last().unwrap_or_default();
        report.left_out(format!(
            "sources for pip, and a wheel for an older glibc than this host's: {why}"
        ));
    }
    let tools = tools.ok();
    let mut rustc = vec![wheel::STRIP.to_owned()];
    if let Some(tools) = &tools {
        rustc.push(format!("-Clinker={}", tools.linker(&host)?.display()));
    }
    let rustc: Vec<&str> = rustc.iter().map(String::as_str).collect();
    let built = build(root, profile, wheel::BUILT, &host, &rustc)?;
    let wheel = wheel::wheel(root, &release, &built, folder)?;
    let sources = tools.map(|tools| tools.sources(root, folder)).transpose()?;
    Ok(Clients {
        libraries,
        wheel,
        sources,
    })
}

/// The wheel as this host links it, installed and started beside a demo.
fn only_wheel(root: &Path, profile: &str, folder: &Path, report: &mut Report) -> Result<()> {
    let host = crate::host()?;
    let built = build(root, profile, wheel::BUILT, &host, &[wheel::STRIP])?;
    let wheel = wheel::wheel(root, &Release::of(root, &host)?, &built, folder)?;
    let lab = build(root, profile, Program::Lab.built(), &host, &[])?;
    let lab = lab.join("touchline");
    check::wheel(&wheel, &lab, &folder.join("check"), report)
}

/// The platform of the compiler, and its static one.
fn targets(report: &mut Report) -> Result<Vec<String>> {
    let host = crate::host()?;
    let target = &host.replace("-gnu", "-musl");
    let musl = Cross {
        target,
        c_compiler: "musl-gcc",
        packages: "musl-tools",
    };
    Ok(match musl.missing()? {
        None => vec![host, target.clone()],
        Some(missing) => {
            report.left_out(format!("static programs and images: {missing}"));
            vec![host]
        }
    })
}

/// Builds a package, with further options of rustc for it. Returns the folder of the results.
fn build(root: &Path, profile: &str, of: Built, target: &str, rustc: &[&str]) -> Result<PathBuf> {
    // For this host as everything else is built: what other commands have built is used.
    let is_cross = target != crate::host()?;
    let mut build = cargo(root);
    build
        .args(["rustc", "--locked", "--package", of.package])
        .args(["--profile", profile])
        .args(
            is_cross
                .then_some(["--target", target])
                .into_iter()
                .flatten(),
        )
        .args(of.features)
        .arg("--")
        .args(rustc)
        // An extension module finds the interpreter in the process that loads it; no other package reads these.
        .env("PYO3_BUILD_EXTENSION_MODULE", "1")
        .env("PYO3_NO_PYTHON", "1");
    command::run(&mut build, &format!("{} does not build", of.package))?;
    let folder = match profile {
        "dev" => "debug",
        other => other,
    };
    let target = if is_cross { target } else { "" };
    Ok(crate::target_folder(root).join(target).join(folder))
}

fn make(
    root: &Path,
    release: Release,
    of: Program,
    program: &Path,
    pages: &[(String, Vec<u8>)],
    folder: &Path,
) -> Result<Made> {
    let needs = Needs::of(program)?;
    let usr = files::usr(root, &release, of, program, pages)?;
    let name = release.name(of);
    let write = |name: &str, bytes: &[u8]| -> Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, bytes)?;
        println!("dist: {}", path.display());
        Ok(path)
    };
    println!("dist: {}", needs.describe());
    let local = files::for_usr_local(&usr, of)?.below(&name);
    let tarball = write(&format!("{name}.tar.gz"), &local.tar_gz(release.time_s)?)?;
    let sbom = usr.bytes(&of.sbom()).context("no bill of materials")?;
    write(&format!("{name}.cdx.json"), sbom)?;
    let (package, processor) = (of.name(), release.processor());
    let version = &release.version;
    let packed = if needs.glibc.is_some() {
        let fields = debian::fields(of, &needs.debian());
        let bytes = debian::package(&debian::files(&usr)?, &release, &fields)?;
        let name = format!("{package}_{version}_{processor}.deb");
        Packed::Debian(write(&name, &bytes)?)
    } else {
        let bytes = image::archive(&usr, &release, of)?;
        let name = format!("{package}-{version}-{processor}-oci.tar");
        Packed::Image(write(&name, &bytes)?)
    };
    Ok(Made {
        of,
        release,
        usr,
        tarball,
        packed,
    })
}

/// The checksum of every file of a folder, as sha256sum writes them.
fn sums(folder: &Path) -> Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        lines.push(format!("{}  {name}\n", sha256(&fs::read(&path)?)));
    }
    lines.sort_by(|a, b| a[64..].cmp(&b[64..]));
    Ok(lines.concat())
}

fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = Options::parse(&["--check"]).unwrap();
        assert!(options.is_checked);
        assert_eq!(options.profile, "dist");
        assert!(Options::parse(&["--wheel"]).unwrap().is_wheel);
        assert!(Options::parse(&["--profile"]).is_err());
    }

    #[test]
    fn hashes_equal_the_standards_test_vectors() {
        // FIPS 180-4, of the empty message.
        assert_eq!(
            sha256(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
