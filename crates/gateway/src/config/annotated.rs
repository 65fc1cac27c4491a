//! Commented configuration: meaning, values and default of each setting as comments. The texts are those of the tables
//! in `docs/configuration.md`.

use std::fmt::Write;

/// The page with the settings of every gateway.
pub const CONFIGURATION: &str = include_str!("../../configuration.md");

/// Documentation of a venue's settings, in Markdown.
#[derive(Clone, Copy, Debug)]
pub struct Guide {
    /// The text.
    pub text: &'static str,
    /// The venue's own tables in output order, each with the line of the text after which its rows start.
    pub tables: &'static [(&'static str, &'static str)],
}

/// Tables of every gateway, before and after the venue's own.
const BEFORE: &[(&str, &str)] = &[("", "## A gateway's configuration")];
const BEHIND: &[(&str, &str)] = &[
    ("gateway", "### `[gateway]`"),
    ("publication", "### `[publication]`"),
    ("publication.lossless", "`[publication.lossless]`"),
];

/// Section with the row of `kind`, for every venue.
const KIND: &str = "### `[venue]`";

/// A setting, as its row in the documentation.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its key.
    pub name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) values: &'static str,
    pub(crate) default: &'static str,
}

/// The settings of one TOML table.
#[derive(Clone, Debug)]
pub struct SettingsTable {
    /// Heading; empty for the part above the first table.
    pub name: &'static str,
    /// Kinds of venue that have it; empty if all have it.
    pub kinds: &'static [&'static str],
    /// Its keys.
    pub settings: Vec<Setting>,
}

impl Setting {
    /// Meaning.
    pub fn meaning(&self) -> String {
        plain(self.meaning)
    }

    /// Values with their unit; empty if the value is a table.
    pub fn values(&self) -> String {
        plain(self.values)
    }

    /// Default.
    pub fn default(&self) -> String {
        plain(self.default)
    }
}

impl SettingsTable {
    /// Settings of every gateway.
    pub fn of_all() -> Vec<SettingsTable> {
        let tables = BEFORE.iter().chain(BEHIND);
        let table = |&(name, line): &(&'static str, &'static str)| SettingsTable {
            name,
            kinds: &[],
            settings: rows(CONFIGURATION, line),
        };
        tables.map(table).collect()
    }

    /// Settings of one venue.
    pub fn of(kinds: &'static [&'static str], guide: &Guide) -> Vec<SettingsTable> {
        let tables = guide.tables.iter();
        let table = |&(name, _): &(&'static str, &'static str)| SettingsTable {
            name,
            kinds,
            settings: settings(name, guide),
        };
        tables.map(table).collect()
    }
}

/// Tables of a venue's configuration, in output order.
pub(crate) fn tables(guide: &Guide) -> Vec<&'static str> {
    let all = BEFORE.iter().chain(guide.tables).chain(BEHIND);
    all.map(|(table, _)| *table).collect()
}

