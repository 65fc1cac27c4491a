//! FIX sessions against testers who follow a scenario, without sockets and with a clock of their own.

mod applications;
mod bodies;
mod public;
mod rules;
mod tester;
