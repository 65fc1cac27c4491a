//! Configuration of one venue connection: a TOML file for people, and what the venue publishes.
//!
//! Everything has a default but the bus, the channel and the channel file. Unknown keys are refused,
//! since a misspelt limit is a limit that is not set. Each setting is described in
//! `docs/operations.md`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use touchline_feed::cme::Join;

pub mod cme;
mod publication;

pub use publication::{LockMemory, Lossless, Publication, bus_name};

/// The configuration of one gateway, complete with its defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the bus to publish on: 1 to 64 letters, digits, `-`, `_` and `.`, the first one no `.`.
    #[serde(deserialize_with = "publication::bus")]
    pub bus: String,
    /// Where the data comes from.
    pub venue: Venue,
    /// What memory is taken at start, and so what is refused later.
    #[serde(default)]
    pub limits: Limits,
    /// How the bus is made.
    #[serde(default)]
    pub publication: Publication,
}

/// One channel of one venue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Venue {
    /// Which venue's rules apply.
    pub kind: Kind,
    /// The venue's number of the channel.
    pub channel: u32,
    /// CME's `config.xml`. In the file, a relative path starts at the folder of the file; here it can
    /// be opened as it stands.
    #[serde(serialize_with = "lossy")]
    pub config_xml: PathBuf,
    /// What to do with a book that misses something until a snapshot fits.
    #[serde(default, with = "JoinName")]
    pub join: Join,
    /// How long packets behind a hole wait for it, milliseconds, 0..=10,000.
    #[serde(
        default = "default_wait_ms",
        deserialize_with = "within::<_, _, 0, 10_000>"
    )]
    pub wait_ms: u64,
    /// Network interface to join the groups on, by name or address; the system's choice if absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "interface"
    )]
    pub interface: Option<String>,
    /// The symbols to publish.
    #[serde(default)]
    pub symbols: Symbols,
}

/// The venues that a gateway can connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// CME Globex, MDP 3.0 over multicast.
    Cme,
}

/// Limits that memory is taken by. All are inclusive, and none can be changed while running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Packets that may wait behind a hole, 1..=1,048,576. Waiting takes this times
    /// `packet_bytes_max` of memory.
    #[serde(deserialize_with = "within::<_, _, 1, 1_048_576>")]
    pub hold_packets_max: usize,
    /// Bytes of a packet's payload, 64..=65,507; a longer packet counts as not received.
    #[serde(deserialize_with = "within::<_, _, 64, 65_507>")]
    pub packet_bytes_max: usize,
    /// Instruments of the channel, 1..=1,048,576.
    #[serde(deserialize_with = "within::<_, _, 1, 1_048_576>")]
    pub instruments_max: usize,
    /// Entries queued for recovery over all instruments, 1..=16,777,216.
    #[serde(deserialize_with = "within::<_, _, 1, 16_777_216>")]
    pub queue_entries_max: usize,
    /// Orders in all books, 1..=67,108,864.
    #[serde(deserialize_with = "within::<_, _, 1, 67_108_864>")]
    pub orders_max: usize,
    /// Changes of books in one venue event, 1..=16,777,216.
    #[serde(deserialize_with = "within::<_, _, 1, 16_777_216>")]
    pub event_changes_max: usize,
}

/// Patterns of symbols, in which `*` stands for any characters, none too. No pattern at all means
/// every symbol.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Symbols(Vec<String>);

/// Why a configuration cannot be used.
///
/// Printed, it says file and line, what is wrong, and the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file that is wrong.
    pub file: PathBuf,
    /// The line, from 1, where there is one.
    pub line: Option<u32>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl Config {
    /// The configuration of one CME channel with every default, for those who need no file; its bus
    /// is `cme-` and the channel's number.
    pub fn of_cme_channel(config_xml: impl Into<PathBuf>, channel: u32) -> Self {
        Self {
            bus: format!("cme-{channel}"),
            venue: Venue {
                kind: Kind::Cme,
                channel,
                config_xml: config_xml.into(),
                join: Join::Snapshot,
                wait_ms: default_wait_ms(),
                interface: None,
                symbols: Symbols::default(),
            },
            limits: Limits::default(),
            publication: Publication::default(),
        }
    }

    /// Reads a TOML file.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, has an unknown key, lacks one, or a value is out of range.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::parse(path, &read_text(path)?)
    }

    /// The effective configuration, defaults included, as a file that [`Config::read`] takes. What is
    /// not Unicode in a path is replaced.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("tables of names and numbers can be written as TOML")
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config: Self =
            toml::from_str(text).map_err(|error| toml_error(path, text, &error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.venue.config_xml = folder.join(&config.venue.config_xml);
        if let Some(directory) = &mut config.publication.directory {
            *directory = folder.join(&directory);
        }
        Ok(config)
    }
}

