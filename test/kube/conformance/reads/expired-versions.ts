import { beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess } from '../../support/expectations.ts';
import { eventuallyResponds, type ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, type WidgetKind } from '../../support/widgets.ts';

/** Requests for an expired resourceVersion: the response tells the client to list again. */
export function testExpiredVersions(server: () => ServerUnderTest): void {
  describe('an expired resourceVersion', () => {
    let namespace: string;
    let widget: WidgetKind;
    let version: string;
    let token: string;
    let able = false;
    const maps = () => `/api/v1/namespaces/${namespace}/configmaps`;

    beforeAll(async () => {
      const { admin, platform } = server();
      namespace = await server().namespace('forgetting');
      widget = await ensureWidgetKind(server());
      const make = async (name: string) => {
        expectSuccess(await admin.post(maps(), { metadata: { name } }), 201);
        expectSuccess(await admin.post(widget.path(namespace), widget.make(name)), 201);
      };
      for (const name of ['a', 'b', 'c']) await make(name);
      const page = expectSuccess(await admin.get(widget.path(namespace), { query: { limit: 1 } }));
      version = page.metadata.resourceVersion;
      token = page.metadata.continue;
      for (const name of ['d', 'e', 'f']) await make(name);
      if (!platform.forget) return;
      await platform.forget();
      await eventuallyResponds(
        'custom kinds are served again',
        () => admin.get(widget.all),
        ({ status }) => status === 200,
        30,
      );
      able = true;
    }, 60_000);

    const unable = 'this server cannot be told to forget';

    it('ends a watch with one ERROR event of code 410 inside a stream that was opened with 200', async (context) => {
      if (!able) return context.skip(unable);
      for (const path of [maps(), widget.path(namespace)]) {
        const events = await server().admin.watch(path, { resourceVersion: version });
        expect(events.status).toBe(200);
        const event = await events.next();
        expect(event.type).toBe('ERROR');
        expect(event.object).toMatchObject({
          kind: 'Status',
          apiVersion: 'v1',
          status: 'Failure',
          reason: 'Expired',
          code: 410,
        });
        expect(event.object.message).toMatch(/^too old resource version: \d+ \(\d+\)$/);
        await events.end(10);
        expect(events.seen.length).toBe(1);
      }
    });

    it('rejects the next page with 410 Expired, and returns a token to continue inconsistently', async (context) => {
      if (!able) return context.skip(unable);
      const answer = await server().admin.get(widget.path(namespace), { query: { limit: 1, continue: token } });
      const status = expectExpired(answer);
      expect(status.message).toMatch(
        /^The provided continue parameter is too old to display a consistent list result\./,
      );
      const on = await server().admin.get(widget.path(namespace), {
        query: { limit: 1, continue: status.metadata.continue },
      });
      expect(expectSuccess(on).items.length).toBe(1);
    });

    it('rejects a list of exactly that version with 410 Expired', async (context) => {
      if (!able) return context.skip(unable);
      const query = { resourceVersion: version, resourceVersionMatch: 'Exact' };
      const status = expectRejection(await server().admin.get(widget.path(namespace), { query }), 410, 'Expired');
      expect(status.message).toBe('The resourceVersion for the provided list is too old.');
    });

    it('is valid for a list of at least that version', async () => {
      const query = { resourceVersion: version };
      expect(expectSuccess(await server().admin.get(widget.path(namespace), { query })).items.length).toBe(6);
    });
  });
}

function expectExpired(answer: Parameters<typeof expectRejection>[0]) {
  expect(answer.status).toBe(410);
  expect(answer.body).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'Expired',
    code: 410,
  });
  return answer.body;
}
