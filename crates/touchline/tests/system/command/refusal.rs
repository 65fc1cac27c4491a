//! Refusals: the exact exit status, one line with the fix, no files left.

use crate::command::{Desk, text};

/// Runs and checks that no file was added, removed or changed.
#[track_caller]
fn refused(desk: &Desk, arguments: &str, status: i32, words: &[&str]) {
    let read = || {
        desk.files()
            .into_iter()
            .map(|name| (std::fs::read(desk.path(&name)).ok(), name))
    };
    let before: Vec<_> = read().collect();
    desk.run(arguments).refused(status, words);
    assert!(
        before.into_iter().eq(read()),
        "{arguments}: files are not as they were"
    );
}

#[test]
fn invalid_arguments_are_refused() {
    let desk = Desk::new("arguments");
    desk.write("old", "old");
    let pcap = "--pcap session.pcap";
    for (arguments, words) in [
        ("bogus".to_owned(), &["unrecognized subcommand 'bogus'"][..]),
        (
            "replay --config cme.toml --pcap session.pcap --bokos old".to_owned(),
            &["'--bokos'", "'--books'"],
        ),
        (format!("replay {pcap}"), &["--config FILE", "--channel N"]),
        (
            format!("replay {pcap} --channel 998"),
            &["--config-xml FILE"],
        ),
        (
            format!("replay {pcap} --config-xml config.xml"),
            &["--channel N"],
        ),
        (
            format!("replay {pcap} --config cme.toml --config-xml config.xml --channel 1"),
            &["leave out --config-xml and --channel"],
        ),
        ("replay --config cme.toml".to_owned(), &["--pcap FILE"]),
        (format!("replay {pcap} --config"), &["--config <FILE>"]),
        (
            format!("replay {pcap} --config cme.toml --join later"),
            &["snapshot, natural"],
        ),
        (
            format!("replay {pcap} --config cme.toml --wait-ms 10001"),
            &["0..=10000"],
        ),
        (
            format!("replay {pcap} --config cme.toml --speed 0"),
            &["from 0.000001 to 1000000"],
        ),
        (
            format!("replay {pcap} --config cme.toml --speed NaN"),
            &["from 0.000001 to 1000000"],
        ),
        (
            format!("replay {pcap} ./session.pcap --config cme.toml"),
            &["./session.pcap", "twice with --pcap"],
        ),
        (
            format!("replay {pcap} --config cme.toml --books new --tops ./new"),
            &["./new", "two outputs"],
        ),
        (
            format!("replay {pcap} --config cme.toml --books session.pcap"),
            &["session.pcap", "an input of this run", "another name"],
        ),
        (
            format!("replay {pcap} --config cme.toml --orders ./config.xml"),
            &["./config.xml", "an input of this run"],
        ),
        (
            format!("replay {pcap} --config cme.toml --tops cme.toml"),
            &["cme.toml", "an input of this run"],
        ),
        (
            format!("replay {pcap} --config cme.toml --books - --tops -"),
            &["standard output", "files for the others"],
        ),
        (
            format!("replay {pcap} --config cme.toml --books - --print"),
            &["standard output", "--print"],
        ),
        ("demo --version 8".to_owned(), &["9, 13"]),
        ("demo --instruments 65".to_owned(), &["1..=64"]),
    ] {
        refused(&desk, &arguments, 2, words);
    }
}

#[test]
fn invalid_configurations_are_refused() {
    let desk = Desk::new("configurations");
    desk.write("old", "old");
    desk.write("unknown.toml", desk.read("cme.toml") + "wait_sm = 20\n");
    desk.write("range.toml", desk.read("cme.toml") + "wait_ms = 20000\n");
    desk.write("channel.toml", desk.read("cme.toml").replace("998", "997"));
    desk.write(
        "nowhere.toml",
        desk.read("cme.toml").replace("config.xml", "no.xml"),
    );
    desk.write(
        "wrong.toml",
        desk.read("cme.toml").replace("config.xml", "cme.toml"),
    );
    for (arguments, words) in [
        (
            "--config none.toml",
            &["none.toml: cannot read it", "check the path"][..],
        ),
        (
            "--config unknown.toml",
            &[
                "unknown.toml:6: ",
                "`wait_sm`",
                "`wait_ms`",
                "touchline help settings",
            ],
        ),
        (
            "--config range.toml",
            &[
                "range.toml:6: ",
                "is 20000, which is out of range; values: 0 to 10,000 ms",
            ],
        ),
        (
            "--config session.pcap",
            &["session.pcap is a capture, given as the configuration"],
        ),
        (
            "--config channel.toml",
            &["config.xml:2: ", "no channel 997", "for example 998"],
        ),
        ("--config nowhere.toml", &["no.xml: cannot read it"]),
        ("--config wrong.toml", &["cme.toml:1: ", "XML"]),
        (
            "--config-xml config.xml --channel 1",
            &["no channel 1", "998"],
        ),
    ] {
        let arguments = format!("replay {arguments} --pcap session.pcap --books old --tops new");
        // The capture is not a configuration, so that no file is given twice.
        let arguments = match arguments.contains("--config session.pcap") {
            true => arguments.replace("--pcap session.pcap", "--pcap other.pcap"),
            false => arguments,
        };
        refused(&desk, &arguments, 2, words);
    }
}

