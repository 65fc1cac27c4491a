//! Number of processed messages by template, for the summary and to detect unknown templates.

use touchline_wire::mdp3::{CheckedMessage, Message};

/// Counts by template id. Ids below 128 have a slot each, and so do the first 32 larger ones; no memory is allocated
/// after the start.
#[derive(Clone, Debug)]
pub struct Templates {
    messages: [u64; SMALL_IDS],
    names: [Option<&'static str>; SMALL_IDS],
    large_ids: Vec<TemplateCount>,
    unlisted: u64,
}

/// The messages of one template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateCount {
    /// Template id.
    pub template_id: u16,
    /// Template name of the venue; `None` if this version does not know it.
    pub name: Option<&'static str>,
    /// Number of messages.
    pub messages: u64,
}

const SMALL_IDS: usize = 128;
const LARGE_IDS_MAX: usize = 32;

impl Templates {
    /// Allocates all memory.
    pub(super) fn new() -> Templates {
        Templates {
            messages: [0; SMALL_IDS],
            names: [None; SMALL_IDS],
            large_ids: Vec::with_capacity(LARGE_IDS_MAX),
            unlisted: 0,
        }
    }

    /// Counts a message of a valid packet.
    #[inline]
    pub(super) fn count(&mut self, raw: CheckedMessage<'_>) {
        match self.messages.get_mut(usize::from(raw.header.template_id)) {
            Some(messages) if *messages > 0 => *messages += 1,
            _ => self.count_rare(raw),
        }
    }

    /// Every received template, by ascending id up to 127, then larger ones in order of arrival.
    pub fn counts(&self) -> impl Iterator<Item = TemplateCount> {
        let small_ids = (0u16..)
            .zip(self.messages.iter().zip(&self.names))
            .map(|(template_id, (messages, name))| TemplateCount {
                template_id,
                name: *name,
                messages: *messages,
            })
            .filter(|count| count.messages > 0);
        small_ids.chain(self.large_ids.iter().copied())
    }

    /// Messages of templates without a slot; all of these templates are unknown.
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    #[cold]
    fn count_rare(&mut self, raw: CheckedMessage<'_>) {
        let template_id = raw.header.template_id;
        if let Some(messages) = self.messages.get_mut(usize::from(template_id)) {
            *messages += 1;
            self.names[usize::from(template_id)] = Message::of(raw).map(|message| message.name());
        } else if let Some(count) = self
            .large_ids
            .iter_mut()
            .find(|count| count.template_id == template_id)
        {
            count.messages += 1;
        } else if self.large_ids.len() < LARGE_IDS_MAX {
            self.large_ids.push(TemplateCount {
                template_id,
                name: None,
                messages: 1,
            });
        } else {
            self.unlisted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_wire::mdp3::Packet;

    /// A packet of messages without a body.
    fn packet(template_ids: &[u16]) -> Vec<u8> {
        let mut bytes = vec![1; 12];
        for id in template_ids {
            for field in [10, 0, *id, 1, 9] {
                bytes.extend(field.to_le_bytes());
            }
        }
        bytes
    }

    #[test]
    fn every_template_is_counted_within_the_slots() {
        let mut templates = Templates::new();
        let large_ids: Vec<u16> = (128..165).collect();
        for ids in [&[12, 99, 12][..], &large_ids, &[130, 164, 99]] {
            let bytes = packet(ids);
            let packet = Packet::parse(&bytes).expect("a right packet");
            packet.messages().for_each(|raw| templates.count(raw));
        }
        let counts: Vec<_> = templates.counts().collect();
        let row = |template_id, name, messages| TemplateCount {
            template_id,
            name,
            messages,
        };
        let heartbeat = row(12, Some("AdminHeartbeat12"), 2);
        assert_eq!(counts[..2], [heartbeat, row(99, None, 2)]);
        assert_eq!(counts.len(), 2 + LARGE_IDS_MAX);
        assert_eq!(counts[4], row(130, None, 2));
        assert_eq!(templates.unlisted(), 5 + 1);
    }
}
