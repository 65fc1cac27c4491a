//! `touchline config` and `touchline help settings`.

use super::Desk;

const KINDS: [&str; 4] = ["cme", "deribit", "fix", "fx-bank"];

/// Each example is valid once its files exist, and prints its effect.
#[test]
fn every_example_is_valid_with_the_files_that_it_names() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::bare("config-examples");
    let xml = desk.read("config.xml").replace("998", "340");
    desk.write("config.xml", xml);
    desk.write("deribit.secret", "secret");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(desk.path("deribit.secret"), mode).expect("our file");
    for (kind, does) in [
        ("cme", "receives channel 340 ("),
        (
            "deribit",
            "connects over TLS as MYFIRM to DERIBITSERVER at fix-test.deribit.com:9883;",
        ),
        (
            "fix",
            "connects without TLS as MYFIRM to BANK at 127.0.0.1:5001;",
        ),
        (
            "fx-bank",
            "connects as MYFIRM to bank LP01 at 127.0.0.1:5101;",
        ),
    ] {
        let example = desk.run(&format!("config --example {kind}")).done().stdout;
        let name = format!("{kind}.toml");
        desk.write(&name, &example);
        let said = desk.run(&format!("config --check {name}")).done().stdout;
        assert!(
            said.starts_with(&format!("{name}: valid: {does}")),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
        // Commented settings are valid as well.
        let uncommented: Vec<String> = example
            .lines()
            .map(|line| {
                let key = line.strip_prefix("# ").unwrap_or(line);
                let is_setting =
                    key.starts_with('[') || key.split(" = ").next().is_some_and(is_key);
                if is_setting { key } else { line }.to_owned()
            })
            .collect();
        desk.write("all.toml", uncommented.join("\n"));
        desk.run("gateway --config all.toml --print-config").done();
    }
    let refused = desk.run("config --example nyse");
    refused.refused(2, &["cme, deribit, fix"]);
    desk.run("config").refused(2, &["--example", "--check"]);
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[test]
fn an_error_in_a_file_is_one_line_with_the_fix() {
    let desk = Desk::bare("config-wrong");
    let example = desk.run("config --example cme").done().stdout;
    let with = |from: &str, to: &str| {
        assert!(example.contains(from), "{from}");
        desk.write("g.toml", example.replacen(from, to, 1));
        desk.run("config --check g.toml")
    };
    // The existing file has another channel.
    with("bus =", "bus =").refused(2, &["config.xml", "no channel 340", "998"]);
    with("channel = 340", "chanel = 340")
        .refused(2, &["g.toml:11:", "`chanel`", "did you mean `channel`?"]);
    with("\"config.xml\"", "\"gone.xml\"").refused(2, &["gone.xml", "cannot read it"]);
    with("# user = \"firm\"", "[venue.replay]\nuser = \"firm\"").refused(2, &["config.xml"]);
    std::fs::create_dir(desk.path("folder.toml")).expect("our folder");
    desk.run("config --check folder.toml")
        .refused(2, &["folder.toml", "directory"]);
    desk.write("empty.toml", "");
    desk.run("config --check empty.toml")
        .refused(2, &["empty.toml", "empty", "touchline config --example"]);
    desk.write("comment.toml", "# nothing\n\n");
    desk.run("config --check comment.toml")
        .refused(2, &["comment.toml", "empty"]);
    desk.write("utf16.toml", b"\xff\xfeb\0u\0s\0");
    desk.run("config --check utf16.toml")
        .refused(2, &["utf16.toml", "UTF-8"]);
    desk.run("config --check gone.toml")
        .refused(2, &["gone.toml", "cannot read it"]);
}

/// In every file that names people, sessions and hosts, with every command: a control character would reach a message,
/// the log and a terminal.
#[test]
fn control_characters_are_refused_in_every_configuration() {
    let desk = Desk::bare("config-control");
    std::fs::create_dir(desk.path("session")).expect("our folder");
    for value in [
        "\"T\\u0001\"",
        "[\"a\", \"b\\n\"]",
        "{ name = \"\\u001b[2J\" }",
    ] {
        let text = format!("# a file\nsender = {value}\n");
        for name in ["c.toml", "session/config.toml"] {
            desk.write(name, &text);
        }
        for command in [
            "gateway --config c.toml",
            "config --check c.toml",
            "replay --config c.toml --pcap session.pcap",
            "relay --config c.toml",
            "fx run --config c.toml",
            "fx compose --config c.toml",
            "fx blotter --config c.toml",
            "fx replay session --out out",
            "sim bank --config c.toml",
        ] {
            let words = ["has a control character", "give printable characters"];
            desk.run(command).refused(2, &words);
        }
    }
}

/// A valid file that this host cannot run: each part that the host lacks is named.
#[test]
fn what_this_host_lacks_of_a_valid_file_is_named() {
    let desk = Desk::bare("config-host");
    let cme = desk.read("cme.toml").replace("[venue]", "[gateway]\nloop_cpu_affinity = 4000\n[publication]\ndirectory = \"gone/too\"\n[venue]\ninterface = \"eth99\"");
    desk.write("here.toml", cme);
    // TOUCHLINE_DIR of the test and --dir override the file, as for the gateway that is to run it.
    let checked = desk.run("config --check here.toml");
    assert!(!checked.stderr.contains("gone"), "{}", checked.stderr);
    let checked = desk.run("config --check here.toml --dir gone/buses");
    assert_eq!(checked.status, 1);
    assert!(
        checked.stdout.starts_with("here.toml: valid: "),
        "{}",
        checked.stdout
    );
    for part in ["not on this host", "\"eth99\"", "gone", "4000"] {
        assert!(checked.stderr.contains(part), "{part}: {}", checked.stderr);
    }
    assert!(!desk.path("gone").exists(), "nothing is made");
    let fix = desk.run("config --example fix").done().stdout;
    let fix = fix.replacen("[venue]", "[venue]\nstore = \"cme.toml\"", 1);
    desk.write("fix.toml", fix);
    let checked = desk.run("config --check fix.toml");
    assert_eq!(checked.status, 1, "{checked:?}");
    assert!(
        checked.stderr.contains("cme.toml: is not a directory"),
        "{checked:?}"
    );
}

/// All mistakes of a file are shown at once, each with its line.
/// Frames have no route: without an interface there is nothing to read, on every host.
#[test]
fn frames_need_an_interface() {
    let desk = Desk::bare("config-frames");
    let with = |venue: &str, network: &str| {
        let text = desk.read("cme.toml").replace("[venue]", venue);
        desk.write("g.toml", format!("{text}\n[network]\n{network}\n"));
        desk.run("config --check g.toml")
    };
    for receive in ["receive = \"xdp\"", "receive = \"xdp-generic\""] {
        let refused = ["[network]: `receive`", "set `interface` in [venue]"];
        with("[venue]", receive).refused(2, &refused);
        // Line A has none.
        with("[venue]\ninterface_b = \"lo\"", receive).refused(2, &refused);
        with("[venue]\ninterface = \"lo\"", receive).done();
    }
    with("[venue]", "receive = \"xdp-or-sockets\"").done();
}

#[test]
fn several_mistakes_of_a_file_are_shown_together() {
    let desk = Desk::bare("config-several");
    desk.write(
        "g.toml",
        desk.read("cme.toml") + "wait_sm = 20\nwait_ms = 20000\n",
    );
    for command in ["config --check g.toml", "gateway --config g.toml"] {
        let refused = desk.run(command);
        assert_eq!(refused.status, 2);
        let lines: Vec<&str> = refused.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].starts_with("touchline: g.toml:6: ") && lines[0].contains("`wait_sm`"),
            "{lines:?}"
        );
        assert!(
            lines[1].starts_with("touchline: g.toml:7: ") && lines[1].contains("`wait_ms`"),
            "{lines:?}"
        );
    }
}

