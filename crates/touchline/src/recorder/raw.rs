//! `touchline record --raw`: packets of a venue, or bytes of a session, before the path.

use super::Arguments;
use crate::gateway::refused;
use crate::log::{Field, LogThread, events as event};
use crate::output::Failure;
use std::path::Path;
use std::sync::mpsc::Receiver;
use touchline_gateway::bus;
use touchline_gateway::live::TappedBytes;
use touchline_gateway::venues::{
    AnyConfig, Opening, Raw as OpenedRaw, RawSession, RawWork, SocketLine,
};
use touchline_gateway::{ConnectionError, Incident, Incidents};
use touchline_tape::raw::{Line, RawRecording, RawSettings, Session, SessionBytes, Source, Target};

/// A raw recorder, and the incidents of its session.
pub struct Raw {
    pub recording: RawRecording,
    pub incidents: Option<Incidents>,
}

/// Opens the venue, and the recording.
pub fn open(arguments: &Arguments, config: &Path, log: &mut LogThread) -> Result<Raw, Failure> {
    let config = crate::config::read(config)?;
    let opened = config.open_raw().map_err(|error| refused(&error))?;
    let (source, lines, warnings, opening, incidents) = match opened {
        OpenedRaw::Lines(opened) => {
            let line = |line: SocketLine| Line {
                id: line.id,
                number: line.number,
                address: line.address,
            };
            let lines = opened.lines.into_iter().map(line).collect();
            let source = Source::Packets(opened.source);
            (source, lines, opened.warnings, opened.opening, None)
        }
        OpenedRaw::Session(RawSession {
            work,
            bytes,
            incidents,
            warnings,
            opening,
        }) => {
            let session = session(id(&*config), work, bytes);
            let source = Source::Session(session);
            (source, Vec::new(), warnings, opening, Some(incidents))
        }
    };
    for warning in warnings {
        log.write(&event::SOCKET_WARNING, [("reason", warning.into())]);
    }
    let settings = RawSettings {
        root: bus::root(arguments.dir.as_deref()),
        name: match &arguments.name {
            Some(name) => name.clone(),
            None => format!("raw-{}", config.bus()),
        },
        target: target(arguments),
        segment_ns_max: arguments.segment_ns_max(),
        lines,
    };
    let recording = RawRecording::open(source, &settings).map_err(Failure::run)?;
    started(arguments, opening, log);
    Ok(Raw {
        recording,
        incidents,
    })
}

/// The session of a gateway that publishes nothing: its rounds, and what they received.
fn session(id: String, mut work: Box<RawWork>, bytes: Receiver<TappedBytes>) -> Session {
    Session {
        id,
        work: Box::new(move |ends, each| {
            let done = work(ends).map_err(|error| error.to_string());
            for read in bytes.try_iter() {
                each(SessionBytes {
                    connection: read.connection,
                    peer: read.peer,
                    offset: read.offset,
                    receive_ns: read.receive_ns,
                    bytes: &read.bytes,
                });
            }
            done
        }),
    }
}

/// Name of the session, without spaces.
fn id(config: &dyn AnyConfig) -> String {
    config.identity().1.replace(' ', "-")
}

fn started(arguments: &Arguments, opening: Opening, log: &mut LogThread) {
    let journal: Field = ("journal", arguments.target().display().to_string().into());
    match opening {
        Opening::Listening {
            groups,
            interface,
            receive,
        } => log.write(
            &event::RECORD_LISTENING,
            [
                ("groups", (groups as u64).into()),
                ("interface", interface.into()),
                ("receive", receive.into()),
                journal,
            ],
        ),
        Opening::Connecting { hosts } => log.write(
            &event::RECORD_CONNECTING,
            [("hosts", hosts.join(",").into()), journal],
        ),
    }
}

/// Logs an incident of a recorded session.
pub fn report(incident: Incident, log: &mut LogThread) {
    match incident {
        Incident::Connected { host } => {
            log.write(&event::RECORD_CONNECTED, vec![("host", host.into())]);
        }
        Incident::SessionClosed { until_ns } => {
            let until = crate::format::until(until_ns);
            log.write(&event::SESSION_CLOSED, vec![("until", until.into())]);
        }
        Incident::ConnectionFailed(error)
        | Incident::ConnectionLost(error)
        | Incident::ConnectionClosed(error) => {
            let ConnectionError {
                host,
                reason,
                retry_ms,
            } = error;
            let fields: Vec<Field> = vec![
                ("host", host.into()),
                ("reason", reason.into()),
                ("retry_ms", retry_ms.into()),
            ];
            log.write(&event::RECORD_DISCONNECTED, fields);
        }
        // Those of books belong to the log of a gateway.
        _ => {}
    }
}

fn target(arguments: &Arguments) -> Target {
    match &arguments.pcapng {
        Some(path) => Target::Pcapng {
            path: path.clone(),
            bytes_max: arguments.segment_mb.map(|mb| mb << 20),
        },
        None => Target::Journal {
            directory: arguments.target().to_owned(),
            options: arguments.segments("raw"),
            retention: arguments.retention(),
            compress: arguments.compress,
        },
    }
}
