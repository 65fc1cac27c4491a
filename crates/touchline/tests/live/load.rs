//! The load test between two hosts: publisher and controller on one, an agent with the readers on the other.

use crate::namespaces::Namespaces;
use crate::processes::{Place, Processes};
use crate::together;
use serde_json::Value;

#[test]
fn load_between_two_hosts_transports_every_message_and_states_its_clock_error() {
    let namespaces = Namespaces::create();
    let (processes, agent_host) = match &namespaces {
        Some(namespaces) => (
            Processes::within("load", namespaces.prefixes()),
            "10.77.0.2",
        ),
        None => (Processes::new("load"), "127.0.0.1"),
    };
    let _together = together();
    let mut agent = processes.start(
        Place::Firm,
        "agent",
        &format!("load --serve {agent_host}:0"),
        &[],
    );
    agent.wait_for("listening on");
    let said = agent.said("out");
    let address = said.trim().rsplit(' ').next().expect("an address");
    let port = address.rsplit(':').next().expect("a port");
    let folder = format!("/dev/shm/touchline-load-agent-{}-{port}", agent.id());
    assert!(std::path::Path::new(&folder).exists(), "no {folder}");
    let line = format!("load --quick --json --interface veth --peer {address}");
    let output = processes.command(Place::Exchange, &line, &[]).output();
    let output = output.expect("touchline starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stderr),
        agent.said("err")
    );
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON object a line"))
        .collect();
    for subject in [
        "touchline-relay-tcp",
        "tcp",
        "udp",
        #[cfg(feature = "aeron")]
        "touchline-relay-udp",
        #[cfg(feature = "aeron")]
        "touchline-relay-multicast",
        #[cfg(feature = "aeron")]
        "aeron-udp",
        #[cfg(feature = "aeron")]
        "aeron-multicast",
    ] {
        let of_subject = rows.iter().filter(|row| row["subject"] == subject);
        let of_subject: Vec<&Value> = of_subject.collect();
        assert_eq!(of_subject.len(), 2, "{subject}: {text}");
        for row in of_subject {
            let received = &row["received"];
            assert!(received["messages"].as_u64() > Some(0), "{row}");
            assert_eq!(
                (&received["torn"], &received["duplicates"]),
                (&0.into(), &0.into()),
                "{row}"
            );
            assert!(row["clock_error_ns"].as_u64() > Some(0), "{row}");
            // Processes of this host alone.
            let processes = row["processes"].as_array().expect("a list");
            let expected = 1 + usize::from(subject.starts_with("touchline-relay-"));
            assert_eq!(processes.len(), expected, "{row}");
            if namespaces.is_some() {
                assert!(row["host"]["interface_packets"].as_u64() > Some(0), "{row}");
            }
        }
    }
    assert!(rows.iter().all(|row| row["subject"] != "touchline"));
    let refused = processes.run(&format!("load touchline --peer {address}"));
    assert_eq!(refused.status.code(), Some(2));
    agent.signal("INT");
    agent.ends_well();
    assert!(!std::path::Path::new(&folder).exists(), "{folder} is left");
}
