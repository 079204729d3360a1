import { describe, expect, it } from 'vitest';
import { replyJson, replyStatus, type ScriptedHttpServer } from '../../../test/support/harness/scripted-http-server.ts';
import {
  connectionToUrl,
  kubeErrorOf,
  openTransport,
  startTestServer,
} from '../../../test/support/harness/transport-harness.ts';
import { Secret as SecretType } from '../core-types.ts';
import { isNotFound } from '../errors.ts';
import { KubeClient } from './client.ts';

describe('the client', () => {
  const clientOf = (server: ScriptedHttpServer) =>
    new KubeClient(openTransport(connectionToUrl(server.url)), { fieldManager: 'me' });

  it('pages through long lists, adds the kind to each item, and restarts when the snapshot has expired', async () => {
    const items = Array.from({ length: 1200 }, (_, i) => ({ metadata: { name: `s${i}`, namespace: 'n' } }));
    let expired = false;
    const server = await startTestServer(({ query }, response) => {
      const from = Number(query.get('continue') ?? 0);
      if (from === 500 && !expired) {
        expired = true;
        return replyStatus(response, 410, 'Expired');
      }
      const limit = Number(query.get('limit') ?? items.length);
      const rest = from + limit < items.length ? { continue: String(from + limit) } : {};
      replyJson(response, { metadata: { resourceVersion: '42', ...rest }, items: items.slice(from, from + limit) });
    });
    const client = clientOf(server);
    for (const requests of [3, 3]) {
      server.received.length = 0;
      const list = await client.list(SecretType, { labelSelector: 'a=b' });
      expect([list.items.length, list.resourceVersion, server.received.length]).toEqual([1200, '42', requests]);
      expect(list.items[7]).toEqual({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's7', namespace: 'n' } });
      expect(server.received.every(({ query }) => query.get('labelSelector') === 'a=b')).toBe(true);
    }
  });

  it('ends a list that is limited, without a further page', async () => {
    const server = await startTestServer(({ query }, response) => {
      const limit = Number(query.get('limit'));
      const items = Array.from({ length: limit }, (_, i) => ({ metadata: { name: `s${i}`, namespace: 'n' } }));
      replyJson(response, { metadata: { resourceVersion: '42', continue: 'more' }, items });
    });
    const list = await clientOf(server).list(SecretType, { namespace: 'n', maxItems: 20 });
    expect([list.items.length, server.received.length]).toEqual([20, 1]);
    expect(server.received[0]?.query.get('limit')).toBe('20');
  });

  it('distinguishes a missing object from a missing kind: only the missing object is "not found"', async () => {
    const server = await startTestServer(({ path }, response) => {
      if (path.endsWith('/gone'))
        replyStatus(response, 404, 'NotFound', { details: { name: 'gone', kind: 'secrets' } });
      else response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found');
    });
    const client = clientOf(server);
    const gone = { namespace: 'n', name: 'gone' };
    expect(await client.find(SecretType, gone)).toBeUndefined();
    expect(await client.remove(SecretType, gone)).toBe(false);
    const other = { namespace: 'n', name: 'other' };
    expect(isNotFound(await kubeErrorOf(client.find(SecretType, other)))).toBe(true);
    expect(isNotFound(await kubeErrorOf(client.remove(SecretType, other)))).toBe(true);
  });

  it('rejects names that would address a whole collection or another path, before it sends a request', async () => {
    const server = await startTestServer((_, response) => replyJson(response, {}));
    const client = clientOf(server);
    for (const key of [
      { namespace: 'n', name: '' },
      { name: 'x' },
      { namespace: '..', name: 'x' },
      { namespace: 'n', name: '.' },
    ]) {
      await expect(client.remove(SecretType, key)).rejects.toThrow(TypeError);
    }
    await client.get(SecretType, { namespace: 'n', name: 'a/../b' });
    expect(server.received.map(({ path }) => path)).toEqual(['/api/v1/namespaces/n/secrets/a%2F..%2Fb']);
  });

  it('sends each verb as the API server expects it', async () => {
    const server = await startTestServer((_, response) =>
      replyJson(response, { status: { token: 'abc', expirationTimestamp: '2026-11-21T10:00:00Z', allowed: true } }),
    );
    const client = clientOf(server);
    const key = { namespace: 'n', name: 'x' };
    await client.apply(SecretType, { metadata: key, data: { a: 'Yg==' } }, { force: true });
    await client.merge(
      SecretType,
      key,
      { metadata: { labels: { a: null } } },
      { subresource: 'status', resourceVersion: '7' },
    );
    await client.remove(SecretType, key, { uid: 'u', resourceVersion: '8', propagation: 'Foreground' });
    const { token, expiration } = await client.requestToken(key, { expirationSeconds: 600, audiences: ['a'] });
    expect([token.reveal(), expiration.toISOString()]).toEqual(['abc', '2026-11-21T10:00:00.000Z']);
    expect(await client.reviewAccess({ verb: 'get', resource: 'secrets' })).toBe(true);
    const shown = server.received.map((r) => [
      `${r.method} ${r.path}?${r.query.toString()}`,
      r.headers['content-type'],
      JSON.parse(r.body),
    ]);
    expect(shown).toEqual([
      [
        'PATCH /api/v1/namespaces/n/secrets/x?fieldManager=me&force=true',
        'application/apply-patch+yaml',
        { apiVersion: 'v1', kind: 'Secret', metadata: key, data: { a: 'Yg==' } },
      ],
      [
        'PATCH /api/v1/namespaces/n/secrets/x/status?fieldManager=me',
        'application/merge-patch+json',
        { metadata: { labels: { a: null }, resourceVersion: '7' } },
      ],
      [
        'DELETE /api/v1/namespaces/n/secrets/x?',
        'application/json',
        {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy: 'Foreground',
          preconditions: { uid: 'u', resourceVersion: '8' },
        },
      ],
      [
        'POST /api/v1/namespaces/n/serviceaccounts/x/token?',
        'application/json',
        {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { expirationSeconds: 600, audiences: ['a'] },
        },
      ],
      [
        'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews?',
        'application/json',
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { verb: 'get', resource: 'secrets' } },
        },
      ],
    ]);
  });
});
