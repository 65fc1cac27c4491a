//! Resolution of an interface setting.

use super::Error;
use super::kernel::{Interface, interfaces};
use std::net::Ipv4Addr;

/// Address that selects the interface for the kernel; 0.0.0.0 leaves it to the routes.
///
/// `wanted` is a name or one of the interface's addresses.
pub(super) fn address_of(wanted: Option<&str>) -> Result<Ipv4Addr, Error> {
    let Some(wanted) = wanted else {
        return Ok(Ipv4Addr::UNSPECIFIED);
    };
    choose(wanted, &interfaces().unwrap_or_default())
}

/// Kernel's index of the interface; `None` if it does not exist, or if routes decide.
pub(super) fn index_of(wanted: Option<&str>) -> Option<u32> {
    named(wanted).map(|(_, index)| index)
}

/// Name and index of the interface; `None` as above.
pub(crate) fn named(wanted: Option<&str>) -> Option<(String, u32)> {
    let there = interfaces().unwrap_or_default();
    find(wanted?, &there).map(|found| (found.name.clone(), found.index))
}

/// Names and addresses of all interfaces, for an error.
pub(super) fn all() -> String {
    list(&interfaces().unwrap_or_default())
}

fn choose(wanted: &str, there: &[Interface]) -> Result<Ipv4Addr, Error> {
    let Some(found) = find(wanted, there) else {
        return Err(Error::NoInterface {
            wanted: wanted.chars().take(64).collect(),
            there: list(there),
        });
    };
    let name = found.name.clone();
    match found {
        Interface { up: false, .. } => Err(Error::InterfaceDown { name }),
        Interface {
            multicast: false, ..
        } => Err(Error::NoMulticast { name }),
        Interface { address, .. } => Ok(*address),
    }
}

fn find<'a>(wanted: &str, there: &'a [Interface]) -> Option<&'a Interface> {
    let address: Option<Ipv4Addr> = wanted.parse().ok();
    let mut all = there.iter();
    all.find(|one| one.name == wanted || Some(one.address) == address)
}

fn list(there: &[Interface]) -> String {
    let each = there
        .iter()
        .map(|one| format!("{} ({})", one.name, one.address));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, last: u8, up: bool, multicast: bool) -> Interface {
        Interface {
            name: name.to_owned(),
            index: u32::from(last),
            address: Ipv4Addr::new(10, 0, 0, last),
            up,
            multicast,
        }
    }

    #[test]
    fn an_interface_is_found_by_name_and_by_address() {
        let there = [interface("a", 1, true, true), interface("b", 2, true, true)];
        assert_eq!(choose("b", &there).expect("b"), there[1].address);
        assert_eq!(choose("10.0.0.1", &there).expect("a"), there[0].address);
    }

    #[test]
    fn an_interface_that_cannot_join_groups_is_refused_with_the_fix() {
        let there = [
            interface("a", 1, false, true),
            interface("b", 2, true, false),
        ];
        for (wanted, expected) in [
            ("a", "network interface a is down; 'ip link set a up'"),
            ("b", "network interface b does not take multicast"),
            (
                "eth9",
                "no network interface \"eth9\" with an IPv4 address; there are: a (10.0.0.1), b (10.0.0.2)",
            ),
        ] {
            let text = choose(wanted, &there).expect_err(wanted).to_string();
            assert!(text.contains(expected), "{text}");
        }
    }
}
