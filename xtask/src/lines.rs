//! Counts the cache lines that one packet touches: of code and of data, by function.
//!
//! Valgrind's lackey writes each fetch and each access of `touchline bench event` to a pipe. A packet begins at the entry of the
//! measured function and ends where that function's return reads its return address. Each distinct line of a packet counts
//! once, for the function that touches it first: the lines that a packet waits for after a pause that has emptied the caches.

use crate::command::must;
use anyhow::{Context, Result, bail};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Bytes of a cache line.
const LINE: u64 = 64;
/// Packets of a round: the first round fills the tables, the second one is counted.
const PACKETS: &str = "400";
/// Symbol of the measured function.
const MEASURED: &str = "::on_the_bus";
/// Functions with fewer lines than this in a packet are one row.
const SHOWN_MIN: f64 = 0.5;

/// Runs the benchmark under lackey and prints the table. `arguments` are passed to `bench event`.
pub fn print(program: &Path, arguments: &[&str]) -> Result<()> {
    let entries = entries(program)?;
    let mut child = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"])
        .arg(program)
        .args([
            "bench",
            "event",
            "--json",
            "--rounds",
            "1",
            "--packets",
            PACKETS,
        ])
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("valgrind (Debian: apt-get install valgrind) traces the accesses")?;
    let pipe = child.stderr.take().context("lackey has no output")?;
    // Read once: the process may have ended before the end of its trace is read.
    let mut loaded = None;
    let touched = read(BufReader::with_capacity(1 << 20, pipe), |address| {
        let base = match loaded {
            Some(base) => base,
            None => *loaded.insert(base(&child, program)?),
        };
        Ok(entries
            .contains(&address.wrapping_sub(base))
            .then_some(base))
    });
    let status = child.wait()?;
    let touched = touched?;
    if !status.success() || touched.packets == 0 {
        bail!("the benchmark under lackey processed no packet: {status}");
    }
    let functions = functions(program, touched.addresses())?;
    print!("{}", table(&touched, &functions));
    Ok(())
}

/// Lines that packets touched, by the address of the instruction that touched each of them first.
#[derive(Debug, Default, PartialEq, Eq)]
struct TouchedLines {
    packets: u64,
    /// Executions of each instruction.
    instructions: BTreeMap<u64, u64>,
    code: BTreeMap<u64, u64>,
    data: BTreeMap<u64, u64>,
    /// Executed bytes of each line of code, in any packet.
    bytes: HashMap<u64, u64>,
}

/// A packet between receipt and publication.
#[derive(Debug, Default)]
struct Packet {
    /// Address of the measured function's return address.
    end: u64,
    base: u64,
    code: HashSet<u64>,
    data: HashSet<u64>,
}

impl TouchedLines {
    /// Addresses of all executed instructions.
    fn addresses(&self) -> impl Iterator<Item = u64> {
        self.instructions.keys().copied()
    }

    fn fetch(&mut self, packet: &mut Packet, address: u64, size: u64) {
        let at = address.wrapping_sub(packet.base);
        *self.instructions.entry(at).or_default() += 1;
        for line in lines(address, size) {
            if packet.code.insert(line) {
                *self.code.entry(at).or_default() += 1;
            }
        }
        for byte in at..at + size {
            *self.bytes.entry(byte / LINE).or_default() |= 1 << (byte % LINE);
        }
    }

    fn access(&mut self, packet: &mut Packet, instruction: u64, address: u64, size: u64) {
        let at = instruction.wrapping_sub(packet.base);
        for line in lines(address, size) {
            if packet.data.insert(line) {
                *self.data.entry(at).or_default() += 1;
            }
        }
    }
}

/// Lines of a range of bytes.
fn lines(address: u64, size: u64) -> impl Iterator<Item = u64> {
    address / LINE..=(address + size.max(1) - 1) / LINE
}

/// Reads lackey's trace. `entry` says whether an address is the entry of the measured function: if so, where the program is loaded.
fn read(
    mut trace: impl BufRead,
    mut entry: impl FnMut(u64) -> Result<Option<u64>>,
) -> Result<TouchedLines> {
    let mut touched = TouchedLines::default();
    let mut packet: Option<Packet> = None;
    let mut known: HashMap<u64, Option<u64>> = HashMap::new();
    let (mut text, mut instruction, mut stored) = (Vec::new(), 0, 0);
    while trace.read_until(b'\n', &mut text)? > 0 {
        if let Some((kind, address, size)) = parse(&text) {
            match (kind, &mut packet) {
                (b'I', Some(packet)) => {
                    touched.fetch(packet, address, size);
                    instruction = address;
                }
                // A call stores the return address right before the entry.
                (b'I', None) if stored != 0 => {
                    let base = match known.get(&address) {
                        Some(base) => *base,
                        None => *known.entry(address).or_insert(entry(address)?),
                    };
                    if let Some(base) = base {
                        let mut begun = Packet {
                            end: stored,
                            base,
                            ..Packet::default()
                        };
                        touched.fetch(&mut begun, address, size);
                        (packet, instruction) = (Some(begun), address);
                    }
                }
                (b'L', Some(begun)) if address == begun.end => {
                    touched.access(begun, instruction, address, size);
                    touched.packets += 1;
                    packet = None;
                }
                (b'L' | b'S' | b'M', Some(packet)) => {
                    touched.access(packet, instruction, address, size);
                }
                _ => {}
            }
            stored = if kind == b'S' { address } else { 0 };
        }
        text.clear();
    }
    Ok(touched)
}

