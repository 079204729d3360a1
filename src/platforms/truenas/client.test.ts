import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { issueServingCertificate, type ServingCertificate } from '../../../test/world/truenas/certificate.ts';
import { deadline } from '../../lib/deadline.ts';
import { ProviderError } from '../../lib/errors.ts';
import { noLog } from '../../lib/log.ts';
import { Secret } from '../../lib/secret.ts';
import { TrueNas } from './client.ts';
import { endpointOf } from './config.ts';

type Reply = { result: unknown } | { error: unknown } | 'silence' | 'hang-up';
type Script = (method: string, params: unknown[], socket: WebSocket) => Reply;

/** A system that answers what the test tells it to. */
class Scripted {
  readonly calls: { method: string; params: unknown[] }[] = [];
  connections = 0;
  script: Script = () => ({ result: null });
  login: () => unknown = () => ({
    response_type: 'SUCCESS',
    user_info: { privilege: { roles: { $set: ['FULL_ADMIN'] } } },
  });
  sockets = new Set<WebSocket>();
  #server: Server;
  #ws: WebSocketServer;

  constructor(certificate: ServingCertificate) {
    this.#server = createServer({ cert: certificate.cert, key: certificate.key });
    this.#ws = new WebSocketServer({ server: this.#server, path: '/api/current' });
    this.#ws.on('connection', (socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('message', (data) => this.#answer(socket, JSON.parse(String(data))));
    });
  }

  #answer(socket: WebSocket, { id, method, params }: { id: number; method: string; params: unknown[] }): void {
    this.calls.push({ method, params });
    const login = method === 'auth.login_ex' ? this.login() : undefined;
    const isWord = login === 'hang-up' || login === 'silence';
    const reply = isWord ? login : login ? { result: login } : this.script(method, params, socket);
    if (reply === 'hang-up') socket.terminate();
    else if (reply !== 'silence') socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
  }

  named(method: string) {
    return this.calls.filter((call) => call.method === method);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#ws.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let certificate: ServingCertificate;
let server: Scripted;
let clock: ManualClock;
let nas: TrueNas;
let url: string;

const signal = () => deadline(10);
const read = (method = 'system.info', seconds?: number) =>
  nas.read(method, [], z.unknown(), { signal: signal(), ...(seconds ? { seconds } : {}) });
const change = (method = 'vm.create') => nas.change(method, [], z.unknown(), { signal: signal() });
const codeOf = async (promise: Promise<unknown>): Promise<unknown> => {
  const thrown = await promise.then(
    (value) => ({ value }),
    (error: unknown) => error,
  );
  return thrown instanceof ProviderError ? thrown.code : thrown;
};
const open = (ca: string | undefined = certificate.ca) =>
  new TrueNas({
    endpoint: endpointOf({ url }),
    ...(ca ? { ca } : {}),
    username: new Secret('root'),
    apiKey: new Secret('1-key'),
    clock,
    log: noLog,
    random: () => 1,
  });
async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > end) throw new Error('the condition never held');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

beforeAll(async () => {
  certificate = await issueServingCertificate('127.0.0.1', 'test');
});
beforeEach(async () => {
  server = new Scripted(certificate);
  url = await server.listen();
  clock = new ManualClock();
  nas = open();
});
afterEach(async () => {
  await nas.close();
  await server.close();
});

