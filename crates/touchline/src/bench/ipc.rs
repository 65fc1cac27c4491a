//! Parts shared by the benchmarks between processes: processors, peers, competitors.

use super::run::{Common, failure};
use crate::output::Failure;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;
use touchline_lab::bench::ipc::rival::Rival;
use touchline_lab::bench::ipc::{Failed, Part, Peer, Role, play};

/// Processors of the processes, and competitors to measure.
#[derive(Debug, clap::Args)]
pub struct Field {
    /// Processors: of the measuring or writing side, and of the other side.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = cpus)]
    pub cpus: (usize, usize),
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Competitors to measure in the same run: `all`, or names. Build them with
    /// competitors/install.
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    pub against: Vec<String>,
    /// Folder of the competitors' programs.
    #[arg(long, value_name = "DIR", default_value = "competitors/target/bin")]
    pub rivals: PathBuf,
    #[command(flatten)]
    pub common: Common,
}

impl Field {
    /// The requested competitors.
    pub fn find_rivals(&self) -> Result<Vec<Rival>, Failure> {
        if self.against.is_empty() {
            return Ok(Vec::new());
        }
        Rival::find(&self.rivals, &self.against).map_err(|Failed(why)| Failure::usage(why))
    }

    /// The arguments that every competitor takes.
    pub fn rival_arguments(&self, payload_bytes: usize, warmup: u64, messages: u64) -> Vec<String> {
        let (measuring, other) = self.cpus;
        let pairs = [
            ("--payload", payload_bytes.to_string()),
            ("--messages", messages.to_string()),
            ("--warmup", warmup.to_string()),
            ("--cpus", format!("{measuring},{other}")),
        ];
        pairs
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value])
            .collect()
    }
}

/// Placements of the two processors, by the lower bound of a round in nanoseconds: 20 to 40 were seen between the threads of
/// a core, 60 to 260 within a cache complex, 350 to 500 between two.
const PLACEMENTS: [(&str, Range<u64>); 3] = [
    ("one-core", 0..50),
    ("same-l3", 50..300),
    ("other-l3", 300..u64::MAX),
];

/// Rounds whose figures belong together.
pub struct Group {
    /// Added to the names of the subjects.
    pub suffix: String,
    /// Numbers of the rounds, from 0.
    pub rounds: Vec<usize>,
}

impl Group {
    /// All rounds and, if the host moved the virtual processors between them, those of each placement, by the lower
    /// bound of each round.
    pub fn all(floors_ns: &[u64]) -> Vec<Group> {
        let group = |suffix, is_in: &dyn Fn(u64) -> bool| Group {
            suffix,
            rounds: (0..floors_ns.len())
                .filter(|round| is_in(floors_ns[*round]))
                .collect(),
        };
        let mut groups = vec![group(String::new(), &|_| true)];
        let placed = PLACEMENTS
            .iter()
            .map(|(name, floors)| group(format!("@{name}"), &|floor| floors.contains(&floor)))
            .filter(|group| !group.rounds.is_empty());
        let placed: Vec<_> = placed.collect();
        if placed.len() > 1 {
            groups.extend(placed);
        }
        groups
    }
}

/// The other process's arguments.
#[derive(Debug, clap::Args)]
pub struct PeerArguments {
    #[arg(long, value_parser = part)]
    part: Part,
    #[arg(long)]
    folder: PathBuf,
    #[arg(long)]
    cpu: usize,
    #[arg(long)]
    payload: usize,
    #[arg(long)]
    warmup: u64,
    #[arg(long)]
    messages: u64,
    #[arg(long)]
    gather: u32,
    #[arg(long)]
    shares_cpu: bool,
}

/// Runs the other process's role.
pub fn peer(arguments: &PeerArguments) -> Result<(), Failure> {
    let role = Role {
        part: arguments.part,
        folder: arguments.folder.clone(),
        cpu: arguments.cpu,
        payload_bytes: arguments.payload,
        warmup: arguments.warmup,
        messages: arguments.messages,
        gather: arguments.gather,
        shares_cpu: arguments.shares_cpu,
    };
    play(&role).map_err(failure)
}

/// Starts this program again, in that role.
pub fn start(role: &Role) -> Result<Peer, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::run(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(["bench", "ipc-peer", "--part", role.part.name()]);
    command.arg("--folder").arg(&role.folder);
    let numbers = [
        ("--cpu", role.cpu as u64),
        ("--payload", role.payload_bytes as u64),
        ("--warmup", role.warmup),
        ("--messages", role.messages),
        ("--gather", u64::from(role.gather)),
    ];
    for (name, value) in numbers {
        command.arg(name).arg(value.to_string());
    }
    if role.shares_cpu {
        command.arg("--shares-cpu");
    }
    Peer::start(command).map_err(failure)
}

/// Two different processors.
pub fn cpus(text: &str) -> Result<(usize, usize), String> {
    let pair = text
        .split_once(',')
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match pair {
        Some((a, b)) if a != b => Ok((a, b)),
        _ => Err("give two different processors, such as 0,1".to_owned()),
    }
}

fn part(name: &str) -> Result<Part, String> {
    let found = Part::ALL.iter().find(|(part, _)| *part == name);
    found
        .map(|(_, part)| *part)
        .ok_or_else(|| "no such part".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_grouped_by_placement_if_the_host_moved_the_processors() {
        let groups = |floors: &[u64]| -> Vec<_> {
            let groups = Group::all(floors).into_iter();
            groups.map(|group| (group.suffix, group.rounds)).collect()
        };
        assert_eq!(groups(&[90, 250]), [(String::new(), vec![0, 1])]);
        let expected = [
            ("", vec![0, 1, 2]),
            ("@one-core", vec![1]),
            ("@other-l3", vec![0, 2]),
        ];
        let expected = expected.map(|(suffix, rounds)| (suffix.to_owned(), rounds));
        assert_eq!(groups(&[400, 30, 300]), expected);
    }
}
