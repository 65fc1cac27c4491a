//! `touchline gateway`: start, refusals, and end.

use super::{Desk, full_pipe, until};
use std::net::UdpSocket;
use touchline_testing::Process;

impl Desk {
    /// A gateway's configuration on loopback with further lines.
    fn gateway_toml(&self, name: &str, more: &str) {
        let toml = self.read("bus.toml").replace(
            "config_xml = \"config.xml\"\n",
            "config_xml = \"config.xml\"\ninterface = \"127.0.0.1\"\n",
        );
        self.write(name, format!("{toml}{more}"));
    }

    /// A gateway that listens.
    #[track_caller]
    fn gateway(&self) -> Process {
        self.gateway_toml("live.toml", "");
        let mut gateway = self.start("gateway --config live.toml");
        gateway.wait_for_line("listening");
        gateway
    }
}

#[test]
fn a_signal_ends_the_gateway_and_its_books_become_stale() {
    let desk = Desk::bare("gateway-ends");
    for name in ["TERM", "INT"] {
        let mut child = desk.gateway();
        let running = desk.run("stat lab --all").done().stdout;
        assert!(running.contains("touchline gateway"), "{running}");
        assert!(running.contains("packets_dropped_kernel"), "{running}");
        let status = child.end(name);
        let said = child.err();
        assert_eq!(status, Some(0), "{name}: {said}");
        assert!(
            said.lines()
                .last()
                .is_some_and(|line| line.contains("stopped")),
            "{said}"
        );
        let after = desk.run("stat lab").done().stdout;
        assert!(after.contains("publisher    none"), "{after}");
    }
}

#[test]
fn a_second_gateway_is_refused_with_the_process_of_the_first() {
    let desk = Desk::bare("gateway-second");
    let mut child = desk.gateway();
    let pid = child.id().to_string();
    let second = desk.run("gateway --config live.toml");
    second.refused(1, &["lab", &pid, "stop"]);
    assert_eq!(child.end("TERM"), Some(0));
}

/// Standard error is a full pipe without a reader: a gateway works and ends when it is asked to, and one that fails ends with its status.
#[test]
fn a_gateway_whose_log_nobody_reads_ends() {
    let desk = Desk::bare("gateway-unread");
    desk.gateway_toml("live.toml", "");
    let (_unread, pipe) = full_pipe();
    let start = |arguments: &str| {
        let mut command = desk.command(&format!("gateway --config live.toml {arguments}"));
        let pipe = pipe.try_clone().expect("a descriptor");
        Process::with_streams(command.stderr(pipe))
    };
    for signal in [Some("TERM"), None] {
        let mut first = start(if signal.is_none() { "--seconds 6" } else { "" });
        until("it runs", || {
            let run = desk.run("stat lab").stdout;
            run.contains("publisher ") && !run.contains("publisher    none")
        });
        for format in ["text", "json"] {
            let status = start(&format!("--log-format {format}")).wait();
            assert_eq!(status.code(), Some(1), "{format}");
        }
        let status = match signal {
            Some(signal) => first.end(signal),
            None => first.wait().code(),
        };
        assert_eq!(status, Some(0), "{signal:?}");
    }
}

#[test]
fn invalid_configurations_are_refused_in_one_line() {
    let desk = Desk::bare("gateway-refused");
    for (more, status, words) in [
        (
            "[gateway]\nloop_sleep_us = 5\n",
            2,
            &["unknown setting `loop_sleep_us` in [gateway]; did you mean `loop_sleep`?"][..],
        ),
        (
            "[gateway]\nloop_timer_freq = \"2s\"\n",
            2,
            &["is 2s, which is out of range; values: \"1us\" to \"100ms\""],
        ),
        (
            "[network]\nrecieve_buffer_bytes = 5\n",
            2,
            &["receive_buffer_bytes"],
        ),
    ] {
        desk.gateway_toml("wrong.toml", more);
        desk.run("gateway --config wrong.toml")
            .refused(status, words);
    }
    let toml = |from: &str, to: &str| {
        desk.gateway_toml("wrong.toml", "");
        desk.write("wrong.toml", desk.read("wrong.toml").replace(from, to));
        desk.run("gateway --config wrong.toml")
    };
    // The feed may appear later: the gateway tries again.
    toml("127.0.0.1", "nowhere0").refused(1, &["nowhere0", "lo"]);
    toml("127.0.0.1", "10.255.255.254").refused(1, &["10.255.255.254"]);
    toml("channel = 998", "channel = 997").refused(2, &["no channel 997", "998"]);
    toml("config.xml", "missing.xml").refused(2, &["missing.xml", "cannot read it"]);
    desk.run("gateway --config nowhere.toml")
        .refused(2, &["nowhere.toml"]);
    desk.run("gateway").refused(2, &["--config"]);
}

#[test]
fn a_missing_processor_is_refused_with_the_existing_ones() {
    let desk = Desk::bare("gateway-processor");
    desk.gateway_toml("wrong.toml", "[gateway]\nloop_cpu_affinity = 4000\n");
    desk.run("gateway --config wrong.toml")
        .refused(2, &["loop_cpu_affinity = 4000", "may run on"]);
}

/// A unicast feed whose port another program has bound.
#[test]
fn a_port_in_use_is_named() {
    let desk = Desk::bare("gateway-port");
    let taken = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let port = taken.local_addr().expect("its own").port();
    let xml = desk.read("config.xml");
    desk.write(
        "config.xml",
        xml.replacen("239.10.41.11", "127.0.0.1", 1)
            .replacen("14998", &port.to_string(), 1),
    );
    desk.gateway_toml("taken.toml", "");
    desk.run("gateway --config taken.toml")
        .refused(1, &[&format!("127.0.0.1:{port}")]);
}

#[test]
fn the_effective_configuration_is_read_back() {
    let desk = Desk::bare("gateway-print");
    desk.gateway_toml("live.toml", "[gateway]\nidle = \"spin\"\n");
    let shown = desk
        .run("gateway --config live.toml --print-config")
        .done()
        .stdout;
    assert!(
        shown.contains("idle = \"spin\"") && shown.contains("loop_timer_freq = \"1ms\""),
        "{shown}"
    );
    desk.write("shown.toml", &shown);
    let again = desk
        .run("gateway --config shown.toml --print-config")
        .done()
        .stdout;
    assert_eq!(again, shown);
}
