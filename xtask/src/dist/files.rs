//! Files of a program below `/usr`: the program, man pages, completions, licences, SBOM, and what services need.

use super::release::Release;
use super::tree::Tree;
use super::{Program, linked};
use crate::command::{self, cargo};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// Man pages and completions, by name: a test of the command writes them to `folder`.
pub fn pages(root: &Path, of: Program, folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut test = cargo(root);
    test.args(["test", "--quiet", "--locked", "--package", "touchline"])
        .args(of.built().features)
        .args(["--bin", "touchline", "--", "--exact"])
        .arg("pages::each_command_has_a_man_page_and_completions")
        .env("TOUCHLINE_PAGES", folder);
    command::run(&mut test, "man pages and completions cannot be made")?;
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
const UNITS: [&str; 4] = [
    "touchline-gateway@.service",
    "touchline-metrics.service",
    "touchline-record@.service",
    "touchline-relay@.service",
];

/// Files of a release below `/usr`.
pub fn usr(
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

    let (licences, sbom) = linked::documents(root, of.built(), release)?;
    tree.file(&of.doc("copyright"), licences);
    tree.file(&of.sbom(), sbom);
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
pub fn for_usr_local(usr: &Tree, of: Program) -> Result<Tree> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
