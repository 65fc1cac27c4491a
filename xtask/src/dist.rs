//! Builds a release: a tarball and a Debian package of each program with its files.
//!
//! `touchline` is what is deployed: it links no simulator, no fault injection and no benchmark. `touchline-lab` has every
//! command.
//!
//! Everything is generated from the sources: man pages and completions from the definition of the arguments, licences
//! and the bill of materials from cargo. Nothing is downloaded, and the same commit and compiler give the same
//! archives.

mod check;
mod debian;
mod linked;
mod program;
mod release;
mod sbom;
mod tree;

use anyhow::{Context, Result, bail};
use program::Needs;
use release::Release;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tree::Tree;

/// Options of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the archives are unpacked, installed and removed again in a separate directory.
    pub is_checked: bool,
    /// Profile of the build.
    pub profile: String,
    /// Target platform, as rustc names it; the default is the platform of the compiler.
    pub target: Option<String>,
}

impl Options {
    /// Parses `[--check] [--profile NAME] [--target TRIPLE]`.
    ///
    /// # Errors
    /// Names the unknown argument.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options {
            is_checked: false,
            profile: "dist".to_owned(),
            target: None,
        };
        let mut rest = arguments;
        loop {
            rest = match rest {
                [] => return Ok(options),
                ["--check", rest @ ..] => {
                    options.is_checked = true;
                    rest
                }
                ["--profile", profile, rest @ ..] => {
                    options.profile = (*profile).to_owned();
                    rest
                }
                ["--target", target, rest @ ..] => {
                    options.target = Some((*target).to_owned());
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
    /// What is deployed.
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

    /// Options of cargo that select it.
    pub fn features(self) -> &'static [&'static str] {
        match self {
            Program::Deployed => &["--no-default-features"],
            Program::Lab => &[],
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

/// Archives of a program.
#[derive(Debug)]
struct Made {
    of: Program,
    folder: PathBuf,
    tarball: PathBuf,
    package: PathBuf,
    /// Files below `/usr` of a host.
    usr: Tree,
    needs: Needs,
}

/// Builds the archives in `target/dist-TARGET` and prints their requirements.
///
/// # Errors
/// A build or a write failed, or a check of `--check`.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let host = crate::host()?;
    let target = options.target.clone().unwrap_or_else(|| host.clone());
    let release = Release::of(root, &target)?;
    let folder = crate::target_folder(root).join(format!("dist-{target}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).context("an older release cannot be removed")?;
    }
    fs::create_dir_all(&folder)?;
    let mut sums = String::new();
    let mut all = Vec::new();
    for of in [Program::Lab, Program::Deployed] {
        let program = build(root, options, of)?;
        let made = make(root, &release, of, &program, &folder, &mut sums)?;
        println!("{}: {}", made.tarball.display(), made.needs.describe());
        println!("{}", made.package.display());
        all.push(made);
    }
    fs::write(folder.join("SHA256SUMS"), sums)?;
    if options.is_checked {
        let runs_here = target.split('-').next() == host.split('-').next();
        check::sums(&folder)?;
        for made in &all {
            check::run(made, &release, runs_here)?;
        }
    }
    Ok(())
}

/// Builds a program.
fn build(root: &Path, options: &Options, program: Program) -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--locked", "--package", "touchline"])
        .args(["--profile", &options.profile])
        .args(program.features())
        .current_dir(root);
    if let Some(target) = &options.target {
        cargo.args(["--target", target]);
    }
    if !cargo.status().context("cannot run cargo")?.success() {
        bail!("the command does not build; see above");
    }
    let mut folder = crate::target_folder(root);
    if let Some(target) = &options.target {
        folder.push(target);
    }
    let profile = match options.profile.as_str() {
        "dev" => "debug",
        other => other,
    };
    Ok(folder.join(profile).join("touchline"))
}

fn make(
    root: &Path,
    release: &Release,
    of: Program,
    program: &Path,
    folder: &Path,
    sums: &mut String,
) -> Result<Made> {
    let needs = Needs::of(program)?;
    let pages = pages(root, of, &folder.join("pages"))?;
    let usr = usr(root, release, of, program, &pages)?;

    let name = release.name(of);
    let tarball = folder.join(format!("{name}.tar.gz"));
    let local = for_usr_local(&usr, of)?.below(&name);
    fs::write(&tarball, local.tar_gz(release.time_s)?)?;
    let package = folder.join(format!(
        "{}_{}_{}.deb",
        of.name(),
        release.version,
        release.debian_architecture()
    ));
    let bytes = debian::package(&usr, release, of, &needs.debian())?;
    fs::write(&package, bytes)?;
    let sbom = folder.join(format!("{name}.cdx.json"));
    fs::write(&sbom, usr.bytes(&of.sbom()).unwrap_or_default())?;
    for path in [&sbom, &tarball, &package] {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        *sums += &format!("{}  {name}\n", sha256(&fs::read(path)?));
    }
    Ok(Made {
        of,
        folder: folder.to_owned(),
        tarball,
        package,
        usr,
        needs,
    })
}

/// Man pages and completions, by name: a test of the command writes them to `folder`.
fn pages(root: &Path, of: Program, folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let status = Command::new(env!("CARGO"))
        .args(["test", "--quiet", "--locked", "--package", "touchline"])
        .args(of.features())
        .args(["--bin", "touchline", "--", "--exact"])
        .arg("pages::each_command_has_a_man_page_and_completions")
        .env("TOUCHLINE_PAGES", folder)
        .current_dir(root)
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("man pages and completions cannot be made; see above");
    }
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).context("the test of the pages left none")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        pages.push((name.into_owned(), fs::read(&path)?));
    }
    fs::remove_dir_all(folder)?;
    Ok(pages)
}

