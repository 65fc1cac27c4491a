//! `touchline top`: instruments, readers and latency of a bus on a screen.

pub mod draw;
mod keys;
pub mod model;
mod printed;

use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use crate::paint::Paint;
use crate::place::{Place, bus_name};
use draw::{Around, draw};
use keys::{Keys, Wish};
use model::{List, Model, recorders};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use touchline_client::monitor::Monitor;

/// Watch a bus on a screen: instruments with prices as traders quote them, the ladder of one of them, the state of
/// publisher and readers; of a trading engine whether it trades, its sessions, orders, rejects and journal; of a recorder its tape, its disk
/// and its losses.
///
/// top reads the bus like any other reader; the publisher never waits for it. When the publisher ends, top reports it
/// and continues with the next one. Readers are shown if they registered a name, as `tail --name` does.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; default: the first one that has a publisher.
    #[arg(value_name = "BUS", value_parser = bus_name)]
    bus: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Interval of the screen.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 500,
        value_parser = clap::value_parser!(u64).range(INTERVAL_MS_MIN..=INTERVAL_MS_MAX)
    )]
    interval_ms: u64,
    /// Select this instrument: its symbol, its id or a part of its symbol.
    #[arg(long, value_name = "SYMBOL")]
    symbol: Option<String>,
    /// Stop after N frames.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// Print one frame as text, with rates over one interval; needs no terminal.
    #[arg(long)]
    once: bool,
    /// Size of the frame of --once.
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "160x50", value_parser = size, requires = "once")]
    size: (u16, u16),
    /// No colours; the environment variable NO_COLOR does the same.
    #[arg(long)]
    no_color: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline top
  touchline top cme-340 --symbol ESU4
  touchline top cme-340 --once --size 120x40
  touchline top fx-run
  touchline top record-cme-340

Keys:
  q quit; up and down choose an instrument; / filter by typing; s sort, S reverse;
  Enter publisher and readers; Tab next bus; p pause; r count totals from now on;
  + and - longer or shorter interval; ? all keys.

What to look at:
  state      live: right; recovering, gapped: being repaired; stale: as the publisher
             left it. Do not trade on a book that is not live.
  readers    red: far behind, or losing messages; yellow: has lost some
  lost       packets lost on both lines; their books recover from snapshots

Exit status:
  0  left by q, Ctrl-C or SIGTERM, or --frames were drawn
  1  with --once: the bus does not exist or cannot be read
  2  bad arguments, or no terminal and no --once";

const INTERVAL_MS_MIN: u64 = 50;
const INTERVAL_MS_MAX: u64 = 60_000;

/// Interval of checks for a signal.
const NAP: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let monitor = arguments.place.monitor();
    if arguments.once {
        return once(arguments, &monitor);
    }
    if !std::io::stdout().is_terminal() {
        return Err(Failure::usage(
            "standard output is not a terminal; use --once, or `stat BUS --watch`",
        ));
    }
    let interrupt = Interrupt::catch()?;
    Screen::new(arguments, monitor).show(|| Ok(!interrupt.is_asked()))
}

/// Shows one bus below the lines of `intro` until a user quits or `goes_on` returns false; `goes_on` is called many
/// times a second.
#[cfg(feature = "lab")]
pub fn watch(
    monitor: &Monitor,
    bus: &str,
    introduction: String,
    goes_on: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let mut screen = Screen::empty(monitor.clone());
    screen.around.introduction = Some(introduction);
    screen.open(bus);
    screen.show(goes_on)
}

/// Restores the terminal when dropped.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// State of the screen: samples, and settings of the user.
struct Screen {
    monitor: Monitor,
    model: Option<Model>,
    symbol: Option<String>,
    buses: Vec<String>,
    keys: Keys,
    interval: Duration,
    looked: Option<Instant>,
    around: Around,
    frames_left: u64,
    goes_on: bool,
}

