import { createServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type ReceivedRequest,
  replyJson,
  replyStatus,
  startScriptedHttpServer,
  waitForCondition,
} from '../../../test/support/harness/scripted-http-server.ts';
import {
  connectionToUrl,
  kubeErrorOf,
  openTransport,
  startTestServer,
} from '../../../test/support/harness/transport-harness.ts';
import { loadServingCertificate } from '../../server/serving-certificate.ts';
import { isAlreadyExists, isConflict, isForbidden, isGone, isInvalid, isNotFound, isUnreachable } from '../errors.ts';
import { createApiServerConnection, type TlsMaterial } from './api-server-connection.ts';
import type { HttpMethod } from './request.ts';

describe('a call', () => {
  it('sends token, user agent and JSON, below the path of a proxy, and reuses its connection', async () => {
    const server = await startTestServer((_, response) => replyJson(response, { ok: true }));
    const transport = openTransport(connectionToUrl(`${server.url}/k8s/clusters/c-1/`), { userAgent: 'provider/1.0' });
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
    const [first, second] = server.received as [ReceivedRequest, ReceivedRequest];
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
    // undici counts a connection as busy until the tick after its response, hence two.
    expect(new Set(server.received.map(({ socket }) => socket)).size).toBeLessThanOrEqual(2);
  });

  it('keeps to one connection when limited to one, and replaces it when it is dead', async () => {
    let isDead = false;
    const server = await startTestServer((_, response) => void (isDead || replyJson(response, {})));
    const transport = openTransport(connectionToUrl(server.url), { connections: 1 });
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

  it('sends the current token, and keeps its connections until the CA or the client certificate changes', async () => {
    const server = await startTestServer((_, response) => replyJson(response, {}));
    let token = 'one';
    let tls: TlsMaterial = { ca: 'A' };
    const connection = {
      server: server.url,
      namespace: undefined,
      credentials: async () => ({ tls, headers: { authorization: `Bearer ${token}` } }),
      invalidate: () => {},
    };
    const transport = openTransport(connection);
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
    await waitForCondition(() => [...before].every((socket) => socket.destroyed), 'the old connections are gone');
  });

  it('fails at its deadline when the server is silent, before the response or in the middle of it', async () => {
    const server = await startTestServer((received, response) => {
      if (received.path === '/half') response.writeHead(200, { 'content-type': 'application/json' }).write('{"a":');
    });
    const transport = openTransport(connectionToUrl(server.url));
    for (const path of ['/silent', '/half']) {
      const error = await kubeErrorOf(transport.request({ method: 'GET', path, deadlineSeconds: 0.03 }));
      expect([error.status, error.reason]).toEqual([0, 'DeadlineExceeded']);
    }
    await waitForCondition(() => server.received.every(({ socket }) => socket.destroyed), 'neither connection is kept');
  });

  it('fails at its deadline when the credentials do not arrive', async () => {
    const never = { ...connectionToUrl('http://127.0.0.1:1'), credentials: () => new Promise<never>(() => {}) };
    const error = await kubeErrorOf(openTransport(never).request({ method: 'GET', path: '/', deadlineSeconds: 0.03 }));
    expect(error.reason).toBe('DeadlineExceeded');
  });

  it("fails with the caller's abort reason", async () => {
    const server = await startTestServer(() => {});
    const stop = new AbortController();
    const reason = new Error('leadership is lost');
    const call = openTransport(connectionToUrl(server.url)).request({
      method: 'GET',
      path: '/',
      signal: stop.signal,
      deadlineSeconds: 5,
    });
    await waitForCondition(() => server.received.length === 1, 'the request is there');
    stop.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it('reports a refused, a reset and a closed connection as unreachable, with the error code', async () => {
    const refused = await kubeErrorOf(
      openTransport(connectionToUrl('http://127.0.0.1:1')).request({ method: 'GET', path: '/x', deadlineSeconds: 5 }),
    );
    expect(refused.message).toMatch(/^GET \/x: .*ECONNREFUSED/);
    const server = await startTestServer((received) => received.socket.destroy());
    const transport = openTransport(connectionToUrl(server.url));
    expect(isUnreachable(await kubeErrorOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 })))).toBe(
      true,
    );
    await transport.close();
    const closed = await kubeErrorOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 }));
    expect(closed.reason).toBe('Unreachable');
  });

  describe('on a connection that is reset, as by the next holder of a shared address,', () => {
    /** Answers the first request of each connection and resets it at the second. */
    async function createFixture(resets: (nth: number) => boolean = () => false) {
      const answered = new WeakSet<object>();
      const server = await startTestServer(({ socket }, response, nth) => {
        if (answered.has(socket) || resets(nth)) return void socket.resetAndDestroy();
        answered.add(socket);
        replyJson(response, { nth });
      });
      const transport = openTransport(connectionToUrl(server.url), { connections: 1 });
      const ask = (method: HttpMethod = 'GET') => transport.request({ method, path: '/', deadlineSeconds: 5 });
      return { server, transport, ask };
    }

    it('a GET is retried once on a new connection, and the observer sees one call', async () => {
      const { server, ask } = await createFixture();
      expect(await ask()).toEqual({ nth: 1 });
      expect(await ask()).toEqual({ nth: 3 });
      expect(server.received[1]?.socket).toBe(server.received[0]?.socket);
      expect(server.received[2]?.socket).not.toBe(server.received[1]?.socket);
    });

    it('a GET is not retried twice', async () => {
      const { server, ask } = await createFixture((nth) => nth > 1);
      await ask();
      expect(isUnreachable(await kubeErrorOf(ask()))).toBe(true);
      expect(server.received).toHaveLength(3);
    });

    it('a GET on a new connection is not retried: the failure concerns the server', async () => {
      const { server, ask } = await createFixture(() => true);
      expect(isUnreachable(await kubeErrorOf(ask()))).toBe(true);
      expect(server.received).toHaveLength(1);
    });

    it.each<HttpMethod>(['POST', 'PUT', 'PATCH', 'DELETE'])(
      '%s is not sent again: the server may have carried it out',
      async (method) => {
        const { server, ask } = await createFixture();
        await ask();
        expect(isUnreachable(await kubeErrorOf(ask(method)))).toBe(true);
        expect(server.received).toHaveLength(2);
      },
    );

    it('a watch begins on a new connection', async () => {
      const { server, transport, ask } = await createFixture();
      await ask();
      const request = { path: '/', signal: new AbortController().signal, deadlineSeconds: 5, idleSeconds: 5 };
      // This server sends text that is not a line, which is reported at the end of the stream.
      await expect(transport.stream({ ...request, maxLifetimeSeconds: 5 }, () => {})).rejects.toThrow(
        /middle of a line/,
      );
      expect(server.received).toHaveLength(3);
    });

    it('nothing is sent after the caller has aborted', async () => {
      const { server, transport, ask } = await createFixture();
      await ask();
      const gone = new AbortController();
      const call = transport.request({ method: 'GET', path: '/', signal: gone.signal, deadlineSeconds: 5 });
      gone.abort(new Error('gone'));
      await expect(call).rejects.toThrow('gone');
      expect(server.received.length).toBeLessThanOrEqual(2);
    });
  });

  it('reports every call with its method and code', async () => {
    const server = await startTestServer((_, response, nth) =>
      nth === 1 ? replyJson(response, {}) : replyStatus(response, 404, 'NotFound'),
    );
    const seen: [HttpMethod, string][] = [];
    const observer = { request: (method: HttpMethod, code: string) => void seen.push([method, code]) };
    const transport = openTransport(connectionToUrl(server.url), { observer });
    await transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 });
    await kubeErrorOf(transport.request({ method: 'DELETE', path: '/', deadlineSeconds: 5 }));
    const noExtent = openTransport(connectionToUrl('http://127.0.0.1:1'), { observer });
    await kubeErrorOf(noExtent.request({ method: 'GET', path: '/', deadlineSeconds: 5 }));
    expect(seen).toEqual([
      ['GET', '200'],
      ['DELETE', '404'],
      ['GET', '<error>'],
    ]);
  });
});

