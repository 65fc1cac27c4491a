//! Checks of clock and processors.

use super::cpu_list::CpuList;
use super::finding::{Asked, Finding};
use super::host::{Host, Unknown};

const CPU: &str = "/sys/devices/system/cpu";
type Look = Result<Finding, Unknown>;

pub fn clock_source(host: &Host, _: &Asked) -> Look {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0";
    let current = host.text(&format!("{SOURCE}/current_clocksource"))?;
    let available = host.text(&format!("{SOURCE}/available_clocksource"));
    let has_tsc = available.is_ok_and(|all| all.split_whitespace().any(|one| one == "tsc"));
    let fix = match has_tsc {
        true => format!("echo tsc > {SOURCE}/current_clocksource"),
        false => {
            "`dmesg | grep -i clocksource` says why the kernel rejected tsc; on a virtual machine ask \
                  its host for an invariant one; else tsc=reliable on the kernel's command line"
                .to_owned()
        }
    };
    Ok(match current.as_str() {
        "tsc" | "arch_sys_counter" => Finding::ok(current),
        // Also read without a system call, with a short calculation.
        "kvm-clock" | "hyperv_clocksource_tsc_page" => Finding::warn(current, fix),
        _ => Finding::bad(current, fix),
    })
}

pub fn tsc(host: &Host, _: &Asked) -> Look {
    let info = host.text("/proc/cpuinfo")?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags"));
    let flags = flags.ok_or_else(|| Unknown::because("/proc/cpuinfo has no flags: not an x86"))?;
    let flags: Vec<_> = flags.split_whitespace().collect();
    let missing = ["constant_tsc", "nonstop_tsc"].into_iter();
    let missing: Vec<_> = missing.filter(|flag| !flags.contains(flag)).collect();
    Ok(match missing.is_empty() {
        true => Finding::ok("constant and nonstop"),
        false => Finding::bad(
            format!("without {}", missing.join(" and ")),
            "measure on another host; on a virtual machine, enable them in its host (libvirt: \
             <feature policy='require' name='invtsc'/>)",
        ),
    })
}

pub fn usable(host: &Host, asked: &Asked) -> Look {
    let cpus = asked_cpus(asked)?;
    let online = list(host, &format!("{CPU}/online"))?;
    let offline = cpus.without(&online);
    if !offline.is_empty() {
        return Ok(Finding::bad(
            format!("{offline} not online; online are {online}"),
            format!("choose others, or `chcpu -e {offline}`"),
        ));
    }
    let allowed = allowed_cpus(host, "self")?;
    let forbidden = cpus.without(&allowed);
    Ok(match forbidden.is_empty() {
        true => Finding::ok(format!("{cpus} online and allowed")),
        false => Finding::bad(
            format!("{forbidden} not allowed; allowed are {allowed}"),
            format!(
                "systemctl set-property UNIT AllowedCPUs={cpus}, or start it outside its cpuset"
            ),
        ),
    })
}

/// CPUs that a process may use; `self` is this one.
pub fn allowed_cpus(host: &Host, process: &str) -> Result<CpuList, Unknown> {
    let path = format!("/proc/{process}/status");
    let status = host.text(&path)?;
    let mut lines = status.lines();
    let allowed = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed.and_then(CpuList::of_kernel);
    allowed.ok_or_else(|| Unknown::because(format!("{path} does not say")))
}

pub fn governor(host: &Host, asked: &Asked) -> Look {
    let cpus = asked_or_online(host, asked)?;
    let mut others = Vec::new();
    for cpu in cpus.iter() {
        let path = format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor");
        let governor = host.text(&path).map_err(|_| hidden("the governor"))?;
        if governor != "performance" {
            others.push(format!("cpu{cpu} {governor}"));
        }
    }
    Ok(match others.is_empty() {
        true => Finding::ok("performance"),
        false => Finding::warn(first(&others), "cpupower frequency-set -g performance"),
    })
}

pub fn turbo(host: &Host, _: &Asked) -> Look {
    let intel = format!("{CPU}/intel_pstate/no_turbo");
    let other = format!("{CPU}/cpufreq/boost");
    let (is_on, fix) = match (host.number(&intel), host.number(&other)) {
        (Ok(no_turbo), _) => (no_turbo == 0, format!("echo 1 > {intel}")),
        (_, Ok(boost)) => (boost != 0, format!("echo 0 > {other}")),
        _ => return Err(hidden("turbo")),
    };
    Ok(match is_on {
        true => Finding::warn("on", fix),
        false => Finding::ok("off"),
    })
}

/// Lists of processors that the kernel's command line sets, and the parameter of each.
const ISOLATED: (&str, &str) = ("isolated", "isolcpus=managed_irq,domain,");
const NOHZ_FULL: (&str, &str) = ("nohz_full", "nohz_full=");

pub fn isolated(host: &Host, asked: &Asked) -> Look {
    of_kernel_command_line(host, asked_cpus(asked)?, &[ISOLATED], "")
}

