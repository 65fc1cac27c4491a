//! `touchline journal send`: gives a journal to copies on other hosts.

use super::process::Process;
use super::{IDLE, failed};
use crate::log::{Field, events, events::Event};
use crate::output::{Failure, StateLines};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use touchline_credentials::ServerTls;
use touchline_net::stream::Listener;
use touchline_net::tls::Server;
use touchline_replication::{Port, SourceCounters, SourceEvent};
use touchline_transport::boot_ns;
use touchline_transport::clock::wall_ns;
use touchline_types::ReceiveTime;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Send {
    /// Directory of the journal; it need not exist yet.
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Listen for copies on this address.
    #[arg(long, value_name = "IP:PORT")]
    listen: SocketAddrV4,
    /// Accept copies on this host only; may be repeated. Required without TLS, possible with it.
    #[arg(long, value_name = "IP")]
    allow: Vec<Ipv4Addr>,
    /// TLS: the certificate of this host, followed by its chain (PEM).
    #[arg(long, value_name = "FILE", requires_all = ["key_file", "client_roots_file"])]
    certificate_file: Option<PathBuf>,
    /// TLS: the key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "certificate_file")]
    key_file: Option<PathBuf>,
    /// TLS: issuers of the copies' certificates (PEM); a copy without one is refused.
    #[arg(long, value_name = "FILE", requires = "certificate_file")]
    client_roots_file: Option<PathBuf>,
    #[command(flatten)]
    process: Process,
}

/// Name of its counters.
const NAME: &str = "journal-send";

const AFTER_HELP: &str = "\
Example:
  touchline journal send orders --listen 127.0.0.1:7800 --allow 127.0.0.1

Reads the files of the journal and needs nothing of its writer, which never waits for a copy. Records arrive at a copy after
they were written to the files here, also before the disk of this host has them. A record that was not sent when this host
was lost is not in the copy. `touchline stat journal-send` shows the copies, and how many bytes of the journal are not on the disk
of the one that is most behind.

Exit status:
  0  stopped by SIGTERM, Ctrl-C or --until-eof
  1  the address cannot be used, a file cannot be read, or the directory was moved, removed or replaced
  2  bad arguments
  4  the journal is damaged";

/// Sends until it is stopped.
pub fn run(arguments: &Send) -> Result<(), Failure> {
    let tls = server(arguments)?;
    if tls.is_none() && arguments.allow.is_empty() {
        return Err(Failure::usage(
            "who may have the journal? Give --certificate-file, --key-file and --client-roots-file, or --allow IP without TLS",
        ));
    }
    let process = &arguments.process;
    process.run(NAME, SourceCounters::TABLE, |interrupt, log, counters| {
        let listen = arguments.listen;
        let listener = Listener::bind(listen)
            .map_err(|error| Failure::run(format!("cannot listen on {listen}: {error}")))?;
        let place = arguments.directory.display();
        StateLines::start()?.write(format!("{place}: listening on {}\n", listener.address()));
        let mut port = Port::new(&arguments.directory, &arguments.allow, tls, listener);
        while !interrupt.is_asked() {
            let (mono_ns, wall_ns) = (boot_ns(), wall_ns());
            let is_busy = port.round(ReceiveTime { wall_ns, mono_ns });
            let is_busy = is_busy.map_err(failed)?;
            for event in port.take_events() {
                // Without room it is left out: any host that reaches the port causes lines.
                if log.is_ready() {
                    let (event, fields) = line(event);
                    log.write(event, fields);
                }
            }
            if counters.is_due(mono_ns) {
                port.check_place().map_err(failed)?;
                counters.show(port.counters(mono_ns).counts());
            }
            if !is_busy {
                std::thread::sleep(IDLE);
            }
        }
        Ok(())
    })
}

/// The line of the log.
fn line(event: SourceEvent) -> (&'static Event, Vec<Field>) {
    let (line, copy, field) = match event {
        SourceEvent::Connected { copy, position } => (
            &events::JOURNAL_SEND_CONNECTED,
            copy,
            ("position", position.into()),
        ),
        SourceEvent::Lost { copy, reason } => {
            (&events::JOURNAL_SEND_LOST, copy, ("reason", reason.into()))
        }
        SourceEvent::NotAllowed { copy } => (
            &events::JOURNAL_SEND_REFUSED,
            copy,
            ("reason", "not in --allow".into()),
        ),
        SourceEvent::Refused { copy, reason } => (
            &events::JOURNAL_SEND_REFUSED,
            copy,
            ("reason", reason.into()),
        ),
        SourceEvent::Behind { copy, lag_bytes } => (
            &events::JOURNAL_SEND_BEHIND,
            copy,
            ("lag_bytes", lag_bytes.into()),
        ),
        SourceEvent::CaughtUp { copy, lag_bytes } => (
            &events::JOURNAL_SEND_CAUGHT_UP,
            copy,
            ("lag_bytes", lag_bytes.into()),
        ),
    };
    (line, vec![("copy", copy.to_string().into()), field])
}

fn server(arguments: &Send) -> Result<Option<Server>, Failure> {
    let files = (
        &arguments.certificate_file,
        &arguments.key_file,
        &arguments.client_roots_file,
    );
    let (Some(certificate), Some(key), Some(roots)) = files else {
        return Ok(None);
    };
    let tls = ServerTls {
        certificate_file: certificate.clone(),
        key_file: key.clone(),
        client_roots_file: Some(roots.clone()),
    };
    tls.server().map(Some).map_err(Failure::usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;

    /// Any host that reaches the port can cause refusals: they are not a line each, and connections of copies are.
    #[test]
    fn lines_about_refused_connections_are_limited() {
        let copy = "127.0.0.2:7".parse().expect("an address");
        let mut log = Log::in_memory();
        for _ in 0..19 {
            let reason = "it is silent".to_owned();
            let (event, fields) = line(SourceEvent::Refused { copy, reason });
            log.write(event, fields);
        }
        assert!((1..10).contains(&log.lines().len()), "{:?}", log.lines());
        let (event, fields) = line(SourceEvent::NotAllowed { copy });
        let mut log = Log::in_memory();
        log.write(event, fields);
        let refused = "WARN journal_send_refused copy=127.0.0.2:7 reason=\"not in --allow\"";
        assert_eq!(log.lines(), [refused]);
    }

    #[test]
    fn allowed_hosts_and_tls_go_together() {
        let command = <Send as clap::Args>::augment_args(clap::Command::new("send"));
        let line = "send j --listen 127.0.0.1:0 --allow 127.0.0.1 --certificate-file c --key-file k --client-roots-file r";
        let parsed = command.try_get_matches_from(line.split(' '));
        assert!(parsed.is_ok(), "{parsed:?}");
    }
}
