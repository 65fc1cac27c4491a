//! Invalid files and the exact error of each.

use crate::venues::VENUES;
use crate::venues::cme::CmeVenue;
use std::path::Path;

const LEAST: &str =
    "bus = \"cme-340\"\n[venue]\nkind = \"cme\"\nchannel = 340\nconfig_xml = \"config.xml\"\n";

fn said(text: &str) -> String {
    let read = VENUES.from_text_as::<CmeVenue>(Path::new("gateway.toml"), text);
    read.expect_err(text).to_string()
}

/// An additional line in a table: the error starts with its line number.
#[test]
fn an_invalid_line_is_refused_with_the_valid_form() {
    for (table, line, expected) in [
        (
            "network",
            r#"sources = "all""#,
            r#"7: `sources` is "all", but must be "published", "filtered" or "any"; what each means is in `touchline help settings`"#,
        ),
        (
            "venue.replay",
            r#"hosts = ["example.com:1"]"#,
            r#"8: an item of `hosts` is not an IPv4 address with a port; values: list of "address:port"; default: those of config_xml (feed-type H); see `touchline help settings hosts`"#,
        ),
        (
            "venue.replay",
            r#"attempts_max = 0"#,
            r#"8: `attempts_max` is 0, which is out of range; values: 1 to 16; default: 3; see `touchline help settings attempts_max`"#,
        ),
        (
            "venue.replay",
            r#"wait_ms = 60001"#,
            r#"8: `wait_ms` is 60001, which is out of range; values: 1 to 60,000 ms; default: 1,000; see `touchline help settings wait_ms`"#,
        ),
        (
            "venue.replay",
            r#"packets_max = 2001"#,
            r#"8: `packets_max` is 2001, which is out of range; values: 1 to 2,000; default: 2,000; see `touchline help settings packets_max`"#,
        ),
        (
            "venue.replay",
            r#"requests_per_day_max = 0"#,
            r#"8: `requests_per_day_max` is 0, which is out of range; values: 1 to 100,000; default: 1,000; see `touchline help settings requests_per_day_max`"#,
        ),
        (
            "network",
            r#"receive_buffer_bytes = 1"#,
            r#"7: `receive_buffer_bytes` is 1, which is out of range; values: 4,096 to 1,073,741,824 bytes; default: 8,388,608; see `touchline help settings receive_buffer_bytes`"#,
        ),
        (
            "network",
            r#"batch = 65"#,
            r#"7: `batch` is 65, which is out of range; values: 1 to 64; default: 1; see `touchline help settings batch`"#,
        ),
        (
            "network",
            r#"buffer = 1"#,
            r#"7: unknown setting `buffer` in [network]; did you mean `receive_buffer_bytes`? All settings are in `touchline help settings`"#,
        ),
        (
            "gateway",
            r#"idle = "never""#,
            r#"7: `idle` is "never", but must be "spin", "yield", "backoff" or "sleep"; what each means is in `touchline help settings`"#,
        ),
        (
            "gateway",
            r#"idle = 5"#,
            r#"7: `idle` is the number 5, but must be text in quotes; put it in quotes; values: "spin", "yield", "backoff", "sleep"; default: "backoff"; see `touchline help settings idle`"#,
        ),
        (
            "gateway",
            r#"loop_sleep = 500"#,
            r#"7: `loop_sleep` is the number 500, but must be a duration in quotes with its unit, such as "500us" or "1s"; values: "0ns" to "100ms"; default: "500us"; see `touchline help settings loop_sleep`"#,
        ),
        (
            "gateway",
            r#"loop_sleep = "500""#,
            r#"7: `loop_sleep`: "500" is not a duration: write a whole number with its unit, ns, us, ms or s, such as "500us" or "1s"; values: "0ns" to "100ms"; default: "500us"; see `touchline help settings loop_sleep`"#,
        ),
        (
            "gateway",
            r#"loop_sleep = "5 parsecs""#,
            r#"7: `loop_sleep`: "5 parsecs" is not a duration: write a whole number with its unit, ns, us, ms or s, such as "500us" or "1s"; values: "0ns" to "100ms"; default: "500us"; see `touchline help settings loop_sleep`"#,
        ),
        (
            "gateway",
            r#"loop_sleep = 500us"#,
            r#"7: `loop_sleep` is text without quotes, 500us; write `loop_sleep = "500us"`"#,
        ),
        (
            "gateway",
            r#"loop_sleep = "2s""#,
            r#"7: `loop_sleep` is 2s, which is out of range; values: "0ns" to "100ms"; default: "500us"; see `touchline help settings loop_sleep`"#,
        ),
        (
            "gateway",
            r#"loop_timer_freq = "0ns""#,
            r#"7: `loop_timer_freq` is 0ns, which is out of range; values: "1us" to "100ms"; default: "1ms"; see `touchline help settings loop_timer_freq`"#,
        ),
        (
            "gateway",
            r#"loop_cpu_affinity = -1"#,
            r#"7: `loop_cpu_affinity` is -1, which is out of range; values: 0 to 4,095; default: where the system puts it; see `touchline help settings loop_cpu_affinity`"#,
        ),
        (
            "gateway",
            r#"heartbeat_ms = 9"#,
            r#"7: `heartbeat_ms` is 9, which is out of range; values: 10 to 60,000 ms; default: 1,000; see `touchline help settings heartbeat_ms`"#,
        ),
        (
            "gateway",
            r#"heartbeat_ms = 1.5"#,
            r#"7: `heartbeat_ms` is the number 1.5, but must be a whole number; values: 10 to 60,000 ms; default: 1,000; see `touchline help settings heartbeat_ms`"#,
        ),
        (
            "gateway",
            r#"heartbeat_ms = true"#,
            r#"7: `heartbeat_ms` is true, but must be a whole number; values: 10 to 60,000 ms; default: 1,000; see `touchline help settings heartbeat_ms`"#,
        ),
        (
            "gateway",
            r#"heartbeat_ms = []"#,
            r#"7: `heartbeat_ms` is a list, but must be a whole number; values: 10 to 60,000 ms; default: 1,000; see `touchline help settings heartbeat_ms`"#,
        ),
        (
            "gateway",
            r#"stale_after = 5"#,
            r#"7: unknown setting `stale_after` in [gateway]; did you mean `stale_after_ms`? All settings are in `touchline help settings`"#,
        ),
        (
            "gateway",
            r#"stale_after_ms = 5s"#,
            r#"7: `stale_after_ms` is text without quotes, 5s; write `stale_after_ms = 5000`, the unit is in the name"#,
        ),
        (
            "gateway",
            r#"stale_after_ms = "5s""#,
            r#"7: `stale_after_ms` is the text "5s", but must be a whole number; write `stale_after_ms = 5000`, the unit is in the name; values: 0 to 3,600,000 ms; default: 45,000; see `touchline help settings stale_after_ms`"#,
        ),
        (
            "gateway",
            r#"stale_after_ms = "5us""#,
            r#"7: `stale_after_ms` is the text "5us", but must be a whole number; values: 0 to 3,600,000 ms; default: 45,000; see `touchline help settings stale_after_ms`"#,
        ),
        (
            "gateway",
            r#"stale_after_ms = "soon""#,
            r#"7: `stale_after_ms` is the text "soon", but must be a whole number; values: 0 to 3,600,000 ms; default: 45,000; see `touchline help settings stale_after_ms`"#,
        ),
        (
            "venue",
            r#"wait_sm = 20"#,
            r#"6: unknown setting `wait_sm` in [venue]; did you mean `wait_ms`? All settings are in `touchline help settings`"#,
        ),
        (
            "venue",
            r#"wait_ms = 10001"#,
            r#"6: `wait_ms` is 10001, which is out of range; values: 0 to 10,000 ms; default: 20; see `touchline help settings wait_ms`"#,
        ),
        (
            "venue",
            r#"wait_ms = -1"#,
            r#"6: `wait_ms` is -1, which is out of range; values: 0 to 10,000 ms; default: 20; see `touchline help settings wait_ms`"#,
        ),
        (
            "venue",
            r#"wait_ms = "20""#,
            r#"6: `wait_ms` is the text "20", but must be a whole number; write `wait_ms = 20`, without quotes; values: 0 to 10,000 ms; default: 20; see `touchline help settings wait_ms`"#,
        ),
        (
            "venue",
            r#"wait_ms 20"#,
            r#"6: not valid TOML: key with no value, expected `=`; correct this line; `touchline config --example cme` prints an example"#,
        ),
        (
            "venue",
            r#"heartbeat_ms = 100"#,
            r#"6: unknown setting `heartbeat_ms` in [venue]; it belongs in [gateway]; all settings are in `touchline help settings`"#,
        ),
        (
            "venue",
            r#"sender = "FIRM""#,
            r#"6: unknown setting `sender` in [venue]; it is a setting of kind "deribit" and "fix"; all settings are in `touchline help settings`"#,
        ),
        (
            "venue",
            r#"nonsense = 1"#,
            r#"6: unknown setting `nonsense` in [venue]; it takes `kind`, `channel`, `config_xml`, `join`, `wait_ms`, `compare_copies`, `interface`, `interface_b`, `symbols`, `replay`; all settings are in `touchline help settings`"#,
        ),
        (
            "venue",
            r#"join = "later""#,
            r#"6: `join` is "later", but must be "snapshot" or "natural"; what each means is in `touchline help settings`"#,
        ),
        (
            "venue",
            r#"join = "natual""#,
            r#"6: `join` is "natual", but must be "snapshot" or "natural"; did you mean "natural"? What each means is in `touchline help settings`"#,
        ),
        (
            "venue",
            r#"join = natural"#,
            r#"6: `join` is text without quotes, natural; write `join = "natural"`"#,
        ),
        (
            "venue",
            r#"interface = """#,
            r#"6: `interface`: "" is not an interface name or address; values: name or address; default: the system's choice; see `touchline help settings interface`"#,
        ),
        (
            "venue",
            r#"symbols = [""]"#,
            r#"6: `symbols`: an empty pattern matches no symbol; values: list of patterns; default: every instrument; see `touchline help settings symbols`"#,
        ),
        (
            "venue",
            r#"symbols = [5]"#,
            r#"6: an item of `symbols` is the number 5, but must be text in quotes; put it in quotes; values: list of patterns; default: every instrument; see `touchline help settings symbols`"#,
        ),
        (
            "venue",
            r#"symbols = "ES""#,
            r#"6: `symbols` is the text "ES", but must be a list in brackets; values: list of patterns; default: every instrument; see `touchline help settings symbols`"#,
        ),
        (
            "venue",
            r#"channel = 341"#,
            r#"6: `channel` is set twice, first further up; remove one of the two"#,
        ),
        (
            "venue.nonsense",
            r#"batch = 1"#,
            r#"6: unknown table `nonsense`; all tables are in `touchline help settings`"#,
        ),
        (
            "netwrk",
            r#"batch = 1"#,
            r#"6: unknown table `netwrk`; did you mean [network]? All tables are in `touchline help settings`"#,
        ),
        (
            "limits",
            r#"hold_packets_max = 0"#,
            r#"7: `hold_packets_max` is 0, which is out of range; values: 1 to 1,048,576; default: 4,096; see `touchline help settings hold_packets_max`"#,
        ),
        (
            "limits",
            r#"packet_bytes_max = 65508"#,
            r#"7: `packet_bytes_max` is 65508, which is out of range; values: 64 to 65,507; default: 9,000; see `touchline help settings packet_bytes_max`"#,
        ),
        (
            "limits",
            r#"orders = 1"#,
            r#"7: unknown setting `orders` in [limits]; did you mean `orders_max`? All settings are in `touchline help settings`"#,
        ),
        (
            "publication",
            r#"ring_bytes = 65537"#,
            r#"7: `ring_bytes`: 65537 cannot be the size of a ring; values: a power of two, 4,096 to 2^40 bytes; default: 16,777,216; see `touchline help settings ring_bytes`"#,
        ),
        (
            "publication",
            r#"ring_bytes = 2048"#,
            r#"7: `ring_bytes`: 2048 cannot be the size of a ring; values: a power of two, 4,096 to 2^40 bytes; default: 16,777,216; see `touchline help settings ring_bytes`"#,
        ),
        (
            "publication",
            r#"image_levels_max = 65536"#,
            r#"7: `image_levels_max` is 65536, which is out of range; values: 1 to 65,535; default: 16; see `touchline help settings image_levels_max`"#,
        ),
        (
            "publication",
            r#"lock_memory = "yes""#,
            r#"7: `lock_memory` is "yes", but must be "no", "if-allowed" or "required"; what each means is in `touchline help settings`"#,
        ),
        (
            "publication",
            r#"tops = "yes""#,
            r#"7: `tops` is the text "yes", but must be true or false; values: true, false; default: true; see `touchline help settings tops`"#,
        ),
        (
            "publication",
            r#"directory = """#,
            r#"7: `directory`: an empty path is not a directory; values: path; a relative one starts at the folder of the TOML file; default: /dev/shm/touchline-UID; see `touchline help settings directory`"#,
        ),
        (
            "publication",
            r#"readers_max = 3"#,
            r#"7: unknown setting `readers_max` in [publication]; it belongs in [publication.lossless]; all settings are in `touchline help settings`"#,
        ),
        (
            "publication",
            r#"lossless = { readers_max = 0 }"#,
            r#"7: `readers_max` is 0, which is out of range; values: 1 to 1,024; default: 16; see `touchline help settings readers_max`"#,
        ),
    ] {
        let text = match table {
            "venue" => format!("{LEAST}{line}\n"),
            "venue.replay" => format!("{LEAST}[venue.replay]\nuser = \"firm\"\n{line}\n"),
            table => format!("{LEAST}[{table}]\n{line}\n"),
        };
        let said = said(&text);
        assert_eq!(said.strip_prefix("gateway.toml:"), Some(expected), "{line}");
    }
}

