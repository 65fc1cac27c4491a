//! TLS settings of a connection to a counterparty, and of a listening port.

use super::{ConfigError, SecretSource};
use serde::{Deserialize, Serialize, Serializer};
use std::path::{Path, PathBuf};
use touchline_net::tls::{Client, Identity, Pin, Server, ServerSettings, Settings, SetupError};
use touchline_session::Secret;

/// TLS of a connection to a venue or bank. Verification of the server cannot be disabled.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClientTls {
    /// Name to request and to find in the server's certificate; that of the host if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Certificates of issuers, in PEM; Mozilla's if absent. In the configuration, a relative path starts at the folder
    /// of the configuration; here it is resolved.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "lossy")]
    pub roots_file: Option<PathBuf>,
    /// SHA-256 of public keys of which the server must have one, in hexadecimal digits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
    /// Client certificate with its chain, in PEM. Paths as above.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "lossy")]
    pub client_certificate_file: Option<PathBuf>,
    /// Its private key, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<SecretSource>,
}

/// Maximum size of a file of certificates; Mozilla's has 200 KB.
const CERTIFICATES_BYTES_MAX: u64 = 4 * 1024 * 1024;

impl ClientTls {
    /// Reads every file and returns the TLS client for `host`.
    ///
    /// # Errors
    /// The invalid file or setting, and why. Errors never contain any part of a key.
    pub fn client(&self, host: &str) -> Result<Client, ConfigError> {
        let server_name = self.server_name.as_deref().unwrap_or(host);
        let pins = self.pins.iter().map(|pin| {
            Pin::read(pin).map_err(|error| self.refused(error, Path::new(pin.as_str())))
        });
        let pins: Vec<Pin> = pins.collect::<Result<_, _>>()?;
        let roots = self.roots_file.as_deref().map(read_certificates);
        let roots = roots.transpose()?;
        let identity = self.identity()?;
        let settings = Settings {
            server_name,
            roots: roots.as_deref(),
            pins: &pins,
            identity: identity.as_ref().map(|(certificates, key)| Identity {
                certificates,
                key: key.expose(),
            }),
        };
        Client::new(&settings).map_err(|error| self.refused(error, Path::new(server_name)))
    }

    /// Resolves relative paths from `folder`.
    pub fn starts_at(&mut self, folder: &Path) {
        let files = [&mut self.roots_file, &mut self.client_certificate_file];
        for path in files.into_iter().flatten() {
            *path = folder.join(&path);
        }
        if let Some(key) = &mut self.client_key {
            key.starts_at(folder);
        }
    }

    fn identity(&self) -> Result<Option<(Vec<u8>, Secret)>, ConfigError> {
        match (&self.client_certificate_file, &self.client_key) {
            (None, None) => Ok(None),
            (Some(file), Some(key)) => Ok(Some((read_certificates(file)?, key.read_key()?))),
            (Some(file), None) => Err(ConfigError {
                file: file.clone(),
                line: None,
                what: "the client certificate has no key".to_owned(),
                fix: "give its place: client_key = { file = \"PATH\" }".to_owned(),
            }),
            (None, Some(key)) => Err(ConfigError {
                file: key.to_string().into(),
                line: None,
                what: "the key has no client certificate".to_owned(),
                fix: "set client_certificate_file, or remove client_key".to_owned(),
            }),
        }
    }

    /// Error of TLS settings; its place is the file concerned, or the value itself.
    fn refused(&self, error: SetupError, value: &Path) -> ConfigError {
        let file = match error {
            SetupError::NoRoots => self.roots_file.clone(),
            SetupError::NoCertificate | SetupError::NotOurs | SetupError::NotOfServer => {
                self.client_certificate_file.clone()
            }
            SetupError::NoKey => self.client_key.as_ref().map(|key| key.to_string().into()),
            SetupError::NoName | SetupError::BadPin => None,
        };
        ConfigError {
            file: file.unwrap_or_else(|| value.to_owned()),
            line: None,
            what: error.to_string(),
            fix: "see TLS in docs/configuration.md".to_owned(),
        }
    }
}

