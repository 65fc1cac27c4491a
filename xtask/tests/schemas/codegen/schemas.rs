//! The reader of schemas: schemas that it must accept and refuse, and hostile input, which must neither stop nor crash it.

use crate::codegen::{cme_templates, files};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_testing::Folder;
use touchline_testing::{captures, schemas};
use xtask::codegen::read::{from_file, from_texts};
use xtask::codegen::{differing, formatted, load, rust};

/// Conformance schemas, sorted by the result of the reference compiler.
#[test]
fn conformance_schemas_are_accepted_or_refused() {
    let Some(captures) = captures("conformance schemas") else {
        return;
    };
    let schemas = captures.join("conformance/sbe-schemas");
    for path in files(&schemas.join("accept"), "xml") {
        let schema =
            from_file(&path).unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        assert!(!schema.messages.is_empty(), "{}", path.display());
    }
    for path in files(&schemas.join("reject"), "xml") {
        let error = from_file(&path)
            .err()
            .unwrap_or_else(|| panic!("{} was taken", path.display()));
        assert!(!format!("{error:#}").is_empty());
    }
}

/// Every schema of the folder is read, whichever tool wrote it.
#[test]
fn schemas_of_other_venues_are_read() {
    let Some(schemas) = schemas("schemas of other venues") else {
        return;
    };
    let mut count = 0;
    for venue in ["cme", "binance", "deribit", "sbe", "bench-aeron-zeromq"] {
        for path in files(&schemas.join(venue), "xml") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            if text.contains("messageSchema") {
                from_file(&path).unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
                count += 1;
            }
        }
    }
    assert!(count > 10, "only {count} schemas");
}

/// The committed views equal those generated from the published templates.
#[test]
fn committed_views_are_as_generated() {
    let Some(schemas) = schemas("regeneration of the committed views") else {
        return;
    };
    let root = xtask::root();
    let merged = load(&cme_templates(&schemas)).expect("the published templates merge");
    let files = rust::files(&merged).expect("the published templates become Rust");
    let files = formatted(&root, &files).expect("rustfmt takes them");
    let differing = differing(&root.join("crates/wire/src/mdp3/generated"), &files)
        .expect("the folder is there");
    assert!(
        differing.is_empty(),
        "run cargo xtask codegen again; these differ: {differing:?}"
    );
}

/// A folder named by mistake does not lose its files.
#[test]
fn only_generated_files_are_replaced() {
    let folder = Folder::new("codegen");
    let (schema_path, out) = (folder.join("schema.xml"), folder.join("out"));
    let message =
        "<message name=\"M\" id=\"1\"><field name=\"a\" id=\"1\" type=\"uint8\"/></message>";
    fs::write(&schema_path, schema("", message)).expect("the schema");
    let arguments = [&schema_path, &PathBuf::from("--out"), &out]
        .map(|path| path.to_string_lossy().into_owned());
    let run = |more: &[&str]| {
        let arguments: Vec<&str> = arguments
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .collect();
        xtask::codegen::run(&xtask::root(), &arguments)
    };
    run(&[]).expect("a new folder");
    run(&[]).expect("a folder of generated files");
    run(&["--check"]).expect("nothing differs");
    fs::write(out.join("m.rs"), format!("{}// changed", rust::MARK)).expect("a changed file");
    assert!(
        run(&["--check"])
            .expect_err("it differs")
            .to_string()
            .contains("m.rs")
    );
    fs::write(out.join("own.rs"), "fn own() {}").expect("somebody's file");
    assert!(
        run(&[])
            .expect_err("somebody's file")
            .to_string()
            .contains("own.rs")
    );
    assert_eq!(
        fs::read_to_string(out.join("own.rs")).ok().as_deref(),
        Some("fn own() {}")
    );
}

