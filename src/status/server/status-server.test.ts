import { describe, expect, it } from 'vitest';
import { sampleFleet } from '../../../test/support/fixtures/sample-fleet.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { loadServingCertificate } from '../../server/serving-certificate.ts';
import type { AuthorizationResult, ServerProtection } from '../../server/token-authorizer.ts';
import { ChangeSignal } from './change-signal.ts';
import { EventStreams, streamLimits } from './event-streams.ts';
import type { PageFile } from './page-files.ts';
import { createStatusServer } from './status-server.ts';
import { ViewRouter } from './view-router.ts';

const files: readonly PageFile[] = [
  { path: 'index.html', content: '<!doctype html>' },
  { path: 'assets/main-AB12.js', content: 'export {};' },
];

function serve(protection?: ServerProtection) {
  const fleet = sampleFleet();
  const clock = new ManualClock();
  const changes = new ChangeSignal();
  const streams = new EventStreams(changes, clock, new AbortController().signal);
  const parts = { sources: () => fleet.sources(), events: { of: async () => [] }, measurements: { refresh: () => {} } };
  const router = new ViewRouter({ ...parts, changes, clock });
  return { app: createStatusServer({ router, streams, files, protection }), streams };
}

const local = { headers: { host: 'localhost:8082' } };

describe('the status page at a loopback address', () => {
  it('serves the page, its files and every view without a token', async () => {
    const { app } = serve();
    const codes = [
      '/',
      '/assets/main-AB12.js',
      '/api/v1/fleet',
      '/api/v1/clusters?page=1',
      '/api/v1/clusters/shop/checkout',
    ];
    for (const url of codes) expect((await app.inject({ url, ...local })).statusCode).toBe(200);
    expect((await app.inject({ url: '/api/v1/fleet', ...local })).json()).toMatchObject({ clusters: { total: 14 } });
  });

  it.each(['evil.example', 'evil.example:8082', '192.168.1.7', 'localhost.evil.example'])(
    'rejects a request for the host %j, which a page elsewhere may have sent',
    async (host) => {
      const { app } = serve();
      const response = await app.inject({ url: '/api/v1/fleet', headers: { host } });
      expect(response.statusCode).toBe(403);
      expect(response.body).not.toContain('checkout');
    },
  );

  it.each(['localhost', '127.0.0.1:8082', '[::1]:8082', 'status.localhost:1'])('accepts the host %s', async (host) => {
    const { app } = serve();
    expect((await app.inject({ url: '/api/v1/fleet', headers: { host } })).statusCode).toBe(200);
  });
});

it('allows only its own files, and no frame, form, inline script or style', async () => {
  const { headers } = await serve().app.inject({ url: '/', ...local });
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  for (const part of ['script-src', 'style-src', 'connect-src']) expect(policy).toContain(`${part} 'self';`);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|http|\*/);
  expect(headers['x-content-type-options']).toBe('nosniff');
});

it('a browser keeps the files, whose names change with their content, and nothing else', async () => {
  const { app } = serve();
  const cacheOf = async (url: string) => (await app.inject({ url, ...local })).headers['cache-control'];
  expect(await cacheOf('/assets/main-AB12.js')).toContain('immutable');
  for (const url of ['/', '/api/v1/fleet', '/nothing']) expect(await cacheOf(url)).toBe('no-store');
});

it('changes nothing: no other method has a route', async () => {
  const { app } = serve();
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const)
    for (const url of ['/', '/api/v1/fleet', '/api/v1/clusters/shop/checkout', '/api/v1/events'])
      expect((await app.inject({ url, method, ...local })).statusCode).toBe(404);
});

it.each([
  ['/api/v1/clusters/shop/nothing', 404, /no such object/],
  ['/api/v1/machines/nothing', 404, /no such object/],
  ['/api/v1/secrets/shop', 400, /no such view/],
  ['/api/v1/clusters/shop/UPPER', 400, /name/],
  ['/api/v1/machines/..%2f..', 400, /name|view/],
  ['/api/v1/clusters?page=0', 400, /page/],
  ['/api/v1/clusters?page=1e9', 400, /page/],
  ['/api/v1/clusters?health=fine', 400, /health/],
  [`/api/v1/clusters?text=${'x'.repeat(101)}`, 400, /text/],
  ['/api/v1/events?view=secrets', 400, /no such view/],
  ['/api/v1/events?view=http://[', 400, /view|name/],
  ['/api/v1/events?view=//evil.example/fleet', 400, /view|name/],
  ['/assets/../../package.json', 404, /nothing/],
])('%s is answered with %i and a sentence', async (url, code, text) => {
  const response = await serve().app.inject({ url, ...local });
  expect([response.statusCode, response.json()]).toEqual([code, { error: expect.stringMatching(text) }]);
});

it('rejects more streams than its limit, with the time to retry', async () => {
  const { app, streams } = serve();
  Object.defineProperty(streams, 'open', { get: () => streamLimits.streams });
  Object.defineProperty(streams, 'isFull', { get: () => true });
  const response = await app.inject({ url: '/api/v1/events?view=fleet', ...local });
  expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '10']);
});

describe('the status page at another address', async () => {
  const tls = await loadServingCertificate({}, new Date());
  const ask = async (result: AuthorizationResult, url: string) => {
    const asked: unknown[] = [];
    const review = async (header: string | undefined, ...accesses: unknown[]) => {
      asked.push(header, ...accesses);
      return result;
    };
    const { app } = serve({ tls, access: { review } });
    const headers = { host: 'status.example.org', authorization: 'Bearer x' };
    return { response: await app.inject({ url, headers }), asked };
  };

  it.each([
    ['unauthenticated', 401],
    ['forbidden', 403],
    ['unavailable', 503],
    ['allowed', 200],
  ] as const)('a request of a user that is %s is answered with %i', async (result, code) => {
    const { response } = await ask(result, '/api/v1/fleet');
    expect(response.statusCode).toBe(code);
    if (code !== 200) expect(response.body).not.toContain('clusters"');
  });

  it('asks whether the user may list every kind that is shown', async () => {
    const { asked } = await ask('allowed', '/api/v1/events?view=nothing');
    const [header, ...accesses] = asked as [string, ...{ verb: string; resource: string }[]];
    expect(header).toBe('Bearer x');
    expect(accesses.map(({ verb, resource }) => `${verb} ${resource}`).sort()).toEqual([
      'list accessrequests',
      'list clusters',
      'list events',
      'list hosts',
      'list machines',
      'list providerconfigs',
    ]);
  });

  it('serves the empty page without a token, which a browser does not send before the user has given it', async () => {
    const { response, asked } = await ask('unauthenticated', '/');
    expect([response.statusCode, asked]).toEqual([200, []]);
  });
});
