//! `cargo xtask aeron-interop`: the stream of a relay, read by Aeron's Java client, and a relay on Aeron's Java driver.
//!
//! ```text
//! touchline demo ─► bus ─► touchline relay ══ Aeron over UDP ══► Listen.java ─► stream ─► Oracle.java: what theirs reads in it
//!                          our driver, then the Java one         a Java driver         └► example native_stream: what ours reads
//! ```
//!
//! The Java program verifies every batch and every sequence number, and writes the native messages down. The codecs that
//! the official SBE tool generates from the published schema and our decoder must read the same in them. With the Java
//! driver, a relay of ours that receives must come up as well. At the end two fields are swapped in the schema, and the
//! comparison must fail.
//!
//! Needs a JDK and Maven, and reports which is missing. All files are below the target folder.

use crate::changed;
use crate::command::{cargo, must};
use crate::java::{self, SHORT_RUN};
use crate::sbe_oracle;
use crate::target_folder;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use touchline_testing::free_address;

/// Client and driver in Maven Central. One jar contains both, and all that they use.
const AERON: &str = "io.aeron:aeron-all:1.51.0";
const AERON_JAR: &str = "aeron-all-1.51.0.jar";
/// Maven goal that copies it from Maven Central.
const MAVEN_COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";
/// Aeron needs these modules, which newer Java versions close.
const OPEN_MEMORY: [&str; 2] = ["--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"];

/// Compared paths.
pub const JUDGED: &[&str] = &[
    "crates/aeron",
    "crates/relay/src",
    "crates/types/src/native",
    "schemas/touchline.xml",
    "xtask/src/aeron_interop.rs",
    "xtask/src/aeron_interop",
];

/// Numbered messages of a part.
const MESSAGES: u64 = 5_000;
/// Longest time until a relay is up.
const START_MAX: Duration = Duration::from_secs(60);

/// Runs both parts. Without a JDK or Maven it prints that and returns.
///
/// # Errors
/// The first difference; a tool that fails.
pub fn run(root: &Path, options: &[&str]) -> Result<()> {
    let if_changed = match options {
        [] => false,
        [changed::OPTION] => true,
        _ => bail!("there is only the option {}", changed::OPTION),
    };
    if let Some(missing) = java::missing() {
        println!(
            "aeron-interop: skipped, there is no {missing} here; it needs a JDK (17 or later) and Maven"
        );
        return Ok(());
    }
    if if_changed && let Some(base) = changed::unchanged_since(root, JUDGED) {
        println!("aeron-interop: left out, no compared file changed since {base}");
        return Ok(());
    }
    let stage = Stage::prepare(root)?;
    let _demo = stage.demo()?;
    for is_java in [false, true] {
        let name = if is_java { "java" } else { "ours" };
        let stream = stage.part(name, is_java)?;
        let count = sbe_oracle::reads_the_same(root, &stream)?;
        let driver = if is_java {
            "a Java driver"
        } else {
            "our driver"
        };
        println!(
            "aeron-interop: over {driver}, the Java client and the official codecs read {count} messages as we do"
        );
    }
    Ok(())
}

struct Stage {
    folder: PathBuf,
    jar: PathBuf,
    /// Our command.
    program: PathBuf,
}

impl Stage {
    fn prepare(root: &Path) -> Result<Stage> {
        let folder = target_folder(root).join("aeron-interop");
        let _ = fs::remove_dir_all(folder.join("buses"));
        fs::create_dir_all(&folder)?;
        let jar = folder.join(AERON_JAR);
        if !jar.exists() {
            let mut maven = Command::new("mvn");
            maven
                .args(["-q", "-B", MAVEN_COPY])
                .arg(format!("-Dartifact={AERON}"))
                .arg(format!("-DoutputDirectory={}", folder.display()));
            must(&mut maven).with_context(|| format!("cannot get {AERON} from Maven Central"))?;
        }
        let mut compiler = java::compiler();
        compiler.args(["-nowarn", "-cp"]).arg(&jar);
        compiler.arg("-d").arg(folder.join("classes"));
        compiler.arg(root.join("xtask/src/aeron_interop/java/Listen.java"));
        must(&mut compiler)?;
        must(cargo(root).args(["build", "-q", "-p", "touchline", "--features", "aeron"]))?;
        Ok(Stage {
            jar,
            program: target_folder(root).join("debug/touchline"),
            folder,
        })
    }

    /// A gateway with changing books; returns when its bus is there.
    fn demo(&self) -> Result<Process> {
        let mut demo = self.ours();
        demo.args(["demo", "--seconds", "600", "--events-per-second", "2000"]);
        let demo = Process::start(demo.stdout(Stdio::null()))?;
        let bus = self.folder.join("buses/demo/counters");
        wait_for("the bus of touchline demo", || bus.exists())?;
        Ok(demo)
    }

