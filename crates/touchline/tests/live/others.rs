//! Readers that are other people: another user of a group, and a process in another container, read a bus while its
//! publisher is stopped, killed and started again; only the publisher writes it.
//!
//! Users are numbers without entries in any file of the system, groups likewise. Needs root, and `setpriv` and `unshare`.

use crate::processes::{PATIENCE, Place, Process, Processes};
use crate::together;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Output};
use std::time::Duration;
use touchline_lab::bank::guards::{BANK_OFF, PAIR_OFF, RISK_OFF};
use touchline_testing::until;

const PUBLISHER: u32 = 64_102;
const READER: u32 = 64_101;
const GROUP: u32 = 64_201;
const OTHER_GROUP: u32 = 64_202;
/// Time after which a bus is stalled: two heartbeats, longer than the host stops a process.
const STALLED_AFTER: Duration = Duration::from_secs(5);

/// Prefix of a command of this user in one group.
fn as_user(user: u32, group: u32) -> Vec<String> {
    let (user, group) = (user.to_string(), group.to_string());
    let words = [
        "setpriv", "--reuid", &user, "--regid", &user, "--groups", &group,
    ];
    words.map(str::to_owned).to_vec()
}

/// A processes whose folder belongs to the publisher, with an exchange; `None` if this process may not become other users.
fn processes(name: &str, places: [Vec<String>; 2]) -> Option<Processes> {
    let mut trial = as_user(READER, GROUP);
    trial.push(env!("CARGO_BIN_EXE_touchline").to_owned());
    let tried = Command::new(&trial[0])
        .args(&trial[1..])
        .arg("--version")
        .output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        touchline_testing::skip("readers that are other users: needs root and setpriv");
        return None;
    }
    let processes = Processes::within(name, places);
    let folder = processes.path("");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("ours");
    chown(&folder, Some(PUBLISHER), None).expect("root gives it away");
    Some(processes)
}

fn exchange(processes: &Processes) -> Process {
    let line = format!(
        "sim cme --groups {} --seed 5 --instruments 4 --events-per-second 300 --commands --write @",
        processes.groups()
    );
    let mut exchange = processes.start(Place::Exchange, "exchange", &line, &[]);
    exchange.wait_for("sending");
    exchange
}

/// Writes a configuration of the gateway that shares its bus with a group.
fn configure(processes: &Processes, group: u32) {
    let config = format!(
        "bus = \"live\"\n[venue]\nkind = \"cme\"\nchannel = 998\nconfig_xml = \"config.xml\"\n\
         interface = \"127.0.0.1\"\n[limits]\ninstruments_max = 64\n[gateway]\nheartbeat_ms = {}\n\
         [publication]\ngroup = \"{group}\"\nring_bytes = 1048576\n",
        STALLED_AFTER.as_millis() / 2
    );
    fs::write(processes.path("live.toml"), config).expect("the session's folder");
}

/// Runs a command of this user to its end.
fn run_as(processes: &Processes, (user, group): (u32, u32), line: &str) -> Output {
    let mut command = processes.command_within(&as_user(user, group), line, &[]);
    command.output().expect("setpriv starts")
}

#[track_caller]
fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether these lines of `book --json` are of live books.
fn is_live(lines: &str) -> bool {
    let states = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a JSON object a line");
        line["state"] == "live"
    });
    lines.lines().count() == 4 && states.into_iter().all(|is_live| is_live)
}

/// How often a `tail --json` has reported an event of its bus.
fn times(tail: &Process, event: &str) -> usize {
    tail.said("out")
        .matches(&format!("\"notice\":\"{event}\""))
        .count()
}

