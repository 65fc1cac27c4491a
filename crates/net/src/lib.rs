//! Packet sources: captures and sockets, with receive stamps.
