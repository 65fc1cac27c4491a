//! TLS server that stores what it receives, with a certificate made for the test.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::sync::{Arc, Mutex};

/// Issuer of server certificates.
pub struct Issuer {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pem: String,
}

impl Issuer {
    pub fn new() -> Issuer {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "an issuer");
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an issuer");
        Issuer {
            pem: issuer.pem(),
            issuer,
        }
    }

    pub fn pem(&self) -> &str {
        &self.pem
    }
}

/// A server, running until the end of the test.
pub struct Server {
    pub address: SocketAddrV4,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    /// A server with a certificate for `host`.
    pub fn start(issuer: &Issuer, host: &str) -> Server {
        let params = CertificateParams::new([host.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &issuer.issuer).expect("issued");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        let config = Arc::new(config.expect("a right certificate"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let Ok(SocketAddr::V4(address)) = listener.local_addr() else {
            panic!("bound to IPv4");
        };
        let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
        let hears = Arc::clone(&heard);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
                let mut stream = StreamOwned::new(session, socket);
                let mut room = [0; 4_096];
                // A client that does not accept the certificate disconnects.
                while let Ok(bytes @ 1..) = stream.read(&mut room) {
                    hears.lock().expect("no panic").extend(&room[..bytes]);
                }
            }
        });
        Server { address, heard }
    }

    pub fn heard(&self) -> Vec<u8> {
        self.heard.lock().expect("no panic").clone()
    }
}
