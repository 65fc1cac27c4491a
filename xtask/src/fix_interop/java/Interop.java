import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import quickfix.Message;
import quickfix.Session;
import quickfix.field.MsgType;

/**
 * QuickFIX/J against Touchline's FIX session, whose echo sends orders, definitions and emails back as they came.
 *
 * <p>Arguments: initiator|acceptor PORT SEED FOLDER PART. It says what holds, a line each, and what it wants of the
 * program that started it in lines that begin with "&gt; ". Exit status 1: the engines disagree, and how.
 */
public final class Interop
{
    private static final int ORDERS = 300;
    private static final int LIFE_ORDERS = 4_000;
    private static final int PART_MS_MAX = 90_000;

    private final Peer peer;
    private final Random random;
    private int next = 1;

    private Interop(final Peer peer, final long seed)
    {
        this.peer = peer;
        random = new Random(seed);
    }

    public static void main(final String[] arguments) throws Exception
    {
        final boolean isAcceptor = arguments[0].equals("acceptor");
        final int port = Integer.parseInt(arguments[1]);
        final long seed = Long.parseLong(arguments[2]);
        final String part = arguments[4];
        final Peer peer = new Peer(isAcceptor, port, seed, part.equals("reset"), Path.of(arguments[3]));
        final Interop interop = new Interop(peer, seed);
        Thread.setDefaultUncaughtExceptionHandler((thread, error) ->
        {
            error.printStackTrace();
            end(2);
        });
        watch();
        try
        {
            interop.run(part);
        }
        catch (final Failure failure)
        {
            System.out.println(failure.getMessage());
            System.out.println("the last that happened:\n" + peer.diary());
            end(1);
        }
        peer.stop();
        end(0);
    }

