//! The acceptor of back offices, with its passwords and its clock.

use crate::output::Failure;
use std::fs::{DirBuilder, Metadata};
use std::net::SocketAddrV4;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};
use touchline_credentials::{SecretSource, ServerTls};
use touchline_fx_desk::PublishedEntry;
use touchline_fx_desk::ledger::Ledger;
use touchline_fx_live::execution::back_office::{Acceptor, Reports, StartError};
use touchline_fx_live::execution::config::{ReportClient, ReportConfig};
use touchline_session::Secret;
use touchline_transport::boot_ns;
use touchline_transport::clock::WallWatch;
use touchline_types::ReceiveTime;

/// Longest wait for clients to log out.
const FAREWELL: Duration = Duration::from_secs(3);

/// A running acceptor.
pub struct Office {
    acceptor: Acceptor,
    watch: WallWatch,
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
        Ok(Office {
            acceptor,
            watch: WallWatch::start(),
        })
    }

    /// Listening address, with the actual port.
    pub fn address(&self) -> SocketAddrV4 {
        self.acceptor.address()
    }

    /// Says which journal the engine writes, if it is there.
    pub fn of_journal(&mut self, journal: Option<[u8; 16]>) -> Result<(), Failure> {
        self.acceptor.of_journal(journal).map_err(Failure::run)
    }

    /// Takes a line of the engine.
    pub fn take(&mut self, ledger: &Ledger, told: &PublishedEntry<'_>) {
        self.acceptor.take(ledger, told);
    }

    /// Runs due work; returns whether there was any.
    pub fn work(&mut self) -> Result<bool, Failure> {
        let now = self.now();
        self.acceptor.work(now).map_err(Failure::run)
    }

    /// Next line for the log.
    pub fn next_news(&mut self) -> Option<String> {
        self.acceptor.next_news()
    }

    /// Logs all clients out.
    pub fn close(&mut self) -> Result<(), Failure> {
        let now = self.now();
        self.acceptor.log_out(now);
        let until = Instant::now() + FAREWELL;
        while self.acceptor.is_connected() && Instant::now() < until {
            self.work()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn now(&mut self) -> ReceiveTime {
        if let Some(step_ns) = self.watch.look() {
            self.acceptor.wall_stepped(step_ns);
        }
        let mono_ns = boot_ns();
        ReceiveTime {
            wall_ns: self.watch.wall_ns(mono_ns),
            mono_ns,
        }
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
    refusal(&about, me).map_or(Ok(()), |what| Err(wrong(what)))
}

/// Why a folder is not trusted, as the directories of buses and of the journal are checked.
fn refusal(about: &Metadata, me: u32) -> Option<String> {
    let (owner, mode) = (about.uid(), about.mode() & 0o777);
    if about.is_symlink() {
        return Some("it is a symlink, and not followed; give the folder itself".to_owned());
    }
    if owner != me {
        return Some(format!(
            "it belongs to user {owner}, not to user {me}; give a folder of this user"
        ));
    }
    (mode & 0o077 != 0).then(|| {
        format!("it has mode {mode:04o}, which gives access to other users; 'chmod 700' it if you know why")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use touchline_testing::Folder;

    /// Who may change the numbers of a client decides which reports it never gets.
    #[test]
    fn a_folder_of_numbers_is_private_and_no_symlink() {
        let place = Folder::new("report");
        let folder = place.join("numbers");
        make_folder(&folder).expect("a new folder");
        let about = std::fs::symlink_metadata(&folder).expect("our folder");
        assert_eq!(about.mode() & 0o777, 0o700);
        make_folder(&folder).expect("the folder of before");
        let said = |folder: &Path| match make_folder(folder) {
            Err(Failure::Run(what)) => what,
            other => panic!("{other:?}"),
        };
        for (mode, is_refused) in [(0o500, false), (0o710, true), (0o701, true), (0o720, true)] {
            std::fs::set_permissions(&folder, Permissions::from_mode(mode)).expect("our folder");
            assert_eq!(make_folder(&folder).is_err(), is_refused, "{mode:o}");
        }
        assert!(said(&folder).contains("numbers: it has mode 0720"));
        std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).expect("our folder");
        let link = place.join("link");
        symlink(&folder, &link).expect("our folder");
        assert!(said(&link).contains("it is a symlink"));
        std::fs::write(place.join("file"), "").expect("our folder");
        assert!(said(&place.join("file")).contains("cannot be made"));
        let about = std::fs::symlink_metadata(&folder).expect("our folder");
        let other = about.uid() + 1;
        assert_eq!(
            refusal(&about, other),
            Some(format!(
                "it belongs to user {}, not to user {other}; give a folder of this user",
                about.uid()
            ))
        );
    }
}
