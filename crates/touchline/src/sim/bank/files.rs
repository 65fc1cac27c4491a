//! Configurations of simulated banks, of their gateways and of the composer.

use super::{Banks, Config};
use crate::fx::config_text::read_config;
use crate::output::{Failure, Output};
use std::fmt::Write;
use std::path::Path;
use touchline_credentials::ServerTls;
use touchline_fx::preset::{self, Preset};
use touchline_lab::bank::{DayConfig, Dialect, Kind, NumbersAtEnd, PairConfig, Profile, TlsConfig};
use touchline_net::tls::Server;

/// Reads and checks a configuration.
pub fn read(path: &Path) -> Result<Config, Failure> {
    let wrong =
        |what: &dyn std::fmt::Display| Failure::usage(format!("{}: {what}", path.display()));
    let mut config = read_config(path, Config::parse)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    config.load_ticks(folder).map_err(Failure::usage)?;
    if let Some(tls) = &mut config.tls {
        // The files that are written for clients are in another folder.
        let file = std::path::absolute(path).map_err(|error| wrong(&error))?;
        tls.starts_at(file.parent().unwrap_or(Path::new("/")));
    }
    Ok(config)
}

/// TLS of the banks' ports, if they have it.
pub fn tls_server(config: &Config) -> Result<Option<Server>, Failure> {
    let server = config.tls.as_ref().map(|tls| {
        let files = ServerTls {
            certificate_file: tls.certificate_file.clone(),
            key_file: tls.key_file.clone(),
            client_roots_file: tls.client_roots_file.clone(),
        };
        files.server()
    });
    let server = server.transpose();
    server.map_err(|error| Failure::configuration(&error))
}

/// TLS of a client of the banks, as a table of a configuration.
fn tls_client(table: &str, tls: &TlsConfig) -> String {
    let roots = tls.roots_file.as_ref().unwrap_or(&tls.certificate_file);
    let mut text = format!("\n[{table}]\nroots_file = {}\n", quoted(roots));
    if let (Some(certificate), Some(key)) = (&tls.client_certificate_file, &tls.client_key_file) {
        let _ = writeln!(
            text,
            "client_certificate_file = {}\nclient_key = {{ file = {} }}",
            quoted(certificate),
            quoted(key)
        );
    }
    text
}

/// A path as text in TOML.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Writes `<bank>.toml` of each bank's gateway, `compose.toml`, and `run.toml` of a trading engine if banks take orders.
pub fn write(folder: &Path, banks: &Banks) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::run(format!(
            "{}: cannot be made ({error}); choose a folder that you may write to",
            folder.display()
        ))
    })?;
    for at in 0..banks.banks().len() {
        let name = bus(&banks.banks()[at].config().name);
        save(&folder.join(format!("{name}.toml")), &gateway(banks, at))?;
    }
    save(&folder.join("compose.toml"), &compose(banks.config()))?;
    match run(banks) {
        Some(text) => save(&folder.join("run.toml"), &text),
        None => Ok(()),
    }
}

/// The note that the folder has the journal of an engine whose sequence numbers new banks do not know; none without such a journal.
pub fn old_journal(folder: &Path) -> Option<String> {
    let journal = folder.join("journal");
    let is_used = std::fs::read_dir(&journal).is_ok_and(|mut files| files.next().is_some());
    is_used.then(|| {
        format!(
            "{path} is of an engine of earlier banks: these banks begin with sequence number 1 and know no order, so its order sessions \
             would end with `MsgSeqNum is too low`. Before `touchline fx run`: remove {path}. To keep it next time, give the banks \
             --store DIR at every start",
            path = journal.display()
        )
    })
}

fn save(path: &Path, text: &str) -> Result<(), Failure> {
    let mut output = Output::open(path)?;
    output.text(text)?;
    output.finish()
}

fn bus(name: &str) -> String {
    name.to_ascii_lowercase()
}

