//! Users and groups: whose buses a reader trusts, and the group to which a writer gives its bus.

use super::error::Error;
use super::users::{NO_USER, this_user};
use rustix::fs::{AtFlags, Gid, Mode, Stat};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

/// Most rights of users other than the owner: the group reads, all others have none.
pub const DIRECTORY_MODE_MAX: u32 = 0o750;
/// User whose buses a reader trusts, a number.
const OWNER: &str = "TOUCHLINE_OWNER";
/// A directory of this name and a user's number is for the buses of that user.
const NAME_OF_USER: &str = "touchline-";
/// Longest entry of a group that is read.
const ENTRY_BYTES_MAX: usize = 1 << 20;

/// Stated owner of a directory of buses: by the environment variable, or else by the directory's name.
///
/// A value of the variable that is not a number stands for a user who owns no file.
pub fn stated_owner(path: &Path) -> Option<u32> {
    if let Some(stated) = std::env::var_os(OWNER) {
        let number = stated.to_str().and_then(|text| text.parse().ok());
        return Some(number.unwrap_or(NO_USER));
    }
    let name = path.file_name()?.to_str()?;
    let number = name.strip_prefix(NAME_OF_USER)?;
    let user = number.parse::<u32>().ok()?;
    // `+7` and `007` are numbers, and not the name of a user's directory.
    (user.to_string() == number).then_some(user)
}

/// Number of a group, from its name or its number.
pub fn group_of(name: &str) -> Result<u32, Error> {
    match name.parse() {
        // The system reads this number as "do not change the group".
        Ok(u32::MAX) => Err(Error::NoGroup { name: name.into() }),
        Ok(number) => Ok(number),
        Err(_) => by_name(name).ok_or_else(|| Error::NoGroup {
            name: name.chars().take(100).collect(),
        }),
    }
}

/// Number of a group of the system's databases.
fn by_name(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    let mut room = vec![0; 1 << 10];
    loop {
        let mut found = std::ptr::null_mut();
        // SAFETY: all zeros are a valid `group`: null pointers and a number.
        let mut entry: libc::group = unsafe { std::mem::zeroed() };
        // SAFETY: the name ends with a zero; `entry`, `room` with its length, and `found` are valid for writing during the
        // call, which keeps none of them.
        let result = unsafe {
            libc::getgrnam_r(
                name.as_ptr(),
                &mut entry,
                room.as_mut_ptr(),
                room.len(),
                &mut found,
            )
        };
        match result {
            0 => return (!found.is_null()).then_some(entry.gr_gid),
            libc::ERANGE if room.len() < ENTRY_BYTES_MAX => room.resize(room.len() * 2, 0),
            _ => return None,
        }
    }
}

/// Gives a file or directory to a group, if there is one, and sets its mode; changes only attributes that differ. The handle
/// may be one opened with `PATH`.
pub fn give(
    handle: BorrowedFd<'_>,
    stat: &Stat,
    group: Option<u32>,
    mode: u32,
    path: impl Fn() -> std::path::PathBuf,
) -> Result<(), Error> {
    if let Some(group) = group.filter(|group| *group != stat.st_gid) {
        let itself = AtFlags::EMPTY_PATH;
        let given = rustix::fs::chownat(handle, "", None, Some(Gid::from_raw(group)), itself);
        given.map_err(|error| not_given(error, group, path()))?;
    }
    if stat.st_mode & 0o777 != mode {
        // The handle cannot be exchanged for another file; `fchmod` refuses one opened with `PATH`.
        let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
        rustix::fs::chmod(link, Mode::from_raw_mode(mode))
            .map_err(Error::system("set the mode of", path()))?;
    }
    Ok(())
}

/// [`give`] of an open file or directory.
pub fn give_file(
    handle: BorrowedFd<'_>,
    group: Option<u32>,
    mode: u32,
    path: impl Fn() -> std::path::PathBuf,
) -> Result<(), Error> {
    let stat =
        rustix::fs::fstat(handle).map_err(|error| Error::system("examine", path())(error))?;
    give(handle, &stat, group, mode, path)
}

fn not_given(error: Errno, group: u32, path: std::path::PathBuf) -> Error {
    match error {
        Errno::PERM | Errno::INVAL => Error::NotMember {
            path,
            group,
            user: this_user(),
            is_unmapped: error == Errno::INVAL,
        },
        other => Error::system("change the group of", path)(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_the_name_of_a_user_is_that_users() {
        for (path, owner) in [
            ("/dev/shm/touchline-1000", Some(1000)),
            ("touchline-0", Some(0)),
            ("/dev/shm/touchline-1000/cme", None),
            ("/dev/shm/touchline-007", None),
            ("/dev/shm/touchline-+7", None),
            ("/dev/shm/touchline-x", None),
            ("/dev/shm/touchline-99999999999", None),
            ("/dev/shm/buses", None),
            ("/", None),
        ] {
            assert_eq!(stated_owner(Path::new(path)), owner, "{path}");
        }
    }

    #[test]
    fn a_group_is_found_by_name_or_number() {
        assert_eq!(group_of("root").unwrap(), 0);
        assert_eq!(group_of("5001").unwrap(), 5001);
        let error = group_of("no such group").unwrap_err().to_string();
        assert!(error.contains("no such group"), "{error}");
        assert!(group_of("a\0b").is_err());
        assert!(group_of("4294967295").is_err());
    }
}
