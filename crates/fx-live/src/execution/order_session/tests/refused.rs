//! Settings and files of a Logon that are refused.

use super::*;

/// Settings that a session's section must not have.
#[test]
fn wrong_logons_are_refused_with_the_reason() {
    for (more, said) in [
        ("user = \"\"", "user: give printable characters"),
        ("user = \"a\\u0001b\"", "`user` has a control character"),
        ("logon_fields = [\"9001\"]", "is not a field"),
        (
            "logon_fields = [\"554=x\"]",
            "tag 554 is set by the session",
        ),
        (
            "logon_fields = [\"141=Y\"]",
            "tag 141 is set by the session",
        ),
        (
            "user = \"a\"\nlogon_fields = [\"553=b\"]",
            "tag 553 is given twice",
        ),
        (
            "logon_fields = [\"9001=a\", \"9001=b\"]",
            "tag 9001 is given twice",
        ),
        (
            "reset = \"daily\"",
            "must be \"never\", \"run\", \"start\", \"session\" or \"logon\"",
        ),
        ("password = \"sentinel\"", "password"),
    ] {
        let error = Config::parse(&format!("{}{more}\n", text()))
            .expect_err(more)
            .to_string();
        assert!(error.contains(said), "{more}: {error}");
        assert!(!error.contains("sentinel"), "{error}");
    }
}

/// The file of a password is private, as that of every secret is.
#[test]
fn a_password_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = touchline_testing::Folder::new("password");
    let file = folder.join("password");
    std::fs::write(&file, "sentinel\n").expect("a file");
    let mut config = Config::parse(&format!("{}password_file = \"password\"\n", text()))
        .expect("a configuration");
    config.starts_at(&folder);
    for (mode, is_good) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("its mode");
        match config.access() {
            Ok(access) => {
                assert!(is_good, "{mode:o}");
                assert_eq!(access[0].password, Some(Secret::from("sentinel")));
            }
            Err(error) => {
                let error = error.to_string();
                assert!(
                    !is_good && error.starts_with("sessions: A: password_file: "),
                    "{error}"
                );
                assert!(
                    error.contains("others may read it") && !error.contains("sentinel"),
                    "{error}"
                );
            }
        }
    }
}
