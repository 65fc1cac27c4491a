//! Numbers of users and groups, in the user namespace of this process.

/// Number that the kernel shows for users and groups that a user namespace does not map.
const UNMAPPED: u32 = 65_534;
/// A user who owns nothing.
pub const NO_USER: u32 = u32::MAX;
/// Users of this process's user namespace.
pub const USERS: &str = "/proc/self/uid_map";
/// Its groups.
pub const GROUPS: &str = "/proc/self/gid_map";

/// User of this process, as its files show it. All users that its user namespace does not map have one number, which
/// identifies none of them.
pub fn this_user() -> u32 {
    let user = rustix::process::geteuid().as_raw();
    match is_unmapped(user, USERS) {
        true => NO_USER,
        false => user,
    }
}

/// Whether a number stands for every user or group that this process's user namespace does not map.
pub fn is_unmapped(number: u32, map: &str) -> bool {
    let is_mapped = || {
        let map = std::fs::read_to_string(map);
        map.is_ok_and(|map| map.lines().any(|line| is_in_range(line, number)))
    };
    number == UNMAPPED && !is_mapped()
}

/// Whether a number is in a range of a map: first number here, first number outside, how many.
fn is_in_range(line: &str, number: u32) -> bool {
    let numbers: Vec<u64> = line
        .split_whitespace()
        .map_while(|it| it.parse().ok())
        .collect();
    let number = u64::from(number);
    matches!(numbers[..], [first, _, count] if (first..first + count).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_mapped_by_a_range_that_has_its_number() {
        let cases = [
            ("         0          0 4294967295", true),
            ("0 100000 65536", true),
            ("0 100000 65534", false),
            ("65534 1 1", true),
            ("65535 65534 1", false),
            ("0 65534 1", false),
            ("", false),
            ("a map", false),
        ];
        for (line, has) in cases {
            assert_eq!(is_in_range(line, UNMAPPED), has, "{line}");
        }
    }
}
