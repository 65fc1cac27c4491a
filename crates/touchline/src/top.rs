//! `touchline top`: buses at work, on a screen that renews itself.

pub mod draw;
mod keys;
pub mod model;

use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use crate::place::Place;
use draw::{Around, draw};
use keys::{Keys, Wish};
use model::Model;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event};
use ratatui::{DefaultTerminal, Terminal};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use touchline_gateway::config::bus_name;
use touchline_transport::shm::{Overview, Root};

/// Watch a bus: rates, lines and gaps, how far books may be trusted, latencies stage by stage, a
/// ladder, and readers by name.
///
/// Everything is read from shared memory: neither the publisher nor a reader can be disturbed by it.
/// When the publisher ends it says so, and goes on when another begins. Readers are seen that gave a
/// name, as `tail --name` does.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Name of the bus; without it, the first one that somebody publishes.
    #[arg(value_name = "BUS", value_parser = bus_name)]
    bus: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Time between two looks.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 500,
        value_parser = clap::value_parser!(u64).range(INTERVAL_MS_MIN..=INTERVAL_MS_MAX)
    )]
    interval_ms: u64,
    /// Whose book is drawn: its symbol, its id or a part of its symbol.
    #[arg(long, value_name = "SYMBOL")]
    symbol: Option<String>,
    /// End after so many frames.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// Print one frame as text, of two looks that are an interval apart; needs no terminal.
    #[arg(long)]
    once: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline top
  touchline top cme-340 --symbol ESU4
  touchline top cme-340 --once

Keys:
  q quit; Tab the next bus; up, down and / another instrument; p pause;
  r totals begin now; + and - look less or more often; ? all of them.

What to look at:
  readers    red: far behind, or losing messages; yellow: has lost some
  books      live: right; recovering, gapped: being mended; stale: as left
  lines      lost: on both lines; books emptied: until their next snapshot

Exit status:
  0  left by q, Ctrl-C or SIGTERM, or --frames were drawn
  1  with --once: the bus does not exist or cannot be read
  2  bad arguments, or no terminal and no --once";

const INTERVAL_MS_MIN: u64 = 50;
const INTERVAL_MS_MAX: u64 = 60_000;

/// How soon a signal is followed.
const NAP: Duration = Duration::from_millis(50);

/// Size of a frame that is printed: as high as it needs, up to this.
const PRINTED: (u16, u16) = (160, 50);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let root = arguments.place.root();
    if arguments.once {
        return once(arguments, &root);
    }
    if !std::io::stdout().is_terminal() {
        return Err(Failure::usage(
            "top draws on a terminal, and standard output is none; use --once, or `stat BUS --watch`",
        ));
    }
    let interrupt = Interrupt::catch()?;
    Screen::new(arguments, root).show(|| Ok(!interrupt.is_asked()))
}

/// Shows one bus until a person leaves or `goes_on` says that it is over; that is asked many times a
/// second.
pub fn watch(
    root: &Root,
    bus: &str,
    goes_on: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let mut screen = Screen::empty(root.clone());
    screen.open(bus);
    screen.show(goes_on)
}

/// The terminal is as it was when this goes.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// What is looked at, and what a person has asked of it.
struct Screen {
    root: Root,
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
    fn empty(root: Root) -> Screen {
        Screen {
            root,
            model: None,
            symbol: None,
            buses: Vec::new(),
            keys: Keys::default(),
            interval: Duration::from_millis(500),
            looked: None,
            around: Around::default(),
            frames_left: u64::MAX,
            goes_on: true,
        }
    }

    fn new(arguments: &Arguments, root: Root) -> Screen {
        let mut screen = Screen {
            symbol: arguments.symbol.clone(),
            interval: Duration::from_millis(arguments.interval_ms),
            frames_left: arguments.frames.unwrap_or(u64::MAX),
            ..Screen::empty(root)
        };
        if let Some(bus) = &arguments.bus {
            screen.open(bus);
        }
        screen
    }

    /// Takes the terminal until it is over.
    fn show(&mut self, mut goes_on: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
        let terminal = ratatui::try_init();
        // Also where what follows fails; a panic restores it before it is said.
        let _restored = Restored;
        let mut terminal = terminal.map_err(terminal_failed)?;
        while self.goes_on && goes_on()? {
            self.turn(&mut terminal)?;
        }
        Ok(())
    }

