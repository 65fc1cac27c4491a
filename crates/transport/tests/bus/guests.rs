//! Named readers of other users: the group of a bus and its owner see them, none writes another one's file, and the files that they create
//! do no harm.

use crate::world::{Buses, Market, mirror, small};
use rustix::fs::{CWD, FileType, FlockOperation, Mode, fcntl_lock, mknodat};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use touchline_transport::Publish;
use touchline_transport::shm::{
    Error, FineClock, Join, Publisher, ReaderStats, ReaderView, Root, Subscriber, readers, remove,
};

/// Users and a group without an entry in any file of the system.
pub const ONE: u32 = 64_101;
pub const OTHER: u32 = 64_103;
pub const GROUP: u32 = 64_201;

pub fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        touchline_testing::skip("readers of other users: only root can become one");
    }
    is_root
}

/// A thread of its own that is of another user, in the group.
pub fn as_user<T: Send>(user: u32, act: impl FnOnce() -> T + Send) -> T {
    let become_user = || {
        set_thread_groups(&[Gid::from_raw(GROUP)]).unwrap();
        set_thread_gid(Gid::from_raw(user)).unwrap();
        set_thread_uid(Uid::from_raw(user)).unwrap();
    };
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            become_user();
            act()
        });
        thread.join().unwrap()
    })
}

pub fn shared(buses: &Buses) -> Root {
    buses.root().shared_with(Some(&GROUP.to_string())).unwrap()
}

pub fn of_owner(buses: &Buses) -> Root {
    buses.root().owned_by(0)
}

pub fn named(root: &Root, name: &str) -> Result<ReaderStats, Error> {
    let clock = FineClock {
        ticks: || 0,
        ns_per_tick: 1.0,
    };
    ReaderStats::create(root, "test", name, clock)
}

fn names(readers: &[ReaderView]) -> Vec<&str> {
    readers.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn a_reader_of_another_user_is_seen_with_its_lag_and_its_user() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let mut publisher = Publisher::open(&shared(&buses), "test", &small()).unwrap();
    let mut market = Market::new(1, 6);
    market.define(&mut publisher);
    publisher.commit();
    let root = of_owner(&buses);
    let mut subscriber = as_user(ONE, || {
        let join = Join {
            reader_stats: Some(named(&root, "strategy").expect("a name")),
            ..Join::default()
        };
        Subscriber::join(&root, "test", join).expect("the bus is shared")
    });
    let mut mirror = mirror();
    as_user(
        ONE,
        || while subscriber.drain(usize::MAX, &mut mirror) > 0 {},
    );
    (0..50).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let seen = || readers(&buses.root(), "test").expect("the bus is there");
    let all = seen();
    assert_eq!(names(&all), ["strategy@64101"]);
    let holder = all[0].process.as_ref().expect("it lives");
    assert_eq!(holder.pid, std::process::id());
    assert!(holder.to_string().contains("of user 64101"), "{holder}");
    assert!(
        all[0].lag_bytes > 0 && all[0].counters.messages > 0,
        "{all:?}"
    );
    // Another user of the group has the same name, sees both readers, and does not change the first.
    as_user(OTHER, || {
        let _same = named(&root, "strategy").expect("a name of its own");
        let all = readers(&root, "test").expect("the bus is shared");
        assert_eq!(names(&all), ["strategy@64101", "strategy@64103"]);
        assert!(matches!(
            named(&root, "strategy"),
            Err(Error::NameTaken { .. })
        ));
        let file = buses.root().path().join("test/guests/64101.strategy");
        assert!(File::options().write(true).open(&file).is_err());
        assert!(fs::remove_file(&file).is_err());
        assert!(fs::rename(&file, file.with_extension("x")).is_err());
    });
    assert_eq!(names(&seen()), ["strategy@64101"], "the other one has left");
    as_user(
        ONE,
        || while subscriber.drain(usize::MAX, &mut mirror) > 0 {},
    );
    assert_eq!(seen()[0].lag_bytes, 0);
    drop(publisher);
    drop(subscriber);
    assert_eq!(names(&seen()), [""; 0]);
    // Without a group readers of other users have no name, and the folder is gone.
    let _publisher = Publisher::open(&buses.root(), "test", &small()).unwrap();
    assert!(!buses.root().path().join("test/guests").exists());
}