// Writing into a string does not fail.
fn gateway(banks: &Banks, at: usize) -> String {
    let (bank, config) = (&banks.banks()[at], banks.config());
    let about = bank.config();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "bus = \"{}\"\n\n[venue]\nkind = \"fx-bank\"\nhosts = [\"{}\"]\nsender = \"TOUCHLINE\"\ntarget = \"{}\"",
        bus(&about.name),
        bank.address(),
        about.name,
    );
    let _ = writeln!(
        text,
        "dialect = \"{}\"\nstream = \"{}\"\nheartbeat_s = 1\nsilence_ms = 3000\nstale_ms = {}\nreconnect_ms = 20\nreconnect_ms_max = 500",
        dialect(about.dialect),
        kind(about.kind),
        stale_ms(config),
    );
    if about.kind == Kind::Full && about.dialect != Dialect::MassQuotes {
        let _ = writeln!(text, "depth = 1\nbands = {:?}", about.tiers);
    }
    text.push_str("pairs = [\n");
    // In the bank's order, by which mass quotes count.
    let pair = |symbol: &String| config.pairs.iter().find(|pair| pair.symbol == *symbol);
    for pair in about.pairs.iter().filter_map(pair) {
        let _ = writeln!(
            text,
            "  {{ symbol = \"{}\", precision = {}{} }},",
            pair.symbol,
            pair.precision,
            spot_date(", ", pair)
        );
    }
    text.push_str("]\n");
    if let Some(tls) = &config.tls {
        text.push_str(&tls_client("venue.tls", tls));
    }
    if let Some(day) = &about.day {
        text.push_str(&day.schedule("venue.schedule"));
    }
    text.push_str(
        "\n[limits]\ninstruments_max = 64\n\n[gateway]\nheartbeat_ms = 500\nloop_sleep = \"100us\"\n\n\
         [publication]\nring_bytes = 1048576\n",
    );
    text.push_str(calendars(config));
    text
}

/// The stated spot date of a pair; empty if the calendars give it.
fn spot_date(before: &str, pair: &PairConfig) -> String {
    match pair.spot_date.as_str() {
        "" => String::new(),
        date => format!("{before}spot_date = \"{date}\""),
    }
}

/// The table of the calendars, if they give spot dates.
fn calendars(config: &Config) -> &'static str {
    match config.rolls {
        Some(_) => "\n[calendars]\n",
        None => "",
    }
}

fn compose(config: &Config) -> String {
    let mut text = String::from("bus = \"fx\"\nlevels = 10\nheartbeat_ms = 250\n");
    for pair in &config.pairs {
        let _ = writeln!(
            text,
            "\n[[pairs]]\nsymbol = \"{}\"\nprecision = {}{}\nsizes = [1000000, 5000000]",
            pair.symbol,
            pair.precision,
            spot_date("\n", pair)
        );
    }
    for bank in &config.banks {
        let _ = writeln!(
            text,
            "\n[[banks]]\nname = \"{}\"\nbus = \"{}\"\npairs = {:?}\nkind = \"{}\"\nsilence_ms = 3500\nstale_ms = {}",
            bank.name,
            bus(&bank.name),
            bank.pairs,
            kind(bank.kind),
            stale_ms(config),
        );
    }
    text.push_str(calendars(config));
    text
}

