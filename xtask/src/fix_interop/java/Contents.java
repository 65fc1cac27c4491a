import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import quickfix.DataDictionary;
import quickfix.Field;
import quickfix.FieldMap;
import quickfix.FieldNotFound;
import quickfix.FieldType;
import quickfix.Group;
import quickfix.Message;
import quickfix.field.MsgType;

/**
 * Application messages of random contents, each from a seed and a number alone, and the comparison of two of them.
 *
 * <p>What there may be in a message is asked of the dictionary: any field of any type, values where it names them,
 * groups and groups in groups, data with separators inside.
 */
final class Contents
{
    static final String[] TYPES = {"D", "d", "C"};

    private static final int TAG_MAX = 1000;
    private static final int ENTRIES_MAX = 3;
    private static final int DEPTH_MAX = 3;
    private static final String[] WORDS = {"CS", "FUT", "OPT", "MLEG", "USD", "EUR", "XNYS", "US"};

    /** Values of the engine's dictionary that FIX 4.4 has no longer, which ours therefore rejects. */
    private static final Map<Integer, String> NO_LONGER = Map.of(18, "T", 40, "5ABCFH", 323, "34");
    /** Fields whose values FIX 4.4 names and the engine's dictionary does not. */
    private static final Set<Integer> OPEN = Set.of(803, 847, 875);

    private final DataDictionary dictionary;
    private final long seed;

    Contents(final DataDictionary dictionary, final long seed)
    {
        this.dictionary = dictionary;
        this.seed = seed;
    }

    /** The message of this number: an order, a definition or an email. */
    Message message(final int number, final String type)
    {
        final Random random = new Random(seed * 1_000_003 + number);
        final Message message = new Message();
        message.getHeader().setString(MsgType.FIELD, type);
        fill(message, dictionary, type, allTags(), 0.35, 0, random);
        message.setString(keyTag(type), key(number));
        return message;
    }

    static int keyTag(final String type)
    {
        return switch (type)
        {
            case "D" -> 11;
            case "d" -> 320;
            default -> 164;
        };
    }

    /** What tells a message from any other, the same in the message and in its echo. */
    String key(final int number)
    {
        return "s" + seed + "-" + number;
    }

    static int number(final String key)
    {
        return Integer.parseInt(key.substring(key.indexOf('-') + 1));
    }

    /** Every field of the body, also of groups, in a canonical order. */
    static List<String> fields(final FieldMap map)
    {
        final List<String> fields = new ArrayList<>();
        fields(map, "", fields);
        return fields;
    }

    private static void fields(final FieldMap map, final String where, final List<String> fields)
    {
        for (final Iterator<Field<?>> each = map.iterator(); each.hasNext(); )
        {
            final Field<?> field = each.next();
            fields.add(where + field.getTag() + "=" + field.getObject());
        }
        final TreeSet<Integer> counts = new TreeSet<>();
        map.groupKeyIterator().forEachRemaining(counts::add);
        for (final int count : counts)
        {
            int entry = 0;
            for (final Group group : map.getGroups(count))
            {
                entry++;
                fields(group, where + count + "[" + entry + "].", fields);
            }
        }
    }

    /** The number of fields of each kind that a message has: plain, in groups, data with a separator inside. */
    static void count(final List<String> fields, final int[] kinds)
    {
        for (final String field : fields)
        {
            kinds[0]++;
            kinds[1] += field.indexOf("].") > 0 ? 1 : 0;
            kinds[2] += field.indexOf('\001') >= 0 ? 1 : 0;
        }
    }

    private void fill(
        final FieldMap map,
        final DataDictionary members,
        final String type,
        final int[] tags,
        final double share,
        final int depth,
        final Random random)
    {
        for (final int tag : tags)
        {
            final boolean isFirstOfGroup = depth > 0 && tag == tags[0];
            final boolean isMember = depth > 0 || members.isMsgField(type, tag);
            final boolean isNeeded = isFirstOfGroup || members.isRequiredField(type, tag);
            if (!isMember || map.isSetField(tag) || !isNeeded && random.nextDouble() >= share)
            {
                continue;
            }
            if (members.isGroup(type, tag))
            {
                if (depth < DEPTH_MAX)
                {
                    group(map, members, type, tag, share / 2, depth, random);
                }
                continue;
            }
            final String value = OPEN.contains(tag) ? null : value(tag, random);
            if (value == null)
            {
                continue;
            }
            if (dictionary.isDataField(tag))
            {
                map.setString(tag - 1, Integer.toString(value.length()));
            }
            map.setString(tag, value);
        }
    }

