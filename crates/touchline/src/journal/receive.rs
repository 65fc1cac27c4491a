//! `touchline journal receive`: a copy of a journal of another host.

use super::process::Process;
use super::{IDLE, failed};
use crate::log::{Field, events, events::Event};
use crate::output::{Failure, StateLines};
use std::path::PathBuf;
use std::thread;
use touchline_credentials::{ClientTls, SecretSource};
use touchline_journal::CopyNumber;
use touchline_journal::replica::Replica;
use touchline_net::tls::Client;
use touchline_replication::{CopyCounters, CopyEvent, Error, Receiver};
use touchline_transport::boot_ns;
use touchline_wire::sbe::UtcTime;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Receive {
    /// Host and port of `touchline journal send`.
    #[arg(value_name = "HOST:PORT")]
    source: String,
    /// Directory of the copy; created if it is missing.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Number of this copy, another one for each copy of the journal: two that are promoted one after the other use no epoch twice.
    /// Default: the number that the directory has, or 1.
    #[arg(long = "copy", value_name = "N", value_parser = number)]
    number: Option<CopyNumber>,
    /// TLS: trusted issuers of the source's certificate (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["certificate_file", "key_file"])]
    roots_file: Option<PathBuf>,
    /// TLS: the certificate of this host, followed by its chain (PEM).
    #[arg(long, value_name = "FILE", requires = "roots_file")]
    certificate_file: Option<PathBuf>,
    /// TLS: the key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "roots_file")]
    key_file: Option<PathBuf>,
    /// TLS: name in the source's certificate; by default the host.
    #[arg(long, value_name = "NAME", requires = "roots_file")]
    server_name: Option<String>,
    /// Print position and distance from the source every N seconds.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    every_s: u64,
    #[command(flatten)]
    process: Process,
}

/// Name of its counters.
const NAME: &str = "journal-receive";

const AFTER_HELP: &str = "\
Example:
  touchline journal receive 127.0.0.1:7800 copy

Every record is verified before it is written, and synced; the copy is a journal that every command reads. It continues
where it ended after a restart of either side. While this runs, no engine can start from the copy: stop it before
`touchline fx promote`.

`touchline stat journal-receive` shows how many bytes of the journal are not on the disk here. The source says where its journal
ends before it sends the records up to there. Its last status stays in the directory, for `touchline fx promote --check`.

Exit status:
  0  stopped by SIGTERM, Ctrl-C or --until-eof
  1  the source refuses this copy, another process writes it, a file cannot be written, or the directory or its last segment was
     moved, removed or replaced
  2  bad arguments";

/// Receives until it is stopped.
pub fn run(arguments: &Receive) -> Result<(), Failure> {
    let tls = client(arguments)?;
    let process = &arguments.process;
    process.run(NAME, CopyCounters::TABLE, |interrupt, log, counters| {
        let copy = Replica::open_as(&arguments.directory, arguments.number).map_err(failed)?;
        let place = arguments.directory.display();
        let position = copy.position();
        let lines = StateLines::start()?;
        lines.write(format!("{place}: a copy up to position {position}\n"));
        let mut said_ns = boot_ns();
        let mut receiver = Receiver::new(&arguments.source, tls, copy, said_ns);
        let every_ns = arguments.every_s * 1_000_000_000;
        while !interrupt.is_asked() {
            let now_ns = boot_ns();
            if !receiver.round(now_ns).map_err(stopped)? {
                thread::sleep(IDLE);
            }
            for event in receiver.take_events() {
                // Without room it is left out, and the counters have the state.
                if log.is_ready() {
                    let (event, fields) = line(&arguments.source, event);
                    log.write(event, fields);
                }
            }
            if counters.is_due(now_ns) {
                counters.show(receiver.counters(now_ns).counts());
                receiver.note().map_err(stopped)?;
            }
            if now_ns >= said_ns + every_ns {
                said_ns = now_ns;
                lines.write(format!("{place}: {}\n", state(&receiver)));
            }
        }
        receiver.finish().map_err(stopped)
    })
}

