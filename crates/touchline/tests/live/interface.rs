//! The simulated exchange on an interface that goes down, loses its address, and is replaced by another one of its name.

use crate::namespaces::Namespaces;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The simulator goes on, counts the packets that it did not send, and sends on the interface that is there then.
#[test]
fn the_simulated_exchange_survives_the_loss_of_its_interface() {
    for interface in ["veth", "10.77.0.1"] {
        let Some(namespaces) = Namespaces::create_or_skip() else {
            return;
        };
        let [prefix, _] = namespaces.prefixes();
        let mut command = Command::new(&prefix[0]);
        command
            .args(&prefix[1..])
            .arg(env!("CARGO_BIN_EXE_touchline"));
        command.args(["sim", "cme", "--seconds", "5", "--interface", interface]);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let child = child.expect("ip made the namespace");
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
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{interface}: {out} {err}");
        assert!(
            out.contains("not sent: the interface was down or gone"),
            "{out}"
        );
        let sent = namespaces.sent() - before;
        assert!(
            sent > 100,
            "{interface}: {sent} packets on the last interface: {out}"
        );
    }
}
