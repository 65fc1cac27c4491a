//! Codecs: bytes to borrowed views, one module per protocol.
