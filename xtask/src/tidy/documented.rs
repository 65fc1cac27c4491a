//! Settings are documented.

use super::{Finding, Repository, source};

const CONFIGURATION: &str = "docs/configuration.md";

/// Each setting of a gateway and of the trading engine is described on the configuration page, in back-ticks.
pub fn settings(repository: &Repository) -> Vec<Finding> {
    let is_configuration = |path: &str| {
        let places = [
            "crates/gateway/src/config.rs",
            "crates/gateway/src/config/",
            "crates/gateway/src/venues/",
            "crates/credentials/src/tls.rs",
            "crates/fx-live/src/execution/config.rs",
        ];
        places.iter().any(|place| path.starts_with(place))
    };
    let guide = repository
        .files
        .get(CONFIGURATION)
        .map_or("", String::as_str);
    let mut findings = Vec::new();
    for (path, text) in repository.rust().filter(|(path, _)| is_configuration(path)) {
        for (line, name) in setting_names(text) {
            if !guide.contains(&format!("`{name}`")) {
                let fix = format!("describe `{name}` in {CONFIGURATION}: meaning, unit, default");
                findings.push(Finding::new(
                    path,
                    line,
                    format!("setting '{name}' is not documented"),
                    fix,
                ));
            }
        }
    }
    findings
}

/// Names of the fields that serde reads, with their lines from 1: the fields of every item under a `Deserialize`
/// derive, renamed where serde renames them.
fn setting_names(text: &str) -> Vec<(usize, String)> {
    let raw: Vec<&str> = text.lines().collect();
    let mut names = Vec::new();
    let mut item = Item::None;
    let mut renamed = None;
    let mut in_attribute = false;
    for (at, line) in source::lines(text).iter().enumerate() {
        let code = line.code.trim();
        if code.starts_with("#[derive(") && line.has_word("Deserialize") {
            item = Item::Announced;
        }
        in_attribute |= matches!(item, Item::Open(_)) && code.starts_with("#[serde(");
        if in_attribute {
            in_attribute = !code.contains(")]");
            renamed = if line.has_word("skip") || line.has_word("flatten") {
                Some(None)
            } else {
                rename(raw[at])
                    .map(|name| Some(name.to_owned()))
                    .or(renamed)
            };
        } else if matches!(item, Item::Open(_)) {
            for field in fields(code) {
                let name = renamed.take().unwrap_or_else(|| Some(field.to_owned()));
                names.extend(name.map(|name| (at + 1, name)));
            }
        }
        item = item.after(code);
    }
    names
}

/// Position of the reader: outside, after the derive, or inside the braces of the item, with the
/// depth.
#[derive(Clone, Copy)]
enum Item {
    None,
    Announced,
    Open(usize),
}

impl Item {
    fn after(self, code: &str) -> Self {
        let count = |c| code.matches(c).count();
        match self {
            Self::None => Self::None,
            Self::Announced if count('{') == count('}') => {
                if code.ends_with(';') || code.ends_with("{}") {
                    Self::None
                } else {
                    Self::Announced
                }
            }
            Self::Announced => Self::Open(1),
            Self::Open(depth) => match (depth + count('{')).saturating_sub(count('}')) {
                0 => Self::None,
                depth => Self::Open(depth),
            },
        }
    }
}

/// Each name in a line of `name: Type`, with or without visibility or the name of a variant before it.
fn fields(code: &str) -> impl Iterator<Item = &str> {
    code.split([',', '{']).filter_map(|part| {
        let (left, right) = part.split_once(':')?;
        let name = left.rsplit(' ').next()?;
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        (is_name && !right.starts_with(':')).then_some(name)
    })
}

/// The name that `#[serde(rename = "name")]` gives.
fn rename(raw: &str) -> Option<&str> {
    raw.split_once("rename = \"")?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = r#"
/// Internal.
#[derive(Debug, Clone)]
pub struct Hidden {
    depth: u8,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The bus: its name.
    pub bus: String,
    #[serde(
        default,
        rename = "kind",
        deserialize_with = "a::b"
    )]
    venue_kind: Kind,
    #[serde(skip)]
    path: PathBuf,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename = "K")]
pub(crate) enum Kind {
    Cme { channel: u16 },
    Other {
        #[serde(default = "twenty")]
        wait_ms: u64,
    },
}

#[derive(Deserialize)]
struct Whole(u64);

#[derive(Deserialize)]
struct Nothing {}
struct Behind {
    it: u64,
}

fn f(a: u8) -> u8 {
    let b: u8 = c::d;
}
"#;

    #[test]
    fn settings_are_the_fields_that_serde_reads() {
        let names: Vec<_> = setting_names(CONFIG)
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        assert_eq!(names, ["bus", "kind", "channel", "wait_ms"]);
    }

    #[test]
    fn a_setting_without_its_description_is_found() {
        let with_guide = |guide| {
            settings(&Repository::of(&[
                ("crates/gateway/src/config.rs", CONFIG),
                (CONFIGURATION, guide),
            ]))
        };
        assert_eq!(with_guide("`bus`, `kind`, `channel`, `wait_ms`"), []);
        let findings = with_guide("`bus`, `kind`, `channel`, wait_ms");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("wait_ms"));
        assert_eq!(findings[0].line, 29);
    }

    #[test]
    fn settings_in_the_files_of_the_configuration_count_too() {
        let files = [
            ("crates/gateway/src/venues/cme.rs", CONFIG),
            ("crates/feed/src/lib.rs", CONFIG),
        ];
        assert_eq!(settings(&Repository::of(&files)).len(), 4);
    }
}