/// Something in the smallest file is missing, repeated or wrong.
#[test]
fn an_invalid_file_is_refused_with_the_valid_form() {
    let without = |line: &str| LEAST.replace(line, "");
    for (text, expected) in [
        (
            without("bus = \"cme-340\"\n"),
            r#"1: the file has no `bus`, name of the bus on this host, which subscribers join; add it; values: 1 to 64 letters, digits, -, _, .; not starting with .; see `touchline help settings bus`"#,
        ),
        (
            without("channel = 340\n"),
            r#"2: [venue] has no `channel`, CME's number of the market-data channel; add it; values: one that config_xml has; see `touchline help settings channel`"#,
        ),
        (
            without("kind = \"cme\"\n"),
            r#"2: [venue] has no `kind`, protocol of the venue; add it; values: "cme", "deribit", "fix", "fx-bank"; see `touchline help settings kind`"#,
        ),
        (
            "bus = \"a\"\n".to_owned(),
            r#"1: the file has no table [venue]; add it; `touchline config --example cme` prints an example"#,
        ),
        (
            LEAST.replace("\"cme-340\"", "340"),
            r#"1: `bus` is the number 340, but must be text in quotes; put it in quotes; values: 1 to 64 letters, digits, -, _, .; not starting with .; see `touchline help settings bus`"#,
        ),
        (
            LEAST.replace("cme-340", "../cme"),
            r#"1: `bus`: "../cme" is not a bus name: 1 to 64 letters, digits, '-', '_' and '.', not starting with '.'; values: 1 to 64 letters, digits, -, _, .; not starting with .; see `touchline help settings bus`"#,
        ),
        (
            LEAST.replace("cme\"", "nyse\""),
            r#"3: `kind` is "nyse", but must be "cme", "deribit", "fix" or "fx-bank"; what each means is in `touchline help settings`"#,
        ),
        (
            LEAST.replace("340\n", "-1\n"),
            r#"4: `channel` is the number -1, but must be a whole number from 0 up; values: one that config_xml has; see `touchline help settings channel`"#,
        ),
        (
            LEAST.replace("\"config.xml\"", "5"),
            r#"5: `config_xml` is the number 5, but must be a path in quotes; values: path; a relative one starts at the folder of the TOML file; see `touchline help settings config_xml`"#,
        ),
        (
            LEAST.replace("[venue]", "[venue"),
            r#"2: not valid TOML: unclosed table, expected `]`; correct this line; `touchline config --example cme` prints an example"#,
        ),
        (
            format!("channel = 5\n{LEAST}"),
            r#"1: unknown setting `channel` in the part above the first table; it belongs in [venue]; all settings are in `touchline help settings`"#,
        ),
        (
            format!("limits = 5\n{LEAST}"),
            r#"1: `limits` is the number 5, but must be a table; default: all defaults; see `touchline help settings limits`"#,
        ),
        (
            format!("{LEAST}[[limits]]\norders_max = 1\n"),
            r#"6: `limits` is a list of tables; write its heading with single brackets, [limits]"#,
        ),
        (
            format!("{LEAST}[venue]\n"),
            r#"6: [venue] occurs twice, first further up; remove one of the two"#,
        ),
        (
            format!("{LEAST}[venue.replay]\n"),
            r#"6: [venue.replay] has no `user`, our user name at the venue; add it; values: 1 to 64 visible ASCII characters; see `touchline help settings user`"#,
        ),
        (
            format!("{LEAST}[gateway.heartbeat_ms]\n"),
            r#"6: [gateway.heartbeat_ms] is a table, but must be a whole number; see `touchline help settings`"#,
        ),
    ] {
        let said = said(&text);
        assert_eq!(said.strip_prefix("gateway.toml:"), Some(expected), "{text}");
    }
}

/// Errors for random files are one short line.
#[test]
fn a_mistake_is_one_short_line() {
    let long = "x".repeat(100_000);
    for text in [
        format!("{LEAST}\"\\u001b[2J\\n{long}\" = 1\n"),
        format!("{LEAST}wait_ms = \"\\u001b[2J\\n{long}\"\n"),
        format!("{LEAST}join = \"\\u001b[2J\\n{long}\"\n"),
        format!("{LEAST}join = {long}\n"),
    ] {
        let said = said(&text);
        assert!(said.len() < 1_200, "{} bytes", said.len());
        assert!(!said.contains(char::is_control), "{said:?}");
    }
}

/// A key and a value that are wrong, in several tables: each mistake has its line.
#[test]
fn all_mistakes_of_a_file_are_named_at_once() {
    let text = format!("{LEAST}wait_sm = 20\nwait_ms = 20000\n[publication]\nring_byte = 1\n");
    let said = said(&text);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    for (line, start) in lines.iter().zip([
        "gateway.toml:6: unknown setting `wait_sm` ",
        "gateway.toml:7: `wait_ms` is 20000, ",
        "gateway.toml:9: unknown setting `ring_byte` ",
    ]) {
        assert!(line.starts_with(start), "{start}: {said}");
    }
}
