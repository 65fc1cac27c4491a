//! Secrets given to the commands are in none of their files and outputs.

use crate::command::Desk;
use crate::command::fix::Running;
use crate::command::until;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use touchline_testing::Process;

const SECRET: &str = "Sentinel-4711-xyzzy";
/// The encodings of the secret in a header of HTTP, or in RawData.
const BASE64: &str = "U2VudGluZWwtNDcxMS14eXp6eQ";

/// Possible encodings of the secret.
fn spellings() -> [Vec<u8>; 4] {
    let hex = |digits: fn(&u8) -> String| -> Vec<u8> {
        let bytes = SECRET.as_bytes().iter();
        bytes.flat_map(|byte| digits(byte).into_bytes()).collect()
    };
    let lower = hex(|byte| format!("{byte:02x}"));
    let upper = hex(|byte| format!("{byte:02X}"));
    [SECRET.into(), BASE64.into(), lower, upper]
}

/// Names of the files, in this folder and below, that contain it.
fn with_secret(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            names.extend(with_secret(&path));
            continue;
        }
        let bytes = fs::read(&path).expect("a file of ours");
        let has = |spelling: &Vec<u8>| {
            let mut windows = bytes.windows(spelling.len());
            windows.any(|window| window == spelling)
        };
        if spellings().iter().any(has) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    names
}

/// A gateway whose log is a file of its name.
fn gateway(desk: &Desk, bus: &str, venue: &str) -> Process {
    let limits = "[limits]\ninstruments_max = 64\n[publication]\nring_bytes = 4194304\nlock_memory = \"no\"\n";
    desk.write(
        &format!("{bus}.toml"),
        format!("bus = \"{bus}\"\n{limits}[venue]\nuser = \"me\"\n{venue}"),
    );
    let log = || File::create(desk.path(&format!("{bus}.log"))).expect("our folder");
    let mut command = desk.command(&format!("gateway --config {bus}.toml"));
    command.env("TRIAL_SECRET", format!("not-{SECRET}"));
    command.stdout(File::create(desk.path(&format!("{bus}.out"))).expect("our folder"));
    Process::with_streams(command.stderr(log()))
}

/// A raw recorder of the session of a gateway, which says that it has connected.
fn recorder(desk: &Desk, bus: &str) -> Process {
    let line =
        format!("record --raw --config {bus}.toml --journal {bus}-raw --segment-mb 16 --until-eof");
    let mut recorder = desk.start_with_input(&line);
    recorder.wait_for_line("record_connected");
    recorder
}

/// Bytes of the records of a raw journal.
fn recorded_bytes(directory: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    touchline_journal::read(directory, false, |entry| {
        if entry.head.kind == touchline_journal::format::kind::BYTES {
            bytes.extend_from_slice(entry.body);
        }
    })
    .expect("a journal");
    bytes
}

/// A password proof for Deribit, a wrong one, and a plain password.
#[test]
fn no_output_of_a_run_contains_the_secret() {
    let desk = Desk::bare("secrets");
    for (name, content) in [
        ("login", format!("me:{SECRET}")),
        ("password", SECRET.into()),
    ] {
        desk.write(name, content);
        fs::set_permissions(desk.path(name), Permissions::from_mode(0o600)).expect("our file");
    }
    let sim = |name: &str, arguments: &str| {
        let mut command = desk.command(&format!("sim {arguments}"));
        command.stderr(File::create(desk.path(name)).expect("our folder"));
        Running::of(command)
    };
    let exchange = sim(
        "exchange.err",
        "deribit --listen 127.0.0.1:0 --credentials login --instruments 3 --levels 20 \
         --events-per-second 200 --truth-log truth.log",
    );
    let bank = sim("bank.err", "fix-acceptor --listen 127.0.0.1:0 --store bank");
    let venue = |kind: &str, of: &Running, more: &str| {
        let address = of.address().trim_end_matches(':');
        format!(
            "kind = \"{kind}\"\nhosts = [\"{address}\"]\nsender = \"TW44\"\nlevels_max = 64\n{more}\n"
        )
    };
    let file = "password = { file = \"password\" }";
    let right = gateway(&desk, "right", &venue("deribit", &exchange, file));
    let env = "password = { env = \"TRIAL_SECRET\" }";
    let wrong = gateway(&desk, "wrong", &venue("deribit", &exchange, env));
    let more = format!("target = \"ISLD\"\nsymbols = [\"EUR/USD\"]\n{file}");
    let plain = gateway(&desk, "plain", &venue("fix", &bank, &more));
    let recorders = ["right", "plain"].map(|bus| recorder(&desk, bus));

    until("a live book", || {
        desk.read("right.log").contains("INFO ready ")
    });
    until("a refusal", || {
        desk.read("wrong.log").contains("invalid credentials")
    });
    until("a session", || {
        desk.read("plain.log").contains("text of the venue")
    });
    for (place, command) in [
        "stat right",
        "tail right --count 50",
        "tail right --json --count 50",
        "metrics --print",
    ]
    .into_iter()
    .enumerate()
    {
        let run = desk.run(command);
        desk.write(&format!("said-{place}"), run.stdout + &run.stderr);
    }
    for running in [&right, &wrong, &plain] {
        let line = fs::read(format!("/proc/{}/cmdline", running.id())).expect("it runs");
        desk.write(&format!("cmdline-{}", running.id()), line);
    }
    for (mut recorder, bus) in recorders.into_iter().zip(["right", "plain"]) {
        recorder.close();
        assert!(recorder.wait().success(), "{}", recorder.err());
        let bytes = recorded_bytes(&desk.path(&format!("{bus}-raw")));
        assert!(
            bytes.windows(5).any(|word| word == b"\x0135=A"),
            "{bus}: no Logon was recorded"
        );
    }
    let packets_alone = ["a recording of a session's bytes", "--pcapng --out OUT"];
    for command in ["replay", "export --csv all --out rows"] {
        let run = desk.run(&format!("{command} --journal plain-raw"));
        run.refused(1, &packets_alone);
    }
    desk.run("export --journal plain-raw --pcapng --out packets")
        .done();
    drop((right, wrong, plain));
    let (_, said) = exchange.end();
    desk.write("exchange.out", said);
    let (_, said) = bank.end();
    desk.write("bank.out", said);
    assert_eq!(with_secret(&desk.folder), ["login", "password"]);

    // The search finds an existing secret.
    fs::create_dir(desk.path("leaks")).expect("our folder");
    for spelling in spellings() {
        desk.write("leaks/one", [b"x", &spelling[..], b"x"].concat());
        assert_eq!(with_secret(&desk.path("leaks")), ["one"]);
    }
}