#[test]
fn a_member_of_the_group_reads_all_that_the_owner_reads_and_a_stranger_nothing() {
    let _together = together();
    let places = [as_user(PUBLISHER, GROUP), as_user(READER, GROUP)];
    let Some(processes) = processes("others", places) else {
        return;
    };
    let _exchange = exchange(&processes);
    let at = format!("--dir @/touchline-{PUBLISHER}");
    let gateway = format!("gateway --config @/live.toml {at}");
    // Not a member.
    configure(&processes, OTHER_GROUP);
    let refused = processes
        .command(Place::Exchange, &gateway, &[])
        .output()
        .expect("it starts");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(
        why.contains("cannot be given to group 64202: user 64102 is not a member"),
        "{why}"
    );

    configure(&processes, GROUP);
    let mut running = processes.start(Place::Exchange, "gateway", &gateway, &[]);
    running.wait_for(" ready ");
    let mut tail = processes.start(Place::Firm, "tail", &format!("tail live --json {at}"), &[]);
    tail.wait_for("caught_up");
    let member = (READER, GROUP);
    until("live books", PATIENCE, || {
        is_live(&text(&run_as(
            &processes,
            member,
            &format!("book live --json {at}"),
        )))
    });
    for (line, expected) in [
        ("top live --once", "4 live"),
        ("stat live", "gateway)"),
        (
            "metrics --print",
            "touchline_bus_publisher_up{bus=\"live\"} 1",
        ),
        ("follow live --seconds 1", "4 of 4 books live"),
    ] {
        until(line, PATIENCE, || {
            let output = run_as(&processes, member, &format!("{line} {at}"));
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            match said.contains(expected) {
                true => Ok(()),
                false => Err(output),
            }
        });
    }
    // Its reader has a name, which both see, with its user.
    let line = format!("tail live --json --name me {at}");
    let mut named = processes.start(Place::Firm, "named", &line, &[]);
    named.wait_for("caught_up");
    for who in [member, (PUBLISHER, GROUP)] {
        for (line, expected) in [
            ("stat live --json", "\"me@64101\""),
            ("top live --once", "me@64101"),
            (
                "metrics --print",
                "touchline_reader_alive{bus=\"live\",reader=\"me@64101\"} 1",
            ),
        ] {
            let said = text(&run_as(&processes, who, &format!("{line} {at}")));
            assert!(said.contains(expected), "{who:?}: {line}: {said}");
        }
    }
    named.kill();
    let line = format!("relay live --to tcp://127.0.0.1:0 --seconds 1 {at}");
    let relayed = run_as(&processes, member, &line);
    assert!(relayed.status.success(), "{relayed:?}");
    strangers_are_refused(&processes, &at);
    nothing_can_be_written(&processes, &as_user(READER, GROUP));

    // Killed, started again, ended, started again.
    running.kill();
    until("its end is seen", PATIENCE, || {
        times(&tail, "publisher_gone") == 1
    });
    let mut running = processes.start(Place::Exchange, "gateway", &gateway, &[]);
    running.wait_for(" ready ");
    until("its restart is seen", PATIENCE, || {
        times(&tail, "restarted") == 1
    });
    until("live books again", PATIENCE, || {
        is_live(&text(&run_as(
            &processes,
            member,
            &format!("book live --json {at}"),
        )))
    });
    running.signal("TERM");
    running.ends_well();
    until("its end is seen", PATIENCE, || {
        times(&tail, "publisher_gone") == 2
    });
    // A dead bus looks the same to both.
    for line in ["book live --json", "stat live --json"] {
        let line = format!("{line} {at}");
        let of_owner = text(&run_as(&processes, (PUBLISHER, GROUP), &line));
        let of_member = text(&run_as(&processes, member, &line));
        let without_age = |text: &str| text.split("\"age").next().map(str::to_owned);
        assert_eq!(without_age(&of_owner), without_age(&of_member));
    }
}

/// Users outside of the group: each command prints owner, group, mode and the fix in one line.
fn strangers_are_refused(processes: &Processes, at: &str) {
    for line in [
        "tail live",
        "book live",
        "top live --once",
        "stat",
        "follow live --seconds 1",
    ] {
        let output = run_as(processes, (READER, OTHER_GROUP), &format!("{line} {at}"));
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {output:?}");
        let expected = "touchline-64102 belongs to user 64102 and group 64201, mode 0750: user 64101 may not read it; \
                        make this user a member of that group";
        assert!(
            why.contains(expected) && why.lines().count() == 1,
            "{line}: {why}"
        );
    }
    for (group, status) in [(OTHER_GROUP, "bad"), (GROUP, "ok")] {
        let doctor = run_as(processes, (READER, group), &format!("doctor --json {at}"));
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        let check = said
            .lines()
            .find(|line| line.contains("\"check\":\"buses\""));
        let check: Value = serde_json::from_str(check.expect("the check")).expect("an object");
        let seen = check["seen"].as_str().expect("a text");
        assert_eq!(check["status"], status, "{seen}");
        assert!(
            seen.contains("group 64201") && seen.contains("mode 0750"),
            "{seen}"
        );
    }
}

