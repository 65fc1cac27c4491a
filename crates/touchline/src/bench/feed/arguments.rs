//! Arguments of `bench feed`, and its help.

use super::super::market::MarketName;
use super::super::run::Common;
use super::case::Case;
use super::reception::Reception;
use std::path::PathBuf;
use std::time::Duration;

/// An exchange's packets through sockets, a gateway and its bus to a consumer.
///
/// Three processes: a sender of the incremental feed of a generated CME market to multicast groups, a live gateway on
/// all eight groups of the channel, and a consumer of the bus. Three parts: packets with pauses, packets without, and a
/// search for the highest rate without loss. With --table, sockets and frames (AF_XDP) alternating, as vendors publish it.
/// Over virtual cards there is no consumer: sender and gateway have a processor each.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The tables that vendors publish: application and network level, with pauses and without, for sockets and frames
    /// (AF_XDP), over virtual cards and without a consumer. Needs root and `ip`.
    #[arg(long, conflicts_with_all = ["pause_us", "rate", "search", "seconds", "receive", "interface"])]
    pub table: bool,
    /// Cross a pair of virtual cards between two network namespaces, and receive in this way, without a consumer; times are
    /// from the sender's clock. Needs root and `ip`.
    #[arg(long, value_enum, conflicts_with = "interface")]
    pub receive: Option<Reception>,
    /// Draw the tables of --table into this SVG file: latency over the share of packets that are slower.
    #[arg(long, value_name = "FILE", requires = "table")]
    pub picture: Option<PathBuf>,
    /// The gateway keeps the data of the last instruments in the caches.
    #[arg(long, conflicts_with = "table")]
    pub keep_warm: bool,
    /// The generated market.
    #[arg(long, value_enum, default_value = "mixed")]
    pub market: MarketName,
    /// Packets of a single case, or with pauses of each row of --table; without it and --pause-us, both cases and the
    /// search for the rate.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub packets: Option<u64>,
    /// Packets of the case without pauses, and of each row of --table without them.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub stream_packets: u64,
    /// Rounds of --table, which alternate between the rows.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..), requires = "table")]
    pub rounds: u64,
    /// Pause between two packets of a single case, microseconds; 0 is as fast as the kernel accepts
    /// them.
    #[arg(long, value_name = "US")]
    pub pause_us: Option<u64>,
    /// Packets a second of a single case.
    #[arg(long, value_name = "N", conflicts_with = "pause_us", value_parser = clap::value_parser!(u64).range(1..))]
    pub rate: Option<u64>,
    /// Only search for the highest rate.
    #[arg(long, conflicts_with_all = ["packets", "pause_us", "rate"])]
    pub search: bool,
    /// Duration of each rate in the search, seconds.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub seconds: f64,
    /// Processors: of the sender, the gateway and the consumer.
    #[arg(long, value_name = "A,B,C", value_parser = three)]
    pub cpus: Option<[usize; 3]>,
    /// Name or address of the interface.
    #[arg(long, value_name = "NAME", default_value = "lo")]
    pub interface: String,
    /// Maximum number of packets that one system call of the gateway receives; 1 is recvmsg, more
    /// is recvmmsg.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub batch: u16,
    /// Receive buffer of each socket, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 8 * 1024 * 1024)]
    pub receive_buffer_bytes: usize,
    /// Seed of the market.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub common: Common,
}

impl Arguments {
    /// The requested single case.
    pub fn one_case(&self) -> Option<Case> {
        let every = match (self.rate, self.pause_us) {
            (Some(rate), _) => Duration::from_secs(1).div_f64(rate as f64),
            (None, Some(pause_us)) => Duration::from_micros(pause_us),
            (None, None) => Duration::ZERO,
        };
        let is_asked = self.packets.is_some() || self.rate.is_some() || self.pause_us.is_some();
        let paused = every >= Duration::from_millis(1);
        let usual = match paused {
            true => PAUSED.0,
            false => self.stream_packets,
        };
        is_asked.then(|| self.case(self.packets.unwrap_or(usual), every))
    }

    /// A case with a consumer, unless packets cross virtual cards.
    pub fn case(&self, packets: u64, every: Duration) -> Case {
        Case {
            packets,
            every,
            consumed: !self.crosses(),
            reception: self.receive.unwrap_or(Reception::Sockets),
            keep_warm: self.keep_warm,
        }
    }

    /// Whether packets cross virtual cards.
    pub fn crosses(&self) -> bool {
        self.table || self.receive.is_some()
    }

    /// Whether a case has a consumer.
    pub fn has_consumer(&self) -> bool {
        !self.crosses() && !self.search
    }
}

const AFTER_HELP: &str = "\
Examples:
  touchline bench feed
  touchline bench feed --packets 20000 --pause-us 5000 --cpus 2,3,4
  touchline bench feed --search --seconds 0.5
  touchline bench feed --table --market channel-360 --picture feed.svg
  touchline bench feed --packets 500000 --rate 100000 --batch 8 --json

Causes of the application level, from a packet polled to its updates published:
  floor         median of the first update of a packet, ns; one packet in seven is measured
  slope         ns for each update before it in its packet: the medians of the times behind the packet's first update (least squares)
  in run queue  ns that the thread was ready and waited for its processor, in the whole run and a second: a slow tail with much of it is
                the host's; time that a hypervisor takes is in DISTURBED

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments";

/// Packets of the case with pauses, and the time between them.
pub const PAUSED: (u64, Duration) = (20_000, Duration::from_millis(5));

fn three(text: &str) -> Result<[usize; 3], String> {
    let cpus: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
    let cpus = cpus.ok().and_then(|cpus| <[usize; 3]>::try_from(cpus).ok());
    match cpus {
        Some(cpus) if cpus[0] != cpus[1] && cpus[1] != cpus[2] => Ok(cpus),
        _ => {
            Err("give three processors, such as 1,0,2; the gateway's may not be shared".to_owned())
        }
    }
}
