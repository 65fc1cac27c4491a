//! Package for Debian and its derivatives: the format of deb(5), and the scripts of the package.

use super::Program;
use super::release::Release;
use super::tree::{Tree, gzip};
use anyhow::Result;
use std::env;

/// Creates the user and the directories of a package, also below another root (`DPKG_ROOT`).
const POSTINST: &str = r#"#!/bin/sh
set -e
if [ "$1" = configure ]; then
    systemd-sysusers --root="${DPKG_ROOT:-/}" touchline.conf
    systemd-tmpfiles --root="${DPKG_ROOT:-/}" --create touchline.conf
    if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
        # A container may forbid it; `touchline doctor` then reports the limit.
        /usr/lib/systemd/systemd-sysctl /usr/lib/sysctl.d/60-touchline.conf || true
        systemctl daemon-reload || true
    fi
fi
"#;

/// Stops the services at removal. An upgrade stops none: the operator decides when a gateway restarts.
const PRERM: &str = r#"#!/bin/sh
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl stop 'touchline-record@*.service' 'touchline-gateway@*.service' 'touchline-relay@*.service' touchline-metrics.service || true
fi
"#;

/// A purge removes files of gateways, and keeps files of users.
const POSTRM: &str = r#"#!/bin/sh
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
    rm -rf "${DPKG_ROOT}/var/lib/touchline"
    if [ -d "${DPKG_ROOT}/etc/touchline" ] && ! rmdir "${DPKG_ROOT}/etc/touchline" 2>/dev/null; then
        echo "touchline: /etc/touchline still contains your files; remove them if you do not need them" >&2
    fi
    user=$(sed -n 's/^touchline:[^:]*:\([0-9]*\):.*/\1/p' "${DPKG_ROOT}/etc/passwd")
    if [ -n "$user" ] && [ -z "$DPKG_ROOT" ]; then
        rm -rf "/dev/shm/touchline-$user"
    fi
fi
"#;

/// Control fields of a package.
pub struct Fields<'a> {
    /// Its name.
    pub name: &'a str,
    /// Section of Debian's archive.
    pub section: &'a str,
    /// Packages that it depends on, and further fields.
    pub depends: String,
    /// Synopsis and description, as deb822 writes them.
    pub about: &'a str,
    /// Scripts by name.
    pub scripts: &'a [(&'a str, &'a str)],
}

/// A package of files.
///
/// # Errors
/// A file cannot be packed.
pub fn package(files: &Tree, release: &Release, fields: &Fields) -> Result<Vec<u8>> {
    let mut control = Tree::default();
    control.file("control", control_file(release, fields, files.size_kib()));
    for (name, script) in fields.scripts {
        control.program(name, *script);
    }
    Ok(ar(
        &[
            ("debian-binary", b"2.0\n"),
            ("control.tar.gz", &control.tar_gz(release.time_s)?),
            ("data.tar.gz", &files.tar_gz(release.time_s)?),
        ],
        release.time_s,
    ))
}

/// Folder in which zsh finds completions that no package of Debian brought.
const ZSH: &str = "share/zsh/site-functions/";

/// Files of the package: man pages compressed, completions in Debian's places.
///
/// # Errors
/// A file cannot be packed.
pub fn files(usr: &Tree) -> Result<Tree> {
    let mut tree = Tree::default();
    for (path, entry) in usr.iter() {
        let super::tree::Entry::File(mode, bytes) = entry else {
            continue;
        };
        match path {
            _ if path.starts_with("bin/") => tree.program(&format!("usr/{path}"), &bytes[..]),
            _ if path.starts_with(ZSH) => {
                let name = &path[ZSH.len()..];
                tree.file(
                    &format!("usr/share/zsh/vendor-completions/{name}"),
                    &bytes[..],
                );
            }
            _ if path.starts_with("share/man/") => {
                tree.file(&format!("usr/{path}.gz"), gzip(bytes)?);
            }
            _ => {
                debug_assert_eq!(*mode, 0o644, "{path}");
                tree.file(&format!("usr/{path}"), &bytes[..]);
            }
        }
    }
    Ok(tree)
}

/// Control fields of a program's package. Only the package of the deployed program has a user and services.
pub fn fields(of: Program, needs: &str) -> Fields<'static> {
    let (further, about, scripts): (_, _, &[_]) = match of {
        Program::Deployed => (
            "systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles\n\
             Suggests: prometheus, touchline-lab",
            "market data from the wire to shared memory\n \
             Touchline receives the market data of exchanges and banks, repairs what was\n \
             lost, keeps the order books and publishes them in shared memory to every\n \
             process of the host; it composes and trades FX. This package has the command,\n \
             units for systemd, man pages, completions, Prometheus alerts and a dashboard.",
            &[("postinst", POSTINST), ("prerm", PRERM), ("postrm", POSTRM)],
        ),
        Program::Lab => (
            "libc6",
            "simulators, benchmarks and demonstrations of Touchline\n \
             The program touchline-lab has every command of touchline, and demo, sim, bench\n \
             and load: simulated venues and banks, fault injection, measurements. It is not\n \
             needed where Touchline runs.",
            &[],
        ),
    };
    Fields {
        name: of.name(),
        section: "net",
        depends: format!("{needs}{further}"),
        about,
        scripts,
    }
}

/// Maintainer of the package, from `DEBFULLNAME` and `DEBEMAIL` like in Debian's own tools.
fn control_file(release: &Release, fields: &Fields, size_kib: u64) -> String {
    let from = |name: &str, other: &str| env::var(name).unwrap_or_else(|_| other.to_owned());
    let maintainer = from("DEBFULLNAME", "Touchline contributors");
    let email = from("DEBEMAIL", "root@localhost");
    let Fields {
        name,
        section,
        depends,
        about,
        ..
    } = fields;
    format!(
        "Package: {name}\n\
         Version: {}\n\
         Architecture: {}\n\
         Maintainer: {maintainer} <{email}>\n\
         Installed-Size: {size_kib}\n\
         Depends: {depends}\n\
         Section: {section}\n\
         Priority: optional\n\
         Description: {about}\n",
        release.version,
        release.processor(),
    )
}

/// An archive in the format of ar(1) and dpkg.
fn ar(members: &[(&str, &[u8])], mtime_s: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let head = format!(
            "{name:<16}{mtime_s:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            "100644",
            bytes.len()
        );
        archive.extend(head.as_bytes());
        archive.extend(*bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_form_of_ar() {
        let archive = ar(&[("odd", b"abc"), ("even", b"abcd")], 7);
        let expected = "!<arch>\n\
            odd             7           0     0     100644  3         `\nabc\n\
            even            7           0     0     100644  4         `\nabcd";
        assert_eq!(String::from_utf8(archive).unwrap(), expected);
    }

    #[test]
    fn files_go_where_debian_looks_for_them() {
        let mut usr = Tree::default();
        usr.program("bin/touchline", "x");
        usr.file("share/man/man1/touchline.1", ".TH");
        usr.file("share/zsh/site-functions/_touchline", "#compdef");
        let files = files(&usr).unwrap();
        let paths: Vec<_> = files.iter().map(|(path, _)| path).collect();
        for path in [
            "usr/bin/touchline",
            "usr/share/man/man1/touchline.1.gz",
            "usr/share/zsh/vendor-completions/_touchline",
        ] {
            assert!(paths.contains(&path), "{paths:?}");
        }
    }
}