/// Kind, address and size of a line of the trace: `I  04001000,3` or ` S 1ffefff8,8`.
fn parse(text: &[u8]) -> Option<(u8, u64, u64)> {
    let kind = match text {
        [b'I', b' ', ..] => b'I',
        [b' ', kind @ (b'L' | b'S' | b'M'), b' ', ..] => *kind,
        _ => return None,
    };
    let (address, size) = std::str::from_utf8(&text[2..])
        .ok()?
        .trim()
        .split_once(',')?;
    Some((
        kind,
        u64::from_str_radix(address, 16).ok()?,
        size.parse().ok()?,
    ))
}

/// Addresses of the measured functions in the program's file.
fn entries(program: &Path) -> Result<HashSet<u64>> {
    let symbols = must(Command::new("nm").arg("-C").arg(program))?;
    let entries: HashSet<u64> = symbols
        .lines()
        .filter(|line| line.ends_with(MEASURED))
        .filter_map(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok())
        .collect();
    match entries.is_empty() {
        true => bail!("{} has no function '{MEASURED}'", program.display()),
        false => Ok(entries),
    }
}

/// Address at which the process has loaded the program.
fn base(child: &Child, program: &Path) -> Result<u64> {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", child.id()))?;
    let path = program.canonicalize()?;
    let first = maps
        .lines()
        .find(|line| line.ends_with(&*path.to_string_lossy()));
    let begin = first.and_then(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
    begin.context("the traced process has not loaded the benchmark")
}

/// The function that each address was written in: for inlined code the innermost one of ours.
fn functions(
    program: &Path,
    addresses: impl Iterator<Item = u64>,
) -> Result<BTreeMap<u64, String>> {
    let mut reader = Command::new("addr2line")
        .args(["-afiC", "-e"])
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("addr2line (Debian: apt-get install binutils) names the functions")?;
    let mut input = reader.stdin.take().context("addr2line has no input")?;
    let addresses: Vec<u64> = addresses.collect();
    let writer = std::thread::spawn(move || {
        (addresses.iter()).try_for_each(|address| writeln!(input, "{address:#x}"))
    });
    let text = reader.wait_with_output()?;
    writer.join().expect("the writer does not panic")?;
    Ok(named(&String::from_utf8_lossy(&text.stdout)))
}

/// Reads addr2line's answer: an address, then pairs of function and place, the innermost first.
fn named(text: &str) -> BTreeMap<u64, String> {
    let mut functions = BTreeMap::new();
    let (mut address, mut name) = (0, "");
    for line in text.lines() {
        if let Some(at) = line.strip_prefix("0x") {
            address = u64::from_str_radix(at, 16).unwrap_or(0);
            name = "";
        } else if name.is_empty() {
            name = line;
        } else {
            if let Some((_, file)) = crate::instructions::own_file(line) {
                let file = file
                    .split(':')
                    .next()
                    .unwrap_or(file)
                    .replacen("/src/", "/", 1);
                let place = format!("{file} {}", short(name));
                functions.entry(address).or_insert(place);
            }
            name = "";
        }
    }
    functions
}

/// A function's own name, without path and type arguments.
fn short(name: &str) -> String {
    let mut depth = 0_usize;
    let outside = name.chars().filter(|letter| {
        match letter {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    let outside: String = outside.collect();
    outside.rsplit("::").next().unwrap_or(name).to_owned()
}

/// Mean lines and instructions of a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    code: f64,
    data: f64,
    instructions: f64,
}

/// The table: functions by their lines, the rest in one row, and the totals.
fn table(touched: &TouchedLines, functions: &BTreeMap<u64, String>) -> String {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut total = Row::default();
    let packets = touched.packets.max(1) as f64;
    let mut add = |counts: &BTreeMap<u64, u64>, field: fn(&mut Row) -> &mut f64| {
        for (address, count) in counts {
            let name = functions.get(address).map_or("libraries", String::as_str);
            let mean = *count as f64 / packets;
            *field(rows.entry(name).or_default()) += mean;
            *field(&mut total) += mean;
        }
    };
    add(&touched.code, |row| &mut row.code);
    add(&touched.data, |row| &mut row.data);
    add(&touched.instructions, |row| &mut row.instructions);
    let mut rows: Vec<(&str, Row)> = rows.into_iter().collect();
    rows.sort_by(|(_, one), (_, other)| {
        let lines = |row: &Row| row.code + row.data;
        lines(other).total_cmp(&lines(one))
    });
    let (shown, rest): (Vec<_>, Vec<_>) =
        (rows.into_iter()).partition(|(_, row)| row.code + row.data >= SHOWN_MIN);
    let sum = rest.iter().fold(Row::default(), |sum, (_, row)| Row {
        code: sum.code + row.code,
        data: sum.data + row.data,
        instructions: sum.instructions + row.instructions,
    });
    let others = format!("{} others", rest.len());
    let mut text = format!(
        "a packet on a bus, mean of {}; lines of {LINE} bytes, each for the function that touches it first\n\
         {:<58}{:>8}{:>8}{:>14}\n",
        touched.packets, "function", "code", "data", "instructions"
    );
    let last = [(others.as_str(), sum), ("total", total)];
    for (name, row) in shown.iter().chain(&last) {
        text += &format!(
            "{name:<58}{:>8.1}{:>8.1}{:>14.0}\n",
            row.code, row.data, row.instructions
        );
    }
    let executed: u64 = touched
        .bytes
        .values()
        .map(|bytes| u64::from(bytes.count_ones()))
        .sum();
    let mut by_use: Vec<u32> = touched
        .bytes
        .values()
        .map(|bytes| bytes.count_ones())
        .collect();
    by_use.sort_by_key(|bytes| Reverse(*bytes));
    let half = by_use
        .iter()
        .filter(|bytes| u64::from(**bytes) < LINE / 2)
        .count();
    text += &format!(
        "all packets: {} lines of code, of which {} % of the bytes are executed; {half} lines are executed to less than a half: \
         the other bytes belong to branches that no packet takes\n",
        by_use.len(),
        executed * 100 / (by_use.len().max(1) as u64 * LINE),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call of the measured function at 0x5010 (loaded at 0x5000) with the trace before the call and after the return.
    const TRACE: &str = "==7== Lackey\n\
        I  00004ff0,4\n L 00009000,8\n\
        I  00004ff4,5\n S 00008ff8,8\n\
        I  00005010,4\n S 00008ff0,8\n\
        I  0000503e,4\n L 00007000,8\n M 0000703f,2\n\
        I  00005010,4\n L 00007008,4\n\
        I  00005042,1\n L 00008ff8,8\n\
        I  00004ff9,3\n S 00009000,8\n\
        I  00005020,3\n S 00009000,8\n";

    /// Lines are counted once a packet, for the first toucher, and only between entry and return.
    #[test]
    fn a_packet_ends_where_its_return_address_is_read() {
        let mut asked = Vec::new();
        let touched = read(TRACE.as_bytes(), |address| {
            asked.push(address);
            Ok((address == 0x5010).then_some(0x5000))
        });
        let touched = touched.expect("a trace");
        assert_eq!(
            asked,
            [0x5010, 0x5020],
            "what follows a store, outside of a packet"
        );
        assert_eq!(touched.packets, 1);
        let counts = |counts: &BTreeMap<u64, u64>| counts.clone().into_iter().collect::<Vec<_>>();
        assert_eq!(
            counts(&touched.instructions),
            [(0x10, 2), (0x3e, 1), (0x42, 1)]
        );
        assert_eq!(
            counts(&touched.code),
            [(0x10, 1), (0x3e, 1)],
            "0x503e spans two lines"
        );
        // 0x8fc0 with the return address, 0x7000 and, by the access that spans two, 0x7040.
        assert_eq!(counts(&touched.data), [(0x10, 1), (0x3e, 2)]);
        assert_eq!(touched.bytes[&0], 0xF << 0x10 | 0x3 << 0x3e);
        let names = BTreeMap::from([(0x10, "feed/a.rs one".to_owned())]);
        let table = table(&touched, &names);
        let row = |name: &str| {
            let line = table
                .lines()
                .find(|line| line.starts_with(name))
                .expect(name);
            let numbers = line[name.len()..].split_whitespace();
            numbers.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("feed/a.rs one"), ["1.0", "1.0", "2"]);
        assert_eq!(row("libraries"), ["1.0", "2.0", "2"]);
        assert_eq!(row("total"), ["2.0", "3.0", "4"]);
    }

    #[test]
    fn inlined_code_is_of_our_innermost_function() {
        let text = "0x10\nmin<u64>\n/rustc/1/library/core/src/cmp.rs:9\n\
            apply<A, B<C>>\n/r/crates/book/src/price.rs:7 (discriminator 3)\n\
            <touchline_gateway::Pipeline<F>>::run\n/r/crates/gateway/src/pipeline.rs:?\n\
            0x20\nmemcpy\n??:0\n";
        let named = named(text);
        assert_eq!(
            named.into_iter().collect::<Vec<_>>(),
            [(0x10, "book/price.rs apply".to_owned())]
        );
        assert_eq!(short("<touchline_gateway::Pipeline<F>>::run"), "run");
        assert_eq!(
            short("touchline_gateway::Pipeline<F,P>::packet_at"),
            "packet_at"
        );
    }
}
