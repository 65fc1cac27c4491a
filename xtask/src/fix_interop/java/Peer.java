import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import quickfix.Application;
import quickfix.DataDictionary;
import quickfix.DefaultMessageFactory;
import quickfix.DoNotSend;
import quickfix.FieldNotFound;
import quickfix.FileStoreFactory;
import quickfix.Group;
import quickfix.IncorrectTagValue;
import quickfix.Log;
import quickfix.LogFactory;
import quickfix.Message;
import quickfix.MessageStore;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionSettings;
import quickfix.SocketAcceptor;
import quickfix.SocketInitiator;
import quickfix.mina.SessionConnector;
import quickfix.field.MsgType;

/**
 * QuickFIX/J with an application that sends messages and holds the echoes against them.
 *
 * <p>Every line that goes over the wire is kept, as the engine's own log has it.
 */
final class Peer implements Application, LogFactory
{
    /** HeartBtInt of both sides in seconds; ours.rs has it, too. */
    static final int HEARTBEAT_S = 3;

    /** A message on the wire. */
    record Line(boolean isIncoming, String text)
    {
        /** The first field of this tag; good for the header, and for messages without data. */
        String field(final int tag)
        {
            final String start = "\001" + tag + "=";
            final int at = text.indexOf(start);
            return at < 0 ? null : text.substring(at + start.length(), text.indexOf('\001', at + 1));
        }

        boolean is(final boolean incoming, final String type)
        {
            return isIncoming == incoming && type.equals(field(35));
        }

        int number()
        {
            return Integer.parseInt(field(34));
        }

        boolean isRepeated()
        {
            return "Y".equals(field(43));
        }

        /** What stands behind the header and before the sum. */
        String body()
        {
            int at = 0;
            while (HEADER.contains("|" + text.substring(at, text.indexOf('=', at)) + "|"))
            {
                at = text.indexOf('\001', at) + 1;
            }
            return text.substring(at, text.length() - "10=000\001".length());
        }
    }

    private static final String HEADER = "|8|9|35|49|56|34|43|97|52|122|";

    final SessionID id;
    final Contents contents;
    private final boolean isAcceptor;
    private final SessionConnector connector;
    private final FileOutputStream diary;
    /** What was sent and what came back, by number. Guarded by this object, like everything below. */
    private final Map<Integer, String> types = new TreeMap<>();
    private final Map<Integer, Integer> echoes = new TreeMap<>();
    /** What an engine that was killed has sent. */
    private final List<String> kept = new ArrayList<>();
    private final List<Line> lines = new ArrayList<>();
    private final List<String> events = new ArrayList<>();
    private final int[] kinds = new int[3];
    private String failure;
    private int repeated;
    private int altered = -1;
    private int refused = -1;

    Peer(final boolean isAcceptor, final int port, final long seed, final boolean isReset, final Path folder)
        throws Exception
    {
        this.isAcceptor = isAcceptor;
        final DataDictionary dictionary = new DataDictionary("FIX44.xml");
        contents = new Contents(dictionary, seed);
        id = isAcceptor ? new SessionID("FIX.4.4", "ISLD", "TW44") : new SessionID("FIX.4.4", "TW44", "ISLD");
        Files.createDirectories(folder);
        final Path path = folder.resolve("echoes");
        if (Files.exists(path))
        {
            // Echoes that came before this engine was killed.
            Files.readAllLines(path).forEach(line -> echoes.merge(Integer.parseInt(line), 1, Integer::sum));
        }
        diary = new FileOutputStream(path.toFile(), true);
        final SessionSettings settings = settings(port, isReset, folder);
        final FileStoreFactory stores = new FileStoreFactory(settings);
        // Before the engine runs: its store has one file handle, which a resend of the engine moves, too.
        final MessageStore store = stores.create(id);
        store.get(1, store.getNextSenderMsgSeqNum() - 1, kept);
        final DefaultMessageFactory messages = new DefaultMessageFactory();
        connector = isAcceptor
            ? new SocketAcceptor(this, stores, settings, this, messages)
            : new SocketInitiator(this, stores, settings, this, messages);
        connector.start();
    }

