use super::*;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use touchline_testing::Folder;

const SENTINEL: &str = "sentinel-5f4dcc3b";

fn file(folder: &Path, content: &str, mode: u32) -> SecretSource {
    let file = folder.join("secret");
    let _ = std::fs::remove_file(&file);
    std::fs::write(&file, content).expect("a temporary file");
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&file, mode).expect("our own file");
    SecretSource::File(file)
}

#[test]
fn a_secret_file_must_be_readable_by_its_owner_only() {
    let folder = Folder::new("file");
    for (content, mode) in [
        (SENTINEL.to_owned(), 0o600),
        (format!("{SENTINEL}\n"), 0o400),
        (format!("{SENTINEL}\r\n"), 0o600),
    ] {
        let read = file(&folder, &content, mode).read();
        assert!(
            read.expect("it is ours").is(SENTINEL.as_bytes()),
            "{content:?}"
        );
    }
    assert_eq!(
        file(&folder, &"x".repeat(1_024), 0o600)
            .read()
            .map(|s| s.len()),
        Ok(1_024)
    );
    for (content, mode, word) in [
        (SENTINEL.to_owned(), 0o640, "0640"),
        (SENTINEL.to_owned(), 0o604, "0604"),
        (SENTINEL.to_owned(), 0o620, "0620"),
        (String::new(), 0o600, "it is empty"),
        ("\n".to_owned(), 0o600, "it is empty"),
        (
            format!("{SENTINEL}\n{SENTINEL}\n"),
            0o600,
            "more than one line",
        ),
        (SENTINEL.repeat(100), 0o600, "more than 1024"),
    ] {
        let error = file(&folder, &content, mode)
            .read()
            .expect_err(word)
            .to_string();
        assert!(
            error.contains(word) && !error.contains("sentinel-"),
            "{error}"
        );
        assert!(error.contains("0600"), "{error}");
    }
}

#[test]
fn a_private_key_has_several_lines_and_the_same_rules() {
    let folder = Folder::new("key");
    let key = format!("-----BEGIN PRIVATE KEY-----\n{SENTINEL}\n-----END PRIVATE KEY-----");
    let read = file(&folder, &format!("{key}\n"), 0o600).read_key();
    assert!(read.expect("it is ours").is(key.as_bytes()));
    for (content, mode, word) in [
        (key.clone(), 0o644, "0644"),
        (key.repeat(1_000), 0o600, "more than 65536"),
    ] {
        let error = file(&folder, &content, mode)
            .read_key()
            .expect_err(word)
            .to_string();
        assert!(
            error.contains(word) && !error.contains("sentinel-"),
            "{error}"
        );
    }
}

#[test]
fn a_secret_path_that_is_not_a_regular_file_is_refused_without_blocking() {
    let folder = Folder::new("kinds");
    let refused = |path: PathBuf| {
        let read = SecretSource::File(path).read();
        read.expect_err("no secret is there").what
    };
    assert!(refused(folder.join("none")).contains("cannot read"));
    assert!(refused(folder.to_path_buf()).contains("regular"));
    assert!(refused("/dev/null".into()).contains("regular"));
    let pipe = folder.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).expect("a pipe");
    assert!(refused(pipe).contains("regular"));
}

#[test]
fn a_secret_is_read_from_a_named_environment_variable() {
    let source = SecretSource::Env("VENUE_SECRET".to_owned());
    let set = source.read_with(SECRET_BYTES_MAX, |name| {
        (name == "VENUE_SECRET").then(|| SENTINEL.into())
    });
    assert!(set.expect("it is set").is(SENTINEL.as_bytes()));
    for value in [None, Some(OsString::new())] {
        let error = source
            .read_with(SECRET_BYTES_MAX, |_| value)
            .expect_err("nothing is there");
        assert!(error.to_string().starts_with("VENUE_SECRET: "), "{error}");
    }
}

#[test]
fn a_process_that_read_a_secret_writes_no_core_file() {
    let folder = Folder::new("core");
    file(&folder, SENTINEL, 0o600).read().expect("it is ours");
    assert_eq!(
        rustix::process::dumpable_behavior(),
        Ok(DumpableBehavior::NotDumpable)
    );
}

type Holder = BTreeMap<String, SecretSource>;

#[test]
fn a_printed_configuration_has_the_place_of_a_secret_only() {
    for (text, shown) in [
        ("[key]\nfile = \"a/b\"\n", "file a/b"),
        ("[key]\nenv = \"VENUE_KEY\"\n", "variable VENUE_KEY"),
    ] {
        let holder: Holder = toml::from_str(text).expect("a place");
        assert_eq!(toml::to_string(&holder).expect("a table"), text);
        assert_eq!(holder["key"].to_string(), shown);
    }
    for (wrong, word) in [
        ("key = {}", "either"),
        ("key = { file = \"a\", env = \"B\" }", "either"),
        ("key = { path = \"a\" }", "either"),
        ("key = { file = \"\" }", "empty path"),
        ("key = { env = \"1B\" }", "not a variable name"),
        ("key = { env = \"A=B\" }", "not a variable name"),
        ("key = [\"a\"]", "{ file ="),
    ] {
        let error = toml::from_str::<Holder>(wrong)
            .expect_err(wrong)
            .to_string();
        assert!(error.contains(word), "{wrong}: {error}");
    }
    let mut source = SecretSource::File("a".into());
    source.starts_at(Path::new("/etc/touchline"));
    assert_eq!(source, SecretSource::File("/etc/touchline/a".into()));
}

#[test]
fn a_secret_in_the_text_is_refused_and_not_shown() {
    for (before, line) in [
        ("", format!("password = \"{SENTINEL}\"")),
        ("[venue]\n", format!("secret='{SENTINEL}'")),
        (
            "a = 1\n\n",
            format!("access = {{ user = \"u\", secret = \"{SENTINEL}\" }}"),
        ),
        ("", format!("venue.\"client-secret\" = \"{SENTINEL}\"")),
        ("", format!("API_KEY = \"{SENTINEL}")),
        ("", format!("password = \"\"\"\n{SENTINEL}\n\"\"\"")),
        ("", "token = 5318008".to_owned()),
        ("", format!("x = '-----BEGIN PRIVATE KEY----- {SENTINEL}'")),
    ] {
        let text = format!("{before}{line}\n");
        let refused = refuse_written(Path::new("gateway.toml"), &text);
        let error = refused.expect_err(&line);
        let number = before.lines().count() as u32 + 1;
        assert_eq!(error.line, Some(number), "{line}");
        let said = error.to_string();
        for word in ["0600", "file =", "env ="] {
            assert!(said.contains(word), "{said}");
        }
        assert!(
            !said.contains(SENTINEL) && !said.contains("5318008"),
            "{said}"
        );
    }
    for fine in [
        "password_file = \"a\"",
        "secret = { file = \"a\" }",
        "client_key = { env = \"A\" }",
        "# password = \"as it was\"",
        "user = \"secretary\"",
    ] {
        assert_eq!(
            refuse_written(Path::new("gateway.toml"), fine),
            Ok(()),
            "{fine}"
        );
    }
}