pub fn nohz_full(host: &Host, asked: &Asked) -> Look {
    of_kernel_command_line(host, asked_cpus(asked)?, &[NOHZ_FULL], "")
}

/// Whether nothing but its own thread runs on each of these processors.
pub fn own(host: &Host, cpus: &CpuList) -> Look {
    const WELL: &str = " isolated, without the timer of the scheduler";
    of_kernel_command_line(host, cpus, &[ISOLATED, NOHZ_FULL], WELL)
}

fn of_kernel_command_line(host: &Host, cpus: &CpuList, lists: &[(&str, &str)], well: &str) -> Look {
    let (mut seen, mut fix) = (Vec::new(), Vec::new());
    for (file, parameter) in lists {
        let there = list(host, &format!("{CPU}/{file}"))?;
        let missing = cpus.without(&there);
        if !missing.is_empty() {
            seen.push(format!("{missing} not in {file}"));
            fix.push(format!("{parameter}{}", cpus.either(&there)));
        }
    }
    Ok(match seen.is_empty() {
        true => Finding::ok(format!("{cpus}{well}")),
        false => Finding::warn(
            seen.join(", "),
            format!(
                "add {} rcu_nocbs={cpus} to the kernel's command line and restart",
                fix.join(" ")
            ),
        ),
    })
}

pub fn siblings(host: &Host, asked: &Asked) -> Look {
    let cpus = asked_cpus(asked)?;
    let online = list(host, &format!("{CPU}/online"))?;
    let mut shared = CpuList::default();
    for cpu in cpus.iter() {
        let path = format!("{CPU}/cpu{cpu}/topology/thread_siblings_list");
        let siblings = list(host, &path)?;
        let itself = CpuList::from_iter([cpu]);
        shared = shared.either(&siblings.without(&itself).both(&online));
    }
    let idle = shared.without(cpus);
    let fix = match idle.is_empty() {
        true => "choose processors of different cores; `lscpu -e` shows them".to_owned(),
        false => format!("chcpu -d {idle}, or leave them idle"),
    };
    Ok(match shared.is_empty() {
        true => Finding::ok("no other thread on their cores"),
        false => Finding::warn(format!("{shared} on the same cores"), fix),
    })
}

pub fn interrupts(host: &Host, asked: &Asked) -> Look {
    let cpus = asked_cpus(asked)?;
    let numbers = host.names("/proc/irq").into_iter();
    let numbers = numbers.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let (mut seen, mut here) = (0, Vec::new());
    for number in numbers.filter(|number| has_handler(host, number)) {
        let path = format!("/proc/irq/{number}");
        let effective = list(host, &format!("{path}/effective_affinity_list"));
        let to = match effective {
            Ok(effective) if !effective.is_empty() => effective,
            _ => list(host, &format!("{path}/smp_affinity_list"))?,
        };
        seen += 1;
        if !to.both(cpus).is_empty() {
            here.push(number);
        }
    }
    let others = list(host, &format!("{CPU}/online"))?.without(cpus);
    let fix = match others.is_empty() {
        true => "leave a processor for the system: fewer --cpus".to_owned(),
        false => format!(
            "systemctl stop irqbalance; for i in {}; do echo {others} > /proc/irq/$i/smp_affinity_list; done",
            here.join(" ")
        ),
    };
    Ok(match (seen, here.is_empty()) {
        (0, _) => return Err(Unknown::because("/proc/irq shows no interrupt")),
        (_, true) => Finding::ok(format!("none of {seen} goes to {cpus}")),
        (_, false) => Finding::warn(
            format!("{} of {seen} go to {cpus}: {}", here.len(), first(&here)),
            fix,
        ),
    })
}

/// Whether an interrupt has a handler; one without never occurs. A handled interrupt has a
/// directory with the handler's name.
fn has_handler(host: &Host, number: &str) -> bool {
    let path = format!("/proc/irq/{number}");
    let names = host.names(&path).into_iter();
    names
        .into_iter()
        .any(|name| host.has_directory(&format!("{path}/{name}")))
}

fn asked_cpus(asked: &Asked) -> Result<&CpuList, Unknown> {
    let unknown = || Unknown::because("no processor is given: --cpus 2,3");
    asked.cpus.as_ref().ok_or_else(unknown)
}

fn asked_or_online(host: &Host, asked: &Asked) -> Result<CpuList, Unknown> {
    match &asked.cpus {
        Some(cpus) => Ok(cpus.clone()),
        None => list(host, &format!("{CPU}/online")),
    }
}

fn list(host: &Host, path: &str) -> Result<CpuList, Unknown> {
    let list = CpuList::of_kernel(&host.text(path)?);
    list.ok_or_else(|| Unknown(format!("{path} is not a list of processors")))
}

fn hidden(what: &str) -> Unknown {
    Unknown(format!(
        "{what} cannot be seen: a virtual machine leaves it to its host"
    ))
}

/// The first few, to keep a message in one line.
fn first(all: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = all
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