    private SessionSettings settings(final int port, final boolean isReset, final Path folder)
    {
        final SessionSettings settings = new SessionSettings();
        settings.setString("ConnectionType", isAcceptor ? "acceptor" : "initiator");
        settings.setString("NonStopSession", "Y");
        settings.setString("HeartBtInt", Integer.toString(HEARTBEAT_S));
        // While it beats faster than agreed on, it must not expect the same of the other side.
        settings.setString("TestRequestDelayMultiplier", "5");
        settings.setString("HeartBeatTimeoutMultiplier", "10");
        settings.setString("ReconnectInterval", "1");
        settings.setString("UseDataDictionary", "Y");
        settings.setString("DataDictionary", "FIX44.xml");
        settings.setString("ValidateFieldsOutOfOrder", "Y");
        settings.setString("ValidateUnorderedGroupFields", "Y");
        settings.setString("ValidateFieldsHaveValues", "Y");
        settings.setString("ValidateUserDefinedFields", "Y");
        settings.setString("AllowUnknownMsgFields", "N");
        settings.setString("ResetOnLogon", isReset ? "Y" : "N");
        settings.setString("FileStorePath", folder.resolve("store").toString());
        settings.setString("SocketAcceptAddress", "127.0.0.1");
        settings.setString("SocketAcceptPort", Integer.toString(port));
        settings.setString("SocketConnectHost", "127.0.0.1");
        settings.setString("SocketConnectPort", Integer.toString(port));
        settings.setString("SocketTcpNoDelay", "Y");
        settings.setString(id, "BeginString", id.getBeginString());
        return settings;
    }

    Session session()
    {
        return Session.lookupSession(id);
    }

    void stop()
    {
        connector.stop(true);
    }

    /** Sends the message of this number, an order unless the number says otherwise. */
    void send(final int number, final String type)
    {
        synchronized (this)
        {
            types.put(number, type);
        }
        session().send(contents.message(number, type));
    }

    /** The echo of this message is changed before it is compared. */
    synchronized void alter(final int number)
    {
        altered = number;
    }

    /** The echo of this message is refused with a Reject. */
    synchronized void refuse(final int number)
    {
        refused = number;
    }

    /** These messages were sent by the engine that was killed. */
    synchronized void sent(final int number)
    {
        types.put(number, "D");
    }

    /** What was sent to nobody need not come back. Answers how many those are. */
    synchronized int forget()
    {
        final int before = types.size();
        types.keySet().retainAll(echoes.keySet());
        return before - types.size();
    }

    synchronized int missing()
    {
        int missing = 0;
        for (final int number : types.keySet())
        {
            missing += echoes.containsKey(number) ? 0 : 1;
        }
        return missing;
    }

    /** What the engine had sent before it began to run now. */
    List<String> kept()
    {
        return kept;
    }

    synchronized int echoed()
    {
        return echoes.size();
    }

    synchronized int repeated()
    {
        return repeated;
    }

    synchronized int[] kinds()
    {
        return kinds.clone();
    }

    /** What went over the wire so far. */
    synchronized List<Line> lines()
    {
        return new ArrayList<>(lines);
    }

    synchronized int mark()
    {
        return lines.size();
    }

    /** The first line of this type since the mark. */
    synchronized Line find(final int mark, final boolean isIncoming, final String type)
    {
        return lines.subList(mark, lines.size()).stream().filter(line -> line.is(isIncoming, type)).findFirst().orElse(null);
    }

    /** The highest number that came. */
    synchronized int lastIncoming()
    {
        return lines.stream().filter(Line::isIncoming).mapToInt(Line::number).max().orElse(0);
    }

    /** Waits until it holds. */
    void await(final String what, final BooleanSupplier holds) throws Exception
    {
        await(what, 10, holds);
    }