/// Units of systemd that are installed.
const UNITS: [&str; 3] = [
    "touchline-gateway@.service",
    "touchline-metrics.service",
    "touchline-relay@.service",
];

/// Files of a release below `/usr`.
fn usr(
    root: &Path,
    release: &Release,
    of: Program,
    program: &Path,
    pages: &[(String, Vec<u8>)],
) -> Result<Tree> {
    let mut tree = match of {
        Program::Deployed => of_services(root)?,
        Program::Lab => Tree::default(),
    };
    let mut copy = |from: &str, to: &str| -> Result<()> {
        let bytes = fs::read(root.join(from)).with_context(|| format!("{from} cannot be read"))?;
        tree.file(to, bytes);
        Ok(())
    };
    copy("docs/install.md", &of.doc("install.md"))?;
    copy("CHANGELOG.md", &of.doc("CHANGELOG.md"))?;
    copy("LICENSE-MIT", &of.doc("LICENSE-MIT"))?;
    copy("LICENSE-APACHE", &of.doc("LICENSE-APACHE"))?;
    tree.program(
        &format!("bin/{}", of.name()),
        fs::read(program).with_context(|| format!("{}", program.display()))?,
    );
    for (name, bytes) in pages {
        tree.file(&place_of_page(of, name)?, &bytes[..]);
    }

    let packages = linked::packages(root, of, &release.target)?;
    tree.file(&of.doc("copyright"), linked::licence_texts(&packages)?);
    let rustc = crate::rustc_version()?;
    let sbom = sbom::document(&packages, &release.version, &rustc, &release.time());
    tree.file(&of.sbom(), format!("{sbom:#}\n"));
    Ok(tree)
}

