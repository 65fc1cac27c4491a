//! One writer for each bus: the first to start, until it ends.

use super::Build;
use super::directory::{self, WrittenBy};
use super::name::Name;
use super::ofd::LockFile;
use super::{Directory, Error, flock, space};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// It names the writer to every process that queries it. The guarantee of a single writer does not rest on it alone.
const FILE: &str = "lock";
/// Locked by the writer.
const WRITER_BYTE: u64 = 0;
/// Locked by the writer once the file names it, so that no query returns its predecessor.
const SIGNED_BYTE: u64 = 1;
const SIGNATURE_BYTES_MAX: usize = 512;
/// Number of checks for the signature of a starting writer, and their interval.
const LOOKS: u32 = 50;
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// The right to write a bus. Released when dropped, or by the system when the process dies.
#[derive(Debug)]
pub struct WriterLock {
    directory: Directory,
    /// The open file holds the lock.
    file: LockFile,
    file_name: Name,
    /// Released last: until then no other writer starts.
    folder: FolderLock,
}

impl WriterLock {
    /// Takes the bus and removes unfinished files of an earlier writer.
    ///
    /// # Errors
    /// [`Error::Busy`] names the writer, [`Error::InUse`] likewise if its lock file was removed. [`Error::Missing`]:
    /// the bus was just removed, see [`WriterLock::remove_directory`].
    pub fn acquire(directory: Directory) -> Result<Self, Error> {
        // A process without write access is refused here, and delays no other.
        let file = LockFile::from(directory.open_or_create_file(FILE, WrittenBy::Owner)?);
        let folder = FolderLock::acquire(&directory)?;
        let path = directory.path_of(FILE);
        let failed = || Error::system("lock", &path);
        // mutant: shm: two writers hold the lock
        if !file.try_lock(WRITER_BYTE).map_err(failed())? {
            return Err(Error::Busy {
                bus: directory.name().to_owned(),
                holder: wait_for_signature(&file),
            });
        }
        let lock = Self {
            file_name: Name::new(path.clone(), &file).map_err(failed())?,
            directory,
            file,
            folder,
        };
        // Its last holder may have removed it after this open: then it locks nothing.
        if let Some(path) = lock.lost_name() {
            let path = path.to_owned();
            return Err(Error::Missing { path });
        }
        sign(&lock.file).map_err(failed())?;
        lock.file.try_lock(SIGNED_BYTE).map_err(failed())?;
        remove_unfinished(&lock.directory)?;
        Ok(lock)
    }

    /// A name that no longer leads here: the path of the bus, or that of its lock file. Another writer may then start
    /// under it, and other processes cannot find this one. Two system calls.
    pub fn lost_name(&self) -> Option<&Path> {
        let names = [&self.folder.name, &self.file_name];
        names
            .into_iter()
            .find(|name| name.is_lost())
            .map(Name::path)
    }

    /// Present writer of a bus, without affecting it. `None`: there is none.
    pub fn holder(directory: &Directory) -> Result<Option<Holder>, Error> {
        let Some(file) = lock_of(directory)? else {
            return Ok(None);
        };
        Ok(Some(wait_for_signature(&file)))
    }

    /// Build of the present or last writer of a bus; `None` if it states none.
    pub fn last_build(directory: &Directory) -> Option<Build> {
        let (file, _) = directory
            .open_file(FILE, OFlags::RDONLY, WrittenBy::Owner)
            .ok()?;
        let holder = read_signature(&LockFile::from(file))?;
        holder.build.map(|build| *build)
    }

    /// Whether a bus has a writer. As [`WriterLock::holder`], but without waiting for its signature.
    pub fn is_held(directory: &Directory) -> Result<bool, Error> {
        Ok(lock_of(directory)?.is_some())
    }

    /// The bus that may be written.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Removes a file that this bus no longer uses. Readers that have it mapped keep it.
    pub fn remove(&self, file: &str) -> Result<(), Error> {
        directory::check_name("file", file)?;
        self.directory.remove_file(file)
    }

    /// Removes the directory with all its files, and releases the lock. Readers that have a file mapped keep it. A
    /// process that takes the lock at this moment finds the directory removed.
    ///
    /// # Errors
    /// A system call failed, or another process created a file in it meanwhile.
    pub fn remove_directory(self) -> Result<(), Error> {
        let entries = directory::entries(self.directory.handle())
            .map_err(Error::system("list", self.directory.path()))?;
        let others = |name: &&String| !matches!(name.as_str(), "." | ".." | FILE);
        for name in entries.iter().filter(others) {
            self.directory.remove_file(name)?;
        }
        // The lock file last: no other writer starts before that.
        self.directory.remove_file(FILE)?;
        self.directory.remove_itself()
    }
}

