//! File store of a FIX session: contents, and kills of its process.

mod crash_injection;
mod damage;
mod file;
mod kills;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary folder, removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn fresh() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("touchline-store-{}-{number}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
