//! Simulated banks: the mid of recorded ticks, and faults of messages on their way.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};
use touchline_lab::bank::{Banks, Config, Market, Profile};
use touchline_testing::Folder;
use touchline_types::ReceiveTime;

const CONFIG: &str = r#"
[[pairs]]
symbol = "EUR/USD"
precision = 5
spot_date = "20260107"
mid_ticks = 110000
ticks = "ticks.csv"
[[banks]]
name = "LP01"
pairs = ["EUR/USD"]
"#;

/// Loads a file of ticks with a configuration.
fn loaded(name: &str, ticks: &[u8]) -> Result<Config, String> {
    let folder = Folder::new(name);
    fs::write(folder.join("ticks.csv"), ticks).expect("our folder");
    let mut config = Config::parse(CONFIG).expect("a configuration");
    let loaded = config.load_ticks(&folder);
    loaded.map(|()| config)
}

/// The next mids of the market.
fn mids(config: &Config, count: usize) -> Vec<i64> {
    let mut market = Market::open(config);
    let mids = (0..count).map(|_| {
        let due_ns = market.due_ns();
        assert_eq!(market.step(due_ns), Some(0));
        market.mid(0)
    });
    mids.collect()
}

#[test]
fn the_mid_follows_recorded_ticks_forward_and_backward() {
    let ticks = b"20260105 1,1.10000,1.10002,0\n20260105 2,1.10004,1.10006,0\n20260105 3,1.1,1.1\n";
    let config = loaded("forth", ticks).expect("ticks");
    assert_eq!(
        mids(&config, 6),
        [110_001, 110_005, 110_000, 110_005, 110_001, 110_001]
    );
    for (ticks, says) in [
        (&b""[..], "no ticks"),
        (b"1,1.1,1.1\n2,x,1.1\n", "line 2: not 'time,bid,ask'"),
        (b"1,1.1\n", "line 1: not 'time,bid,ask'"),
    ] {
        let refused = loaded("refused", ticks).expect_err("no ticks");
        assert!(refused.ends_with(says), "{refused}");
    }
}

/// 9,500 ticks of a real market.
#[test]
fn recorded_ticks_of_a_market_move_the_mid() {
    let Some(captures) = touchline_testing::captures("recorded ticks of FX") else {
        return;
    };
    let file = captures.join("fx-ticks/histdata_EURUSD_2020-01-01_9500-quotes.csv.gz");
    if !file.exists() {
        touchline_testing::skip(&format!("{} does not exist", file.display()));
        return;
    }
    let unpacked = Command::new("gzip").arg("-dc").arg(&file).output();
    let ticks = unpacked.expect("gzip").stdout;
    let config = loaded("real", &ticks).expect("ticks");
    let mids = mids(&config, 9_500);
    assert!(mids.iter().all(|mid| (111_000..113_000).contains(mid)));
    let moves = mids.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(moves > 1_000, "{moves}");
}

/// A bank's name is the name of a file and of a bus: names that lead to another file, or out of the folder, are refused.
#[test]
fn names_that_cannot_be_files_are_refused() {
    let of = |name: &str| CONFIG.replace("name = \"LP01\"", &format!("name = '{name}'"));
    for name in ["LP01", "LP.1", "a", "-a", "B-2_c", "1234567890123456"] {
        assert!(Config::parse(&of(name)).is_ok(), "{name}");
    }
    let long = "12345678901234567";
    for name in [
        "",
        ".",
        "..",
        ".a",
        "../evil",
        "a/b",
        "L\"P",
        "L\\P",
        "L\tP",
        "Bänk",
        "a b",
        long,
        "run",
        "Compose",
        "FX",
        "Fx-Run-desk",
    ] {
        let refused = Config::parse(&of(name)).expect_err(name).to_string();
        assert!(refused.contains("a name of its own"), "{name}: {refused}");
    }
    let twice = of("LP01") + "[[banks]]\nname = \"lp01\"\npairs = [\"EUR/USD\"]\n";
    assert!(Config::parse(&twice).is_err(), "one file for both");
    for (right, wrong, key) in [
        (
            "symbol = \"EUR/USD\"",
            "symbol = 'EUR\"USD'",
            ": symbol: give",
        ),
        ("\"20260107\"", "\"2026010\\u0001\"", ": spot_date: give"),
    ] {
        let refused = Config::parse(&CONFIG.replace(right, wrong)).expect_err(wrong);
        let refused = refused.to_string();
        assert!(refused.contains(key), "{refused}");
    }
}

/// Banks without clients sleep until a timer is due, and wake for a connection.
#[test]
fn banks_sleep_until_something_is_due() {
    let mut config = Config::parse(CONFIG).expect("a configuration");
    config.pairs[0].ticks = None;
    config.profile = Profile::Sparse;
    let mut banks = Banks::listen(config, None, None).expect("a free port");
    let begin = Instant::now();
    let time = || ReceiveTime {
        wall_ns: 1 << 60,
        mono_ns: begin.elapsed().as_nanos() as u64,
    };
    let rounds = |banks: &mut Banks, until: Duration| {
        let start = Instant::now();
        let mut count = 0;
        while start.elapsed() < until {
            if !banks.work(time()) {
                banks.sleep(time().mono_ns);
            }
            count += 1;
        }
        count
    };
    let address = banks.banks()[0].address();
    let count = rounds(&mut banks, Duration::from_millis(500));
    assert!(count <= 20, "{count} rounds in half a second");
    // The host may stop this process within one of them.
    let slept: Vec<Duration> = (0..5)
        .map(|_| {
            let mut client = TcpStream::connect(address).expect("a port");
            client.write_all(b"no message").expect("a connection");
            drop(client);
            let start = Instant::now();
            banks.sleep(time().mono_ns);
            let slept = start.elapsed();
            while banks.work(time()) {}
            slept
        })
        .collect();
    let is_woken = |slept: &Duration| *slept < Duration::from_millis(40);
    assert!(slept.iter().any(is_woken), "it slept for {slept:?}");
    let count = rounds(&mut banks, Duration::from_millis(500));
    assert!(
        count <= 40,
        "{count} rounds in half a second after a client has gone"
    );
}
