//! kill -9 of a media driver that runs outside of the relays.

use super::books::{Gateway, becomes_right, becomes_stale};
use super::{Desk, Relay};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use touchline_aeron::{Driver, DriverSettings, Threading};
use touchline_lab::random::Random;
use touchline_testing::{Process, free_port, with_role};
use touchline_transport::shm::Root;

/// A process that runs a media driver. Killed when it goes out of scope.
struct External {
    process: Process,
    folder: PathBuf,
}

const READY: &str = "the driver runs";

impl External {
    fn start(folder: &Path) -> External {
        let (_, module) = module_path!().split_once("::").expect("not the root");
        let mut command = with_role(&[], &format!("{module}::play"), "driver", folder);
        let mut process = Process::start(command.stdin(Stdio::piped()));
        process.wait_for_line(READY);
        External {
            process,
            folder: folder.to_owned(),
        }
    }

    /// kill -9. Its folder stays, as after any kill.
    fn kill(&mut self) {
        self.process.kill();
        assert!(self.folder.exists(), "{}", self.folder.display());
    }
}

impl Drop for External {
    fn drop(&mut self) {
        // The folder of one that was killed belongs to the next one.
        if self.process.is_running() {
            self.process.kill();
            let _ = std::fs::remove_dir_all(&self.folder);
            let _ = std::fs::remove_file(self.folder.with_extension("lock"));
        }
    }
}

/// Entry of the process that runs a driver; without effect in the run of all tests.
#[test]
fn play() {
    let Some((_, folder)) = touchline_testing::role() else {
        return;
    };
    let sleep = Duration::from_micros(100);
    let settings = DriverSettings {
        threading: Threading::Shared { sleep },
        streams: 4,
        term_bytes: 1024 * 1024,
        ..DriverSettings::at(folder)
    };
    let _driver = Driver::start(&settings).expect("a folder of our own");
    println!("{READY}");
    // Until the parent ends, or kills this.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// A relay of the configuration `NAME.toml`.
fn relay(desk: &Desk, name: &str, driver: &External, link: &str) -> Relay {
    let file = desk.folder.join(format!("{name}.toml"));
    let driver = driver.folder.display();
    let text = format!("driver = \"{driver}\"\n{link}");
    std::fs::write(&file, text).expect("our folder");
    Relay::start(desk, &["--config", file.to_str().expect("a plain path")])
}

/// The relay whose driver is gone ends, with one line that names the driver; the one on the other host stays, and its books
/// are stale.
#[test]
fn a_killed_external_driver_ends_its_relay_and_a_restart_of_both_recovers() {
    let desk = Desk::bare("relay-aeron-driver");
    let root = Root::at(desk.folder.join("buses"));
    let mut gateway = Gateway::start(&root, 9);
    let mut random = Random::from_seed(9);
    gateway.publish(200);
    let folder = |side: &str| {
        let id = std::process::id();
        PathBuf::from(format!("/dev/shm/touchline-test-driver-{side}-{id}"))
    };
    let mut drivers = ["a", "b"].map(|side| External::start(&folder(side)));
    let channel = format!("aeron:udp?endpoint=127.0.0.1:{}", free_port());
    let control = format!(
        "control = \"aeron:udp?endpoint=127.0.0.1:{}\"\n",
        free_port()
    );
    let links = [
        format!("[[send]]\nbus = \"a\"\nto = \"{channel}\"\n{control}"),
        format!("[[receive]]\nfrom = \"{channel}\"\nbus = \"b\"\n{control}"),
    ];
    let start = |side: usize, driver: &External| {
        relay(&desk, ["send", "receive"][side], driver, &links[side])
    };
    let mut relays = [start(0, &drivers[0]), start(1, &drivers[1])];
    becomes_right(&root, "at the start");
    for side in 0..2 {
        let what = format!("driver of relay {side} killed");
        let flow = gateway.begins_flow(&mut random);
        drivers[side].kill();
        becomes_stale(&root, &what);
        let line = relays[side].line_with("the link failed");
        let named = drivers[side].folder.display().to_string();
        for text in ["media driver", &named, "has ended", "start"] {
            assert!(line.contains(text), "{text}: {line}");
        }
        assert_eq!(relays[side].0.wait().code(), Some(1), "{what}");
        let other = &mut relays[1 - side].0;
        assert!(other.is_running(), "{what}: the other relay ended");
        gateway.ends_flow(&flow, &what);
        drivers[side] = External::start(&folder(["a", "b"][side]));
        relays[side] = start(side, &drivers[side]);
        gateway.publish(50);
        becomes_right(&root, &format!("{what}: it and its relay are back"));
    }
}
