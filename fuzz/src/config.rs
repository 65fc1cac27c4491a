//! A gateway's configuration, and the channel file that CME publishes.

use crate::Target;
use std::{env, fs, path::PathBuf, process, thread};
use touchline_gateway::config::ConfigError;
use touchline_gateway::venues::{VENUES, cme::ChannelConfig};

pub(crate) const TARGET: Target = Target {
    name: "config",
    about: "any text is refused with its place and the fix, or says the same when it is printed and read again",
    run,
    seeds,
};

/// The channel that is asked for; the seeds have it.
const CHANNEL: u32 = 340;

/// Both readers take only a path, so the bytes go through a file. A channel file starts with `<`.
fn run(bytes: &[u8]) {
    let file = Scratch::new();
    file.write(bytes);
    if bytes.starts_with(b"<") {
        match ChannelConfig::read(&file.0, CHANNEL) {
            Ok(channel) => assert_eq!(channel.id, CHANNEL),
            Err(error) => file.assert_helpful(&error),
        }
        return;
    }
    match VENUES.read(&file.0) {
        Ok(config) => {
            file.write(config.to_toml().as_bytes());
            assert_eq!(
                VENUES.read(&file.0).map(|again| again.to_toml()),
                Ok(config.to_toml()),
                "printed, it says something else"
            );
        }
        Err(mistakes) => {
            let place = file.0.display().to_string();
            assert!(mistakes.to_string().starts_with(&place), "{mistakes}");
            let mut list = mistakes.list().iter();
            assert!(list.len() > 0 && list.all(|mistake| !mistake.what.is_empty()));
        }
    }
}

/// A file of this thread's own, gone in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        Self(env::temp_dir().join(format!(
            "touchline-fuzz-{}-{:?}",
            process::id(),
            thread::current().id()
        )))
    }

    fn write(&self, bytes: &[u8]) {
        fs::write(&self.0, bytes).expect("the folder for temporary files takes a file");
    }

    fn assert_helpful(&self, error: &ConfigError) {
        assert_eq!(error.file, self.0);
        assert!(!error.what.is_empty() && !error.fix.is_empty(), "{error}");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [LEAST, FULL, CHANNELS]
        .map(|text| text.as_bytes().to_vec())
        .into()
}

const LEAST: &str = r#"bus = "cme-340"
[venue]
kind = "cme"
channel = 340
config_xml = "config.xml"
"#;

const FULL: &str = r#"bus = "b.1"
[venue]
kind = "cme"
channel = 340
config_xml = "/etc/touchline/config.xml"
join = "natural"
wait_ms = 10_000
interface = "eth0"
symbols = ["ES*", "*\u00e9*"]
[limits]
hold_packets_max = 1
orders_max = 0x40
"#;

const CHANNELS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<configuration environment="TEST" updated="2024/03/04-00:00:00">
  <channel id="340" label="Equity &amp; more">
    <products><product code="ES"><group code="ES"/></product></products>
    <connections>
      <connection id="340HA"><type feed-type="H">Historical Replay</type><protocol>TCP/IP</protocol>
        <host-ip>10.0.0.1</host-ip><port>10000</port><feed>A</feed></connection>
      <connection id="340IA"><type feed-type="I">Incremental</type><protocol>UDP/IP</protocol>
        <ip>224.0.31.1</ip><host-ip>10.0.0.3</host-ip><port>14310</port><feed>A</feed></connection>
      <connection id="340SMBOB"><type feed-type="SMBO">Snapshot</type><protocol>UDP/IP</protocol>
        <ip>224.0.32.1</ip><port>15310</port><feed>B</feed></connection>
    </connections>
  </channel>
</configuration>
"#;
