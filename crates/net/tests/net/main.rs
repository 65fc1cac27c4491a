//! Tests of captures, sockets, streams and TLS.

mod frame;
mod pcap;
mod stream;
mod tls;
mod udp;
