//! The simulated exchange on an interface that goes down, loses its address, and is replaced by another one of its name.

use crate::namespaces::Namespaces;
use crate::together;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use touchline_testing::{PATIENCE, Process, until};

/// The simulator goes on, counts the packets that it did not send, and sends on the interface that is there then.
#[test]
fn the_simulated_exchange_survives_the_loss_of_its_interface() {
    for interface in ["veth", "10.77.0.1"] {
        let Some(namespaces) = Namespaces::create_or_skip() else {
            return;
        };
        let _together = together();
        let [prefix, _] = namespaces.prefixes();
        let mut command = Command::new(&prefix[0]);
        command
            .args(&prefix[1..])
            .arg(env!("CARGO_BIN_EXE_touchline"));
        command.args(["sim", "cme", "--interface", interface]);
        let mut exchange = Process::start(command.stdin(Stdio::null()));
        exchange.wait_for_line("sending");
        for lose in [
            Namespaces::take_down,
            Namespaces::flush_address,
            Namespaces::unplug,
        ] {
            sleep(Duration::from_millis(600));
            lose(&namespaces);
            sleep(Duration::from_millis(400));
            namespaces.restore();
        }
        let before = namespaces.sent();
        until("packets on the last interface", PATIENCE, || {
            let sent = namespaces.sent() - before;
            match sent > 100 {
                true => Ok(()),
                false => Err((interface, sent)),
            }
        });
        let status = exchange.end("INT");
        let (out, err) = (exchange.out(), exchange.err());
        assert_eq!(status, Some(0), "{interface}: {out} {err}");
        assert!(
            out.contains("not sent: the interface was down or gone"),
            "{out}"
        );
    }
}
