//! Addresses of the counterparties of a simulated venue.

use crate::output::Failure;
use std::net::SocketAddrV4;
use touchline_session::access_control::{Addresses, Block, Misspelt};

#[derive(Debug, clap::Args)]
pub struct AccessControl {
    /// Accept connections from this address or block of addresses only; repeat it for several. Required unless --listen
    /// is a loopback address; 0.0.0.0/0 is every address.
    #[arg(long, value_name = "ADDRESS[/BITS]", value_parser = block)]
    from: Vec<Block>,
}

impl AccessControl {
    /// The addresses that may connect.
    pub fn addresses(&self, listen: SocketAddrV4) -> Result<Addresses, Failure> {
        if self.from.is_empty() && !listen.ip().is_loopback() {
            return Err(Failure::usage(format!(
                "--listen {listen} can be reached from other hosts; name the allowed addresses with --from ADDRESS[/BITS], \
                 or --from 0.0.0.0/0 for every address"
            )));
        }
        Ok(Addresses::of(self.from.clone()))
    }
}

fn block(text: &str) -> Result<Block, String> {
    text.parse()
        .map_err(|misspelt: Misspelt| misspelt.to_string())
}