describe('the connection', () => {
  it('opens once for calls that come together, with the user and key of the Secret, and only then', async () => {
    expect(server.connections).toBe(0);
    await Promise.all([read(), read(), change()]);
    expect(server.connections).toBe(1);
    expect(server.named('auth.login_ex').map(({ params }) => params)).toEqual([
      [{ mechanism: 'API_KEY_PLAIN', username: 'root', api_key: '1-key', login_options: { user_info: true } }],
    ]);
  });

  it.each([
    ['AUTH_ERR', 'TRUENAS_KEY_REFUSED'],
    ['EXPIRED', 'TRUENAS_KEY_EXPIRED'],
    ['OTP_REQUIRED', 'TRUENAS_OTP_REQUIRED'],
    ['REDIRECT', 'TRUENAS_LOGIN_DENIED'],
    ['DENIED', 'TRUENAS_LOGIN_DENIED'],
    ['SOMETHING_NEW', 'TRUENAS_LOGIN_DENIED'],
  ])('takes the successful answer %s for what it is: no entry (%s)', async (type, code) => {
    server.login = () => ({ response_type: type });
    expect(await codeOf(read())).toBe(code);
    expect(server.named('system.info')).toHaveLength(0);
  });

  it('tries a refused key once a minute at most, however many machines ask: no lock-out', async () => {
    server.login = () => ({ response_type: 'AUTH_ERR' });
    for (let i = 0; i < 20; i += 1) expect(await codeOf(read())).toBe('TRUENAS_KEY_REFUSED');
    expect(server.connections).toBe(1);
    await clock.advance(60_000);
    server.login = () => ({ response_type: 'SUCCESS' });
    await read();
    expect(server.connections).toBe(2);
  });

  it('refuses a certificate that nobody vouches for, before it says who it is', async () => {
    await nas.close();
    nas = open('');
    expect(await codeOf(read())).toBe('TRUENAS_TLS_UNTRUSTED');
    expect(server.calls).toHaveLength(0);
  });

  it('is not stormed when it was away: one attempt, then longer and longer pauses, at most half a minute', async () => {
    await server.close();
    const pauses: number[] = [];
    for (let attempt = 0; attempt < 8; attempt += 1) {
      const errors = await Promise.all(Array.from({ length: 50 }, () => read().catch((error: unknown) => error)));
      for (const error of errors) expect(error).toMatchObject({ code: 'TRUENAS_UNREACHABLE' });
      const pause = (errors[0] as ProviderError).retryAfterSeconds!;
      pauses.push(pause);
      await clock.advance(pause * 1000);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  });

  it('makes nobody wait for long for an attempt at a system in known trouble, but the one who makes it', async () => {
    server.login = () => 'hang-up';
    expect(await codeOf(read())).toBe('TRUENAS_UNREACHABLE');
    await clock.advance(1000);
    server.login = () => 'silence';
    let first: unknown = 'waits';
    const attempt = codeOf(read()).then((code) => {
      first = code;
    });
    const others = [read(), read()].map(codeOf);
    await until(() => server.named('auth.login_ex').length === 2);
    await clock.advance(3000);
    expect(await Promise.all(others)).toEqual(['TRUENAS_UNREACHABLE', 'TRUENAS_UNREACHABLE']);
    expect(await codeOf(read())).toBe('TRUENAS_UNREACHABLE');
    expect(first).toBe('waits');
    await nas.close();
    await attempt;
  });

  it('lets those through who waited for an attempt that succeeds', async () => {
    server.login = () => 'hang-up';
    await codeOf(read());
    await clock.advance(1000);
    server.login = () => ({ response_type: 'SUCCESS' });
    expect(await Promise.all([read(), read(), read()])).toHaveLength(3);
    expect(server.connections).toBe(2);
  });

  it('is closed for good with the process, and what is in hand then ends', async () => {
    server.script = () => 'silence';
    const pending = codeOf(change());
    await until(() => server.named('vm.create').length === 1);
    await nas.close();
    expect(await pending).toBe('TRUENAS_OUTCOME_UNKNOWN');
    expect(await codeOf(read())).toBe('TRUENAS_UNREACHABLE');
    expect(server.connections).toBe(1);
  });

  it('to something that answers the login in another way is not taken for one', async () => {
    server.login = () => 'welcome';
    expect(await codeOf(read())).toBe('TRUENAS_REPLY_UNKNOWN');
  });

  it('says which list to change when the address is not let in', async () => {
    server.login = () => {
      for (const socket of server.sockets) socket.close(1008, 'You are not allowed to access this resource');
      return undefined;
    };
    expect(await codeOf(read())).toBe('TRUENAS_LOGIN_DENIED');
  });

  /** Something that the client has to read, sent after the answer to a ping: when it has come, so has that. */
  const roundTrip = async (id: number) => {
    const job = { id, method: 'm', arguments: [], state: 'SUCCESS' };
    const params = { msg: 'changed', collection: 'core.get_jobs', id, fields: job };
    for (const socket of server.sockets) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'collection_update', params }));
    }
    await nas.jobs.wait(id, { signal: signal(), seconds: 5, method: 'm', firstArgument: '' });
  };

  it('is kept alive by pings, and closed when nobody asked for anything for five minutes', async () => {
    await read();
    const { rpc } = await nas.session(signal());
    let pings = 0;
    let closedWith: number | undefined;
    const [socket] = server.sockets;
    socket!.on('ping', () => {
      pings += 1;
    });
    socket!.on('close', (code) => {
      closedWith = code;
    });
    for (let beat = 1; rpc.open && beat < 30; beat += 1) {
      await clock.advance(20_000);
      await until(() => pings === beat || !rpc.open);
      if (rpc.open) await roundTrip(beat);
    }
    await until(() => closedWith !== undefined);
    expect(closedWith).toBe(1000);
    expect(clock.monotonic()).toBeGreaterThan(300_000);
    await read();
    expect(server.connections).toBe(2);
  });

  it('is given up when a ping stays without an answer until the next is due', async () => {
    await read();
    const { rpc } = await nas.session(signal());
    for (const socket of server.sockets) socket.pause();
    await clock.advance(20_000);
    expect(rpc.open).toBe(true);
    await clock.advance(20_000);
    expect((await rpc.closed).closeCode).toBe(0);
  });
});

