//! Secrets, read from a private file or the environment only.
//!
//! A configuration names the place of a secret: `password = { file = "…" }` or `password = { env = "NAME" }`. So it can
//! be printed, copied and shown in an error. The command line never has secrets, because every user of the host can
//! read it.

use super::ConfigError;
use rustix::fs::OFlags;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use touchline_session::Secret;

/// Place of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// First line of a file of this user that no other user may read. In the configuration, a relative path starts at
    /// the folder of the configuration; here it is resolved.
    #[serde(serialize_with = "super::lossy")]
    File(PathBuf),
    /// An environment variable.
    Env(String),
}

/// Maximum length of a secret, bytes.
const SECRET_BYTES_MAX: usize = 1_024;

/// Maximum length of a key, bytes.
const KEY_BYTES_MAX: usize = 65_536;

/// Maximum length of a variable's name, bytes.
const VARIABLE_BYTES_MAX: usize = 128;

/// Fix for a secret in the wrong place.
const RIGHT_PLACE: &str = "write it into a file of this user with mode 0600 and give its path here, \
                           `{ file = \"PATH\" }` or `{ env = \"NAME\" }` for an environment variable \
                           (in [venue.replay] `password_file = \"PATH\"`); see docs/configuration.md";

impl SecretSource {
    /// Reads the secret. From then on this process writes no core file, which would contain it.
    ///
    /// # Errors
    /// The secret is missing, empty or longer than 1,024 bytes, or the file is accessible to others, of another user,
    /// or not a regular file. Errors never contain the secret.
    pub fn read(&self) -> Result<Secret, ConfigError> {
        self.read_with(SECRET_BYTES_MAX, |name| std::env::var_os(name))
    }

    /// Reads a private key in PEM, which has several lines. Otherwise as [`SecretSource::read`], up to 65,536 bytes.
    ///
    /// # Errors
    /// As for [`SecretSource::read`].
    pub fn read_key(&self) -> Result<Secret, ConfigError> {
        self.read_with(KEY_BYTES_MAX, |name| std::env::var_os(name))
    }

    fn read_with(
        &self,
        bytes_max: usize,
        variable: impl FnOnce(&str) -> Option<OsString>,
    ) -> Result<Secret, ConfigError> {
        let read = keep_out_of_core_files().and_then(|()| match self {
            SecretSource::File(path) => read_file(path, bytes_max),
            SecretSource::Env(name) => variable(name)
                .map(|value| value.into_vec().into())
                .ok_or_else(|| "this environment variable is not set".to_owned()),
        });
        let checked = read.and_then(|secret: Secret| match secret.len() {
            0 => Err("it is empty".to_owned()),
            length if length > bytes_max => Err(format!("it has more than {bytes_max} bytes")),
            _ if bytes_max == SECRET_BYTES_MAX && secret.expose().contains(&b'\n') => {
                Err("it has more than one line".to_owned())
            }
            _ => Ok(secret),
        });
        checked.map_err(|what| match self {
            SecretSource::File(path) => ConfigError {
                file: path.clone(),
                line: None,
                what,
                fix: "put only the secret into a file of this user with mode 0600 (chmod 600)"
                    .to_owned(),
            },
            SecretSource::Env(name) => ConfigError {
                file: name.into(),
                line: None,
                what,
                fix: "set it for this process only, or use a file instead".to_owned(),
            },
        })
    }

    /// Resolves a relative path from `folder`.
    pub fn starts_at(&mut self, folder: &Path) {
        if let SecretSource::File(path) = self {
            *path = folder.join(&path);
        }
    }
}

/// Place of the secret as text.
impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretSource::File(path) => write!(f, "file {}", path.display()),
            SecretSource::Env(name) => write!(f, "variable {name}"),
        }
    }
}

/// Prevents core files, which would contain every secret. Other processes of this user can then not
/// read our memory or environment either.
fn keep_out_of_core_files() -> Result<(), String> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| format!("cannot keep it out of core files: {error}"))
}

