//! Requests: two paths, one method; everything else gets an error status.

/// Maximum size of request line and headers, bytes.
pub const HEAD_BYTES_MAX: usize = 8192;
/// Maximum number of headers. Prometheus sends five.
const HEADERS_MAX: usize = 64;

/// A valid request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The page.
    Metrics,
    /// Health of the exporter.
    Health,
}

/// Reason of an error status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// 400.
    Malformed,
    /// 404.
    Path,
    /// 405.
    Method,
    /// 408.
    TooSlow,
    /// 431.
    TooLong,
}

impl Refused {
    /// Status and reason phrase of the answer.
    pub fn status(self) -> &'static str {
        match self {
            Refused::Malformed => "400 Bad Request",
            Refused::Path => "404 Not Found",
            Refused::Method => "405 Method Not Allowed",
            Refused::TooSlow => "408 Request Timeout",
            Refused::TooLong => "431 Request Header Fields Too Large",
        }
    }

    /// The fix, as the body of the answer.
    pub fn fix(self) -> &'static str {
        match self {
            Refused::Malformed => "this is not HTTP/1.1\n",
            Refused::Path => "the paths are /metrics and /healthz\n",
            Refused::Method => "only GET\n",
            Refused::TooSlow => "send the request within 5 seconds\n",
            Refused::TooLong => "at most 8192 bytes and 64 headers\n",
        }
    }
}

/// Parses the bytes received so far: `None` while the request is incomplete.
pub fn judge(head: &[u8]) -> Option<Result<Wanted, Refused>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => Some(wanted(&request)),
        Ok(httparse::Status::Partial) if head.len() < HEAD_BYTES_MAX => None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Some(Err(Refused::TooLong))
        }
        Err(_) => Some(Err(Refused::Malformed)),
    }
}

fn wanted(request: &httparse::Request) -> Result<Wanted, Refused> {
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let wanted = match path {
        "/metrics" => Wanted::Metrics,
        "/healthz" => Wanted::Health,
        _ => return Err(Refused::Path),
    };
    match request.method {
        Some("GET") => Ok(wanted),
        _ => Err(Refused::Method),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_lab::random::{Random, seeds};

    #[test]
    fn only_get_of_two_paths_is_answered() {
        for (head, expected) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", Ok(Wanted::Metrics)),
            (
                "GET /metrics?x=1 HTTP/1.0\r\nA: b\r\n\r\n",
                Ok(Wanted::Metrics),
            ),
            ("GET /healthz HTTP/1.1\r\n\r\n", Ok(Wanted::Health)),
            ("GET / HTTP/1.1\r\n\r\n", Err(Refused::Path)),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", Err(Refused::Path)),
            ("GET /metrics/../x HTTP/1.1\r\n\r\n", Err(Refused::Path)),
            ("GET http://a/metrics HTTP/1.1\r\n\r\n", Err(Refused::Path)),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", Err(Refused::Method)),
            ("POST /metrics HTTP/1.1\r\n\r\n", Err(Refused::Method)),
            ("get /metrics HTTP/1.1\r\n\r\n", Err(Refused::Method)),
            ("GET /metrics HTTP/2.0\r\n\r\n", Err(Refused::Malformed)),
            ("GET /metrics\r\n\r\n", Err(Refused::Malformed)),
            ("\u{16}\u{3}\u{1}", Err(Refused::Malformed)),
        ] {
            assert_eq!(judge(head.as_bytes()), Some(expected), "{head:?}");
        }
    }

    /// A split request gets the same answer, and no answer before its end.
    #[test]
    fn a_request_may_arrive_in_parts() {
        let head = b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
        for end in 0..head.len() {
            assert_eq!(judge(&head[..end]), None, "{end}");
        }
        assert_eq!(judge(head), Some(Ok(Wanted::Metrics)));
    }

    #[test]
    fn long_request_headers_are_refused() {
        let many = format!(
            "GET /metrics HTTP/1.1\r\n{}",
            "A: b\r\n".repeat(HEADERS_MAX + 1)
        );
        assert_eq!(
            judge(format!("{many}\r\n").as_bytes()),
            Some(Err(Refused::TooLong))
        );
        let long = format!("GET /metrics HTTP/1.1\r\nA: {}", "x".repeat(HEAD_BYTES_MAX));
        assert_eq!(judge(&long.as_bytes()[..HEAD_BYTES_MAX - 1]), None);
        assert_eq!(
            judge(&long.as_bytes()[..HEAD_BYTES_MAX]),
            Some(Err(Refused::TooLong))
        );
    }

    /// Random input: the answer is that of the shortest prefix with an answer, and there is always one.
    #[test]
    fn invalid_requests_are_answered_with_an_error() {
        let good = b"GET /metrics?a=b HTTP/1.1\r\nHost: here:9464\r\nAccept: text/plain\r\n\r\n";
        let seeds = seeds(5_000);
        let is_one = seeds.end - seeds.start == 1;
        let (mut taken, mut refused) = (0, 0);
        for seed in seeds {
            let mut random = Random::from_seed(seed);
            let mut bytes = good.to_vec();
            for _ in 0..random.below(4) {
                let at = random.index(bytes.len());
                match random.below(4) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => drop(bytes.drain(at..)),
                    2 => bytes.insert(at, *random.pick(b"\r\n :\0/%")),
                    _ => bytes.extend_from_within(..at),
                }
                bytes.push(random.below(256) as u8);
            }
            let mut answers = (0..=bytes.len()).filter_map(|end| judge(&bytes[..end]));
            let first = answers.next();
            match first {
                Some(Ok(_)) => taken += 1,
                Some(Err(_)) => refused += 1,
                None => {}
            }
            if let Some(first @ Err(Refused::Malformed)) = first {
                assert!(answers.all(|answer| answer == first), "SEED={seed}");
            }
            bytes.resize(HEAD_BYTES_MAX, b'x');
            assert!(
                judge(&bytes).is_some(),
                "SEED={seed}: it waits for more than its limit"
            );
        }
        assert!(is_one || (taken > 0 && refused > 0), "{taken}, {refused}");
    }
}