/// Files and values of a valid file that cannot be used are shown together, too; so are the mistakes of a file of links.
#[test]
fn several_values_and_links_that_cannot_be_used_are_shown_together() {
    let desk = Desk::bare("config-values");
    desk.write(
        "bank.toml",
        "bus = \"b\"\n[limits]\ninstruments_max = 1\n[venue]\nkind = \"fx-bank\"\nhosts = [\"localhost:1\"]\nsender = \"T\"\ntarget = \"B\"\n\
         bank = \"a name of too many letters\"\nsilence_ms = 1000\npassword = { file = \"gone\" }\n\
         pairs = [\n  { symbol = \"EUR/USD\", spot_date = \"2026\" },\n  { symbol = \"USD/JPY\", spot_date = \"20260107\" },\n]\n",
    );
    desk.write(
        "relay.toml",
        "[[send]]\nbus = \"a\"\nto = \"tcp://127.0.0.1:1\"\nlag_ms_max = 1\nforwrad = true\n\
         [[receive]]\nfrom = \"tcp://127.0.0.1:1\"\nbus = \"b\"\nring_bytes = 1000\n",
    );
    for (command, parts) in [
        (
            "config --check bank.toml",
            &[
                "is not 1 to 16 letters, digits",
                "2 pairs are more than instruments_max",
                "spot_date",
                "gone",
            ][..],
        ),
        (
            "relay --config relay.toml",
            &[
                "relay.toml:4: `lag_ms_max`: 1 is not between 50 and 10000; ",
                "relay.toml:5: unknown setting `forwrad` in [[send]]; did you mean `forward`?",
                "relay.toml:9: `ring_bytes`: 1000 is not a power of two; ",
            ],
        ),
    ] {
        let refused = desk.run(command);
        assert_eq!(refused.status, 2, "{refused:?}");
        let lines: Vec<&str> = refused.stderr.lines().collect();
        assert_eq!(lines.len(), parts.len(), "{lines:#?}");
        for (line, part) in lines.iter().zip(parts) {
            assert!(
                line.starts_with("touchline: ") && line.contains(part),
                "{part}: {lines:#?}"
            );
        }
    }
}

