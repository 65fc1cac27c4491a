//! The channel that captures are of, as arguments.

use crate::output::Failure;
use std::path::PathBuf;
use touchline_gateway::venues::VENUES;
use touchline_gateway::venues::cme::{CmeConfig, check_config};

/// The channel of captures.
#[derive(Debug, clap::Args)]
pub struct OfChannel {
    /// Configuration file (TOML); `touchline help settings` lists its settings.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub config: Option<PathBuf>,
    /// CME's config.xml, instead of --config; every setting has its default value.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub config_xml: Option<PathBuf>,
    /// The channel in --config-xml.
    #[arg(long, value_name = "N", help_heading = "Input")]
    pub channel: Option<u32>,
}

impl OfChannel {
    /// The configuration: the file, or the defaults for the channel.
    pub fn read(&self) -> Result<CmeConfig, Failure> {
        match (&self.config, &self.config_xml, self.channel) {
            (Some(file), None, None) => {
                check_config(file, None).map_err(Failure::usage)?;
                VENUES.read_as(file).map_err(Failure::file)
            }
            (None, Some(config_xml), Some(channel)) => {
                check_config(config_xml, Some(channel)).map_err(Failure::usage)?;
                Ok(CmeConfig::of_cme_channel(config_xml, channel))
            }
            (Some(_), _, _) => Err(Failure::usage(
                "--config names the channel already; leave out --config-xml and --channel",
            )),
            (None, Some(_), None) => Err(Failure::usage(
                "--config-xml has many channels; choose one with --channel N",
            )),
            (None, None, _) => Err(Failure::usage(
                "no channel is given; give --config FILE, or --config-xml FILE --channel N",
            )),
        }
    }
}
