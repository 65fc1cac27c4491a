//! Destinations of each feed and line, and configuration files for a gateway.

use super::arguments::Arguments;
use crate::output::Failure;
use std::fmt::Write as _;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use touchline_feed::cme as feed;
use touchline_gateway::venues::cme::{ChannelConfig, Protocol};
use touchline_lab::capture::{Feed, Line};
use touchline_lab::claim::{Claim, Refused};
use touchline_lab::cme::config;

/// Longest `config.xml` that is copied.
const CONFIG_XML_BYTES_MAX: u64 = 16 << 20;

/// The addresses of a channel.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The channel's number.
    pub channel: u32,
    /// Destination of a feed on a line; `None` if the channel does not have it.
    table: [[Option<SocketAddrV4>; Feed::ALL.len()]; 2],
    /// The parsed config.xml; `None` for the built-in channel.
    config: Option<ChannelConfig>,
}

impl Addresses {
    /// The channel of `--config-xml`, or the built-in one.
    pub fn of(arguments: &Arguments) -> Result<Addresses, Failure> {
        let (Some(file), Some(channel)) = (&arguments.config_xml, arguments.channel) else {
            return Ok(Addresses {
                channel: config::CHANNEL.into(),
                table: Line::BOTH.map(|line| {
                    Feed::ALL.map(|feed| Some(config::group_of(arguments.groups, feed, line)))
                }),
                config: None,
            });
        };
        let config =
            ChannelConfig::read(file, channel).map_err(|error| Failure::configuration(&error))?;
        let mut table = [[None; Feed::ALL.len()]; 2];
        for connection in &config.connections {
            let (Some(feed), Some(group), Protocol::Udp) =
                (connection.feed, connection.group, &connection.protocol)
            else {
                continue;
            };
            if let Some((feed, line)) = route(feed, connection.line) {
                let address = SocketAddrV4::new(group, connection.port);
                table[line as usize][feed as usize] = Some(address);
            }
        }
        Ok(Addresses {
            channel,
            table,
            config: Some(config),
        })
    }

    /// Claims every address of the channel; the error names the simulator that has one, and the
    /// fix.
    pub fn claim(&self, arguments: &Arguments) -> Result<Claim, Failure> {
        let mut claim = Claim::default();
        // Captures without a channel keep their destinations: each group is claimed at its first packet.
        if !arguments.play.is_empty() && self.config.is_none() {
            return Ok(claim);
        }
        let addresses = self.table.iter().flatten().flatten().copied();
        claim.add(addresses).map_err(|error| {
            let fix = match (&self.config, free_set()) {
                (None, Some(set)) => {
                    format!("give --groups {set} to have groups of its own, or stop that one")
                }
                (None, None) => "stop that one".to_owned(),
                (Some(_), _) => "give another channel, or stop that one".to_owned(),
            };
            refused(&error, &fix)
        })?;
        Ok(claim)
    }

    /// Destination of a feed on a line.
    pub fn get(&self, line: Line, feed: Feed) -> Option<SocketAddrV4> {
        self.table[line as usize][feed as usize]
    }

    /// Feed and line of an address.
    pub fn route(&self, address: SocketAddrV4) -> Option<(Line, Feed)> {
        let lanes = Line::BOTH
            .into_iter()
            .flat_map(|line| Feed::ALL.map(|feed| (line, feed)));
        lanes
            .into_iter()
            .find(|&(line, feed)| self.get(line, feed) == Some(address))
    }

    /// The groups as text.
    pub fn describe(&self) -> String {
        let all = self.table.iter().flatten().flatten();
        let count = all.clone().count();
        match all.clone().next() {
            None => "no address".to_owned(),
            Some(first) if count == 1 => first.to_string(),
            Some(first) => format!("{first} and {} more", count - 1),
        }
    }