#[test]
fn invalid_captures_are_refused() {
    let desk = Desk::new("captures");
    desk.write("old", "old");
    desk.write("empty.pcap", "");
    let whole = std::fs::read(desk.path("session.pcap")).expect("our capture");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2..].fill(0xff);
    desk.write("damaged.pcap", damaged);
    desk.write("header.pcap", &whole[..24]);
    for (capture, words) in [
        (
            "none.pcap",
            &["none.pcap: cannot open it", "check the path"][..],
        ),
        (
            "cme.toml.pcap",
            &["cme.toml.pcap: it starts with", "pcap or pcapng"],
        ),
        ("empty.pcap", &["empty.pcap: it is empty", "pcap or pcapng"]),
        (
            "damaged.pcap",
            &[
                "damaged.pcap: a record claims ",
                "packets",
                "no output is written",
            ],
        ),
        (
            "session.pcap damaged.pcap",
            &["damaged.pcap: a record claims", "no output is written"],
        ),
        (
            "header.pcap",
            &["no packet is for channel 998", "no UDP packet"],
        ),
    ] {
        desk.write("cme.toml.pcap", desk.read("cme.toml"));
        let outputs = "--quiet --books old --orders new --tops newer";
        let arguments = format!("replay --config cme.toml --pcap {capture} {outputs}");
        refused(&desk, &arguments, 1, words);
    }
}

#[test]
fn a_capture_of_another_channel_is_detected_by_its_groups() {
    let desk = Desk::new("other");
    let channel = desk.read("config.xml");
    let (_, channel) = channel.split_once("<channel").expect("a channel");
    let (channel, _) = channel.split_once("</channel>").expect("a channel");
    let other = channel
        .replace("id=\"998\"", "id=\"7\"")
        .replace("239.10.", "239.20.");
    let other = format!("<channel{other}</channel></configuration>");
    desk.write(
        "both.xml",
        desk.read("config.xml").replace("</configuration>", &other),
    );
    desk.write("seven.xml", format!("<configuration>{other}"));
    let arguments =
        |xml| format!("replay --config-xml {xml} --channel 7 --pcap session.pcap --books b");
    let words = [
        "no packet is for channel 7",
        "packets to 239.10.41.1",
        "is channel 998's",
    ];
    refused(&desk, &arguments("both.xml"), 1, &words);
    let words = [
        "no packet is for channel 7",
        "seven.xml has none of these groups",
    ];
    refused(&desk, &arguments("seven.xml"), 1, &words);
}

#[test]
fn outputs_that_cannot_be_written_are_refused() {
    let desk = Desk::new("outputs");
    std::fs::create_dir(desk.path("folder")).expect("our folder");
    let beyond = desk.path("cme.toml/books");
    for (output, words) in [
        (
            "nowhere/books",
            &["nowhere/books: cannot be written", "choose a folder"][..],
        ),
        ("folder", &["folder: is a folder", "give a file in it"]),
        (text(&beyond), &["cme.toml/books: cannot be written"]),
        ("/dev/full", &["/dev/full: cannot be written", "make room"]),
    ] {
        let arguments = "replay --quiet --config cme.toml --pcap session.pcap --tops tops --books";
        refused(&desk, &format!("{arguments} {output}"), 1, words);
    }
}

/// The encapsulation that hides the packets is named, with the number of frames and the fix.
#[test]
fn captures_whose_packets_are_behind_labels_or_in_a_tunnel_say_so() {
    let desk = Desk::new("tunnels");
    let head = std::fs::read(desk.path("session.pcap")).expect("our capture")[..24].to_vec();
    let capture = |link: u8, frames: &[Vec<u8>]| {
        let mut bytes = head.clone();
        bytes[20] = link;
        for frame in frames {
            let length = (frame.len() as u32).to_le_bytes();
            bytes.extend([&[1; 8][..], &length, &length, frame].concat());
        }
        bytes
    };
    let ethernet = |high, low| [&[0; 12][..], &[high, low], &[0; 60]].concat();
    let gre = [
        &[0; 12][..],
        &[0x08, 0x00, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 47],
        &[0; 60],
    ]
    .concat();
    let udp_to = |port| {
        let mut frame = Vec::new();
        let from = "10.0.0.1:5000".parse().expect("an address");
        let to = format!("10.0.0.2:{port}").parse().expect("an address");
        touchline_net::frame::udp_ipv4_frame(&mut frame, from, to, &[0; 60]).expect("it fits");
        frame
    };
    for (name, bytes, words) in [
        (
            "mpls.pcap",
            capture(1, &[ethernet(0x88, 0x47), ethernet(0x88, 0x47)]),
            ["2 frames skipped: MPLS labels", "capture behind the router"],
        ),
        (
            "pppoe.pcap",
            capture(1, &[ethernet(0x88, 0x64)]),
            [
                "1 frame skipped: PPP over Ethernet",
                "capture on the ppp interface",
            ],
        ),
        (
            "gre.pcap",
            capture(1, &[gre]),
            [
                "1 frame skipped: a tunnel (GRE",
                "capture behind the end of the tunnel",
            ],
        ),
        (
            "wireless.pcap",
            capture(105, &[ethernet(0x08, 0x00)]),
            [
                "an unknown link layer (link type 105)",
                "capture on an Ethernet interface",
            ],
        ),
        (
            "vxlan.pcap",
            capture(1, &[udp_to(4_789)]),
            [
                "1 packet to 10.0.0.2:4789",
                "are VXLAN: capture behind the end of the tunnel",
            ],
        ),
        (
            "geneve.pcap",
            capture(1, &[udp_to(6_081)]),
            [
                "1 packet to 10.0.0.2:6081",
                "are Geneve: capture behind the end of the tunnel",
            ],
        ),
    ] {
        desk.write(name, bytes);
        let arguments = format!("replay --config cme.toml --pcap {name} --books books");
        refused(&desk, &arguments, 1, &words);
    }
}
