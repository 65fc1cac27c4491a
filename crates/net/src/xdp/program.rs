//! The program that the kernel runs for each frame of an interface: it takes the packets of our endpoints out, and passes
//! everything else on.
//!
//! Assembled by hand, <https://www.rfc-editor.org/rfc/rfc9669>: no compiler and no object file. Only plain packets are taken:
//! Ethernet without VLAN tags, IPv4 without options, whole UDP datagrams of a source that the endpoint accepts. Others go to
//! the kernel, which filters as for sockets. A tag that the card strips is not seen.

use crate::udp::Endpoint;
use std::net::{Ipv4Addr, SocketAddrV4};

/// An instruction, as the kernel reads it (`struct bpf_insn`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    code: u8,
    /// Destination in the low half, source in the high half.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Codes of RFC 9669, sections 4 and 5.
mod code {
    pub(super) const LOAD_WORD: u8 = 0x61;
    pub(super) const LOAD_HALF: u8 = 0x69;
    pub(super) const LOAD_BYTE: u8 = 0x71;
    /// Two instructions; source 1 means the descriptor of a map.
    pub(super) const CONSTANT: u8 = 0x18;
    pub(super) const COPY: u8 = 0xbf;
    pub(super) const SET: u8 = 0xb7;
    pub(super) const ADD: u8 = 0x07;
    pub(super) const AND: u8 = 0x57;
    pub(super) const SHIFT_LEFT: u8 = 0x67;
    pub(super) const OR: u8 = 0x4f;
    pub(super) const JUMP: u8 = 0x05;
    pub(super) const JUMP_IF_ABOVE: u8 = 0x2d;
    pub(super) const JUMP_IF_EQUAL: u8 = 0x1d;
    pub(super) const JUMP_UNLESS: u8 = 0x55;
    pub(super) const STORE_DOUBLE: u8 = 0x7a;
    pub(super) const STORE_DOUBLE_OF: u8 = 0x7b;
    pub(super) const LOAD_DOUBLE: u8 = 0x79;
    pub(super) const CALL: u8 = 0x85;
    pub(super) const EXIT: u8 = 0x95;
}

/// Fields of `struct xdp_md`.
mod context {
    pub(super) const DATA: i16 = 0;
    pub(super) const DATA_END: i16 = 4;
    pub(super) const BEFORE: i16 = 8;
    pub(super) const QUEUE: i16 = 16;
}

/// Offsets in a plain frame.
mod at {
    pub(super) const ETHER_TYPE: i16 = 12;
    pub(super) const VERSION_AND_LENGTH: i16 = 14;
    pub(super) const FRAGMENT: i16 = 20;
    pub(super) const PROTOCOL: i16 = 23;
    pub(super) const SOURCE: i16 = 26;
    pub(super) const DESTINATION: i16 = 30;
    pub(super) const PORT: i16 = 36;
    /// The end of the UDP header.
    pub(super) const END: i32 = 42;
}

const XDP_PASS: i32 = 2;
const REDIRECT_MAP: i32 = 51;
const ADJUST_META: i32 = 54;

/// Bytes before a frame with the card's time, 0 if it has none.
pub(super) const STAMP_BYTES: i32 = 8;

/// The frame pointer.
const STACK: u8 = 10;
/// Place on the stack that holds the time meanwhile.
const STAMP: i16 = -8;

/// Comparisons of a program: older kernels take 4,096 instructions.
pub(super) const COMPARISONS_MAX: usize = 1_000;

/// Comparisons for these endpoints and their sources.
pub(super) fn comparisons(endpoints: &[Endpoint]) -> usize {
    endpoints.iter().map(|one| 1 + one.sources.len()).sum()
}

