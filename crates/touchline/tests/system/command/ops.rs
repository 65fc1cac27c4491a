//! Files of `ops/`, checked by their tools. A missing tool is reported.

use super::metrics::promtool;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use touchline_testing::Folder;

fn ops() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ops")
}

#[test]
fn alerts_fire_as_their_tests_specify() {
    let folder = ops().join("prometheus");
    let path = |name: &str| folder.join(name).to_str().expect("a plain path").to_owned();
    for arguments in [
        ["check", "rules", &path("alerts.yml")],
        ["check", "config", &path("prometheus.yml")],
        ["test", "rules", &path("alerts_test.yml")],
    ] {
        let Some((is_content, said)) = promtool(&arguments, "") else {
            return;
        };
        assert!(
            is_content && said.contains("SUCCESS"),
            "{arguments:?}: {said}"
        );
    }
    // The tests of the alerts detect a rule that never fires.
    let broken = Folder::new("alerts");
    let rules = std::fs::read_to_string(folder.join("alerts.yml")).expect("our file");
    let deaf = rules.replace(
        "touchline_gaps_total[5m]) > 3",
        "touchline_gaps_total[5m]) > 9999",
    );
    assert_ne!(rules, deaf);
    std::fs::write(broken.join("alerts.yml"), deaf).expect("our folder");
    let test = broken.join("alerts_test.yml");
    std::fs::copy(folder.join("alerts_test.yml"), &test).expect("our folder");
    let arguments = ["test", "rules", test.to_str().expect("a plain path")];
    let (is_content, said) = promtool(&arguments, "").expect("it was there");
    assert!(!is_content && said.contains("TouchlineGaps"), "{said}");
}

/// `systemd-analyze verify` reports no problem in the units, and reports one in a wrong unit.
#[test]
fn systemd_units_are_valid() {
    let folder = Folder::new("units");
    let unit = |name: &str| {
        let unit = std::fs::read_to_string(ops().join("systemd").join(name)).expect("our file");
        assert!(unit.contains("ExecStart=/usr/bin/touchline "));
        // At the path in the unit.
        unit.replace("/usr/bin/touchline", env!("CARGO_BIN_EXE_touchline"))
    };
    let metrics = unit("touchline-metrics.service");
    let units = [
        (
            "touchline-gateway@cme-340.service",
            unit("touchline-gateway@.service"),
        ),
        (
            "touchline-relay@links.service",
            unit("touchline-relay@.service"),
        ),
        (
            "touchline-record@cme-340.service",
            unit("touchline-record@.service"),
        ),
        (
            "wrong.service",
            metrics.replace("NoNewPrivileges=yes", "NoNewPrivilege=yes"),
        ),
        ("touchline-metrics.service", metrics),
    ];
    for (name, text) in units {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("our folder");
        let output = match Command::new("systemd-analyze")
            .arg("verify")
            .arg(&path)
            .output()
        {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                touchline_testing::skip("no systemd-analyze here");
                break;
            }
            output => output.expect("systemd-analyze starts"),
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Reports about other units, and about the host, are ignored.
        let of_ours: Vec<_> = said.lines().filter(|line| line.contains(name)).collect();
        match name {
            "wrong.service" => assert!(said.contains("NoNewPrivilege"), "{said}"),
            _ => assert!(of_ours.is_empty(), "{said}"),
        }
    }
}

/// A file of `ops/`, with one passage replaced.
struct Ops(&'static str, &'static str, &'static str);

impl Ops {
    fn read(&self, name: &str) -> String {
        let text = std::fs::read_to_string(ops().join(name)).expect(name);
        if self.0 != name {
            return text;
        }
        assert!(text.contains(self.1), "{name}: {}", self.1);
        text.replace(self.1, self.2)
    }
}

/// Value of the first `key: value` of a YAML file.
fn value<'a>(yaml: &'a str, key: &str) -> &'a str {
    let start = format!("{key}: ");
    let mut lines = yaml.lines().map(str::trim_start);
    lines
        .find_map(|line| line.trim_start_matches("- ").strip_prefix(&start))
        .unwrap_or_default()
}

/// Mounts of a compose file: path here, relative to its folder, and path in the container.
fn mounts(compose: &str) -> Vec<(&str, &str)> {
    let lines = compose.lines().map(str::trim_start);
    let mounts = lines.filter_map(|line| line.strip_prefix("- ")?.strip_suffix(":ro"));
    mounts.filter_map(|mount| mount.split_once(':')).collect()
}

