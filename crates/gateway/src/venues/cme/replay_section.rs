//! Settings of TCP replay: hosts, credentials, limits.

use super::{ChannelConfig, Protocol};
use crate::config::{ConfigError, SecretSource, number, within};
use serde::{Deserialize, Serialize, Serializer};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use touchline_feed::cme::FeedType;
use touchline_feed::cme::replay::Credentials;

/// TCP replay, the first step of recovery after a loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// Whether TCP replay is enabled.
    #[serde(default = "default_enabled")]
    pub enabled: bool,
    /// User name at the venue, 1 to 64 visible ASCII characters.
    pub user: String,
    /// File with the password, which no other user may read; the environment variable `TOUCHLINE_REPLAY_PASSWORD` if
    /// absent. In the configuration, a relative path starts at the folder of the configuration; here it is resolved.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "lossy"
    )]
    pub password_file: Option<PathBuf>,
    /// Hosts, tried in turn; those of `config.xml` if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<SocketAddrV4>,
    /// Connections per gap, 1..=16.
    #[serde(default = "number::<_, 3>", deserialize_with = "within::<_, _, 1, 16>")]
    pub attempts_max: u32,
    /// Maximum wait of a gap for all of them, milliseconds, 1..=60,000; then it is lost.
    #[serde(
        default = "number::<_, 1_000>",
        deserialize_with = "within::<_, _, 1, 60_000>"
    )]
    pub wait_ms: u64,
    /// Maximum packets per request, 1..=2,000; a longer gap is lost at once.
    #[serde(
        default = "number::<_, 2_000>",
        deserialize_with = "within::<_, _, 1, 2_000>"
    )]
    pub packets_max: u32,
    /// Connections per day, 1..=100,000; after that there is no replay until the next day.
    #[serde(
        default = "number::<_, 1_000>",
        deserialize_with = "within::<_, _, 1, 100_000>"
    )]
    pub requests_per_day_max: u32,
}

/// Environment variable of the password if no file is named.
pub const PASSWORD_VARIABLE: &str = "TOUCHLINE_REPLAY_PASSWORD";

impl Replay {
    /// Hosts, tried in turn.
    ///
    /// # Errors
    /// Neither the configuration nor the channel names a host.
    pub fn hosts_of(
        &self,
        config_xml: &Path,
        channel: &ChannelConfig,
    ) -> Result<Vec<SocketAddrV4>, ConfigError> {
        let published = channel
            .connections
            .iter()
            .filter(|each| each.feed == Some(FeedType::Replay) && each.protocol == Protocol::Tcp)
            .flat_map(|each| {
                each.hosts
                    .iter()
                    .map(|host| SocketAddrV4::new(*host, each.port))
            });
        let mut hosts = Vec::new();
        // CME's file lists the same host more than once.
        for host in self
            .hosts
            .iter()
            .copied()
            .chain(published.filter(|_| self.hosts.is_empty()))
        {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        match hosts.is_empty() {
            false => Ok(hosts),
            true => Err(ConfigError {
                file: config_xml.to_owned(),
                line: None,
                what: format!(
                    "channel {} has no host for TCP replay (feed-type H over TCP/IP)",
                    channel.id
                ),
                fix: "set `hosts` in [venue.replay], or remove the table".to_owned(),
            }),
        }
    }

    /// Credentials, with the password from its file or the environment.
    ///
    /// # Errors
    /// The password is missing, its file is accessible to others or of another user, or it cannot
    /// be sent. Errors never contain the password.
    pub fn credentials(&self) -> Result<Credentials, ConfigError> {
        let source = match &self.password_file {
            Some(file) => SecretSource::File(file.clone()),
            None => SecretSource::Env(PASSWORD_VARIABLE.to_owned()),
        };
        let password = source.read().map_err(|error| match source {
            SecretSource::File(_) => error,
            SecretSource::Env(_) => ConfigError {
                fix: "set `password_file` in [venue.replay], set the variable, or set \
                      `enabled = false` there"
                    .to_owned(),
                ..error
            },
        })?;
        Credentials::new(&self.user, password).map_err(|what| ConfigError {
            file: source.to_string().into(),
            line: None,
            what: what.to_owned(),
            fix: "see [venue.replay] in docs/configuration.md".to_owned(),
        })
    }
}

fn default_enabled() -> bool {
    true
}

fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    let path = path.as_deref().unwrap_or(Path::new(""));
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use touchline_testing::Folder;

    const PASSWORD: &str = "sentinel-5f4dcc3b";

    fn replay(password_file: Option<PathBuf>) -> Replay {
        Replay {
            password_file,
            ..toml::from_str("user = \"touchline\"").expect("the least that works")
        }
    }

    #[test]
    fn a_password_that_cannot_be_sent_is_refused() {
        let folder = Folder::new("password");
        let file = folder.join("password");
        let with = |content: &str| {
            std::fs::write(&file, content).expect("a temporary file");
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&file, mode).expect("our own file");
            replay(Some(file.clone())).credentials()
        };
        let expected = Credentials::new("touchline", PASSWORD).expect("it can be sent");
        assert_eq!(with(&format!("{PASSWORD}\n")), Ok(expected));
        for content in [format!("{PASSWORD} {PASSWORD}"), PASSWORD.repeat(5)] {
            let error = with(&content).expect_err("not to be sent").to_string();
            assert!(
                error.contains("1 to 64") && !error.contains(PASSWORD),
                "{error}"
            );
            assert!(error.contains(&file.display().to_string()), "{error}");
        }
    }

    #[test]
    fn without_a_file_the_environment_variable_is_used() {
        let error = replay(None)
            .credentials()
            .expect_err("it is not set")
            .to_string();
        assert!(
            error.contains(PASSWORD_VARIABLE) && error.contains("password_file"),
            "{error}"
        );
    }
}
