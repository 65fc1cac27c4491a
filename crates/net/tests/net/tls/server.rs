//! Servers and certificates for the tests of TLS.

pub use touchline_testing::issuer::{Issued, Issuer};

use rcgen::{KeyPair, PublicKeyData};
use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use touchline_net::tls::Pin;

/// Pin of its key, computed from the key; the client computes it from the certificate.
pub fn pin_of(issued: &Issued) -> Pin {
    let key = KeyPair::from_pem(&issued.key_pem).expect("our own key");
    let hash = digest(&SHA256, &key.subject_public_key_info());
    Pin(hash.as_ref().try_into().expect("32 bytes"))
}

/// A server on a port of this host, running during the test.
pub struct Server {
    pub address: SocketAddrV4,
    name: Arc<Mutex<Option<String>>>,
}

impl Server {
    pub fn with(certificate: Issued) -> Server {
        Server::start(certificate, None, false)
    }

    /// An echo server. It requests certificates of `clients`.
    pub fn start(certificate: Issued, clients: Option<&Issuer>, tls12_only: bool) -> Server {
        let config = Arc::new(config(&certificate, clients, tls12_only));
        let name = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&name);
        let address = listen(move |socket| {
            let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
            let mut stream = StreamOwned::new(session, socket);
            echo(&mut stream, &seen);
        });
        Server { address, name }
    }

    /// A server that reads the client's first bytes, sends this answer, and closes.
    pub fn that_says(answer: Vec<u8>) -> Server {
        let address = listen(move |mut socket| {
            let _ = socket.read(&mut [0; 4_096]);
            let _ = socket.write_all(&answer);
        });
        Server {
            address,
            name: Arc::default(),
        }
    }

    pub fn name_asked_for(&self) -> Option<String> {
        self.name.lock().expect("no thread died with it").clone()
    }
}

fn listen(serve: impl Fn(TcpStream) + Send + 'static) -> SocketAddrV4 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let Ok(SocketAddr::V4(address)) = listener.local_addr() else {
        panic!("no address");
    };
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    address
}

fn config(certificate: &Issued, clients: Option<&Issuer>, tls12_only: bool) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = match tls12_only {
        true => &[&rustls::version::TLS12][..],
        false => rustls::ALL_VERSIONS,
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("versions of the library");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(issuer) => {
            let mut roots = RootCertStore::empty();
            let root = CertificateDer::from_pem_slice(issuer.pem().as_bytes());
            roots.add(root.expect("PEM")).expect("an issuer");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("roots"))
        }
    };
    let chain = CertificateDer::from_pem_slice(certificate.certificate_pem.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.as_bytes());
    builder
        .with_single_cert(vec![chain.expect("PEM")], key.expect("PEM"))
        .expect("they belong together")
}

/// Echoes input, except for commands that request a certain end.
fn echo(stream: &mut StreamOwned<ServerConnection, TcpStream>, name: &Mutex<Option<String>>) {
    let mut room = [0; 4_096];
    loop {
        let read = match stream.read(&mut room) {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        *name.lock().expect("nobody died with it") = stream.conn.server_name().map(str::to_owned);
        match &room[..read] {
            b"close" => {
                stream.conn.send_close_notify();
                let _ = stream.conn.write_tls(&mut stream.sock);
                return;
            }
            b"cut" => return,
            b"forge" => {
                // A record of application data with an invalid authentication code.
                let mut forged = vec![23, 3, 3, 0, 64];
                forged.extend([0x5a; 64]);
                let _ = stream.sock.write_all(&forged);
                let _ = stream.sock.read(&mut room);
                return;
            }
            bytes => {
                if stream
                    .write_all(bytes)
                    .and_then(|()| stream.flush())
                    .is_err()
                {
                    return;
                }
            }
        }
    }
}

/// ServerHello of TLS 1.1 (3, 2) with TLS_RSA_WITH_AES_128_CBC_SHA (RFC 4346).
pub fn hello_of_tls_1_1() -> Vec<u8> {
    let mut hello = vec![3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0x00, 0x2f, 0]);
    let mut record = vec![
        22,
        3,
        2,
        0,
        hello.len() as u8 + 4,
        2,
        0,
        0,
        hello.len() as u8,
    ];
    record.extend(hello);
    record
}

/// A fatal alert of this number.
pub fn alert(number: u8) -> Vec<u8> {
    vec![21, 3, 1, 0, 2, 2, number]
}