describe('an error response', () => {
  const causes = [{ field: 'spec.replicas', message: 'must be odd', reason: 'FieldValueInvalid' }];
  it.each([
    [404, 'NotFound', isNotFound],
    [409, 'AlreadyExists', isAlreadyExists],
    [409, 'Conflict', isConflict],
    [422, 'Invalid', isInvalid],
    [403, 'Forbidden', isForbidden],
    [410, 'Expired', isGone],
  ] as const)(
    'of %i %s matches exactly one predicate, so that no caller reads status codes',
    async (code, reason, is) => {
      const server = await startTestServer((_, response) =>
        replyStatus(response, code, reason, { details: { name: 'x', causes } }),
      );
      const error = await kubeErrorOf(
        openTransport(connectionToUrl(server.url)).request({ method: 'GET', path: '/x', deadlineSeconds: 5 }),
      );
      expect(error).toMatchObject({ status: code, reason, causes, details: { name: 'x' } });
      expect(error.message).toBe(`GET /x: ${code} ${reason}`);
      const requests = [isNotFound, isAlreadyExists, isConflict, isInvalid, isForbidden, isGone, isUnreachable];
      expect(requests.filter((question) => question(error))).toEqual([is]);
    },
  );

  it('keeps the retry delay from header, date or Status', async () => {
    const desiredSpecs: Parameters<typeof startTestServer>[0][] = [
      (_, r) => replyJson(r, {}, 429, { 'retry-after': '7' }),
      (_, r) => replyJson(r, {}, 503, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }),
      (_, r) => replyStatus(r, 500, 'ServerTimeout', { details: { retryAfterSeconds: 3 } }),
      (_, r) => replyJson(r, {}, 503),
    ];
    const server = await startTestServer((received, response, nth) => desiredSpecs[nth - 1]?.(received, response, nth));
    const transport = openTransport(connectionToUrl(server.url));
    const seconds: (number | undefined)[] = [];
    for (const _ of desiredSpecs) {
      seconds.push(
        (await kubeErrorOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 }))).retryAfterSeconds,
      );
    }
    expect(seconds[0]).toBe(7);
    expect(seconds[1]).toBeGreaterThan(55);
    expect(seconds.slice(2)).toEqual([3, undefined]);
  });

  it("quotes the beginning of a proxy's page, with a reason from the code, and never quotes a broken response", async () => {
    const server = await startTestServer((received, response) => {
      const broken = received.path === '/broken';
      response.writeHead(broken ? 200 : 504, { 'content-type': broken ? 'application/json' : 'text/html' });
      response.end(broken ? 'password: hunter2' : `<h1>gateway timeout</h1>${'x'.repeat(10_000)}`);
    });
    const transport = openTransport(connectionToUrl(server.url));
    const page = await kubeErrorOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 }));
    expect([page.status, page.reason, page.message.length < 300]).toEqual([504, 'Timeout', true]);
    const broken = await kubeErrorOf(transport.request({ method: 'GET', path: '/broken', deadlineSeconds: 5 }));
    expect(broken.reason).toBe('BadAnswer');
    expect(JSON.stringify([broken.message, String(broken.cause)])).not.toContain('hunter2');
  });

  it('of status 401 invalidates the credentials of the connection', async () => {
    const server = await startTestServer((_, response) => replyStatus(response, 401, 'Unauthorized'));
    let forgotten = 0;
    const invalidate = () => {
      forgotten += 1;
    };
    const transport = openTransport({ ...connectionToUrl(server.url), invalidate });
    await kubeErrorOf(transport.request({ method: 'GET', path: '/', deadlineSeconds: 5 }));
    expect(forgotten).toBe(1);
  });
});

describe('TLS', () => {
  it('trusts only the given CA, and names the certificate error', async () => {
    const pair = await loadServingCertificate({}, new Date());
    const server = await startScriptedHttpServer(
      (_, response) => replyJson(response, { ok: true }),
      (listener) => createServer(pair, listener) as never,
    );
    onTestFinished(() => server.close());
    const url = server.url.replace('http:', 'https:');
    const call = (ca?: string) =>
      openTransport(createApiServerConnection({ server: url, ...(ca && { ca }) })).request({
        method: 'GET',
        path: '/',
        deadlineSeconds: 5,
      });
    expect(await call(pair.cert)).toEqual({ ok: true });
    const foreign = await loadServingCertificate({}, new Date());
    for (const ca of [undefined, foreign.cert]) {
      const error = await kubeErrorOf(call(ca));
      expect([isUnreachable(error), /self.signed|CERT|verif/i.test(error.message)]).toEqual([true, true]);
    }
  });
});
