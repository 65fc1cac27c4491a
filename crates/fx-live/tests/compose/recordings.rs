//! Recordings: what starts one, and what a replay needs of it.

use std::fs;
use std::path::Path;
use touchline_fx::Setup;
use touchline_fx::input::Session;
use touchline_fx::sessions::Replay;
use touchline_fx_live::compose::{Composer, Config, Error};
use touchline_testing::Folder;

fn config(folder: &Path, pairs: &str) -> Config {
    let text = format!(
        "bus = \"fx\"\nring_bytes = 65536\ndirectory = {folder:?}\n{pairs}\n\
         [[banks]]\nname = \"LP0\"\nstale_ms = 0\nsilence_ms = 0\n"
    );
    Config::parse(&text).expect("a configuration")
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect(name)
}

/// The same command a second time fails, since the bus has a publisher, and leaves the recording of the first one alone.
#[test]
fn a_second_composer_does_not_touch_the_recording_of_the_first_one() {
    let folder = Folder::new("recorded-twice");
    let pairs = "[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"";
    let (config, session) = (config(&folder, pairs), folder.join("session"));
    let mut first = Composer::open(&config, Some(&session)).expect("a composer");
    first.input(0, 1_000, Session::Up);
    first.finish().expect("a recording");
    let recorded = read(&session, "session.txt");
    assert!(recorded.contains("LP0.q !up"), "{recorded}");
    let second = Composer::open(&config, Some(&session));
    assert!(matches!(second, Err(Error::Bus(_))));
    assert_eq!(read(&session, "session.txt"), recorded);
}

/// A recording of a composer with calendars has the spot dates of its start, which its configuration leaves out.
#[test]
fn a_recording_with_calendars_can_be_replayed() {
    let folder = Folder::new("recorded-days");
    let pairs = "[calendars]\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\n\
                 [[pairs]]\nsymbol = \"USD/CAD\"\nprecision = 5";
    let (config, session) = (config(&folder, pairs), folder.join("session"));
    let mut composer = Composer::open(&config, Some(&session)).expect("a composer");
    composer.work().expect("a round");
    composer.finish().expect("a recording");
    let setup =
        Setup::parse(&read(&session, "config.toml")).expect("the configuration of a recording");
    let dates = |setup: &Setup| {
        setup
            .pairs
            .iter()
            .map(|pair| pair.spot_date)
            .collect::<Vec<_>>()
    };
    let at_start = dates(&setup);
    let mut replay = Replay::new(setup);
    let lines = read(&session, "session.txt");
    assert_eq!(lines.matches("\"op\":\"day\"").count(), 2, "{lines}");
    for line in lines.lines() {
        replay
            .line(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    assert_eq!(dates(replay.engine().setup()), at_start);
    assert_eq!(dates(composer.pricing().setup()), at_start);
}