/// Tries to write, add, move and remove every file of the bus, in the words of a shell.
fn nothing_can_be_written(processes: &Processes, prefix: &[String]) {
    let script = format!(
        "for f in {0}/live/*; do if true >> $f; then echo written $f; fi; if mv $f $f.x; then echo moved $f; fi; \
         if rm -f $f; then echo removed $f; fi; done; \
         for d in {0} {0}/live; do if true > $d/x; then echo added to $d; fi; if chmod 777 $d; then echo opened $d; fi; done; \
         ls {0}/live",
        processes.path(&format!("touchline-{PUBLISHER}")).display()
    );
    let mut shell = Command::new(&prefix[0]);
    shell.args(&prefix[1..]).args(["sh", "-c", &script]);
    let output = shell.output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("ring"), "it sees the files: {output:?}");
    for done in ["written", "moved", "removed", "added", "opened"] {
        assert!(!said.contains(done), "{said}");
    }
}

/// A user namespace, and a mount namespace with a `/dev/shm` of its own, to which the test gives the users and groups.
struct Container {
    user: u32,
    /// Number in the container of the group, outside [`GROUP`]; `None`: not in the container.
    group: Option<u32>,
}

impl Container {
    /// Prefix of a command, which waits until [`Container::enter`].
    fn prefix(&self, processes: &Processes, more: &[&str]) -> Vec<String> {
        let mut words = as_user(self.user, GROUP);
        words.extend(["unshare", "-U", "-m", "--keep-caps"].map(str::to_owned));
        words.extend(more.iter().copied().map(str::to_owned));
        let script = format!(
            "read go && mount --bind {} /dev/shm && exec \"$@\"",
            processes.path("shm").display()
        );
        words.extend(["sh", "-c", &script, "sh"].map(str::to_owned));
        words
    }

    /// Gives a started process its users and groups: root there is the user of the container.
    fn enter(&self, process: &mut Process) {
        let of_process = |process: &str| fs::read_link(format!("/proc/{process}/ns/user")).ok();
        let id = process.id().to_string();
        until("a user namespace", PATIENCE, || {
            of_process(&id).is_some_and(|namespace| Some(namespace) != of_process("self"))
        });
        let user = self.user;
        let group = self
            .group
            .map_or(String::new(), |group| format!("{group} {GROUP} 1\n"));
        let map = |file, lines: String| {
            fs::write(format!("/proc/{id}/{file}"), lines).expect("root may");
        };
        map("uid_map", format!("0 {user} 1\n"));
        map("gid_map", format!("0 {user} 1\n{group}"));
        process.tell("go");
    }
}