    /// Looks if it is time, draws, and follows keys until it is time again.
    fn turn(&mut self, terminal: &mut DefaultTerminal) -> Result<(), Failure> {
        let is_due = self
            .looked
            .is_none_or(|looked| looked.elapsed() >= self.interval);
        if is_due && !self.around.is_paused {
            self.look();
            self.frames_left -= 1;
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
        self.buses = self.root.buses().unwrap_or_default();
        if self.model.is_none()
            && let Some(bus) = first_bus(&self.root, &self.buses)
        {
            self.open(&bus);
        }
        if let Some(model) = &mut self.model {
            model.look();
        }
    }

    fn open(&mut self, bus: &str) {
        let mut model = Model::of(&self.root, bus);
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
                let text = format!(" {}; waiting for one, q leaves", no_bus(&self.root));
                frame.render_widget(text, frame.area());
            }
        }
    }

    fn follow(&mut self, event: &Event) {
        // A new size, and whatever else there is, is drawn in the next turn.
        let Event::Key(key) = event else { return };
        self.around.note = None;
        match self.keys.wish(*key) {
            None => {}
            Some(Wish::Quit) if self.around.help => self.around.help = false,
            Some(Wish::Quit) => self.goes_on = false,
            Some(Wish::Help) => self.around.help = !self.around.help,
            Some(Wish::Totals) => self.around.totals = !self.around.totals,
            Some(Wish::Pause) => self.around.is_paused = !self.around.is_paused,
            Some(Wish::Interval(by)) => self.change_interval(by),
            Some(Wish::Bus(by)) => self.turn_to(by),
            Some(wish) => self.ask_model(wish),
        }
    }

    fn ask_model(&mut self, wish: Wish) {
        let Some(model) = &mut self.model else { return };
        match wish {
            Wish::Instrument(by) => model.step(by),
            Wish::Reset => model.reset(),
            Wish::Find(wanted) if !model.choose(&wanted) => {
                self.around.note =
                    Some(format!("no instrument of the bus is called like {wanted}"));
            }
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

/// The first one that somebody publishes, else the first.
fn first_bus(root: &Root, buses: &[String]) -> Option<String> {
    let is_alive = |bus: &&String| matches!(Overview::publisher_of(root, bus), Ok(Some(_)));
    buses.iter().find(is_alive).or(buses.first()).cloned()
}

fn no_bus(root: &Root) -> String {
    format!("no bus in {}", root.path().display())
}

fn terminal_failed(error: std::io::Error) -> Failure {
    Failure::run(format!("the terminal cannot be used ({error}); use --once"))
}

/// Two looks, and one frame as text.
fn once(arguments: &Arguments, root: &Root) -> Result<(), Failure> {
    let buses = root.buses().map_err(Failure::run)?;
    let bus = arguments.bus.clone().or_else(|| first_bus(root, &buses));
    let bus = bus.ok_or_else(|| {
        Failure::run(format!(
            "{}; `touchline replay --publish` begins one",
            no_bus(root)
        ))
    })?;
    let mut model = Model::of(root, &bus);
    if let Some(symbol) = &arguments.symbol {
        model.choose(symbol);
    }
    model.look();
    std::thread::sleep(Duration::from_millis(arguments.interval_ms));
    model.look();
    if let Some(last_error) = &model.picture().last_error {
        return Err(Failure::run(last_error));
    }
    say(&printed(&model))
}

/// A frame as text, without what is empty at its right and its end.
fn printed(model: &Model) -> String {
    let (width, height) = PRINTED;
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let around = Around::default();
    let Ok(_) = terminal.draw(|frame| draw(frame, model.picture(), &around));
    let buffer = terminal.backend().buffer();
    let cells = buffer.content().chunks(usize::from(width));
    let lines = cells.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    // The last line is of keys.
    let lines: Vec<_> = lines.take(usize::from(height) - 1).collect();
    let text = lines
        .iter()
        .map(|line| line.trim_end())
        .collect::<Vec<_>>()
        .join("\n");
    format!("{}\n", text.trim_end())
}
