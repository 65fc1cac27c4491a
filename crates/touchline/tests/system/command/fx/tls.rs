//! TLS of everything that trades: banks, their gateways, the engine's order sessions, the drop copy, each as a user starts it.

use super::back_office::executions;
use super::books::judge_end;
use super::live::{end, start};
use super::trade::{Market, close};
use crate::command::Desk;
use crate::command::until;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use touchline_net::tls::{Client, Identity, Settings};
use touchline_testing::free_address;
use touchline_testing::issuer::{Issued, Issuer};

/// Tables of the banks' file: the banks have certificates, and ask for those of their clients.
const TLS: &str = "[tls]\ncertificate_file = \"bank.pem\"\nkey_file = \"bank.key\"\nroots_file = \"issuer.pem\"\n\
                   client_roots_file = \"firm.pem\"\nclient_certificate_file = \"desk.pem\"\nclient_key_file = \"desk.key\"\n";

/// Writes a certificate and its key, which only this user may read.
fn write(desk: &Desk, name: &str, issued: &Issued) {
    desk.write(&format!("{name}.pem"), &issued.certificate_pem);
    let key = format!("{name}.key");
    desk.write(&key, &issued.key_pem);
    std::fs::set_permissions(desk.path(&key), Permissions::from_mode(0o600)).expect("our file");
}

/// Quotes and orders go over TLS with certificates of both sides: an order is filled and booked as the banks have it, and a back
/// office with a certificate receives it. An engine that does not know the banks' issuer says so, once, and does not trade.
#[test]
fn an_order_is_filled_over_tls_and_a_stranger_is_refused_with_a_reason() {
    let desk = Desk::bare("fx-tls");
    let (issuer, firm) = (Issuer::new("the banks"), Issuer::new("the firm"));
    desk.write("issuer.pem", issuer.pem());
    desk.write("firm.pem", firm.pem());
    write(&desk, "bank", &issuer.issue("127.0.0.1"));
    write(&desk, "desk", &firm.issue("desk"));
    write(&desk, "copy", &firm.issue("127.0.0.1"));
    let ops = firm.issue("ops");
    let market = Market::with(desk, TLS, &["[banks.orders]", "[banks.orders]"]);
    let engine = market.engine("engine.txt");
    market.send("EUR/USD buy 2000000 --id P1 --wait").done();

    let address = free_address();
    let settings = market.desk.read("fx/run.toml");
    let section = format!(
        "\n[report]\nlisten = \"{address}\"\nnumbers = \"numbers\"\n\
         [report.tls]\ncertificate_file = \"../copy.pem\"\nkey_file = \"../copy.key\"\nclient_roots_file = \"../firm.pem\"\n\
         [[report.clients]]\ntarget = \"OPS\"\n"
    );
    market
        .desk
        .write("fx/report.toml", format!("{settings}{section}"));
    let report = start(
        &market.desk,
        "fx report --config fx/report.toml --out live --follow --until-eof",
        "report.txt",
    );
    until("the fills that are known", || {
        market.desk.path("live/fills.csv").exists()
    });
    let rows = market.desk.read("live/fills.csv").lines().count() - 1;
    let client = Client::new(&Settings {
        server_name: "127.0.0.1",
        roots: Some(firm.pem().as_bytes()),
        pins: &[],
        identity: Some(Identity {
            certificates: ops.certificate_pem.as_bytes(),
            key: ops.key_pem.as_bytes(),
        }),
    });
    let client = client.expect("valid settings");
    let trades = executions(address, Some(&client), |found| {
        found.values().filter(|trade| trade[0] == "F").count() >= rows
    });
    let bought = trades.values().filter(|trade| trade[0] == "F");
    let bought: i64 = bought
        .map(|trade| trade[3].parse::<i64>().expect("units"))
        .sum();
    assert!(bought >= 2_000_000, "{trades:?}");
    end(report);
    let (said, own) = close(engine, &market, "engine.txt");
    assert_eq!(own["EUR/USD"].0, bought, "{said}");

    // The same engine, which trusts another issuer.
    let strange = settings.replace("issuer.pem", "firm.pem");
    market.desk.write("fx/strange.toml", &strange);
    let line = "fx run --config fx/strange.toml --seconds 3";
    let run = market.desk.run(line);
    assert_eq!(run.status, 0, "{run:?}");
    for bank in ["LP01", "LP02"] {
        let begin = format!("order session of {bank} cannot connect to 127.0.0.1:");
        let lines = run.stderr.lines().filter(|line| line.contains(&begin));
        let lines: Vec<&str> = lines.collect();
        assert_eq!(lines.len(), 1, "{}", run.stderr);
        let fields = format!("fx_alarm bus=fx-run reason=not_connected bank={bank} retry_ms=");
        assert!(
            lines[0].contains(&fields) && lines[0].contains("unknown issuer"),
            "{}",
            lines[0]
        );
    }
    // A key that others may read, or a file that is not there, is refused before the engine has its journal.
    let missing = settings.replace("desk.pem", "nobody.pem");
    market.desk.write("fx/missing.toml", &missing);
    let run = market
        .desk
        .run("fx run --config fx/missing.toml --seconds 3");
    run.refused(
        2,
        &["sessions: LP01: tls: ", "nobody.pem", "cannot read it"],
    );
    judge_end(&said, &market.ledgers()).unwrap_or_else(|what| panic!("{what}: {said}"));
}