/// Everything that a member of the group can create in the folder.
#[test]
fn what_a_member_creates_harms_nobody() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let publisher = Publisher::open(&shared(&buses), "test", &small()).unwrap();
    let guests = buses.root().path().join("test/guests");
    let mode = fs::metadata(&guests).unwrap().mode() & 0o7777;
    assert_eq!(mode, 0o3770, "sticky, and of the group");
    let root = of_owner(&buses);
    let honest = as_user(OTHER, || named(&root, "honest").expect("a name"));
    let at = |name: &str| guests.join(name);
    as_user(ONE, || {
        let evil = named(&root, "evil").expect("a name");
        let good = fs::read(at("64101.evil")).unwrap();
        drop(evil);
        let private = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o640));
        let write = |name: &str, bytes: &[u8]| {
            fs::write(at(name), bytes).unwrap();
            private(&at(name)).unwrap();
        };
        for at_byte in 0..40 {
            let mut damaged = good.clone();
            damaged[at_byte * 8..]
                .iter_mut()
                .step_by(97)
                .for_each(|byte| *byte ^= 0xff);
            write(&format!("64101.damaged{at_byte}"), &damaged);
        }
        write("64101.long", &good);
        File::options()
            .write(true)
            .open(at("64101.long"))
            .unwrap()
            .set_len(3 << 30)
            .unwrap();
        write("64101.short", b"");
        write("0.root", &good);
        write("64103.honest2", &good);
        write("64101.a\nb\u{202e}", &good);
        write("+64101.x", &good);
        symlink("/etc/passwd", at("64101.link")).unwrap();
        mknodat(CWD, at("64101.pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        fs::create_dir(at("64101.folder")).unwrap();
        fs::write(at("64101.open"), &good).unwrap();
        fs::set_permissions(at("64101.open"), fs::Permissions::from_mode(0o666)).unwrap();
        (0..2_000).for_each(|number| fs::write(at(&format!("64101.n{number}")), b"").unwrap());
    });
    let blocks = fs::metadata(at("64101.long")).unwrap().blocks();
    let begun = Instant::now();
    for root in [&buses.root(), &root] {
        let all = readers(root, "test").expect("the bus is there");
        let of_honest = all.iter().find(|one| one.name == "honest@64103");
        assert!(
            of_honest.is_some_and(|one| one.process.is_some()),
            "{:?}",
            names(&all)
        );
        assert!(all.len() <= 33, "{}", all.len());
        for one in &all {
            assert!(
                one.name.ends_with("@64101") || one.name == "honest@64103",
                "{}",
                one.name
            );
            assert!(
                one.name.chars().all(|letter| letter.is_ascii_graphic()),
                "{}",
                one.name
            );
            let lives = one.process.is_some();
            assert_eq!(lives, one.name == "honest@64103", "{}", one.name);
        }
    }
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(fs::metadata(at("64101.long")).unwrap().blocks(), blocks);
    drop(publisher);
    drop(honest);
    remove(&buses.root(), "test").expect("the owner removes it");
}

