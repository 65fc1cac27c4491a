//! TLS of links: files, all in PEM.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use touchline_net::tls::{Client, Identity, Pin, Server, ServerSettings, Settings, SetupError};

/// Files beyond this are no certificates.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// TLS of a sending link: the server's certificate, and who may connect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendTls {
    /// Our certificate, and those that lead to its issuer.
    pub certificate_file: PathBuf,
    /// Its private key.
    pub key_file: PathBuf,
    /// Issuers of client certificates: a client without one of them is refused.
    pub client_roots_file: PathBuf,
}

/// TLS of a receiving link: whom to trust, and who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveTls {
    /// The name to find in the server's certificate; that of the address if absent.
    #[serde(default)]
    pub server_name: Option<String>,
    /// Issuers that are trusted.
    pub roots_file: PathBuf,
    /// SHA-256 of keys of which the server must have one, in hexadecimal digits.
    #[serde(default)]
    pub pins: Vec<String>,
    /// Our certificate, and those that lead to its issuer.
    pub certificate_file: PathBuf,
    /// Its private key.
    pub key_file: PathBuf,
}

impl SendTls {
    /// Reads every file.
    ///
    /// # Errors
    /// The file that cannot be used, and why; nothing of a key.
    pub fn server(&self) -> Result<Server, String> {
        let settings = ServerSettings {
            certificates: &read(&self.certificate_file)?,
            key: &read(&self.key_file)?,
            client_roots: &read(&self.client_roots_file)?,
        };
        Server::new(&settings).map_err(|error| {
            let file = match error {
                SetupError::NoRoots => &self.client_roots_file,
                SetupError::NoKey => &self.key_file,
                _ => &self.certificate_file,
            };
            format!("{}: {error}", file.display())
        })
    }

    /// Relative paths start at `folder` from now on.
    pub fn starts_at(&mut self, folder: &Path) {
        for path in [
            &mut self.certificate_file,
            &mut self.key_file,
            &mut self.client_roots_file,
        ] {
            *path = folder.join(&path);
        }
    }
}

impl ReceiveTls {
    /// Reads every file, and gives what connects to `host`.
    ///
    /// # Errors
    /// The file or setting that cannot be used, and why; nothing of a key.
    pub fn client(&self, host: &str) -> Result<Client, String> {
        let pins = self.pins.iter().map(|pin| Pin::read(pin));
        let pins: Vec<Pin> = pins
            .collect::<Result<_, _>>()
            .map_err(|error| format!("pins: {error}"))?;
        let settings = Settings {
            server_name: self.server_name.as_deref().unwrap_or(host),
            roots: Some(&read(&self.roots_file)?),
            pins: &pins,
            identity: Some(Identity {
                certificates: &read(&self.certificate_file)?,
                key: &read(&self.key_file)?,
            }),
        };
        Client::new(&settings).map_err(|error| {
            let file = match error {
                SetupError::NoRoots => &self.roots_file,
                SetupError::NoKey => &self.key_file,
                _ => &self.certificate_file,
            };
            format!("{}: {error}", file.display())
        })
    }

    /// Relative paths start at `folder` from now on.
    pub fn starts_at(&mut self, folder: &Path) {
        for path in [
            &mut self.roots_file,
            &mut self.certificate_file,
            &mut self.key_file,
        ] {
            *path = folder.join(&path);
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let place = path.display();
    let about = std::fs::metadata(path);
    let about = about.map_err(|error| format!("{place}: cannot read it: {error}"))?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return Err(format!(
            "{place}: not a regular file of at most {FILE_BYTES_MAX} bytes"
        ));
    }
    std::fs::read(path).map_err(|error| format!("{place}: cannot read it: {error}"))
}
