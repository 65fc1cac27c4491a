//! Plain UDP: a datagram for each message and reader, without retransmission.

use super::{Place, Receiver, Sender, Sent};
use crate::Failed;
use crate::message::BYTES;
use socket2::SockRef;
use std::io::ErrorKind;
use std::net::UdpSocket;

const BUFFER_BYTES: usize = 2 * 1024 * 1024;
/// Datagrams of one poll.
const TURN: usize = 64;

pub struct UdpSender {
    /// One for each reader.
    sockets: Vec<UdpSocket>,
    /// Readers that have this message already, if the socket was full for a later one.
    served: usize,
}

impl UdpSender {
    pub fn open(place: &Place) -> Result<UdpSender, Failed> {
        let connected = |reader: usize| {
            let socket = UdpSocket::bind((place.hosts[0], 0))?;
            socket.connect((place.hosts[1], port(place, reader)?))?;
            socket.set_nonblocking(true)?;
            SockRef::from(&socket).set_send_buffer_size(BUFFER_BYTES)?;
            Ok::<_, Failed>(socket)
        };
        Ok(UdpSender {
            sockets: (0..place.readers)
                .map(connected)
                .collect::<Result<_, _>>()?,
            served: 0,
        })
    }
}

impl Sender for UdpSender {
    #[inline]
    fn send(&mut self, message: &[u8; BYTES]) -> Result<Sent, Failed> {
        while self.served < self.sockets.len() {
            match self.sockets[self.served].send(message) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Sent::NoRoom),
                // Error of an earlier datagram whose reader was not connected: the datagram is lost, which the reader
                // detects.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error.into()),
            }
            self.served += 1;
        }
        self.served = 0;
        Ok(Sent::Yes)
    }

    fn turn(&mut self) -> Result<(), Failed> {
        Ok(())
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        Ok(true)
    }
}

pub struct UdpReceiver {
    socket: UdpSocket,
}

impl UdpReceiver {
    pub fn open(place: &Place, reader: usize) -> Result<UdpReceiver, Failed> {
        let socket = UdpSocket::bind((place.hosts[1], port(place, reader)?))?;
        socket.set_nonblocking(true)?;
        SockRef::from(&socket).set_recv_buffer_size(BUFFER_BYTES)?;
        Ok(UdpReceiver { socket })
    }
}

impl Receiver for UdpReceiver {
    #[inline]
    fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed> {
        let mut bytes = [0; BYTES + 1];
        for taken in 0..TURN {
            match self.socket.recv(&mut bytes) {
                Ok(count) => take(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(taken),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(TURN)
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        Ok(true)
    }
}

/// Port of a reader: consecutive for the readers of a step.
fn port(place: &Place, reader: usize) -> Result<u16, Failed> {
    let reader = u16::try_from(reader).ok();
    let port = reader.and_then(|reader| place.port.checked_add(reader));
    port.ok_or_else(|| Failed("too many readers for the ports behind the first".to_owned()))
}