/// Reads a private file, without its last line end.
fn read_file(path: &Path, bytes_max: usize) -> Result<Secret, String> {
    let cannot = |error: io::Error| format!("cannot read it: {error}");
    // A pipe under this name must not block the start.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(cannot)?;
    check_file(&file)?;
    // With full capacity, so that the bytes are not moved while reading.
    let mut bytes = Vec::with_capacity(bytes_max + 64);
    let read = file.take(bytes_max as u64 + 3).read_to_end(&mut bytes);
    let ends = bytes
        .iter()
        .rev()
        .take_while(|&&byte| byte == b'\n' || byte == b'\r');
    bytes.truncate(bytes.len() - ends.count());
    let secret = Secret::from(bytes);
    read.map_err(cannot)?;
    Ok(secret)
}

/// Checks the open file instead of its name.
fn check_file(file: &File) -> Result<(), String> {
    let about = file
        .metadata()
        .map_err(|error| format!("cannot look at it: {error}"))?;
    let me = rustix::process::geteuid().as_raw();
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if about.uid() != me && about.uid() != 0 {
        return Err(format!(
            "it belongs to user {}, not to the user of this process",
            about.uid()
        ));
    }
    match about.mode() & 0o777 {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => Err(format!("others may read it: its mode is {mode:04o}")),
    }
}

impl<'de> Deserialize<'de> for SecretSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SourceVisitor)
    }
}

struct SourceVisitor;

impl<'de> Visitor<'de> for SourceVisitor {
    type Value = SecretSource;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`{ file = \"PATH\" }` or `{ env = \"NAME\" }`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SecretSource, A::Error> {
        let one =
            A::Error::custom("either `file` or `env`, and nothing else, says where a secret is");
        let Some((kind, place)) = map.next_entry::<String, String>()? else {
            return Err(one);
        };
        if map.next_key::<String>()?.is_some() {
            return Err(one);
        }
        match kind.as_str() {
            "file" if !place.is_empty() => Ok(SecretSource::File(place.into())),
            "env" if is_variable(&place) => Ok(SecretSource::Env(place)),
            "file" => Err(A::Error::custom("an empty path is not a file")),
            "env" => Err(A::Error::custom(
                "this is not a variable name: letters, digits and `_`, not starting with a digit",
            )),
            _ => Err(one),
        }
    }
}

fn is_variable(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=VARIABLE_BYTES_MAX).contains(&name.len())
        && name.bytes().all(letters)
        && !name.as_bytes()[0].is_ascii_digit()
}

/// Words in names of keys whose values are secrets.
const SECRET_WORDS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "private_key",
    "client_key",
    "api_key",
    "credential",
];

/// Endings of such names for values that are places.
const PLACE_ENDINGS: [&str; 2] = ["_file", "_env"];

/// Refuses a text that contains a secret, before any of it can be shown in an error.
///
/// # Errors
/// The line, and the right place of a secret. The text leaves out the value.
pub(super) fn refuse_written(path: &Path, text: &str) -> Result<(), ConfigError> {
    let Some((line, key)) = written(text) else {
        return Ok(());
    };
    Err(ConfigError {
        file: path.to_owned(),
        line: Some(line),
        what: format!(
            "`{key}` has its value in the configuration, where it can be read and printed"
        ),
        fix: format!("remove it from this file and its history: {RIGHT_PLACE}"),
    })
}

/// First key that is set to a secret, and its line.
fn written(text: &str) -> Option<(u32, &'static str)> {
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        if line.contains("PRIVATE KEY-----") {
            return Some((number, "private key"));
        }
        for (at, _) in line.match_indices('=') {
            let quotes = |c: char| c == '"' || c == '\'';
            let key = line[..at].trim_end().trim_end_matches(quotes);
            let name = key
                .rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
                .next()
                .unwrap_or(key)
                .to_ascii_lowercase()
                .replace('-', "_");
            let is_place = PLACE_ENDINGS.iter().any(|ending| name.ends_with(ending))
                || line[at + 1..].trim_start().starts_with('{');
            let word = SECRET_WORDS.iter().find(|word| name.contains(**word));
            if let (Some(word), false) = (word, is_place) {
                return Some((number, word));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
