//! How packets that both lines lost are asked for over TCP: whom, as whom, how often.

use super::{ConfigError, within};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize, Serializer};
use std::env::VarError;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::net::SocketAddrV4;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use touchline_feed::cme::Feed;
use touchline_feed::cme::replay::Credentials;

use super::cme::{ChannelConfig, Protocol};

/// TCP replay, the first thing that is tried after a loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// Whether it is used.
    #[serde(default = "default_enabled")]
    pub enabled: bool,
    /// Who we are to the venue, 1 to 64 visible ASCII characters.
    pub user: String,
    /// A file with the password, which nobody else may read; the environment's
    /// `TOUCHLINE_REPLAY_PASSWORD` if absent. In the configuration, a relative path starts at the folder of
    /// the configuration; here it can be used as it stands.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "lossy"
    )]
    pub password_file: Option<PathBuf>,
    /// Addresses and ports that are asked, in turn; those of `config.xml` if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<SocketAddrV4>,
    /// Connections that are tried for one hole, 1..=16.
    #[serde(
        default = "default_attempts_max",
        deserialize_with = "within::<_, _, 1, 16>"
    )]
    pub attempts_max: u32,
    /// How long a hole waits for all of them, milliseconds, 1..=60,000; it is lost then.
    #[serde(
        default = "default_wait_ms",
        deserialize_with = "within::<_, _, 1, 60_000>"
    )]
    pub wait_ms: u64,
    /// Packets that are asked for at once, 1..=2,000; a longer hole is lost at once.
    #[serde(
        default = "default_packets_max",
        deserialize_with = "within::<_, _, 1, 2_000>"
    )]
    pub packets_max: u32,
    /// Connections of one day, 1..=100,000; after that the day goes on without.
    #[serde(
        default = "default_requests_per_day_max",
        deserialize_with = "within::<_, _, 1, 100_000>"
    )]
    pub requests_per_day_max: u32,
}

/// Where the password is where no file is named.
pub const PASSWORD_VARIABLE: &str = "TOUCHLINE_REPLAY_PASSWORD";

/// A longer file is no password.
const PASSWORD_FILE_BYTES_MAX: u64 = 1_024;

impl Replay {
    /// Who is asked, in turn.
    ///
    /// # Errors
    /// Neither the configuration nor the channel names anybody.
    pub fn hosts_of(
        &self,
        config_xml: &Path,
        channel: &ChannelConfig,
    ) -> Result<Vec<SocketAddrV4>, ConfigError> {
        let published = channel
            .connections
            .iter()
            .filter(|each| each.feed == Some(Feed::Replay) && each.protocol == Protocol::Tcp)
            .flat_map(|each| {
                each.hosts
                    .iter()
                    .map(|host| SocketAddrV4::new(*host, each.port))
            });
        let mut hosts = Vec::new();
        // CME's file has the same host more than once.
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
                fix: "name `hosts` in [venue.replay], or leave the table out".to_owned(),
            }),
        }
    }

    /// Who we are, with the password from its file or the environment.
    ///
    /// # Errors
    /// There is none, the file is open to others or not ours, or it cannot be sent. No text has the
    /// password.
    pub fn credentials(&self) -> Result<Credentials, ConfigError> {
        self.credentials_with(std::env::var(PASSWORD_VARIABLE))
    }

    fn credentials_with(
        &self,
        variable: Result<String, VarError>,
    ) -> Result<Credentials, ConfigError> {
        let source = self
            .password_file
            .clone()
            .unwrap_or_else(|| PASSWORD_VARIABLE.into());
        let refuse = |what: String, fix: &str| ConfigError {
            file: source.clone(),
            line: None,
            what,
            fix: fix.to_owned(),
        };
        let password = match &self.password_file {
            Some(file) => read_secret(file)
                .map_err(|what| refuse(what, "put the password alone into a file of mode 0600"))?,
            None => variable.map_err(|_| {
                refuse(
                    "this variable of the environment is not set, and [venue.replay] names no file"
                        .to_owned(),
                    "name a `password_file` in [venue.replay], or set `enabled = false` there",
                )
            })?,
        };
        Credentials::new(&self.user, &password)
            .map_err(|what| refuse(what.to_owned(), "see [venue.replay] in docs/operations.md"))
    }
}

