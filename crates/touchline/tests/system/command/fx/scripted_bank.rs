//! A scripted bank in a thread of its own.

use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use touchline_lab::bank::scripted::{self, Damage, Fields};
use touchline_transport::boot_ns;
use touchline_transport::clock::wall_ns;
use touchline_types::ReceiveTime;

/// The bank, and its thread.
pub struct ScriptedBank {
    pub address: SocketAddrV4,
    bank: Arc<Mutex<scripted::ScriptedBank>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedBank {
    pub fn open(name: &str) -> ScriptedBank {
        let bank = scripted::ScriptedBank::listen(name, "TOUCHLINE");
        let address = bank.address();
        let (bank, is_over) = (Arc::new(Mutex::new(bank)), Arc::new(AtomicBool::new(false)));
        let (turned, is_ended) = (Arc::clone(&bank), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !is_ended.load(Ordering::Relaxed) {
                let time = ReceiveTime {
                    wall_ns: wall_ns(),
                    mono_ns: boot_ns(),
                };
                let is_busy = turned.lock().expect("no test failed").work(time);
                if !is_busy {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        ScriptedBank {
            address,
            bank,
            is_over,
            thread: Some(thread),
        }
    }

    fn bank(&self) -> MutexGuard<'_, scripted::ScriptedBank> {
        self.bank.lock().expect("it runs")
    }

    /// The next message of this type, which must come.
    #[track_caller]
    pub fn next(&self, msg_type: &str) -> Fields {
        let found = self.within(msg_type, Duration::from_secs(20));
        found.unwrap_or_else(|| panic!("no message {msg_type}"))
    }

    /// The next message of this type, if one comes within a time; with a time of zero, if one has come.
    pub fn within(&self, msg_type: &str, wait: Duration) -> Option<Fields> {
        let until = Instant::now() + wait;
        loop {
            let found = self.bank().skip_to(msg_type);
            if found.is_some() || Instant::now() >= until {
                return found;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Sends a message. The engine may have ended the session meanwhile; a test that needs the message waits for its effect.
    pub fn send(&self, msg_type: &str, fields: &Fields) {
        let mut bank = self.bank();
        let _ = bank.send(msg_type, fields);
        bank.flush();
    }

    /// Sends a message that has a number of the session, and is damaged on its way.
    pub fn send_damaged(&self, msg_type: &str, fields: &Fields, damage: Damage) {
        let _ = self.bank().send_damaged(msg_type, fields, damage);
    }

    /// Sends a message with this number instead of the session's.
    pub fn send_numbered(&self, number: u64, msg_type: &str, fields: &Fields) {
        self.bank().send_numbered(number, msg_type, fields);
    }
}

impl Drop for ScriptedBank {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