/// Two containers with one `/dev/shm`, as bind mounts: user, mount, and of the reader also process and time namespaces.
#[test]
fn a_reader_in_another_container_reads_and_sees_whether_the_publisher_lives() {
    let _together = together();
    let Some(processes) = processes("containers", [as_user(PUBLISHER, GROUP), Vec::new()]) else {
        return;
    };
    fs::create_dir(processes.path("shm")).expect("the session's folder");
    fs::set_permissions(processes.path("shm"), fs::Permissions::from_mode(0o1777)).expect("ours");
    let of_publisher = Container {
        user: PUBLISHER,
        group: Some(100),
    };
    let of_reader = Container {
        user: READER,
        group: Some(200),
    };
    let other = ["-p", "-f", "--kill-child", "-T", "--boottime", "86400"];
    let tried = of_reader.prefix(&processes, &other);
    let tried = Command::new(&tried[0])
        .args(&tried[1..])
        .arg("true")
        .output();
    // Without a map and an input the child ends at `read`; an error output means that the host does not allow the namespaces.
    if !tried.is_ok_and(|tried| tried.stderr.is_empty()) {
        touchline_testing::skip("readers in other containers: needs user and time namespaces");
        return;
    }
    let _exchange = exchange(&processes);
    let start = |container: &Container, name: &str, more: &[&str], line: &str| {
        let command = processes.command_within(&container.prefix(&processes, more), line, &[]);
        let mut process = processes.start_command(name, command);
        container.enter(&mut process);
        process
    };
    let publish = |name: &str| {
        start(
            &of_publisher,
            name,
            &[],
            "gateway --config @/live.toml --dir /dev/shm/buses",
        )
    };
    // A group that the container does not have.
    configure(&processes, GROUP);
    let refused = publish("refused").fails();
    assert!(
        refused.contains("64201: this user namespace does not map it"),
        "{refused}"
    );

    configure(&processes, 100);
    let mut gateway = publish("gateway");
    gateway.wait_for(" ready ");
    let trusting = ["env", "TOUCHLINE_OWNER=65534"];
    let read = |name: &str, line: &str| {
        let line = format!("{line} --dir /dev/shm/buses");
        let mut prefix = of_reader.prefix(&processes, &other);
        prefix.extend(trusting.map(str::to_owned));
        let mut process =
            processes.start_command(name, processes.command_within(&prefix, &line, &[]));
        of_reader.enter(&mut process);
        process
    };
    let refused = start(&of_reader, "wary", &other, "book live --dir /dev/shm/buses").fails();
    let expected = "/dev/shm/buses belongs to user 65534 (any that this user namespace does not map), not to user 0";
    assert!(
        refused.contains(expected) && refused.contains("set TOUCHLINE_OWNER=65534"),
        "{refused}"
    );

    let mut tail = read("tail", "tail live --json");
    tail.wait_for("caught_up");
    let mut books = 0;
    let mut has_live_books = || {
        books += 1;
        let name = format!("book-{books}");
        let book = read(&name, "book live --json");
        book.ends_well();
        is_live(&processes.read(&format!("{name}.out")))
    };
    until("live books", PATIENCE, &mut has_live_books);
    let mut screen = read("top", "top live --once");
    screen.wait_for("4 live");
    drop(screen);
    assert_eq!(
        times(&tail, "publisher_stalled") + times(&tail, "publisher_gone"),
        0
    );
    nothing_can_be_written_from(&processes, &of_reader, &other);

    gateway.signal("STOP");
    until("the stall is seen", PATIENCE, || {
        times(&tail, "publisher_stalled") == 1
    });
    gateway.signal("CONT");
    until("its end is seen", PATIENCE, || {
        times(&tail, "publisher_resumed") == 1
    });
    assert_eq!(times(&tail, "publisher_gone"), 0);
    gateway.kill();
    until("the end is seen", PATIENCE, || {
        times(&tail, "publisher_gone") == 1
    });
    let mut gateway = publish("again");
    gateway.wait_for(" ready ");
    until("the restart is seen", PATIENCE, || {
        times(&tail, "restarted") == 1
    });
    until("live books again", PATIENCE, &mut has_live_books);
}

/// Root of the container has no more rights on the publisher's files than its user.
fn nothing_can_be_written_from(processes: &Processes, container: &Container, more: &[&str]) {
    let mut prefix = container.prefix(processes, more);
    let script = "for f in /dev/shm/buses/live/*; do \
         if true >> $f; then echo written $f; fi; if rm -f $f; then echo removed $f; fi; done; \
         if true > /dev/shm/buses/live/x; then echo added; fi; if chown 0 /dev/shm/buses; then echo taken; fi; \
         echo tried $(ls /dev/shm/buses/live)";
    prefix.extend(["sh", "-c", script, "sh"].map(str::to_owned));
    let mut shell = processes.start_command("shell", processes.command_within(&prefix, "", &[]));
    container.enter(&mut shell);
    shell.wait_for("tried");
    let said = shell.said("out");
    assert!(said.contains("ring"), "it sees the files: {said}");
    for done in ["written", "removed", "added", "taken"] {
        assert!(!said.contains(done), "{said}");
    }
}

