//! Files that a user names: opened without waiting for ever, read up to a limit.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time that a pipe has for its first bytes, and for all of a text.
const PIPE_WAIT: Duration = Duration::from_secs(5);
/// Unit of reads.
const CHUNK_BYTES: u64 = 64 << 10;

/// Opens a file, or a pipe that has data.
///
/// # Errors
/// It cannot be opened, is neither, or is a pipe without data for five seconds.
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    let (file, is_pipe) = open_any(path.as_ref())?;
    if is_pipe {
        wait_for_data(&file, Instant::now() + PIPE_WAIT)?;
    }
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Bytes of a file, or of a pipe that ends within five seconds.
///
/// # Errors
/// As [`open`]; or there are more than `bytes_max` bytes.
pub fn read(path: impl AsRef<Path>, bytes_max: u64) -> Result<Vec<u8>> {
    let (mut file, is_pipe) = open_any(path.as_ref())?;
    let deadline = Instant::now() + PIPE_WAIT;
    let mut bytes = Vec::new();
    loop {
        if is_pipe {
            wait_for_data(&file, deadline)?;
        }
        // A longer file is not taken into memory.
        let rest = (bytes_max + 1).saturating_sub(bytes.len() as u64);
        match (&mut file)
            .take(rest.min(CHUNK_BYTES))
            .read_to_end(&mut bytes)
        {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if bytes.len() as u64 > bytes_max {
            let what = format!("it has more than {bytes_max} bytes");
            return Err(Error::new(ErrorKind::FileTooLarge, what));
        }
    }
}

/// Text of a file, in UTF-8: [`read`].
///
/// # Errors
/// As [`read`]; or it is not text in UTF-8.
pub fn read_text(path: impl AsRef<Path>, bytes_max: u64) -> Result<String> {
    String::from_utf8(read(path, bytes_max)?)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// Opens without waiting: a pipe without a writer must not block. Whether it is a pipe.
fn open_any(path: &Path) -> Result<(File, bool)> {
    let nonblock = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblock)
        .open(path)?;
    let refused = |kind, what: &str| Err(Error::new(kind, what));
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok((file, false)),
        FileType::Fifo => Ok((file, true)),
        FileType::Directory => refused(ErrorKind::IsADirectory, "it is a directory"),
        _ => refused(
            ErrorKind::InvalidInput,
            "it is neither a regular file nor a pipe",
        ),
    }
}

/// Waits until a pipe has data or its writers have closed it.
fn wait_for_data(file: &File, deadline: Instant) -> Result<()> {
    let mut ready = [PollFd::new(file, PollFlags::IN)];
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        let rest = Timespec::try_from(rest).map_err(Error::other)?;
        return match poll(&mut ready, Some(&rest)) {
            Ok(0) => Err(Error::new(
                ErrorKind::TimedOut,
                format!(
                    "it is a pipe that gave no data for {} s",
                    PIPE_WAIT.as_secs()
                ),
            )),
            Ok(_) => Ok(()),
            // A signal interrupted the wait: wait again.
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => Err(error.into()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use touchline_testing::Folder;

    fn fifo(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("pipe");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0).unwrap();
        path
    }

    /// A pipe without a writer, a pipe whose writer never ends, an endless device, a directory.
    #[test]
    fn what_is_not_a_file_is_refused_in_time() {
        let begun = Instant::now();
        for (path, words) in [
            ("/dev/zero", "neither a regular file"),
            ("/tmp", "a directory"),
            ("/dev/null", "neither a regular file"),
        ] {
            let error = read_text(path, 1024).unwrap_err().to_string();
            assert!(error.contains(words), "{path}: {error}");
            let error = open(path).unwrap_err().to_string();
            assert!(error.contains(words), "{path}: {error}");
        }
        assert!(begun.elapsed() < PIPE_WAIT);
        let folders = [(); 2].map(|()| Folder::new("pipes"));
        let silent = fifo(&folders[0]);
        for error in [
            read(&silent, 1024).map(drop).unwrap_err(),
            open(&silent).map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        }
        let endless = fifo(&folders[1]);
        let path = endless.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
            // The reader gives up, which ends this.
            while pipe.write_all(b"#").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let error = read(&endless, 1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        writer.join().unwrap();
    }

    #[test]
    fn a_file_and_a_pipe_with_data_are_read_up_to_the_limit() {
        let folder = Folder::new("pipe");
        let pipe = fifo(&folder);
        for (bytes, is_whole) in [(200_000, true), (200_001, false)] {
            let path = pipe.clone();
            let writer = std::thread::spawn(move || {
                let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
                let _ = pipe.write_all(&vec![b'x'; bytes]);
            });
            let read = read_text(&pipe, 200_000);
            assert_eq!(read.is_ok(), is_whole, "{bytes}");
            writer.join().unwrap();
        }
        std::fs::remove_file(&pipe).unwrap();
        std::fs::write(&pipe, [b'x'; 10]).unwrap();
        assert_eq!(read(&pipe, 10).unwrap().len(), 10);
        let error = read(&pipe, 9).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 9 bytes");
        std::fs::write(&pipe, [0xff]).unwrap();
        let error = read_text(&pipe, 10).unwrap_err();
        assert_eq!(error.to_string(), "it is not text in UTF-8");
    }
}
