import { beforeAll, describe, expect, it } from 'vitest';
import { expectRejection, expectSuccess, namesOf } from '../../support/expectations.ts';
import type { Body } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, type WidgetKind } from '../../support/widgets.ts';

/** Lists: selectors, pages, versions, and other representations. */
export function testLists(server: () => ServerUnderTest): void {
  describe('lists', () => {
    let namespace: string;
    let widget: WidgetKind;
    const maps = (name?: string) => `/api/v1/namespaces/${namespace}/configmaps${name ? `/${name}` : ''}`;
    const list = (query: Record<string, string | number>) => server().admin.get(maps(), { query });
    const selected = async (labelSelector: string) => namesOf(expectSuccess(await list({ labelSelector })));

    beforeAll(async () => {
      namespace = await server().namespace('lists');
      widget = await ensureWidgetKind(server());
      const labels: Record<string, Body> = {
        a: { tier: 'front', zone: 'one' },
        b: { tier: 'front' },
        c: { tier: 'back', zone: 'two' },
        d: { rank: '5' },
        e: {},
      };
      for (const [name, value] of Object.entries(labels))
        expectSuccess(
          await server().admin.post(maps(), { metadata: { name, labels: { ...value, mine: 'yes' } } }),
          201,
        );
      for (const [name, color] of [
        ['one', 'red'],
        ['two', 'blue'],
        ['three', 'blue'],
      ] as const)
        expectSuccess(await server().admin.post(widget.path(namespace), widget.make(name, { color })), 201);
    });

    describe('label selectors', () => {
      it.each([
        ['tier=front', ['a', 'b']],
        ['tier==front', ['a', 'b']],
        ['tier=front,zone=one', ['a']],
        ['mine,tier!=front', ['c', 'd', 'e']],
        ['tier in (front,back)', ['a', 'b', 'c']],
        ['mine=yes,tier notin (front)', ['c', 'd', 'e']],
        ['zone', ['a', 'c']],
        ['mine,!tier', ['d', 'e']],
        ['rank>4', ['d']],
        ['rank<5', []],
        ['tier=nothing', []],
      ])('%s', async (selector, expected) => {
        expect(await selected(selector)).toEqual(expected);
      });

      it('that are invalid are rejected with 400', async () => {
        const status = expectRejection(await list({ labelSelector: 'a in b' }), 400, 'BadRequest');
        expect(status.message).toContain('unable to parse requirement');
        expectRejection(await list({ labelSelector: 'a=b=c' }), 400, 'BadRequest');
      });
    });

    describe('field selectors', () => {
      it('support metadata.name and metadata.namespace of every kind', async () => {
        expect(namesOf(expectSuccess(await list({ fieldSelector: 'metadata.name=a' })))).toEqual(['a']);
        expect(
          namesOf(expectSuccess(await list({ fieldSelector: 'metadata.name!=a', labelSelector: 'mine' }))),
        ).not.toContain('a');
        const everywhere = await server().admin.get(widget.all, {
          query: { fieldSelector: `metadata.namespace=${namespace}` },
        });
        expect(namesOf(expectSuccess(everywhere))).toEqual(['one', 'three', 'two']);
      });

      it('support the selectableFields of a custom kind', async () => {
        const answer = await server().admin.get(widget.path(namespace), {
          query: { fieldSelector: 'spec.color=blue' },
        });
        expect(namesOf(expectSuccess(answer))).toEqual(['three', 'two']);
      });

      it('support the type of secrets', async () => {
        const { admin } = server();
        const path = `/api/v1/namespaces/${namespace}/secrets`;
        expectSuccess(await admin.post(path, { metadata: { name: 'typed' }, type: 'example.com/x' }), 201);
        expectSuccess(await admin.post(path, { metadata: { name: 'opaque' } }), 201);
        expect(
          namesOf(expectSuccess(await admin.get(path, { query: { fieldSelector: 'type=example.com/x' } }))),
        ).toEqual(['typed']);
      });

      it('reject any other field with 400, naming it', async () => {
        const status = expectRejection(await list({ fieldSelector: 'data.a=1' }), 400, 'BadRequest');
        expect(status.message).toBe(
          '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        );
        const custom = await server().admin.get(widget.path(namespace), { query: { fieldSelector: 'spec.size=1' } });
        expect(expectRejection(custom, 400, 'BadRequest').message).toBe('field label not supported: spec.size');
      });
    });

    describe('pages', () => {
      const page = (query: Record<string, string | number>) => list({ labelSelector: 'mine', limit: 2, ...query });

      it('are chained by continue and return everything exactly once', async () => {
        const seen: string[] = [];
        const versions = new Set<string>();
        let next = '';
        do {
          const body = expectSuccess(
            await server().admin.get(maps(), { query: { limit: 2, ...(next ? { continue: next } : {}) } }),
          );
          expect(body.items.length).toBeLessThanOrEqual(2);
          seen.push(...namesOf(body));
          versions.add(body.metadata.resourceVersion);
          next = body.metadata.continue ?? '';
        } while (next);
        expect(seen).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd', 'e']));
        expect(new Set(seen).size).toBe(seen.length);
        expect(versions.size, 'all pages are of one version').toBe(1);
      });

      it('contain the remaining count, but not with a selector', async () => {
        const total = expectSuccess(await server().admin.get(maps())).items.length;
        const plain = expectSuccess(await server().admin.get(maps(), { query: { limit: 2 } }));
        expect(plain.metadata.remainingItemCount).toBe(total - 2);
        expect(expectSuccess(await page({})).metadata).not.toHaveProperty('remainingItemCount');
      });

      it('are a snapshot of the first page: later objects do not appear, deleted ones still do', async () => {
        const { admin } = server();
        const label = { snapshot: 'yes' };
        const make = (name: string) => admin.post(maps(), { metadata: { name, labels: label } });
        for (const name of ['s1', 's2', 's3', 's4']) expectSuccess(await make(name), 201);
        const query = { labelSelector: 'snapshot', limit: 2 };
        const first = expectSuccess(await list(query));
        expectSuccess(await make('s5'), 201);
        expectSuccess(await admin.delete(maps('s3')));
        const second = expectSuccess(await list({ ...query, continue: first.metadata.continue }));
        expect(namesOf(second)).toEqual(['s3', 's4']);
        expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
        expect(second.metadata).not.toHaveProperty('continue');
      });

      it('with an invalid token are rejected with 400', async () => {
        expectRejection(await page({ continue: 'nonsense' }), 400, 'BadRequest');
      });

      it('reject a resourceVersion together with continue', async () => {
        const first = expectSuccess(await page({}));
        const status = expectRejection(
          await page({ continue: first.metadata.continue, resourceVersion: '1' }),
          400,
          'BadRequest',
        );
        expect(status.message).toBe('specifying resource version is not allowed when using continue');
      });
    });

    describe('versions', () => {
      const version = async (query: Record<string, string>) =>
        expectSuccess(await list(query)).metadata.resourceVersion;

      it('of a list are at least those of its objects, and increase', async () => {
        const before = await version({});
        const made = expectSuccess(await server().admin.post(maps(), { metadata: { name: 'versions' } }), 201);
        const after = await version({});
        expect(BigInt(after) >= BigInt(made.metadata.resourceVersion)).toBe(true);
        expect(BigInt(after) > BigInt(before)).toBe(true);
      });

      it('0 returns any available state, and ignores limit', async () => {
        const body = expectSuccess(await list({ resourceVersion: '0', limit: 1 }));
        expect(body.items.length).toBeGreaterThan(1);
        expect(body.metadata).not.toHaveProperty('continue');
      });

      it('N means at least N', async () => {
        const made = expectSuccess(await server().admin.post(maps(), { metadata: { name: 'notolder' } }), 201);
        const body = expectSuccess(
          await list({ resourceVersion: made.metadata.resourceVersion, resourceVersionMatch: 'NotOlderThan' }),
        );
        expect(namesOf(body)).toContain('notolder');
      });

      it('N with Exact means exactly N', async () => {
        const before = await version({});
        expectSuccess(await server().admin.post(maps(), { metadata: { name: 'exactly' } }), 201);
        const body = expectSuccess(await list({ resourceVersion: before, resourceVersionMatch: 'Exact' }));
        expect(namesOf(body)).not.toContain('exactly');
        expect(body.metadata.resourceVersion).toBe(before);
      });

      it('that are no numbers are rejected', async () => {
        const answer = await list({ resourceVersion: 'abc' });
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(answer.status).toBeLessThan(500);
      });

      it('match without a version is rejected (422)', async () => {
        const status = expectRejection(await list({ resourceVersionMatch: 'Exact' }), 422, 'Invalid');
        expect(status.message).toContain('resourceVersionMatch is forbidden unless resourceVersion is provided');
      });

      it('in the far future end in 504 with a hint to retry', async () => {
        const answer = await list({ resourceVersion: String(10n ** 15n) });
        const status = expectRejection(answer, 504, 'Timeout');
        expect(status.message).toMatch(/^Timeout: Too large resource version: 1000000000000000, current: \d+$/);
        expect(status.details.causes[0]).toMatchObject({ reason: 'ResourceVersionTooLarge' });
        expect(status.details.retryAfterSeconds).toBe(1);
      });

      it('of a single object are those of its last change, independent of other objects', async () => {
        const before = expectSuccess(await server().admin.get(maps('a'))).metadata.resourceVersion;
        expectSuccess(await server().admin.merge(maps('b'), { data: { at: String(Date.now()) } }));
        expect(expectSuccess(await server().admin.get(maps('a'))).metadata.resourceVersion).toBe(before);
      });
    });

    describe('as a Table', () => {
      const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

      it('of a custom kind has its columns, and cells in that order', async () => {
        const { admin } = server();
        expectSuccess(await admin.merge(widget.path(namespace, 'one', 'status'), { status: { phase: 'Ready' } }));
        const answer = await admin.get(widget.path(namespace), { accept: table });
        const body = expectSuccess(answer);
        expect(answer.headers['content-type']).toBe('application/json');
        expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
        expect(body.columnDefinitions.map(({ name, type, priority }: Body) => [name, type, priority])).toEqual([
          ['Name', 'string', 0],
          ['Size', 'integer', 0],
          ['Phase', 'string', 0],
          ['Color', 'string', 10],
          ['Age', 'date', 0],
        ]);
        expect(body.columnDefinitions[1].description).toBe('How big it is.');
        expect(body.rows.map((row: Body) => row.cells.slice(0, 4))).toEqual([
          ['one', 1, 'Ready', 'red'],
          ['three', 1, null, 'blue'],
          ['two', 1, null, 'blue'],
        ]);
        expect(body.rows[0].cells[4], 'the age in words').toMatch(/^\d+[smh]/);
        expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
      });

      it('includes the metadata of each object, the whole object, or nothing, according to includeObject', async () => {
        const rows = async (includeObject?: string) => {
          const query = includeObject ? { includeObject } : {};
          return expectSuccess(await server().admin.get(widget.path(namespace), { accept: table, query })).rows[0]
            .object;
        };
        const metadata = await rows();
        expect(metadata).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'one' } });
        expect(metadata).not.toHaveProperty('spec');
        expect((await rows('Object')).spec.size).toBe(1);
        expect(await rows('None')).toBeNull();
      });

      it('of a built-in kind has its own columns', async () => {
        const body = expectSuccess(await server().admin.get(maps(), { accept: table }));
        expect(body.columnDefinitions.map((column: Body) => column.name)).toEqual(['Name', 'Data', 'Age']);
      });

      it('works for a single object and falls back to plain JSON when the client accepts that too', async () => {
        const single = expectSuccess(await server().admin.get(widget.path(namespace, 'one'), { accept: table }));
        expect(single.rows.length).toBe(1);
        const accept = `${table},application/json`;
        expect(expectSuccess(await server().admin.get(widget.path(namespace), { accept })).kind).toBe('Table');
        expect(expectSuccess(await server().admin.get('/version', { accept })).gitVersion).toBeTruthy();
      });
    });

    it('as PartialObjectMetadataList contain metadata and nothing else', async () => {
      const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
      const body = expectSuccess(await server().admin.get(widget.path(namespace), { accept }));
      expect(body).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
      expect(Object.keys(body.items[0]).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
      const one = await server().admin.get(widget.path(namespace, 'one'), {
        accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
      });
      expect(expectSuccess(one).kind).toBe('PartialObjectMetadata');
    });

    it('reject an unsupported media type with 406', async () => {
      expectRejection(await server().admin.get(maps(), { accept: 'text/csv' }), 406, 'NotAcceptable');
    });

    it('over all namespaces contain the namespace of each object', async () => {
      const body = expectSuccess(await server().admin.get(widget.all));
      for (const item of body.items) expect(item.metadata.namespace).toBeTruthy();
    });
  });
}