    /// One run of the Java program; returns the stream that it wrote.
    fn part(&self, name: &str, is_java: bool) -> Result<PathBuf> {
        let stream = self.folder.join(format!("{name}-stream"));
        let driver = PathBuf::from(format!(
            "/dev/shm/touchline-interop-{}-{name}",
            std::process::id()
        ));
        let [channel, control] = [free_channel(), free_channel()];
        let mut listen = Listen::start(self, &driver, &channel, &stream)?;
        listen.expect("ready")?;

        let shared = match is_java {
            true => format!("driver = \"{}\"\n", driver.display()),
            false => String::new(),
        };
        let control = format!("control = \"{control}\"\n");
        let link =
            format!("[[send]]\nbus = \"demo\"\nto = \"{channel}\"\nsource = \"source\"\n{control}");
        let _send = self.relay(&format!("{name}-send"), &format!("{shared}{link}"))?;
        if is_java {
            let link = format!("[[receive]]\nfrom = \"{channel}\"\nbus = \"copy\"\n{control}");
            let receive = self.relay("java-receive", &format!("{shared}{link}"))?;
            let log = self.folder.join("java-receive-log");
            let is_up = || fs::read_to_string(&log).is_ok_and(|text| text.contains("relay_up"));
            wait_for("a relay that receives by the Java driver", is_up)?;
            drop(receive);
        }
        let done = listen.expect("done").with_context(|| {
            let log = fs::read_to_string(self.folder.join(format!("{name}-send-log")));
            format!("the log of the relay:\n{}", log.unwrap_or_default())
        })?;
        println!("aeron-interop: {name}: first, last, refreshes:{done}");
        let refreshes = done
            .split(' ')
            .next_back()
            .and_then(|last| last.parse().ok());
        ensure!(refreshes > Some(0_u64), "no refresh was received:{done}");
        Ok(stream)
    }

    /// A relay with this configuration; its log is the file NAME-log.
    fn relay(&self, name: &str, config: &str) -> Result<Process> {
        let file = self.folder.join(format!("{name}.toml"));
        fs::write(&file, config)?;
        let mut relay = self.ours();
        relay.args(["relay", "--config"]).arg(file);
        Process::start(relay.stderr(File::create(self.folder.join(format!("{name}-log")))?))
    }

    fn ours(&self) -> Command {
        let mut command = Command::new(&self.program);
        let buses = self.folder.join("buses");
        command.env("TOUCHLINE_DIR", buses).stdin(Stdio::null());
        command
    }
}

/// A channel of this host with a free port.
fn free_channel() -> String {
    format!("aeron:udp?endpoint={}", free_address())
}

/// A process; it is interrupted, and then killed, with this value.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> Result<Process> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn();
        child
            .map(Process)
            .with_context(|| format!("cannot run {program}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let pid = self.0.id().to_string();
        let _ = Command::new("kill").args(["-s", "INT", &pid]).status();
        let _ = wait_for("its end", || !matches!(self.0.try_wait(), Ok(None)));
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The Java program, with its driver.
struct Listen {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    driver: PathBuf,
}

impl Listen {
    fn start(stage: &Stage, driver: &Path, channel: &str, stream: &Path) -> Result<Listen> {
        let class_path = [stage.jar.as_path(), &stage.folder.join("classes")];
        let mut child = Command::new("java")
            .args(SHORT_RUN)
            .args(OPEN_MEMORY)
            .arg("-cp")
            .arg(std::env::join_paths(class_path)?)
            .arg("Listen")
            .arg(driver)
            .args([channel, "340", &MESSAGES.to_string()])
            .arg(stream)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run java")?;
        let lines = BufReader::new(child.stdout.take().context("no standard output")?).lines();
        Ok(Listen {
            child,
            lines,
            driver: driver.to_owned(),
        })
    }

    /// The rest of the next line, which starts with this word.
    fn expect(&mut self, word: &str) -> Result<String> {
        let line = self.lines.next().transpose()?.unwrap_or_default();
        let rest = line.strip_prefix(word);
        rest.map(str::to_owned)
            .with_context(|| format!("the Java program printed {line:?} instead of {word:?}"))
    }
}

impl Drop for Listen {
    fn drop(&mut self) {
        // The process ends with its input, and removes the folder of its driver.
        drop(self.child.stdin.take());
        let _ = wait_for("its end", || !matches!(self.child.try_wait(), Ok(None)));
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.driver);
    }
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !holds() {
        ensure!(
            start.elapsed() < START_MAX,
            "{what} is not there after {} s",
            START_MAX.as_secs()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
