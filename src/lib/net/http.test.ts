import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createKubeAuthority, type KubeAuthority } from '../../../test/world/kube/auth/certificates.ts';
import { deadlineSignal } from '../deadline.ts';
import { ProviderError } from '../errors.ts';
import { createHttpAgent, sendHttpRequest, toNetworkError } from './http.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(handler: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(handler!);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const codeOf = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  );
  return error instanceof ProviderError ? error.code : error;
};

describe('an HTTP exchange', () => {
  it('returns any status, so that one place decides what it means', async () => {
    const base = await serve((_, response) => response.writeHead(503, { 'Retry-After': '7' }).end('later'));
    const reply = await sendHttpRequest(base, { signal: deadlineSignal(5) });
    expect([reply.status, reply.headers['retry-after'], await reply.text()]).toEqual([503, '7', 'later']);
  });

  it('reports a refused connection and an expired deadline, and passes an abort through', async () => {
    const unresponsive = await serve(() => {});
    expect(await codeOf(sendHttpRequest('http://127.0.0.1:1/', { signal: deadlineSignal(5) }))).toBe('UNREACHABLE');
    expect(await codeOf(sendHttpRequest(unresponsive, { signal: deadlineSignal(0.05) }))).toBe('DEADLINE_EXCEEDED');
    const reason = new Error('shutting down');
    expect(await codeOf(sendHttpRequest(unresponsive, { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });

  it('S27: follows no redirect by default, and otherwise sends no credentials to another origin', async () => {
    let seen: string | undefined = 'nothing yet';
    const other = await serve((request, response) => {
      seen = request.headers.authorization;
      response.end('image');
    });
    const base = await serve((_, response) => response.writeHead(302, { Location: `${other}/x` }).end());
    const headers = { Authorization: 'Bearer key' };
    const first = await sendHttpRequest(base, { headers, signal: deadlineSignal(5) });
    await first.discard();
    expect(first.status).toBe(302);
    const second = await sendHttpRequest(base, { headers, redirects: 1, signal: deadlineSignal(5) });
    expect([second.status, await second.text(), seen]).toEqual([200, 'image', undefined]);
  });

  describe('that started with https', () => {
    let authority: KubeAuthority;
    beforeAll(async () => {
      authority = await createKubeAuthority('http-test-ca');
    });

    async function serveSecurely(handler: Parameters<typeof createServer>[1]): Promise<string> {
      const { cert, key } = await authority.issueServer(['127.0.0.1']);
      const server = createSecureServer({ cert, key }, handler);
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    }
    const redirect = (location: string) =>
      serveSecurely((_, response) => response.writeHead(302, { Location: location }).end());

    it('continues with https only, through all redirects', async () => {
      let requests = 0;
      const plain = await serve((_, response) => {
        requests += 1;
        response.end('forged');
      });
      const secure = await serveSecurely((_, response) => response.end('image'));
      const agent = createHttpAgent({ ca: authority.cert });
      const ask = (url: string) => sendHttpRequest(url, { redirects: 5, agent, signal: deadlineSignal(5) });
      const reply = await ask(await redirect(`${secure}/x`));
      expect([reply.status, await reply.text()]).toEqual([200, 'image']);
      for (const url of [await redirect(plain), await redirect(await redirect(`${plain}/x`))]) {
        expect(await codeOf(ask(url))).toBe('REDIRECT_INSECURE');
      }
      expect(requests).toBe(0);
      await agent.destroy();
    });

    it('returns a redirect with an invalid location', async () => {
      const agent = createHttpAgent({ ca: authority.cert });
      const reply = await sendHttpRequest(await redirect('http://['), {
        redirects: 5,
        agent,
        signal: deadlineSignal(5),
      });
      await reply.discard();
      expect(reply.status).toBe(302);
      await agent.destroy();
    });
  });

  it('rejects a body that exceeds the limit', async () => {
    const base = await serve((_, response) => response.end('x'.repeat(100)));
    await expect((await sendHttpRequest(base, { signal: deadlineSignal(5) })).text(99)).rejects.toThrow(RangeError);
  });
});

describe('an error of the network', () => {
  const coded = (code: string) => Object.assign(new Error('text'), { code });
  it.each([
    [coded('ECONNREFUSED'), 'UNREACHABLE'],
    [coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 'TLS_UNTRUSTED'],
    [coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'TLS_UNTRUSTED'],
    [coded('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'), 'TLS_UNTRUSTED'],
    [coded('CERT_HAS_EXPIRED'), 'TLS_UNTRUSTED'],
    [coded('UND_ERR_CONNECT_TIMEOUT'), 'DEADLINE_EXCEEDED'],
    [new Error('outer', { cause: coded('CERT_HAS_EXPIRED') }), 'TLS_UNTRUSTED'],
    [new AggregateError([coded('ECONNREFUSED')]), 'UNREACHABLE'],
    [new DOMException('late', 'TimeoutError'), 'DEADLINE_EXCEEDED'],
    ['not even an error', 'UNREACHABLE'],
  ])('%s becomes %s', (error, code) => {
    expect(toNetworkError(error, 'nas:443').code).toBe(code);
  });
});