/// The first line of a file that is ours and nobody else can read.
fn read_secret(path: &Path) -> Result<String, String> {
    let cannot = |error: io::Error| format!("cannot read it: {error}");
    // A pipe in its place must not stop the start.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(cannot)?;
    check_secret(&file)?;
    let mut text = String::new();
    file.take(PASSWORD_FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(cannot)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Holds the open file, not its name, to the rules.
fn check_secret(file: &File) -> Result<(), String> {
    let about = file
        .metadata()
        .map_err(|error| format!("cannot look at it: {error}"))?;
    let me = rustix::process::geteuid().as_raw();
    if !about.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if about.uid() != me && about.uid() != 0 {
        return Err(format!("it belongs to user {}, not to us", about.uid()));
    }
    match about.mode() & 0o777 {
        mode if mode & 0o077 == 0 => Ok(()),
        mode => Err(format!("others may read it: its mode is {mode:04o}")),
    }
}

fn default_enabled() -> bool {
    true
}

fn default_attempts_max() -> u32 {
    3
}

fn default_wait_ms() -> u64 {
    1_000
}

fn default_packets_max() -> u32 {
    2_000
}

fn default_requests_per_day_max() -> u32 {
    1_000
}

fn lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    let path = path.as_deref().unwrap_or(Path::new(""));
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const PASSWORD: &str = "sentinel-5f4dcc3b";

    fn replay(password_file: Option<PathBuf>) -> Replay {
        Replay {
            password_file,
            ..toml::from_str("user = \"touchline\"").expect("the least that works")
        }
    }

    #[test]
    fn a_password_comes_from_a_file_of_ours_alone() {
        let folder = std::env::temp_dir().join(format!("touchline-secret-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let file = folder.join("password");
        let with = |content: &str, mode| {
            std::fs::write(&file, content).expect("a temporary file");
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, mode).expect("our own file");
            replay(Some(file.clone())).credentials_with(Err(VarError::NotPresent))
        };
        let expected = Credentials::new("touchline", PASSWORD).expect("it can be sent");
        assert_eq!(with(&format!("{PASSWORD}\n"), 0o600), Ok(expected.clone()));
        assert_eq!(with(PASSWORD, 0o400), Ok(expected));
        for (content, mode, word) in [
            (PASSWORD, 0o640, "0640"),
            (PASSWORD, 0o604, "0604"),
            ("", 0o600, "1 to 64"),
            (&format!("{PASSWORD} {PASSWORD}"), 0o600, "1 to 64"),
            (&PASSWORD.repeat(5), 0o600, "1 to 64"),
        ] {
            let error = with(content, mode).expect_err(word).to_string();
            assert!(error.contains(word) && !error.contains(PASSWORD), "{error}");
            assert!(error.starts_with(&file.display().to_string()), "{error}");
        }
        let missing = replay(Some(folder.join("none"))).credentials();
        assert!(missing.expect_err("no file").what.contains("cannot read"));
        let folder_itself = replay(Some(folder.clone())).credentials();
        assert!(
            folder_itself
                .expect_err("a folder")
                .what
                .contains("regular")
        );
        std::fs::remove_dir_all(&folder).expect("our own folder");
    }

    #[test]
    fn the_environment_has_it_where_no_file_is_named() {
        let given = replay(None).credentials_with(Ok(PASSWORD.to_owned()));
        assert_eq!(
            given,
            Credentials::new("touchline", PASSWORD).map_err(|_| unreachable!())
        );
        let none = replay(None).credentials_with(Err(VarError::NotPresent));
        let error = none.expect_err("no password at all").to_string();
        assert!(
            error.contains(PASSWORD_VARIABLE) && error.contains("password_file"),
            "{error}"
        );
    }
}
