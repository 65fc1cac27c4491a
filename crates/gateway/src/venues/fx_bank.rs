//! Banks that quote currency pairs over FIX 4.4. A gateway serves one pricing session, and publishes each quote and the
//! bank's own book.

mod section;

use super::start::together;
use super::{Opened, Opening, StartError, Venue};
use crate::config::{
    CONFIGURATION, Config, ConfigError, Guide, NoSettings, SessionLimits, Symbols, timeout_ns,
};
use crate::live::ClientLink;
use crate::venues::fix::{books, link_of};
use std::path::Path;
use touchline_credentials::read_file;
use touchline_feed::fx_bank::{
    APPLICATION, BankStream, FxBankFeed, Pair, Request, Reset, Rules, Settings,
};
use touchline_fx_days::{Calendars, CalendarsConfig, Hours, PairDates, Rolls};
use touchline_session::Secret;
use touchline_session::fix::{self, Checks, Role, extra_fields};
use touchline_settings::Mistakes;
use touchline_transport::clock::wall_ns;
use touchline_types::Code;
use touchline_types::text::{NAMES, is_name};

pub use section::{BankPair, BankReset, BankSchedule, Dialect, FxBankVenue, Kind, Stream};

/// Maximum length of a bank's name, bytes.
const NAME_BYTES_MAX: usize = 16;

impl Venue for FxBankVenue {
    const KINDS: &'static [&'static str] = &["fx-bank"];

    const EXAMPLES: &'static [&'static str] = &[include_str!("fx_bank/fx-bank.toml")];

    const GUIDE: Guide = Guide {
        text: CONFIGURATION,
        tables: &[
            ("venue", "#### Banks' pricing sessions"),
            ("calendars", "#### Calendars"),
            ("venue.tls", "### TLS"),
            ("venue.schedule", "##### Hours of a pricing session"),
            ("limits", "Of a FIX session `[limits]` are:"),
        ],
    };

    type Limits = SessionLimits;
    type Network = NoSettings;
    type Calendars = Option<CalendarsConfig>;
    type Link = ClientLink<FxBankFeed>;

    fn kind(&self) -> &'static str {
        match self.kind {
            Kind::FxBank => "fx-bank",
        }
    }

    fn identity(&self) -> (&'static str, String) {
        ("bank", self.bank_name().to_owned())
    }

    fn symbols(&self) -> &Symbols {
        &self.all
    }

    fn resolve(&mut self, folder: &Path) {
        if let Some(password) = &mut self.password {
            password.starts_at(folder);
        }
        if let Some(tls) = &mut self.tls {
            tls.starts_at(folder);
        }
    }

    fn resolve_calendars(calendars: &mut Option<CalendarsConfig>, folder: &Path) {
        if let Some(calendars) = calendars {
            calendars.starts_at(folder);
        }
    }

    fn instruments_max(limits: &SessionLimits) -> usize {
        limits.instruments_max
    }

    fn orders_max(_: &SessionLimits) -> usize {
        0
    }

    fn levels_max(&self) -> usize {
        self.levels_max
    }

    fn check(config: &Config<FxBankVenue>) -> Result<String, Vec<ConfigError>> {
        let venue = &config.venue;
        let parts = [
            bank(venue).err(),
            has_room(config).err(),
            stream(config).err(),
            rolls(config).err(),
            password(venue).err(),
            link(config).err(),
        ];
        together(parts)?;
        Ok(format!(
            "connects as {} to bank {} at {}",
            venue.sender,
            venue.bank_name(),
            venue.hosts.join(", "),
        ))
    }

    fn open(config: &Config<FxBankVenue>) -> Result<Opened<Self::Link>, StartError> {
        let feed = FxBankFeed::new(settings(config)?);
        Ok(Opened {
            feed,
            limits: books(&config.limits, config.venue.levels_max),
            warnings: Vec::new(),
            opening: Opening::Connecting {
                hosts: config.venue.hosts.clone(),
            },
            link: link(config)?,
        })
    }
}

impl FxBankVenue {
    /// The bank's name in published quotes.
    pub fn bank_name(&self) -> &str {
        self.bank.as_deref().unwrap_or(&self.target)
    }
}

