import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { waitForCondition } from '../../../../test/support/harness/scripted-http-server.ts';
import {
  errorCodeOf,
  type ScriptedReply,
  tenSecondSignal,
  useScriptedNas,
} from '../../../../test/support/harness/scripted-nas.ts';
import type { ProviderError } from '../../../lib/errors.ts';

const at = useScriptedNas();

/** Makes the client receive a notification on each of its connections. */
async function letHear(): Promise<void> {
  const open = [...at.server.sockets].filter(({ readyState, OPEN }) => readyState === OPEN);
  const answers = open.map(async (socket) => {
    const heard = new AbortController();
    const events = ['pong', 'close'].map((event) => once(socket, event, heard));
    socket.send('{}');
    socket.ping();
    await Promise.race(events);
    heard.abort();
    await Promise.allSettled(events);
  });
  await Promise.all(answers);
}

describe('the connection', () => {
  it('T2: opens once for concurrent calls, with the user and key of the Secret, and not before a call', async () => {
    expect(at.server.connections).toBe(0);
    await Promise.all([at.read(), at.read(), at.change()]);
    expect(at.server.connections).toBe(1);
    expect(at.server.named('auth.login_ex').map(({ params }) => params)).toEqual([
      [{ mechanism: 'API_KEY_PLAIN', username: 'root', api_key: '1-key', login_options: { user_info: true } }],
    ]);
  });

  it('tries a refused key once a minute at most, however many machines ask: no lock-out', async () => {
    at.server.login = () => ({ response_type: 'AUTH_ERR' });
    for (let i = 0; i < 20; i += 1) expect(await errorCodeOf(at.read())).toBe('TRUENAS_KEY_REFUSED');
    expect(at.server.connections).toBe(1);
    await at.clock.advance(60_000);
    at.server.login = () => ({ response_type: 'SUCCESS' });
    await at.read();
    expect(at.server.connections).toBe(2);
  });

  it('T4: retries with growing pauses of half a minute at most, and one attempt at a time', async () => {
    await at.server.close();
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 8; attempt += 1) {
      const errors = await Promise.all(Array.from({ length: 50 }, () => at.read().catch((error: unknown) => error)));
      for (const error of errors) expect(error).toMatchObject({ code: 'TRUENAS_UNREACHABLE' });
      const pause = (errors[0] as ProviderError).retryAfterSeconds!;
      pauses.push(pause);
      await at.clock.advance(pause * 1000);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  });

  it.each([
    {
      trouble: 'could not be reached before',
      begin: async () => {
        at.server.login = () => 'hang-up';
        expect(await errorCodeOf(at.read())).toBe('TRUENAS_UNREACHABLE');
        await at.clock.advance(1000);
      },
    },
    {
      trouble: 'fell silent',
      begin: async () => {
        const { rpc } = await at.nas.session(tenSecondSignal());
        for (const socket of at.server.sockets) socket.terminate();
        await rpc.closed;
      },
    },
  ])('delays other callers for a few seconds only when the system $trouble', async ({ begin }) => {
    await begin();
    at.server.login = () => 'silence';
    let first: unknown = 'waits';
    const attempt = errorCodeOf(at.read()).then((code) => {
      first = code;
    });
    const others = [at.read(), at.read()].map(errorCodeOf);
    await waitForCondition(() => at.server.named('auth.login_ex').length === 2, 'the second attempt is made');
    await at.clock.advance(3000);
    expect(await Promise.all(others)).toEqual(['TRUENAS_UNREACHABLE', 'TRUENAS_UNREACHABLE']);
    expect(await errorCodeOf(at.read())).toBe('TRUENAS_UNREACHABLE');
    expect(first).toBe('waits');
    await at.nas.close();
    await attempt;
  });

  it('continues callers that waited for a successful attempt', async () => {
    at.server.login = () => 'hang-up';
    await errorCodeOf(at.read());
    await at.clock.advance(1000);
    at.server.login = () => ({ response_type: 'SUCCESS' });
    expect(await Promise.all([at.read(), at.read(), at.read()])).toHaveLength(3);
    expect(at.server.connections).toBe(2);
  });

  it('closes for good with the process, and pending calls end', async () => {
    at.server.script = () => 'silence';
    const pending = errorCodeOf(at.change());
    await waitForCondition(() => at.server.named('vm.create').length === 1, 'the call is in hand');
    await at.nas.close();
    expect(await pending).toBe('TRUENAS_OUTCOME_UNKNOWN');
    expect(await errorCodeOf(at.read())).toBe('TRUENAS_UNREACHABLE');
    expect(at.server.connections).toBe(1);
  });

  it('T7, S41: is kept alive by pings, and closed after five minutes without calls', async () => {
    await at.read();
    const { rpc } = await at.nas.session(tenSecondSignal());
    let pings = 0;
    let closedWith: number | undefined;
    const [socket] = at.server.sockets;
    socket!.on('ping', () => {
      pings += 1;
    });
    socket!.on('close', (code) => {
      closedWith = code;
    });
    for (let beat = 1; rpc.open && beat < 30; beat += 1) {
      await at.clock.advance(20_000);
      await waitForCondition(() => pings === beat || !rpc.open, 'it is pinged');
      if (rpc.open) await letHear();
    }
    await waitForCondition(() => closedWith !== undefined, 'it is closed');
    expect(closedWith).toBe(1000);
    expect(at.clock.monotonic()).toBeGreaterThan(300_000);
    await at.read();
    expect(at.server.connections).toBe(2);
  });

  it('is closed when a ping has no answer until the next one is due', async () => {
    await at.read();
    const { rpc } = await at.nas.session(tenSecondSignal());
    for (const socket of at.server.sockets) socket.pause();
    await at.clock.advance(20_000);
    expect(rpc.open).toBe(true);
    await at.clock.advance(20_000);
    expect((await rpc.closed).closeCode).toBe(0);
  });

  it('is not closed by a process that was suspended and has not read the data that arrived meanwhile', async () => {
    await at.read();
    const { rpc } = await at.nas.session(tenSecondSignal());
    for (const socket of at.server.sockets) socket.pause();
    await at.clock.advance(20_000);
    at.clock.standStill(45_000);
    await at.clock.advance(1);
    expect(rpc.open).toBe(true);
    for (const socket of at.server.sockets) socket.resume();
    await letHear();
    await at.clock.advance(20_000);
    expect(rpc.open).toBe(true);
  });
});