/// An engine, its configuration readable by all. Its client is another user, with a ring in a directory of its own.
fn configure_engine(processes: &Processes, of_client: &str) {
    let config = format!(
        "date = \"20260105\"\nrehearsal = true\nprefix = \"T\"\naccount = \"D\"\n\
         [run]\njournal = \"journal\"\ngroup = \"{GROUP}\"\nring_bytes = 1048576\n\
         segment_bytes = 1048576\ntail_bytes = 1048576\n[risk]\nlift_by_one_user = true\n{RISK_OFF}\
         [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n{PAIR_OFF}\
         [[banks]]\nname = \"LP01\"\npairs = [\"EUR/USD\"]\nstatus_final = true\n{BANK_OFF}\
         [[sessions]]\nbank = \"LP01\"\nhost = \"127.0.0.1:9\"\nsender = \"TOUCHLINE\"\n\
         [[clients]]\nname = \"desk\"\nmay = [\"kill\", \"lift\"]\nuser = {READER}\n\
         directory = {:?}\n{of_client}\n",
        processes.path(&format!("touchline-{READER}"))
    );
    fs::write(processes.path("run.toml"), config).expect("the session's folder");
}

/// The desk is another user than the engine: it reads the answers and the engine its ring, by a group that both name; each
/// writes only its own files, and a third user of the group cannot send a command.
#[test]
fn a_desk_of_another_user_commands_an_engine_by_a_group_that_both_name() {
    let _together = together();
    let places = [as_user(PUBLISHER, GROUP), as_user(READER, GROUP)];
    let Some(processes) = processes("desk", places) else {
        return;
    };
    let of_desk = processes.path(&format!("touchline-{READER}"));
    fs::create_dir(&of_desk).expect("the session's folder");
    fs::set_permissions(&of_desk, fs::Permissions::from_mode(0o700)).expect("ours");
    chown(&of_desk, Some(READER), Some(READER)).expect("root gives it away");
    let at = format!("--config @/run.toml --dir @/touchline-{PUBLISHER}");
    let engine = format!("fx run --until-eof {at}");
    let kill = |more: &str| run_as(&processes, (READER, GROUP), &format!("fx kill {more} {at}"));

    // Without a group of the client the engine may read neither its ring nor its file, and says so.
    configure_engine(&processes, "");
    let mut running = processes.start(Place::Exchange, "engine", &engine, &[]);
    running.wait_for("started");
    let unheard = kill("");
    assert_eq!(unheard.status.code(), Some(1), "{unheard:?}");
    running.wait_for("may not read it; set `group` at its publisher");
    running.close();

    configure_engine(&processes, &format!("group = \"{GROUP}\""));
    let mut running = processes.start(Place::Exchange, "engine", &engine, &[]);
    running.wait_for("started");
    let mut tail = processes.start(
        Place::Firm,
        "tail",
        &format!("tail fx-run --json --dir @/touchline-{PUBLISHER}"),
        &[],
    );
    for more in ["", "--direct"] {
        assert_eq!(text(&kill(more)), "done\n", "{more}");
        let lifted = run_as(&processes, (READER, GROUP), &format!("fx lift {at}"));
        assert!(lifted.status.success(), "{more}: {lifted:?}");
    }
    tail.wait_for("\"kill\"");
    // Directory and group are those of the configuration that the engine has noted on its bus.
    let line = format!("fx kill --direct --dir @/touchline-{PUBLISHER}");
    let noted = run_as(&processes, (READER, GROUP), &line);
    assert_eq!(text(&noted), "done\n", "{noted:?}");
    let third = run_as(&processes, (READER + 7, GROUP), &format!("fx kill {at}"));
    let why = String::from_utf8_lossy(&third.stderr).into_owned();
    assert_eq!(third.status.code(), Some(1), "{third:?}");
    assert!(
        why.contains("touchline-64101 belongs to user 64101, not to user 64108"),
        "{why}"
    );
    let of_engine = processes.path(&format!("touchline-{PUBLISHER}"));
    let rings = [(&of_engine, "fx-run"), (&of_desk, "fx-run-desk")];
    for (directory, bus) in rings {
        for file in fs::read_dir(directory.join(bus)).expect("a bus") {
            let file = file.expect("a file");
            let mode = file.metadata().expect("a file").permissions().mode() & 0o777;
            // The end of the journal in memory is its owner's alone, as the journal is.
            let expected = match file.file_name().to_str() {
                Some("tail") => 0o600,
                _ => 0o640,
            };
            assert_eq!(mode, expected, "{}", file.path().display());
        }
    }
    running.close();
}