fn link(config: &Config<FxBankVenue>) -> Result<ClientLink<FxBankFeed>, ConfigError> {
    let venue = &config.venue;
    let times_ms = [venue.connect_ms, venue.reconnect_ms, venue.reconnect_ms_max];
    let link = link_of(&venue.hosts, venue.tls.as_deref(), times_ms)?;
    Ok(link.with_hours(hours(venue)?))
}

/// When the numbers of the session begin again.
fn reset(venue: &FxBankVenue) -> Result<Reset, ConfigError> {
    let of_schedule = venue.schedule.as_ref().map(|schedule| schedule.reset);
    Ok(match (of_schedule.unwrap_or_default(), hours(venue)?) {
        (BankReset::Run, _) => Reset::Run,
        (BankReset::Session, Some(hours)) => Reset::Session(hours),
        (BankReset::Session | BankReset::Logon, _) => Reset::Logon,
    })
}

/// Hours of the session; none: always open.
fn hours(venue: &FxBankVenue) -> Result<Option<Hours>, ConfigError> {
    let Some(schedule) = &venue.schedule else {
        return Ok(None);
    };
    schedule.hours().map_err(|(key, what)| ConfigError {
        file: "[venue.schedule]".into(),
        line: None,
        what: format!("{key}: {what}"),
        fix: "correct it".to_owned(),
    })
}

/// Settings of the feed.
fn settings(config: &Config<FxBankVenue>) -> Result<Settings, ConfigError> {
    let venue = &config.venue;
    has_room(config)?;
    Ok(Settings {
        session: session(venue),
        reset: reset(venue)?,
        bank: bank(venue)?,
        stream: stream(config)?,
        rolls: rolls(config)?,
        request: match venue.dialect {
            Dialect::W => Request::Snapshots,
            Dialect::WX | Dialect::MassQuotes => Request::Increments,
            Dialect::S => Request::Quotes,
        },
        depth: venue.depth,
        bands: venue.bands.clone(),
        levels_max: venue.levels_max,
        snapshot_ns: venue.snapshot_ms * 1_000_000,
        user: venue.user.clone(),
        password: password(venue)?,
        logon_fields: extra_fields(&venue.logon_fields),
        request_fields: extra_fields(&venue.request_fields),
        instruments_max: config.limits.instruments_max,
        message_bytes_max: venue.message_bytes_max,
    })
}

fn refused(what: String, fix: &str) -> ConfigError {
    ConfigError {
        file: "[venue]".into(),
        line: None,
        what,
        fix: fix.to_owned(),
    }
}

fn bank(venue: &FxBankVenue) -> Result<Code, ConfigError> {
    let name = venue.bank_name();
    let is_sound = is_name(name) && name.len() <= NAME_BYTES_MAX;
    let bank = Code::new(name.as_bytes()).filter(|_| is_sound);
    bank.ok_or_else(|| {
        let what = format!("the bank's name {name:?} is not 1 to {NAME_BYTES_MAX} {NAMES}");
        refused(what, "give a name by `bank`")
    })
}

fn has_room(config: &Config<FxBankVenue>) -> Result<(), ConfigError> {
    let pairs = config.venue.pairs.len();
    match pairs <= config.limits.instruments_max {
        true => Ok(()),
        false => Err(refused(
            format!("{pairs} pairs are more than instruments_max"),
            "raise instruments_max in [limits]",
        )),
    }
}

fn password(venue: &FxBankVenue) -> Result<Option<Secret>, ConfigError> {
    let source = venue.password.as_ref();
    source.map(|source| source.read()).transpose()
}

fn session(venue: &FxBankVenue) -> fix::Settings {
    let mut session = fix::Settings::new(Role::Initiator, &venue.sender, &venue.target);
    session.sender_sub.clone_from(&venue.sender_sub);
    session.target_sub.clone_from(&venue.target_sub);
    session.heartbeat_s = venue.heartbeat_s;
    // SendingTime is not checked: a bank's clock may be wrong.
    session.sending_time_s = 0;
    session.checks = Checks::Nothing;
    session.applications = session.applications.with(&APPLICATION);
    // A bank that has nothing to quote answers, and its quotes stay usable.
    session.limits.test_request_ns = timeout_ns(venue.silence_ms / 2);
    session.limits.message_bytes_max = venue.message_bytes_max;
    session.limits.output_bytes = 3 * venue.message_bytes_max;
    session.limits.logon_wait_ns = venue.connect_ms * 1_000_000;
    session
}

