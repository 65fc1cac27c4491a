//! Every failure is an error of one line, and never a panic or the end of the process.

use crate::{client, settings};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_aeron::{
    Channel, Client, ClientSettings, Driver, DriverSettings, Error, Refused, Threading,
};
use touchline_testing::free_port;

const DEADLINE: Duration = Duration::from_secs(60);

/// With any umask, other users of the host cannot open a file of a driver, neither those of its start nor later ones.
#[test]
fn the_folder_of_a_driver_is_of_its_user_alone() {
    use rustix::fs::Mode;
    use std::os::unix::fs::PermissionsExt;
    // The umask is the process's, and other tests start drivers in this one: a process of its own.
    const ALONE: &str = "TOUCHLINE_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "failures::the_folder_of_a_driver_is_of_its_user_alone";
        let program = std::env::current_exe().expect("this program");
        let alone = std::process::Command::new(program)
            .args(["--exact", name, "--nocapture"])
            .env(ALONE, "1")
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&alone.stdout);
        let is_run = alone.status.success() && said.contains("1 passed");
        assert!(is_run, "{said}{}", String::from_utf8_lossy(&alone.stderr));
        return;
    }
    for umask in [0o022, 0] {
        let before = rustix::process::umask(Mode::from_raw_mode(umask));
        let (client, folder) = client("modes");
        let _publication = client.exclusive_publication("aeron:ipc", 1);
        let after = rustix::process::umask(before);
        assert_eq!(after.as_raw_mode(), umask, "it is as before");
        let mode = |path: &Path| {
            std::fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode()
        };
        assert_eq!(mode(&folder) & 0o777, 0o700, "umask {umask:o}");
        let lock = format!("{}.lock", folder.display());
        assert_eq!(mode(Path::new(&lock)) & 0o777, 0o600, "umask {umask:o}");
    }
}

#[test]
fn a_receiver_that_does_not_poll_stops_the_publication_and_not_the_process() {
    let (client, _) = client("pressure");
    let mut subscription = client.subscription("aeron:ipc", 1).expect("a subscription");
    let mut publication = client
        .exclusive_publication("aeron:ipc", 1)
        .expect("a publication");
    let begin = Instant::now();
    let mut sent = 0;
    loop {
        assert!(begin.elapsed() < DEADLINE, "{sent} were sent");
        match publication.offer(&[0; 1000]) {
            Ok(_) => sent += 1,
            Err(Refused::BackPressured) if sent > 0 => break,
            Err(refused) => assert!(refused.is_passing(), "{refused}"),
        }
        client.do_work().expect("the client is open");
    }
    assert!(
        publication.position() <= publication.position_limit() + 1408,
        "half a term is open"
    );
    // Once the receiver polls, the publication continues.
    let mut received = 0;
    while publication.offer(&[0; 1000]).is_err() {
        assert!(begin.elapsed() < DEADLINE);
        received += subscription
            .poll(100, |_| {})
            .expect("the subscription is open");
        client.do_work().expect("the client is open");
    }
    assert!(received > 0);
}

