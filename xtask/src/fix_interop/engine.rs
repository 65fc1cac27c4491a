//! The other side: QuickFIX/J, driven by our Java program.

use super::ours::Ours;
use crate::command::must;
use crate::java::{self, SHORT_RUN};
use crate::target_folder;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The engine and its messages, as named in Maven Central.
const ENGINE: &str = "2.3.1";
const ENGINE_JAR: &str = "quickfixj-core-2.3.1.jar";

/// Maven goal that copies it and its dependencies from Maven Central.
const MAVEN_COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

/// Folder and class path.
pub struct Engine {
    folder: PathBuf,
    class_path: String,
}

/// End of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// The part asked to be killed, and was.
    Killed,
    Disagrees,
}

/// A part of the program after its run.
pub struct Ended {
    pub how: Ending,
    /// Its output.
    pub said: String,
}

impl Engine {
    /// The engine's jars, and our compiled program.
    pub fn prepare(root: &Path) -> Result<Engine> {
        let folder = target_folder(root).join("fix-interop");
        let (jars, classes) = (folder.join("jars"), folder.join("classes"));
        fs::create_dir_all(&classes)
            .with_context(|| format!("cannot make {}", classes.display()))?;
        if !jars.join(ENGINE_JAR).exists() {
            let project = folder.join("pom.xml");
            fs::write(&project, project_file())?;
            let mut maven = Command::new("mvn");
            maven
                .args(["-q", "-B", MAVEN_COPY, "-f"])
                .arg(&project)
                .arg(format!("-DoutputDirectory={}", jars.display()));
            must(&mut maven)
                .with_context(|| format!("cannot get QuickFIX/J {ENGINE} from Maven Central"))?;
        }
        let class_path = format!("{}/*:{}", jars.display(), classes.display());
        let mut compiler = java::compiler();
        compiler.args(["-nowarn", "-cp", &class_path, "-d"]);
        compiler.arg(&classes);
        for entry in fs::read_dir(root.join("xtask/src/fix_interop/java"))? {
            compiler.arg(entry?.path());
        }
        must(&mut compiler)?;
        Ok(Engine { folder, class_path })
    }

    /// A folder for the store and the log of one session.
    pub fn empty_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name.replace(' ', "-"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A program of ours with the engine, to be started.
    pub fn java(&self, class: &str) -> Command {
        let mut java = Command::new("java");
        java.args(SHORT_RUN).args(["-cp", &self.class_path, class]);
        java
    }

    /// Runs a part against our side, follows its requests, and repeats its output behind `prefix`, unless that is
    /// empty.
    pub fn run(
        &self,
        ours: &mut Ours,
        seed: u64,
        folder: &Path,
        part: &str,
        prefix: &str,
    ) -> Result<Ended> {
        let mut child = self
            .java("Interop")
            .arg(ours.role().of_other())
            .args([ours.port().to_string(), seed.to_string()])
            .arg(folder)
            .arg(part)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("errors"))?)
            .spawn()
            .context("cannot run java")?;
        let lines = BufReader::new(child.stdout.take().context("no standard output")?);
        let (mut said, mut is_killed) = (String::new(), false);
        for line in lines.split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            match line.strip_prefix("> ") {
                Some("stop") => ours.stop(),
                Some("kill") => ours.kill_and_start_again()?,
                Some("kill me") => {
                    child.kill()?;
                    is_killed = true;
                }
                Some(other) => bail!("unknown request of the Java program: {other}"),
                None => {
                    said.push_str(&line);
                    said.push('\n');
                }
            }
        }
        let status = child.wait()?;
        let how = match (is_killed, status.code()) {
            (true, None) => Ending::Killed,
            (false, Some(0)) => Ending::Done,
            _ => Ending::Disagrees,
        };
        if how == Ending::Disagrees {
            said.push_str(&fs::read_to_string(folder.join("errors"))?);
        } else if !prefix.is_empty() {
            for line in said.lines() {
                println!("{prefix}{line}");
            }
        }
        Ok(Ended { how, said })
    }
}

/// A Maven project that depends on the engine only.
fn project_file() -> String {
    let dependency = |name: &str| {
        format!(
            "<dependency><groupId>org.quickfixj</groupId><artifactId>{name}</artifactId>\
             <version>{ENGINE}</version></dependency>"
        )
    };
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>touchline</groupId><artifactId>fix-interop</artifactId><version>1</version>\
         <dependencies>{}{}</dependencies></project>\n",
        dependency("quickfixj-core"),
        dependency("quickfixj-messages-fix44")
    )
}
