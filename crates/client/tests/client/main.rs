//! Buses of their own, published by hand, and what a client makes of them.

mod joining;
mod stage;