/// Lock on the directory itself, which survives the removal of files in it.
#[derive(Debug)]
struct FolderLock {
    folder: OwnedFd,
    name: Name,
}

impl FolderLock {
    fn acquire(directory: &Directory) -> Result<Self, Error> {
        let path = directory.path();
        let failed = || Error::system("lock", &path);
        let folder = directory.open_readable().map_err(failed())?;
        let name = Name::new(path.clone(), &folder).map_err(failed())?;
        // Its holder is about to take or release the lock file; or has lost it.
        for _ in 0..LOOKS {
            if flock::try_lock(&folder).map_err(failed())? {
                return Ok(Self { folder, name });
            }
            if let Some(holder) = WriterLock::holder(directory)? {
                return Err(Error::Busy {
                    bus: directory.name().to_owned(),
                    holder,
                });
            }
            std::thread::sleep(LOOK);
        }
        Err(Error::InUse {
            process: flock::holder(name.identity()),
            path,
        })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        flock::unlock(&self.folder);
    }
}

/// Name of a file before it is complete, which readers cannot ask for.
pub(super) fn unfinished_name(file: &str) -> String {
    format!(".{file}.new")
}

fn remove_unfinished(directory: &Directory) -> Result<(), Error> {
    let entries =
        directory::entries(directory.handle()).map_err(Error::system("list", directory.path()))?;
    for name in entries {
        if name.starts_with('.') && name.ends_with(".new") {
            directory.remove_file(&name)?;
        }
    }
    Ok(())
}

/// Process that writes a bus, as stated by its signature. Zeros and empty if it has not signed: it
/// started just now, or the bus is on `hugetlbfs`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its process id, in its own namespace.
    pub pid: u32,
    /// Program and subcommand; no further arguments, which may contain secrets.
    pub command: String,
    /// When it took the bus, seconds since 1970-01-01 UTC.
    pub since_unix_s: u64,
    /// Build of the program, if it states that. Boxed, because errors have a holder.
    pub build: Option<Box<Build>>,
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid == 0 {
            return out.write_str("a process without a signature");
        }
        let (days, second) = (self.since_unix_s / 86_400, self.since_unix_s % 86_400);
        let (year, month, day) = civil_date(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(
            out,
            "process {} ({}), since {year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC",
            self.pid, self.command
        )?;
        match self.build.as_deref().and_then(Build::unusual_profile) {
            Some(profile) => write!(out, ", profile {profile}"),
            None => Ok(()),
        }
    }
}

impl Holder {
    fn this_process() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            pid: std::process::id(),
            command: command_of(std::env::args_os().map(|a| a.to_string_lossy().into_owned())),
            since_unix_s: since.map_or(0, |d| d.as_secs()),
            build: Build::stated().map(Box::new),
        }
    }

    fn signature(&self) -> String {
        let build = self.build.as_deref().map(Build::signature);
        format!(
            "pid {}\nsince_unix_s {}\ncommand {}\n{}\n",
            self.pid,
            self.since_unix_s,
            self.command,
            build.map_or(String::new(), |build| format!("build {build}"))
        )
    }

    fn parse(signature: &str) -> Option<Self> {
        let mut lines = signature.lines();
        Some(Self {
            pid: lines.next()?.strip_prefix("pid ")?.parse().ok()?,
            since_unix_s: lines.next()?.strip_prefix("since_unix_s ")?.parse().ok()?,
            command: printable(lines.next()?.strip_prefix("command ")?),
            // Of an earlier release without it.
            build: (lines.next())
                .and_then(|line| line.strip_prefix("build "))
                .and_then(Build::parse)
                .map(Box::new),
        })
    }
}

/// Name of the program, and its subcommand if there is one.
fn command_of(arguments: impl Iterator<Item = String>) -> String {
    let mut arguments = arguments;
    let program = arguments.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let word = |a: &String| {
        a.starts_with(|c: char| c.is_ascii_lowercase())
            && a.bytes().all(|c| c.is_ascii_lowercase() || c == b'-')
    };
    match arguments.next().filter(word) {
        Some(subcommand) => printable(&format!("{program} {subcommand}")),
        None => printable(program),
    }
}

pub(super) fn printable(text: &str) -> String {
    let shown = |c: char| {
        if c == ' ' || c.is_ascii_graphic() {
            c
        } else {
            '?'
        }
    };
    text.chars().take(100).map(shown).collect()
}