#[test]
fn a_driver_that_has_ended_closes_its_clients_with_a_reason() {
    let settings = DriverSettings {
        threading: Threading::Shared {
            sleep: Duration::from_micros(100),
        },
        timeout: Duration::from_secs(2),
        ..settings("gone")
    };
    let driver = Driver::start(&settings).expect("the driver starts");
    let client = Client::connect(&ClientSettings {
        timeout: Duration::from_secs(2),
        ..ClientSettings::at(driver.folder().to_owned())
    });
    let client = client.expect("a client");
    let mut publication = client
        .exclusive_publication("aeron:ipc", 1)
        .expect("a publication");
    let mut subscription = client.subscription("aeron:ipc", 1).expect("a subscription");
    let pending = client
        .add_subscription("aeron:ipc", 2)
        .expect("it is begun");
    drop(driver);
    let begin = Instant::now();
    let error = loop {
        assert!(begin.elapsed() < DEADLINE, "the client does not notice");
        if let Err(error) = client.do_work() {
            break error.to_string();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(error.contains("MediaDriver"), "{error}");
    assert_eq!(publication.offer(b"x"), Err(Refused::Closed));
    assert!(publication.is_closed() && subscription.is_closed() && client.is_closed());
    assert!(subscription.poll(1, |_| {}).is_err());
    let again = client
        .subscription("aeron:ipc", 1)
        .err()
        .map(|error| error.to_string());
    assert!(
        again.is_some_and(|error| error.contains("aeron:ipc")),
        "a closed client adds nothing"
    );
    drop(pending);
}

#[test]
fn a_folder_belongs_to_one_driver() {
    let settings = settings("folder");
    let driver = Driver::start(&settings).expect("the driver starts");
    let said = Driver::start(&settings)
        .expect_err("it is taken")
        .to_string();
    assert!(
        said.contains("another media driver runs with this folder"),
        "{said}"
    );
    drop(driver);
    drop(Driver::start(&settings).expect("it is free again"));
    assert!(!settings.folder.exists());
}

#[test]
fn a_folder_of_another_version_or_of_another_program_is_not_changed() {
    let settings = settings("version");
    let folder = &settings.folder;
    std::fs::create_dir(folder).expect("a folder");
    let refused = || Driver::start(&settings).expect_err("refused").to_string();
    std::fs::write(folder.join("precious"), b"data").expect("a file");
    assert!(refused().contains("not the folder of a media driver"));
    let mut cnc = vec![0; 4096];
    cnc[..4].copy_from_slice(&0x0001_0900_i32.to_ne_bytes());
    std::fs::write(folder.join("cnc.dat"), cnc).expect("a file");
    let said = refused();
    assert!(
        said.contains("another version (1.9.0, this one is 0.2.0)"),
        "{said}"
    );
    assert!(folder.join("precious").exists());
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn the_folder_of_a_killed_driver_is_reused_at_once() {
    let settings = settings("killed");
    let driver = Driver::start(&settings).expect("the driver starts");
    // State after a kill: the files exist, with a current heartbeat, and the lock is free.
    let copy = settings.folder.with_extension("copy");
    std::fs::create_dir(&copy).expect("a folder");
    std::fs::copy(settings.folder.join("cnc.dat"), copy.join("cnc.dat")).expect("a copy");
    drop(driver);
    std::fs::rename(&copy, &settings.folder).expect("renamed");
    let mut lock = settings.folder.clone().into_os_string();
    lock.push(".lock");
    std::fs::write(&lock, b"").expect("a file");
    drop(Driver::start(&settings).expect("the folder is free"));
    assert!(!settings.folder.exists());
}

/// A driver named after its process removes the memory of killed processes of the same name, and nothing else.
#[test]
fn folders_of_killed_processes_are_removed() {
    let own = std::process::id();
    let named = |pid: u32| DriverSettings {
        term_bytes: 256 * 1024,
        ..DriverSettings::named(&format!("test-{own}-sweep-{pid}"))
    };
    let lock_path = |folder: &Path| PathBuf::from(format!("{}.lock", folder.display()));
    // Numbers of processes end far below the first two; 1 is a process.
    let [killed, elsewhere, alive] = [4_000_000_001, 4_000_000_002, 1].map(|pid| named(pid).folder);
    for folder in [&killed, &elsewhere, &alive] {
        std::fs::create_dir(folder).expect("a folder");
        std::fs::write(lock_path(folder), b"").expect("a file");
    }
    let lock = std::fs::File::open(lock_path(&elsewhere)).expect("it is there");
    lock.lock().expect("it is free");
    drop(Driver::start(&named(own)).expect("the driver starts"));
    assert!(!killed.exists() && !lock_path(&killed).exists());
    for folder in [&elsewhere, &alive] {
        assert!(folder.exists(), "{}", folder.display());
        std::fs::remove_dir(folder).expect("removed");
        std::fs::remove_file(lock_path(folder)).expect("removed");
    }
}

#[test]
fn a_driver_that_does_not_fit_is_rejected_with_both_sizes() {
    let settings = DriverSettings {
        term_bytes: 1 << 30,
        streams: 1_000_000,
        ..settings("room")
    };
    let error = Driver::start(&settings).expect_err("no host has this much memory");
    assert!(matches!(error, Error::Room { .. }), "{error}");
    assert!(error.to_string().contains("MiB"), "{error}");
    assert!(!settings.folder.exists());
}

#[test]
fn a_folder_without_a_driver_is_reported_within_the_timeout() {
    let client = Client::connect(&ClientSettings {
        timeout: Duration::from_secs(1),
        ..ClientSettings::at(settings("nobody").folder)
    });
    let said = client.expect_err("no driver").to_string();
    assert!(said.contains("CnC file not created"), "{said}");
}

#[test]
fn malformed_channels_are_errors() {
    let (client, _) = client("odd");
    let port = free_port();
    let odd = [
        String::new(),
        "aeron:udp".to_owned(),
        "aeron:udp?".to_owned(),
        "aeron:udp?endpoint".to_owned(),
        "aeron:udp?endpoint=".to_owned(),
        "aeron:udp?endpoint=127.0.0.1".to_owned(),
        "aeron:udp?endpoint=127.0.0.1:99999".to_owned(),
        format!("aeron:udp?endpoint=127.0.0.1:{port}|mtu=7"),
        format!("aeron:udp?endpoint=127.0.0.1:{port}|term-length=5"),
        format!("aeron:udp?endpoint=127.0.0.1:{port}|interface=203.0.113.9"),
        format!("aeron:udp?endpoint=239.255.0.1:{port}"),
        "aeron:ipc?term-length=1".to_owned(),
        "tcp://127.0.0.1:1".to_owned(),
        format!("aeron:ipc?alias={}", "x".repeat(5000)),
    ];
    for channel in &odd {
        let error = client
            .exclusive_publication(channel, 1)
            .err()
            .map(|error| error.to_string());
        let said = error.unwrap_or_else(|| panic!("{channel} is taken for a channel"));
        assert!(!said.contains('\n'), "{said}");
    }
    // Every truncation, and every byte changed by a seeded walk, is a channel or an error.
    let channel = format!("aeron:udp?endpoint=127.0.0.1:{port}|mtu=1408|term-length=64k|alias=x");
    let mut random = 7_u64;
    for cut in 0..channel.len() {
        let _ = Channel::new(&channel[..cut]);
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut bytes = channel.clone().into_bytes();
        bytes[cut] = b' ' + (random >> 33) as u8 % 94;
        let changed = String::from_utf8(bytes).expect("ASCII");
        if cut % 4 == 0 {
            drop(client.subscription(&changed, 1));
        }
    }
    client.do_work().expect("the client is open");
}