    void await(final String what, final int seconds, final BooleanSupplier holds) throws Exception
    {
        final long until = System.nanoTime() + seconds * 1_000_000_000L;
        while (!holds.getAsBoolean())
        {
            check();
            if (System.nanoTime() > until)
            {
                throw new Failure("did not come: " + what);
            }
            Thread.sleep(5);
        }
        check();
    }

    synchronized void check() throws Failure
    {
        if (failure != null)
        {
            throw new Failure(failure);
        }
    }

    /** The last that happened, for people. */
    synchronized String diary()
    {
        final StringBuilder text = new StringBuilder();
        for (final String event : events.subList(Math.max(0, events.size() - 12), events.size()))
        {
            final String start = event.substring(0, Math.min(event.length(), 160));
            text.append("  ").append(start.replace('\001', '|')).append('\n');
        }
        return text.toString();
    }

    private synchronized void fail(final String what)
    {
        if (failure == null)
        {
            failure = what;
        }
    }

    @Override
    public void fromApp(final Message message, final SessionID session) throws FieldNotFound, IncorrectTagValue
    {
        final String type = message.getHeader().getString(MsgType.FIELD);
        if (type.equals("j"))
        {
            return;
        }
        final int number = Contents.number(message.getString(Contents.keyTag(type)));
        final boolean isDuplicate = message.getHeader().isSetField(43) && message.getHeader().getBoolean(43);
        synchronized (this)
        {
            if (number == refused)
            {
                refused = -1;
                throw new IncorrectTagValue(Contents.keyTag(type));
            }
            if (number == altered)
            {
                alter(message);
            }
            compare(number, type, message);
            final int times = echoes.merge(number, 1, Integer::sum);
            if (times > 1)
            {
                repeated++;
                if (!isDuplicate)
                {
                    fail("message " + number + " came back twice, the second time without PossDupFlag");
                }
            }
        }
        try
        {
            diary.write((number + "\n").getBytes(StandardCharsets.US_ASCII));
        }
        catch (final IOException error)
        {
            fail(error.toString());
        }
    }

    private void compare(final int number, final String type, final Message echo)
    {
        final List<String> sent = Contents.fields(contents.message(number, type));
        final List<String> received = Contents.fields(echo);
        Contents.count(received, kinds);
        if (sent.equals(received))
        {
            return;
        }
        final List<String> less = new ArrayList<>(sent);
        final List<String> more = new ArrayList<>(received);
        less.removeAll(received);
        more.removeAll(sent);
        fail(("message " + number + " (" + type + ") was echoed differently: " + less + " became " + more)
            .replace('\001', '|'));
    }

    /** Changes one field, in a group where there is one. */
    private static void alter(final Message message) throws FieldNotFound
    {
        final var groups = message.groupKeyIterator();
        if (groups.hasNext())
        {
            final Group group = message.getGroups(groups.next()).get(0);
            group.setString(group.iterator().next().getTag(), "altered");
        }
        else
        {
            message.setString(58, "altered");
        }
    }

    @Override
    public Log create(final SessionID session)
    {
        return new Log()
        {
            @Override
            public void clear()
            {
            }

            @Override
            public void onIncoming(final String message)
            {
                note(new Line(true, message));
            }

            @Override
            public void onOutgoing(final String message)
            {
                note(new Line(false, message));
            }

            @Override
            public void onEvent(final String text)
            {
                event(text);
            }

            @Override
            public void onErrorEvent(final String text)
            {
                event("ERROR " + text);
            }
        };
    }

    private synchronized void note(final Line line)
    {
        lines.add(line);
        event((line.isIncoming() ? "<- " : "-> ") + line.text());
    }

    private synchronized void event(final String text)
    {
        events.add(text);
    }

    @Override
    public void onCreate(final SessionID session)
    {
    }

    @Override
    public void onLogon(final SessionID session)
    {
    }

    @Override
    public void onLogout(final SessionID session)
    {
    }

    @Override
    public void toAdmin(final Message message, final SessionID session)
    {
    }

    @Override
    public void fromAdmin(final Message message, final SessionID session)
    {
    }

    @Override
    public void toApp(final Message message, final SessionID session) throws DoNotSend
    {
    }
}