    /// Writes `config.xml` and `gateway.toml` for a gateway of this simulator, and the password of TCP replay if it is
    /// served.
    pub fn write(
        &self,
        arguments: &Arguments,
        folder: &Path,
        host: Option<Ipv4Addr>,
        replay: Option<SocketAddrV4>,
    ) -> Result<(), Failure> {
        let xml = match &arguments.config_xml {
            None => config::config_xml_of(arguments.groups, host, replay),
            Some(file) => {
                let text = touchline_net::input::read_text(file, CONFIG_XML_BYTES_MAX);
                text.map_err(|error| unwritable(file, &error))?
            }
        };
        let mut toml = self.gateway_toml(&arguments.interface, host);
        if let Some(address) = replay {
            let _ = write!(
                toml,
                "\n[venue.replay]\nuser = \"sim\"\npassword_file = \"{PASSWORD_FILE}\"\nhosts = [\"{address}\"]\n\
                 requests_per_day_max = 100000\n"
            );
        }
        std::fs::create_dir_all(folder)
            .and_then(|()| match replay {
                Some(_) => write_password(&folder.join(PASSWORD_FILE)),
                None => Ok(()),
            })
            .and_then(|()| std::fs::write(folder.join("config.xml"), xml))
            .and_then(|()| std::fs::write(folder.join("gateway.toml"), toml))
            .map_err(|error| unwritable(folder, &error))
    }

    fn gateway_toml(&self, interface: &str, host: Option<Ipv4Addr>) -> String {
        let channel = self.channel;
        let mut toml = format!(
            "bus = \"cme-{channel}\"\n\n[venue]\nkind = \"cme\"\nchannel = {channel}\n\
             config_xml = \"config.xml\"\ninterface = \"{interface}\"\n"
        );
        let Some(config) = &self.config else {
            // The generator has at most a thousand instruments.
            toml += "\n[limits]\ninstruments_max = 2048\n";
            return toml;
        };
        let is_ours =
            |hosts: &[Ipv4Addr]| hosts.is_empty() || host.is_some_and(|host| hosts.contains(&host));
        let connections = config.connections.iter();
        if !connections
            .map(|connection| &connection.hosts)
            .all(|hosts| is_ours(hosts))
        {
            toml += "\n[network]\n# The file has the venue's hosts, and these packets come from here.\n";
            toml += "sources = \"any\"\n";
        }
        toml
    }
}

/// Failure: an address is in use, which is a wrong argument.
pub fn refused(error: &Refused, fix: &str) -> Failure {
    match error {
        Refused::Taken { .. } => Failure::usage(format!("{error}; {fix}")),
        Refused::System(_) => Failure::run(error),
    }
}

/// The first unused set of groups after the default one.
fn free_set() -> Option<u16> {
    let is_free = |set: &u16| {
        let lanes = Line::BOTH.into_iter();
        let mut groups = lanes.flat_map(|line| Feed::ALL.map(|feed| (line, feed)));
        groups.all(|(line, feed)| {
            Claim::default()
                .add([config::group_of(*set, feed, line)])
                .is_ok()
        })
    };
    (1..config::GROUP_SETS).find(is_free)
}

const PASSWORD_FILE: &str = "password";

/// The simulator accepts any password; a gateway accepts only a file with mode 0600.
fn write_password(path: &Path) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(b"sim\n")
}

/// Converts the gateway's feed and line to the simulator's; TCP replay has no group.
fn route(feed: feed::FeedType, line: feed::Line) -> Option<(Feed, Line)> {
    let feed = match feed {
        feed::FeedType::Incremental => Feed::Incremental,
        feed::FeedType::Definition => Feed::Definitions,
        feed::FeedType::Snapshot => Feed::Snapshot,
        feed::FeedType::SnapshotOrders => Feed::OrderSnapshot,
        feed::FeedType::Replay => return None,
    };
    let line = match line {
        feed::Line::A => Line::A,
        feed::Line::B => Line::B,
    };
    Some((feed, line))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::run(format!(
        "{}: {error}; give a folder that you may write, with free space",
        path.display()
    ))
}
