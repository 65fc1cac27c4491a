//! Addresses of the counterparties of a simulated venue.

use crate::output::Failure;
use std::net::SocketAddrV4;
use touchline_session::access_control::{Addresses, Block, Misspelt};

#[derive(Debug, clap::Args)]
pub struct AccessControl {
    /// Accept Logons from this address or block of addresses only; repeatable. Without it from every address, if --listen
    /// is on loopback; else it is required (0.0.0.0/0 is every address).
    #[arg(long, value_name = "ADDRESS[/BITS]", value_parser = block)]
    from: Vec<Block>,
}

impl AccessControl {
    /// The addresses that may connect.
    pub fn addresses(&self, listen: SocketAddrV4) -> Result<Addresses, Failure> {
        if self.from.is_empty() && !listen.ip().is_loopback() {
            return Err(Failure::usage(format!(
                "--listen {listen} can be reached from other hosts; say with --from ADDRESS[/BITS] who may come, \
                 or --from 0.0.0.0/0 for everybody"
            )));
        }
        Ok(Addresses::of(self.from.clone()))
    }
}

fn block(text: &str) -> Result<Block, String> {
    text.parse()
        .map_err(|misspelt: Misspelt| misspelt.to_string())
}