#[test]
fn errors_name_their_cause() {
    let nothing = "";
    let one = |types: &str, message: &str| {
        schema(
            types,
            &format!("<message name=\"M\" id=\"1\">{message}</message>"),
        )
    };
    for (about, text, expected) in [
        ("no XML", "<messageSchema", "not well-formed"),
        ("another root", "<schema/>", "not <messageSchema>"),
        ("no header", "<messageSchema id=\"1\"/>", "messageHeader"),
        (
            "no type",
            &one(nothing, "<field name=\"a\" id=\"1\" type=\"XXXX\"/>"),
            "no type 'XXXX'",
        ),
        (
            "overlap",
            &one(
                nothing,
                "<field name=\"a\" id=\"1\" type=\"uint32\"/><field name=\"b\" id=\"2\" type=\"uint8\" offset=\"1\"/>",
            ),
            "offset 1",
        ),
        (
            "order",
            &one(
                nothing,
                "<group name=\"g\" id=\"2\" dimensionType=\"dim\"/><field name=\"a\" id=\"1\" type=\"uint8\"/>",
            ),
            "out of order",
        ),
        (
            "bit",
            &one(
                "<set name=\"s\" encodingType=\"uint8\"><choice name=\"c\">8</choice></set>",
                nothing,
            ),
            "no bit 8",
        ),
        (
            "value",
            &one(
                "<enum name=\"e\" encodingType=\"uint8\"><validValue name=\"v\">256</validValue></enum>",
                nothing,
            ),
            "outside 0 to 255",
        ),
        (
            "constant",
            &one(
                "<type name=\"t\" primitiveType=\"uint8\" presence=\"constant\"/>",
                nothing,
            ),
            "needs a value",
        ),
        (
            "size",
            &one(
                "<type name=\"t\" primitiveType=\"uint64\" length=\"18446744073709551615\"/>",
                nothing,
            ),
            "more than a block",
        ),
        (
            "offset",
            &one(
                nothing,
                "<field name=\"a\" id=\"1\" type=\"uint8\" offset=\"18446744073709551615\"/>",
            ),
            "beyond byte 65535",
        ),
        (
            "since",
            &one(
                nothing,
                "<field name=\"a\" id=\"1\" type=\"uint8\" sinceVersion=\"9\"/>",
            ),
            "newer than the schema",
        ),
        (
            "twice",
            &schema(
                nothing,
                "<message name=\"M\" id=\"1\"/><message name=\"N\" id=\"1\"/>",
            ),
            "twice",
        ),
        (
            "block",
            &schema(
                nothing,
                "<message name=\"M\" id=\"1\" blockLength=\"3\"><field name=\"a\" id=\"1\" type=\"uint32\"/></message>",
            ),
            "blockLength 3",
        ),
    ] {
        let error = from_texts(&[text.to_owned()]).map(drop).expect_err(about);
        assert!(
            format!("{error:#}").contains(expected),
            "{about}: {error:#}"
        );
    }
}

/// Limit of a test: far longer than a loaded host needs, and far shorter than a time that grows with the square of a text.
const HANGS: Duration = Duration::from_secs(60);

/// Nesting, doubling and sheer size: each is refused, or read, at once.
#[test]
fn hostile_schemas_do_not_hang() {
    let chain = |count: usize, refs: usize| -> String {
        let link = |i: usize| {
            let members: String = (0..refs)
                .map(|r| format!("<ref name=\"r{r}\" type=\"c{}\"/>", i + 1))
                .collect();
            format!("<composite name=\"c{i}\">{members}</composite>")
        };
        (0..count).map(link).collect::<String>()
            + &format!("<type name=\"c{count}\" primitiveType=\"uint8\"/>")
    };
    let nested = |open: &str, close: &str, count: usize| open.repeat(count) + &close.repeat(count);
    let group = "<group name=\"g\" id=\"1\" dimensionType=\"dim\">";
    for (about, text) in [
        ("a long chain of types", schema(&chain(100_000, 1), "")),
        ("types that double", schema(&chain(30, 2), "")),
        (
            "composites in composites",
            schema(&nested("<composite name=\"c\">", "</composite>", 500), ""),
        ),
        (
            "groups in groups",
            schema(
                "",
                &format!(
                    "<message name=\"M\" id=\"1\">{}</message>",
                    nested(group, "</group>", 500)
                ),
            ),
        ),
        ("elements in elements", nested("<a>", "</a>", 1_000_000)),
        (
            "entities",
            "<!DOCTYPE a [<!ENTITY b \"cc\">]><messageSchema>&b;</messageSchema>".to_owned(),
        ),
    ] {
        let start = Instant::now();
        let error = from_texts(&[text]).map(drop).expect_err(about);
        assert!(
            start.elapsed() < HANGS,
            "{about} took {:?}: {error:#}",
            start.elapsed()
        );
    }
}

fn schema(types: &str, messages: &str) -> String {
    let header = ["blockLength", "templateId", "schemaId", "version"]
        .map(|name| format!("<type name=\"{name}\" primitiveType=\"uint16\"/>"));
    let dimension = "<composite name=\"dim\"><type name=\"blockLength\" primitiveType=\"uint16\"/><type name=\"numInGroup\" primitiveType=\"uint8\"/></composite>";
    format!(
        "<messageSchema id=\"1\" version=\"1\"><types><composite name=\"messageHeader\">{}</composite>{dimension}{types}</types>{messages}</messageSchema>",
        header.concat()
    )
}

/// The committed dictionary equals the one generated from the published one.
#[test]
fn the_committed_dictionary_is_as_generated() {
    let Some(schemas) = schemas("regeneration of the FIX dictionary") else {
        return;
    };
    let tables = xtask::codegen::fix::tables(&schemas.join("fix/FIX44.xml")).expect("it is read");
    let committed = fs::read_to_string(xtask::root().join(xtask::codegen::fix::PLACE));
    assert!(
        committed.ok().as_ref() == Some(&tables),
        "run cargo xtask codegen --fix again"
    );
}
