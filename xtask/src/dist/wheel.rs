//! The Python package as a wheel: a zip archive with the module, its metadata, licences and bill of materials,
//! <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>.

use super::linked::{Built, documents};
use super::program::Needs;
use super::release::Release;
use super::zip::Zip;
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Package that cargo builds.
pub const BUILT: Built = Built {
    package: "touchline-python",
    features: &[],
};

/// Option of rustc.
pub const STRIP: &str = "-Cstrip=debuginfo";

/// Writes the wheel to a folder.
///
/// # Errors
/// The module needs more than glibc, or a file cannot be read or written.
pub fn wheel(root: &Path, release: &Release, built: &Path, folder: &Path) -> Result<PathBuf> {
    let module = built.join("libtouchline_python.so");
    let (major, minor) = Needs::of(&module)?
        .glibc
        .context("a module without glibc")?;
    let processor = release.target.split('-').next().unwrap_or_default();
    let tag = format!("cp310-abi3-manylinux_{major}_{minor}_{processor}");
    let version = version(&release.version);
    let (licences, sbom) = documents(root, BUILT, release)?;

    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for entry in fs::read_dir(root.join("crates/python/touchline"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_file() {
            files.insert(format!("touchline/{name}"), fs::read(&path)?);
        }
    }
    files.insert("touchline/_native.abi3.so".to_owned(), fs::read(&module)?);
    let info = format!("touchline-{version}.dist-info");
    let mut add = |name: &str, bytes: Vec<u8>| files.insert(format!("{info}/{name}"), bytes);
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        add(
            &format!("licenses/{licence}"),
            fs::read(root.join(licence))?,
        );
    }
    add("licenses/copyright", licences.into_bytes());
    add("sboms/touchline.cdx.json", sbom.into_bytes());
    add("METADATA", metadata(&version).into_bytes());
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\nTag: {tag}\n"
    );
    add("WHEEL", wheel.into_bytes());
    let record = format!("{info}/RECORD");
    files.insert(record.clone(), record_of(&files, &record).into_bytes());

    let mut zip = Zip::default();
    for (name, bytes) in &files {
        zip.file(name, bytes)?;
    }
    let path = folder.join(format!("touchline-{version}-{tag}.whl"));
    fs::write(&path, zip.finish())?;
    println!("dist: {}", path.display());
    Ok(path)
}

/// The version as Python writes it: `0.1.0~git20260101.0123abc` is `0.1.0.dev20260101+g0123abc`.
fn version(version: &str) -> String {
    match version.split_once("~git") {
        Some((number, commit)) => format!("{number}.dev{}", commit.replacen('.', "+g", 1)),
        None => version.to_owned(),
    }
}

/// The fields of crates/python/pyproject.toml.
fn metadata(version: &str) -> String {
    format!(
        "Metadata-Version: 2.4\nName: touchline\nVersion: {version}\n\
         Summary: Market data of Touchline buses: events, numpy arrays and books, read from shared memory.\n\
         License-Expression: MIT OR Apache-2.0\n\
         License-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\nLicense-File: copyright\n\
         Requires-Python: >=3.10\nProvides-Extra: numpy\nRequires-Dist: numpy>=1.22; extra == 'numpy'\n"
    )
}

/// Every file with its checksum and length; the list itself without.
fn record_of(files: &BTreeMap<String, Vec<u8>>, record: &str) -> String {
    let mut text = String::new();
    for (name, bytes) in files {
        let sum = base64(&Sha256::digest(bytes));
        text += &format!("{name},sha256={sum},{}\n", bytes.len());
    }
    text + record + ",,\n"
}

/// The alphabet of URLs, without padding (RFC 4648, section 5).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| {
            bits << 8 | u32::from(three.get(at).copied().unwrap_or_default())
        });
        for at in 0..=three.len() {
            let index = bits >> (18 - 6 * at) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_python() {
        assert_eq!(version("0.1.0"), "0.1.0");
        let commit = version("0.1.0~git20260101.0123abc");
        assert_eq!(commit, "0.1.0.dev20260101+g0123abc");
    }

    #[test]
    fn base64_equals_the_standards_examples() {
        for (bytes, text) in [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "-_8");
    }

    /// Others build from pyproject.toml; the wheel states the same.
    #[test]
    fn metadata_equal_those_of_the_project() {
        let project =
            fs::read_to_string(crate::root().join("crates/python/pyproject.toml")).unwrap();
        let metadata = metadata("1");
        let value = |text: &str, key: &str, quote: char| {
            let mut lines = text.lines();
            let line = lines
                .find_map(|line| line.strip_prefix(key))
                .expect("the key");
            line.trim_matches(quote).to_owned()
        };
        for (field, key) in [
            ("Name: ", "name = "),
            ("Summary: ", "description = "),
            ("License-Expression: ", "license = "),
            ("Requires-Python: ", "requires-python = "),
        ] {
            assert_eq!(value(&metadata, field, ' '), value(&project, key, '"'));
        }
        assert!(project.contains("numpy = [\"numpy>=1.22\"]"));
    }
}
