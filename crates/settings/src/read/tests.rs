//! Mistakes of texts, each with its line and its words.

use super::read;
use crate::{Manual, Mistakes, number, within};
use serde::Deserialize;
use touchline_testing::random::{Random, seeds};

const MANUAL: Manual<'static> = Manual::page("docs/page.md");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default = "number::<_, 3>", deserialize_with = "within::<_, _, 1, 9>")]
    count: u8,
    #[serde(default)]
    share: f64,
    #[serde(default)]
    cpus: Option<[u16; 3]>,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    part: Part,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Fast,
    Slow,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Part {
    wait_ms: u64,
    deep: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    to: String,
    #[serde(default)]
    ports: Vec<u16>,
}

fn checked(file: File) -> Result<File, Mistakes> {
    let mut wrong = Mistakes::default();
    if file.name.is_empty() {
        wrong.push("name", "is empty; give a name");
    }
    if file.part.wait_ms > 9 {
        wrong
            .section("part", "part.")
            .push("wait_ms", "give 0 to 9");
    }
    for (at, link) in file.links.iter().enumerate() {
        if link.to == file.name {
            let mut link = wrong.section(format!("links.{at}"), format!("link {at}: "));
            link.push("to", "is itself; give another");
        }
    }
    wrong.none_or(file)
}

fn said(text: &str) -> Vec<String> {
    let wrong = read(text, &MANUAL, checked).expect_err(text);
    wrong.to_string().lines().map(str::to_owned).collect()
}

/// Values of all types arrive as written.
#[test]
fn a_text_without_mistakes_is_read() {
    let text = "name = \"a\"\nshare = 1\ncpus = [1, 0x2, 3]\nkind = \"slow\"\npart.deep = true\n[[links]]\nto = \"b\"\nports = [1_000]\n\
                [[links]]\nto = \"c\"\n";
    let file = read(text, &MANUAL, checked).expect("no mistake");
    assert_eq!((file.name.as_str(), file.count), ("a", 3));
    assert_eq!((file.share, file.cpus), (1.0, Some([1, 2, 3])));
    assert!(matches!(file.kind, Kind::Slow) && file.part.deep);
    assert_eq!(
        (file.links.len(), &file.links[0].ports[..]),
        (2, &[1_000][..])
    );
}

/// Each kind of mistake alone.
#[test]
fn a_mistake_has_its_line_its_key_and_its_fix() {
    for (text, expected) in [
        (
            "nmae = \"a\"\n[part]\n",
            "line 1: unknown setting `nmae` in the part above the first table; did you mean `name`? All settings are in docs/page.md",
        ),
        (
            "name = \"a\"\n[part]\nnonsense = 1\n",
            "line 3: unknown setting `nonsense` in [part]; it takes `wait_ms`, `deep`; all settings are in docs/page.md",
        ),
        (
            "name = \"a\"\n[[lnks]]\nto = \"b\"\n",
            "line 2: unknown table `lnks`; did you mean [[links]]? All tables are in docs/page.md",
        ),
        (
            "name = \"a\"\n[[links]]\nto = \"b\"\n[[links]]\nports = []\n",
            "line 4: [[links]] has no `to`; add it; see docs/page.md",
        ),
        (
            "name = \"a\"\n[[links]]\nto = \"b\"\nports = [1, \"2\"]\n",
            "line 4: an item of `ports` is the text \"2\", but must be a whole number; write `ports = 2`, without quotes; see docs/page.md",
        ),
        (
            "name = \"a\"\ncount = 10\n",
            "line 2: `count` is 10, which is out of range; give 1 to 9; see docs/page.md",
        ),
        (
            "name = \"a\"\ncount = 99999999999999999999\n",
            "line 2: `count` is the number 99999999999999999999, but must be a whole number from 0 up; see docs/page.md",
        ),
        (
            "name = \"a\"\nshare = \"1\"\n",
            "line 2: `share` is the text \"1\", but must be a number; see docs/page.md",
        ),
        (
            "name = \"a\"\nshare = 2026-01-05\n",
            "line 2: `share` is a date or time, but must be a number; see docs/page.md",
        ),
        (
            "name = \"a\"\ncpus = [1, 2, 3, 4]\n",
            "line 2: `cpus`: the list is too long by 1; see docs/page.md",
        ),
        (
            "name = \"a\"\nkind = \"fats\"\n",
            "line 2: `kind` is \"fats\", but must be \"fast\" or \"slow\"; did you mean \"fast\"? What each means is in docs/page.md",
        ),
        (
            "name = \"a\"\n[[part]]\n",
            "line 2: `part` is a list of tables; write its heading with single brackets, [part]",
        ),
        (
            "name = \"a\"\n[links]\nto = \"b\"\n",
            "line 2: [links] is a table, but must be a list; write its heading with double brackets, [[links]]",
        ),
        (
            "name = \"a\"\npart.wait_ms = 10\n",
            "line 2: part.wait_ms: give 0 to 9",
        ),
        (
            "name = \"a\"\n[[links]]\nto = \"b\"\n[[links]]\nto = \"a\"\n",
            "line 5: link 1: to: is itself; give another",
        ),
    ] {
        assert_eq!(said(text), [expected], "{text}");
    }
}