/// A trading engine for the banks that take orders; none if no bank does.
fn run(banks: &Banks) -> Option<String> {
    let config = banks.config();
    let mut text = String::from("date = \"20260105\"\n");
    // A run with banks on other hosts gives today's dates.
    if config.address.is_loopback() {
        text.push_str(
            "# Value dates are compared with `date`, not with today. Remove it for banks that trade.\nrehearsal = true\n",
        );
    }
    text.push_str(
        "prefix = \"T\"\naccount = \"DESK\"\n\n[run]\nbus = \"fx-run\"\njournal = \"journal\"\nsegment_bytes = 16777216\ntail_bytes = 16777216\n\n\
         [risk]\nmax_gross_usd = 250000000\nduplicate_ms = 5\nkill_unknown = 20\nkill_rejects_per_s = 50\n\
         kill_lifters = [\"desk\", \"chief\"]\nbookers = [\"desk\", \"chief\"]\nreference_ttl_ms = 60000\n\
         # Both names are of one Unix user here. Elsewhere give each client its user instead.\n\
         lift_by_one_user = true\n",
    );
    text.push_str(match has_references(config) {
        true => "without_reference = \"wait\"\n",
        false => "# A reference needs three banks of a pair. With fewer, orders are judged by the mid of their own quotes.\nwithout_reference = \"composite\"\n",
    });
    for (client, may) in [
        (
            "desk",
            r#"["send", "cancel", "kill", "lift", "enable", "resolve", "book", "promote"]"#,
        ),
        ("chief", r#"["kill", "lift", "book"]"#),
    ] {
        let _ = writeln!(text, "\n[[clients]]\nname = \"{client}\"\nmay = {may}");
    }
    for pair in &config.pairs {
        let [collar, crossed, off_market] = Preset::around(pair.mid_ticks);
        let _ = writeln!(
            text,
            "\n[[pairs]]\nsymbol = \"{}\"\nprecision = {}{}\ncollar_ticks = {collar}\ncrossed_max_ticks = {crossed}\n\
             off_market_ticks = {off_market}\nmax_order = {}\nmax_net = {}",
            pair.symbol,
            pair.precision,
            spot_date("\n", pair),
            preset::MAX_ORDER,
            preset::MAX_NET,
        );
    }
    let mut is_any = false;
    for bank in banks.banks() {
        let (about, Some(address)) = (bank.config(), bank.orders_address()) else {
            continue;
        };
        is_any = true;
        let name = &about.name;
        let _ = writeln!(
            text,
            "\n[[banks]]\nname = \"{name}\"\npairs = {:?}\nkind = \"{}\"\nsilence_ms = 3500\nstale_ms = {}\nstatus_final = true",
            about.pairs,
            kind(about.kind),
            stale_ms(config),
        );
        let _ = writeln!(
            text,
            "\n[[sessions]]\nbank = \"{name}\"\nbus = \"{}\"\nhost = \"{address}\"\nsender = \"TOUCHLINE\"\nheartbeat_s = 1",
            bus(name),
        );
        if let Some(tls) = &config.tls {
            text.push_str(&tls_client("sessions.tls", tls));
        }
        if let Some(day) = &about.day {
            text.push_str(&order_schedule(day));
        }
    }
    is_any.then(|| text + calendars(config))
}

/// The schedule of the order session with a bank that has a day.
fn order_schedule(day: &DayConfig) -> String {
    let reset = match day.numbers {
        NumbersAtEnd::Keep => "never",
        NumbersAtEnd::Begin => "session",
    };
    let after_loss = match day.drops_orders {
        true => "canceled",
        false => "ask",
    };
    let hours = day.schedule("sessions.schedule");
    format!("{hours}reset = \"{reset}\"\nafter_loss = \"{after_loss}\"\n")
}

/// Age at which quotes are unusable: a bank of a sparse profile quotes once a minute.
fn stale_ms(config: &Config) -> u64 {
    match config.profile {
        Profile::Sparse => 150_000,
        Profile::Calm | Profile::Burst => 10_000,
    }
}

/// Whether each pair has the three banks of a reference.
fn has_references(config: &Config) -> bool {
    config.pairs.iter().all(|pair| {
        let mut banks = config.banks.iter();
        banks
            .by_ref()
            .filter(|bank| bank.pairs.contains(&pair.symbol))
            .count()
            >= 3
    })
}

fn dialect(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::W => "W",
        Dialect::WX => "WX",
        Dialect::S => "S",
        Dialect::MassQuotes => "i",
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Sweep => "sweep",
        Kind::Full => "full",
    }
}
