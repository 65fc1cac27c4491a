//! The C library as Debian packages: `libtouchline0` to run programs, `libtouchline-dev` to build them.

use super::debian::{Fields, package};
use super::linked::{Built, documents};
use super::program::Needs;
use super::release::Release;
use super::tree::Tree;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Package that cargo builds.
pub const BUILT: Built = Built {
    package: "touchline-capi",
    features: &[],
};

/// Options of rustc: the name that programs are linked with. Another number means another binary interface.
pub const RUSTC: [&str; 2] = [
    "-Clink-arg=-Wl,-soname,libtouchline.so.0",
    "-Cstrip=debuginfo",
];

/// A package and its files.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// Its place.
    pub path: PathBuf,
    /// Its files, from the root.
    pub files: Tree,
}

/// Writes both packages to a folder.
///
/// # Errors
/// The library needs more than glibc, or a file cannot be read or written.
pub fn packages(
    root: &Path,
    release: &Release,
    built: &Path,
    folder: &Path,
) -> Result<[Package; 2]> {
    let shared = built.join("libtouchline.so");
    let needs = Needs::of(&shared)?;
    let (licences, sbom) = documents(root, BUILT, release)?;
    let processor = release.target.split('-').next().unwrap_or_default();
    let lib = format!("usr/lib/{processor}-linux-gnu");
    let read = |path: PathBuf| fs::read(&path).with_context(|| format!("{}", path.display()));

    let mut run = Tree::default();
    run.file(&format!("{lib}/libtouchline.so.0"), read(shared)?);
    let mut dev = Tree::default();
    dev.link(&format!("{lib}/libtouchline.so"), "libtouchline.so.0");
    dev.file(
        &format!("{lib}/libtouchline.a"),
        read(built.join("libtouchline.a"))?,
    );
    dev.file(&format!("{lib}/pkgconfig/touchline.pc"), pkg_config(&lib));
    let cmake = format!("{lib}/cmake/touchline/touchline-config");
    dev.file(&format!("{cmake}.cmake"), cmake_target(&lib));
    dev.file(&format!("{cmake}-version.cmake"), cmake_version());
    for header in ["touchline.h", "touchline.hpp"] {
        let bytes = read(root.join("crates/capi/include").join(header))?;
        dev.file(&format!("usr/include/{header}"), bytes);
    }
    let exact = format!("libtouchline0 (= {}), libc6-dev", release.version);
    let of = |name, mut files: Tree, section, depends, about| -> Result<Package> {
        files.file(&format!("usr/share/doc/{name}/copyright"), &*licences);
        files.file(&format!("usr/share/doc/{name}/{name}.cdx.json"), &*sbom);
        let fields = Fields {
            name,
            section,
            depends,
            about,
            scripts: &[],
        };
        let file = format!("{name}_{}_{}.deb", release.version, release.processor());
        let path = folder.join(file);
        fs::write(&path, package(&files, release, &fields)?)?;
        println!("dist: {}", path.display());
        Ok(Package { name, path, files })
    };
    let needs = needs.debian();
    let needs = needs.trim_end_matches(", ").to_owned();
    Ok([
        of(
            "libtouchline0",
            run,
            "libs",
            needs,
            "market data of Touchline buses for C and C++\n \
             The shared library that programs need which read the buses of a gateway.",
        )?,
        of(
            "libtouchline-dev",
            dev,
            "libdevel",
            exact,
            "market data of Touchline buses for C and C++, development files\n \
             Headers for C and C++, the static library, and the files of pkg-config and CMake.",
        )?,
    ])
}

fn pkg_config(lib: &str) -> String {
    format!(
        "Name: touchline\nDescription: Market data of Touchline buses\nVersion: {}\n\
         Libs: -L/{lib} -ltouchline\nLibs.private: -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc\n\
         Cflags: -I/usr/include\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// CMake file that `find_package(touchline)` reads: the target `touchline::touchline`.
fn cmake_target(lib: &str) -> String {
    format!(
        "if(NOT TARGET touchline::touchline)\n  \
           add_library(touchline::touchline SHARED IMPORTED)\n  \
           set_target_properties(touchline::touchline PROPERTIES\n    \
             IMPORTED_LOCATION /{lib}/libtouchline.so.0\n    \
             IMPORTED_SONAME libtouchline.so.0\n    \
             INTERFACE_INCLUDE_DIRECTORIES /usr/include)\nendif()\n"
    )
}

/// Programs may ask for this version or an earlier one of the same minor version, as before 1.0.
fn cmake_version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    format!(
        "set(PACKAGE_VERSION {version})\n\
         if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION AND\n   \
            \"${{PACKAGE_FIND_VERSION_MAJOR}}.${{PACKAGE_FIND_VERSION_MINOR}}\" VERSION_EQUAL {minor})\n  \
           set(PACKAGE_VERSION_COMPATIBLE TRUE)\nendif()\n\
         if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)\n  \
           set(PACKAGE_VERSION_EXACT TRUE)\nendif()\n"
    )
}