/// Files with the name of another user, and more of them than a listing reads.
#[test]
fn what_a_member_creates_in_the_name_of_another_counts_for_nobody() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let mut publisher = Publisher::open(&shared(&buses), "test", &small()).unwrap();
    let guests = buses.root().path().join("test/guests");
    let root = of_owner(&buses);
    as_user(ONE, || {
        let create = |name: String| fs::write(guests.join(name), b"").unwrap();
        (0..40).for_each(|number| create(format!("64103.a{number}")));
        (0..5_000).for_each(|number| create(format!("junk{number}")));
        create(".64101.left.new".to_owned());
        fs::create_dir(guests.join("64101.folder")).unwrap();
        let _mine = named(&root, "mine").expect("a name");
        fs::copy(guests.join("64101.mine"), guests.join("64101.dead")).unwrap();
        fs::set_permissions(guests.join("64101.dead"), fs::Permissions::from_mode(0o640)).unwrap();
    });
    let honest = as_user(OTHER, || named(&root, "honest").expect("a name"));
    // A member of the group takes a read lock on a file that it may read.
    let dead = as_user(OTHER, || File::open(guests.join("64101.dead")).unwrap());
    fcntl_lock(&dead, FlockOperation::NonBlockingLockShared).unwrap();
    let all = readers(&buses.root(), "test").unwrap();
    assert_eq!(names(&all), ["dead@64101", "honest@64103"]);
    assert!(all[0].process.is_none() && all[1].process.is_some());
    let left = || {
        let all = fs::read_dir(&guests).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<BTreeSet<_>>()
    };
    // One that a starting reader may just be making stays for a minute, that of a dead one until the next start.
    let (making, dead, living) = (".64101.left.new", "64101.dead", "64103.honest");
    for _ in 0..200 {
        publisher.check().expect("the bus is there");
    }
    let of_readers = [making, dead, living].map(String::from);
    assert_eq!(left(), BTreeSet::from(of_readers));
    drop(publisher);
    let _publisher = Publisher::open(&shared(&buses), "test", &small()).unwrap();
    assert_eq!(left(), BTreeSet::from([making, living].map(String::from)));
    drop(honest);
}

/// The two names of a file that a reader makes: that of the file, and the one before it is complete.
#[test]
fn a_member_that_takes_the_name_of_another_users_file_keeps_that_user_from_no_name() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    let _publisher = Publisher::open(&shared(&buses), "test", &small()).unwrap();
    let guests = buses.root().path().join("test/guests");
    let root = of_owner(&buses);
    for taken in ["64103.honest", ".64103.honest.new"] {
        let path = guests.join(taken);
        as_user(ONE, || fs::write(&path, b"").unwrap());
        let honest = as_user(OTHER, || named(&root, "honest").expect("a name"));
        let all = readers(&buses.root(), "test").unwrap();
        assert_eq!(names(&all), ["honest@64103"], "{taken}");
        assert!(all[0].process.is_some());
        as_user(OTHER, || {
            let again = named(&root, "honest");
            assert!(matches!(again, Err(Error::NameTaken { .. })), "{again:?}");
        });
        drop(honest);
        assert_eq!(names(&readers(&buses.root(), "test").unwrap()), [""; 0]);
        as_user(ONE, || fs::remove_file(&path).unwrap());
    }
}

/// A folder that only its user can empty leaves the bus unchanged.
#[test]
fn a_bus_whose_guests_cannot_be_removed_is_left_whole() {
    if !is_root() {
        return;
    }
    let buses = Buses::new();
    // The owner of the bus is not root here, because root can remove every file.
    let owner = 64_102;
    fs::create_dir(buses.root().path()).unwrap();
    fs::set_permissions(buses.root().path(), fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::chown(buses.root().path(), Some(owner), None).unwrap();
    let root = buses.root().owned_by(owner);
    let of_owner = root.clone().shared_with(Some(&GROUP.to_string())).unwrap();
    let publisher = as_user(owner, || {
        Publisher::open(&of_owner, "test", &small()).unwrap()
    });
    let guests = buses.root().path().join("test/guests");
    as_user(ONE, || {
        fs::create_dir(guests.join("folder")).unwrap();
        fs::write(guests.join("folder/file"), b"").unwrap();
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(guests.join("folder"), private).unwrap();
    });
    drop(publisher);
    let error = as_user(owner, || remove(&root, "test").unwrap_err());
    assert!(error.to_string().contains("guests"), "{error}");
    assert!(buses.root().path().join("test/ring").exists());
    fs::remove_dir_all(guests.join("folder")).unwrap();
    as_user(owner, || remove(&root, "test").unwrap());
}