impl Screen {
    fn empty(monitor: Monitor) -> Screen {
        Screen {
            monitor,
            model: None,
            symbol: None,
            buses: Vec::new(),
            keys: Keys::default(),
            interval: Duration::from_millis(500),
            looked: None,
            around: Around {
                no_colour: Paint::is_forbidden(),
                ..Around::default()
            },
            frames_left: u64::MAX,
            goes_on: true,
        }
    }

    fn new(arguments: &Arguments, monitor: Monitor) -> Screen {
        let mut screen = Screen {
            symbol: arguments.symbol.clone(),
            interval: Duration::from_millis(arguments.interval_ms),
            frames_left: arguments.frames.unwrap_or(u64::MAX),
            ..Screen::empty(monitor)
        };
        screen.around.no_colour |= arguments.no_color;
        if let Some(bus) = &arguments.bus {
            screen.open(bus);
        }
        screen
    }

    /// Uses the terminal until the end.
    fn show(&mut self, mut goes_on: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
        let terminal = ratatui::try_init();
        // Also on an error below; a panic restores the terminal before its message is printed.
        let _restored = Restored;
        let mut terminal = terminal.map_err(terminal_failed)?;
        while self.goes_on && goes_on()? {
            self.turn(&mut terminal)?;
        }
        Ok(())
    }

    /// Samples if due, draws, and handles keys until the next turn.
    fn turn(&mut self, terminal: &mut DefaultTerminal) -> Result<(), Failure> {
        let is_due = self
            .looked
            .is_none_or(|looked| looked.elapsed() >= self.interval);
        if is_due && !self.around.is_paused {
            self.look();
            self.frames_left -= 1;
        } else if let Some(model) = &mut self.model {
            model.read();
        }
        self.arrange();
        terminal
            .draw(|frame| self.draw(frame))
            .map_err(terminal_failed)?;
        self.goes_on &= self.frames_left > 0;
        let left = self
            .looked
            .map_or(NAP, |looked| self.interval.saturating_sub(looked.elapsed()));
        if event::poll(left.min(NAP)).map_err(terminal_failed)? {
            self.follow(&event::read().map_err(terminal_failed)?);
        }
        Ok(())
    }

    fn look(&mut self) {
        self.looked = Some(Instant::now());
        self.buses = listed(&self.monitor).unwrap_or_default();
        if self.model.is_none()
            && let Some(bus) = first_bus(&self.monitor, &self.buses)
        {
            self.open(&bus);
        }
        if let Some(model) = &mut self.model {
            model.look();
        }
    }

    fn open(&mut self, bus: &str) {
        let mut model = Model::of(&self.monitor, bus);
        if let Some(symbol) = &self.symbol {
            model.choose(symbol);
        }
        self.model = Some(model);
        self.looked = None;
    }

    fn arrange(&mut self) {
        let bus = self
            .model
            .as_ref()
            .map_or("", |model| model.picture().bus.as_str());
        let place = self.buses.iter().position(|other| other == bus);
        self.around.place = (place.map_or(0, |place| place + 1), self.buses.len());
        self.around.interval_ms = self.interval.as_millis() as u64;
        self.around.typing = self.keys.typing().map(str::to_owned);
    }

    fn draw(&self, frame: &mut ratatui::Frame<'_>) {
        match &self.model {
            Some(model) => draw(frame, model.picture(), &self.around),
            None => {
                let text = format!(" {}; waiting for one, q leaves", no_bus(&self.monitor));
                frame.render_widget(text, frame.area());
            }
        }
    }

    fn follow(&mut self, event: &Event) {
        // A resize is drawn in the next turn.
        let Event::Key(key) = event else { return };
        self.around.introduction = None;
        match self.keys.wish(*key) {
            None => {}
            Some(Wish::Back) if self.around.help => self.around.help = false,
            Some(Wish::Back) if self.is_filtered() => self.ask_model(Wish::Filter(String::new())),
            Some(Wish::Quit | Wish::Back) => self.goes_on = false,
            Some(Wish::Help) => self.around.help = !self.around.help,
            Some(Wish::Totals) => self.around.totals = !self.around.totals,
            Some(Wish::Pause) => self.around.is_paused = !self.around.is_paused,
            Some(Wish::Page) => self.around.page = self.around.page.other(),
            Some(Wish::Interval(by)) => self.change_interval(by),
            Some(Wish::Bus(by)) => self.turn_to(by),
            Some(wish) => self.ask_model(wish),
        }
    }

