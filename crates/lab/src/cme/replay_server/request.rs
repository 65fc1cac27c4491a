//! Messages of a client: FIX without BeginString, `9=…|35=…|…|10=…|`.

/// Fields of one message, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields(Vec<(u32, String)>);

/// Separator of fields.
const SOH: u8 = 1;
/// Longest body.
const BODY_BYTES_MAX: usize = 1_024;
/// Longest heads: `9=1024|` and `10=123|`.
const HEAD_BYTES_MAX: usize = 7;
const TRAILER_BYTES: usize = 7;

impl Fields {
    /// Removes a message from the front of the received bytes; `None` if it is incomplete.
    ///
    /// # Errors
    /// The bytes cannot be a message; the text is for the client.
    pub fn take(received: &mut Vec<u8>) -> Result<Option<Self>, &'static str> {
        let head = &received[..received.len().min(HEAD_BYTES_MAX)];
        let Some(head_bytes) = head.iter().position(|&byte| byte == SOH).map(|at| at + 1) else {
            return match head.len() {
                HEAD_BYTES_MAX => Err("the message does not begin with a BodyLength (9)"),
                _ => Ok(None),
            };
        };
        let length = std::str::from_utf8(&head[..head_bytes - 1])
            .ok()
            .and_then(|head| head.strip_prefix("9=")?.parse().ok())
            .filter(|&length: &usize| length <= BODY_BYTES_MAX)
            .ok_or("BodyLength (9) is wrong or too long")?;
        let body_end = head_bytes + length;
        if received.len() < body_end + TRAILER_BYTES {
            return Ok(None);
        }
        let message: Vec<u8> = received.drain(..body_end + TRAILER_BYTES).collect();
        let (checked, trailer) = message.split_at(body_end);
        let sum = checked
            .iter()
            .fold(0u8, |sum, &byte| sum.wrapping_add(byte));
        if trailer != format!("10={sum:03}\u{1}").as_bytes() {
            return Err("BodyLength (9) or CheckSum (10) does not fit the message");
        }
        let body =
            std::str::from_utf8(&checked[head_bytes..]).map_err(|_| "the message is not text")?;
        let fields = body.split_terminator('\u{1}').map(|field| {
            let (tag, value) = field.split_once('=')?;
            Some((tag.parse().ok()?, value.to_owned()))
        });
        let fields: Option<Vec<_>> = fields.collect();
        fields
            .map(|fields| Some(Self(fields)))
            .ok_or("a field is not TAG=VALUE")
    }

    /// Value of a field; empty if absent.
    pub fn get(&self, tag: u32) -> &str {
        let found = self.0.iter().find(|(known, _)| *known == tag);
        found.map_or("", |(_, value)| value)
    }

    /// Value of a field that is a positive number.
    pub fn number(&self, tag: u32) -> Option<u32> {
        self.get(tag).parse().ok().filter(|&number| number > 0)
    }
}

/// A message of these fields, as a client encodes it.
#[cfg(test)]
pub fn message(body: &str) -> Vec<u8> {
    let body = body.replace('|', "\u{1}");
    let mut message = format!("9={}\u{1}{body}", body.len()).into_bytes();
    let sum = message
        .iter()
        .fold(0u8, |sum, &byte| sum.wrapping_add(byte));
    message.extend(format!("10={sum:03}\u{1}").bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_processed_when_it_is_complete() {
        let whole = message("35=A|553=CME|554=secret|");
        let mut received = Vec::new();
        for &byte in &whole[..whole.len() - 1] {
            received.push(byte);
            assert_eq!(Fields::take(&mut received), Ok(None));
        }
        received.extend([SOH, b'9']);
        let fields = Fields::take(&mut received)
            .expect("a message")
            .expect("a whole one");
        assert_eq!(
            (fields.get(35), fields.get(553), fields.get(1)),
            ("A", "CME", "")
        );
        assert_eq!((fields.number(553), received), (None, vec![b'9']));
    }

    #[test]
    fn bytes_that_cannot_start_a_message_are_refused() {
        let good = String::from_utf8(message("35=V|1182=5|")).expect("text");
        for (bytes, words) in [
            ("8=FIX.4.4", "BodyLength"),
            ("9=x\u{1}", "BodyLength"),
            ("9=-1\u{1}", "BodyLength"),
            ("9=9999\u{1}", "BodyLength"),
            (&good.replace("1182=5", "1182=6"), "CheckSum"),
            (&good.replace("9=12", "9=11"), "CheckSum"),
        ] {
            let refused = Fields::take(&mut bytes.as_bytes().to_vec()).expect_err(bytes);
            assert!(refused.contains(words), "{bytes}: {refused}");
        }
        assert!(Fields::take(&mut message("35=V|1182|")).is_err());
    }
}