    /** Ends without waiting for anybody. */
    private static void end(final int status)
    {
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    /** Whatever happens, this does not run for ever. */
    private static void watch()
    {
        final Thread watch = new Thread(() ->
        {
            try
            {
                Thread.sleep(PART_MS_MAX);
            }
            catch (final InterruptedException end)
            {
                return;
            }
            System.out.println("it takes too long");
            end(2);
        });
        watch.setDaemon(true);
        watch.start();
    }

    private void run(final String part) throws Exception
    {
        logon();
        say("both are logged on");
        switch (part)
        {
            case "all" ->
            {
                orders(ORDERS);
                heartbeats();
                resend();
                ahead();
                rejects();
                logout();
                theirLogout();
            }
            case "reset" ->
            {
                orders(20);
                logout();
                theirLogout();
            }
            case "altered" ->
            {
                peer.alter(17);
                orders(20);
            }
            case "their-death" -> theirDeath();
            case "my-death" -> myDeath();
            case "my-life" -> myLife();
            default -> throw new Failure("there is no part " + part);
        }
    }

    private void logon() throws Exception
    {
        peer.await("the Logon", 20, () -> peer.session() != null && peer.session().isLoggedOn());
    }

    private static void say(final String text)
    {
        System.out.println(text);
    }

    private static void hold(final boolean holds, final String what) throws Failure
    {
        if (!holds)
        {
            throw new Failure("does not hold: " + what);
        }
    }

    private void send(final int messages)
    {
        for (int count = 0; count < messages; count++)
        {
            peer.send(next, Contents.TYPES[random.nextInt(Contents.TYPES.length)]);
            next++;
        }
    }

    private void orders(final int messages) throws Exception
    {
        final int mark = peer.mark();
        send(messages);
        peer.await("the echoes", () -> peer.missing() == 0 || peer.find(mark, true, "3") != null);
        final Peer.Line reject = peer.find(mark, true, "3");
        if (reject != null)
        {
            final int number = Integer.parseInt(reject.field(45));
            final Peer.Line refused = sentLine(mark, number);
            throw new Failure("a message of the dictionary's was rejected: " +
                (reject.text() + "\n" + refused.text()).replace('\001', '|'));
        }
        hold(peer.find(mark, false, "3") == null, "no echo is rejected");
        final int[] kinds = peer.kinds();
        if (messages == ORDERS)
        {
            say(messages + " messages come back as they were: " + kinds[0] + " fields, " + kinds[1] +
                " of them in groups, " + kinds[2] + " with a separator inside");
        }
        hold(messages < ORDERS || kinds[1] > 100 && kinds[2] > 10, "the messages have groups and data");
    }

    private Peer.Line sentLine(final int mark, final int number) throws Failure
    {
        for (final Peer.Line line : peer.lines().subList(mark, peer.mark()))
        {
            if (!line.isIncoming() && line.number() == number)
            {
                return line;
            }
        }
        throw new Failure("nothing was sent under the number " + number);
    }

    /** Signs of life of both, and questions of both. */
    private void heartbeats() throws Exception
    {
        final int mark = peer.mark();
        // QuickFIX/J looks at its clock once a second, so that its heartbeats are up to a second late. With
        // the interval agreed on they would meet the moment when the other side asks.
        peer.session().setHeartBeatInterval(1);
        Thread.sleep(1_300 * Peer.HEARTBEAT_S);
        hold(peer.find(mark, true, "0") != null && peer.find(mark, false, "0") != null, "heartbeats go both ways");
        hold(peer.find(mark, true, "1") == null, "nobody asks while heartbeats come");
        final String question = "ping " + random.nextInt();
        final int asked = peer.mark();
        peer.session().generateTestRequest(question);
        peer.await("the answer to a TestRequest", () -> peer.lines().subList(asked, peer.mark()).stream()
            .anyMatch(line -> line.is(true, "0") && question.equals(line.field(112))));

        final int silent = peer.mark();
        peer.session().setHeartBeatInterval(30);
        peer.await("a TestRequest when this side is silent", () -> peer.find(silent, true, "1") != null);
        peer.await("the answer to it", () -> peer.find(silent, false, "0") != null);
        hold(peer.find(silent, true, "1").field(112).equals(peer.find(silent, false, "0").field(112)), "the answer names the question");
        peer.session().setHeartBeatInterval(Peer.HEARTBEAT_S);
        Thread.sleep(1_500);
        hold(peer.session().isLoggedOn(), "both are still logged on");
        say("heartbeats and test requests, both ways");
    }

    /** This side has forgotten what it received. */
    private void resend() throws Exception
    {
        send(20);
        peer.await("the echoes", () -> peer.missing() == 0);
        final Session session = peer.session();
        peer.await("rest", () -> session.getExpectedTargetNum() == peer.lastIncoming() + 1);
        final int mark = peer.mark();
        final int repeated = peer.repeated();
        // Heartbeats and answers are among them, which a gap fill stands for.
        final int last = session.getExpectedTargetNum() - 1;
        final int first = last - 39;
        session.setNextTargetMsgSeqNum(first);
        send(1);
        peer.await("the ResendRequest", () -> peer.find(mark, false, "2") != null);
        peer.await("the messages again", () -> session.getExpectedTargetNum() > last + 1 && peer.missing() == 0);

        final Map<Integer, String> before = bodies(mark);
        int number = first;
        int fills = 0;
        int again = 0;
        for (final Peer.Line line : peer.lines().subList(mark, peer.mark()))
        {
            if (!line.isIncoming() || !line.isRepeated() || number > last)
            {
                continue;
            }
            hold(line.number() == number, "what is sent again is complete: " + number + " and not " + line.number());
            hold(line.field(122) != null, "what is sent again has an OrigSendingTime");
            if (line.field(35).equals("4"))
            {
                hold("Y".equals(line.field(123)), "a gap fill is marked as one");
                number = Integer.parseInt(line.field(36));
                fills++;
                continue;
            }
            hold(line.body().equals(before.get(number)), "message " + number + " is the same when it is sent again");
            number++;
            again++;
        }
        hold(number > last && fills > 0 && again > 0, "messages and gap fills fill the hole");
        hold(peer.repeated() - repeated >= again, "the application sees what is sent again, with PossDupFlag");
        say(again + " messages are sent again and " + fills + " gaps filled");
    }

    /** Bodies of what came before the mark, by number. */
    private Map<Integer, String> bodies(final int mark)
    {
        final Map<Integer, String> bodies = new HashMap<>();
        for (final Peer.Line line : peer.lines().subList(0, mark))
        {
            if (line.isIncoming() && !line.isRepeated())
            {
                bodies.put(line.number(), line.body());
            }
        }
        return bodies;
    }

    /** This side's numbers jump: the other must ask for what is between. */
    private void ahead() throws Exception
    {
        final Session session = peer.session();
        final int mark = peer.mark();
        final int hole = session.getExpectedSenderNum();
        session.setNextSenderMsgSeqNum(hole + 5);
        send(10);
        peer.await("a ResendRequest", () -> peer.find(mark, true, "2") != null);
        hold(peer.find(mark, true, "2").field(7).equals(Integer.toString(hole)), "it asks from the number that is missing");
        peer.await("the echoes", () -> peer.missing() == 0);
        final int asked = peer.mark();
        orders(10);
        hold(peer.find(asked, true, "2") == null, "the hole is filled");
        say("numbers that jump are asked for, and each message is answered once");
    }

    /** Messages that are wrong, each in its own way; then one that the other side must hear is wrong. */
    private void rejects() throws Exception
    {
        final Message badValue = order();
        badValue.setString(54, "Z");
        reject(badValue, "54", "5");
        final Message missing = order();
        missing.removeField(40);
        reject(missing, "40", "1");
        final Message format = order();
        format.setString(38, "abc");
        reject(format, "38", "6");
        final Message foreign = order();
        foreign.setString(270, "1");
        reject(foreign, "270", "2");
        final Message undefined = order();
        undefined.setString(4_999, "1");
        reject(undefined, "4999", "0", "3");
        final Message type = new Message();
        type.getHeader().setString(MsgType.FIELD, "ZZ");
        reject(type, null, "11");

        final int asked = peer.mark();
        final Message news = new Message();
        news.getHeader().setString(MsgType.FIELD, "B");
        news.setString(148, "headline");
        final quickfix.Group line = new quickfix.Group(33, 58);
        line.setString(58, "text");
        news.addGroup(line);
        final int number = peer.session().getExpectedSenderNum();
        peer.session().send(news);
        peer.await("the BusinessMessageReject", () -> peer.find(asked, true, "j") != null);
        final Peer.Line answer = peer.find(asked, true, "j");
        hold(answer.field(45).equals(Integer.toString(number)) && "3".equals(answer.field(380)), "it names message and reason");

        final int mark = peer.mark();
        peer.refuse(next);
        peer.send(next, "D");
        next++;
        peer.await("this side's Reject", () -> peer.find(mark, false, "3") != null);
        peer.forget();
        orders(10);
        hold(peer.find(mark, true, "2") == null && peer.find(mark, false, "2") == null, "nobody misses anything after rejects");
        say("wrong messages are rejected with reason and tag, and the session goes on");
    }

    /** A good order with little in it. */
    private Message order()
    {
        final Message order = new Message();
        order.getHeader().setString(MsgType.FIELD, "D");
        order.setString(11, "x");
        order.setString(55, "ESZ6");
        order.setString(54, "1");
        order.setString(60, "20260101-12:00:00");
        order.setString(38, "100");
        order.setString(40, "1");
        return order;
    }

    private void reject(final Message message, final String tag, final String... reasons) throws Exception
    {
        final int mark = peer.mark();
        final int number = peer.session().getExpectedSenderNum();
        final String type = message.getHeader().getString(MsgType.FIELD);
        peer.session().send(message);
        peer.await("the Reject of " + tag, () -> peer.find(mark, true, "3") != null);
        final Peer.Line reject = peer.find(mark, true, "3");
        final String text = reject.text().replace('\001', '|');
        hold(Integer.toString(number).equals(reject.field(45)) && type.equals(reject.field(372)), "the Reject names the message: " + text);
        hold(tag == null || tag.equals(reject.field(371)), "the Reject names the tag " + tag + ": " + text);
        hold(List.of(reasons).contains(reject.field(373)), "the reason is " + List.of(reasons) + ": " + text);
    }

    /** This side logs out, and both log on again and go on with their numbers, or with 1 where a Logon resets. */
    private void logout() throws Exception
    {
        final int mark = peer.mark();
        final Session session = peer.session();
        session.logout("that is all");
        peer.await("the answer to a Logout", () -> peer.find(mark, true, "5") != null);
        peer.await("the end of the connection", () -> !session.isLoggedOn());
        final int out = session.getExpectedSenderNum();
        final int again = peer.mark();
        session.logon();
        logon();
        final Peer.Line theirs = peer.find(again, true, "A");
        final Peer.Line mine = peer.find(again, false, "A");
        final boolean isReset = "Y".equals(theirs.field(141));
        hold(mine.number() == (isReset ? 1 : out), "the numbers go on, or begin again where a Logon says so");
        orders(20);
        hold(peer.find(again, true, "2") == null && peer.find(again, false, "2") == null, "nobody misses anything");
        say("this side logs out and on again, " + (isReset ? "with numbers from 1" : "and the numbers go on"));
    }

    /** The other side logs out. */
    private void theirLogout() throws Exception
    {
        final int mark = peer.mark();
        say("> stop");
        peer.await("their Logout", () -> peer.find(mark, true, "5") != null);
        peer.await("the answer to it", () -> peer.find(mark, false, "5") != null);
        peer.await("the end of the connection", () -> !peer.session().isLoggedOn());
        hold(!"Y".equals(peer.find(mark, true, "5").field(43)), "it is a Logout of now");
        say("the other side logs out and is answered");
    }

    /** The other side is killed in the middle and comes again without memory: it resets the numbers. */
    private void theirDeath() throws Exception
    {
        final int death = 50 + random.nextInt(50);
        for (int count = 0; count < 200; count++)
        {
            if (count == death)
            {
                say("> kill");
            }
            peer.send(next, "D");
            next++;
            Thread.sleep(2);
        }
        peer.await("their second Logon", 20, () -> peer.lines().stream().filter(line -> line.is(true, "A")).count() == 2);
        peer.await("the session", () -> peer.session().isLoggedOn());
        Thread.sleep(500);
        final int lost = peer.forget();
        final Peer.Line again = peer.lines().stream().filter(line -> line.is(true, "A")).toList().get(1);
        hold("Y".equals(again.field(141)) && again.number() == 1, "who has lost the numbers says so");
        orders(30);
        say("the other side is killed and comes again with numbers from 1; " + lost + " orders of the time between are lost");
    }

    /** This engine is killed in the middle. */
    private void myDeath() throws Exception
    {
        final int death = 100 + random.nextInt(100);
        for (int count = 0; count < LIFE_ORDERS; count++)
        {
            if (count == death)
            {
                say("> kill me");
            }
            peer.send(next, "D");
            next++;
            // A burst around the death, so that much is on its way.
            final boolean isBurst = death - 10 < count && count < death + 300;
            if (!isBurst && random.nextInt(8) == 0)
            {
                Thread.sleep(1);
            }
        }
        Thread.sleep(60_000);
        throw new Failure("nobody killed this engine");
    }

    /** It lives again, with its store: everything that it sent must have been answered, nothing twice without a mark. */
    private void myLife() throws Exception
    {
        final int before = peer.echoed();
        int sent = 0;
        for (final String text : peer.kept())
        {
            final Peer.Line line = new Peer.Line(false, text);
            if ("D".equals(line.field(35)))
            {
                final int number = Contents.number(line.field(11));
                peer.sent(number);
                next = Math.max(next, number + 1);
                sent++;
            }
        }
        peer.await("the echoes of the life before", 15, () -> peer.missing() == 0);
        orders(30);
        final int late = peer.echoed() - before - 30;
        hold(sent < LIFE_ORDERS, "it died in the middle");
        say("this engine is killed and comes again: of " + sent + " orders " + late + " echoes come only then, none is lost");
    }
}
