//! One connection: logon, one request, its packets, logout.

use super::request::Fields;
use super::{Behaviour, REQUEST_PACKETS_MAX, Shared, count};
use crate::cme::encode::{Block, Template, message, packet};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Timeout for a client's next message, and for its reading of an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval at which a waiting session checks whether the server has ended.
const LOOK: Duration = Duration::from_millis(50);
/// Pause between the packets of a slow answer.
const SLOW: Duration = Duration::from_millis(50);

/// Serves a client until it has its packets.
pub fn serve(shared: &Shared, stream: TcpStream) -> io::Result<()> {
    let behaviour = shared.behaviour();
    if behaviour == Behaviour::Close {
        return Ok(());
    }
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut session = Session {
        shared,
        stream,
        received: Vec::new(),
        sent: 0,
    };
    if behaviour == Behaviour::Silent {
        return session.say_nothing();
    }
    match session.answer(behaviour) {
        Ok(reason) => session.logout(&reason),
        Err(Ended::Refused(reason)) => {
            count(&shared.refused);
            session.logout(&reason)
        }
        Err(Ended::Gone(error)) => Err(error),
    }
}

struct Session<'a> {
    shared: &'a Shared,
    stream: TcpStream,
    received: Vec<u8>,
    /// Number of the server's own packets, which have their own numbers.
    sent: u32,
}

/// Reasons for an early end of a session.
enum Ended {
    Refused(String),
    Gone(io::Error),
}

impl Session<'_> {
    /// Processes logon and request and sends the packets; returns the text of the logout.
    fn answer(&mut self, behaviour: Behaviour) -> Result<String, Ended> {
        let logon = self.next()?;
        if logon.get(35) != "A" {
            return Err(refused("the first message must be a Logon (35=A)"));
        }
        if logon.get(553).is_empty() || logon.get(554).is_empty() {
            return Err(refused("Username (553) and Password (554) are required"));
        }
        self.own_packet(15, &Block::new(1).u8(0, 30))?;
        let request = self.next()?;
        match request.get(35) {
            "V" => {}
            "5" => return Ok("logout confirmed".to_owned()),
            _ => return Err(refused("a Market Data Request (35=V) was expected")),
        }
        if behaviour == Behaviour::Refuse {
            return Err(refused("replay is refused at present"));
        }
        let packets = self.requested(&request)?;
        count(&self.shared.served);
        self.send(&packets, behaviour)?;
        Ok(format!("{} packets sent", packets.len()))
    }

    /// Packets of a request.
    fn requested(&self, request: &Fields) -> Result<Vec<Vec<u8>>, Ended> {
        let channel = self.shared.channel;
        if request.get(1180) != channel.to_string() {
            return Err(refused(&format!("ApplID (1180) must be {channel}")));
        }
        if request.get(262).is_empty() {
            return Err(refused("MDReqID (262) is required"));
        }
        let (Some(first), Some(last)) = (request.number(1182), request.number(1183)) else {
            let what = "ApplBegSeqNum (1182) and ApplEndSeqNum (1183) must be positive numbers";
            return Err(refused(what));
        };
        if first > last || last - first >= REQUEST_PACKETS_MAX {
            let what =
                format!("1 to {REQUEST_PACKETS_MAX} packets can be requested, in ascending order");
            return Err(refused(&what));
        }
        let stored = self.shared.stored();
        let found = stored.range(first, last);
        found.ok_or_else(|| refused(&format!("{first} to {last}: {}", stored.describe())))
    }

    fn send(&mut self, packets: &[Vec<u8>], behaviour: Behaviour) -> Result<(), Ended> {
        if behaviour == Behaviour::Half {
            let (whole, rest) = packets.split_at(packets.len() / 2);
            whole.iter().try_for_each(|packet| self.packet(packet))?;
            let cut = &rest[0];
            let mut bytes = (cut.len() as u16).to_le_bytes().to_vec();
            bytes.extend(&cut[..cut.len() / 2]);
            self.stream.write_all(&bytes)?;
            return Err(Ended::Gone(ErrorKind::ConnectionAborted.into()));
        }
        for packet in packets {
            if behaviour == Behaviour::Slow {
                std::thread::sleep(SLOW);
                self.look()?;
            }
            self.packet(packet)?;
        }
        Ok(())
    }

    /// Sends one packet of the feed, after its length.
    fn packet(&mut self, packet: &[u8]) -> io::Result<()> {
        self.framed(packet)?;
        count(&self.shared.packets);
        Ok(())
    }

    fn logout(&mut self, text: &str) -> io::Result<()> {
        self.own_packet(16, &Block::new(180).text(0, 180, text))
    }

    /// Sends a packet with one message of the server's own.
    fn own_packet(&mut self, id: u16, root: &Block) -> io::Result<()> {
        let template = Template {
            id,
            version: self.shared.version,
            from_the_future: false,
        };
        self.sent += 1;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let bytes = packet(
            self.sent,
            now.as_nanos() as u64,
            &[message(template, root, &[])],
        );
        self.framed(&bytes)
    }

    fn framed(&mut self, packet: &[u8]) -> io::Result<()> {
        let length = u16::try_from(packet.len()).map_err(io::Error::other)?;
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(packet);
        self.stream.write_all(&bytes)
    }

    /// Next message of the client.
    fn next(&mut self) -> Result<Fields, Ended> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(fields) = Fields::take(&mut self.received).map_err(refused)? {
                return Ok(fields);
            }
            if Instant::now() > until {
                return Err(refused("no message arrived in time"));
            }
            self.read()?;
        }
    }

    /// Reads, without answering, until the client disconnects.
    fn say_nothing(&mut self) -> io::Result<()> {
        loop {
            self.read()?;
            self.received.clear();
        }
    }

    /// Reads available bytes, and waits briefly for them.
    fn read(&mut self) -> io::Result<()> {
        self.look()?;
        let mut bytes = [0; 2_048];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                self.received.extend(&bytes[..count]);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Error if the server has ended.
    fn look(&self) -> io::Result<()> {
        match self.shared.stopped.load(Ordering::Relaxed) {
            true => Err(ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }
}

fn refused(reason: &str) -> Ended {
    Ended::Refused(reason.to_owned())
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}
