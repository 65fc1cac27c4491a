//! Configuration of one venue connection.