/// The bank's empty books.
fn stream(config: &Config<FxBankVenue>) -> Result<BankStream, ConfigError> {
    let venue = &config.venue;
    let pair = |pair: &BankPair| Pair {
        symbol: pair.symbol.clone(),
        precision: pair.precision,
        spot_date: pair.spot_date.clone(),
    };
    let rules = Rules {
        pairs: venue.pairs.iter().map(pair).collect(),
        is_full: venue.stream == Stream::Full,
        min_qty: venue.min_qty,
        stale_ms: venue.stale_ms,
        silence_ms: venue.silence_ms,
        ttl_ms: venue.ttl_ms,
        has_calendars: config.calendars.is_some(),
    };
    rules
        .stream(venue.bank_name())
        .map_err(|wrong| all_refused(&wrong))
}

fn all_refused(wrong: &Mistakes) -> ConfigError {
    let wrong = wrong.to_string();
    let wrong: Vec<&str> = wrong.lines().collect();
    refused(wrong.join("; "), "correct it")
}

/// Calendars of the pairs, by which each stated spot date is that of now.
fn rolls(config: &Config<FxBankVenue>) -> Result<Option<Rolls>, ConfigError> {
    let pairs = || {
        config.venue.pairs.iter().map(|pair| PairDates {
            symbol: &pair.symbol,
            spot_date: &pair.spot_date,
            spot_days: pair.spot_days,
        })
    };
    let read = |calendars: &CalendarsConfig| {
        let calendars = calendars.resolved(read_file)?;
        let rolls = Rolls::new(&calendars, Calendars::of(&calendars, read_file)?, pairs())?;
        rolls.check(pairs(), wall_ns())?;
        Ok(rolls)
    };
    let rolls = config.calendars.as_ref().map(read).transpose();
    rolls.map_err(|wrong: Mistakes| all_refused(&wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venues::VENUES;

    #[test]
    fn the_session_has_the_configured_sub_ids() {
        let text = FxBankVenue::EXAMPLES[0].replace(
            "[venue]",
            "[venue]\nsender_sub = \"D1\"\ntarget_sub = \"QUOTE\"",
        );
        let config = VENUES
            .from_text_as::<FxBankVenue>("g.toml", &text)
            .expect("a configuration");
        let session = session(&config.venue);
        assert_eq!(session.sender_sub.as_deref(), Some("D1"));
        assert_eq!(session.target_sub.as_deref(), Some("QUOTE"));
    }

    /// Hours are read, and each mistake names its key.
    #[test]
    fn the_session_has_the_configured_hours() {
        let of = |schedule: &str| {
            let text = format!("{}\n[venue.schedule]\n{schedule}", FxBankVenue::EXAMPLES[0]);
            let config = VENUES.from_text_as::<FxBankVenue>("g.toml", &text);
            let checked = config
                .map_err(|error| error.to_string())
                .and_then(|config| {
                    let checked = FxBankVenue::check(&config).map_err(|wrong| wrong[0].to_string());
                    checked.map(|_| hours(&config.venue).expect("it was checked").is_some())
                });
            checked.map_err(|error| error.replace('\n', " "))
        };
        let good =
            "zone = \"Europe/London\"\nstart = \"22:05\"\nend = \"22:00\"\ndays = [\"SUN\"]\n";
        assert_eq!(of(good), Ok(true));
        for (from, to, key) in [
            ("Europe/London", "London", "zone: "),
            ("22:05", "25:00", "start: "),
            ("SUN", "SO", "days: "),
            (
                "days = [\"SUN\"]",
                "days = \"week\"",
                "start_day and end_day",
            ),
            ("days", "closed = [\"2026\"]\ndays", "closed: "),
            ("days", "reset = \"never\"\ndays", "never"),
        ] {
            let error = of(&good.replace(from, to)).expect_err(to);
            assert!(error.contains(key), "{error}");
        }
    }
}