impl Symbols {
    /// Patterns; none at all admit every symbol.
    ///
    /// # Errors
    /// An empty pattern, which admits nothing.
    pub fn new(patterns: Vec<String>) -> Result<Self, &'static str> {
        match patterns.iter().any(String::is_empty) {
            true => Err("an empty pattern admits no symbol"),
            false => Ok(Self(patterns)),
        }
    }

    /// Whether there is no pattern, that is, whether every symbol is to be published.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a symbol is to be published.
    pub fn admit(&self, symbol: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| matches(pattern, symbol))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hold_packets_max: 4096,
            packet_bytes_max: 9000,
            instruments_max: 65_536,
            queue_entries_max: 262_144,
            orders_max: 1_048_576,
            event_changes_max: 65_536,
        }
    }
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            file,
            line,
            what,
            fix,
        } = self;
        write!(out, "{}", file.display())?;
        if let Some(line) = line {
            write!(out, ":{line}")?;
        }
        // TOML's own text has several lines, with a caret under the place.
        let gap = if what.contains('\n') { "\n" } else { "; " };
        write!(out, ": {what}{gap}{fix}")
    }
}

impl std::error::Error for ConfigError {}

/// A configuration beyond this is no configuration; CME's has 300 KB.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

fn read_text(path: &Path) -> Result<String, ConfigError> {
    let refuse = |what: String, fix: &str| ConfigError {
        file: path.to_owned(),
        line: None,
        what,
        fix: fix.to_owned(),
    };
    let mut text = String::new();
    let read = File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => {
                refuse("it is not text in UTF-8".to_owned(), "give a text file")
            }
            _ => refuse(
                format!("cannot read it: {error}"),
                "check the path and its permissions",
            ),
        })?;
    if read as u64 > FILE_BYTES_MAX {
        return Err(refuse(
            format!("it has more than {FILE_BYTES_MAX} bytes"),
            "give a configuration, not a capture or a log",
        ));
    }
    Ok(text)
}

fn toml_error(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let line = |at: usize| {
        1 + text.as_bytes()[..at]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
    };
    ConfigError {
        file: path.to_owned(),
        line: error.span().map(|span| line(span.start) as u32),
        what: error.to_string().trim_end().to_owned(),
        fix: "see the table of settings in docs/operations.md".to_owned(),
    }
}

/// How [`Join`] is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Join", rename_all = "lowercase")]
enum JoinName {
    Snapshot,
    Natural,
}

fn default_wait_ms() -> u64 {
    20
}

/// A number that must be in `MIN..=MAX`; refused while reading, so that the message shows the place.
fn within<'de, D, T, const MIN: i64, const MAX: i64>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let number = i64::deserialize(deserializer)?;
    match T::try_from(number) {
        Ok(fits) if (MIN..=MAX).contains(&number) => Ok(fits),
        _ => Err(D::Error::custom(format_args!(
            "{number} is not in {MIN}..={MAX}"
        ))),
    }
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

fn interface<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(deserializer)?;
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '/' || c.is_control()) {
        return Err(D::Error::custom(format_args!(
            "{name:?} is no interface name or address"
        )));
    }
    Ok(Some(name))
}

