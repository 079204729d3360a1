import { createServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answer, type Received, refuse, roughServer, until } from '../../test/support/rough-server.ts';
import { connect, failureOf, serve, to } from '../../test/support/transport-scene.ts';
import { servingCertificate } from '../server/certificate.ts';
import { connectionTo, type TlsMaterial } from './connection.ts';
import { isAlreadyExists, isConflict, isForbidden, isGone, isInvalid, isNotFound, isUnreachable } from './errors.ts';
import type { Method } from './transport.ts';

describe('a call', () => {
  it('carries token, agent and JSON, below the path of a proxy, and reuses its connection', async () => {
    const server = await serve((_, response) => answer(response, { ok: true }));
    const transport = connect(to(`${server.url}/k8s/clusters/c-1/`), { userAgent: 'provider/1.0' });
    for (const method of ['POST', 'GET'] as const) {
      const body = method === 'POST' ? { a: 1 } : undefined;
      expect(
        await transport.request({
          method,
          path: '/api/v1/x',
          query: { limit: 5, none: undefined },
          body,
          deadlineSeconds: 5,
        }),
      ).toEqual({ ok: true });
    }
    const [first, second] = server.received as [Received, Received];
    expect(first.path).toBe('/k8s/clusters/c-1/api/v1/x');
    expect(first.query.toString()).toBe('limit=5');
    expect(first.headers).toMatchObject({
      authorization: 'Bearer t0p-secret',
      'user-agent': 'provider/1.0',
      'content-type': 'application/json',
    });
    expect(first.body).toBe('{"a":1}');
    expect(second.headers['content-type']).toBeUndefined();
    for (let i = 0; i < 20; i += 1) await transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 });
    // undici counts a connection as busy until the tick after its answer, hence two.
    expect(new Set(server.received.map(({ socket }) => socket)).size).toBeLessThanOrEqual(2);
  });

  it('keeps to one connection where one is wanted, and gives it up when it is dead', async () => {
    let isDead = false;
    const server = await serve((_, response) => void (isDead || answer(response, {})));
    const transport = connect(to(server.url), { connections: 1 });
    const ask = (deadlineSeconds: number) => transport.request({ method: 'GET', path: '/', deadlineSeconds });
    await Promise.all([ask(5), ask(5), ask(5)]);
    for (let i = 0; i < 5; i += 1) await ask(5);
    expect(new Set(server.received.map(({ socket }) => socket)).size).toBe(1);
    isDead = true;
    await expect(ask(0.05)).rejects.toMatchObject({ reason: 'DeadlineExceeded' });
    isDead = false;
    await ask(5);
    expect(new Set(server.received.map(({ socket }) => socket)).size).toBe(2);
  });

  it('shows the token of this moment, and keeps its connections until CA or certificate change', async () => {
    const server = await serve((_, response) => answer(response, {}));
    let token = 'one';
    let tls: TlsMaterial = { ca: 'A' };
    const connection = {
      server: server.url,
      namespace: undefined,
      credentials: async () => ({ tls, headers: { authorization: `Bearer ${token}` } }),
      invalidate: () => {},
    };
    const transport = connect(connection);
    const call = async () => {
      for (let i = 0; i < 5; i += 1) await transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 });
    };
    await call();
    token = 'two';
    await call();
    tls = { ca: 'B' };
    await call();
    const shown = server.received.map(({ headers }) => headers.authorization);
    expect(shown).toEqual([...Array(5).fill('Bearer one'), ...Array(10).fill('Bearer two')]);
    const before = new Set(server.received.slice(0, 10).map(({ socket }) => socket));
    const after = server.received.slice(10).map(({ socket }) => socket);
    expect(before.size).toBeLessThanOrEqual(2);
    expect(after.some((socket) => before.has(socket))).toBe(false);
    await until(() => [...before].every((socket) => socket.destroyed), 'the old connections are gone');
  });

  it('ends at its deadline when the server says nothing, whether before the answer or in the middle of it', async () => {
    const server = await serve((received, response) => {
      if (received.path === '/half') response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":');
    });
    const transport = connect(to(server.url));
    for (const path of ['/silent', '/half']) {
      const error = await failureOf(transport.request({ method: 'GET', path, deadlineSeconds: 0.03 }));
      expect([error.status, error.reason]).toEqual([0, 'DeadlineExceeded']);
    }
    await until(() => server.received.every(({ socket }) => socket.destroyed), 'neither connection is kept');
  });

  it('ends at its deadline when the credentials do not come', async () => {
    const never = { ...to('http://127.0.0.1:1'), credentials: () => new Promise<never>(() => {}) };
    const error = await failureOf(connect(never).request({ method: 'GET', path: '/', deadlineSeconds: 0.03 }));
    expect(error.reason).toBe('DeadlineExceeded');
  });

  it('ends with the reason of its caller, not with an error of ours', async () => {
    const server = await serve(() => {});
    const stop = new AbortController();
    const reason = new Error('leadership is lost');
    const call = connect(to(server.url)).request({ method: 'GET', path: '/', signal: stop.signal, deadlineSeconds: 5 });
    await until(() => server.received.length === 1, 'the request is there');
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it('tells a refused, a reset and a closed connection as unreachable, with the code that people search for', async () => {
    const refused = await failureOf(
      connect(to('http://127.0.0.1:1')).request({ method: 'GET', path: '/x', deadlineSeconds: 5 }),
    );
    expect(refused.message).toMatch(/^GET \/x: .*ECONNREFUSED/);
    const server = await serve((received) => received.socket.destroy());
    const transport = connect(to(server.url));
    expect(isUnreachable(await failureOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 })))).toBe(
      true,
    );
    await transport.close();
    const closed = await failureOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 }));
    expect(closed.reason).toBe('Unreachable');
  });

  describe('on a connection that is reset, as by the next holder of a shared address,', () => {
    /** Answers the first request of each connection and resets it at the second. */
    async function scene(resets: (nth: number) => boolean = () => false) {
      const answered = new WeakSet<object>();
      const server = await serve(({ socket }, response, nth) => {
        if (answered.has(socket) || resets(nth)) return void socket.resetAndDestroy();
        answered.add(socket);
        answer(response, { nth });
      });
      const transport = connect(to(server.url), { connections: 1 });
      const ask = (method: Method = 'GET') => transport.request({ method, path: '/', deadlineSeconds: 5 });
      return { server, transport, ask };
    }

    it('a read is tried once more on a new one, and nothing is told of that', async () => {
      const { server, ask } = await scene();
      expect(await ask()).toEqual({ nth: 1 });
      expect(await ask()).toEqual({ nth: 3 });
      expect(server.received[1]?.socket).toBe(server.received[0]?.socket);
      expect(server.received[2]?.socket).not.toBe(server.received[1]?.socket);
    });

    it('a read is tried no third time', async () => {
      const { server, ask } = await scene((nth) => nth > 1);
      await ask();
      expect(isUnreachable(await failureOf(ask()))).toBe(true);
      expect(server.received).toHaveLength(3);
    });

    it('a read on a new one is not tried again: that says something of the server', async () => {
      const { server, ask } = await scene(() => true);
      expect(isUnreachable(await failureOf(ask()))).toBe(true);
      expect(server.received).toHaveLength(1);
    });

    it.each<Method>(['POST', 'PUT', 'PATCH', 'DELETE'])(
      '%s is not sent again: it may have been done',
      async (method) => {
        const { server, ask } = await scene();
        await ask();
        expect(isUnreachable(await failureOf(ask(method)))).toBe(true);
        expect(server.received).toHaveLength(2);
      },
    );

    it('a watch begins on a new one', async () => {
      const { server, transport, ask } = await scene();
      await ask();
      const request = { path: '/', signal: new AbortController().signal, deadlineSeconds: 5, idleSeconds: 5 };
      // What this server says is no line, which is told at its end.
      await expect(transport.stream({ ...request, lifeSeconds: 5 }, () => {})).rejects.toThrow(/middle of a line/);
      expect(server.received).toHaveLength(3);
    });

    it('nothing is sent for a caller that has gone', async () => {
      const { server, transport, ask } = await scene();
      await ask();
      const gone = new AbortController();
      const call = transport.request({ method: 'GET', path: '/', signal: gone.signal, deadlineSeconds: 5 });
      gone.abort(new Error('gone'));
      await expect(call).rejects.toThrow('gone');
      expect(server.received.length).toBeLessThanOrEqual(2);
    });
  });

  it('reports every call with its method and code', async () => {
    const server = await serve((_, response, nth) =>
      nth === 1 ? answer(response, {}) : refuse(response, 404, 'NotFound'),
    );
    const seen: [Method, string][] = [];
    const observer = { request: (method: Method, code: string) => void seen.push([method, code]) };
    const transport = connect(to(server.url), { observer });
    await transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 });
    await failureOf(transport.request({ method: 'DELETE', path: '/', deadlineSeconds: 5 }));
    const nowhere = connect(to('http://127.0.0.1:1'), { observer });
    await failureOf(nowhere.request({ method: 'GET', path: '/', deadlineSeconds: 5 }));
    expect(seen).toEqual([
      ['GET', '200'],
      ['DELETE', '404'],
      ['GET', '<error>'],
    ]);
  });
});

