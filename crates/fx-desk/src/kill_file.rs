//! A kill without a ring: a file beside the rings, which a client writes and the engine takes.
//!
//! The file's name is `.<ring>.kill`, its content the number of the kill, as in the ring. It counts only as a regular
//! file of the client's user that no other user may write. The engine renames it to `.<ring>.kill-taken`, reads it, and
//! removes it once the kill is recorded. Writing it needs no lock and no room in a ring, so that no other process can
//! stop a kill.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use touchline_transport::bus::Root;

/// Longest number, digits.
const DIGITS_MAX: u64 = 20;
/// `O_NOFOLLOW` and `O_NONBLOCK` of Linux on x86-64 and aarch64: neither a link nor a pipe is opened.
const FLAGS: i32 = FLAG_NO_FOLLOW | 0o4_000;
#[cfg(not(target_arch = "aarch64"))]
const FLAG_NO_FOLLOW: i32 = 0o400_000;
#[cfg(target_arch = "aarch64")]
const FLAG_NO_FOLLOW: i32 = 0o100_000;

/// Path of the file of a ring.
fn path_of(root: &Path, ring: &str) -> PathBuf {
    root.join(format!(".{ring}.kill"))
}

/// Writes the file, for the group of the root to read: the engine takes it within milliseconds, or when it starts.
///
/// # Errors
/// The file cannot be written.
pub fn write_kill(root: &Root, ring: &str, request: u64) -> io::Result<()> {
    let path = path_of(root.path(), ring);
    let part = path.with_extension(format!("kill-{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(FLAGS)
        .open(&part)
        .and_then(|mut file| {
            root.share(file.as_fd(), &part).map_err(io::Error::other)?;
            file.write_all(request.to_string().as_bytes())
        })
        .and_then(|()| fs::rename(&part, &path));
    if written.is_err() {
        // Removes the incomplete file.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Path of the file of a ring while no engine has taken it.
pub fn untaken(root: &Root, ring: &str) -> Option<PathBuf> {
    let path = path_of(root.path(), ring);
    fs::symlink_metadata(&path).is_ok().then_some(path)
}

/// The kill file of a client, as the engine reads it.
pub struct KillFile {
    path: PathBuf,
    /// Name of the file after the engine has taken it: a client that writes the next kill does not write this file.
    taken_path: PathBuf,
    /// User who must own the file.
    owner: u32,
    /// The number that was taken last: a file of another user cannot always be renamed or removed.
    taken: u64,
    /// Last reported reason for its refusal.
    reported: Option<String>,
}

impl KillFile {
    /// The kill file of a ring, of the user whose rings the root trusts.
    pub fn of(root: &Root, ring: &str) -> KillFile {
        let path = path_of(root.path(), ring);
        KillFile {
            taken_path: path.with_extension("kill-taken"),
            path,
            owner: root.owner(),
            taken: 0,
            reported: None,
        }
    }

    /// Takes a kill and returns its number. The file is renamed before it is read, so that a kill written meanwhile is
    /// another file. It stays under that name until the next call, so that the next engine takes the kill if this
    /// engine dies before it records it. An error is reported once for each reason.
    pub fn take(&mut self) -> Option<Result<u64, String>> {
        // Called each millisecond: an error for a missing file would format a text each time.
        if fs::symlink_metadata(&self.taken_path).is_ok()
            && let Ok(request) = self.read(&self.taken_path)
        {
            if request != self.taken {
                self.taken = request;
                return Some(Ok(request));
            }
            // The removal may fail in another user's directory.
            let _ = fs::remove_file(&self.taken_path);
        }
        if fs::symlink_metadata(&self.path).is_err() {
            self.reported = None;
            return None;
        }
        // A file that is not a kill stays in place, for the person who must remove it.
        let read = self.read(&self.path).and_then(|request| {
            match fs::rename(&self.path, &self.taken_path) {
                Ok(()) => self.read(&self.taken_path),
                Err(_) => Ok(request),
            }
        });
        match read {
            Ok(request) if request == self.taken => None,
            Ok(request) => {
                self.taken = request;
                Some(Ok(request))
            }
            Err(why) if self.reported.as_ref() == Some(&why) => None,
            Err(why) => Some(Err(self.reported.insert(why).clone())),
        }
    }

    fn read(&self, path: &Path) -> Result<u64, String> {
        let of_path = |why: String| format!("{}: {why}; remove it", path.display());
        let opened = OpenOptions::new().read(true).custom_flags(FLAGS).open(path);
        let file = opened.map_err(|error| of_path(format!("cannot be opened ({error})")))?;
        let about = file
            .metadata()
            .map_err(|error| of_path(error.to_string()))?;
        if !about.is_file() {
            return Err(of_path("is no regular file".to_owned()));
        }
        if about.uid() != self.owner {
            let why = format!(
                "belongs to user {}, not to user {}",
                about.uid(),
                self.owner
            );
            return Err(of_path(why));
        }
        if about.mode() & 0o022 != 0 {
            return Err(of_path("may be written by others".to_owned()));
        }
        let mut text = String::new();
        let read = file.take(DIGITS_MAX + 1).read_to_string(&mut text);
        read.map_err(|error| of_path(error.to_string()))?;
        let request = text.trim().parse().ok();
        request.ok_or_else(|| of_path("is not the number of a kill".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, Instant};
    use touchline_testing::Folder;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect()
    }

    /// A kill that is written at any instant is taken, also within the microseconds in which the previous kill is read
    /// and removed.
    #[test]
    fn a_kill_written_while_another_is_taken_is_not_lost() {
        const BURSTS: u64 = 300;
        const BURST: u64 = 20;
        let folder = Folder::new("kills");
        let root = Root::at(&folder);
        let mut file = KillFile::of(&root, "fx-run-desk");
        let until = Instant::now() + Duration::from_secs(60);
        for burst in 1..=BURSTS {
            let last = burst * BURST;
            std::thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    for request in last - BURST + 1..=last {
                        write_kill(&root, "fx-run-desk", request).expect("written");
                    }
                });
                loop {
                    // This is read before the check, which then finds all earlier writes.
                    let is_written = writer.is_finished();
                    let taken = file.take();
                    let is_last = taken == Some(Ok(last));
                    assert!(taken.is_none_or(|taken| taken.is_ok()));
                    if is_last {
                        break;
                    }
                    assert!(
                        !(is_written && file.taken < last && names(&folder).is_empty()),
                        "kill {last} is lost, the last taken one is {}",
                        file.taken
                    );
                    assert!(Instant::now() < until, "kill {last} is not taken");
                }
            });
        }
    }

    /// A kill that is taken has another name: the next one is another file, and an engine that dies between the two loses neither.
    #[test]
    fn a_kill_is_renamed_before_it_is_read() {
        let folder = Folder::new("kill-renamed");
        let root = Root::at(&folder);
        let path = path_of(&folder, "fx-run-desk");
        let mut file = KillFile::of(&root, "fx-run-desk");
        write_kill(&root, "fx-run-desk", 7).expect("written");
        assert_eq!(file.take(), Some(Ok(7)));
        assert!(!path.exists(), "the name is free for the next kill");
        write_kill(&root, "fx-run-desk", 8).expect("written");
        let mut of_the_next = KillFile::of(&root, "fx-run-desk");
        assert_eq!(of_the_next.take(), Some(Ok(7)));
        assert_eq!(of_the_next.take(), Some(Ok(8)));
        assert_eq!(of_the_next.take(), None);
        assert_eq!(names(&folder), [""; 0]);
        // A file that cannot be renamed is taken in its place, once.
        fs::create_dir(folder.join(".fx-run-desk.kill-taken")).expect("a folder");
        write_kill(&root, "fx-run-desk", 9).expect("written");
        assert_eq!(of_the_next.take(), Some(Ok(9)));
        assert_eq!(of_the_next.take(), None);
        write_kill(&root, "fx-run-desk", 10).expect("written");
        assert_eq!(of_the_next.take(), Some(Ok(10)));
    }

    /// A kill is taken once, with its number; a file of another user is refused, and reported once.
    #[test]
    fn a_kill_file_is_taken_once_and_only_of_its_user() {
        let folder = Folder::new("kill");
        let root = Root::at(&folder);
        let mut file = KillFile::of(&root, "fx-run-desk");
        assert_eq!(file.take(), None);
        write_kill(&root, "fx-run-desk", 7).expect("written");
        let path = path_of(&folder, "fx-run-desk");
        // An engine that dies before it has recorded it leaves it to the next one.
        let mut of_the_next = KillFile::of(&root, "fx-run-desk");
        assert_eq!(file.take(), Some(Ok(7)));
        assert_eq!(of_the_next.take(), Some(Ok(7)));
        assert_eq!(file.take(), None);
        assert_eq!(names(&folder), [""; 0], "it is removed");
        fs::write(&path, "7").expect("written");
        assert_eq!(file.take(), None, "the same kill");
        fs::write(&path, "kill").expect("written");
        assert!(file.take().is_some_and(|taken| taken.is_err()));
        assert_eq!(file.take(), None, "reported once");
        fs::remove_file(&path).expect("removed");
        assert_eq!(file.take(), None);
        fs::write(folder.join("other"), "8").expect("written");
        symlink(folder.join("other"), &path).expect("a link");
        assert!(file.take().is_some_and(|taken| taken.is_err()), "a link");
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "9").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("set");
        assert!(
            file.take().is_some_and(|taken| taken.is_err()),
            "of anybody"
        );
        let mut of_other = KillFile::of(&root.clone().owned_by(u32::MAX - 7), "fx-run-desk");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        assert!(
            of_other.take().is_some_and(|taken| taken.is_err()),
            "of another user"
        );
        assert_eq!(file.take(), Some(Ok(9)));
    }
}
