//! `cargo xtask sbe-oracle`: our native messages against code that the official SBE tool generates from our schema.
//!
//! ```text
//! example native_stream ──► stream, what our decoder reads in it
//!   schemas/touchline.xml ──► SbeTool ──► javac ──► Oracle.java: what theirs reads in it, and the messages again
//! ```
//!
//! Both readings must be the same, line by line, and the messages written again must be the same, byte by byte. This is
//! repeated with a newer schema, as reader and as writer, and with the previous version of the schema as reader, which
//! must read all fields that it knows. At the end two fields are swapped in the schema, and the comparison must fail.
//!
//! Needs a JDK and Maven, and reports which is missing. All files are below the target folder.

mod variants;

use crate::changed;
use crate::codegen::read;
use crate::command::{cargo, must};
use crate::java::{self, SHORT_RUN};
use crate::target_folder;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The official tool in Maven Central. One jar contains it and the run-time part of its code.
const TOOL: &str = "uk.co.real-logic:sbe-all:1.38.1";
const TOOL_JAR: &str = "sbe-all-1.38.1.jar";

/// Maven goal that copies it from Maven Central.
const MAVEN_COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";

/// The tool and its code need these modules, which newer Java versions close.
const OPEN_MEMORY: [&str; 2] = ["--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED"];

/// Compared paths.
pub const JUDGED: &[&str] = &[
    "schemas/touchline.xml",
    "crates/types/src/native",
    "crates/types/examples",
    "xtask/src/sbe_oracle.rs",
    "xtask/src/sbe_oracle",
    "xtask/src/codegen",
];

/// Options: seed and number of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    seed: u64,
    messages: u64,
    if_changed: bool,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An unknown option, or one without its number.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options {
            seed: 1,
            messages: 4_000,
            if_changed: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let place = match *argument {
                "--seed" => &mut options.seed,
                "--messages" => &mut options.messages,
                changed::OPTION => {
                    options.if_changed = true;
                    continue;
                }
                other => bail!(
                    "there is no option {other}; there are --seed N, --messages N and --if-changed"
                ),
            };
            let number = arguments.next().and_then(|number| number.parse().ok());
            *place = number.with_context(|| format!("{argument} needs a number"))?;
        }
        Ok(options)
    }
}

/// Runs the comparison. Without a JDK or Maven it prints that and returns.
///
/// # Errors
/// The first message that is read or written differently; a tool that fails.
pub fn run(root: &Path, options: Options) -> Result<()> {
    if let Some(missing) = java::missing() {
        println!(
            "sbe-oracle: skipped, there is no {missing} here; it needs a JDK (17 or later) and Maven"
        );
        return Ok(());
    }
    if options.if_changed
        && let Some(base) = changed::unchanged_since(root, JUDGED)
    {
        println!("sbe-oracle: left out, no compared file changed since {base}");
        return Ok(());
    }
    let oracle = Oracle::prepare(root)?;
    let ours = oracle.our_stream(options)?;
    let count = ours.dump.lines().count();

    let official = oracle.codecs("official", &oracle.schema)?;
    let theirs = oracle.read(&official, &ours.path)?;
    same("the official codecs", &ours.dump, &theirs.dump)?;
    ensure!(
        fs::read(&ours.path)? == fs::read(&theirs.path)?,
        "the official codecs write other bytes: compare {} with {}",
        ours.path.display(),
        theirs.path.display()
    );
    println!("sbe-oracle: the official codecs read and write {count} messages identically");

    let newer = oracle.codecs("newer", &variants::newer(&oracle.schema))?;
    let theirs = oracle.read(&newer, &ours.path)?;
    let read = variants::without_additions(&theirs.dump);
    same("a newer reader", &ours.dump, &read)?;
    let read = oracle.our_reading(&theirs.path)?;
    same("we, of a newer writer,", &ours.dump, &read)?;
    println!(
        "sbe-oracle: a newer reader reads our messages, and our reader those of a newer writer"
    );

    let older = fs::read_to_string(root.join(variants::OLDER))?;
    let theirs = oracle.read(&oracle.codecs("older", &older)?, &ours.path)?;
    variants::read_by_older(&ours.dump, &theirs.dump)?;
    println!(
        "sbe-oracle: a reader of the previous version reads our messages, and skips unknown fields"
    );

    let swapped = oracle.codecs("swapped", &variants::swapped(&oracle.schema))?;
    let theirs = oracle.read(&swapped, &ours.path)?;
    ensure!(
        same("", &ours.dump, &theirs.dump).is_err(),
        "two fields were swapped in the schema and the comparison did not detect it"
    );
    println!("sbe-oracle: two swapped fields are detected");
    Ok(())
}

