import java.io.BufferedOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Reads a stream of native messages with the codecs that the official SBE tool has generated, and writes down what
 * they say (their own toString) and the messages again (field by field, through the generated encoders).
 *
 * <p>It knows no message and no field: what there is it learns from the generated classes. A stream is messages one
 * behind the other, each behind its length, a little-endian 32-bit integer.
 *
 * <p>A message of a template that is not named is passed over, with a line that says so.
 *
 * <p>Arguments: STREAM DUMP AGAIN MESSAGE..., the last being the names of the messages.
 */
public final class Oracle
{
    private static final String PACKAGE = "touchline.sbe.";
    private static final int HEADER_LENGTH = 8;
    private static final int MESSAGE_LENGTH_MAX = 1 << 17;

    private final Map<Integer, String> names = new HashMap<>();
    private final Object headerDecoder = create("MessageHeaderDecoder");
    private final Object headerEncoder = create("MessageHeaderEncoder");

    public static void main(final String[] arguments) throws Exception
    {
        final ByteBuffer stream = ByteBuffer.wrap(Files.readAllBytes(Path.of(arguments[0])));
        stream.order(ByteOrder.LITTLE_ENDIAN);
        final Oracle oracle = new Oracle(Arrays.asList(arguments).subList(3, arguments.length));
        try (PrintStream dump = new PrintStream(open(arguments[1]), false, StandardCharsets.ISO_8859_1);
            OutputStream again = open(arguments[2]))
        {
            while (stream.hasRemaining())
            {
                final byte[] message = new byte[stream.getInt()];
                stream.get(message);
                oracle.message(message, dump, again);
            }
        }
    }

    private Oracle(final List<String> messages) throws Exception
    {
        for (final String name : messages)
        {
            final Class<?> decoder = Class.forName(PACKAGE + name + "Decoder");
            names.put(decoder.getField("TEMPLATE_ID").getInt(null), name);
        }
    }

    private static OutputStream open(final String path) throws Exception
    {
        return new BufferedOutputStream(Files.newOutputStream(Path.of(path)));
    }

    private static Object create(final String name) throws Exception
    {
        return Class.forName(PACKAGE + name).getConstructor().newInstance();
    }

    private void message(final byte[] bytes, final PrintStream dump, final OutputStream again) throws Exception
    {
        final ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        final String name = names.get((int)in.getShort(2));
        if (name == null)
        {
            dump.println("Unknown");
            return;
        }
        final Object decoder = create(name + "Decoder");
        final UnsafeBuffer source = new UnsafeBuffer(bytes);
        wrap(decoder, source, headerDecoder);
        final String text = decoder.toString();
        dump.println(name + " " + text.substring(text.indexOf("):") + 2));

        final UnsafeBuffer target = new UnsafeBuffer(new byte[MESSAGE_LENGTH_MAX]);
        final Object encoder = create(name + "Encoder");
        wrap(decoder, source, headerDecoder);
        wrap(encoder, target, headerEncoder);
        copy(decoder, encoder);
        final int length = HEADER_LENGTH + (int)call(encoder, "encodedLength");
        again.write(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(length).array());
        again.write(target.byteArray(), 0, length);
    }

    private static void wrap(final Object codec, final UnsafeBuffer buffer, final Object header) throws Exception
    {
        for (final Method method : codec.getClass().getMethods())
        {
            if (method.getName().equals("wrapAndApplyHeader"))
            {
                method.invoke(codec, buffer, 0, header);
                return;
            }
        }
        throw new IllegalStateException("no wrapAndApplyHeader in " + codec.getClass());
    }

    /** All fields, then all groups in the order of their ids, which is that of the schema. */
    private static void copy(final Object from, final Object to) throws Exception
    {
        final List<String> groups = new ArrayList<>();
        for (final Method method : from.getClass().getDeclaredMethods())
        {
            final String name = method.getName();
            if (!Modifier.isStatic(method.getModifiers()) || !name.endsWith("Id"))
            {
                continue;
            }
            if (name.endsWith("DecoderId"))
            {
                groups.add(name.substring(0, name.length() - "DecoderId".length()));
            }
            else
            {
                field(from, to, name.substring(0, name.length() - "Id".length()));
            }
        }
        groups.sort((a, b) -> Long.compare(groupId(from, a), groupId(from, b)));
        for (final String group : groups)
        {
            group(from, to, group);
        }
    }

    private static long groupId(final Object decoder, final String group)
    {
        try
        {
            return (long)call(decoder, group + "DecoderId");
        }
        catch (final Exception exception)
        {
            throw new IllegalStateException(exception);
        }
    }

    private static void group(final Object from, final Object to, final String name) throws Exception
    {
        final Object entries = call(from, name);
        final int count = (int)call(entries, "count");
        final Object places = to.getClass().getMethod(name + "Count", int.class).invoke(to, count);
        for (int i = 0; i < count; i++)
        {
            call(entries, "next");
            call(places, "next");
            copy(entries, places);
        }
    }

    private static void field(final Object from, final Object to, final String name) throws Exception
    {
        final Method getter = from.getClass().getMethod(name);
        final Class<?> type = getter.getReturnType();
        if (type == String.class)
        {
            final String suffix = Character.toUpperCase(name.charAt(0)) + name.substring(1);
            final byte[] text = new byte[(int)call(from, name + "Length")];
            from.getClass().getMethod("get" + suffix, byte[].class, int.class).invoke(from, text, 0);
            to.getClass().getMethod("put" + suffix, byte[].class, int.class).invoke(to, text, 0);
        }
        else if (type.isPrimitive() || type.isEnum())
        {
            to.getClass().getMethod(name, type).invoke(to, getter.invoke(from));
        }
        else if (type.getSimpleName().equals("PriceDecoder"))
        {
            final Object price = call(to, name);
            final Object mantissa = call(getter.invoke(from), "mantissa");
            price.getClass().getMethod("mantissa", long.class).invoke(price, mantissa);
        }
        else
        {
            choices(getter.invoke(from), call(to, name));
        }
    }

    private static void choices(final Object from, final Object to) throws Exception
    {
        call(to, "clear");
        for (final Method choice : to.getClass().getDeclaredMethods())
        {
            if (!Modifier.isStatic(choice.getModifiers()) &&
                Arrays.equals(choice.getParameterTypes(), new Class<?>[]{boolean.class}))
            {
                choice.invoke(to, call(from, choice.getName()));
            }
        }
    }

    private static Object call(final Object object, final String method) throws Exception
    {
        return object.getClass().getMethod(method).invoke(object);
    }
}
