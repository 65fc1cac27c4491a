//! FIX sessions in scenarios, without sockets and with a test clock.

mod applications;
mod bodies;
mod logons;
mod numbers_only;
mod public;
mod resends;
mod rules;
mod tester;
mod too_long;
