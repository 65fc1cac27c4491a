//! TLS server that stores what it receives, with a certificate made for the test.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::sync::{Arc, Mutex};
use touchline_testing::issuer::Issuer;

/// A server, running until the end of the test.
pub struct Server {
    pub address: SocketAddrV4,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    /// A server with a certificate for `host`.
    pub fn start(issuer: &Issuer, host: &str) -> Server {
        let issued = issuer.issue(host);
        let certificate = CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes());
        let certificate = certificate.expect("a certificate");
        let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).expect("a key");
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key);
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
