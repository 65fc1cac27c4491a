//! TLS of links: PEM files.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use touchline_net::tls::{Client, Identity, Pin, Server, ServerSettings, Settings, SetupError};

/// Largest certificate file, bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// TLS of a sending link: the server's certificate, and the accepted client certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendTls {
    /// Server certificate, followed by its chain.
    pub certificate_file: PathBuf,
    /// Private key of the server.
    pub key_file: PathBuf,
    /// Issuers of client certificates: a client without a certificate of one of them is rejected.
    pub client_roots_file: PathBuf,
}

/// TLS of a receiving link: trusted servers, and the client's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveTls {
    /// Expected name in the server's certificate; the host of the address if absent.
    #[serde(default)]
    pub server_name: Option<String>,
    /// Trusted issuers.
    pub roots_file: PathBuf,
    /// SHA-256 of accepted server keys, in hexadecimal digits.
    #[serde(default)]
    pub pins: Vec<String>,
    /// Client certificate, followed by its chain.
    pub certificate_file: PathBuf,
    /// Private key of the client.
    pub key_file: PathBuf,
}

impl SendTls {
    /// Reads every file.
    ///
    /// # Errors
    /// A file is unusable, with the reason; the text contains nothing of a key.
    pub fn server(&self) -> Result<Server, String> {
        let settings = ServerSettings {
            certificates: &read(&self.certificate_file)?,
            key: &read(&self.key_file)?,
            client_roots: Some(&read(&self.client_roots_file)?),
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

    /// Resolves relative paths against `folder`.
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
    /// Reads every file, and returns the TLS client for `host`.
    ///
    /// # Errors
    /// A file or setting is unusable, with the reason; the text contains nothing of a key.
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

    /// Resolves relative paths against `folder`.
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