/// The program: `map` is the descriptor of the map from queues to sockets, `stamp` the number of the kernel's function that
/// asks the card for the time of a frame, `bpf_xdp_metadata_rx_timestamp`.
pub(super) fn assemble(map: i32, endpoints: &[Endpoint], stamp: Option<u32>) -> Vec<Instruction> {
    assert!(
        comparisons(endpoints) <= COMPARISONS_MAX,
        "checked at the start"
    );
    let mut program = Program::default();
    program.add(code::COPY, 6, 1, 0, 0);
    program.add(code::LOAD_WORD, 2, 1, context::DATA, 0);
    program.add(code::LOAD_WORD, 3, 1, context::DATA_END, 0);
    program.add(code::COPY, 4, 2, 0, 0);
    program.add(code::ADD, 4, 0, 0, at::END);
    program.pass_if(code::JUMP_IF_ABOVE, 4, 3, 0);
    // Fields are compared as they lie in memory: numbers of the network have their bytes swapped.
    program.load_and_pass_unless(code::LOAD_HALF, at::ETHER_TYPE, i32::from(swapped(0x0800)));
    program.load_and_pass_unless(code::LOAD_BYTE, at::VERSION_AND_LENGTH, 0x45);
    program.add(code::LOAD_HALF, 5, 2, at::FRAGMENT, 0);
    // "More fragments", and the offset of a fragment.
    program.add(code::AND, 5, 0, 0, i32::from(swapped(0x3fff)));
    program.pass_if(code::JUMP_UNLESS, 5, 0, 0);
    program.load_and_pass_unless(code::LOAD_BYTE, at::PROTOCOL, 17);
    program.add(code::LOAD_WORD, 5, 2, at::DESTINATION, 0);
    program.add(code::LOAD_HALF, 7, 2, at::PORT, 0);
    program.add(code::SHIFT_LEFT, 7, 0, 0, 32);
    program.add(code::OR, 5, 7, 0, 0);
    program.add(code::LOAD_WORD, 9, 2, at::SOURCE, 0);
    let found = endpoints.iter().map(|endpoint| {
        program.constant(8, 0, key(endpoint.address));
        (program.jump(code::JUMP_IF_EQUAL, 5, 8, 0), endpoint)
    });
    let found: Vec<(usize, &Endpoint)> = found.collect();
    program.pass_if(code::JUMP, 0, 0, 0);
    let mut takes = Vec::new();
    for (jump, endpoint) in found {
        if endpoint.sources.is_empty() {
            takes.push(jump);
            continue;
        }
        program.here(jump);
        for source in &endpoint.sources {
            program.constant(8, 0, word(*source));
            takes.push(program.jump(code::JUMP_IF_EQUAL, 9, 8, 0));
        }
        program.pass_if(code::JUMP, 0, 0, 0);
    }
    for take in takes {
        program.here(take);
    }
    if let Some(stamp) = stamp {
        program.stamp(stamp);
    }
    program.add(code::LOAD_WORD, 2, 6, context::QUEUE, 0);
    program.constant(1, 1, u64::from(map.cast_unsigned()));
    // Without a socket for the queue the packet is passed on, too.
    program.add(code::SET, 3, 0, 0, XDP_PASS);
    program.add(code::CALL, 0, 0, 0, REDIRECT_MAP);
    program.add(code::EXIT, 0, 0, 0, 0);
    for pass in std::mem::take(&mut program.passes) {
        program.here(pass);
    }
    program.add(code::SET, 0, 0, 0, XDP_PASS);
    program.add(code::EXIT, 0, 0, 0, 0);
    program.instructions
}

/// Address in the low 32 bits and port above, as a load finds them in a packet.
fn key(endpoint: SocketAddrV4) -> u64 {
    u64::from(swapped(endpoint.port())) << 32 | word(*endpoint.ip())
}

/// As a load finds it in a packet.
fn word(address: Ipv4Addr) -> u64 {
    u64::from(u32::from_ne_bytes(address.octets()))
}

fn swapped(number: u16) -> u16 {
    u16::from_ne_bytes(number.to_be_bytes())
}

#[derive(Default)]
struct Program {
    instructions: Vec<Instruction>,
    /// Jumps to the end, where packets are passed on.
    passes: Vec<usize>,
}

impl Program {
    fn add(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.instructions.push(Instruction {
            code,
            registers: to | from << 4,
            offset,
            immediate,
        });
    }

    /// Sets a register to a constant of 64 bits.
    fn constant(&mut self, to: u8, from: u8, value: u64) {
        let halves = [value as u32, (value >> 32) as u32].map(u32::cast_signed);
        self.add(code::CONSTANT, to, from, 0, halves[0]);
        self.add(0, 0, 0, 0, halves[1]);
    }