/// All mistakes of the files of banks, composer and engine are shown, each with its line and its key.
#[test]
fn several_mistakes_of_the_files_of_fx_are_shown_together() {
    let desk = Desk::bare("config-several-fx");
    let pair = "[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 12\nspot_date = \"20261\"\n";
    desk.write(
        "banks.toml",
        format!("mov_ms = 1\n{pair}mid_ticks = 7\n[[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\nflood = 2.0\n"),
    );
    desk.write(
        "compose.toml",
        format!(
            "bus = \"fx\"\nlevels = 0\nring_bytes = \"16m\"\nheartbeat_ms = 1\n{pair}\
             [[banks]]\nname = \"FX\"\nstale_ms = 1\nsilence_ms = 1\n"
        ),
    );
    let run = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[run]\njournal = \"j\"\nbus = \"a\"\npause_max_ms = \"x\"\n";
    desk.write(
        "run.toml",
        format!(
            "{run}{pair}[[banks]]\nname = \"A\"\npairs = [\"EUR/USD\"]\n\
             [[sessions]]\nbank = \"A\"\nhost = \"127.0.0.1\"\nsender = \"T\"\n"
        ),
    );
    for (command, file, starts) in [
        (
            "sim bank --config banks.toml",
            "banks.toml",
            &[
                "1: unknown setting `mov_ms` in the part above the first table; did you mean `move_ms`?",
                "4: pair \"EUR/USD\": precision: ",
                "5: pair \"EUR/USD\": spot_date: ",
                "6: pair \"EUR/USD\": mid_ticks: ",
                "10: bank A: flood: ",
            ][..],
        ),
        (
            "fx compose --config compose.toml",
            "compose.toml",
            &[
                "1: bus: \"fx\" is the bus of the gateway of bank FX",
                "2: levels: 0 is out of range; give 1 to 1000",
                "3: `ring_bytes` is the text \"16m\", but must be a whole number",
                "4: heartbeat_ms: ",
                "7: pair EUR/USD: precision: ",
                "8: pair EUR/USD: spot_date: ",
            ],
        ),
        (
            "fx run --config run.toml",
            "run.toml",
            &[
                "7: `pause_max_ms` is the text \"x\", but must be a whole number",
                "17: `host` is not an IPv4 address with a port",
            ],
        ),
    ] {
        let refused = desk.run(command);
        assert_eq!(refused.status, 2, "{refused:?}");
        let lines: Vec<&str> = refused.stderr.lines().collect();
        assert_eq!(lines.len(), starts.len(), "{lines:#?}");
        for (line, start) in lines.iter().zip(starts) {
            let start = format!("touchline: {file}:{start}");
            assert!(line.starts_with(&start), "{start}: {lines:#?}");
        }
    }
    // With all keys that are needed the values are checked.
    let text = desk.read("run.toml");
    let text = text.replace("pause_max_ms = \"x\"\n", "");
    desk.write(
        "run.toml",
        text.replace("127.0.0.1\"", "127.0.0.1:1\"\nheartbeat_s = 0\nuser = \"\""),
    );
    let refused = desk.run("fx run --config run.toml");
    let keys = [
        "6: run.bus: ",
        "7: guards are missing: pair EUR/USD: ",
        "9: pair EUR/USD: precision: ",
        "10: pair EUR/USD: spot_date: ",
        "11: banks: A: status_final is missing",
        "17: sessions: A: heartbeat_s: 0 is out of range; give 1 to 3600",
        "18: sessions: A: user: ",
    ];
    let lines: Vec<&str> = refused.stderr.lines().collect();
    assert_eq!(lines.len(), keys.len(), "{lines:#?}");
    for (line, key) in lines.iter().zip(keys) {
        assert!(
            line.starts_with(&format!("touchline: run.toml:{key}")),
            "{lines:#?}"
        );
    }
}

#[test]
fn every_setting_is_in_the_help() {
    let desk = Desk::bare("config-help");
    let all = desk.run("help settings").done().stdout;
    for kind in KINDS {
        let example = desk.run(&format!("config --example {kind}")).done().stdout;
        desk.write("config.toml", &example);
        let printed = desk
            .run("gateway --config config.toml --print-config")
            .done()
            .stdout;
        for line in printed.lines() {
            let key = line
                .trim_start_matches("# ")
                .split(" =")
                .next()
                .unwrap_or_default();
            let is_setting = line.contains(" =") && is_key(key);
            assert!(
                !is_setting || all.contains(&format!("\n  {key}\n")),
                "{key}"
            );
        }
    }
    let some = desk.run("help settings busy_poll").done().stdout;
    assert!(
        some.starts_with("[network] of kind cme\n  busy_poll_us\n"),
        "{some}"
    );
    desk.run("help settings bussy_poll_us")
        .refused(2, &["did you mean 'busy_poll_us'?"]);
    let help = desk.run("help sim cme").done().stdout;
    assert!(help.contains("--events-per-second"), "{help}");
    desk.run("help simm")
        .refused(2, &["no command 'simm'", "touchline --help"]);
}