/// Holds the official codecs' reading of a stream against ours; returns the number of its messages. A schema with two
/// swapped fields must read it differently.
///
/// # Errors
/// The first message that is read differently; a tool that fails.
pub fn reads_the_same(root: &Path, stream: &Path) -> Result<usize> {
    let oracle = Oracle::prepare(root)?;
    let ours = oracle.our_reading(stream)?;
    let official = oracle.codecs("relay", &oracle.schema)?;
    same(
        "the official codecs",
        &ours,
        &oracle.read(&official, stream)?.dump,
    )?;
    let swapped = oracle.codecs("relay-swapped", &variants::swapped(&oracle.schema))?;
    ensure!(
        same("", &ours, &oracle.read(&swapped, stream)?.dump).is_err(),
        "two fields were swapped in the schema and the comparison did not detect it"
    );
    Ok(ours.lines().count())
}

/// Working folder, schema and messages.
struct Oracle {
    root: PathBuf,
    folder: PathBuf,
    jar: PathBuf,
    /// Text of the schema.
    schema: String,
    /// Names of the schema's messages.
    messages: Vec<String>,
}

/// Builds our program with the whole workspace selected, like the tests, so that they share the build.
fn build_ours(root: &Path) -> Result<()> {
    let mut cargo = cargo(root);
    must(cargo.args(["build", "-q", "--workspace", "--example", "native_stream"]))?;
    Ok(())
}

/// A file with a stream of messages, and a reading of it.
struct Reading {
    path: PathBuf,
    dump: String,
}

impl Oracle {
    fn prepare(root: &Path) -> Result<Oracle> {
        let folder = target_folder(root).join("sbe-oracle");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let path = root.join("schemas/touchline.xml");
        let schema = read::from_file(&path).with_context(|| format!("in {}", path.display()))?;
        let oracle = Oracle {
            root: root.to_owned(),
            jar: folder.join(TOOL_JAR),
            folder,
            schema: fs::read_to_string(&path)?,
            messages: schema
                .messages
                .into_iter()
                .map(|message| message.name)
                .collect(),
        };
        build_ours(root)?;
        if !oracle.jar.exists() {
            let mut maven = Command::new("mvn");
            maven
                .args(["-q", "-B", MAVEN_COPY])
                .arg(format!("-Dartifact={TOOL}"))
                .arg(format!("-DoutputDirectory={}", oracle.folder.display()));
            must(&mut maven).with_context(|| format!("cannot get {TOOL} from Maven Central"))?;
        }
        Ok(oracle)
    }

    /// Random messages, and our reading of them.
    fn our_stream(&self, options: Options) -> Result<Reading> {
        let (path, dump) = (self.folder.join("stream"), self.folder.join("dump"));
        let (seed, messages) = (options.seed.to_string(), options.messages.to_string());
        println!("sbe-oracle: seed {seed}");
        let command = &mut self.our_program();
        must(
            command
                .args(["write", &seed, &messages])
                .args([&path, &dump]),
        )?;
        let dump = fs::read_to_string(dump)?;
        ensure_every_message(&self.messages, &dump)?;
        Ok(Reading { path, dump })
    }

    fn our_reading(&self, stream: &Path) -> Result<String> {
        let dump = self.folder.join("dump-of-newer");
        must(self.our_program().arg("dump").args([stream, &dump]))?;
        Ok(fs::read_to_string(dump)?)
    }

    fn our_program(&self) -> Command {
        Command::new(target_folder(&self.root).join("debug/examples/native_stream"))
    }