describe('a call', () => {
  it('that only reads is made once more when the connection broke', async () => {
    let times = 0;
    server.script = () => {
      times += 1;
      return times === 1 ? 'hang-up' : { result: 'here' };
    };
    expect(await read()).toBe('here');
    expect(server.connections).toBe(2);
  });

  it('that changes something is never made twice: what became of it is for the caller to see', async () => {
    server.script = () => 'hang-up';
    expect(await codeOf(change())).toBe('TRUENAS_OUTCOME_UNKNOWN');
    expect(server.named('vm.create')).toHaveLength(1);
  });

  it('fails with all others in hand when the connection ends, instead of waiting for ever', async () => {
    server.script = (method) => (method === 'vm.start' ? 'silence' : 'hang-up');
    const pending = [change('vm.start'), change('vm.start')].map(codeOf);
    await until(() => server.named('vm.start').length === 2);
    expect(await Promise.all([...pending, codeOf(change('vm.stop'))])).toEqual(
      Array(3).fill('TRUENAS_OUTCOME_UNKNOWN'),
    );
  });

  it('logs in again when the session had ended, since nothing was done then', async () => {
    const ended = {
      code: -32001,
      message: 'Method call error',
      data: { error: 13, reason: '[EACCES] Session is expired' },
    };
    let times = 0;
    server.script = () => {
      times += 1;
      return times === 1 ? { error: ended } : { result: true };
    };
    expect(await change()).toBe(true);
    expect(server.named('auth.login_ex')).toHaveLength(2);
  });

  it('has a deadline, and another call does not suffer from it', async () => {
    server.script = (method) => (method === 'slow' ? 'silence' : { result: 1 });
    expect(await codeOf(read('slow', 0.05))).toBe('DEADLINE_EXCEEDED');
    expect(await read()).toBe(1);
    expect(server.connections).toBe(1);
  });

  it('ends with the reason of the signal, so that a shutdown is no failure', async () => {
    server.script = () => 'silence';
    const stop = new AbortController();
    const reason = new Error('shutting down');
    const call = nas.read('slow', [], z.unknown(), { signal: stop.signal });
    const caught = call.catch((error: unknown) => error);
    await until(() => server.named('slow').length === 1);
    stop.abort(reason);
    expect(await caught).toBe(reason);
  });

  it('waits in line when eight are in hand: TrueNAS would refuse the twenty-first', async () => {
    const held: (() => void)[] = [];
    let most = 0;
    server.script = (_method, _params, socket) => {
      const { calls } = server;
      const id = calls.length;
      held.push(() => socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: id })));
      most = Math.max(most, held.length);
      return 'silence';
    };
    const calls = Array.from({ length: 30 }, () => read());
    for (let done = 0; done < 30; done += 1) {
      await until(() => held.length > 0);
      held.shift()!();
    }
    await Promise.all(calls);
    expect(most).toBeLessThanOrEqual(8);
  });

  it('tells a reply that it cannot read, with the field and without the value', async () => {
    server.script = () => ({ result: { id: 'secret-value' } });
    const schema = z.object({ id: z.number() });
    const error = await nas.read('vm.query', [], schema, { signal: signal() }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'TRUENAS_REPLY_UNKNOWN' });
    expect(String(error)).toMatch(/vm\.query: id:/);
    expect(String(error)).not.toContain('secret-value');
  });

  it('longer than TrueNAS reads is not sent: the connection would be closed', async () => {
    await expect(nas.change('vm.create', ['x'.repeat(65536)], z.unknown(), { signal: signal() })).rejects.toThrow(
      /longer than TrueNAS reads/,
    );
    await read();
    expect(server.connections).toBe(1);
  });
});

