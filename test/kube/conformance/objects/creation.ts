import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess, warningsOf } from '../../support/expectations.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { ensureWidgetKind, type WidgetKind } from '../../support/widgets.ts';

/** Creation: fields that the server sets, fields that it ignores, and rejections. */
export function testCreation(server: () => ServerUnderTest): void {
  describe('creation', () => {
    let namespace: string;
    let widget: WidgetKind;
    const maps = (name?: string) => `/api/v1/namespaces/${namespace}/configmaps${name ? `/${name}` : ''}`;

    beforeAll(async () => {
      namespace = await server().namespace('objects');
      widget = await ensureWidgetKind(server());
    });

    it('returns 201 with the object, its kind, and the metadata that only the server sets', async () => {
      const body = expectSuccess(
        await server().admin.post(maps(), { metadata: { name: 'made' }, data: { a: '1' } }),
        201,
      );
      expect(body).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } });
      expect(body.metadata).toMatchObject({ name: 'made', namespace });
      expect(body.metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(body.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
      expect(body.metadata).not.toHaveProperty('selfLink');
      expect(body.metadata, 'ConfigMaps have no generation').not.toHaveProperty('generation');
    });

    it('ignores uid, creationTimestamp, generation and deletionTimestamp from the client', async () => {
      const forgedServer = {
        uid: '00000000-0000-0000-0000-000000000000',
        creationTimestamp: '2001-01-01T00:00:00Z',
        generation: 7,
        deletionTimestamp: '2001-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 5,
        selfLink: '/nowhere',
      };
      const body = expectSuccess(
        await server().admin.post(
          widget.path(namespace),
          widget.make('forged', {}, { metadata: { name: 'forged', ...forgedServer } }),
        ),
        201,
      );
      expect(body.metadata.uid).not.toBe(forgedServer.uid);
      expect(body.metadata.creationTimestamp > '2020').toBe(true);
      expect(body.metadata.generation).toBe(1);
      expect(body.metadata).not.toHaveProperty('deletionTimestamp');
      expect(body.metadata).not.toHaveProperty('deletionGracePeriodSeconds');
    });

    it('rejects a second object of the same name with 409 AlreadyExists and names kind and object', async () => {
      expectSuccess(await server().admin.post(maps(), { metadata: { name: 'twice' } }), 201);
      const status = expectRejection(
        await server().admin.post(maps(), { metadata: { name: 'twice' } }),
        409,
        'AlreadyExists',
      );
      expect(status.message).toBe('configmaps "twice" already exists');
      expect(status.details).toEqual({ name: 'twice', kind: 'configmaps' });
    });

    it('names group and plural in the AlreadyExists of a custom kind', async () => {
      expectSuccess(await server().admin.post(widget.path(namespace), widget.make('twice')), 201);
      const status = expectRejection(
        await server().admin.post(widget.path(namespace), widget.make('twice')),
        409,
        'AlreadyExists',
      );
      expect(status.message).toBe(`widgets.${server().group} "twice" already exists`);
      expect(status.details).toEqual({ name: 'twice', group: server().group, kind: 'widgets' });
    });

    it('generates a name from generateName: the prefix and five random characters', async () => {
      const make = async () =>
        expectSuccess(await server().admin.post(maps(), { metadata: { generateName: 'made-up-' } }), 201);
      const [one, two] = [await make(), await make()];
      expect(one.metadata.name).toMatch(/^made-up-[a-z0-9]{5}$/);
      expect(one.metadata.generateName).toBe('made-up-');
      expect(two.metadata.name).not.toBe(one.metadata.name);
    });

    it('prefers the name when both name and generateName are given', async () => {
      const body = expectSuccess(
        await server().admin.post(maps(), { metadata: { name: 'both', generateName: 'x-' } }),
        201,
      );
      expect(body.metadata.name).toBe('both');
    });

    it('rejects an object with neither name nor generateName with 422', async () => {
      const status = expectRejection(await server().admin.post(maps(), { metadata: {} }), 422, 'Invalid');
      expect(status.message).toBe(
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
      );
      expect(status.details.causes).toEqual([
        {
          reason: 'FieldValueRequired',
          message: 'Required value: name or generateName is required',
          field: 'metadata.name',
        },
      ]);
    });

    it('rejects a name that is no DNS name with 422 and the rule', async () => {
      const status = expectRejection(
        await server().admin.post(maps(), { metadata: { name: 'Bad_Name' } }),
        422,
        'Invalid',
      );
      expect(status.message).toMatch(
        /^ConfigMap "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of/,
      );
      expect(status.details).toMatchObject({ name: 'Bad_Name', kind: 'ConfigMap' });
      expect(status.details.causes[0]).toMatchObject({ reason: 'FieldValueInvalid', field: 'metadata.name' });
    });

    it('rejects an invalid name of a custom kind with the same message', async () => {
      const status = expectRejection(
        await server().admin.post(widget.path(namespace), widget.make('Bad_Name')),
        422,
        'Invalid',
      );
      expect(status.message).toMatch(
        new RegExp(
          `^Widget\\.${server().group} "Bad_Name" is invalid: metadata\\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain`,
        ),
      );
      expect(status.details).toMatchObject({ name: 'Bad_Name', group: server().group, kind: 'Widget' });
    });

    it('rejects invalid labels and annotations with their field', async () => {
      const status = expectRejection(
        await server().admin.post(maps(), {
          metadata: { name: 'labels', labels: { ok: 'not ok!', 'bad key': 'x' }, annotations: { 'a/b/c': '' } },
        }),
        422,
        'Invalid',
      );
      const fields = status.details.causes.map((cause: { field: string }) => cause.field).sort();
      expect(fields).toEqual(['metadata.annotations', 'metadata.labels', 'metadata.labels']);
    });

    it('returns 404 for a missing namespace, naming the namespace', async () => {
      const gone = server().unique('nowhere');
      const status = expectRejection(
        await server().admin.post(`/api/v1/namespaces/${gone}/configmaps`, { metadata: { name: 'x' } }),
        404,
        'NotFound',
      );
      expect(status.message).toBe(`namespaces "${gone}" not found`);
      expect(status.details).toEqual({ name: gone, kind: 'namespaces' });
    });

    it('rejects a body with a namespace other than the path (400)', async () => {
      const status = expectRejection(
        await server().admin.post(maps(), { metadata: { name: 'x', namespace: 'elsewhere' } }),
        400,
        'BadRequest',
      );
      expect(status.message).toBe(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    });

    it('sets a missing kind and apiVersion of a built-in kind, but not of a custom kind', async () => {
      expect(expectSuccess(await server().admin.post(maps(), { metadata: { name: 'kindless' } }), 201).kind).toBe(
        'ConfigMap',
      );
      expectRejection(
        await server().admin.post(widget.path(namespace), { metadata: { name: 'kindless' }, spec: { size: 1 } }),
        400,
        'BadRequest',
      );
    });

    it('rejects a body of another kind than the path: 400 for a built-in kind, 422 for a custom one', async () => {
      expectRejection(
        await server().admin.post(maps(), { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }),
        400,
        'BadRequest',
      );
      const body = { ...widget.make('x'), kind: 'Other' };
      const status = expectRejection(await server().admin.post(widget.path(namespace), body), 422, 'Invalid');
      expect(causesOf(status)).toEqual(['kind: Invalid value: "Other": must be Widget']);
    });

    it('rejects a resourceVersion', async () => {
      const answer = await server().admin.post(maps(), { metadata: { name: 'versioned', resourceVersion: '1' } });
      expect(answer.status).toBe(500);
      expect(answer.body.message).toBe('resourceVersion should not be set on objects to be created');
    });

    it('rejects invalid JSON (400), and an unknown media type (415)', async () => {
      expectRejection(await server().admin.post(maps(), '{"metadata":'), 400, 'BadRequest');
      const status = expectRejection(
        await server().admin.post(maps(), 'x', { contentType: 'text/csv' }),
        415,
        'UnsupportedMediaType',
      );
      expect(status.message).toContain(
        'the body of the request was in an unknown format - accepted media types include:',
      );
    });

    it('accepts YAML', async () => {
      const body = expectSuccess(
        await server().admin.post(maps(), 'metadata:\n  name: yaml\ndata:\n  a: "1"\n', {
          contentType: 'application/yaml',
        }),
        201,
      );
      expect(body.data).toEqual({ a: '1' });
    });

    it('with dryRun=All does everything but store the object', async () => {
      const query = { dryRun: 'All' };
      const body = expectSuccess(await server().admin.post(maps(), { metadata: { name: 'dry' } }, { query }), 201);
      expect(body.metadata.uid).toBeTruthy();
      expectRejection(await server().admin.get(maps('dry')), 404, 'NotFound');
      expectRejection(
        await server().admin.post(maps(), { metadata: { name: 'dry' } }, { query: { dryRun: 'Some' } }),
        422,
        'Invalid',
      );
    });

    it('of more than three MiB is rejected unread (413)', async () => {
      const data = { a: 'x'.repeat(3 * 1024 * 1024) };
      const answer = await server().admin.post(maps(), { metadata: { name: 'huge' }, data });
      const status = expectRejection(answer, 413, 'RequestEntityTooLarge');
      expect(status.message).toBe('Request entity too large: limit is 3145728');
    });

    describe('field validation', () => {
      const odd = (name: string) => widget.make(name, { sizes: 3, nested: { unknown: true } });

      it('Strict rejects unknown and duplicate fields and names each', async () => {
        const query = { fieldValidation: 'Strict' };
        const status = expectRejection(
          await server().admin.post(widget.path(namespace), odd('strict'), { query }),
          400,
          'BadRequest',
        );
        expect(status.message).toContain('strict decoding error: ');
        expect(status.message).toContain('unknown field "spec.sizes"');
        expect(status.message).toContain('unknown field "spec.nested.unknown"');
        const built = expectRejection(
          await server().admin.post(maps(), { metadata: { name: 'strict' }, datas: {} }, { query }),
          400,
          'BadRequest',
        );
        expect(built.message).toContain('unknown field "datas"');
        const twice = `{"metadata":{"name":"strict"},"data":{"a":"1"},"data":{"a":"2"}}`;
        expect(
          expectRejection(await server().admin.post(maps(), twice, { query }), 400, 'BadRequest').message,
        ).toContain('duplicate field "data"');
      });

      it('Warn, the default, accepts the object and warns about each', async () => {
        const answer = await server().admin.post(widget.path(namespace), odd('warned'));
        expectSuccess(answer, 201);
        expect(warningsOf(answer).sort()).toEqual([
          'unknown field "spec.nested.unknown"',
          'unknown field "spec.sizes"',
        ]);
      });

      it('Ignore accepts it silently', async () => {
        const answer = await server().admin.post(widget.path(namespace), odd('ignored'), {
          query: { fieldValidation: 'Ignore' },
        });
        expect(expectSuccess(answer, 201).spec).not.toHaveProperty('sizes');
        expect(warningsOf(answer)).toEqual([]);
      });

      it('rejects any other value', async () => {
        const query = { fieldValidation: 'Loud' };
        const status = expectRejection(
          await server().admin.post(maps(), { metadata: { name: 'x' } }, { query }),
          422,
          'Invalid',
        );
        expect(status.message).toContain('fieldValidation: Unsupported value: "Loud"');
      });
    });
  });
}
