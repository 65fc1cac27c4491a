//! TLS client settings: trusted issuers, server name, client certificate.

use super::setup::{Settings, SetupError};
use super::verify::Verifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Error, RootCertStore};
use std::fmt;
use std::sync::Arc;

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
    /// A setting is invalid. The text leaves out keys.
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

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({:?})", self.name)
    }
}
