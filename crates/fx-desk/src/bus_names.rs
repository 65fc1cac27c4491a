//! Names of the buses of an engine.

/// Bus of a client's commands.
pub fn ring_name(engine: &str, client: &str) -> String {
    format!("{engine}-{client}")
}

/// Bus of the standby of an engine: its lock makes it the only one, and its answers are on it.
pub fn standby_bus(engine: &str) -> String {
    format!("{engine}-standby")
}
