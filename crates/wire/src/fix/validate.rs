//! A message against a dictionary, as FIX 4.4 volume 2 (Reject) and QuickFIX's public acceptance scenarios have it.

use super::dictionary::{DEPTH_MAX, Dictionary, Kind, MEMBERS_MAX, Member, Span};
use super::reject::{RefTag, Reject, SessionRejectReason as Reason};
use super::{BadField, Field, Fields, Malformed, Message, format, tag, unsigned, without_zeros};

/// Tolerated deviations. By default none that QuickFIX's acceptance scenarios reject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Fields from tag 5000 on may be there though the dictionary does not know them.
    pub user_defined: bool,
    /// Any other field may be there, too, known elsewhere in the dictionary or not at all, and more than once: it may be of a group.
    pub unknown: bool,
    /// Header, body and trailer may be mixed.
    pub any_order: bool,
    /// Values need not be in the field's list.
    pub any_value: bool,
    /// Fields that must be there may be missing.
    pub any_missing: bool,
    /// The fields of an entry come in the dictionary's order, not only the first one first.
    pub strict_groups: bool,
}

/// The first tag that is free for agreements between two sides.
pub const USER_DEFINED: u32 = 5000;
/// Limit of unknown fields in one message that are distinguished to find duplicates.
const UNKNOWN_FIELDS_MAX: usize = 64;

/// Validates a message against a dictionary. Returns the first error in the order of the bytes; missing fields last.
///
/// # Errors
/// Content of a Reject.
pub fn validate<'a>(
    message: &Message<'a>,
    dictionary: &Dictionary<'a>,
    options: &Options,
) -> Result<(), Reject<'a>> {
    let Some(kind) = dictionary.message(message.msg_type()) else {
        return Err(Reject::new(Reason::InvalidMsgType, tag::MSG_TYPE));
    };
    let mut walk = Walk {
        fields: message.fields_by(dictionary),
        next: None,
        dictionary,
        options,
    };
    walk.message(kind.members)
}

/// The place in a message that was reached.
struct Walk<'w, 'a> {
    fields: Fields<'a>,
    /// A field that was looked at and not yet taken.
    next: Option<Field<'a>>,
    dictionary: &'w Dictionary<'a>,
    options: &'w Options,
}

/// The parts of a message, in the order that they have to come in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Header,
    Body,
    Trailer,
}

