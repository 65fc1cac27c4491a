//! CRC-32 (ISO 3309), as in Ethernet and gzip.

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut row = 0;
    while row < 256 {
        let mut value = row as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 {
                value >> 1 ^ 0xedb8_8320
            } else {
                value >> 1
            };
            bit += 1;
        }
        table[row] = value;
        row += 1;
    }
    table
}

/// Checksum of bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        sum >> 8 ^ TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize]
    });
    !sum
}

#[test]
fn crc32_of_the_check_string_is_that_of_the_standard() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    assert_eq!(crc32(b""), 0);
}