    /// A jump whose target follows: its index.
    fn jump(&mut self, code: u8, left: u8, right: u8, immediate: i32) -> usize {
        self.add(code, left, right, 0, immediate);
        self.instructions.len() - 1
    }

    fn pass_if(&mut self, code: u8, left: u8, right: u8, immediate: i32) {
        let jump = self.jump(code, left, right, immediate);
        self.passes.push(jump);
    }

    /// Writes the card's time, or 0, before the frame.
    fn stamp(&mut self, function: u32) {
        self.add(code::STORE_DOUBLE, STACK, 0, STAMP, 0);
        self.add(code::COPY, 1, 6, 0, 0);
        self.add(code::COPY, 2, STACK, 0, 0);
        self.add(code::ADD, 2, 0, 0, STAMP.into());
        // Source 2: a function of the kernel. It leaves the 0 if it has no time.
        self.add(code::CALL, 0, 2, 0, function.cast_signed());
        self.add(code::COPY, 1, 6, 0, 0);
        self.add(code::SET, 2, 0, 0, -STAMP_BYTES);
        self.add(code::CALL, 0, 0, 0, ADJUST_META);
        // Without room there the packet is passed on.
        self.pass_if(code::JUMP_UNLESS, 0, 0, 0);
        self.add(code::LOAD_WORD, 2, 6, context::BEFORE, 0);
        self.add(code::LOAD_WORD, 3, 6, context::DATA, 0);
        self.add(code::COPY, 4, 2, 0, 0);
        self.add(code::ADD, 4, 0, 0, STAMP_BYTES);
        self.pass_if(code::JUMP_IF_ABOVE, 4, 3, 0);
        self.add(code::LOAD_DOUBLE, 5, STACK, STAMP, 0);
        self.add(code::STORE_DOUBLE_OF, 2, 5, 0, 0);
    }

    fn load_and_pass_unless(&mut self, load: u8, at: i16, value: i32) {
        self.add(load, 5, 2, at, 0);
        self.pass_if(code::JUMP_UNLESS, 5, 0, value);
    }

