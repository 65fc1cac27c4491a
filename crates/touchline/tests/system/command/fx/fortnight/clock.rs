//! The wall clock of the processes of a test: a library that is loaded before the C library adds an offset to `CLOCK_REALTIME`. The
//! processes are unchanged, and have no setting that moves their clock: simulated banks are the only ones that agree with the time.

use crate::command::Desk;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use touchline_transport::clock::wall_ns;

const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *offset_ns;

__attribute__((constructor)) static void open_offset(void) {
    const char *path = getenv("CLOCK_OFFSET");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *at = mmap(0, sizeof *offset_ns, PROT_READ, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) offset_ns = at;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && offset_ns && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        long long ns = time->tv_sec * 1000000000LL + time->tv_nsec + *offset_ns;
        time->tv_sec = ns / 1000000000LL;
        time->tv_nsec = ns % 1000000000LL;
    }
    return result;
}
"#;

/// A wall clock that the test sets.
pub struct Clock {
    library: PathBuf,
    path: PathBuf,
    offset: File,
    offset_ns: i64,
}

impl Clock {
    /// A clock with the host's time. None: there is no C compiler.
    pub fn build(desk: &Desk) -> Option<Clock> {
        desk.write("clock.c", SOURCE);
        let library = desk.path("clock.so");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library);
        let built = compiler.arg(desk.path("clock.c")).status().ok()?;
        assert!(built.success(), "{built}");
        let path = desk.path("clock.offset");
        let offset = File::create(&path).expect("our folder");
        let mut clock = Clock {
            library,
            path,
            offset,
            offset_ns: 0,
        };
        clock.write();
        Some(clock)
    }

    /// Nanoseconds since 1970.
    pub fn now_ns(&self) -> u64 {
        wall_ns().saturating_add_signed(self.offset_ns)
    }

    /// Sets the clock this much ahead.
    pub fn step(&mut self, step_ns: i64) {
        self.offset_ns += step_ns;
        self.write();
    }

    fn write(&mut self) {
        let bytes = self.offset_ns.to_ne_bytes();
        self.offset.write_all_at(&bytes, 0).expect("our folder");
    }

    /// Gives this clock to a command.
    pub fn of(&self, mut command: Command) -> Command {
        command
            .env("LD_PRELOAD", &self.library)
            .env("CLOCK_OFFSET", &self.path);
        command
    }
}