    fn is_filtered(&self) -> bool {
        let model = self.model.as_ref();
        model.is_some_and(|model| !model.picture().list.filter.is_empty())
    }

    fn ask_model(&mut self, wish: Wish) {
        let Some(model) = &mut self.model else { return };
        match wish {
            Wish::Instrument(by) => model.change_list(|list| list.step(by)),
            Wish::Filter(text) => model.change_list(|list| list.filter(&text)),
            Wish::Sort => model.change_list(List::sort_next),
            Wish::Reverse => model.change_list(List::reverse),
            Wish::Reset => model.reset(),
            _ => {}
        }
    }

    fn change_interval(&mut self, by: i32) {
        let now = self.interval.as_millis() as u64;
        let then = if by > 0 { now * 2 } else { now / 2 };
        self.interval = Duration::from_millis(then.clamp(INTERVAL_MS_MIN, INTERVAL_MS_MAX));
    }

    fn turn_to(&mut self, by: isize) {
        if self.buses.is_empty() {
            return;
        }
        let bus = self.model.as_ref().map(|model| model.picture().bus.clone());
        let place = self
            .buses
            .iter()
            .position(|other| Some(other) == bus.as_ref());
        let place = place.map_or(0, |place| {
            (place as isize + by).rem_euclid(self.buses.len() as isize) as usize
        });
        let next = self.buses[place].clone();
        self.around.is_paused = false;
        self.open(&next);
    }
}

/// Buses of market data, then trading engines, then recorders.
fn listed(monitor: &Monitor) -> Result<Vec<String>, touchline_client::Error> {
    let mut buses = monitor.buses()?;
    buses.extend(monitor.engines()?);
    buses.extend(recorders(monitor));
    Ok(buses)
}

/// The first bus that has a publisher, else the first.
fn first_bus(monitor: &Monitor, buses: &[String]) -> Option<String> {
    let is_alive = |bus: &&String| matches!(monitor.publisher(bus), Ok(Some(_)));
    buses.iter().find(is_alive).or(buses.first()).cloned()
}

fn no_bus(monitor: &Monitor) -> String {
    format!("no bus in {}", monitor.path().display())
}

fn terminal_failed(error: std::io::Error) -> Failure {
    Failure::run(format!("the terminal cannot be used ({error}); use --once"))
}

/// Takes two samples and prints one frame as text.
fn once(arguments: &Arguments, monitor: &Monitor) -> Result<(), Failure> {
    let buses = listed(monitor).map_err(Failure::run)?;
    let bus = arguments.bus.clone().or_else(|| first_bus(monitor, &buses));
    let bus = bus.ok_or_else(|| {
        Failure::run(format!(
            "{}; `touchline replay --publish` publishes one",
            no_bus(monitor)
        ))
    })?;
    let mut model = Model::of(monitor, &bus);
    if let Some(symbol) = &arguments.symbol {
        model.choose(symbol);
    }
    model.look();
    std::thread::sleep(Duration::from_millis(arguments.interval_ms));
    model.look();
    if let Some(last_error) = &model.picture().last_error {
        return Err(Failure::run(last_error));
    }
    let around = Around {
        no_colour: Paint::is_forbidden() || arguments.no_color,
        ..Around::default()
    };
    let is_styled = Paint::for_stdout().is_on();
    let draws = |frame: &mut ratatui::Frame<'_>| draw(frame, model.picture(), &around);
    say(&printed::text(arguments.size, is_styled, draws))
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let size = text.split_once('x').and_then(|(columns, rows)| {
        let (columns, rows) = (columns.parse().ok()?, rows.parse().ok()?);
        let has_room = (1..=1_000).contains(&columns) && (1..=1_000).contains(&rows);
        has_room.then_some((columns, rows))
    });
    size.ok_or_else(|| "give columns and rows, such as 120x40".to_owned())
}
