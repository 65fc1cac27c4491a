//! Blocks of a Markdown page to be run, checked or written.

/// One fenced block.
pub struct Block {
    /// Line of its first command, from 1.
    pub line: usize,
    /// Text between the fences.
    pub text: String,
    /// Treatment of the block.
    pub mode: Mode,
}

/// Treatment of a block.
#[derive(Debug, PartialEq, Eq)]
pub enum Mode {
    /// Run from top to bottom; each command must end with status 0.
    Run,
    /// Run; its status depends on the host.
    AnyStatus,
    /// Each line in a separate terminal, all at the same time, until Ctrl-C.
    Together,
    /// Only the options are checked.
    NotRun,
    /// Not commands: content of this file.
    File(String),
}

impl Block {
    /// Commands with their lines from 1: continued lines are joined, comments removed.
    pub fn commands(&self) -> Vec<(usize, String)> {
        let mut commands: Vec<(usize, String)> = Vec::new();
        let mut open = false;
        for (at, line) in self.text.lines().enumerate() {
            let line = line.split(" #").next().unwrap_or_default().trim();
            let (part, goes_on) = line
                .strip_suffix('\\')
                .map_or((line, false), |part| (part.trim(), true));
            match commands.last_mut() {
                Some((_, command)) if open => *command += &format!(" {part}"),
                _ if part.is_empty() || part.starts_with('#') => {}
                _ => commands.push((self.line + at, part.to_owned())),
            }
            open = goes_on;
        }
        commands
    }
}

/// The blocks of a page for these tests.
///
/// # Errors
/// An unknown comment, or a shell block with another name than `sh`.
pub fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut comments: Vec<&str> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let line = line.trim();
        if let Some(comment) = comment(line) {
            comments.push(comment);
            continue;
        }
        let above = std::mem::take(&mut comments);
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let inside = lines.by_ref().map(|(_, line)| line);
        let inside: Vec<&str> = inside
            .take_while(|line| !line.trim().starts_with("```"))
            .collect();
        if ["bash", "shell", "console", "zsh"].contains(&language) {
            return Err(format!(
                "line {}: call the block `sh`, so that it is run",
                at + 1
            ));
        }
        if let Some(mode) = mode(language, &above, at + 1)? {
            blocks.push(Block {
                line: at + 2,
                text: inside.join("\n") + "\n",
                mode,
            });
        }
    }
    Ok(blocks)
}

fn comment(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(inside.trim())
}

fn mode(language: &str, above: &[&str], line: usize) -> Result<Option<Mode>, String> {
    let is_shell = language == "sh";
    let mut mode = is_shell.then_some(Mode::Run);
    for comment in above {
        let chosen = match *comment {
            "run: together" if is_shell => Mode::Together,
            "run: any status" if is_shell => Mode::AnyStatus,
            _ => match comment.split_once(": ") {
                Some(("not run", reason)) if is_shell && !reason.is_empty() => Mode::NotRun,
                Some(("file", name)) if !is_shell => Mode::File(name.to_owned()),
                _ if ["run", "not run", "file"]
                    .iter()
                    .any(|word| comment.starts_with(word)) =>
                {
                    return Err(format!("line {line}: '{comment}' is not known here"));
                }
                _ => continue,
            },
        };
        mode = Some(chosen);
    }
    Ok(mode)
}

#[test]
fn blocks_have_the_mode_of_the_comment_above() {
    let page = "\
```sh
one
```
text
<!-- not run: takes minutes -->
<!-- test-command -->
```sh
two \\
  more    # why
# nothing
```
<!-- file: a.toml -->
```toml
bus = \"a\"
```
```json
{}
```
";
    let blocks = blocks(page).expect("blocks");
    let modes: Vec<&Mode> = blocks.iter().map(|block| &block.mode).collect();
    let file = Mode::File("a.toml".into());
    assert_eq!(modes, [&Mode::Run, &Mode::NotRun, &file]);
    assert_eq!(blocks[1].commands(), [(8, "two more".to_owned())]);
    assert_eq!(blocks[2].text, "bus = \"a\"\n");
}

#[test]
fn a_comment_that_is_not_known_and_another_shell_are_refused() {
    for page in [
        "<!-- run: sometimes -->\n```sh\n```\n",
        "<!-- not run -->\n```sh\n```\n",
        "<!-- file: a -->\n```sh\n```\n",
        "```bash\n```\n",
    ] {
        assert!(blocks(page).is_err(), "{page}");
    }
}
