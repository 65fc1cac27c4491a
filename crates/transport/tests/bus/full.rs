//! A full file system: instruments without memory are refused, and return whole when there is memory again.

use crate::stage::{Market, counts, mirror};
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use touchline_transport::shm::{Join, Publisher, Root, Settings, Subscriber};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe};
use touchline_types::{Instrument, Update};

const FOLDER: &str = "TOUCHLINE_TEST_FOLDER";
const INSTRUMENTS: u32 = 600;

/// Runs itself on a small file system, in a mount namespace.
#[test]
fn refused_books_return_whole_and_no_joiner_sees_a_part_of_one() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return on_a_small_file_system(Path::new(&folder));
    }
    let folder = std::env::temp_dir().join(format!("touchline-full-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command
            .args(["-rm", "sh", "-c", script])
            .env(FOLDER, &folder);
        command
    };
    let mounted = format!("mount -t tmpfs -o size=4m,mode=700 tmpfs \"${FOLDER}\"");
    let probe = namespace(&mounted).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("not run: this user cannot make a mount namespace");
        return;
    }
    let again = "--exact full::refused_books_return_whole_and_no_joiner_sees_a_part_of_one";
    let output = namespace(&format!("{mounted} && exec \"$0\" {again} --nocapture"))
        .arg(std::env::current_exe().expect("this program"))
        .output()
        .expect("unshare");
    let _ = std::fs::remove_dir_all(&folder);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{output:?}"
    );
}

fn on_a_small_file_system(folder: &Path) {
    let root = Root::at(folder);
    let settings = Settings {
        ring_bytes: 64 * 1024,
        instruments_max: 1_000,
        image_levels_max: 12,
        orders_max: 0,
        ..Settings::default()
    };
    let mut publisher = Publisher::open(&root, "test", &settings).expect("there is room");
    let full = folder.join("full");
    let filled = std::io::copy(
        &mut std::io::repeat(1),
        &mut File::create(&full).expect("our folder"),
    );
    assert_eq!(
        filled.expect_err("it is small").kind(),
        ErrorKind::StorageFull
    );

    let mut market = Market::new(1, INSTRUMENTS);
    market.define(&mut publisher);
    (0..6_000).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    let refused = counts(&publisher).images_refused;
    assert!(refused > 2_000, "{refused}");
    let mut late = Subscriber::join(&root, "test", Join::default()).expect("the bus is there");
    let mut late_books = mirror();
    while late.drain(usize::MAX, &mut late_books) > 0 {}
    for _ in 0..200 {
        market.event(&mut publisher);
    }
    publisher.commit();
    while late.drain(usize::MAX, &mut late_books) > 0 {}
    market.assert_what_is_live(&late_books, "full");
    let (_, definitions) = joined(&root);
    assert!(
        (1..INSTRUMENTS).contains(&definitions),
        "{definitions} definitions"
    );

    std::fs::remove_file(full).expect("our file");
    std::thread::sleep(Duration::from_millis(1_050));
    publisher.check().expect("the bus is there");
    let refused = counts(&publisher).images_refused;
    // Few for each instrument: a book of its first updates alone would look right.
    (0..INSTRUMENTS).for_each(|_| market.event(&mut publisher));
    publisher.commit();
    assert_eq!(counts(&publisher).images_refused, refused);
    assert!(counts(&publisher).images_cut > 0);
    let (books, definitions) = joined(&root);
    assert_eq!(definitions, INSTRUMENTS);
    market.assert_what_is_live(&books, "after the first updates");

    (0..INSTRUMENTS).for_each(|index| market.whole(Instrument(index), &mut publisher));
    publisher.commit();
    let (books, _) = joined(&root);
    market.assert_equal(&books, "after whole books");
}

/// The books of a reader that joins now, and the number of its definitions.
fn joined(root: &Root) -> (Mirror, u32) {
    let mut subscriber = Subscriber::join(root, "test", Join::default()).expect("the bus is there");
    let mut reader = (mirror(), Definitions(0));
    while subscriber.drain(usize::MAX, &mut reader) > 0 {}
    (reader.0, reader.1.0)
}

/// Counts definitions.
struct Definitions(u32);

impl Subscribe for Definitions {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.0 += u32::from(matches!(envelope.update, Update::Definition(_)));
    }
}
