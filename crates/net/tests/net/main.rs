//! Captures, sockets, streams and TLS from outside, in one program.

mod frame;
mod pcap;
mod stream;
mod tls;
mod udp;