impl<'de> Deserialize<'de> for Symbols {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Whether all of `text` fits a pattern with `*`. On a mismatch only the last `*` takes one more
/// character, so the time is bounded by the product of the lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&text[read]) {
            (at, read) = (at + 1, read + 1);
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            (at, read) = (star_at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str =
        "bus = \"cme-340\"\n[venue]\nkind = \"cme\"\nchannel = 340\nconfig_xml = \"config.xml\"\n";

    fn read(text: &str) -> Result<Config, ConfigError> {
        Config::parse(Path::new("gateway.toml"), text)
    }

    fn least() -> Config {
        read(LEAST).expect("the least that works")
    }

    #[test]
    fn the_least_that_works_has_the_documented_defaults() {
        let config = least();
        assert_eq!(config.bus, "cme-340");
        let expected = Venue {
            kind: Kind::Cme,
            channel: 340,
            config_xml: "config.xml".into(),
            join: Join::Snapshot,
            wait_ms: 20,
            interface: None,
            symbols: Symbols::default(),
        };
        assert_eq!(config.venue, expected);
        assert_eq!(config.limits, Limits::default());
        assert_eq!(Config::of_cme_channel("config.xml", 340), config);
    }

    #[test]
    fn every_setting_is_read_and_written_as_it_was() {
        let text = r#"bus = "b.1"

[venue]
kind = "cme"
channel = 310
config_xml = "/etc/touchline/config.xml"
join = "natural"
wait_ms = 0
interface = "eth0"
symbols = ["ES*", "NQ*"]

[limits]
hold_packets_max = 1
packet_bytes_max = 65507
instruments_max = 2
queue_entries_max = 3
orders_max = 4
event_changes_max = 5

[publication]
directory = "/dev/hugepages/touchline"
ring_bytes = 65536
image_levels_max = 10
tops = false
huge_pages = true
lock_memory = "required"

[publication.lossless]
readers_max = 2
wait_ms = 250
"#;
        assert_eq!(read(text).expect("all settings").to_toml(), text);
        let effective = least().to_toml();
        assert_eq!(
            read(&effective).expect("an effective configuration"),
            least()
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let venue = |line: &str| format!("{LEAST}{line}\n");
        let limits = |line: &str| format!("{LEAST}[limits]\n{line}\n");
        let publication = |line: &str| format!("{LEAST}[publication]\n{line}\n");
        for (text, line, word) in [
            (venue("wait_sm = 20"), 6, "wait_ms"),
            (venue("wait_ms = 10001"), 6, "10001 is not in 0..=10000"),
            (venue("wait_ms = -1"), 6, "-1 is not in 0..=10000"),
            (venue("wait_ms = \"20\""), 6, "invalid type"),
            (venue("join = \"later\""), 6, "`snapshot` or `natural`"),
            (venue("interface = \"\""), 6, "no interface"),
            (venue("symbols = [\"\"]"), 6, "empty pattern"),
            (limits("hold_packets_max = 0"), 7, "0 is not in 1..=1048576"),
            (
                limits("packet_bytes_max = 65508"),
                7,
                "65508 is not in 64..=65507",
            ),
            (limits("orders = 1"), 7, "orders_max"),
            (publication("ring_bytes = 65537"), 7, "power of two"),
            (publication("ring_bytes = 2048"), 7, "from 4096 to"),
            (publication("ring_bytes = -4096"), 7, "power of two"),
            (
                publication("image_levels_max = 257"),
                7,
                "257 is not in 1..=256",
            ),
            (publication("lock_memory = \"yes\""), 7, "`if-allowed`"),
            (publication("directory = \"\""), 7, "empty path"),
            (publication("readers_max = 3"), 7, "unknown field"),
            (
                publication("lossless = { readers_max = 0 }"),
                7,
                "0 is not in 1..=1024",
            ),
            (LEAST.replace("cme\"", "nyse\""), 3, "expected `cme`"),
            (LEAST.replace("cme-340", "../cme"), 1, "cannot be a bus"),
            (LEAST.replace("cme-340", ""), 1, "cannot be a bus"),
            (LEAST.replace("340\n", "-1\n"), 4, "-1"),
            (
                LEAST.replace("channel = 340\n", ""),
                2,
                "missing field `channel`",
            ),
            (LEAST.replace("[venue]", "[venue"), 2, "expected"),
        ] {
            let error = read(&text).expect_err(&text);
            let said = error.to_string();
            assert_eq!(error.line, Some(line), "{said}");
            assert!(
                said.contains(word) && said.contains("gateway.toml:"),
                "{word}: {said}"
            );
            assert!(
                said.contains('^') && said.contains("docs/operations.md"),
                "{said}"
            );
        }
        let missing = Config::read("/nowhere/gateway.toml").expect_err("there is none");
        assert!(
            missing
                .to_string()
                .starts_with("/nowhere/gateway.toml: cannot read it")
        );
    }

    #[test]
    fn a_file_that_is_no_configuration_is_refused() {
        let folder = std::env::temp_dir().join(format!("touchline-config-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join("gateway.toml");
        let written = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a temporary file");
            Config::read(&path)
        };
        let config = written(LEAST.as_bytes()).expect("the least that works");
        assert_eq!(config.venue.config_xml, folder.join("config.xml"));
        assert!(
            written(&[0xff, 0xfe, 0])
                .expect_err("no text")
                .what
                .contains("UTF-8")
        );
        let long = vec![b'#'; FILE_BYTES_MAX as usize + 1];
        assert!(
            written(&long)
                .expect_err("too long")
                .what
                .contains("more than 16777216")
        );
        std::fs::remove_dir_all(&folder).expect("our own folder");
    }

    #[test]
    fn patterns_admit_what_they_should() {
        assert!(Symbols::default().admit("ESU4"));
        for (pattern, symbol, admitted) in [
            ("ESU4", "ESU4", true),
            ("ESU4", "ESU", false),
            ("ESU4", "ESU44", false),
            ("ES*", "ES", true),
            ("ES*", "ESU4-ESZ4", true),
            ("ES*", "NESU4", false),
            ("*", "", true),
            ("*U4", "ESU4U4", true),
            ("E*U*4", "ESUU4", true),
            ("E*U*4", "ESU5", false),
            ("**a**", "bab", true),
        ] {
            let symbols = Symbols(vec!["no".to_owned(), pattern.to_owned()]);
            assert_eq!(symbols.admit(symbol), admitted, "{pattern} {symbol}");
        }
    }
}
