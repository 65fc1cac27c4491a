//! Tags of the standard header (FIX 4.4 volume 2).

/// Whether a field is of the standard header (FIX 4.4 volume 2) or the checksum, and so not allowed in a body.
#[inline(always)]
pub const fn is_header(tag: u32) -> bool {
    tag < 640 && HEADER[(tag / 64) as usize] >> (tag % 64) & 1 == 1
}

/// A bit for each tag of the header.
const HEADER: [u64; 10] = {
    let tags = [
        8, 9, 10, 34, 35, 43, 49, 50, 52, 56, 57, 90, 91, 97, 115, 116, 122, 128, 129, 142, 143,
        144, 145, 212, 213, 347, 369, 627, 628, 629, 630,
    ];
    let (mut bits, mut at) = ([0; 10], 0);
    while at < tags.len() {
        bits[tags[at] / 64] |= 1_u64 << (tags[at] % 64);
        at += 1;
    }
    bits
};

/// The bit that identifies one of them.
pub(super) fn place(tag: u32) -> Option<u32> {
    let place = OTHERS.iter().position(|other| *other == tag)?;
    Some(7 + place as u32)
}

/// The other fields that occur once in a header: names, security, encoding, hops.
const OTHERS: [u32; 17] = [
    50, 57, 90, 91, 115, 116, 128, 129, 142, 143, 144, 145, 212, 213, 347, 369, 627,
];