/// Files of a host that runs services: units, users, limits, alerts, the dashboard.
fn of_services(root: &Path) -> Result<Tree> {
    let mut tree = Tree::default();
    let mut copy = |from: &str, to: &str| -> Result<()> {
        let bytes = fs::read(root.join(from)).with_context(|| format!("{from} cannot be read"))?;
        tree.file(to, bytes);
        Ok(())
    };
    for unit in UNITS {
        copy(
            &format!("ops/systemd/{unit}"),
            &format!("lib/systemd/system/{unit}"),
        )?;
    }
    copy("ops/host/sysusers.conf", "lib/sysusers.d/touchline.conf")?;
    copy("ops/host/tmpfiles.conf", "lib/tmpfiles.d/touchline.conf")?;
    copy("ops/host/sysctl.conf", "lib/sysctl.d/60-touchline.conf")?;
    for file in [
        "prometheus/prometheus.yml",
        "prometheus/alerts.yml",
        "grafana/touchline.json",
    ] {
        copy(&format!("ops/{file}"), &format!("share/touchline/{file}"))?;
    }
    Ok(tree)
}

fn place_of_page(of: Program, name: &str) -> Result<String> {
    let program = of.name();
    Ok(match name.strip_suffix(program) {
        Some("_") => format!("share/zsh/site-functions/_{program}"),
        _ if name.ends_with(".1") => format!("share/man/man1/{name}"),
        _ => match name.strip_prefix(program) {
            Some(".bash") => format!("share/bash-completion/completions/{program}"),
            Some(".fish") => format!("share/fish/vendor_completions.d/{program}.fish"),
            _ => bail!("{name} is neither a man page nor a completion of {program}"),
        },
    })
}

/// A tarball is unpacked below `/usr/local`, so its units start the command there.
fn for_usr_local(usr: &Tree, of: Program) -> Result<Tree> {
    let mut tree = usr.clone();
    if of == Program::Lab {
        return Ok(tree);
    }
    for unit in UNITS {
        let path = format!("lib/systemd/system/{unit}");
        let text = usr.bytes(&path).context("a unit is missing")?;
        let text = String::from_utf8_lossy(text);
        let local = text.replace("/usr/bin/touchline", "/usr/local/bin/touchline");
        if local == text {
            bail!("{unit} does not start /usr/bin/touchline");
        }
        tree.file(&path, local);
    }
    Ok(tree)
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
        let options = Options::parse(&["--check", "--target", "x86_64-unknown-linux-musl"]);
        let options = options.unwrap();
        assert!(options.is_checked);
        assert_eq!(options.profile, "dist");
        assert_eq!(options.target.as_deref(), Some("x86_64-unknown-linux-musl"));
        assert!(Options::parse(&["--profile"]).is_err());
    }

    #[test]
    fn the_units_of_a_tarball_start_its_own_program() {
        let mut usr = Tree::default();
        for unit in UNITS {
            let text = fs::read(crate::root().join("ops/systemd").join(unit)).unwrap();
            usr.file(&format!("lib/systemd/system/{unit}"), text);
        }
        let local = for_usr_local(&usr, Program::Deployed).unwrap();
        let unit = local.bytes("lib/systemd/system/touchline-metrics.service");
        let unit = String::from_utf8_lossy(unit.unwrap()).into_owned();
        assert!(
            unit.contains("ExecStart=/usr/local/bin/touchline "),
            "{unit}"
        );
        assert!(for_usr_local(&local, Program::Deployed).is_err());
    }

    #[test]
    fn each_page_has_an_install_path() {
        for (of, name, place) in [
            (
                Program::Deployed,
                "touchline-fx-run.1",
                "share/man/man1/touchline-fx-run.1",
            ),
            (
                Program::Deployed,
                "_touchline",
                "share/zsh/site-functions/_touchline",
            ),
            (
                Program::Lab,
                "_touchline-lab",
                "share/zsh/site-functions/_touchline-lab",
            ),
            (
                Program::Lab,
                "touchline-lab.bash",
                "share/bash-completion/completions/touchline-lab",
            ),
        ] {
            assert_eq!(place_of_page(of, name).unwrap(), place);
        }
        assert!(place_of_page(Program::Deployed, "README").is_err());
        assert!(place_of_page(Program::Lab, "touchline.fish").is_err());
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
