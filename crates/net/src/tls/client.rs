//! TLS client settings: trusted issuers, server name, client certificate.

use super::verify::Verifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Error, RootCertStore};
use std::fmt;
use std::sync::Arc;

/// Settings, with certificates and keys in PEM.
#[derive(Clone, Copy, Default)]
pub struct Settings<'a> {
    /// Name or address of the host: sent as SNI, and required in the certificate.
    pub server_name: &'a str,
    /// Trusted issuers; Mozilla's if `None`.
    pub roots: Option<&'a [u8]>,
    /// Public keys of which the server must have one; empty: no further condition.
    pub pins: &'a [Pin],
    /// Client certificate, if the server requests one.
    pub identity: Option<Identity<'a>>,
}

/// A client certificate.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    /// The client's certificate first, then the chain to its issuer.
    pub certificates: &'a [u8],
    /// The private key of the first one.
    pub key: &'a [u8],
}

/// SHA-256 of a certificate's public key (SubjectPublicKeyInfo).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pin(pub [u8; 32]);

/// Invalid settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// Invalid name.
    #[error("not a host name and not an address")]
    NoName,
    /// Invalid roots.
    #[error(
        "there is no certificate of an issuer in it; it must have PEM blocks `BEGIN CERTIFICATE`"
    )]
    NoRoots,
    /// Invalid certificate.
    #[error(
        "there is no certificate in it; it must have PEM blocks `BEGIN CERTIFICATE`, ours first"
    )]
    NoCertificate,
    /// Invalid key.
    #[error("there is no private key in it; it must have one PEM block `BEGIN PRIVATE KEY`")]
    NoKey,
    /// Client certificate and key do not match.
    #[error("the client certificate and its key do not belong together")]
    NotOurs,
    /// Certificate and key of a server do not match.
    #[error("the certificate and its key do not belong together")]
    NotOfServer,
    /// Invalid pin.
    #[error("a pin has 64 hexadecimal digits: SHA-256 of the certificate's SubjectPublicKeyInfo")]
    BadPin,
}

/// TLS client for one host, for any number of connections.
#[derive(Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Client {
    /// Reads and checks the settings.
    ///
    /// # Errors
    /// A setting is invalid. The text contains nothing of a key.
    pub fn new(settings: &Settings<'_>) -> Result<Client, SetupError> {
        let name = ServerName::try_from(settings.server_name.to_owned());
        let name = name.map_err(|_| SetupError::NoName)?;
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier {
            library: library_verifier(settings.roots, &provider)?,
            pins: settings.pins.to_vec(),
        };
        // The builder calls any custom verifier dangerous; ours calls the library's first.
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| SetupError::NoRoots)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match settings.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(
                    certificates(identity.certificates, SetupError::NoCertificate)?,
                    PrivateKeyDer::from_pem_slice(identity.key).map_err(|_| SetupError::NoKey)?,
                )
                .map_err(|_| SetupError::NotOurs)?,
        };
        config.resumption = Resumption::disabled();
        Ok(Client {
            config: Arc::new(config),
            name,
        })
    }

    pub(super) fn session(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

fn library_verifier(
    roots: Option<&[u8]>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, SetupError> {
    let mut store = RootCertStore::empty();
    match roots {
        None => store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(pem) => {
            for root in certificates(pem, SetupError::NoRoots)? {
                store.add(root).map_err(|_| SetupError::NoRoots)?;
            }
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|_| SetupError::NoRoots)
}

pub(super) fn certificates(
    pem: &[u8],
    none: SetupError,
) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or(none)
}

impl Pin {
    /// Reads 64 hexadecimal digits, with or without colons between bytes.
    ///
    /// # Errors
    /// Wrong characters or length.
    pub fn read(text: &str) -> Result<Pin, SetupError> {
        let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b':').collect();
        if digits.len() != 64 {
            return Err(SetupError::BadPin);
        }
        let mut pin = [0; 32];
        for (byte, pair) in pin.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(SetupError::BadPin);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Ok(Pin(pin))
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({self})")
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({:?})", self.name)
    }
}
