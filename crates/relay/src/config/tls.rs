//! TLS of links: both sides show certificates, so files are required here that are optional for other connections.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::path::PathBuf;
use touchline_credentials::{ClientTls, SecretSource, ServerTls};

/// TLS of a receiving link: trusted servers, and the client's certificate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReceiveTls {
    #[serde(default)]
    server_name: Option<String>,
    roots_file: PathBuf,
    #[serde(default)]
    pins: Vec<String>,
    certificate_file: PathBuf,
    key_file: PathBuf,
}

/// TLS of a receiving link, which presents a certificate.
pub(super) fn receive<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ClientTls>, D::Error> {
    let tls = ReceiveTls::deserialize(from)?;
    Ok(Some(ClientTls {
        server_name: tls.server_name,
        roots_file: Some(tls.roots_file),
        pins: tls.pins,
        client_certificate_file: Some(tls.certificate_file),
        client_key: Some(SecretSource::File(tls.key_file)),
    }))
}

/// TLS of a sending link: a client without a certificate is rejected.
pub(super) fn send<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ServerTls>, D::Error> {
    let tls = ServerTls::deserialize(from)?;
    match tls.client_roots_file {
        Some(_) => Ok(Some(tls)),
        None => Err(D::Error::missing_field("client_roots_file")),
    }
}
