//! The lab from outside, in one program: simulated exchanges and counterparties, the reference, and processes on a ring.

mod bank;
mod deribit;
mod desk;
mod fix;
mod generated_decoders;
mod pinned_sessions;
mod reference_cme;
mod ring_processes;
mod session_contents;
mod shared_captures;
