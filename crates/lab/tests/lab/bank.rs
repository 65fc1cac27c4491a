//! Simulated banks: the mid of recorded ticks, and what becomes of messages on their way.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use touchline_lab::bank::{Config, Market};

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

/// A folder with a file of ticks, and what a configuration makes of it.
fn loaded(name: &str, ticks: &[u8]) -> Result<Config, String> {
    let folder = std::env::temp_dir().join(format!("ticks-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("our folder");
    fs::write(folder.join("ticks.csv"), ticks).expect("our folder");
    let mut config = Config::parse(CONFIG).expect("a configuration");
    let loaded = config.load_ticks(&folder);
    let _ = fs::remove_dir_all(&folder);
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
    let Some(captures) = std::env::var_os("TOUCHLINE_CAPTURES").map(PathBuf::from) else {
        eprintln!("skipped: TOUCHLINE_CAPTURES is not set");
        return;
    };
    let file = captures.join("fx-ticks/histdata_EURUSD_2020-01-01_9500-quotes.csv.gz");
    if !file.exists() {
        eprintln!("skipped: {} is not there", file.display());
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
