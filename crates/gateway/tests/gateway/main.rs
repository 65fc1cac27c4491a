//! Tests of the gateway's public interface, in one program.

mod client_link;
mod crowded;
mod fix_path;
mod fx_bank_path;
mod recovery;
mod rules;
mod toy_venue;