/// Path in the container of a file here.
fn mounted<'a>(compose: &'a str, here: &str) -> &'a str {
    let mounts = mounts(compose);
    let mount = mounts.iter().find(|mount| mount.0 == here);
    mount.map_or("", |mount| mount.1)
}

/// A statement about the files, and whether it holds.
type Claim = (bool, String);

/// The files that the compose file mounts exist.
fn of_files(compose: &str) -> Vec<Claim> {
    let folder = ops().join("container");
    let mounts = mounts(compose);
    let four = (mounts.len() == 4, format!("4 mounts: {mounts:?}"));
    let mounts = mounts.iter();
    let mounts = mounts.map(|(here, _)| (folder.join(here).exists(), (*here).to_owned()));
    [four].into_iter().chain(mounts).collect()
}

/// Grafana loads the dashboard that it opens, and its data are those of the Prometheus here.
fn of_grafana(ops: &Ops, compose: &str) -> [Claim; 3] {
    let dashboard = mounted(compose, "../grafana/touchline.json");
    let home = value(compose, "GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH");
    let provider = ops.read("grafana/provisioning/dashboards/touchline.yml");
    let loaded = format!("{}/touchline.json", value(&provider, "path"));
    let source = ops.read("grafana/provisioning/datasources/touchline.yml");
    let port = value(&source, "url").trim_start_matches("http://127.0.0.1:");
    let published = format!("\"127.0.0.1:{port}:{port}\"");
    [
        (home == dashboard, format!("{home} is mounted")),
        (loaded == dashboard, format!("{loaded} is mounted")),
        (compose.contains(&published), format!("{published} is open")),
    ]
}

/// Prometheus finds the rules beside its configuration, and the exporter.
fn of_prometheus(ops: &Ops, compose: &str) -> [Claim; 2] {
    let config = ops.read("prometheus/prometheus.yml");
    let place = |name: &str| {
        let path = mounted(compose, &format!("../prometheus/{name}"));
        path.strip_suffix(name).map(str::to_owned)
    };
    let folder = place("prometheus.yml");
    let is_beside = folder.is_some() && folder == place("alerts.yml");
    let exporter = "\"127.0.0.1:9464\"]";
    let is_collected = config.contains(exporter) && compose.contains(exporter);
    [
        (
            is_beside && config.contains("\n  - alerts.yml\n"),
            format!("alerts.yml is in {folder:?}"),
        ),
        (is_collected, format!("{exporter} is collected")),
    ]
}

/// Statements about the files of the containers that do not hold.
fn wrong(ops: &Ops) -> Vec<String> {
    let compose = ops.read("container/compose.yml");
    let mut claims = of_files(&compose);
    claims.extend(of_grafana(ops, &compose));
    claims.extend(of_prometheus(ops, &compose));
    claims.retain(|(holds, _)| !holds);
    claims.into_iter().map(|(_, what)| what).collect()
}

#[test]
fn files_of_the_containers_name_paths_and_ports_that_exist() {
    assert_eq!(wrong(&Ops("", "", "")), Vec::<String>::new());
    for broken in [
        Ops(
            "container/compose.yml",
            "../prometheus/alerts.yml",
            "../prometheus/alarms.yml",
        ),
        Ops(
            "container/compose.yml",
            "/etc/prometheus/alerts.yml",
            "/etc/alerts.yml",
        ),
        Ops(
            "container/compose.yml",
            "PATH: /var/lib/touchline",
            "PATH: /var/lib/grafana",
        ),
        Ops(
            "container/compose.yml",
            "127.0.0.1:9090:9090",
            "127.0.0.1:9091:9090",
        ),
        Ops(
            "container/compose.yml",
            "--listen\", \"127.0.0.1:9464",
            "--listen\", \"127.0.0.1:9465",
        ),
        Ops(
            "grafana/provisioning/dashboards/touchline.yml",
            "/var/lib/touchline\n",
            "/var/lib\n",
        ),
        Ops("prometheus/prometheus.yml", "- alerts.yml", "- rules.yml"),
    ] {
        assert!(!wrong(&broken).is_empty(), "{}: {}", broken.0, broken.2);
    }
}