impl<'a> Walk<'_, 'a> {
    fn message(&mut self, body: Span) -> Result<(), Reject<'a>> {
        let mut levels = [self.dictionary.header, body, self.dictionary.trailer]
            .map(|members| Level::new(self.dictionary.members(members)));
        for (level, tag) in [
            (0, tag::BEGIN_STRING),
            (0, tag::BODY_LENGTH),
            (0, tag::MSG_TYPE),
        ] {
            levels[level].mark(tag);
        }
        levels[Part::Trailer as usize].mark(tag::CHECK_SUM);
        let mut part = Part::Header;
        let mut unknown_fields = UnknownFields::default();
        while let Some(field) = self.peek()? {
            self.next = None;
            let here = part_of(&levels, field.tag, part);
            let at = here.unwrap_or(Part::Body);
            if at < part && !self.options.any_order {
                return Err(Reject::new(Reason::TagOutOfOrder, field.tag));
            }
            part = part.max(at);
            if here.is_none() {
                self.tolerate(field.tag)?;
                // A group that the dictionary does not know has the same fields in each entry.
                // mutant: fix: a group of a later version is rejected
                if !self.options.unknown {
                    unknown_fields.meet(field.tag)?;
                }
                continue;
            }
            let level = &mut levels[at as usize];
            let Some(member) = level.take(field.tag)? else {
                continue;
            };
            self.value(&field)?;
            let [header, body, trailer] = &levels;
            let above = Above {
                levels: [header, body, trailer],
                parent: None,
            };
            self.group(&field, member, &above, 1)?;
        }
        let [header, body, trailer] = &levels;
        [header, trailer, body]
            .into_iter()
            .try_for_each(|level| self.complete(level))
    }

    /// The entries that a member counts, if it counts any.
    fn group(
        &mut self,
        count: &Field<'a>,
        member: &Member,
        above: &Above<'_, 'a>,
        depth: usize,
    ) -> Result<(), Reject<'a>> {
        let Some(group) = self.dictionary.group(member).filter(|_| depth <= DEPTH_MAX) else {
            return Ok(());
        };
        let wrong_count = Reject::new(Reason::IncorrectGroupCount, count.tag);
        let wanted = unsigned(count.value).unwrap_or(u64::MAX);
        let mut level = Level::new(self.dictionary.members(group.members));
        let (mut entries, mut place) = (0, 0);
        while let Some(field) = self.peek()? {
            let begins = field.tag == group.delimiter;
            let Some(at) = level.find(field.tag) else {
                if entries == 0 || above.has(field.tag) || self.tolerate(field.tag).is_err() {
                    break;
                }
                self.next = None;
                continue;
            };
            if begins && entries == wanted {
                return Err(wrong_count);
            }
            let behind = entries == wanted && (entries == 0 || level.seen(at));
            if behind && above.has(field.tag) {
                break;
            }
            if begins {
                if entries > 0 {
                    self.complete(&level)?;
                }
                level.clear();
                entries += 1;
                place = 0;
            } else if entries == 0 {
                return Err(Reject::new(Reason::GroupFieldsOutOfOrder, field.tag));
            }
            let Some(member) = level.take(field.tag)? else {
                break;
            };
            if self.options.strict_groups && member.place < place {
                return Err(Reject::new(Reason::GroupFieldsOutOfOrder, field.tag));
            }
            place = member.place;
            self.next = None;
            self.value(&field)?;
            let inside = Above {
                levels: [&level; 3],
                parent: Some(above),
            };
            self.group(&field, member, &inside, depth + 1)?;
        }
        if entries != wanted {
            return Err(wrong_count);
        }
        if entries > 0 {
            self.complete(&level)
        } else {
            Ok(())
        }
    }

    fn peek(&mut self) -> Result<Option<Field<'a>>, Reject<'a>> {
        if self.next.is_none() {
            self.next = self.fields.next().transpose().map_err(Reject::from)?;
        }
        Ok(self.next)
    }

    /// Whether a field is allowed outside of its place in the dictionary.
    fn tolerate(&self, tag: u32) -> Result<(), Reject<'a>> {
        if self.options.unknown || (self.options.user_defined && tag >= USER_DEFINED) {
            return Ok(());
        }
        let reason = match self.dictionary.field(tag) {
            Some(_) => Reason::TagNotDefinedForMessage,
            None => Reason::InvalidTagNumber,
        };
        Err(Reject::new(reason, tag))
    }

    fn value(&self, field: &Field<'a>) -> Result<(), Reject<'a>> {
        let Some(kind) = self.dictionary.field(field.tag) else {
            return Ok(());
        };
        if !format::is_written(kind.kind, field.value) {
            return Err(Reject::new(Reason::IncorrectDataFormat, field.tag));
        }
        let allowed = self.options.any_value
            || match kind.kind {
                Kind::Words => {
                    let mut words = field.value.split(|byte| *byte == b' ');
                    words.all(|word| self.dictionary.allows(kind, word))
                }
                Kind::Int => {
                    self.dictionary.allows(kind, field.value)
                        || self.dictionary.allows(kind, without_zeros(field.value))
                }
                _ => self.dictionary.allows(kind, field.value),
            };
        if allowed {
            return Ok(());
        }
        Err(Reject::new(Reason::ValueIncorrect, field.tag))
    }

    fn complete(&self, level: &Level<'a>) -> Result<(), Reject<'a>> {
        match level.missing() {
            Some(tag) if !self.options.any_missing => {
                Err(Reject::new(Reason::RequiredTagMissing, tag))
            }
            _ => Ok(()),
        }
    }
}

/// Part to which a field belongs: its present part, if the dictionary has it there.
fn part_of(levels: &[Level<'_>; 3], tag: u32, part: Part) -> Option<Part> {
    [part, Part::Header, Part::Trailer, Part::Body]
        .into_iter()
        .find(|part| levels[*part as usize].find(tag).is_some())
}

/// Members, and which of them were met.
struct Level<'a> {
    members: &'a [Member],
    seen: [u64; MEMBERS_MAX / 64],
}

impl<'a> Level<'a> {
    fn new(members: &'a [Member]) -> Level<'a> {
        Level {
            members: &members[..members.len().min(MEMBERS_MAX)],
            seen: [0; MEMBERS_MAX / 64],
        }
    }

    fn find(&self, tag: u32) -> Option<usize> {
        self.members
            .binary_search_by_key(&tag, |member| member.tag)
            .ok()
    }

    fn seen(&self, at: usize) -> bool {
        self.seen[at / 64] >> (at % 64) & 1 == 1
    }

    fn mark(&mut self, tag: u32) {
        if let Some(at) = self.find(tag) {
            self.seen[at / 64] |= 1 << (at % 64);
        }
    }

    /// Meets a member for the first time.
    fn take(&mut self, tag: u32) -> Result<Option<&'a Member>, Reject<'a>> {
        let Some(at) = self.find(tag) else {
            return Ok(None);
        };
        if self.seen(at) {
            return Err(Reject::new(Reason::TagAppearsMoreThanOnce, tag));
        }
        self.mark(tag);
        Ok(self.members.get(at))
    }

    fn clear(&mut self) {
        self.seen = [0; MEMBERS_MAX / 64];
    }

    /// A member that must be there and was not met.
    fn missing(&self) -> Option<u32> {
        let missing = |(at, member): &(usize, &Member)| member.required && !self.seen(*at);
        let found = self.members.iter().enumerate().find(missing);
        found.map(|(_, member)| member.tag)
    }
}

/// Parent of a group.
struct Above<'l, 'a> {
    levels: [&'l Level<'a>; 3],
    parent: Option<&'l Above<'l, 'a>>,
}

impl Above<'_, '_> {
    fn has(&self, tag: u32) -> bool {
        self.levels.iter().any(|level| level.find(tag).is_some())
            || self.parent.is_some_and(|parent| parent.has(tag))
    }
}

/// Fields that no dictionary knows.
struct UnknownFields {
    tags: [u32; UNKNOWN_FIELDS_MAX],
    len: usize,
}

impl Default for UnknownFields {
    fn default() -> UnknownFields {
        UnknownFields {
            tags: [0; UNKNOWN_FIELDS_MAX],
            len: 0,
        }
    }
}

impl UnknownFields {
    fn meet<'a>(&mut self, tag: u32) -> Result<(), Reject<'a>> {
        if self.tags[..self.len].contains(&tag) {
            return Err(Reject::new(Reason::TagAppearsMoreThanOnce, tag));
        }
        let Some(place) = self.tags.get_mut(self.len) else {
            return Err(Reject::new(Reason::UndefinedTag, tag));
        };
        *place = tag;
        self.len += 1;
        Ok(())
    }
}

impl<'a> From<BadField<'a>> for Reject<'a> {
    fn from(bad: BadField<'a>) -> Reject<'a> {
        let reason = match bad.why {
            Malformed::Tag => Reason::InvalidTagNumber,
            Malformed::Value => Reason::TagWithoutValue,
            _ => Reason::IncorrectDataFormat,
        };
        let tag = match bad.why {
            Malformed::Tag => RefTag::Written(bad.tag),
            _ => unsigned(bad.tag)
                .ok()
                .and_then(|tag| u32::try_from(tag).ok())
                .map_or(RefTag::Written(bad.tag), RefTag::Number),
        };
        Reject { reason, tag }
    }
}
