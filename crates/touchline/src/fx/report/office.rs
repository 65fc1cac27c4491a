//! The acceptor of back offices, with its passwords and its clock.

use crate::output::Failure;
use std::fs::DirBuilder;
use std::net::SocketAddrV4;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};
use touchline_credentials::{SecretSource, ServerTls};
use touchline_execution::back_office::{Acceptor, Reports, StartError};
use touchline_execution::config::{ReportClient, ReportConfig};
use touchline_session::Secret;
use touchline_transport::boot_ns;
use touchline_transport::clock::wall_ns;
use touchline_types::ReceiveTime;

/// Longest wait for clients to log out.
const FAREWELL: Duration = Duration::from_secs(3);

/// A running acceptor.
pub struct Office {
    acceptor: Acceptor,
}

impl Office {
    /// Listens. The paths of the section are resolved.
    pub fn open(config: &ReportConfig, reports: Reports) -> Result<Office, Failure> {
        let passwords: Result<Vec<_>, Failure> = config.clients.iter().map(password).collect();
        let tls = config.tls.as_ref().map(ServerTls::server).transpose();
        let tls = tls.map_err(|error| Failure::configuration(&error))?;
        make_folder(&config.numbers)?;
        let acceptor = Acceptor::open(config, &config.numbers, passwords?, tls, reports);
        let acceptor = acceptor.map_err(|error: StartError| Failure::run(error))?;
        Ok(Office { acceptor })
    }

    /// Listening address, with the actual port.
    pub fn address(&self) -> SocketAddrV4 {
        self.acceptor.address()
    }

    /// Takes a line of the engine.
    pub fn take(&mut self, kind: u8, text: &str) {
        self.acceptor.take(kind, text);
    }

    /// Runs due work; returns whether there was any.
    pub fn work(&mut self) -> Result<bool, Failure> {
        self.acceptor.work(now()).map_err(Failure::run)
    }

    /// Next line for the log.
    pub fn next_news(&mut self) -> Option<String> {
        self.acceptor.next_news()
    }

    /// Logs all clients out.
    pub fn close(&mut self) -> Result<(), Failure> {
        self.acceptor.log_out(now());
        let until = Instant::now() + FAREWELL;
        while self.acceptor.is_connected() && Instant::now() < until {
            self.work()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

fn now() -> ReceiveTime {
    ReceiveTime {
        wall_ns: wall_ns(),
        mono_ns: boot_ns(),
    }
}

fn password(client: &ReportClient) -> Result<Option<Secret>, Failure> {
    let source = match (&client.password_file, &client.password_env) {
        (Some(file), _) => SecretSource::File(file.clone()),
        (None, Some(name)) => SecretSource::Env(name.clone()),
        (None, None) => return Ok(None),
    };
    let read = source.read();
    read.map(Some)
        .map_err(|error| Failure::configuration(&error))
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    let name = folder.display();
    let wrong = |what: String| Failure::run(format!("report.numbers: {name}: {what}"));
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let about = made.and_then(|()| std::fs::symlink_metadata(folder));
    let about = about.map_err(|error| {
        wrong(format!(
            "cannot be made ({error}); give a folder that this user may write to"
        ))
    })?;
    let me = rustix::process::geteuid().as_raw();
    // As the directories of buses and of the journal are checked.
    match about.mode() & 0o077 {
        _ if about.is_symlink() => Err(wrong(
            "it is a symlink, and not followed; give the folder itself".to_owned(),
        )),
        _ if about.uid() != me => Err(wrong(format!(
            "it belongs to user {}, not to user {me}; give a folder of this user",
            about.uid()
        ))),
        0 => Ok(()),
        _ => Err(wrong(format!(
            "it has mode {:04o}, which gives access to other users; 'chmod 700' it if you know why",
            about.mode() & 0o777
        ))),
    }
}