fn number(text: &str) -> Result<CopyNumber, String> {
    let number = text.parse().ok().and_then(CopyNumber::new);
    number.ok_or_else(|| format!("1 to {}", CopyNumber::MAX))
}

fn stopped(error: Error) -> Failure {
    match error {
        Error::Journal(error) => failed(error),
        Error::Refused(_) => Failure::run(error),
    }
}

/// The line of the log.
fn line(source: &str, event: CopyEvent) -> (&'static Event, Vec<Field>) {
    let mut fields = vec![("source", source.into())];
    let line = match event {
        CopyEvent::Connected {
            position,
            source_position,
        } => {
            fields.push(("position", position.into()));
            fields.push(("source_position", source_position.into()));
            &events::JOURNAL_RECEIVE_CONNECTED
        }
        CopyEvent::Lost { reason, retry_ms } => {
            fields.push(("reason", reason.into()));
            fields.push(("retry_ms", retry_ms.into()));
            &events::JOURNAL_RECEIVE_LOST
        }
        CopyEvent::Behind { lag_bytes } => {
            fields.push(("lag_bytes", lag_bytes.into()));
            &events::JOURNAL_RECEIVE_BEHIND
        }
        CopyEvent::CaughtUp { lag_bytes } => {
            fields.push(("lag_bytes", lag_bytes.into()));
            &events::JOURNAL_RECEIVE_CAUGHT_UP
        }
    };
    (line, fields)
}

/// State as a line.
fn state(receiver: &Receiver<'_>) -> String {
    let (status, behind) = (receiver.source_status(), receiver.behind());
    let (state, distance) = match (receiver.is_connected(), status.is_heard()) {
        (true, _) => ("connected", format!("{behind} bytes behind")),
        (false, true) => {
            let said = UtcTime(status.said_ns);
            (
                "not connected",
                format!("{behind} bytes behind the source of {said}"),
            )
        }
        (false, false) => ("not connected", "its source was never heard".to_owned()),
    };
    format!(
        "{state}, epoch {}, position {}, {distance}, next record {}",
        receiver.copy().epoch(),
        receiver.copy().position(),
        receiver.copy().next_sequence(),
    )
}

fn client(arguments: &Receive) -> Result<Option<Client>, Failure> {
    let files = (
        &arguments.roots_file,
        &arguments.certificate_file,
        &arguments.key_file,
    );
    let (Some(roots), Some(certificate), Some(key)) = files else {
        return Ok(None);
    };
    let tls = ClientTls {
        server_name: arguments.server_name.clone(),
        roots_file: Some(roots.clone()),
        pins: Vec::new(),
        client_certificate_file: Some(certificate.clone()),
        client_key: Some(SecretSource::File(key.clone())),
    };
    let host = arguments.source.rsplit_once(':');
    let host = host.map_or(arguments.source.as_str(), |(host, _)| host);
    tls.client(host).map(Some).map_err(Failure::usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_journal::replica::SourceStatus;
    use touchline_testing::Folder;

    /// The state names the last known state of the source, if there is one.
    #[test]
    fn the_state_of_a_copy_without_a_connection_has_the_last_word_of_its_source() {
        let folder = Folder::new("copy");
        let shown = |status: Option<SourceStatus>| {
            let mut copy = Replica::open(&folder).expect("a copy");
            if let Some(status) = status {
                copy.note_source(&status).expect("a disk");
            }
            state(&Receiver::new("h:1", None, copy, 0))
        };
        let never = "not connected, epoch 0, position 0, its source was never heard, next record 0";
        assert_eq!(shown(None), never);
        let status = SourceStatus {
            source: "h:1".to_owned(),
            position: 4_096,
            said_ns: 1,
        };
        let state = shown(Some(status));
        let begin = "not connected, epoch 0, position 0, 4096 bytes behind the source of 1970";
        assert!(state.starts_with(begin), "{state}");
    }
}
