//! `touchline.h`, the enumerations of `touchline.hpp` and `names.py`, generated from the functions and from the one table of names. `TOUCHLINE_WRITE=1` writes
//! them, otherwise they are compared.

use crate::tools::package;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use touchline_client::names::{Names, TABLES};

#[test]
fn the_header_is_that_of_the_functions_and_the_names() {
    compare(&package("include/touchline.h"), &header());
}

#[test]
fn the_names_of_the_python_package_are_those_of_the_client() {
    compare(&package("../python/touchline/names.py"), &python());
}

#[test]
fn the_enumerations_of_cpp_are_the_names_of_the_client() {
    let header = package("include/touchline.hpp");
    let text = fs::read_to_string(&header).expect("a file of this checkout");
    let (before, rest) = text.split_once(CPP_BEGIN).expect("the generated part");
    let (_, behind) = rest.split_once(CPP_END).expect("its end");
    let names: String = CPP_ENUMERATIONS.iter().map(cpp_enumeration).collect();
    compare(
        &header,
        &format!("{before}{CPP_BEGIN}{names}{CPP_END}{behind}"),
    );
}

const CPP_BEGIN: &str = "// Generated from the names of all languages: do not edit.\n";
const CPP_END: &str = "// End of the generated part.\n";

/// Enumerations of C++ and the kinds of their tables.
const CPP_ENUMERATIONS: [(&str, &str); 12] = [
    ("EventKind", "event"),
    ("Connection", "connection"),
    ("State", "state"),
    ("Side", "side"),
    ("Aggressor", "aggressor"),
    ("BookKind", "book"),
    ("LevelAction", "level_action"),
    ("OrderAction", "order_action"),
    ("TradeAction", "trade_action"),
    ("Statistic", "statistic"),
    ("DeskKind", "desk_event"),
    ("Idle", "idle"),
];

fn cpp_enumeration((class, kind): &(&str, &str)) -> String {
    let table = TABLES.iter().find(|table| table.kind == *kind);
    let table = table.expect("a table of names");
    let mut text = format!(
        "// {}.\nenum class {class} : std::uint8_t {{\n",
        table.about
    );
    for name in table.names {
        let word: String = name.word.split('_').map(capitalised).collect();
        let constant = c_constant(table.prefix, name.word);
        text += &format!("  {word} = {constant}, // {}\n", name.about);
    }
    text + &format!(
        "}};\n// Its word.\ninline const char *name({class} value) noexcept {{ return tl_{kind}_name(static_cast<int>(value)); }}\n\n"
    )
}

fn compare(path: &Path, made: &str) {
    if std::env::var_os("TOUCHLINE_WRITE").is_some() {
        fs::write(path, made).expect("a file of this checkout");
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == made,
        "{} is not what the sources generate: TOUCHLINE_WRITE=1 cargo test -p touchline-capi generated",
        path.display()
    );
}

fn header() -> String {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        include_guard: Some("TOUCHLINE_H".to_owned()),
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        usize_is_size_t: true,
        header: Some(
            "/* Client of a Touchline bus. Generated from the library: do not edit.\n *\n \
             * A bus is used by one thread at a time; only tl_stop may be called by any. A function that returns\n \
             * tl_status returns a negative number for an error, and tl_error() has the sentence. Prices are counts of\n \
             * 1e-9, quantities have a power of ten beside them, absent numbers are TL_NONE. Structs begin with their size\n \
             * as the caller knows it, so that they can grow at the end; rows of books and steps have none and do not grow. */"
                .to_owned(),
        ),
        after_includes: Some(c_names()),
        documentation_style: cbindgen::DocumentationStyle::C99,
        line_length: 120,
        ..cbindgen::Config::default()
    };
    config.structure.associated_constants_in_body = false;
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in [
        "status",
        "text",
        "event",
        "levels",
        "bus",
        "definition",
        "changes",
        "stats",
        "desk_event",
        "desk",
    ] {
        builder = builder.with_src(package(&format!("src/{file}.rs")));
    }
    let bindings = builder.generate().expect("the library's own sources");
    let mut text = Vec::new();
    bindings.write(&mut text);
    // The paragraph `# Safety` is Rust's; what it says of pointers is for programmers in C, too.
    String::from_utf8(text)
        .expect("it is text")
        .replace("// # Safety\n", "// Valid:\n")
}

fn c_names() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "\n/* Version of this header; tl_version() is that of the library. */\n#define TL_VERSION \"{version}\"\n"
    );
    for table in &TABLES {
        c_enumeration(&mut text, table).expect("a string");
    }
    text
}

/// An enumeration and the words of its values. Fields have integers of fixed width, so that a struct has one form.
fn c_enumeration(text: &mut String, table: &Names) -> std::fmt::Result {
    let Names { kind, prefix, .. } = table;
    writeln!(text, "\n/* {}. */\nenum tl_{kind}_names {{", table.about)?;
    for name in table.names {
        writeln!(
            text,
            "  {} = {}, /* {} */",
            c_constant(prefix, name.word),
            name.number,
            name.about
        )?;
    }
    writeln!(text, "}};\n\n/* Its word; \"?\" for another number. */")?;
    writeln!(
        text,
        "static inline const char *tl_{kind}_name(int value) {{\n  switch (value) {{"
    )?;
    for name in table.names {
        writeln!(
            text,
            "  case {}: return \"{}\";",
            c_constant(prefix, name.word),
            name.word
        )?;
    }
    writeln!(text, "  default: return \"?\";\n  }}\n}}")
}

fn c_constant(prefix: &str, word: &str) -> String {
    format!("{prefix}_{}", word.to_uppercase())
}

fn python() -> String {
    let mut text = String::from(
        "\"\"\"Words of the columns with small integers, and of kinds. Generated from the client: do not edit.\"\"\"\n\n\
         from typing import Literal\n",
    );
    for table in &TABLES {
        python_table(&mut text, table).expect("a string");
    }
    text
}

fn python_table(text: &mut String, table: &Names) -> std::fmt::Result {
    let class: String = table.kind.split('_').map(capitalised).collect();
    let class = format!("{class}Name");
    writeln!(text, "\n# {}.\n{class} = Literal[", table.about)?;
    for name in table.names {
        writeln!(text, "    \"{}\",", name.word)?;
    }
    writeln!(text, "]\n{} = {{", table.kind.to_uppercase())?;
    for name in table.names {
        writeln!(
            text,
            "    {}: \"{}\",  # {}",
            name.number, name.word, name.about
        )?;
    }
    writeln!(text, "}}")
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
