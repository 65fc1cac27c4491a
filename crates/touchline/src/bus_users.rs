//! Processes of this host that have a file of a bus mapped, unnamed readers included.

use rustix::io::Errno;
use std::fmt;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;
use touchline_client::words::Visible;
use touchline_transport::shm::Root;

/// A process that has files of a bus mapped, or may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pid: u32,
    program: String,
    /// Its mappings cannot be read, as those of every process that has read a secret.
    is_hidden: bool,
}

impl User {
    /// Whether it is the process of this id.
    pub fn is(&self, pid: u32) -> bool {
        self.pid == pid
    }
}

impl fmt::Display for User {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = match self.is_hidden {
            true => ", which hides what it reads because it has a secret",
            false => "",
        };
        write!(out, "process {} ({}){hidden}", self.pid, self.program)
    }
}

/// Other processes that have a file of the bus mapped, by process id, and processes of this program and user that may have, as they hide
/// their mappings. Those of another user are listed only with the permission to read their maps; the files of a bus are accessible to
/// their owner only.
pub fn of(root: &Root, bus: &str) -> Vec<User> {
    // The kernel reports paths with symbolic links resolved.
    let Ok(directory) = fs::canonicalize(root.path().join(bus)) else {
        return Vec::new();
    };
    listed(Path::new("/proc"), &directory)
}

fn listed(proc: &Path, directory: &Path) -> Vec<User> {
    let Ok(entries) = fs::read_dir(proc) else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let us = std::process::id();
    let mut users: Vec<User> = pids
        .filter(|pid| *pid != us)
        .filter_map(|pid| user(&proc.join(pid.to_string()), pid, directory))
        .collect();
    users.sort_by_key(|user| user.pid);
    users
}

/// The process of a folder of `/proc`, if it has a file below the directory mapped, or may have.
fn user(folder: &Path, pid: u32, directory: &Path) -> Option<User> {
    let is_hidden = match fs::read(folder.join("maps")) {
        Ok(maps) => {
            let maps = String::from_utf8_lossy(&maps);
            if !maps.lines().any(|line| is_of(line, directory)) {
                return None;
            }
            false
        }
        Err(gone) if is_gone(&gone) => return None,
        Err(_) if !may_read_buses(folder) => return None,
        Err(_) => true,
    };
    Some(User {
        pid,
        program: program_of(folder),
        is_hidden,
    })
}

fn is_gone(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound || Errno::from_io_error(error) == Some(Errno::SRCH)
}

/// Whether a process that hides its mappings is one of this program and user that may read a bus. Gateways read none; the lock of the
/// bus that one writes is looked at before.
fn may_read_buses(folder: &Path) -> bool {
    let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let user = users.and_then(|users| users.split_whitespace().next());
    let words = fs::read(folder.join("cmdline")).unwrap_or_default();
    let command = words.split(|byte| *byte == 0).nth(1);
    user == Some(rustix::process::getuid().as_raw().to_string().as_str())
        && program_of(folder).starts_with("touchline")
        && command != Some(b"gateway")
}

/// A line is `address rights offset device inode    path`, with ` (deleted)` after the path of a removed file.
fn is_of(line: &str, directory: &Path) -> bool {
    let path = line.find('/').map(|start| &line[start..]);
    path.is_some_and(|path| !path.ends_with(" (deleted)") && Path::new(path).starts_with(directory))
}

fn program_of(folder: &Path) -> String {
    let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
    Visible(name.trim_end()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_belongs_to_a_bus_by_its_complete_path() {
        let directory = Path::new("/dev/shm/a place/lab");
        let line = |path: &str| format!("7f00-7f01 r--s 00000000 00:1a 2178    {path}");
        for (path, is_of_it) in [
            ("/dev/shm/a place/lab/ring", true),
            ("/dev/shm/a place/lab/boards/tail/counters", true),
            ("/dev/shm/a place/lab2/ring", false),
            ("/dev/shm/a place/lab/ring (deleted)", false),
            ("[stack]", false),
        ] {
            assert_eq!(is_of(&line(path), directory), is_of_it, "{path}");
        }
    }

    /// A process that has read a secret hides its mappings from its own user. A reader among them is not taken for one that maps nothing.
    #[test]
    fn a_process_that_hides_its_mappings_may_read_the_bus() {
        let folder = touchline_testing::Folder::new("bus-users");
        let us = rustix::process::getuid().as_raw();
        let process = |pid: u32, (user, comm, command): (u32, &str, &str), maps: Option<&str>| {
            let place = folder.join(pid.to_string());
            fs::create_dir(&place).expect("our folder");
            let status = format!("Name:\t{comm}\nUid:\t{user}\t{user}\t{user}\t{user}\n");
            let cmdline = format!("/usr/bin/{comm}\0{command}\0--config\0f\0");
            for (name, text) in [
                ("status", status),
                ("comm", comm.to_owned()),
                ("cmdline", cmdline),
            ] {
                fs::write(place.join(name), text).expect("our folder");
            }
            // A folder cannot be read, also by the user of this test, who may be root.
            match maps {
                Some(maps) => fs::write(place.join("maps"), maps).expect("our folder"),
                None => fs::create_dir(place.join("maps")).expect("our folder"),
            }
        };
        let ours = (us, "touchline", "fx");
        process(11, ours, None);
        process(12, (us, "touchline", "gateway"), None);
        process(13, (us + 1, "touchline", "fx"), None);
        process(14, (us, "sh", "fx"), None);
        process(
            15,
            ours,
            Some("7f00-7f01 r--s 0 00:1a 2178    /dev/shm/t/lab/ring\n"),
        );
        process(
            16,
            ours,
            Some("7f00-7f01 r--s 0 00:1a 2178    /dev/shm/t/other/ring\n"),
        );
        // One that has just ended.
        fs::create_dir(folder.join("17")).expect("our folder");
        let users = listed(&folder, Path::new("/dev/shm/t/lab"));
        let said: Vec<String> = users.iter().map(ToString::to_string).collect();
        let hidden = "process 11 (touchline), which hides what it reads because it has a secret";
        assert_eq!(said, [hidden, "process 15 (touchline)"]);
    }
}
