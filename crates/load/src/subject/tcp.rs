//! Plain TCP: frames of a fixed length, all due messages in one write a turn.

use super::{Place, Receiver, Sender, Sent};
use crate::Failed;
use crate::message::BYTES;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Most bytes queued for one reader: then the transport is full.
const QUEUE_BYTES: usize = 1024 * 1024;

pub struct TcpSender {
    listener: TcpListener,
    readers: usize,
    connections: Vec<Queue>,
}

/// Queue of one reader.
struct Queue {
    stream: TcpStream,
    bytes: Vec<u8>,
    written: usize,
}

impl TcpSender {
    pub fn open(place: &Place) -> Result<TcpSender, Failed> {
        let listener = TcpListener::bind((place.hosts[0], place.port))?;
        listener.set_nonblocking(true)?;
        Ok(TcpSender {
            listener,
            readers: place.readers,
            connections: Vec::new(),
        })
    }
}

impl Sender for TcpSender {
    #[inline]
    fn send(&mut self, message: &[u8; BYTES]) -> Result<Sent, Failed> {
        if self
            .connections
            .iter()
            .any(|queue| queue.bytes.len() + BYTES > QUEUE_BYTES)
        {
            return Ok(Sent::NoRoom);
        }
        for queue in &mut self.connections {
            queue.bytes.extend_from_slice(message);
        }
        Ok(Sent::Yes)
    }

    #[inline]
    fn turn(&mut self) -> Result<(), Failed> {
        for queue in &mut self.connections {
            queue.write()?;
        }
        Ok(())
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                self.connections.push(Queue {
                    stream,
                    bytes: Vec::with_capacity(QUEUE_BYTES),
                    written: 0,
                });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.connections.len() == self.readers)
    }
}

impl Queue {
    fn write(&mut self) -> Result<(), Failed> {
        if self.written == self.bytes.len() {
            return Ok(());
        }
        match self.stream.write(&self.bytes[self.written..]) {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.written = 0;
        } else if self.written > QUEUE_BYTES / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        Ok(())
    }
}

pub struct TcpReceiver {
    stream: TcpStream,
    bytes: Box<[u8; 256 * 1024]>,
    filled: usize,
}

impl TcpReceiver {
    pub fn open(place: &Place) -> Result<TcpReceiver, Failed> {
        let stream = TcpStream::connect((place.hosts[0], place.port))?;
        stream.set_nonblocking(true)?;
        Ok(TcpReceiver {
            stream,
            bytes: Box::new([0; 256 * 1024]),
            filled: 0,
        })
    }
}

impl Receiver for TcpReceiver {
    #[inline]
    fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed> {
        match self.stream.read(&mut self.bytes[self.filled..]) {
            Ok(0) => return Err(Failed("the publisher closed the connection".to_owned())),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error.into()),
        }
        let (frames, rest) = self.bytes[..self.filled].as_chunks::<BYTES>();
        frames.iter().for_each(|frame| take(frame));
        let (taken, rest) = (frames.len(), rest.len());
        self.bytes.copy_within(self.filled - rest..self.filled, 0);
        self.filled = rest;
        Ok(taken)
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        Ok(true)
    }
}