fn sign(file: &LockFile) -> Result<(), Errno> {
    if space::is_hugetlbfs(file) {
        return Ok(()); // files there can be mapped but not written; the second writer learns less
    }
    // In place and always with the same length, so that it fits on a full file system.
    let text = Holder::this_process().signature();
    let text = format!("{text:<SIGNATURE_BYTES_MAX$}");
    rustix::io::pwrite(file, text.as_bytes(), 0)?;
    Ok(())
}

/// Lock file of a bus, if it is locked.
fn lock_of(directory: &Directory) -> Result<Option<LockFile>, Error> {
    let file = match directory.open_file(FILE, OFlags::RDONLY, WrittenBy::Owner) {
        Ok((file, _)) => LockFile::from(file),
        Err(Error::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let held = file.is_held(WRITER_BYTE);
    let failed = |error| Error::system("look at the lock of", directory.path_of(FILE))(error);
    Ok(held.map_err(failed)?.then_some(file))
}

/// Signature of the holder, which may have taken the lock just now.
fn wait_for_signature(file: &LockFile) -> Holder {
    for _ in 0..LOOKS {
        if file.is_held(SIGNED_BYTE) == Ok(true) {
            return read_signature(file).unwrap_or_default();
        }
        std::thread::sleep(LOOK);
    }
    Holder::default()
}

fn read_signature(file: &LockFile) -> Option<Holder> {
    let mut text = [0; SIGNATURE_BYTES_MAX];
    let length = rustix::io::pread(file, &mut text, 0).ok()?;
    Holder::parse(std::str::from_utf8(&text[..length]).ok()?)
}

/// Year, month and day of a number of days since 1970-01-01, Gregorian.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut rest = days.min(365 * 8_000); // a file may claim any time; the loop must end soon
    let mut year = 1970;
    while rest >= 365 + u64::from(leap(year)) {
        rest -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < days {
            break;
        }
        rest -= days;
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(arguments: &[&str]) -> String {
        command_of(arguments.iter().map(|a| a.to_string()))
    }

    #[test]
    fn the_command_of_a_holder_has_no_arguments() {
        assert_eq!(
            command(&["/opt/touchline", "gateway", "--key", "s3cret"]),
            "touchline gateway"
        );
        assert_eq!(
            command(&["touchline", "--key=s3cret", "gateway"]),
            "touchline"
        );
        assert_eq!(command(&["touchline", "s3cret"]), "touchline");
        assert_eq!(command(&["touch\x1b[2Jline"]), "touch?[2Jline");
        assert_eq!(command(&[]), "");
    }

    #[test]
    fn a_holder_is_read_back_and_one_with_a_damaged_signature_is_not() {
        let holder = Holder {
            pid: u32::MAX,
            command: "touchline gateway".to_owned(),
            since_unix_s: u64::MAX,
            build: None,
        };
        assert_eq!(Holder::parse(&holder.signature()), Some(holder.clone()));
        let build = Build::parse("0.1.0 3c27d24ab1 dev").map(Box::new);
        let built = Holder { build, ..holder };
        let signed = format!("{:<SIGNATURE_BYTES_MAX$}", built.signature());
        assert_eq!(Holder::parse(&signed), Some(built));
        for spoilt in [
            "",
            "pid",
            "pid x\n",
            "pid 1\nsince_unix_s -1\ncommand a\n",
            "pid 1\n",
        ] {
            assert_eq!(Holder::parse(spoilt), None, "{spoilt:?}");
        }
    }

    #[test]
    fn a_holder_is_printed_with_its_date() {
        let told = |since_unix_s| {
            let command = "touchline gateway".to_owned();
            let holder = Holder {
                pid: 4711,
                command,
                since_unix_s,
                build: None,
            };
            holder.to_string()
        };
        assert_eq!(
            told(1_709_208_184),
            "process 4711 (touchline gateway), since 2024-02-29 12:03:04 UTC"
        );
        assert!(told(0).ends_with("since 1970-01-01 00:00:00 UTC"));
        assert!(told(951_868_799).ends_with("since 2000-02-29 23:59:59 UTC"));
        assert!(told(4_107_542_400).ends_with("since 2100-03-01 00:00:00 UTC"));
        assert!(told(1_798_761_599).ends_with("since 2026-12-31 23:59:59 UTC"));
        told(u64::MAX);
        let of = |profile| Holder {
            pid: 4711,
            build: Build::parse(&format!("0.1.0 3c27d24ab1 {profile}")).map(Box::new),
            ..Holder::default()
        };
        assert!(of("release").to_string().ends_with(" UTC"));
        assert!(of("dev").to_string().ends_with(" UTC, profile dev"));
    }
}