    /// Generates and compiles the codecs of a schema and the program that uses them; returns the folder of the classes.
    fn codecs(&self, name: &str, schema: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let (sources, classes) = (folder.join("sources"), folder.join("classes"));
        fs::create_dir_all(&classes)?;
        let path = folder.join("schema.xml");
        fs::write(&path, schema)?;
        let mut tool = Command::new("java");
        tool.args(SHORT_RUN)
            .args(OPEN_MEMORY)
            .arg(format!("-Dsbe.output.dir={}", sources.display()))
            .args([
                "-Dsbe.target.language=Java",
                "-Dsbe.validation.stop.on.error=true",
            ])
            .arg("-Dsbe.validation.warnings.fatal=true")
            .arg("-jar")
            .args([&self.jar, &path]);
        must(&mut tool).context("the official tool refuses the schema")?;

        let mut compiler = java::compiler();
        compiler.args(["-nowarn", "-cp"]).arg(&self.jar);
        compiler.arg("-d").arg(&classes);
        compiler.arg(self.root.join("schemas/java/Oracle.java"));
        for entry in fs::read_dir(sources.join("touchline/sbe"))? {
            compiler.arg(entry?.path());
        }
        must(&mut compiler)?;
        Ok(classes)
    }

    /// The codecs' reading of a stream, and the stream as they write it again.
    fn read(&self, classes: &Path, stream: &Path) -> Result<Reading> {
        let (dump, path) = (
            classes.with_file_name("dump"),
            classes.with_file_name("again"),
        );
        let class_path = std::env::join_paths([self.jar.as_path(), classes])?;
        let mut java = Command::new("java");
        java.args(SHORT_RUN)
            .args(OPEN_MEMORY)
            .arg("-cp")
            .arg(class_path)
            .arg("Oracle");
        let known = |name: &&String| {
            let decoder = classes.join(format!("touchline/sbe/{name}Decoder.class"));
            decoder.exists()
        };
        java.args([stream, &dump, &path])
            .args(self.messages.iter().filter(known));
        must(&mut java)?;
        Ok(Reading {
            path,
            dump: fs::read_to_string(dump)?,
        })
    }
}

/// Every template must occur, otherwise the comparison does not cover it.
fn ensure_every_message(messages: &[String], dump: &str) -> Result<()> {
    for message in messages {
        let seen = dump
            .lines()
            .any(|line| line.split(' ').next() == Some(message));
        ensure!(
            seen,
            "no {message} among the random messages; ask for more of them"
        );
    }
    Ok(())
}

/// Reports the first message that is read differently.
fn same(reader: &str, ours: &str, theirs: &str) -> Result<()> {
    let pairs = ours.lines().zip(theirs.lines());
    for (number, (our, their)) in pairs.enumerate() {
        ensure!(
            our == their,
            "message {} is read differently by {reader}\n   we: {our}\n they: {their}",
            number + 1
        );
    }
    let (our, their) = (ours.lines().count(), theirs.lines().count());
    ensure!(our == their, "we read {our} messages, {reader} {their}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named() {
        assert!(same("x", "A 1\nB 2\n", "A 1\nB 2\n").is_ok());
        let error = same("x", "A 1\nB 2\n", "A 1\nB 3\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("message 2") && error.contains("B 3"),
            "{error}"
        );
        let error = same("x", "A 1\nB 2\n", "A 1\n").unwrap_err().to_string();
        assert!(error.contains("2 messages"), "{error}");
    }

    #[test]
    fn a_template_that_never_occurs_is_named() {
        let messages = ["Gap".to_owned(), "Reset".to_owned()];
        assert!(ensure_every_message(&messages, "Gap 1\nReset 2\n").is_ok());
        let error = ensure_every_message(&messages, "Gap Reset\n").unwrap_err();
        assert!(error.to_string().contains("no Reset"), "{error}");
    }

    #[test]
    fn options_are_numbers() {
        let options = Options::parse(&["--seed", "7", "--messages", "9"]).unwrap();
        assert_eq!((options.seed, options.messages), (7, 9));
        assert!(Options::parse(&["--seed"]).is_err());
        assert!(Options::parse(&["--seeds", "7"]).is_err());
    }
}