describe('a job', () => {
  const job = (state: string, more: object = {}) => ({
    id: 7,
    method: 'filesystem.put',
    arguments: ['/mnt/tank/a', {}],
    state,
    ...more,
  });
  const event = (fields: unknown) =>
    JSON.stringify({
      jsonrpc: '2.0',
      method: 'collection_update',
      params: { msg: 'changed', collection: 'core.get_jobs', id: 7, fields },
    });
  const wait = () =>
    nas.jobs.wait(7, { signal: signal(), seconds: 5, method: 'filesystem.put', firstArgument: '/mnt/tank/a' });
  const send = (text: string) => {
    for (const socket of server.sockets) socket.send(text);
  };

  it('is known by its event, without asking', async () => {
    await nas.jobs.subscribe(signal());
    const waiting = wait();
    send(event(job('RUNNING')));
    send(event(job('SUCCESS')));
    expect((await waiting).state).toBe('SUCCESS');
    expect(server.named('core.get_jobs')).toHaveLength(0);
  });

  it('that ended before anybody waited for it is remembered', async () => {
    await nas.jobs.subscribe(signal());
    send(event(job('SUCCESS')));
    await read();
    expect((await wait()).state).toBe('SUCCESS');
    expect(server.named('core.get_jobs')).toHaveLength(0);
  });

  it('whose event got lost is asked for', async () => {
    server.script = (method) => (method === 'core.get_jobs' ? { result: [job('SUCCESS')] } : { result: null });
    const waiting = wait();
    await until(() => clock.sleeping === 1);
    await clock.advance(500);
    expect((await waiting).state).toBe('SUCCESS');
    expect(server.named('core.get_jobs')[0]!.params).toEqual([[['id', '=', 7]]]);
  });

  it.each([
    [job('FAILED', { error: '[EFAULT] it broke' }), 'TRUENAS_CALL_FAILED', 'a failure keeps its own words'],
    [job('ABORTED'), 'TRUENAS_CALL_FAILED', 'an aborted job did not do it'],
    [job('FAILED', { error: '[ENOSPC] No space left on device' }), 'TRUENAS_POOL_FULL', 'a full pool is named'],
    [
      job('SUCCESS', { arguments: ['/mnt/tank/other', {}] }),
      'TRUENAS_OUTCOME_UNKNOWN',
      'ids begin again after a restart',
    ],
  ])('%j is %s: %s', async (fields, code) => {
    await nas.jobs.subscribe(signal());
    send(event(fields));
    await read();
    expect(await codeOf(wait())).toBe(code);
  });

  it('subscribes once for each connection', async () => {
    await nas.jobs.subscribe(signal());
    await nas.jobs.subscribe(signal());
    const { rpc } = await nas.session(signal());
    for (const socket of server.sockets) socket.terminate();
    await rpc.closed;
    await nas.jobs.subscribe(signal());
    expect(server.named('core.subscribe')).toHaveLength(2);
  });
});
