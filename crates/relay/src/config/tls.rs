//! TLS of links: PEM files, read as those of sessions. Both sides of a link show certificates.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use touchline_credentials::{ClientTls, SecretSource, ServerTls};
use touchline_net::tls::{Client, Server};

/// TLS of a sending link: the server's certificate, and the accepted client certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendTls {
    /// Server certificate, followed by its chain.
    pub certificate_file: PathBuf,
    /// Private key of the server: a file of this user that no other user may read.
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
    /// Private key of the client: a file of this user that no other user may read.
    pub key_file: PathBuf,
}

impl SendTls {
    /// Reads every file.
    ///
    /// # Errors
    /// A file is unusable, with the reason; the text contains nothing of a key.
    pub fn server(&self) -> Result<Server, String> {
        let tls = ServerTls {
            certificate_file: self.certificate_file.clone(),
            key_file: self.key_file.clone(),
            client_roots_file: Some(self.client_roots_file.clone()),
        };
        tls.server().map_err(|error| error.to_string())
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
        let tls = ClientTls {
            server_name: self.server_name.clone(),
            roots_file: Some(self.roots_file.clone()),
            pins: self.pins.clone(),
            client_certificate_file: Some(self.certificate_file.clone()),
            client_key: Some(SecretSource::File(self.key_file.clone())),
        };
        tls.client(host).map_err(|error| error.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    /// A key that others may read is refused on both sides, with the fix, and used once its mode is right.
    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let folder = format!("touchline-relay-keys-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let issued = touchline_testing::issuer::Issued::by_itself("gw1");
        std::fs::write(folder.join("c.pem"), issued.certificate_pem).expect("our folder");
        std::fs::write(folder.join("k.pem"), issued.key_pem).expect("our folder");
        let file = |name: &str| PathBuf::from(name);
        let mut send = SendTls {
            certificate_file: file("c.pem"),
            key_file: file("k.pem"),
            client_roots_file: file("c.pem"),
        };
        send.starts_at(&folder);
        let mut receive = ReceiveTls {
            server_name: None,
            roots_file: file("c.pem"),
            pins: Vec::new(),
            certificate_file: file("c.pem"),
            key_file: file("k.pem"),
        };
        receive.starts_at(&folder);
        let mode = |mode| {
            let mode = Permissions::from_mode(mode);
            std::fs::set_permissions(folder.join("k.pem"), mode).expect("our file");
        };
        for open in [0o644, 0o640, 0o604, 0o620] {
            mode(open);
            let said = [
                send.server().map(|_| ()).expect_err("others may read it"),
                receive
                    .client("gw1")
                    .map(|_| ())
                    .expect_err("others may read it"),
            ];
            for text in said {
                let mode = format!("its mode is {open:04o}");
                let parts = ["k.pem: ", &mode, "chmod 600"];
                assert!(parts.iter().all(|part| text.contains(part)), "{text}");
            }
        }
        mode(0o600);
        send.server().expect("a private key");
        receive.client("gw1").expect("a private key");
        let _ = std::fs::remove_dir_all(&folder);
    }
}
