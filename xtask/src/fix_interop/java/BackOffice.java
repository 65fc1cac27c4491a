import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.StringJoiner;
import quickfix.Application;
import quickfix.ConfigError;
import quickfix.DefaultMessageFactory;
import quickfix.FieldMap;
import quickfix.FieldNotFound;
import quickfix.FileStoreFactory;
import quickfix.Log;
import quickfix.LogFactory;
import quickfix.Message;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionSettings;
import quickfix.SocketInitiator;
import quickfix.UnsupportedMessageType;
import quickfix.field.MsgType;

/**
 * A back office: a QuickFIX/J initiator that receives the drop copy of `touchline fx report`.
 *
 * <p>Arguments: PORT FOLDER. The folder has the store, and the file `reports`, to which each ExecutionReport is added before
 * QuickFIX/J stores its number. Commands on standard input, one a line:
 *
 * <ul>
 *   <li>`drop`: closes the connection without a Logout; QuickFIX/J opens it again
 *   <li>`forget`: logs out, forgets the number of what it received, and logs on
 *   <li>`reset`: logs out, and logs on with ResetSeqNumFlag
 *   <li>`end`: logs out and ends
 * </ul>
 *
 * <p>Standard output says what happened, a line each. Exit status 1: this side rejected a message.
 */
public final class BackOffice implements Application, LogFactory
{
    /** Fields in a line of the file; an absent one is empty. */
    private static final int[] HEADER = {43, 97};
    private static final int[] BODY = {17, 150, 39, 11, 19, 32, 31, 14, 6, 151};

    private static final SessionID ID = new SessionID("FIX.4.4", "OPS", "TOUCHLINE");

    private final int port;
    private final Path folder;
    private final OutputStream reports;
    private final OutputStream wire;
    private SocketInitiator initiator;

    private BackOffice(final int port, final Path folder) throws IOException
    {
        this.port = port;
        this.folder = folder;
        reports = new FileOutputStream(folder.resolve("reports").toFile(), true);
        wire = new FileOutputStream(folder.resolve("wire").toFile(), true);
    }

    public static void main(final String[] arguments) throws Exception
    {
        Thread.setDefaultUncaughtExceptionHandler((thread, error) ->
        {
            error.printStackTrace();
            end(2);
        });
        final BackOffice office = new BackOffice(Integer.parseInt(arguments[0]), Path.of(arguments[1]));
        office.start(false);
        final BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String command = commands.readLine(); command != null; command = commands.readLine())
        {
            office.obey(command);
        }
        end(0);
    }

    /** Ends without waiting for anybody. */
    private static void end(final int status)
    {
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private void obey(final String command) throws Exception
    {
        if (command.equals("drop"))
        {
            Session.lookupSession(ID).disconnect("dropped", false);
            return;
        }
        initiator.stop();
        switch (command)
        {
            case "forget" ->
            {
                new FileStoreFactory(settings(false)).create(ID).setNextTargetMsgSeqNum(1);
                start(false);
            }
            case "reset" -> start(true);
            case "end" -> end(0);
            default -> throw new IllegalArgumentException(command);
        }
    }

    private void start(final boolean isReset) throws ConfigError
    {
        final SessionSettings settings = settings(isReset);
        final FileStoreFactory stores = new FileStoreFactory(settings);
        initiator = new SocketInitiator(this, stores, settings, this, new DefaultMessageFactory());
        initiator.start();
    }

    private SessionSettings settings(final boolean isReset)
    {
        final SessionSettings settings = new SessionSettings();
        settings.setString("ConnectionType", "initiator");
        settings.setString("NonStopSession", "Y");
        settings.setString("HeartBtInt", "1");
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
        settings.setString("SocketConnectHost", "127.0.0.1");
        settings.setString("SocketConnectPort", Integer.toString(port));
        settings.setString("SocketTcpNoDelay", "Y");
        settings.setString(ID, "BeginString", ID.getBeginString());
        return settings;
    }

    @Override
    public void fromApp(final Message message, final SessionID session) throws FieldNotFound, UnsupportedMessageType
    {
        if (!message.getHeader().getString(MsgType.FIELD).equals("8"))
        {
            throw new UnsupportedMessageType();
        }
        final StringJoiner line = new StringJoiner("\t", "", "\n");
        add(line, message.getHeader(), HEADER);
        add(line, message, BODY);
        write(reports, line.toString());
    }

    private static void add(final StringJoiner line, final FieldMap fields, final int[] tags) throws FieldNotFound
    {
        for (final int tag : tags)
        {
            line.add(fields.isSetField(tag) ? fields.getString(tag) : "");
        }
    }

    private static void write(final OutputStream file, final String line)
    {
        try
        {
            file.write(line.getBytes(StandardCharsets.UTF_8));
        }
        catch (final IOException error)
        {
            error.printStackTrace();
            end(2);
        }
    }

    /** What this side rejects does not conform to QuickFIX/J's dictionary of FIX 4.4, or has no place in the session. */
    private void sent(final String message)
    {
        note("-> " + message);
        if (message.contains("\00135=3\001") || message.contains("\00135=j\001"))
        {
            System.out.println("rejected: " + message.replace('\001', '|'));
            end(1);
        }
    }

    private synchronized void note(final String line)
    {
        write(wire, line.replace('\001', '|') + "\n");
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
                note("<- " + message);
            }

            @Override
            public void onOutgoing(final String message)
            {
                sent(message);
            }

            @Override
            public void onEvent(final String text)
            {
                note(text);
            }

            @Override
            public void onErrorEvent(final String text)
            {
                note("ERROR " + text);
            }
        };
    }

    @Override
    public void fromAdmin(final Message message, final SessionID session) throws FieldNotFound
    {
        if (message.getHeader().getString(MsgType.FIELD).equals(MsgType.LOGOUT) && message.isSetField(58))
        {
            System.out.println("logged out: " + message.getString(58));
        }
    }

    @Override
    public void onLogon(final SessionID session)
    {
        System.out.println("logged on");
    }

    @Override
    public void onLogout(final SessionID session)
    {
        System.out.println("disconnected");
    }

    @Override
    public void onCreate(final SessionID session)
    {
    }

    @Override
    public void toAdmin(final Message message, final SessionID session)
    {
    }

    @Override
    public void toApp(final Message message, final SessionID session)
    {
    }
}