describe('a second connection', () => {
  /** Answers that wait until the test releases them; each is the number of its connection. */
  function holdAnswers() {
    const held: { readonly connection: number; readonly give: () => void }[] = [];
    let isFree = false;
    at.server.script = (method) => {
      const { connection } = at.server.calls.at(-1)!;
      const reply: ScriptedReply = { result: connection };
      if (isFree || method === 'core.subscribe') return reply;
      return new Promise((resolve) => held.push({ connection, give: () => resolve(reply) }));
    };
    const free = () => {
      isFree = true;
      for (const { give } of held) give();
    };
    return { on: (connection: number) => held.filter((one) => one.connection === connection).length, free };
  }
  const logins = () => at.server.named('auth.login_ex').length;
  const times = <T>(count: number, call: () => Promise<T>) => Array.from({ length: count }, call);
  const read = () => at.read();

  /**
   * Eleven pending calls on the first connection, one more than TrueNAS processes there, and the second connection
   * open.
   */
  async function busy() {
    const answers = holdAnswers();
    await at.nas.session(tenSecondSignal());
    const pending = times(11, read);
    await waitForCondition(() => at.server.loggedIn.has(2), 'there is a second connection');
    await at.clock.settle();
    expect([answers.on(1), answers.on(2)]).toEqual([11, 0]);
    return { ...answers, pending };
  }

  it('T6: takes calls beyond ten on the first, until both have the same number, and sixteen at most', async () => {
    const { on, free, pending } = await busy();
    const more = times(11, () => at.change());
    await waitForCondition(() => on(2) === 11, 'it has as many as the first');
    const rest = times(30, read);
    await waitForCondition(() => on(1) + on(2) === 32, 'both have what they may');
    expect([on(1), on(2)]).toEqual([16, 16]);
    free();
    expect(new Set(await Promise.all([...pending, ...rest]))).toEqual(new Set([1, 2]));
    expect(await Promise.all(more)).toEqual(Array(11).fill(2));
    expect(at.server.connections).toBe(2);
  });

  it('is not opened for a few calls, nor for calls that wait for the first', async () => {
    const { on, free } = holdAnswers();
    const waiting = times(50, read);
    await waitForCondition(() => on(1) === 16, 'the first has what it may');
    free();
    await Promise.all(waiting);
    expect(await Promise.all(times(10, read))).toEqual(Array(10).fill(1));
    expect(at.server.connections).toBe(1);
  });

  it('that cannot be opened disturbs no caller, and a refused key is tried once a minute for it', async () => {
    const { on, free } = holdAnswers();
    await at.nas.session(tenSecondSignal());
    at.server.login = () => ({ response_type: 'AUTH_ERR' });
    const pending = times(40, read);
    await waitForCondition(() => logins() === 2, 'it is tried');
    await at.clock.settle();
    const more = times(40, read);
    await waitForCondition(() => on(1) === 16, 'the first has what it may');
    expect(logins()).toBe(2);
    await at.clock.advance(60_000);
    pending.push(read());
    await waitForCondition(() => logins() === 3, 'it is tried again');
    free();
    expect(await Promise.all([...pending, ...more])).toEqual(Array(81).fill(1));
  });

  it('that ends leaves the outcome of changes to the caller, and moves reads and queued calls to the first', async () => {
    const { on, free, pending } = await busy();
    const changes = times(11, () => errorCodeOf(at.change()));
    await waitForCondition(() => on(2) === 11, 'they are in hand');
    const reads = times(20, read);
    await waitForCondition(() => on(2) === 16, 'it has what it may, and more in line');
    [...at.server.sockets][1]!.terminate();
    expect(await Promise.all(changes)).toEqual(Array(11).fill('TRUENAS_OUTCOME_UNKNOWN'));
    free();
    expect(await Promise.all([...pending, ...reads])).toEqual(Array(31).fill(1));
  });

  it('has no subscriptions: jobs and changes are subscribed to on the first', async () => {
    const { on, free, pending } = await busy();
    await at.nas.jobs.subscribe(tenSecondSignal());
    expect(at.server.calls.find(({ method }) => method === 'core.subscribe')).toMatchObject({ connection: 1 });
    expect(on(2)).toBe(0);
    free();
    await Promise.all(pending);
  });

  it('closes after five minutes without a burst of calls, and the first stays open', async () => {
    const { free, pending } = await busy();
    free();
    await Promise.all(pending);
    const [first, second] = [...at.server.sockets];
    let closedWith: number | undefined;
    second!.on('close', (code) => {
      closedWith = code;
    });
    for (let beat = 1; closedWith === undefined && beat < 30; beat += 1) {
      await at.clock.advance(20_000);
      await at.read();
      if (second!.readyState === second!.OPEN) await letHear();
    }
    await waitForCondition(() => closedWith !== undefined, 'it is closed');
    expect(closedWith).toBe(1000);
    expect(at.clock.monotonic()).toBeGreaterThan(300_000);
    expect(first!.readyState).toBe(first!.OPEN);
    expect(at.server.connections).toBe(2);
  });
});
