//! Processes of this host that have a file of a bus mapped, unnamed readers included.

use std::fmt;
use std::fs;
use std::path::Path;
use touchline_client::words::Visible;
use touchline_transport::shm::Root;

/// A process that has files of a bus mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pid: u32,
    program: String,
}

impl fmt::Display for User {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "process {} ({})", self.pid, self.program)
    }
}

/// Other processes that have a file of the bus mapped, by process id. Processes of another user are listed only with
/// the permission to read their maps; the files of a bus are accessible to their owner only.
pub fn of(root: &Root, bus: &str) -> Vec<User> {
    // The kernel reports paths with symbolic links resolved.
    let Ok(directory) = fs::canonicalize(root.path().join(bus)) else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let us = std::process::id();
    let mut users: Vec<User> = pids
        .filter(|pid| *pid != us && maps_a_file_of(*pid, &directory))
        .map(|pid| User {
            pid,
            program: program_of(pid),
        })
        .collect();
    users.sort_by_key(|user| user.pid);
    users
}

fn maps_a_file_of(pid: u32, directory: &Path) -> bool {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    maps.lines().any(|line| is_of(line, directory))
}

/// A line is `address rights offset device inode    path`, with ` (deleted)` after the path of a removed file.
fn is_of(line: &str, directory: &Path) -> bool {
    let path = line.find('/').map(|start| &line[start..]);
    path.is_some_and(|path| !path.ends_with(" (deleted)") && Path::new(path).starts_with(directory))
}

fn program_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
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
}
