//! `touchline completions`: what a shell reads.

use super::Desk;
use std::process::Command;

#[test]
fn each_shell_gets_completions_of_every_command() {
    let desk = Desk::bare("completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let printed = desk.run(&format!("completions {shell}"));
        assert_eq!(
            (printed.status, printed.stderr.as_str()),
            (0, ""),
            "{shell}"
        );
        for word in ["gateway", "until-eof", "completions"] {
            assert!(printed.stdout.contains(word), "{shell}: {word}");
        }
        desk.write(shell, printed.stdout);
    }
    let bash = Command::new("bash")
        .arg("-n")
        .arg(desk.path("bash"))
        .status();
    assert!(bash.expect("bash").success());
    desk.run("completions tcsh").refused(2, &["tcsh", "bash"]);
}
