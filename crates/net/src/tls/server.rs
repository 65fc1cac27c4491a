//! TLS server settings: its certificate, and trusted issuers of client certificates, if clients need one.

use super::SetupError;
use super::client::certificates;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{Error, RootCertStore, ServerConfig, ServerConnection};
use std::fmt;
use std::sync::Arc;

/// Settings, with certificates and keys in PEM.
#[derive(Clone, Copy)]
pub struct ServerSettings<'a> {
    /// The server's certificate first, then the chain to its issuer.
    pub certificates: &'a [u8],
    /// The private key of the first one.
    pub key: &'a [u8],
    /// Trusted issuers of clients: a client without a certificate from one of them is refused. `None`: no client is asked for a
    /// certificate.
    pub client_roots: Option<&'a [u8]>,
}

/// TLS server, for any number of connections.
#[derive(Clone)]
pub struct Server {
    config: Arc<ServerConfig>,
}

impl Server {
    /// Reads and checks the settings.
    ///
    /// # Errors
    /// A setting is invalid. The text leaves out keys.
    pub fn new(settings: &ServerSettings<'_>) -> Result<Server, SetupError> {
        let provider = Arc::new(ring::default_provider());
        let chain = certificates(settings.certificates, SetupError::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(settings.key).map_err(|_| SetupError::NoKey)?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|_| SetupError::NoRoots)?;
        let builder = match settings.client_roots {
            None => builder.with_no_client_auth(),
            Some(pem) => builder.with_client_cert_verifier(client_verifier(pem, provider)?),
        };
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|_| SetupError::NotOfServer)?;
        // No resumption: each connection is verified.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Server {
            config: Arc::new(config),
        })
    }

    pub(super) fn session(&self) -> Result<ServerConnection, Error> {
        ServerConnection::new(Arc::clone(&self.config))
    }
}

fn client_verifier(
    pem: &[u8],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, SetupError> {
    let mut roots = RootCertStore::empty();
    for root in certificates(pem, SetupError::NoRoots)? {
        roots.add(root).map_err(|_| SetupError::NoRoots)?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|_| SetupError::NoRoots)
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}