/// TLS of a listening port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTls {
    /// The server's certificate, followed by its chain, in PEM. In the configuration, a relative path starts at the folder of the
    /// configuration; here it is resolved.
    #[serde(serialize_with = "super::lossy")]
    pub certificate_file: PathBuf,
    /// Its private key, in PEM: a file of this user that no other user may read. Path as above.
    #[serde(serialize_with = "super::lossy")]
    pub key_file: PathBuf,
    /// Issuers of client certificates, in PEM: a client without a certificate of one of them is refused. If absent, no client is
    /// asked for a certificate. Path as above.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "lossy"
    )]
    pub client_roots_file: Option<PathBuf>,
}

impl ServerTls {
    /// Reads every file and returns the TLS server.
    ///
    /// # Errors
    /// The invalid file, and why. Errors never contain any part of a key.
    pub fn server(&self) -> Result<Server, ConfigError> {
        let key = SecretSource::File(self.key_file.clone()).read_key()?;
        let client_roots = self.client_roots_file.as_deref().map(read_certificates);
        let client_roots = client_roots.transpose()?;
        let settings = ServerSettings {
            certificates: &read_certificates(&self.certificate_file)?,
            key: key.expose(),
            client_roots: client_roots.as_deref(),
        };
        Server::new(&settings).map_err(|error| {
            let file = match (error, &self.client_roots_file) {
                (SetupError::NoRoots, Some(file)) => file,
                (SetupError::NoKey, _) => &self.key_file,
                _ => &self.certificate_file,
            };
            ConfigError {
                file: file.clone(),
                line: None,
                what: error.to_string(),
                fix: "see TLS in docs/configuration.md".to_owned(),
            }
        })
    }

    /// Resolves relative paths from `folder`.
    pub fn starts_at(&mut self, folder: &Path) {
        for path in [&mut self.certificate_file, &mut self.key_file] {
            *path = folder.join(&path);
        }
        if let Some(path) = &mut self.client_roots_file {
            *path = folder.join(&path);
        }
    }
}

fn read_certificates(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let refuse = |what: String| ConfigError {
        file: path.to_owned(),
        line: None,
        what,
        fix: "give a file of certificates in PEM, and check its permissions".to_owned(),
    };
    touchline_net::input::read(path, CERTIFICATES_BYTES_MAX)
        .map_err(|error| refuse(format!("cannot read it: {error}")))
}

fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    let path = path.as_deref().unwrap_or(Path::new(""));
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use touchline_testing::Folder;

    #[test]
    fn an_empty_table_is_valid_and_settings_are_read_back() {
        let least: ClientTls = toml::from_str("").expect("an empty table");
        assert_eq!(least, ClientTls::default());
        assert!(least.client("fix.venue.example").is_ok());
        assert_eq!(toml::to_string(&least).expect("a table"), "");
        let text = "server_name = \"a\"\nroots_file = \"r.pem\"\npins = [\"00\"]\n\
                    client_certificate_file = \"c.pem\"\n\n[client_key]\nfile = \"k.pem\"\n";
        let mut all: ClientTls = toml::from_str(text).expect("all settings");
        assert_eq!(toml::to_string(&all).expect("a table"), text);
        all.starts_at(Path::new("/etc/touchline"));
        let moved = toml::to_string(&all).expect("a table");
        assert_eq!(moved.matches("/etc/touchline/").count(), 3, "{moved}");
    }

    /// Files of an issued certificate and its key, each with this mode.
    fn files(folder: &Path, mode: u32) -> ServerTls {
        let issued = touchline_testing::issuer::Issued::by_itself("localhost");
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            std::fs::write(&file, text).expect("a temporary file");
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, mode).expect("our own file");
            PathBuf::from(name)
        };
        let mut tls = ServerTls {
            certificate_file: write("c.pem", &issued.certificate_pem),
            key_file: write("k.pem", &issued.key_pem),
            client_roots_file: Some(write("r.pem", &issued.certificate_pem)),
        };
        tls.starts_at(folder);
        tls
    }

    #[test]
    fn a_port_has_a_certificate_with_its_key_and_perhaps_issuers_of_clients() {
        let folders = [(); 2].map(|()| Folder::new("tls"));
        let tls = files(&folders[0], 0o600);
        tls.server().expect("all is in order");
        let without = ServerTls {
            client_roots_file: None,
            ..tls.clone()
        };
        without.server().expect("clients need no certificate");
        let text = toml::to_string(&without).expect("a table");
        assert_eq!(toml::from_str(&text), Ok(without));
        let text = toml::to_string(&tls).expect("a table");
        assert_eq!(toml::from_str(&text), Ok(tls.clone()));
        // Each file in the place of another one: the error names the wrong one.
        let (certificate, key) = (&tls.certificate_file, &tls.key_file);
        let with = |certificate: &PathBuf, key: &PathBuf, roots: &PathBuf| ServerTls {
            certificate_file: certificate.clone(),
            key_file: key.clone(),
            client_roots_file: Some(roots.clone()),
        };
        for (wrong, place, word) in [
            (with(key, key, certificate), key, "no certificate in it"),
            (
                with(certificate, certificate, certificate),
                certificate,
                "no private key",
            ),
            (
                with(certificate, key, key),
                key,
                "no certificate of an issuer",
            ),
            (
                with(certificate, &"/nowhere/k".into(), key),
                &"/nowhere/k".into(),
                "cannot read",
            ),
        ] {
            let said = wrong.server().expect_err(word).to_string();
            let begin = format!("{}: ", place.display());
            assert!(said.starts_with(&begin) && said.contains(word), "{said}");
        }
        let strange = files(&folders[1], 0o600);
        let mixed = with(certificate, &strange.key_file, certificate);
        let said = mixed.server().expect_err("another key").to_string();
        assert!(said.contains("do not belong together"), "{said}");
        for mode in [0o644, 0o640, 0o604, 0o620] {
            let folder = Folder::new("open");
            let open = files(&folder, mode);
            let client = ClientTls {
                client_certificate_file: Some(open.certificate_file.clone()),
                client_key: Some(SecretSource::File(open.key_file.clone())),
                ..ClientTls::default()
            };
            for tls in [open.server().map(drop), client.client("gw1").map(drop)] {
                let said = tls.expect_err("others may read the key").to_string();
                let parts = ["k.pem: ", &format!("its mode is {mode:04o}"), "chmod 600"];
                assert!(parts.iter().all(|part| said.contains(part)), "{said}");
            }
        }
        let misspelt = toml::from_str::<ServerTls>(
            "certificate_file = \"a\"\nkey_file = \"b\"\nroots = \"c\"",
        );
        assert!(misspelt.is_err());
    }

    #[test]
    fn unusable_input_is_refused_with_its_place() {
        for (text, place, word) in [
            ("pins = [\"xyz\"]", "xyz: ", "64 hexadecimal"),
            ("server_name = \"a b\"", "a b: ", "host name"),
            (
                "roots_file = \"/nowhere/r.pem\"",
                "/nowhere/r.pem: ",
                "cannot read",
            ),
            (
                "roots_file = \"/dev/null\"",
                "/dev/null: ",
                "neither a regular file nor a pipe",
            ),
            ("client_certificate_file = \"c.pem\"", "c.pem: ", "no key"),
            (
                "client_key = { file = \"k.pem\" }",
                "file k.pem: ",
                "no client certificate",
            ),
        ] {
            let tls: ClientTls = toml::from_str(text).expect(text);
            let said = tls.client("fix.venue.example").expect_err(text).to_string();
            assert!(said.starts_with(place) && said.contains(word), "{said}");
        }
        let misspelt =
            toml::from_str::<ClientTls>("verify = false").expect_err("there is no such thing");
        assert!(misspelt.to_string().contains("unknown field"), "{misspelt}");
    }
}