/// Settings of a TOML table, from the documentation.
pub(crate) fn settings(table: &str, guide: &Guide) -> Vec<Setting> {
    let of = |tables: &[(&str, &'static str)]| {
        let found = tables.iter().find(|(name, _)| *name == table);
        found.map(|(_, line)| *line)
    };
    let Some(line) = of(guide.tables) else {
        let line = of(BEFORE).or_else(|| of(BEHIND));
        return line.map_or(Vec::new(), |line| rows(CONFIGURATION, line));
    };
    let mut settings = rows(guide.text, line);
    if table == "venue" && settings.iter().all(|one| one.name != "kind") {
        let of_all = rows(CONFIGURATION, KIND).into_iter();
        settings.splice(0..0, of_all.filter(|one| one.name == "kind"));
    }
    settings
}

/// Rows of the first Markdown table after a line.
fn rows(text: &'static str, line: &str) -> Vec<Setting> {
    let behind = text.lines().skip_while(|each| !each.starts_with(line));
    let rows = behind
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    rows.filter_map(setting).collect()
}

fn setting(row: &'static str) -> Option<Setting> {
    let mut cells = row.trim_matches('|').split('|').map(str::trim);
    let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
    Some(Setting {
        name,
        meaning: cells.next()?,
        values: cells.next()?,
        default: cells.next()?,
    })
}

/// Adds comments to a configuration in TOML's output format: one line per key, a table's keys after its heading.
/// Settings and tables that are not set are added as comments.
pub(crate) fn annotated(toml: &str, guide: &Guide) -> String {
    let mut text = String::from(
        "# The configuration of a gateway, complete: what is set, what is not, and what it means. Paths are absolute.\n\n",
    );
    let sections = sections(toml);
    let tables = tables(guide);
    for &table in &tables {
        let section = sections.iter().find(|(name, _)| *name == table);
        if !table.is_empty() {
            describe(&mut text, table, guide);
            let _ = match section {
                Some(_) => writeln!(text, "[{table}]"),
                None => writeln!(text, "# [{table}]"),
            };
        }
        let lines = section.map_or(&[][..], |(_, lines)| lines);
        for setting in settings(table, guide) {
            let key = lines.iter().find(|line| key_of(line) == setting.name);
            let below = match table {
                "" => setting.name.to_owned(),
                _ => format!("{table}.{}", setting.name),
            };
            // A table follows below, with its own description.
            if key.is_none() && tables.contains(&below.as_str()) {
                continue;
            }
            push_words(&mut text, &setting);
            let inner = sections.iter().find(|(name, _)| *name == below);
            match (key, inner) {
                (Some(line), _) => text.push_str(line),
                (None, Some((_, lines))) => {
                    let _ = write!(text, "{} = {{ {} }}", setting.name, lines.join(", "));
                }
                (None, None) => {
                    let _ = write!(text, "# {} =", setting.name);
                }
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Description of a table, above it.
fn describe(text: &mut String, table: &str, guide: &Guide) {
    let (parent, name) = table.rsplit_once('.').unwrap_or(("", table));
    let settings = settings(parent, guide);
    if let Some(setting) = settings.iter().find(|setting| setting.name == name) {
        push_words(text, setting);
    }
}

/// Meaning, values with their unit, and default, at most 100 columns wide.
fn push_words(text: &mut String, setting: &Setting) {
    let mut words = plain(setting.meaning);
    for (name, cell) in [("Values", setting.values), ("Default", setting.default)] {
        if !cell.is_empty() {
            let _ = write!(words, ". {name}: {}", plain(cell));
        }
    }
    let mut width = usize::MAX;
    for word in words.split_whitespace() {
        if width.saturating_add(1 + word.len()) > 100 {
            if width != usize::MAX {
                text.push('\n');
            }
            text.push('#');
            width = 1;
        }
        text.push(' ');
        text.push_str(word);
        width += 1 + word.chars().count();
    }
    text.push_str(".\n");
}

/// Removes Markdown: of a link the text stays; back-ticks are dropped.
pub(crate) fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after
            .split_once("](")
            .and_then(|(words, behind)| Some((words, behind.split_once(')')?.1)));
        let Some((words, behind)) = link else {
            break;
        };
        text.push_str(before);
        text.push_str(words);
        rest = behind;
    }
    text.push_str(rest);
    text.replace('`', "")
}

/// Tables of a TOML text, each with its lines.
fn sections(toml: &str) -> Vec<(&str, Vec<&str>)> {
    let mut sections = vec![("", Vec::new())];
    for line in toml.lines().filter(|line| !line.is_empty()) {
        let name = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'));
        match (name, sections.last_mut()) {
            (Some(name), _) => sections.push((name, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    sections
}

fn key_of(line: &str) -> &str {
    line.split_once('=').map_or("", |(key, _)| key.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::venues::cme::CmeVenue;
    use crate::venues::fix::FixVenue;
    use crate::venues::{AnyConfig, VENUES, Venue};
    use std::collections::BTreeSet;
    use std::path::Path;

    const CME: &str =
        "bus = \"b\"\n[venue]\nkind = \"cme\"\nchannel = 340\nconfig_xml = \"x/config.xml\"\n";
    const CME_FULL: &str = "bus = \"b\"\n[venue]\nkind = \"cme\"\nchannel = 340\nconfig_xml = \"config.xml\"\n\
        interface = \"eth0\"\nsymbols = [\"ES*\", \"/A=[a-z]#/\"]\n[venue.replay]\nuser = \"u\"\npassword_file = \"p\"\n\
        hosts = [\"10.0.0.1:10000\"]\n[gateway]\nloop_cpu_affinity = 3\n[publication]\ndirectory = \"buses\"\n[publication.lossless]\n";
    const FIX: &str = "bus = \"f\"\n[venue]\nkind = \"fix\"\nhosts = [\"localhost:9881\"]\nsender = \"FIRM\"\n\
        target = \"BANK\"\nsymbols = [\"EUR/USD\"]\nlogon_fields = [\"9001=Y\"]\n";
    const DERIBIT: &str = "bus = \"d\"\n[venue]\nkind = \"deribit\"\nhosts = [\"localhost:9881\"]\nsender = \"FIRM\"\n\
        user = \"id\"\npassword = { file = \"s\" }\ntls = { roots_file = \"r.pem\", client_certificate_file = \"c.pem\", \
        client_key = { env = \"KEY\" } }\n";

    fn parse(name: &Path, text: &str) -> Box<dyn AnyConfig> {
        let any = VENUES.from_text(name, text);
        any.unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn a_printed_configuration_is_equivalent_in_any_folder() {
        for text in [CME, CME_FULL, FIX, DERIBIT] {
            let here = std::env::current_dir().expect("a folder");
            let original = parse(&here.join("a/gateway.toml"), text);
            assert_eq!(
                parse(Path::new("/elsewhere/saved.toml"), &original.to_file()).to_toml(),
                original.to_toml()
            );
            // A file named by a relative path too.
            let relative = parse(Path::new("a/gateway.toml"), text);
            let printed = relative.to_file();
            assert_eq!(
                parse(Path::new("/elsewhere/saved.toml"), &printed).to_toml(),
                original.to_toml(),
                "{printed}"
            );
        }
    }

    /// Keys that serde knows for a table: it lists them in the error for an unknown one.
    fn keys(text: &str) -> BTreeSet<String> {
        let error = match text.contains("kind = \"cme\"") {
            true => toml::from_str::<Config<CmeVenue>>(text).map(|_| ()),
            false => toml::from_str::<Config<FixVenue>>(text).map(|_| ()),
        };
        let said = error.expect_err("no such key").to_string();
        let list = said.split_once("expected").expect("a list").1;
        let names = list.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    }

    #[test]
    fn every_key_is_printed_with_its_own_description() {
        let [cme, fix] = [&CmeVenue::GUIDE, &FixVenue::GUIDE];
        for (text, guide) in [(CME, cme), (FIX, fix), (DERIBIT, fix)] {
            let printed = parse(Path::new("f"), text).to_file();
            for table in tables(guide) {
                let begin = text.find("[venue]").expect("a venue");
                let with_nonsense = match table {
                    "" => format!("nonsense = 1\n{text}"),
                    "venue" => text.replace("[venue]\n", "[venue]\nnonsense = 1\n"),
                    _ if text.contains("tls = {") && table == "venue.tls" => {
                        text.replace("tls = {", "tls = { nonsense = 1,")
                    }
                    _ => format!(
                        "{}{}\n[{table}]\nnonsense = 1\n",
                        &text[..begin],
                        &text[begin..]
                    ),
                };
                let known = keys(&with_nonsense);
                assert!(known.len() > 1, "{table}");
                let described = settings(table, guide);
                let described: BTreeSet<_> =
                    described.iter().map(|one| one.name.to_owned()).collect();
                assert_eq!(described, known, "[{table}]");
                for name in known {
                    let stands = printed.lines().any(|line| {
                        let line = line.trim_start_matches("# ");
                        key_of(line) == name || line.starts_with('[') && line.contains(&name)
                    });
                    assert!(stands, "{name} of [{table}]:\n{printed}");
                }
            }
        }
    }

    #[test]
    fn description_unit_and_default_are_printed_above_a_key() {
        let printed = parse(Path::new("/f"), CME).to_file();
        let expected = "# how long packets behind a gap wait before the gap is declared lost and recovery starts. Values: 0\n\
                        # to 10,000 ms. Default: 20.\nwait_ms = 20\n";
        assert!(printed.contains(expected), "{printed}");
        assert!(printed.contains("# interface =\n"), "{printed}");
        assert!(
            printed.contains("config_xml = \"/x/config.xml\"\n"),
            "{printed}"
        );
        assert!(
            printed.lines().all(|line| line.chars().count() <= 110),
            "{printed}"
        );
    }
}