    /// The next instruction is the target of a jump.
    fn here(&mut self, jump: usize) {
        let distance = self.instructions.len() - jump - 1;
        let distance =
            i16::try_from(distance).expect("1,000 comparisons are at most 3,501 instructions");
        self.instructions[jump].offset = distance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::udp_ipv4_frame;

    /// Runs the program on a frame as the kernel does; this interpreter knows each of its instructions.
    fn is_taken(program: &[Instruction], frame: &[u8]) -> bool {
        let mut registers = [0u64; 11];
        let mut at = 0;
        loop {
            let Instruction {
                code,
                registers: pair,
                offset,
                immediate,
            } = program[at];
            let (to, from) = (usize::from(pair & 15), usize::from(pair >> 4));
            let (target, source) = (registers[to], registers[from]);
            let place =
                || usize::try_from(registers[from]).unwrap() + usize::try_from(offset).unwrap();
            let value = i64::from(immediate).cast_unsigned();
            let mut jumps = false;
            at += 1;
            match code {
                // The context: a frame begins at 0.
                code::LOAD_WORD if from == 1 || from == 6 => {
                    registers[to] = match offset {
                        context::DATA_END => frame.len() as u64,
                        _ => 0,
                    }
                }
                code::LOAD_WORD => {
                    let bytes = frame[place()..][..4].try_into().unwrap();
                    registers[to] = u64::from(u32::from_ne_bytes(bytes));
                }
                code::LOAD_HALF => {
                    let bytes = frame[place()..][..2].try_into().unwrap();
                    registers[to] = u64::from(u16::from_ne_bytes(bytes));
                }
                code::LOAD_BYTE => registers[to] = u64::from(frame[place()]),
                code::CONSTANT => {
                    let high = u64::from(program[at].immediate.cast_unsigned()) << 32;
                    registers[to] = high | u64::from(immediate.cast_unsigned());
                    at += 1;
                }
                code::COPY => registers[to] = source,
                code::SET => registers[to] = value,
                code::ADD => registers[to] += value,
                code::AND => registers[to] &= value,
                code::SHIFT_LEFT => registers[to] <<= value,
                code::OR => registers[to] |= source,
                code::JUMP => jumps = true,
                code::JUMP_IF_ABOVE => jumps = target > source,
                code::JUMP_IF_EQUAL => jumps = target == source,
                code::JUMP_UNLESS => jumps = target != value,
                code::CALL => return true,
                code::EXIT => return false,
                other => panic!("another instruction: {other:#x}"),
            }
            if jumps {
                at += usize::try_from(offset).expect("only forwards, so it ends");
            }
        }
    }

    fn endpoints() -> [Endpoint; 3] {
        ["239.1.2.3:14310", "239.1.2.3:14311", "10.0.0.7:255"].map(|text| Endpoint {
            address: text.parse().unwrap(),
            sources: Vec::new(),
            interface: None,
            urgent: false,
        })
    }

    fn frame(to: SocketAddrV4) -> Vec<u8> {
        from_to("10.1.1.1:9", to)
    }

    fn from_to(from: &str, to: SocketAddrV4) -> Vec<u8> {
        let mut frame = Vec::new();
        let from = from.parse().unwrap();
        udp_ipv4_frame(&mut frame, from, to, b"payload").expect("a short payload");
        frame
    }

    #[test]
    fn packets_of_the_endpoints_are_taken_and_no_others() {
        let program = assemble(5, &endpoints(), None);
        for endpoint in endpoints() {
            let to = endpoint.address;
            assert!(is_taken(&program, &frame(to)), "{to}");
        }
        for other in [
            "239.1.2.4:14310",
            "239.1.2.3:14312",
            "10.0.0.7:14310",
            "3.2.1.239:14310",
        ] {
            assert!(
                !is_taken(&program, &frame(other.parse().unwrap())),
                "{other}"
            );
        }
        let to = endpoints()[0].address;
        assert!(!is_taken(&assemble(5, &[], None), &frame(to)));
    }

    #[test]
    fn packets_of_other_sources_are_passed_on() {
        let mut endpoints = endpoints();
        let sources = ["10.1.1.1", "10.1.1.2"].map(|text| text.parse().unwrap());
        endpoints[0].sources = sources.to_vec();
        endpoints[2].sources = sources[1..].to_vec();
        let program = assemble(5, &endpoints, None);
        for (from, accepted) in [
            ("10.1.1.1:9", [true, true, false]),
            ("10.1.1.2:7", [true, true, true]),
            ("10.1.1.3:9", [false, true, false]),
            ("1.1.1.10:9", [false, true, false]),
        ] {
            for (endpoint, is_accepted) in endpoints.iter().zip(accepted) {
                let frame = from_to(from, endpoint.address);
                assert_eq!(is_taken(&program, &frame), is_accepted, "{from}");
            }
        }
    }

    #[test]
    fn frames_that_are_not_plain_are_passed_on() {
        let program = assemble(5, &endpoints(), None);
        let plain = frame(endpoints()[0].address);
        for (what, at, byte) in [
            ("ARP", 13, 0x06),
            ("IPv6", 12, 0x86),
            ("options", 14, 0x46),
            ("a first fragment", 20, 0x20),
            ("a later fragment", 21, 1),
            ("TCP", 23, 6),
        ] {
            let mut other = plain.clone();
            other[at] = byte;
            assert!(!is_taken(&program, &other), "{what}");
        }
        // A tag moves the fields that the program compares by four bytes.
        let tagged = [&plain[..12], &[0x81, 0, 0, 5], &plain[12..]].concat();
        assert!(!is_taken(&program, &tagged));
        for len in 0..42 {
            assert!(!is_taken(&program, &plain[..len]), "{len} bytes");
        }
        // "Do not fragment" is plain.
        let mut whole = plain;
        whole[20] = 0x40;
        assert!(is_taken(&program, &whole));
    }

    #[test]
    fn the_longest_program_reaches_its_end() {
        let [one, .., other] = endpoints();
        let all = vec![one.clone(); COMPARISONS_MAX];
        let half = Endpoint {
            sources: vec![Ipv4Addr::LOCALHOST],
            ..one
        };
        for many in [all, vec![half; COMPARISONS_MAX / 2]] {
            let program = assemble(5, &many, Some(9));
            assert!(program.len() < 4_096, "the limit of older kernels");
            let plain = assemble(5, &many, None);
            assert!(!is_taken(&plain, &frame(other.address)));
        }
    }
}
