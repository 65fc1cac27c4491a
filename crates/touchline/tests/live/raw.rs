//! Raw recordings of a channel while its gateway is live: replayed, they have the books of the gateway and of the exchange.

use crate::expected_books::equals;
use crate::matrix::{gateway, settled, subscriber};
use crate::participants::exchange;
use crate::processes::{Place, Process, Processes};
use crate::together;
use std::thread;
use std::time::Duration;
use touchline_lab::random::seeds;

/// Files of a replay whose bytes are compared.
const OUTPUTS: [&str; 4] = ["books.jsonl", "orders.jsonl", "quotes.csv", "trades.csv"];

/// A recorder that receives the channel of the gateway.
fn recorder(processes: &Processes, name: &str, target: &str) -> Process {
    let line = format!("record --raw --config @/live.toml --name {name} --until-eof {target}");
    let mut recorder = processes.start(Place::Firm, name, &line, &[]);
    recorder.wait_for("record_listening");
    recorder
}

/// Replays a recording; the outputs are `NAME-books.jsonl` and on.
fn replay(processes: &Processes, name: &str, source: &str) {
    let outputs = OUTPUTS.map(|output| {
        let option = output.split('.').next().expect("a name");
        format!("--{option} @/{name}-{output}")
    });
    let line = format!(
        "replay --config @/live.toml --quiet {source} {}",
        outputs.join(" ")
    );
    let output = processes.run(&line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
}

/// Plays the recording on the network.
fn play(processes: &Processes, name: &str, options: &str, fault: &[&str]) -> String {
    let line = format!("sim cme --play @/raw --config-xml @/config.xml --channel 998 {options}");
    let mut player = processes.start(Place::Exchange, name, &line, fault);
    player.wait_for("stopped");
    player.ends_well();
    processes.read(&format!("{name}.out"))
}

/// A player sends what the lines had, and its faults are those of its seed.
fn played_again(processes: &Processes) {
    let recorder = recorder(processes, "again", "--journal @/again");
    play(processes, "player", "--speed 2", &[]);
    recorder.close();
    let dropped = |name, seed: u64| {
        let options = format!("--speed 50 --seed {seed}");
        let said = play(processes, name, &options, &["--fault", "drop ab 0.2"]);
        let mut lines = said.lines().map(str::trim);
        let drops = lines.find(|line| line.starts_with("drop"));
        drops.map(str::to_owned).expect("drops")
    };
    let (one, same, other) = (dropped("p1", 5), dropped("p2", 5), dropped("p3", 6));
    assert!(one == same && one != other, "{one} {same} {other}");
}

/// Lines fail apart and together; both forms of a recording have every packet, and the journal gives the same bytes each time.
#[test]
fn a_raw_recording_has_the_books_of_the_live_gateway() {
    let _together = together();
    for seed in seeds(1) {
        let processes = Processes::new("raw");
        let options = format!("--seed {seed} --events-per-second 600");
        let faults = [
            "drop ab 0.01",
            "both 0.001 4",
            "reorder ab 0.02 4",
            "corrupt ab 0.002",
        ];
        let mut exchange = exchange(&processes, "exchange", &options, "truth", faults);
        let gateway = gateway(&processes, "127.0.0.1");
        let recorders = [
            recorder(
                &processes,
                "raw",
                "--journal @/raw --segment-mb 16 --segment-s 1",
            ),
            recorder(&processes, "pcapng", "--pcapng @/raw.pcapng"),
        ];
        let live = subscriber(&processes, 0);
        thread::sleep(Duration::from_secs(3));
        settled(&processes, &mut exchange);
        exchange.tell("quit");
        exchange.ends_well();
        live.close();
        gateway.close();
        recorders.into_iter().for_each(Process::close);
        let what = format!("seed {seed}");
        assert!(equals(&processes, "s0", &what) > 0);
        for (name, source) in [
            ("first", "--journal @/raw"),
            ("second", "--journal @/raw --speed 20"),
            ("third", "--pcap @/raw.pcapng"),
        ] {
            replay(&processes, name, source);
            assert!(equals(&processes, name, &what) > 0);
        }
        let export = processes.run("export --journal @/raw --pcapng --out @/exported --quiet");
        assert!(export.status.success(), "{export:?}");
        replay(&processes, "fifth", "--pcap @/exported/raw.pcapng");
        played_again(&processes);
        replay(&processes, "fourth", "--journal @/again");
        assert!(equals(&processes, "fourth", &what) > 0);
        for output in OUTPUTS {
            let [first, second, exported] = ["first", "second", "fifth"]
                .map(|name| processes.read(&format!("{name}-{output}")));
            assert!(first == second, "{what}: {output} differs");
            assert!(first == exported, "{what}: {output} of the export differs");
        }
    }
}