describe('a refusal', () => {
  const causes = [{ field: 'spec.replicas', message: 'must be odd', reason: 'FieldValueInvalid' }];
  it.each([
    [404, 'NotFound', isNotFound],
    [409, 'AlreadyExists', isAlreadyExists],
    [409, 'Conflict', isConflict],
    [422, 'Invalid', isInvalid],
    [403, 'Forbidden', isForbidden],
    [410, 'Expired', isGone],
  ] as const)(
    'of %i %s is known by exactly one question, so that no caller reads status codes',
    async (code, reason, is) => {
      const server = await serve((_, response) => refuse(response, code, reason, { details: { name: 'x', causes } }));
      const error = await failureOf(connect(to(server.url)).request({ method: 'GET', path: '/x', deadlineSeconds: 5 }));
      expect(error).toMatchObject({ status: code, reason, causes, details: { name: 'x' } });
      expect(error.message).toBe(`GET /x: ${code} ${reason}`);
      const questions = [isNotFound, isAlreadyExists, isConflict, isInvalid, isForbidden, isGone, isUnreachable];
      expect(questions.filter((question) => question(error))).toEqual([is]);
    },
  );

  it('keeps the wish to wait, from header, date or Status', async () => {
    const wishes: Parameters<typeof serve>[0][] = [
      (_, r) => answer(r, {}, 429, { 'retry-after': '7' }),
      (_, r) => answer(r, {}, 503, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }),
      (_, r) => refuse(r, 500, 'ServerTimeout', { details: { retryAfterSeconds: 3 } }),
      (_, r) => answer(r, {}, 503),
    ];
    const server = await serve((received, response, nth) => wishes[nth - 1]?.(received, response, nth));
    const transport = connect(to(server.url));
    const seconds: (number | undefined)[] = [];
    for (const _ of wishes) {
      seconds.push(
        (await failureOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 }))).retryAfterSeconds,
      );
    }
    expect(seconds[0]).toBe(7);
    expect(seconds[1]).toBeGreaterThan(55);
    expect(seconds.slice(2)).toEqual([3, undefined]);
  });

  it("shows the beginning of a proxy's page, names its reason by the code, and never quotes a broken answer", async () => {
    const server = await serve((received, response) => {
      const broken = received.path === '/broken';
      response.writeHead(broken ? 200 : 504, { 'content-type': broken ? 'application/json' : 'text/html' });
      response.end(broken ? 'password: hunter2' : `<h1>gateway timeout</h1>${'x'.repeat(10_000)}`);
    });
    const transport = connect(to(server.url));
    const page = await failureOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 }));
    expect([page.status, page.reason, page.message.length < 300]).toEqual([504, 'Timeout', true]);
    const broken = await failureOf(transport.request({ method: 'GET', path: '/broken', deadlineSeconds: 5 }));
    expect(broken.reason).toBe('BadAnswer');
    expect(JSON.stringify([broken.message, String(broken.cause)])).not.toContain('hunter2');
  });

  it('of the credentials makes the connection forget them', async () => {
    const server = await serve((_, response) => refuse(response, 401, 'Unauthorized'));
    let forgotten = 0;
    const invalidate = () => {
      forgotten += 1;
    };
    const transport = connect({ ...to(server.url), invalidate });
    await failureOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 }));
    expect(forgotten).toBe(1);
  });
});

describe('TLS', () => {
  it('trusts the CA it was given and nothing else, and says what is wrong', async () => {
    const pair = await servingCertificate({}, new Date());
    const server = await roughServer(
      (_, response) => answer(response, { ok: true }),
      (listener) => createServer(pair, listener) as never,
    );
    onTestFinished(() => server.close());
    const url = server.url.replace('http:', 'https:');
    const call = (ca?: string) =>
      connect(connectionTo({ server: url, ...(ca && { ca }) })).request({
        method: 'GET',
        path: '/',
        deadlineSeconds: 5,
      });
    expect(await call(pair.cert)).toEqual({ ok: true });
    const stranger = await servingCertificate({}, new Date());
    for (const ca of [undefined, stranger.cert]) {
      const error = await failureOf(call(ca));
      expect([isUnreachable(error), /self.signed|CERT|verif/i.test(error.message)]).toEqual([true, true]);
    }
  });
});
