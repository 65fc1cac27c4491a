//! `[[sessions]]`: the bus of a bank's quotes, and its order session.

use super::error::ConfigError;
use super::schedule::{Reset, ScheduleConfig};
use serde::Deserialize;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use touchline_credentials::{ClientTls, SecretSource};
use touchline_net::tls::Client;
use touchline_session::Secret;
use touchline_session::fix::{extra_field, is_comp_id};
use touchline_settings::{Section, number};
use touchline_wire::fix::tag;

/// Sessions of a bank: the bus of its quotes, and its order session.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionConfig {
    /// Name of the bank.
    pub bank: String,
    /// Bus of its gateway; its name in lower case if absent.
    #[serde(default)]
    pub bus: Option<String>,
    /// Address of its order session.
    pub host: SocketAddrV4,
    /// TLS of its order session; none if absent.
    #[serde(default)]
    pub tls: Option<Box<ClientTls>>,
    /// Our CompID.
    pub sender: String,
    /// The bank's CompID; its name if absent.
    #[serde(default)]
    pub target: Option<String>,
    /// SenderSubID (50), if the bank requires one.
    #[serde(default)]
    pub sender_sub: Option<String>,
    /// TargetSubID (57), if the bank requires one.
    #[serde(default)]
    pub target_sub: Option<String>,
    /// HeartBtInt, seconds.
    #[serde(default = "number::<_, 10>")]
    pub heartbeat_s: u32,
    /// Pause before the first attempt to connect again, milliseconds; doubled up to `reconnect_ms_max`, and
    /// again the first one after a session that was logged on for the longest pause.
    #[serde(default = "number::<_, 100>")]
    pub reconnect_ms: u64,
    /// Longest pause, milliseconds; behind the third equal failure in a row a minute, if this is shorter.
    #[serde(default = "number::<_, 5_000>")]
    pub reconnect_ms_max: u64,
    /// Username (553) of our Logon.
    #[serde(default)]
    pub user: Option<String>,
    /// File of the password (554) of our Logon.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// Further fields of our Logon, such as `"553=X"`.
    #[serde(default)]
    pub logon_fields: Vec<String>,
    /// When both numbers begin again at 1, of a session without a schedule.
    #[serde(default)]
    pub reset: Option<Reset>,
    /// Hours of the order session, and what the bank does at their end.
    #[serde(default)]
    pub schedule: Option<Box<ScheduleConfig>>,
}

/// Secrets and certificates that an order session reads from files.
#[derive(Debug)]
pub(crate) struct Access {
    pub tls: Option<Client>,
    pub password: Option<Secret>,
}

impl SessionConfig {
    /// The bank's CompID.
    pub fn target(&self) -> &str {
        self.target.as_deref().unwrap_or(&self.bank)
    }

    /// When both numbers begin again at 1.
    pub fn reset(&self) -> Reset {
        let of_schedule = self.schedule().and_then(|schedule| schedule.reset);
        match of_schedule.or(self.reset).unwrap_or_default() {
            Reset::Start => Reset::Run,
            reset => reset,
        }
    }

    /// Whether its reset has the word of earlier versions.
    pub(super) fn has_old_word(&self) -> bool {
        let of_schedule = self.schedule().and_then(|schedule| schedule.reset);
        of_schedule.or(self.reset) == Some(Reset::Start)
    }

    /// Hours of the order session, and what the bank does at their end.
    pub fn schedule(&self) -> Option<&ScheduleConfig> {
        self.schedule.as_deref()
    }

    /// Names of the session, which distinguish it from every other session of the bank: our CompID and the bank's, each
    /// with its SubID.
    pub(crate) fn names(&self) -> String {
        let name = |comp: &str, sub: &Option<String>| match sub {
            Some(sub) => format!("{comp}/{sub}"),
            None => comp.to_owned(),
        };
        let ours = name(&self.sender, &self.sender_sub);
        format!("{ours} to {}", name(self.target(), &self.target_sub))
    }

    /// Resolves relative paths from `folder`.
    pub(super) fn starts_at(&mut self, folder: &Path) {
        if let Some(tls) = &mut self.tls {
            tls.starts_at(folder);
        }
        if let Some(file) = &mut self.password_file {
            *file = folder.join(&file);
        }
    }

    /// Adds each mistake of the section, with its key.
    pub(super) fn check(&self, mut wrong: Section<'_>) {
        if !is_comp_id(&self.sender) || !is_comp_id(self.target()) {
            wrong.push_whole(&format!(
                "sender {:?} and target {:?}: give CompIDs of 1 to 64 printable ASCII characters",
                self.sender,
                self.target()
            ));
        }
        for (key, sub) in [
            ("sender_sub", &self.sender_sub),
            ("target_sub", &self.target_sub),
        ] {
            if let Some(sub) = sub.as_ref().filter(|sub| !is_comp_id(sub)) {
                let text = format!("{sub:?}: give 1 to 64 printable ASCII characters");
                wrong.push(key, &text);
            }
        }
        wrong.range("heartbeat_s", self.heartbeat_s, 1..=3_600);
        wrong.range("reconnect_ms_max", self.reconnect_ms_max, 1..=86_400_000);
        if self.reconnect_ms == 0 || self.reconnect_ms > self.reconnect_ms_max {
            wrong.push("reconnect_ms", "give 1 to reconnect_ms_max");
        }
        let schedule = self.schedule();
        if self.reset.is_some() && schedule.is_some_and(|schedule| schedule.reset.is_some()) {
            wrong.push(
                "reset",
                "it is given twice: remove it here, and keep that of the schedule",
            );
        }
        let has_hours = schedule.is_some_and(ScheduleConfig::has_hours);
        if self.reset() == Reset::Session && !has_hours {
            wrong.push_whole(
                "reset = \"session\" needs hours: give zone, start, end and days in [sessions.schedule]",
            );
        }
        if let Some(Err((key, text))) = schedule.map(ScheduleConfig::hours) {
            wrong.push(&format!("schedule.{key}"), &text);
        }
        let is_text = |user: &String| !user.is_empty() && !user.chars().any(char::is_control);
        if !self.user.as_ref().is_none_or(is_text) {
            wrong.push("user", "give printable characters");
        }
        let mut tags: Vec<u32> = self.user.iter().map(|_| tag::USERNAME).collect();
        for text in &self.logon_fields {
            match extra_field(text) {
                Err(what) => wrong.push("logon_fields", &what),
                Ok((tag, _)) if tags.contains(&tag) => {
                    wrong.push("logon_fields", &format!("tag {tag} is given twice"));
                }
                Ok((tag, _)) => tags.push(tag),
            }
        }
    }

    /// Reads the files that the session needs.
    pub(super) fn access(&self) -> Result<Access, ConfigError> {
        let file = self.password_file.clone().map(SecretSource::File);
        let password = file.map(|source| source.read()).transpose();
        Ok(Access {
            tls: self.tls_client()?,
            password: password.map_err(|error| ConfigError::Password {
                bank: self.bank.clone(),
                error,
            })?,
        })
    }

    fn tls_client(&self) -> Result<Option<Client>, ConfigError> {
        let host = self.host.ip().to_string();
        let client = self.tls.as_ref().map(|tls| tls.client(&host));
        client.transpose().map_err(|error| ConfigError::Tls {
            bank: self.bank.clone(),
            error,
        })
    }
}
