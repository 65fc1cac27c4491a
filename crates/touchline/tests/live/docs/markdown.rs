//! Blocks of a Markdown page to be run, checked or written.

/// One fenced block.
pub struct Block {
    /// Line of its first command, from 1.
    pub line: usize,
    /// Text between the fences.
    pub text: String,
    /// Treatment of the block.
    pub mode: Mode,
    /// Journal that the test writes before the block.
    pub journal: Option<Journal>,
}

/// A journal that the commands of a block need.
#[derive(Debug, PartialEq, Eq)]
pub struct Journal {
    /// Its directory.
    pub name: String,
    /// Whether one of its records is damaged.
    pub is_damaged: bool,
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
    /// A command of which only the arguments are checked.
    pub fn not_run(line: usize, text: String) -> Block {
        Block {
            line,
            text,
            mode: Mode::NotRun,
            journal: None,
        }
    }

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
/// An unknown comment, or commands in a block that is not called `sh`.
pub fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    for fence in fences(text) {
        let Fence { line, language, .. } = fence;
        let is_shell = ["bash", "shell", "console", "zsh"].contains(&language);
        let is_command = |line: &&str| COMMANDS.iter().any(|start| line.starts_with(start));
        if is_shell || language != "sh" && fence.inside.iter().any(is_command) {
            return Err(format!(
                "line {line}: call the block `sh`, so that it is run"
            ));
        }
        if let Some(mode) = mode(language, &fence.comments, line)? {
            blocks.push(Block {
                line: line + 1,
                text: fence.text(),
                mode,
                journal: fence.comments.iter().find_map(|comment| journal(comment)),
            });
        }
    }
    Ok(blocks)
}

/// The page in whose folder the blocks of this page run.
pub fn continued(text: &str) -> Option<&str> {
    let mut comments = text.lines().filter_map(|line| comment(line.trim()));
    comments.find_map(|comment| comment.strip_prefix("continues: "))
}

/// TOML blocks of a page, with their lines from 1.
pub fn toml(text: &str) -> impl Iterator<Item = (usize, String)> {
    let blocks = fences(text).into_iter();
    let blocks = blocks.filter(|fence| fence.language == "toml");
    blocks.map(|fence| (fence.line, fence.text()))
}

/// Starts of lines that are commands of ours.
const COMMANDS: [&str; 2] = ["touchline ", "cargo run "];

/// A fenced block as written.
struct Fence<'a> {
    /// Line of its first fence, from 1.
    line: usize,
    language: &'a str,
    /// Comments directly above.
    comments: Vec<&'a str>,
    inside: Vec<&'a str>,
}

impl Fence<'_> {
    fn text(&self) -> String {
        self.inside.join("\n") + "\n"
    }
}

fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut comments: Vec<&str> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let line = line.trim();
        if let Some(comment) = comment(line) {
            comments.push(comment);
            continue;
        }
        let comments = std::mem::take(&mut comments);
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let inside = lines.by_ref().map(|(_, line)| line);
        let inside = inside.take_while(|line| !line.trim().starts_with("```"));
        fences.push(Fence {
            line: at + 1,
            language,
            comments,
            inside: inside.collect(),
        });
    }
    fences
}

/// Code in the text of a page, outside of fenced blocks, with the line of its paragraph or table row from 1.
pub fn spans(text: &str) -> Vec<(usize, String)> {
    let (mut paragraphs, mut is_inside) = (vec![(1, String::new())], false);
    for (line, text) in (1..).zip(text.lines()) {
        let is_fence = text.trim().starts_with("```");
        is_inside ^= is_fence;
        let is_new = is_fence || text.trim().is_empty() || text.starts_with(['|', '-', '#']);
        if is_new {
            paragraphs.push((line, String::new()));
        }
        if let (false, false, Some((_, paragraph))) = (is_fence, is_inside, paragraphs.last_mut()) {
            *paragraph += &format!("{} ", text.trim());
        }
    }
    let mut spans = Vec::new();
    for (line, paragraph) in &paragraphs {
        let code = paragraph.split('`').skip(1).step_by(2);
        spans.extend(code.map(|code| (*line, code.to_owned())));
    }
    spans
}

fn comment(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(inside.trim())
}

fn journal(comment: &str) -> Option<Journal> {
    let (kind, name) = comment.split_once(": ")?;
    let is_damaged = match kind {
        "journal" => false,
        "damaged journal" => true,
        _ => return None,
    };
    Some(Journal {
        name: name.to_owned(),
        is_damaged,
    })
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
<!-- damaged journal: orders -->
```sh
three
```
";
    let blocks = blocks(page).expect("blocks");
    let modes: Vec<&Mode> = blocks.iter().map(|block| &block.mode).collect();
    let file = Mode::File("a.toml".into());
    assert_eq!(modes, [&Mode::Run, &Mode::NotRun, &file, &Mode::Run]);
    assert_eq!(blocks[1].commands(), [(8, "two more".to_owned())]);
    assert_eq!(blocks[2].text, "bus = \"a\"\n");
    let damaged = Journal {
        name: "orders".into(),
        is_damaged: true,
    };
    assert_eq!(
        (&blocks[2].journal, &blocks[3].journal),
        (&None, &Some(damaged))
    );
}

#[test]
fn a_comment_that_is_not_known_and_commands_outside_of_sh_are_refused() {
    for page in [
        "<!-- run: sometimes -->\n```sh\n```\n",
        "<!-- not run -->\n```sh\n```\n",
        "<!-- file: a -->\n```sh\n```\n",
        "```bash\n```\n",
        "```text\n$ x\ntouchline top\n```\n",
        "```\ncargo run --release -- top\n```\n",
    ] {
        assert!(blocks(page).is_err(), "{page}");
    }
}

#[test]
fn spans_are_the_code_of_the_text() {
    let page = "`a b`\nand `c\nd`\n```sh\n`e`\n```\n| `f` | g |\n| h | `i` |\n";
    let expected = [(1, "a b"), (1, "c d"), (7, "f"), (8, "i")];
    assert_eq!(
        spans(page),
        expected.map(|(line, code)| (line, code.to_owned()))
    );
}