/// Syntax, types and checked values together, in the order of the lines; what a mistake causes is not another one.
#[test]
fn all_mistakes_are_found_at_once() {
    let text = "name = \"\"\ncount = 0\nknd = 1\ncpus = [1, 2]\n[part]\nwait_ms = \"1\"\n[[links]]\nport = 1\n";
    let lines = said(text);
    let starts = [
        "line 2: ", "line 3: ", "line 4: ", "line 6: ", "line 7: ", "line 8: ",
    ];
    assert_eq!(lines.len(), starts.len(), "{lines:?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{start}: {lines:?}");
    }
    // Without a wrong entry of a list the values are checked too.
    let lines = said("name = \"\"\ncount = 0\n");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], "line 1: name: is empty; give a name");
    // A wrong key that is needed is not missing, too.
    assert_eq!(said("name = 1\n").len(), 1);
    // A line that is not TOML does not hide the others, nor make the file lack its key.
    let lines = said("name = a\ncount = 0\nname 1\n");
    let starts = [
        "line 1: `name` is text without quotes, a; ",
        "line 2: `count` ",
        "line 3: not valid TOML: ",
    ];
    assert_eq!(lines.len(), starts.len(), "{lines:?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{start}: {lines:?}");
    }
    let many: String = (0..30).map(|at| format!("k{at} = 1\n")).collect();
    let lines = said(&many);
    assert_eq!((lines.len(), lines[10].as_str()), (11, "and 21 more"));
}

/// The file's name begins each line.
#[test]
fn mistakes_begin_with_file_and_line() {
    let wrong = read("name = 1\n", &MANUAL, checked).expect_err("a number");
    let said = wrong.in_file(std::path::Path::new("f.toml")).to_string();
    assert!(
        said.starts_with("f.toml:1: `name` is the number 1, "),
        "{said}"
    );
    let none = Mistakes::default().in_file(std::path::Path::new("f.toml"));
    assert!(none.none_or(()).is_ok());
}

/// Damaged texts are accepted if `toml` accepts them, and otherwise refused with one short line for each mistake.
#[test]
fn damaged_texts_are_refused_if_toml_refuses_them() {
    const WHOLE: &str = "name = \"a\"\ncount = 4\nshare = 0.5\ncpus = [1, 2, 3]\nkind = \"slow\"\npart.wait_ms = 1\n[[links]]\nto = \"b\"\n\
                         ports = [1, 2]\n[[links]]\nto = \"c\"\n";
    const PARTS: [&str; 17] = [
        ", 7",
        "\"",
        "\n",
        "=",
        "[",
        "]",
        "{",
        "}",
        ".",
        "-",
        "0",
        "a",
        "name",
        "links",
        "[part]\n",
        "[[links]]\n",
        "2026-01-05",
    ];
    for seed in seeds(3_000) {
        let mut random = Random::from_seed(seed);
        let mut text = WHOLE.to_owned();
        for _ in 0..=random.below(3) {
            let start = random.index(text.len());
            let end = (start + random.index(4)).min(text.len());
            let part: &str = random.pick::<&str>(&PARTS);
            text.replace_range(start..end, part);
        }
        let context = format!("SEED={seed}\n{text}");
        let accepted = toml::from_str::<File>(&text).is_ok();
        match read(&text, &MANUAL, Ok::<File, Mistakes>) {
            Ok(_) => assert!(accepted, "{context}"),
            Err(wrong) => {
                // `toml` ignores the items behind the last one that a list may have.
                let mut list = wrong.list().iter();
                let is_stricter = list.all(|one| one.what.contains("the list is too long by "));
                assert!(!accepted || is_stricter, "{context}\n{wrong}");
                assert!(!wrong.list().is_empty(), "{context}");
                for mistake in wrong.list() {
                    let said = format!("{}; {}", mistake.what, mistake.fix);
                    let is_short = said.len() < 1_200 && !said.contains(char::is_control);
                    assert!(is_short, "{context}\n{said}");
                }
            }
        }
    }
}