    private void group(
        final FieldMap map,
        final DataDictionary members,
        final String type,
        final int count,
        final double share,
        final int depth,
        final Random random)
    {
        final DataDictionary.GroupInfo info = members.getGroup(type, count);
        final int[] order = info.getDataDictionary().getOrderedFields();
        final int entries = 1 + random.nextInt(ENTRIES_MAX);
        for (int entry = 0; entry < entries; entry++)
        {
            final Group group = new Group(count, info.getDelimiterField(), order);
            fill(group, info.getDataDictionary(), type, order, share, depth + 1, random);
            if (!group.isSetField(info.getDelimiterField()))
            {
                return;
            }
            map.addGroup(group);
        }
    }

    private String value(final int tag, final Random random)
    {
        if (dictionary.hasFieldValue(tag))
        {
            return known(tag, random);
        }
        final FieldType type = dictionary.getFieldType(tag);
        return switch (type)
        {
            // A length goes with its data, a count with its group.
            case LENGTH, NUMINGROUP -> null;
            case DATA -> data(random);
            case CHAR -> text(1, random);
            case BOOLEAN -> random.nextBoolean() ? "Y" : "N";
            case INT -> Integer.toString(random.nextInt(200_000) - 100_000);
            case SEQNUM -> Integer.toString(1 + random.nextInt(100_000));
            case DAYOFMONTH -> Integer.toString(1 + random.nextInt(31));
            case QTY -> Integer.toString(1 + random.nextInt(1_000_000));
            case PRICE, AMT, FLOAT, PRICEOFFSET, PERCENTAGE -> decimal(random);
            case CURRENCY -> random.nextBoolean() ? "USD" : "NOK";
            case COUNTRY -> random.nextBoolean() ? "US" : "NO";
            case EXCHANGE -> random.nextBoolean() ? "XCME" : "XOSL";
            case UTCTIMESTAMP -> date(random) + "-" + time(random);
            case UTCTIMEONLY -> time(random);
            case UTCDATEONLY, UTCDATE, LOCALMKTDATE -> date(random);
            case MONTHYEAR -> date(random).substring(0, 6) + (random.nextBoolean() ? "" : "w" + (1 + random.nextInt(5)));
            case STRING, MULTIPLEVALUESTRING -> text(1 + random.nextInt(24), random);
            default -> null;
        };
    }

    /** One of the values that the dictionary names, as far as they can be guessed. */
    private String known(final int tag, final Random random)
    {
        final List<String> values = new ArrayList<>();
        for (int number = 0; number < 100; number++)
        {
            values.add(Integer.toString(number));
        }
        for (char letter = 'A'; letter <= 'z'; letter++)
        {
            values.add(Character.toString(letter));
        }
        values.addAll(List.of(WORDS));
        values.removeIf(value -> !dictionary.isFieldValue(tag, value) || NO_LONGER.getOrDefault(tag, "").contains(value));
        return values.isEmpty() ? null : values.get(random.nextInt(values.size()));
    }

    /** Any bytes: also separators, and what looks like fields. */
    private static String data(final Random random)
    {
        final StringBuilder data = new StringBuilder();
        final int length = 1 + random.nextInt(40);
        while (data.length() < length)
        {
            switch (random.nextInt(4))
            {
                case 0 -> data.append('\001');
                case 1 -> data.append("\00110=123\001");
                case 2 -> data.append("\00134=1\001");
                default -> data.append((char)random.nextInt(256));
            }
        }
        return data.toString();
    }

    private static String text(final int length, final Random random)
    {
        final StringBuilder text = new StringBuilder();
        for (int place = 0; place < length; place++)
        {
            text.append((char)('!' + random.nextInt('~' - '!')));
        }
        return text.toString();
    }

    private static String decimal(final Random random)
    {
        final String sign = random.nextInt(4) == 0 ? "-" : "";
        return switch (random.nextInt(3))
        {
            case 0 -> sign + random.nextInt(100_000);
            case 1 -> sign + random.nextInt(1_000) + "." + (100 + random.nextInt(900));
            default -> sign + "00" + random.nextInt(1_000) + ".500";
        };
    }

    private static String date(final Random random)
    {
        return String.format("20%02d%02d%02d", random.nextInt(60), 1 + random.nextInt(12), 1 + random.nextInt(28));
    }

    private static String time(final Random random)
    {
        final String fraction = random.nextBoolean() ? "" : String.format(".%03d", random.nextInt(1_000));
        return String.format("%02d:%02d:%02d", random.nextInt(24), random.nextInt(60), random.nextInt(60)) + fraction;
    }

    private static int[] allTags()
    {
        final int[] tags = new int[TAG_MAX];
        for (int tag = 0; tag < TAG_MAX; tag++)
        {
            tags[tag] = tag + 1;
        }
        return tags;
    }
}
